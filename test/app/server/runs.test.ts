import type { ServerResponse } from "node:http"
import { expect, test } from "vitest"
import type { AgentEvent } from "../../../app/protocol.ts"
import { RunRecord, RunRecords } from "../../../app/runs.ts"

/** A line that takes as many writes as it is told to, and then no more until it is drained. */
class Line {
  sent: string[] = []
  room: number
  isDestroyed = false
  #handlers = new Map<string, () => void>()

  constructor(room: number) {
    this.room = room
  }

  writeHead(): this {
    return this
  }

  flushHeaders(): void {}

  write(text: string): boolean {
    this.sent.push(text)
    return --this.room > 0
  }

  end(): void {}

  destroy(): void {
    this.isDestroyed = true
    this.#handlers.get("close")?.()
  }

  on(name: string, handler: () => void): this {
    this.#handlers.set(name, handler)
    return this
  }

  drain(room: number): void {
    this.room = room
    this.#handlers.get("drain")?.()
  }

  get response(): ServerResponse {
    return this as unknown as ServerResponse
  }

  /** What was sent: numbers of events, and what has none. */
  get numbers(): (number | string)[] {
    return this.sent.map((text) => Number(/^id: (\d+)\n/.exec(text)?.[1] ?? Number.NaN) || text.slice(0, 40))
  }
}

const big: AgentEvent = { type: "notice", text: "x".repeat(100_000) }
const GAP = 'data: {"type":"notice","text":"earlier e'

test("a listener that reads nothing is sent nothing more, and what waits for it is kept once", () => {
  const record = new RunRecord()
  const [slow, quick] = [new Line(1), new Line(Number.POSITIVE_INFINITY)]
  record.listen(slow.response, 0)
  record.listen(quick.response, 0)
  for (let number = 0; number < 10; number++) record.add(big)
  expect(slow.numbers).toEqual([1])
  expect(quick.numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  slow.drain(3)
  expect(slow.numbers).toEqual([1, 2, 3, 4])
})

test("one for whom events are no longer kept is told so, be it slow, late or back again, and goes on with the oldest that is", () => {
  const record = new RunRecord()
  const slow = new Line(1)
  record.listen(slow.response, 0)
  for (let number = 0; number < 100; number++) record.add(big)
  slow.drain(3)
  const first = Number(slow.numbers[2])
  expect(first).toBeGreaterThan(50)
  expect(slow.numbers).toEqual([1, GAP, first, first + 1])
  for (const last of [0, 10]) {
    const late = new Line(2)
    record.listen(late.response, last)
    expect(late.numbers).toEqual([GAP, first])
  }
  const back = new Line(1)
  record.listen(back.response, first)
  expect(back.numbers).toEqual([first + 1])
})

test("of a long run a bounded part is kept, and of many runs the last ones; who still hangs on to an old one is let go", () => {
  const records = new RunRecords()
  const hanging = new Line(1)
  for (let run = 0; run < 30; run++) {
    const record = records.create(`run ${run}`)
    if (run === 0) record.listen(hanging.response, 0)
    record.add(big)
    record.add({ type: "run_done", stopReason: "stop", text: "" })
  }
  expect(records.get("run 0")).toBeUndefined()
  expect(records.get("run 29")).toBeDefined()
  expect(hanging.isDestroyed).toBe(true)
  const going = records.create("going")
  for (let run = 30; run < 60; run++)
    records.create(`run ${run}`).add({ type: "run_done", stopReason: "stop", text: "" })
  expect(records.get("going")).toBe(going)
})
