/**
 * HTTP and server-sent events, the same for all services. The SDKs each read events in their own way, and none of them reads all that a
 * server may send: a comment in front of the data, mixed line ends, a last event without an empty line. So this stands between
 * them and the network: what reaches an SDK is one event per chunk, in the plainest form.
 */
import { createParser, type EventSourceMessage } from "eventsource-parser"
import { describeBody, rootMessage, ServiceError, toLine } from "./failure.ts"

/** For how long, in milliseconds, a service may send nothing at all before it is given up. */
export const SILENCE = 300_000

/** How many characters of a body that holds no events are kept for the error message. */
const KEPT = 10_000

/** An event in the plainest framing. Refuses an error object in the middle of a stream, and what is no complete JSON. */
function checkEvent({ event, data }: EventSourceMessage): Uint8Array {
  if (event === "error" || isErrorObject(data))
    throw new ServiceError(`the model service reported an error: ${describeBody(data)}`)
  try {
    JSON.parse(data)
  } catch {
    throw new ServiceError(`the answer of the model service broke off within an event: ${toLine(data)}`)
  }
  const name = event === undefined ? "" : `event: ${event}\n`
  // Line ends within the data stand between tokens of JSON, and a blank does as well.
  return Buffer.from(`${name}data: ${data.replaceAll("\n", " ")}\n\n`)
}

/** Whether a text is an object with an error in it. */
function isErrorObject(text: string): boolean {
  try {
    return Boolean((JSON.parse(text) as { error?: unknown } | null)?.error)
  } catch {
    return false
  }
}

/**
 * Reads events as the standard says, and gives each in the plainest framing. Two rules go beyond the standard. The last event needs no empty line
 * behind it: it counts if its data is complete JSON, and fails the stream if it is not. And `[DONE]` ends the stream, whether or not
 * the server closes the connection. An error object fails the stream, and so does a body without any event. What came before a failure
 * is given first.
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  const events: EventSourceMessage[] = []
  let stray = ""
  let isEmpty = true
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onError({ line = "" }) {
      if (stray.length < KEPT) stray += `${line}\n`
    },
  })
  const takeEvents = (): EventSourceMessage[] => {
    if (events.length > 0) isEmpty = false
    return events.splice(0).filter(({ data }) => data !== "")
  }
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    for (const event of takeEvents()) {
      if (event.data.trim() === "[DONE]") return
      yield checkEvent(event)
    }
  }
  parser.feed(`${decoder.decode()}\n\n`)
  for (const event of takeEvents()) if (event.data.trim() !== "[DONE]") yield checkEvent(event)
  if (isErrorObject(stray)) throw new ServiceError(`the model service reported an error: ${describeBody(stray)}`)
  if (!isEmpty) return
  const sent = stray.trim() === "" ? "nothing" : describeBody(stray)
  throw new ServiceError(`expected a stream of events, the model service sent ${sent}`)
}

/** Ends a request when nothing has arrived for too long. */
class Watch {
  readonly signal: AbortSignal
  readonly #silence: number
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(silence: number, signals: AbortSignal[]) {
    this.#silence = silence
    this.signal = AbortSignal.any([...signals, this.#controller.signal])
    this.signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true })
    this.restart()
  }

  restart(): void {
    clearTimeout(this.#timer)
    if (this.signal.aborted) return
    const reason = new ServiceError(`the model service sent nothing for ${this.#silence / 1000} s and was given up`)
    this.#timer = setTimeout(() => this.#controller.abort(reason), this.#silence)
  }
}

/**
 * A `fetch` for one request of an SDK. It ends with the signal, which has to be aborted in the end. An answer that is no success, and a server
 * that cannot be reached, reject with a `ServiceError`. Redirects are refused: they could carry the key to somebody else.
 */
export function createFetch(signal: AbortSignal, silence: number = SILENCE): typeof fetch {
  return async (input, init) => {
    const watch = new Watch(silence, [signal, ...(init?.signal ? [init.signal] : [])])
    const { origin } = new URL(input instanceof Request ? input.url : input)
    const response = await fetch(input, { ...init, redirect: "error", signal: watch.signal }).catch(
      (error: unknown) => {
        if (watch.signal.aborted) throw error
        throw new ServiceError(`cannot reach the model service at ${origin}: ${rootMessage(error)}`)
      },
    )
    if (!response.ok) {
      const text = describeBody(await response.text())
      throw new ServiceError(`the model service answered ${response.status}${text === "" ? "" : `: ${text}`}`)
    }
    if (response.body === null) throw new ServiceError("the model service sent an answer without a body")
    const events = readEvents(watchChunks(response.body, watch))
    return new Response(ReadableStream.from(events), { headers: { "content-type": "text/event-stream" } })
  }
}

/** Passes a body through, and lets the watch see that it moves. */
async function* watchChunks(body: AsyncIterable<Uint8Array>, watch: Watch): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    watch.restart()
    yield chunk
  }
}
