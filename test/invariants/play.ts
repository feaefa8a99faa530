/**
 * Plays a generated script on a chapter and keeps everything that can be seen of it. The invariants are judged on what was seen, by code that
 * shares nothing with the chapters.
 */
import fc from "fast-check"
import type { Driver, Message, ProviderEvent, State, ToolCall } from "../support/driver.ts"

/** How a message of the model ends: as it should, or in one of the ways that make it incomplete. */
export type End = "toolUse" | "stop" | "error" | "limit" | "none" | "throw"

/**
 * What is wrong with a call, if anything is. With `json`, `array`, `number` and `value` its arguments are no texts by name; with `id` and `nothing`
 * it cannot even be named. `null` is no flaw: a call without arguments.
 */
export type Flaw = "none" | "null" | "json" | "array" | "number" | "value" | "id" | "nothing"

/** One call of a message. */
export type ScriptCall = {
  id: string
  tool: string
  flaw: Flaw
}

/** One message of the scripted model. */
export type ScriptReply = {
  text: string
  calls: ScriptCall[]
  end: End
}

/** Why a turn cannot begin: its limit is none, its prompt is no text, or another turn is running on the tree. */
export type Refusal = "limit" | "prompt" | "busy"

/** One turn: what the model says to each request, and what happens around it. */
export type ScriptTurn = {
  replies: ScriptReply[]
  maxTurns: number
  refusal: Refusal | undefined
  /** Before the turn, stand on this entry; 0 is before the first. Only where there is a tree. */
  move: number | undefined
}

/** A whole session. */
export type Script = {
  turns: ScriptTurn[]
  /** Steps that the calls wait before they run, in order of execution. */
  delays: number[]
  /** What the hooks do: nothing, block calls of `good`, throw before, give what is no answer, or rewrite after. */
  hook: "none" | "block" | "throw" | "odd" | "rewrite"
  /** Who executes the calls: the loop by itself, or somebody who runs them, and throws, answers another call or gives nothing for those of `odd`. */
  executor: "none" | "run" | "throw" | "wrong" | "nothing"
}

/** All that was seen. */
export type Observation = {
  /** After each turn: the messages of the path and, where there is a tree, all entries and where the path ends. */
  histories: Message[][]
  entries: string[][]
  leaves: (string | null)[]
  requests: { messages: Message[]; tools: { name: string }[] }[]
  /** For each request the turn in which it was sent, counted from 0. */
  turnOf: number[]
  /** All messages at the end, in the order of their arrival. */
  stored: Message[]
  /** What has to be stored for each request: the ids of the calls to keep, and whether these may run. */
  due: { kept: string[]; complete: boolean }[]
  /** Keys of the calls whose tool ran. A key is unique in the script. */
  ran: string[]
  /** Keys of the calls that a hook has allowed; undefined where no hook decides. */
  allowed: string[] | undefined
  /** Keys of the calls of messages that are not as they should be: by their end, or by one of their calls. */
  incomplete: string[]
  /** What made a turn reject. */
  crash: string | undefined
  /** Turns that could not begin: whether they were refused, and all that there was before and after. */
  refusals: { kind: Refusal; refused: boolean; before: string; after: string }[]
  /** Messages and entries of the history, and parts of them, that can be changed. */
  soft: string[]
}

/** Half a character. What is stored may hold none: services refuse every request that does. */
const HALF = "\ud83d"

const anyReply: fc.Arbitrary<ScriptReply> = fc.record({
  text: fc.constantFrom("", "text", "文 ", "\u{1f600}", `half ${HALF}`),
  calls: fc.array(
    fc.record({
      id: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", `h${HALF}`),
      tool: fc.constantFrom("good", "good", "bad", "odd", "half", "unknown"),
      flaw: fc.oneof(
        { weight: 12, arbitrary: fc.constant<Flaw>("none") },
        { weight: 2, arbitrary: fc.constantFrom<Flaw>("null", "json", "array", "number", "value", "id", "nothing") },
      ),
    }),
    { maxLength: 3 },
  ),
  end: fc.oneof(
    { weight: 5, arbitrary: fc.constant<End>("toolUse") },
    { weight: 3, arbitrary: fc.constantFrom<End>("stop", "error", "limit", "none", "throw") },
  ),
})

