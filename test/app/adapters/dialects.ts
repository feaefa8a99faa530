/** The wire formats of the three services, as far as an answer and a request need them. Made here, from what the services document. */
import { createAnthropic } from "../../../app/adapters/anthropic.ts"
import type { Settings, VendorModel } from "../../../app/adapters/choose.ts"
import { createGoogle } from "../../../app/adapters/google.ts"
import { createOpenAI } from "../../../app/adapters/openai.ts"

/** A call as a service sends it: with the text of its arguments. */
export type SentCall = {
  id?: string
  name: string
  json?: string
}

/** An answer, whichever service gives it. */
export type Answer = {
  texts?: readonly string[]
  calls?: readonly SentCall[]
  /** How it ends: `stop` and `calls` are normal. */
  end?: "stop" | "calls" | "limit" | "refusal" | "unknown" | "missing"
}

/** One event on the wire. */
export type Frame = {
  event?: string
  data: string
}

/** A service's format. */
export type Dialect = {
  name: string
  create(settings: Settings): VendorModel
  /** An answer as events. */
  frames(answer: Answer): Frame[]
  /** An error in the middle of an answer. */
  error(message: string): Frame
  /** Whether the service sends arguments as text, so that they can be cut. */
  sendsText: boolean
  /** Whether every call has an id. */
  sendsIds: boolean
  /** How many events stand behind the reason for the end. */
  tail: number
}

function frame(data: unknown, event?: string): Frame {
  return { data: typeof data === "string" ? data : JSON.stringify(data), ...(event !== undefined && { event }) }
}

/** A text in two pieces, so that a reader has to join them. */
function halves(text: string): string[] {
  const middle = Math.floor(text.length / 2)
  return text.length < 2 ? [text] : [text.slice(0, middle), text.slice(middle)]
}

const anthropic: Dialect = {
  name: "anthropic",
  create: createAnthropic,
  sendsText: true,
  sendsIds: true,
  tail: 1,
  frames({ texts = [], calls = [], end = calls.length > 0 ? "calls" : "stop" }) {
    const events: { type: string }[] = []
    const add = (event: { type: string } & Record<string, unknown>): number => events.push(event)
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      usage,
    }
    add({ type: "message_start", message })
    const first = texts.length > 0 ? 1 : 0
    if (first === 1) {
      add({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } })
      for (const text of texts) add({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })
      add({ type: "content_block_stop", index: 0 })
    }
    for (const [place, { id, name, json = "" }] of calls.entries()) {
      const index = place + first
      add({ type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } })
      for (const partial_json of halves(json))
        add({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } })
      add({ type: "content_block_stop", index })
    }
    const reasons = { stop: "end_turn", calls: "tool_use", limit: "max_tokens", refusal: "refusal", unknown: "bored" }
    if (end !== "missing") {
      add({ type: "message_delta", delta: { stop_reason: reasons[end], stop_sequence: null }, usage })
      add({ type: "message_stop" })
    }
    return events.map((event) => frame(event, event.type))
  },
  error: (message) => frame({ type: "error", error: { type: "overloaded_error", message } }, "error"),
}

const openai: Dialect = {
  name: "openai",
  create: createOpenAI,
  sendsText: true,
  sendsIds: true,
  tail: 1,
  frames({ texts = [], calls = [], end = calls.length > 0 ? "calls" : "stop" }) {
    const chunk = (delta: unknown, finish_reason: string | null = null): Frame =>
      frame({
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        model: "m",
        choices: [{ index: 0, delta, finish_reason }],
      })
    const pieces = calls.flatMap(({ id, name, json = "" }, index) => [
      chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
      ...halves(json).map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ])
    const reasons = { stop: "stop", calls: "tool_calls", limit: "length", refusal: "content_filter", unknown: "bored" }
    return [
      chunk({ role: "assistant", content: "" }),
      ...texts.map((content) => chunk({ content })),
      ...pieces,
      ...(end === "missing" ? [] : [chunk({}, reasons[end]), frame("[DONE]")]),
    ]
  },
  error: (message) => frame({ error: { message, type: "server_error", code: null } }),
}

const google: Dialect = {
  name: "google",
  create: createGoogle,
  sendsText: false,
  sendsIds: false,
  tail: 0,
  frames({ texts = [], calls = [], end = "stop" }) {
    const chunk = (parts: unknown[], finishReason?: string): Frame =>
      frame({ candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason && { finishReason }) }] })
    const args = (json?: string): unknown => (json === undefined || json.trim() === "" ? undefined : JSON.parse(json))
    const reasons = { stop: "STOP", calls: "STOP", limit: "MAX_TOKENS", refusal: "SAFETY", unknown: "BORED" }
    return [
      ...texts.map((text) => chunk([{ text }])),
      ...calls.map(({ id, name, json }) => chunk([{ functionCall: { ...(id && { id }), name, args: args(json) } }])),
      ...(end === "missing" ? [] : [chunk([{ text: "" }], reasons[end])]),
    ]
  },
  error: (message) => frame({ error: { code: 503, message, status: "UNAVAILABLE" } }),
}

/** The three. */
export const DIALECTS: readonly Dialect[] = [anthropic, openai, google]

/** Finds one of them. */
export function dialect(name: "anthropic" | "openai" | "google"): Dialect {
  return DIALECTS.find((each) => each.name === name) as Dialect
}

/** Events as bytes, in the plainest framing. */
export function encode(frames: readonly Frame[], lineEnd = "\n"): Buffer {
  const text = frames
    .map(({ event, data }) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`)
    .join("")
  return Buffer.from(text.replaceAll("\n", lineEnd))
}
