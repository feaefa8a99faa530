/**
 * From the pieces of an answer to the core's events. An adapter reads its vendor's chunks into a draft; what the draft amounts to is decided
 * here, once for all of them.
 */
import type { Provider, ProviderEvent, ProviderInput } from "../../s12_packages/code.ts"
import { CallMemory, Conversation } from "./conversation.ts"
import { describeFailure, ServiceError, toLine } from "./failure.ts"

/** What an adapter needs to know. */
export type Settings = {
  /** The vendor's name for the model. */
  model: string
  key: string
  /** Where the service is, if not at the vendor's own address. */
  baseUrl?: string
  /** How many tokens an answer may have. */
  maxTokens?: number
  /** For how long, in milliseconds, the service may send nothing at all. Five minutes unless told otherwise. */
  silence?: number
}

/** A model that can be chosen. `connect` gives it for one run; whoever aborts the signal ends the request that is on its way. */
export type VendorModel = {
  name: string
  connect(signal?: AbortSignal): Provider
}

/** A call as it comes in. `json` is the text of its arguments; `isClosed` says that the service is done with it. */
export type DraftCall = {
  id: string | undefined
  name: string
  json: string
  isClosed: boolean
  /** What the service wants to hear again about this call. */
  extra?: unknown
}

/** An answer as it comes in. `end` stays undefined until the service says how it ended: normally, or with a problem. */
export type Draft = {
  calls: DraftCall[]
  end?: "normal" | "calls" | { problem: string } | undefined
}

/** One request in a vendor's format. Gives the text as it arrives and puts all else into the draft. */
export type Ask = (conversation: Conversation, draft: Draft, signal: AbortSignal) => AsyncIterable<string>

/** The reason for an answer that ran into its limit. */
export const CUT = "the answer was cut at the limit of output tokens: ask for less at a time"

/** The reason for an end that nobody has told us how to take. */
export function unknownEnd(reason: unknown): { problem: string } {
  return { problem: `the model service ended its answer with ${JSON.stringify(reason)}, which is no normal end` }
}

/**
 * The arguments of a call as texts by name: strings as they are, every other value as its JSON text. Empty, blank and null mean that there are
 * none. Throws for all that is no complete, strict JSON object: what was cut or repaired must not run (I3).
 */
export function readArguments(name: string, json: string): Record<string, string> {
  if (json.trim() === "") return {}
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw new ServiceError(
      `the arguments of "${name}" are no complete JSON, the answer may have been cut: ${toLine(json)}`,
    )
  }
  if (value === null) return {}
  if (typeof value !== "object" || Array.isArray(value))
    throw new ServiceError(`the arguments of "${name}" must be an object, got ${toLine(json)}`)
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, typeof item === "string" ? item : JSON.stringify(item)]),
  )
}

/** What is wrong with an answer that has ended, if anything is. */
function findProblem({ calls, end }: Draft): string | undefined {
  if (typeof end === "object") return end.problem
  if (end === undefined) return "the answer broke off: the model service did not say that it was complete"
  const open = calls.find((call) => !call.isClosed)
  if (open !== undefined) return `the answer broke off within the call of "${open.name}"`
  if (calls.some((call) => call.name === "")) return "the model service sent a call without a name"
  if (end === "calls" && calls.length === 0) return "the model service announced calls and sent none"
  return undefined
}

/** Joins the halves of characters that a service sends in two pieces. */
async function* joinHalves(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let held = ""
  for await (const piece of pieces) {
    const text = held + piece
    held = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ""
    const whole = text.slice(0, text.length - held.length)
    if (whole !== "") yield whole
  }
  if (held !== "") yield held
}

/**
 * One answer. Calls come last, after the service has said that the answer is complete. When it is not, all calls that were announced come all the
 * same, those without complete arguments with none, and then the generator throws: the core answers each with an error and runs none
 * (I2, I3). Every error is a plain one, with a sentence.
 */
async function* streamAnswer(
  ask: Ask,
  input: ProviderInput,
  memory: CallMemory,
  acceptedId: RegExp,
  key: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ProviderEvent> {
  const draft: Draft = { calls: [] }
  const request = new AbortController()
  const cancel = (): void => request.abort()
  if (signal?.aborted) cancel()
  signal?.addEventListener("abort", cancel, { once: true })
  let conversation: Conversation | undefined
  let problem: string | undefined
  try {
    yield { type: "message_start" }
    conversation = new Conversation(input, memory, acceptedId)
    request.signal.throwIfAborted()
    for await (const text of joinHalves(ask(conversation, draft, request.signal))) yield { type: "text_delta", text }
    problem = findProblem(draft)
  } catch (error) {
    problem = describeFailure(error, key)
  } finally {
    if (signal?.aborted) problem = "the request was cancelled"
    signal?.removeEventListener("abort", cancel)
    // Ends the request where the answer was not read to its end, by whatever way this is left.
    cancel()
  }
  for (const { id, name, json, extra } of draft.calls) {
    let values: Record<string, string> = {}
    try {
      values = readArguments(name, json)
    } catch (error) {
      problem ??= describeFailure(error, key)
    }
    if (conversation) yield { type: "tool_call", call: conversation.receiveCall(id, name, values, extra) }
  }
  if (problem !== undefined) throw new Error(problem)
  yield { type: "message_end", stopReason: draft.calls.length > 0 ? "toolUse" : "stop" }
}

/** A model out of what an adapter can do. `acceptedId` is the form of the ids that its service takes. */
export function createModel(name: string, key: string, acceptedId: RegExp, ask: Ask): VendorModel {
  const memory = new CallMemory()
  return {
    name,
    connect: (signal) => ({ stream: (input) => streamAnswer(ask, input, memory, acceptedId, key, signal) }),
  }
}
