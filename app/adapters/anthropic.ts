/** Models of Anthropic, and of servers that speak its Messages API. */
import Anthropic from "@anthropic-ai/sdk"
import { CUT, createModel, type Draft, type DraftCall, type Settings, unknownEnd, type VendorModel } from "./answer.ts"
import type { Conversation, SentTool, Turn } from "./conversation.ts"
import { ServiceError } from "./failure.ts"
import { createFetch } from "./wire.ts"

/** How long an answer may be unless told otherwise. The service wants a number. */
const MAX_TOKENS = 8192

type Thinking = Anthropic.ThinkingBlockParam | Anthropic.RedactedThinkingBlockParam

/** A model of Anthropic. Nothing is sent twice: to try again is the caller's decision. */
export function createAnthropic({ model, key, baseUrl, maxTokens = MAX_TOKENS, silence }: Settings): VendorModel {
  return createModel(`anthropic/${model}`, key, /^[\w-]{1,64}$/, async function* ask(conversation, draft, signal) {
    const client = new Anthropic({
      apiKey: key,
      baseURL: baseUrl ?? "https://api.anthropic.com",
      fetch: createFetch(signal, silence),
      maxRetries: 0,
      logLevel: "off",
    })
    const request = toRequest(conversation)
    yield* readStream(await client.messages.create({ model, max_tokens: maxTokens, stream: true, ...request }), draft)
  })
}

/** Our conversation in the vendor's words. */
function toRequest({ system, turns, tools, pastTools }: Conversation): {
  system?: string
  messages: Anthropic.MessageParam[]
  tools?: Anthropic.Tool[]
  tool_choice?: Anthropic.ToolChoice
} {
  const messages = turns.map(toMessage)
  const base = { ...(system.trim() !== "" && { system }), messages }
  if (tools.length > 0) return { ...base, tools: tools.map(toTool) }
  if (pastTools.length === 0) return base
  // Calls in the history are refused where no tool is declared, so those of the past are, and are not to be used.
  return { ...base, tools: pastTools.map(toTool), tool_choice: { type: "none" } }
}

function toTool({ name, description, schema }: SentTool): Anthropic.Tool {
  return { name, description, input_schema: schema }
}

function toMessage(turn: Turn): Anthropic.MessageParam {
  const texts = turn.texts.map((text): Anthropic.TextBlockParam => ({ type: "text", text }))
  if (turn.role === "assistant") {
    const calls = turn.calls.map(
      ({ id, name, input }): Anthropic.ToolUseBlockParam => ({ type: "tool_use", id, name, input }),
    )
    const thinking = turn.calls.flatMap((call) => (call.extra as Thinking[] | undefined) ?? [])
    return { role: "assistant", content: [...thinking, ...texts, ...calls] }
  }
  const results = turn.results.map(
    ({ id, content, isError }): Anthropic.ToolResultBlockParam => ({
      type: "tool_result",
      tool_use_id: id,
      // A blank text is refused, no text is not.
      ...(content.trim() !== "" && { content }),
      ...(isError && { is_error: true }),
    }),
  )
  return { role: "user", content: [...results, ...texts] }
}

/** Reads the vendor's events up to the one that ends the message. */
async function* readStream(
  events: AsyncIterable<Anthropic.RawMessageStreamEvent>,
  draft: Draft,
): AsyncGenerator<string> {
  const blocks = new Map<number, DraftCall>()
  const thoughts = new Map<number, Thinking>()
  let end: Draft["end"]
  for await (const event of events) {
    if (event.type === "content_block_start") {
      const block = event.content_block
      if (block.type === "text") yield block.text
      else if (block.type === "tool_use") openCall(event.index, block, blocks, draft)
      else if (block.type === "thinking" || block.type === "redacted_thinking") thoughts.set(event.index, { ...block })
    } else if (event.type === "content_block_delta") {
      const { delta } = event
      const thought = thoughts.get(event.index)
      if (delta.type === "text_delta") yield delta.text
      else if (delta.type === "input_json_delta") addArguments(event.index, delta.partial_json, blocks)
      else if (delta.type === "thinking_delta" && thought?.type === "thinking") thought.thinking += delta.thinking
      else if (delta.type === "signature_delta" && thought?.type === "thinking") thought.signature = delta.signature
    } else if (event.type === "content_block_stop") {
      const call = blocks.get(event.index)
      if (call !== undefined) call.isClosed = true
    } else if (event.type === "message_delta") {
      end = toEnd(event.delta.stop_reason) ?? end
      // A reason that is a problem holds whether or not the last event still comes.
      if (typeof end === "object") draft.end = end
    } else if (event.type === "message_stop") {
      if (end !== undefined) draft.end = end
      break
    }
  }
  // What the model thought before its first call is wanted again together with the call's result.
  const [first] = draft.calls
  if (first !== undefined && thoughts.size > 0) first.extra = [...thoughts.values()]
}

function openCall(index: number, block: Anthropic.ToolUseBlock, blocks: Map<number, DraftCall>, draft: Draft): void {
  // Some servers send all arguments at once, at the beginning.
  const isWhole = typeof block.input === "object" && block.input !== null && Object.keys(block.input).length > 0
  const call = {
    id: block.id,
    name: block.name ?? "",
    json: isWhole ? JSON.stringify(block.input) : "",
    isClosed: false,
  }
  blocks.set(index, call)
  draft.calls.push(call)
}

function addArguments(index: number, json: string, blocks: Map<number, DraftCall>): void {
  const call = blocks.get(index)
  if (call === undefined || call.isClosed)
    throw new ServiceError("the model service sent arguments that belong to no call")
  call.json += json
}

function toEnd(reason: Anthropic.StopReason | null): Draft["end"] {
  if (reason === null || reason === undefined) return undefined
  if (reason === "end_turn" || reason === "stop_sequence") return "normal"
  if (reason === "tool_use") return "calls"
  if (reason === "max_tokens") return { problem: CUT }
  if (reason === "model_context_window_exceeded")
    return { problem: "the answer was cut: the conversation is too long for the model" }
  if (reason === "refusal") return { problem: "the model refused to answer" }
  return unknownEnd(reason)
}
