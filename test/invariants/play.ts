/**
 * Plays a generated script on a chapter and keeps everything that can be seen of it. The invariants are judged on what was seen, by code that
 * shares nothing with the chapters.
 */
import fc from "fast-check"
import type { Driver, Message, ProviderEvent, ToolCall } from "../support/driver.ts"

/** How a message of the model ends: as it should, or in one of the ways that make it incomplete. */
export type End = "toolUse" | "stop" | "error" | "none" | "throw"

/** One message of the scripted model. */
export type ScriptReply = {
  text: string
  calls: { id: string; tool: string }[]
  end: End
}

/** One turn: what the model says to each request, and what happens around it. */
export type ScriptTurn = {
  replies: ScriptReply[]
  maxTurns: number
  /** Before the turn, stand on this entry; 0 is before the first. Only where there is a tree. */
  move: number | undefined
}

/** A whole session. */
export type Script = {
  turns: ScriptTurn[]
  /** Steps that the calls wait before they run, in order of execution. */
  delays: number[]
  /** What the hooks do: nothing, block calls of `good`, throw before, or rewrite after. */
  hook: "none" | "block" | "throw" | "rewrite"
  /** What the executor does to calls of `odd`: run them, throw, or answer another call. */
  executor: "run" | "throw" | "wrong"
}

/** All that was seen. */
export type Observation = {
  /** After each turn: the messages of the path, and all entries where there is a tree. */
  histories: Message[][]
  entries: string[][]
  requests: { messages: Message[]; tools: { name: string }[] }[]
  /** Keys of the calls whose tool ran. A key is unique in the script. */
  ran: string[]
  /** Keys of the calls that arrived in a message that did not end as it should. */
  incomplete: string[]
  /** What made a turn reject. */
  crash: string | undefined
  /** Messages and parts of messages of the history that can be changed. */
  soft: string[]
}

const anyReply: fc.Arbitrary<ScriptReply> = fc.record({
  text: fc.constantFrom("", "text", "文 "),
  calls: fc.array(
    fc.record({
      id: fc.constantFrom("a", "b", "c", "d"),
      tool: fc.constantFrom("good", "good", "bad", "odd", "unknown"),
    }),
    { maxLength: 3 },
  ),
  end: fc.constantFrom<End>("toolUse", "toolUse", "toolUse", "stop", "error", "none", "throw"),
})

