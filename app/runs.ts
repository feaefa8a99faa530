/** What happened in runs, kept for those who come late or come back, as server-sent events. */
import type { ServerResponse } from "node:http"
import type { AgentEvent } from "./protocol.ts"

/** How many bytes of events are kept of a run. Of a longer one the oldest go; the session has what they told. */
const MAX_BYTES = 4_000_000

/** How many runs are kept. */
const MAX_RUNS = 20

/** How often a comment keeps a line open, in milliseconds. */
const KEEP_ALIVE = 15_000

const TOO_LATE: AgentEvent = {
  type: "notice",
  text: "earlier events are no longer kept; the session has what they told",
}

/** What a client gets that was too slow, or came too late, for the first events of a long run. It has no number of its own. */
const LOST = `data: ${JSON.stringify(TOO_LATE)}\n\n`

type Client = {
  response: ServerResponse
  /** The number of the event that is sent next. */
  next: number
  /** Whether its line takes more at the moment. */
  ready: boolean
}

/** A run as its listeners know it. */
export class RunRecord {
  #frames: string[] = []
  /** The number of the first event that is kept; the first of all has 1. */
  #first = 1
  #bytes = 0
  #done = false
  #clients = new Set<Client>()

  /** Whether somebody listens. */
  get hasListeners(): boolean {
    return this.#clients.size > 0
  }

  get isDone(): boolean {
    return this.#done
  }

  /** Called when the last listener has gone. */
  onDeserted: (() => void) | undefined

  /** Adds an event. `run_done` is the last one. */
  add(event: AgentEvent): void {
    if (this.#done) return
    const number = this.#first + this.#frames.length
    const frame = `id: ${number}\ndata: ${JSON.stringify(event)}\n\n`
    this.#frames.push(frame)
    this.#bytes += frame.length
    while (this.#bytes > MAX_BYTES && this.#frames.length > 1) {
      this.#bytes -= this.#frames.shift()?.length ?? 0
      this.#first++
    }
    this.#done = event.type === "run_done"
    for (const client of this.#clients) this.#pump(client)
  }

  /** Sends what there is behind event number `last`, and then whatever comes, until the run is over or the client goes. */
  listen(response: ServerResponse, last: number): void {
    const end = this.#first + this.#frames.length
    if (this.#done && last >= end - 1) {
      // Nothing is left: this answer tells a browser not to come back.
      response.writeHead(204).end()
      return
    }
    response.writeHead(200, {
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    })
    const client: Client = { response, next: Math.min(last, end - 1) + 1, ready: true }
    const alive = setInterval(() => client.ready && response.write(": keep-alive\n\n"), KEEP_ALIVE)
    alive.unref()
    this.#clients.add(client)
    response.on("drain", () => {
      client.ready = true
      this.#pump(client)
    })
    response.on("close", () => {
      clearInterval(alive)
      if (this.#clients.delete(client) && this.#clients.size === 0) this.onDeserted?.()
    })
    response.flushHeaders()
    this.#pump(client)
  }

  /** Ends every line, whatever has been sent. */
  close(): void {
    for (const { response } of this.#clients) response.end()
  }

  /** Gives up the listeners that still have not taken what there was. */
  drop(): void {
    for (const { response } of this.#clients) response.destroy()
  }

  /** Sends as much as the line takes. What it does not take waits here, once for all clients, and not in a buffer of its own. */
  #pump(client: Client): void {
    const end = this.#first + this.#frames.length
    while (client.ready && client.next < end) {
      const isLost = client.next < this.#first
      client.ready = client.response.write(isLost ? LOST : this.#frames[client.next - this.#first])
      client.next = isLost ? this.#first : client.next + 1
    }
    if (this.#done && client.next >= end) client.response.end()
  }
}

/** The runs of a server. */
export class RunRecords {
  #records = new Map<string, RunRecord>()

  /** Makes a record. The oldest that are over go, with whoever still listens to them. */
  create(id: string): RunRecord {
    for (const [old, record] of this.#records) {
      if (this.#records.size < MAX_RUNS) break
      if (!record.isDone) continue
      this.#records.delete(old)
      record.drop()
    }
    const record = new RunRecord()
    this.#records.set(id, record)
    return record
  }

  get(id: string): RunRecord | undefined {
    return this.#records.get(id)
  }

  /** Ends all lines. */
  close(): void {
    for (const record of this.#records.values()) record.close()
  }
}
