/** The suite of all models, on the scripted model and on each adapter against a local server. */
import type { VendorModel } from "../../../app/adapters/choose.ts"
import type { ProviderEvent } from "../../support/driver.ts"
import { conforms } from "./conformance.ts"
import { type Answer, DIALECTS, encode, type SentCall } from "./dialects.ts"
import { Service } from "./service.ts"

const service = new Service()

for (const dialect of DIALECTS)
  conforms({
    ...dialect,
    model(...answers) {
      service.plan(...answers.map((answer) => ({ pieces: [encode(dialect.frames(answer))] })))
      return dialect.create({ model: "m", key: "secret-key", baseUrl: service.url })
    },
  })

conforms({ name: "the tests, from a script", model: createScripted, sendsText: true, sendsIds: true })

/** The model without a service: what an answer amounts to, written down once more and in the plainest way. */
function createScripted(...answers: Answer[]): VendorModel {
  const queue = [...answers]
  const used = new Set<string>()
  async function* stream(signal?: AbortSignal): AsyncGenerator<ProviderEvent> {
    if (signal?.aborted) throw new Error("the request was cancelled")
    const { texts = [], calls = [], end = "stop" } = queue.shift() ?? {}
    yield { type: "message_start" }
    let held = ""
    for (const text of texts) {
      const whole = held + text
      held = whole.isWellFormed() ? "" : whole.slice(-1)
      yield { type: "text_delta", text: held === "" ? whole : whole.slice(0, -1) }
    }
    if (held !== "") yield { type: "text_delta", text: held }
    let problem = end === "stop" || end === "calls" ? undefined : `cut, the end is ${end}`
    for (const call of calls) {
      let id = call.id ?? "call"
      while (used.has(id)) id += "+"
      used.add(id)
      const input = readInput(call)
      if (input === undefined) problem ??= "the arguments must be an object"
      yield { type: "tool_call", call: { id, name: call.name, input: input ?? {} } }
    }
    if (problem !== undefined) throw new Error(problem)
    yield { type: "message_end", stopReason: calls.length > 0 ? "toolUse" : "stop" }
  }
  return { name: "scripted", connect: (signal) => ({ stream: () => stream(signal) }) }
}

function readInput({ json = "" }: SentCall): Record<string, string> | undefined {
  try {
    const value = JSON.parse(json.trim() || "{}") ?? {}
    if (typeof value !== "object" || Array.isArray(value)) return undefined
    const texts = Object.entries(value).map(([key, item]) => [
      key,
      typeof item === "string" ? item : JSON.stringify(item),
    ])
    return Object.fromEntries(texts) as Record<string, string>
  } catch {
    return undefined
  }
}
