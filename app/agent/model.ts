/** The model slot: the core's `Provider`, and how a model that knows less than that is plugged in. */
import { setTimeout as pause } from "node:timers/promises"
import type { Provider, ProviderInput } from "../../s12_packages/code.ts"
import type { StoredAssistantMessage } from "../protocol.ts"

/** What a model is given: the whole conversation, the tools, the system prompt. */
export type CompleteInput = ProviderInput

/** A model in its simplest form: it reads a request and gives its whole answer at once. */
export interface TeachingModel {
  complete(input: CompleteInput): Promise<StoredAssistantMessage>
}

/** A model that can be chosen. `connect` gives it for one run; whoever aborts the signal ends the request that is on its way. */
export type ModelSlot = {
  name: string
  /** False where it cannot write a summary of a conversation. */
  summarizes?: boolean
  connect(signal: AbortSignal): Provider
}

const words = new Intl.Segmenter(undefined, { granularity: "word" })

/** A stream out of a whole answer, word by word. `pace` is the time between two words, in milliseconds. */
export function createProvider(model: TeachingModel, pace = 0): Provider {
  return {
    async *stream(input) {
      const { content, stopReason } = await model.complete(input)
      yield { type: "message_start" }
      for (const block of content) {
        if (block.type === "toolCall") yield { type: "tool_call", call: block }
        else
          for (const { segment } of words.segment(block.text)) {
            if (pace > 0) await pause(pace)
            yield { type: "text_delta", text: segment }
          }
      }
      yield { type: "message_end", stopReason }
    },
  }
}