/** Any script: some turns, each with some messages, calls, failures, hooks and branches. */
export const anyScript: fc.Arbitrary<Script> = fc.record({
  turns: fc.array(
    fc.record({
      replies: fc.array(anyReply, { maxLength: 3 }),
      maxTurns: fc.integer({ min: 1, max: 3 }),
      refusal: fc.oneof(
        { weight: 8, arbitrary: fc.constant(undefined) },
        { weight: 2, arbitrary: fc.constantFrom<Refusal>("limit", "prompt", "busy") },
      ),
      move: fc.option(fc.nat(9), { nil: undefined, freq: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  delays: fc.array(fc.nat(3), { maxLength: 6 }),
  hook: fc.constantFrom("none", "block", "throw", "odd", "rewrite"),
  executor: fc.constantFrom("none", "run", "run", "throw", "wrong", "nothing"),
})

/** What has to be kept of a message: the calls up to the first that breaks it off. Only if none does, and its end is as it should be, may they run. */
function readReply({ calls, end }: ScriptReply): { kept: string[]; complete: boolean } {
  const kept: string[] = []
  for (const { id, flaw } of calls) {
    const sent = id.toWellFormed()
    if (flaw === "id" || flaw === "nothing" || kept.includes(sent)) return { kept, complete: false }
    kept.push(sent)
    if (flaw !== "none" && flaw !== "null") return { kept, complete: false }
  }
  return { kept, complete: end === "toolUse" }
}

/** A call as the provider sends it, with its flaw and with a vendor's field. */
function offer({ id, tool, flaw }: ScriptCall, key: string): unknown {
  if (flaw === "nothing") return undefined
  const texts = { key, [`name${HALF}`]: `value${HALF}` }
  const inputs: Partial<Record<Flaw, unknown>> = {
    null: null,
    json: JSON.stringify(texts),
    array: [key],
    number: 7,
    value: { ...texts, more: 7 },
  }
  return { vendorField: 1, id: flaw === "id" ? 7 : id, name: tool, input: flaw in inputs ? inputs[flaw] : texts }
}

function* eventsOf(reply: ScriptReply, keys: string[], withCalls: boolean): Generator<ProviderEvent> {
  yield { type: "message_start" }
  // What a vendor adds must not get through: every event and every call carries a foreign field.
  // In two pieces: a character may come in halves, and is whole in the end.
  for (const text of [reply.text.slice(0, 1), reply.text.slice(1)].filter((piece) => piece !== ""))
    yield Object.assign({ vendorField: 1 }, { type: "text_delta" as const, text })
  if (withCalls) {
    for (const [index, call] of reply.calls.entries())
      yield { type: "tool_call", call: offer(call, keys[index] ?? "") as ToolCall }
  }
  if (reply.end === "throw") throw new Error(`the line broke ${HALF}`)
  if (reply.end !== "none")
    yield Object.assign({ vendorField: 1 }, { type: "message_end" as const, stopReason: endOf(reply, withCalls) })
}

/** `limit` is a word that no chapter knows. */
function endOf({ end }: ScriptReply, withCalls: boolean): "stop" {
  return (end === "toolUse" && !withCalls ? "stop" : end) as "stop"
}

/** Everything of a value that is not frozen, by path. */
function findSoft(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return []
  const parts = Object.entries(value).flatMap(([name, part]) => findSoft(part, `${path}.${name}`))
  return Object.isFrozen(value) ? parts : [path, ...parts]
}

/** The hooks of a script. Which calls they have allowed is written down. */
function hooksOf(kind: Script["hook"], allowed: string[]): object {
  if (kind === "none") return {}
  if (kind === "rewrite") return { afterToolCall: (_call: ToolCall, text: string) => `${text} (seen ${HALF})` }
  const beforeToolCall = (call: ToolCall) => {
    if (call.name !== "good") {
      allowed.push(keyOf(call.input))
      return { type: "allow" }
    }
    if (kind === "throw") throw new Error("the hook broke")
    return kind === "odd" ? Promise.reject(new Error("the hook broke later")) : { type: "block", reason: "no" }
  }
  return {
    beforeToolCall,
    ...(kind === "odd" && { afterToolCall: (call: ToolCall) => (call.name === "bad" ? 7 : undefined) }),
  }
}

function keyOf(input: Record<string, string>): string {
  return input.key ?? "none"
}

/** Plays a script on a chapter. Never rejects: a turn that does is part of what was seen. */
export async function play(chapter: Driver, script: Script): Promise<Observation> {
  const withCalls = chapter.number >= 4
  const allowed: string[] = []
  const decides = chapter.number >= 5 && !["none", "rewrite"].includes(script.hook)
  const seen: Observation = {
    histories: [],
    entries: [],
    leaves: [],
    requests: [],
    turnOf: [],
    stored: [],
    due: [],
    ran: [],
    allowed: decides ? allowed : undefined,
    incomplete: [],
    crash: undefined,
    refusals: [],
    soft: [],
  }
  const run = (input: Record<string, string>): void => void seen.ran.push(keyOf(input))
  const state = chapter.state()
  const registry = chapter.number < 2 ? undefined : chapter.registry(...toolsOf(run))
  const delays = [...script.delays]
  const execute = async (call: ToolCall) => {
    for (let step = delays.shift() ?? 0; step > 0; step--) await undefined
    if (call.name === "odd" && script.executor === "throw") throw new Error("the executor broke")
    if (call.name === "odd" && script.executor === "wrong")
      return { role: "toolResult", toolCallId: "nobody", content: "?" }
    if (call.name === "odd" && script.executor === "nothing") return undefined
    return { role: "toolResult", toolCallId: call.id, content: registry?.run(call) }
  }
  for (const [turn, { replies, maxTurns, move, refusal }] of script.turns.entries()) {
    if (move !== undefined && chapter.number >= 7) tryMove(state.messages, move)
    let asked = 0
    const next = (input: unknown): Iterable<ProviderEvent> => {
      seen.requests.push(structuredClone(input) as Observation["requests"][number])
      seen.turnOf.push(turn)
      const reply = replies[asked++] ?? { text: "done", calls: [], end: "stop" }
      const keys = reply.calls.map((_call, index) => `t${turn}r${asked}c${index}`)
      const due = readReply(reply)
      seen.due.push(due)
      if (!due.complete) seen.incomplete.push(...keys)
      return eventsOf(reply, keys, withCalls)
    }
    const options = {
      provider: providerOf(chapter, next),
      output: { log: () => {} },
      maxTurns,
      ...(registry && { registry }),
      ...(withCalls && script.executor !== "none" && { execute }),
      ...(chapter.number >= 5 && { hooks: hooksOf(script.hook, allowed) }),
    }
    const isRefused = refusal !== undefined && withCalls && (refusal !== "busy" || chapter.number >= 7)
    if (isRefused) {
      const before = describe(chapter, state, seen)
      const refused = await beRefused(chapter, state, refusal, options)
      seen.refusals.push({ kind: refusal, refused, before, after: describe(chapter, state, seen) })
    } else {
      try {
        await chapter.core.runOneTurn(state, `prompt ${turn} ${HALF}`, options as never)
      } catch (error) {
        seen.crash ??= (error as Error).message
      }
    }
    const messages = chapter.number < 7 ? (state.messages as unknown as Message[]) : state.messages.currentPath()
    seen.soft.push(...messages.flatMap((message, index) => findSoft(message, `messages[${index}]`)))
    seen.histories.push(messages.map((message) => ({ ...message })))
    if (chapter.number < 7) continue
    const entries = state.messages.allEntries()
    seen.soft.push(...entries.flatMap((entry) => findSoft(entry, `entry ${entry.id}`)))
    seen.entries.push(entries.map((entry) => JSON.stringify(entry)))
    seen.leaves.push(state.messages.leafId)
  }
  seen.stored = chapter.number < 7 ? (state.messages as unknown as Message[]) : state.messages.allEntries()
  return seen
}

/** Begins a turn that cannot begin, and says whether it was refused. */
async function beRefused(chapter: Driver, state: State, refusal: Refusal, options: object): Promise<boolean> {
  let release = () => {}
  const prompt = refusal === "prompt" ? (7 as unknown as string) : "prompt"
  const wrong = refusal === "limit" ? { ...options, maxTurns: 0.5 } : options
  try {
    if (refusal === "busy") release = state.messages.acquire()
    await chapter.core.runOneTurn(state, prompt, wrong as never)
    return false
  } catch {
    return true
  } finally {
    release()
  }
}

/** All that a turn could leave behind. */
function describe(chapter: Driver, state: State, { requests, ran }: Observation): string {
  const history = chapter.number < 7 ? state.messages : [state.messages.allEntries(), state.messages.leafId]
  return JSON.stringify([history, requests.length, ran])
}

function toolsOf(run: (input: Record<string, string>) => void): Parameters<Driver["registry"]> {
  const tool = (name: string, answer: () => unknown) => ({
    spec: { name, description: `${name} ${HALF}`, input: { key: `a key ${HALF}` } },
    handler: ((input: Record<string, string>) => {
      run(input)
      return answer()
    }) as (input: Record<string, string>) => string,
  })
  const bad = () => {
    throw new Error("the tool broke")
  }
  return [tool("good", () => "fine"), tool("bad", bad), tool("odd", () => 7), tool("half", () => HALF)]
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

type Tree = { leafId: string | null; moveTo(id: string | null): void; allEntries(): { id: string }[] }

function tryMove(tree: Tree, place: number): void {
  const id = place === 0 ? null : tree.allEntries()[place - 1]?.id
  if (id === undefined) return
  const leaf = tree.leafId
  try {
    tree.moveTo(id)
  } catch (error) {
    // Between calls and results nobody may stand; the script goes on where it was.
    if (!(error instanceof Error) || tree.leafId !== leaf) throw error
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
