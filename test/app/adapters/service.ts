/** A local server in place of a model service: it plays its replies byte by byte, and keeps the requests. */
import http from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, beforeEach, expect } from "vitest"

/** A request that the service got. */
export type Request = {
  path: string
  headers: http.IncomingHttpHeaders
  body: unknown
  /** Settles when the connection of this request is closed from the other side. */
  closed: Promise<void>
}

/** What the service does with one request. */
export type Reply = {
  status?: number
  headers?: Record<string, string>
  /** What is written, one piece after the other, each when the one before it is on its way. */
  pieces?: readonly (string | Uint8Array)[]
  /** How it goes on after the last piece: the body ends, nothing more comes, or the connection breaks. */
  after?: "end" | "hang" | "break"
  /** Whether not even the head of an answer comes. */
  isMute?: boolean
}

/** The service of a test file. */
export class Service {
  readonly requests: Request[] = []
  #replies: Reply[] = []
  #server = http.createServer((request, response) => void this.#answer(request, response))

  constructor() {
    beforeAll(() => new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve)))
    beforeEach(() => {
      this.requests.length = 0
      this.#replies = []
    })
    afterAll(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
  }

  /** Where it is. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** What the next requests get, in their order. */
  plan(...replies: Reply[]): void {
    this.#replies.push(...replies)
  }

  /** Waits until a request has come in. */
  async arrival(index: number): Promise<Request> {
    await expect.poll(() => this.requests.length, { timeout: 600_000, interval: 1 }).toBeGreaterThan(index)
    return this.requests[index] as Request
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const closed = new Promise<void>((resolve) => response.on("close", resolve))
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8") || "null") as unknown
    this.requests.push({ path: request.url ?? "", headers: request.headers, body, closed })
    const reply = this.#replies.shift() ?? { status: 599, pieces: ["no reply is planned"] }
    if (reply.isMute) return
    response.writeHead(reply.status ?? 200, reply.headers ?? { "content-type": "text/event-stream" })
    response.flushHeaders()
    for (const piece of reply.pieces ?? []) {
      await new Promise((resolve) => response.write(piece, resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (reply.after === "break") response.destroy()
    else if (reply.after !== "hang") response.end()
  }
}