/** Any script: some turns, each with some messages, calls, failures, hooks and branches. */
export const anyScript: fc.Arbitrary<Script> = fc.record({
  turns: fc.array(
    fc.record({
      replies: fc.array(anyReply, { maxLength: 3 }),
      maxTurns: fc.integer({ min: 1, max: 3 }),
      move: fc.option(fc.nat(9), { nil: undefined, freq: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  delays: fc.array(fc.nat(3), { maxLength: 6 }),
  hook: fc.constantFrom("none", "block", "throw", "rewrite"),
  executor: fc.constantFrom("run", "throw", "wrong"),
})

function* eventsOf(reply: ScriptReply, keys: string[], withCalls: boolean): Generator<ProviderEvent> {
  yield { type: "message_start" }
  // What a vendor adds must not get through: every event and every call carries a foreign field.
  if (reply.text !== "") yield Object.assign({ vendorField: 1 }, { type: "text_delta" as const, text: reply.text })
  if (withCalls) {
    for (const [index, { id, tool }] of reply.calls.entries()) {
      const call: ToolCall = Object.assign({ vendorField: 1 }, { id, name: tool, input: { key: keys[index] ?? "" } })
      yield { type: "tool_call", call }
    }
  }
  if (reply.end === "throw") throw new Error("the line broke")
  if (reply.end !== "none")
    yield Object.assign({ vendorField: 1 }, { type: "message_end" as const, stopReason: endOf(reply, withCalls) })
}

function endOf(reply: ScriptReply, withCalls: boolean): "stop" | "error" | "toolUse" {
  if (reply.end === "toolUse" && !withCalls) return "stop"
  return reply.end === "stop" || reply.end === "toolUse" ? reply.end : "error"
}

/** Everything of a value that is not frozen, by path. */
function findSoft(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return []
  const parts = Object.entries(value).flatMap(([name, part]) => findSoft(part, `${path}.${name}`))
  return Object.isFrozen(value) ? parts : [path, ...parts]
}

function hooksOf(kind: Script["hook"]): object {
  if (kind === "none") return {}
  if (kind === "rewrite") return { afterToolCall: (_call: ToolCall, text: string) => `${text} (seen)` }
  const beforeToolCall = (call: ToolCall) => {
    if (call.name !== "good") return { type: "allow" }
    if (kind === "throw") throw new Error("the hook broke")
    return { type: "block", reason: "no" }
  }
  return { beforeToolCall }
}

/** Plays a script on a chapter. Never rejects: a turn that does is part of what was seen. */
export async function play(chapter: Driver, script: Script): Promise<Observation> {
  const withCalls = chapter.number >= 4
  const seen: Observation = {
    histories: [],
    entries: [],
    requests: [],
    ran: [],
    incomplete: [],
    crash: undefined,
    soft: [],
  }
  const run = (input: Record<string, string>): void => void seen.ran.push(input.key ?? "")
  const state = chapter.state()
  const registry = chapter.number < 2 ? undefined : chapter.registry(...toolsOf(run))
  const hooks = hooksOf(script.hook)
  const delays = [...script.delays]
  const execute = async (call: ToolCall) => {
    for (let step = delays.shift() ?? 0; step > 0; step--) await undefined
    if (call.name === "odd" && script.executor === "throw") throw new Error("the executor broke")
    if (call.name === "odd" && script.executor === "wrong")
      return { role: "toolResult", toolCallId: "nobody", content: "?" }
    if (chapter.number < 5) return { role: "toolResult", toolCallId: call.id, content: registry?.run(call) }
    return chapter.core.executeToolCall(registry as never, hooks, call)
  }
  for (const [turn, { replies, maxTurns, move }] of script.turns.entries()) {
    if (move !== undefined && chapter.number >= 7) tryMove(state.messages, move)
    let asked = 0
    const next = (input: unknown): Iterable<ProviderEvent> => {
      seen.requests.push(structuredClone(input) as Observation["requests"][number])
      const reply = replies[asked++] ?? { text: "done", calls: [], end: "stop" }
      const keys = reply.calls.map((_call, index) => `t${turn}r${asked}c${index}`)
      if (reply.end !== "toolUse") seen.incomplete.push(...keys)
      return eventsOf(reply, keys, withCalls)
    }
    const options = {
      provider: providerOf(chapter, next),
      output: { log: () => {} },
      maxTurns,
      ...(registry && { registry }),
      ...(withCalls && { execute }),
    }
    try {
      await chapter.core.runOneTurn(state, `prompt ${turn}`, options as never)
    } catch (error) {
      seen.crash ??= (error as Error).message
    }
    const messages = chapter.number < 7 ? (state.messages as unknown as Message[]) : state.messages.currentPath()
    seen.soft.push(...messages.flatMap((message, index) => findSoft(message, `messages[${index}]`)))
    seen.histories.push(messages.map((message) => ({ ...message })))
    if (chapter.number >= 7) seen.entries.push(state.messages.allEntries().map((entry) => JSON.stringify(entry)))
  }
  return seen
}

function toolsOf(run: (input: Record<string, string>) => void): Parameters<Driver["registry"]> {
  const tool = (name: string, answer: () => unknown) => ({
    spec: { name, description: name, input: { key: "a key" } },
    handler: ((input: Record<string, string>) => {
      run(input)
      return answer()
    }) as (input: Record<string, string>) => string,
  })
  const bad = () => {
    throw new Error("the tool broke")
  }
  return [tool("good", () => "fine"), tool("bad", bad), tool("odd", () => 7)]
}

function providerOf(chapter: Driver, next: (input: unknown) => Iterable<ProviderEvent>): object {
  if (chapter.number >= 3) {
    return {
      async *stream(input: unknown) {
        yield* next(input)
      },
    }
  }
  return {
    async complete(input: unknown) {
      let content = ""
      for (const event of next(input)) {
        if (event.type === "text_delta") content += event.text
        if (event.type === "message_end")
          return { role: "assistant", content, stopReason: event.stopReason, vendorField: 1 }
      }
      throw new Error("no end")
    },
  }
}

function tryMove(tree: { moveTo(id: string | null): void; allEntries(): { id: string }[] }, place: number): void {
  const id = place === 0 ? null : tree.allEntries()[place - 1]?.id
  if (id === undefined) return
  try {
    tree.moveTo(id)
  } catch (error) {
    // Between calls and results nobody may stand; the script goes on where it was.
    if (!/tool results are still due there/.test((error as Error).message)) throw error
  }
}

/** The scripts that were drawn from each seed. */
const drawn = new Map<number, Script[]>()

/** The first scripts of a seed: the same ones, in the same order, that `fc.assert` would try. */
export function scriptsOf(seed: number, runs: number): readonly Script[] {
  const known = drawn.get(seed) ?? []
  const scripts = known.length >= runs ? known : fc.sample(anyScript, { seed, numRuns: runs })
  drawn.set(seed, scripts)
  return scripts.slice(0, runs)
}

let stage: { chapter: Driver; seen: Map<Script, Observation> } | undefined

/** Plays a drawn script. All properties judge the same play: what was seen is kept until another chapter has its turn. */
export async function playOnce(chapter: Driver, script: Script): Promise<Observation> {
  if (stage?.chapter !== chapter) stage = { chapter, seen: new Map() }
  const { seen } = stage
  const known = seen.get(script) ?? (await play(chapter, script))
  seen.set(script, known)
  return known
}
