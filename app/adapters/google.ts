/** Gemini models of Google. */
import {
  type Content,
  type FunctionDeclaration,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
} from "@google/genai"
import { CUT, createModel, type Draft, type Settings, unknownEnd, type VendorModel } from "./answer.ts"
import type { Conversation, SentTool, Turn } from "./conversation.ts"
import { createFetch } from "./wire.ts"

/** Stands in for the signature of a call that this process did not see arrive. The service documents it for this case. */
const NO_SIGNATURE = "skip_thought_signature_validator"

/** The models that do not ask for signatures. */
const WITHOUT_SIGNATURES = /^(models\/)?gemini-[12][.-]/

/** A Gemini model. Nothing is sent twice: to try again is the caller's decision. */
export function createGoogle({ model, key, baseUrl, maxTokens, silence }: Settings): VendorModel {
  return createModel(`google/${model}`, key, /^[\w-]{1,64}$/, async function* ask(conversation, draft, signal) {
    const client = new GoogleGenAI({
      apiKey: key,
      vertexai: false,
      httpOptions: {
        baseUrl: baseUrl ?? "https://generativelanguage.googleapis.com",
        fetch: createFetch(signal, silence),
      },
    })
    const config = toConfig(conversation)
    const contents = conversation.turns.map((turn) => toContent(turn, !WITHOUT_SIGNATURES.test(model)))
    const limit = maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }
    yield* readStream(
      await client.models.generateContentStream({ model, contents, config: { ...config, ...limit } }),
      draft,
    )
  })
}

/** What goes along with the conversation in the vendor's words. */
function toConfig({ system, tools }: Conversation): {
  systemInstruction?: string
  tools?: { functionDeclarations: FunctionDeclaration[] }[]
} {
  return {
    ...(system.trim() !== "" && { systemInstruction: system }),
    ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(toDeclaration) }] }),
  }
}

function toDeclaration({ name, description, schema }: SentTool): FunctionDeclaration {
  // An object without properties is refused, and no arguments at all are not.
  const hasArguments = Object.keys(schema.properties).length > 0
  return { name, description, ...(hasArguments && { parametersJsonSchema: schema }) }
}

/** What the service wants to hear again about a call. */
type Said = { signature?: string; isNamed: boolean }

function toContent(turn: Turn, wantsSignatures: boolean): Content {
  const texts = turn.texts.map((text): Part => ({ text }))
  if (turn.role === "user") {
    const results = turn.results.map(({ id, name, content, isError, extra }): Part => {
      const response = isError ? { error: content } : { output: content }
      return { functionResponse: { ...((extra as Said | undefined)?.isNamed && { id }), name, response } }
    })
    return { role: "user", parts: [...results, ...texts] }
  }
  const calls = turn.calls.map(({ id, name, input, extra }, index): Part => {
    const said = extra as Said | undefined
    // Of the calls that are made together, the first carries the signature.
    const signature = said?.signature ?? (wantsSignatures && index === 0 ? NO_SIGNATURE : undefined)
    const functionCall = { ...(said?.isNamed && { id }), name, args: input }
    return { functionCall, ...(signature !== undefined && { thoughtSignature: signature }) }
  })
  return { role: "model", parts: [...texts, ...calls] }
}

/** Reads the vendor's chunks to the end of the stream: an error may still come behind the reason for the end. */
async function* readStream(chunks: AsyncIterable<GenerateContentResponse>, draft: Draft): AsyncGenerator<string> {
  for await (const { candidates, promptFeedback } of chunks) {
    if (promptFeedback?.blockReason)
      draft.end = { problem: `the model service refused the prompt: ${promptFeedback.blockReason}` }
    const candidate = candidates?.[0]
    for (const part of candidate?.content?.parts ?? []) {
      if (part.functionCall !== undefined) addCall(part, draft)
      else if (typeof part.text === "string" && !part.thought) yield part.text
    }
    if (candidate?.finishReason && typeof draft.end !== "object") draft.end = toEnd(candidate.finishReason)
  }
}

function addCall({ functionCall, thoughtSignature: signature }: Part, draft: Draft): void {
  const { id, name = "", args, willContinue } = functionCall ?? {}
  const said: Said = { isNamed: id !== undefined, ...(signature !== undefined && { signature }) }
  const json = args === undefined ? "" : JSON.stringify(args)
  draft.calls.push({ id, name, json, isClosed: !willContinue, extra: said })
}

function toEnd(reason: string): Draft["end"] {
  if (reason === "STOP") return "normal"
  if (reason === "MAX_TOKENS") return { problem: CUT }
  if (reason === "MALFORMED_FUNCTION_CALL") return { problem: "the model made a call that is no valid call" }
  return unknownEnd(reason)
}
