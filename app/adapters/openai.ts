/** Models of OpenAI, and of the many servers that speak its chat completions: a base URL leads there. */
import OpenAI from "openai"
import { CUT, createModel, type Draft, type DraftCall, type Settings, unknownEnd, type VendorModel } from "./answer.ts"
import type { Conversation, Turn } from "./conversation.ts"
import { ServiceError, toLine } from "./failure.ts"
import { createFetch } from "./wire.ts"

type Chunk = OpenAI.ChatCompletionChunk
type CallDelta = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall

/** A model of OpenAI or of a compatible server. Nothing is sent twice: to try again is the caller's decision. */
export function createOpenAI({ model, key, baseUrl, maxTokens, silence }: Settings): VendorModel {
  return createModel(`openai/${model}`, key, /^[\w-]{1,40}$/, async function* ask(conversation, draft, signal) {
    const client = new OpenAI({
      // A server of one's own wants no key, and the SDK wants one.
      apiKey: key === "" ? "none" : key,
      baseURL: baseUrl ?? "https://api.openai.com/v1",
      fetch: createFetch(signal, silence),
      maxRetries: 0,
      logLevel: "off",
    })
    // OpenAI has given the limit a new name, compatible servers know the old one.
    const name = baseUrl === undefined ? "max_completion_tokens" : "max_tokens"
    const limit = maxTokens === undefined ? {} : { [name]: maxTokens }
    const request = toRequest(conversation)
    yield* readStream(await client.chat.completions.create({ model, stream: true, ...limit, ...request }), draft)
  })
}

/** Our conversation in the vendor's words. */
function toRequest({ system, turns, tools }: Conversation): {
  messages: OpenAI.ChatCompletionMessageParam[]
  tools?: OpenAI.ChatCompletionTool[]
} {
  const messages = turns.flatMap(toMessages)
  if (system.trim() !== "") messages.unshift({ role: "system", content: system })
  if (tools.length === 0) return { messages }
  const functions = tools.map(({ name, description, schema }) => ({ name, description, parameters: schema }))
  return { messages, tools: functions.map((tool) => ({ type: "function", function: tool })) }
}

function toMessages(turn: Turn): OpenAI.ChatCompletionMessageParam[] {
  const text = turn.texts.join("\n\n")
  if (turn.role === "user") {
    const results = turn.results.map(
      ({ id, content }): OpenAI.ChatCompletionMessageParam => ({ role: "tool", tool_call_id: id, content }),
    )
    return text === "" ? results : [...results, { role: "user", content: text }]
  }
  if (turn.calls.length === 0) return [{ role: "assistant", content: text }]
  const calls = turn.calls.map(
    ({ id, name, input }): OpenAI.ChatCompletionMessageToolCall => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    }),
  )
  return [{ role: "assistant", content: text === "" ? null : text, tool_calls: calls }]
}

/** Reads the vendor's chunks to the end of the stream: an error may still come behind the reason for the end. */
async function* readStream(chunks: AsyncIterable<Chunk>, draft: Draft): AsyncGenerator<string> {
  const calls = new CallRouter(draft.calls)
  let end: Draft["end"]
  for await (const { choices } of chunks) {
    // Compatible servers send chunks without a choice: for the usage, or to keep the line open.
    const choice = choices?.[0]
    const { content, refusal, tool_calls: deltas } = choice?.delta ?? {}
    if (typeof content === "string") yield content
    if (typeof refusal === "string" && refusal !== "") throw new ServiceError(`the model refused: ${toLine(refusal)}`)
    for (const delta of deltas ?? []) calls.add(delta)
    if (choice?.finish_reason && typeof end !== "object") end = toEnd(choice.finish_reason)
  }
  // No event closes a call: only the reason for the end says that all of them are complete.
  if (end === "normal" || end === "calls") for (const call of draft.calls) call.isClosed = true
  if (end !== undefined) draft.end = end
}

/**
 * Finds the call that a piece belongs to. Servers do not agree on what leads there: a known id does, then an index that a call was opened under.
 * A new id opens a call, and so does a name where no id and no index lead anywhere. What is left belongs to the only call that is
 * still open. Where there is not exactly one, it is an error: pieces of two calls must not be glued together (I3).
 */
class CallRouter {
  readonly #calls: DraftCall[]
  readonly #byIndex = new Map<number, DraftCall>()

  constructor(calls: DraftCall[]) {
    this.#calls = calls
  }

  add(delta: CallDelta): void {
    const index = delta.index ?? undefined
    const id = delta.id || undefined
    const name = delta.function?.name ?? ""
    const json = delta.function?.arguments ?? ""
    if (id === undefined && name === "" && json === "") return
    const call = this.#find(index, id, name, json) ?? this.#open(index, id, name)
    if (call.name === "") call.name = name
    if (name !== "" && name !== call.name)
      throw new ServiceError(`the model service renamed a call of "${call.name}" to "${name}"`)
    call.json += json
  }

  /** The call that a piece continues; undefined for one that opens a call. */
  #find(index: number | undefined, id: string | undefined, name: string, json: string): DraftCall | undefined {
    const indexed = index === undefined ? undefined : this.#byIndex.get(index)
    const same = id === undefined ? undefined : this.#calls.findLast((call) => call.id === id)
    const known = same ?? (id === undefined ? indexed : undefined)
    if (known !== undefined) {
      // With its name the same id opens another call under an index of its own, or behind complete arguments.
      const isElsewhere = same !== undefined && index !== undefined && indexed === undefined
      const isBehind = json.trim() !== "" && isComplete(known)
      return name !== "" && (isElsewhere || isBehind) ? undefined : known
    }
    if (id !== undefined || name !== "") return undefined
    const open = this.#calls.filter((call) => !isComplete(call))
    if (open.length === 1) return open[0]
    throw new ServiceError("the model service sent a piece of a call that fits no call, or more than one")
  }

  #open(index: number | undefined, id: string | undefined, name: string): DraftCall {
    const call = { id, name, json: "", isClosed: false }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }
}

/** Whether nothing can be added to the arguments of a call any more. */
function isComplete({ json }: DraftCall): boolean {
  if (!json.trimEnd().endsWith("}")) return false
  try {
    JSON.parse(json)
    return true
  } catch {
    return false
  }
}

function toEnd(reason: string): Draft["end"] {
  if (reason === "stop") return "normal"
  if (reason === "tool_calls") return "calls"
  if (reason === "length") return { problem: CUT }
  if (reason === "content_filter") return { problem: "the answer was held back by the filter of the model service" }
  return unknownEnd(reason)
}
