import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { groupInteractions, selectGroups } from "../../../app/session/compaction.ts"
import { assertPairedToolCalls } from "../../../s12_packages/code.ts"
import { call, type Message, result } from "../../support/driver.ts"

const user = (content: string): Message => ({ role: "user", content })
const says = (content: string): Message => ({ role: "assistant", content, stopReason: "stop" })
const asks = (...ids: string[]): Message => ({
  role: "assistant",
  content: "",
  stopReason: "toolUse",
  toolCalls: ids.map((id) => call(id)),
})

/** A group as a session makes it: the person's words, rounds of calls and results, an answer. */
const anyGroup = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }).map((rounds): Message[] => [
  user("go"),
  ...rounds.flatMap((count, round) => {
    const ids = Array.from({ length: count }, (_, index) => `${round}_${index}`)
    return [asks(...ids), ...ids.map((id) => result(id))]
  }),
  says("done"),
])
const anyHistory = fc.array(anyGroup, { maxLength: 6 }).map((groups) => groups.flat())
const byLength = (group: readonly Message[]): number => group.length

describe("groupInteractions", () => {
  test("cuts in front of each message of the person", () => {
    const first = [user("one"), asks("a", "b"), result("a"), result("b"), says("done")]
    const second = [user("two"), says("done")]
    expect(groupInteractions([...first, ...second])).toEqual([first, second])
  })

  test("keeps what stands before the first message of the person in a group of its own", () => {
    expect(groupInteractions([says("hello"), user("one")])).toEqual([[says("hello")], [user("one")]])
    expect(groupInteractions([])).toEqual([])
  })

  test.each<[string, Message[]]>([
    ["behind the person's next word", [user("1"), asks("a"), user("2"), result("a"), says("2")]],
    ["behind an answer", [user("1"), asks("a"), says("1"), result("a")]],
    ["in another group", [user("1"), asks("a", "b"), result("a"), user("2"), result("b")]],
    ["nowhere", [user("1"), asks("a"), user("2")]],
    ["without its call", [result("a"), user("1")]],
  ])("refuses a history whose call has its result %s", (_name, history) => {
    expect(() => groupInteractions(history)).toThrow(/messages\[\d\].*"[ab]"/)
  })

  test("loses and adds nothing", () => {
    const property = fc.property(anyHistory, (history) => {
      expect(groupInteractions(history).flat()).toEqual(history)
    })
    fc.assert(property, { numRuns: 1000 })
  })
})

describe("selectGroups", () => {
  const groups = groupInteractions([
    user("1"),
    says("1"),
    user("2"),
    asks("a"),
    result("a"),
    says("2"),
    user("3"),
    says("3"),
  ])

  test.each([
    [0, 0],
    [1, 0],
    [2, 1],
    [5, 1],
    [6, 2],
    [8, 3],
    [Number.POSITIVE_INFINITY, 3],
    [-1, 0],
  ])("keeps, under a budget of %d, the last %d groups", (budget, count) => {
    const { dropped, kept, cost } = selectGroups(groups, budget, byLength)
    expect(kept).toEqual(groups.slice(groups.length - count))
    expect([...dropped, ...kept]).toEqual(groups)
    expect(cost).toBe(kept.flat().length)
  })

  test("stops at the first group that does not fit, though an older one would", () => {
    expect(selectGroups(groups, 4, byLength).kept).toEqual(groups.slice(2))
  })

  test("what is kept is always paired, and the longest that fits; the same input gives the same bytes", () => {
    const property = fc.property(anyHistory, fc.nat(30), (history, budget) => {
      const all = groupInteractions(history)
      const { dropped, kept, cost } = selectGroups(all, budget, byLength)
      assertPairedToolCalls(kept.flat())
      expect([...dropped, ...kept].flat()).toEqual(history)
      expect(cost).toBeLessThanOrEqual(budget)
      const next = dropped.at(-1)
      if (next !== undefined) expect(cost + next.length).toBeGreaterThan(budget)
      expect(JSON.stringify(selectGroups(groupInteractions(history), budget, byLength))).toBe(
        JSON.stringify({ dropped, kept, cost }),
      )
    })
    fc.assert(property, { numRuns: 1000 })
  })

  test("B06: a cut by position parts calls from results; a cut by groups does not", () => {
    const history = [user("1"), asks("a", "b"), result("a"), result("b"), says("1"), user("2"), says("2")]
    expect(() => assertPairedToolCalls(history.slice(-5))).toThrow(/messages\[0\].*"a"/)
    expect(() => assertPairedToolCalls(selectGroups(groupInteractions(history), 5, byLength).kept.flat())).not.toThrow()
  })

  test("refuses a budget and a counter that are no numbers", () => {
    for (const budget of [undefined, null, Number.NaN, "5", [5], {}, true])
      expect(() => selectGroups(groups, budget as never, byLength)).toThrow(/budget/)
    for (const price of [-1, Number.NaN, null, undefined, "5", true, [5]])
      expect(() => selectGroups(groups, 10, () => price as never)).toThrow(/cost/)
    expect(() => selectGroups(groups, "5" as never, byLength)).toThrow('the budget is "5", expected a number')
  })
})
