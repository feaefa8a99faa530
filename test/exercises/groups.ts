/** Judges a reader's `groupInteractions` that cuts about every five messages. */
import fc from "fast-check"
import { expect } from "vitest"
import { selectGroups } from "../../app/session/compaction.ts"
import { type AgentMessage, assertPairedToolCalls, toProviderMessage } from "../../s12_packages/code.ts"
import type { Check } from "./check.ts"

/** What the answer exports. */
export type GroupsAnswer = {
  groupInteractions(messages: readonly AgentMessage[]): readonly (readonly AgentMessage[])[]
}

/** From so many messages on a group may end. */
const ENOUGH = 5

/** What one prompt led to: rounds of calls with their results, and closing words, or none where the turn broke off. */
const anyTurn: fc.Arbitrary<AgentMessage[]> = fc
  .record({
    rounds: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    closing: fc.boolean(),
  })
  .map(({ rounds, closing }) => [
    { role: "user", content: "do it" },
    ...rounds.flatMap((calls, round): AgentMessage[] => {
      const toolCalls = Array.from({ length: calls }, (_, index) => ({
        id: `${round}_${index}`,
        name: "echo",
        input: {},
      }))
      const results = toolCalls.map(({ id }): AgentMessage => ({ role: "toolResult", toolCallId: id, content: id }))
      return [{ role: "assistant", content: "", stopReason: "toolUse", toolCalls }, ...results]
    }),
    ...(closing ? [{ role: "assistant", content: "done", stopReason: "stop" } as const] : []),
  ])

const anyHistory: fc.Arbitrary<AgentMessage[]> = fc
  .array(anyTurn, { maxLength: 12 })
  .map((turns) => turns.flat().map((message) => Object.freeze(message)))

function forHistories(
  answer: GroupsAnswer,
  demand: (groups: readonly (readonly AgentMessage[])[], history: readonly AgentMessage[]) => void,
): void {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const frozen = Object.freeze([...history])
      demand(answer.groupInteractions(frozen), frozen)
    }),
    { numRuns: 300 },
  )
}

/** What a reader's grouping has to do. */
export const GROUPS: readonly Check<GroupsAnswer>[] = [
  {
    title: "the groups, put together again, are the history: nothing is lost, nothing changes, nothing moves (I5)",
    run: (answer) =>
      forHistories(answer, (groups, history) => {
        const again = groups.flat()
        expect(again).toEqual(history)
        for (const [index, message] of again.entries()) expect(message).toBe(history[index])
      }),
  },
  {
    title: "no call is parted from its results: each group can be sent alone (I2)",
    run: (answer) =>
      forHistories(answer, (groups) => {
        for (const group of groups) assertPairedToolCalls(group.map(toProviderMessage))
      }),
  },
  {
    title: "every group begins with the person's words, so that a request never begins in the middle of an answer",
    run: (answer) =>
      forHistories(answer, (groups) => {
        for (const group of groups) expect(group[0]?.role).toBe("user")
      }),
  },
  {
    title: "a group ends at the first place where it may: five messages are in it, and the next one is the person's",
    run: (answer) =>
      forHistories(answer, (groups) => {
        for (const [index, group] of groups.entries()) {
          if (index < groups.length - 1) expect(group.length).toBeGreaterThanOrEqual(ENOUGH)
          const late = group.findIndex((message, at) => at >= ENOUGH && message.role === "user")
          expect(late, "a place inside of the group at which it should have ended").toBe(-1)
        }
      }),
  },
  {
    title: "whatever the budget, the groups that are kept can be sent, and twice the same gives the same (I5)",
    run: (answer) => {
      const count = (group: readonly AgentMessage[]): number => group.length
      fc.assert(
        fc.property(anyHistory, fc.integer({ min: 0, max: 60 }), (history, budget) => {
          const [once, again] = [0, 1].map(() => {
            const groups = answer.groupInteractions(Object.freeze([...history])).map((group) => [...group])
            return selectGroups(groups, budget, count).kept.flat()
          })
          expect(again).toEqual(once)
          assertPairedToolCalls((once ?? []).map(toProviderMessage))
        }),
        { numRuns: 300 },
      )
    },
  },
  {
    title: "an empty history has no groups",
    run: ({ groupInteractions }) => expect(groupInteractions([])).toEqual([]),
  },
]
