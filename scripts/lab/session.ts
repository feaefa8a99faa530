/** One way for the lab to talk to any chapter, and the parts that every experiment uses: a seed, a strict service, a transcript. */
import { createHash } from "node:crypto"
import type * as Final from "../../s12_packages/code.ts"
import type { Text } from "../course/language.ts"
import type { ChapterId } from "../course/manifest.ts"

export type Core = typeof Final
export type Message = Final.AgentMessage
export type Input = Final.ProviderInput
export type Event = Final.ProviderEvent
export type Call = Final.ToolCall
export type Options = Final.TurnOptions

/** A program on the bench: a chapter as it is, or with a fault in it. */
export type Program = {
  id: ChapterId
  core: Core
}

/** A line of a transcript: a request that was sent, or a message that was stored. */
export type Line = {
  kind: "request" | "message" | "note"
  text: string
  /** All that a request carried. */
  sent?: Input
}

/** What a run of an experiment leaves behind. */
export type Transcript = {
  lines: Line[]
  /** The history at the end, whole. */
  messages: Message[]
  /** Where somebody could have noticed: the index of a line, and what could be seen there. */
  visible?: { line: number; what: Text }
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** A fresh state, in the form that the chapter has for it. */
export function createState({ id, core }: Program): Final.AgentState {
  if (id < "s07") return { messages: [], ...(id >= "s06" && { model: "scripted" }) } as unknown as Final.AgentState
  return { messages: new core.SessionTree(), model: "scripted" }
}

/** The messages of the path. */
export function historyOf({ id }: Program, state: Final.AgentState): Message[] {
  return id < "s07" ? (state.messages as unknown as Message[]) : state.messages.currentPath()
}

/** Puts messages into a state, past the loop. */
export function fill({ id }: Program, state: Final.AgentState, messages: readonly Message[]): void {
  if (id < "s07") (state.messages as unknown as Message[]).push(...messages)
  else for (const message of messages) state.messages.append(message)
}

/** A message in one line. */
export function describeMessage(message: Message): string {
  const content = message.content.replaceAll("\n", " ⏎ ")
  if (message.role === "toolResult") return `result ${message.toolCallId}: ${content}`
  if (message.role === "user") return `user: ${content}`
  const calls = (message.toolCalls ?? []).map(
    ({ id, name, input }) => `${id} ${name}(${Object.values(input).join(", ")})`,
  )
  const end = message.stopReason === "error" ? " [error]" : ""
  return `assistant${end}: ${[content, ...calls].filter((part) => part !== "").join(" | ")}`
}

/** What a service checks before it answers. It knows that something is wrong, and not where it went wrong. */
export function refuseUnpaired(messages: readonly { role: string; toolCallId?: string; toolCalls?: Call[] }[]): void {
  let open: string[] = []
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!open.includes(message.toolCallId ?? ""))
        throw new Error("400 invalid_request: unexpected tool result in messages")
      open = open.filter((id) => id !== message.toolCallId)
    } else {
      if (open.length > 0) throw new Error("400 invalid_request: tool calls must be followed by tool results")
      open = (message.toolCalls ?? []).map((call) => call.id)
    }
  }
  if (open.length > 0) throw new Error("400 invalid_request: tool calls must be followed by tool results")
}

/** A message of the scripted model. */
export function reply(
  text: string,
  calls: Call[] = [],
  end: "stop" | "toolUse" | "error" = calls.length > 0 ? "toolUse" : "stop",
): Event[] {
  return [
    { type: "message_start" },
    ...(text === "" ? [] : [{ type: "text_delta" as const, text }]),
    ...calls.map((call): Event => ({ type: "tool_call", call })),
    { type: "message_end", stopReason: end },
  ]
}

/** What happens in one turn: the service's answers, the tools and how they are run. */
export type Turn = {
  prompt: string
  answer: (input: Input, request: number) => Event[]
  options?: Partial<Options>
}

/** Four characters that stand for all that is sent: requests that differ have, as good as always, others. */
function digest(input: Input): string {
  return createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 4)
}

/** Who complained, and in which words. */
function said(en: string, zh: string, error: unknown): Text {
  const words = `"${(error as Error).message}"`
  return { en: `${en} ${words}`, zh: `${zh} ${words}` }
}

/** Plays turns on a program and writes down what is sent and what is stored, in the order in which it happens. */
export async function record(
  program: Program,
  turns: readonly Turn[],
  options: Partial<Options>,
  start: readonly Message[] = [],
): Promise<Transcript> {
  const { core } = program
  const state = createState(program)
  fill(program, state, start)
  const transcript: Transcript = {
    lines: start.map((message) => ({ kind: "message", text: describeMessage(message) })),
    messages: [],
  }
  const note = (kind: Line["kind"], text: string, sent?: Input): number =>
    transcript.lines.push({ kind, text, ...(sent && { sent: structuredClone(sent) }) }) - 1
  let stored = historyOf(program, state).length
  const catchUp = (): void => {
    const history = historyOf(program, state)
    for (const message of history.slice(stored)) note("message", describeMessage(message))
    stored = Math.max(stored, history.length)
    transcript.messages = structuredClone(history)
  }
  let requests = 0
  for (const turn of turns) {
    const provider: Final.Provider = {
      async *stream(input) {
        catchUp()
        const at = note(
          "request",
          `request ${++requests}, ${input.messages.length} ${input.messages.length === 1 ? "message" : "messages"}, ${digest(input)}`,
          input,
        )
        try {
          refuseUnpaired(input.messages)
        } catch (error) {
          transcript.visible ??= { line: at, what: said("the service answers", "服务答的是", error) }
          throw error
        }
        yield* turn.answer(input, requests)
      },
    }
    try {
      await core.runOneTurn(state, turn.prompt, { provider, output: { log: () => {} }, ...options, ...turn.options })
      catchUp()
    } catch (error) {
      catchUp()
      const at = note("note", `stopped: ${(error as Error).message}`)
      transcript.visible ??= { line: at, what: said("the guard says", "守卫说", error) }
      return transcript
    }
  }
  return transcript
}

/** Notes where a person would notice, when nothing noticed before. */
export function noticeAt(transcript: Transcript, find: (line: Line) => boolean, what: Text): Transcript {
  const line = transcript.lines.findIndex(find)
  if (line >= 0) transcript.visible ??= { line, what }
  return transcript
}

/** The first line in which two transcripts differ; -1 when they do not. */
export function firstDeviation(baseline: Transcript, other: Transcript): number {
  const length = Math.max(baseline.lines.length, other.lines.length)
  for (let index = 0; index < length; index++)
    if (baseline.lines[index]?.text !== other.lines[index]?.text) return index
  return -1
}

/** How far a later line is from an earlier one: the messages and requests that came behind the earlier one, up to the later. */
export function distance({ lines }: Transcript, from: number, to: number): { messages: number; requests: number } {
  const between = lines.slice(from + 1, to + 1)
  return {
    messages: between.filter(({ kind }) => kind === "message").length,
    requests: between.filter(({ kind }) => kind === "request").length,
  }
}
