/** Judges the answer that EXERCISE and EXERCISE_FILE name (`npm run exercise` sets them); without them, the judges themselves. */
import path from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, test } from "vitest"
import * as final from "../../s12_packages/code.ts"
import { CANCEL } from "./cancel.ts"
import * as right from "./fixtures/groups-right.ts"
import { GROUPS, type GroupsAnswer } from "./groups.ts"

const { EXERCISE: exercise, EXERCISE_FILE: file } = process.env

if (exercise !== undefined && file !== undefined) {
  const answer = await import(pathToFileURL(path.resolve(file)).href)
  const checks = exercise === "groups" ? GROUPS : CANCEL
  describe(exercise, () => {
    for (const { title, run } of checks) test(title, () => run(answer))
  })
} else {
  describe("the judge of groups", () => {
    test.each(GROUPS.map(({ title, run }) => [title, run] as const))("passes a right answer: %s", (_title, run) => {
      run(right)
    })

    const { groupInteractions } = right
    const wrong: Record<string, [fails: RegExp, answer: GroupsAnswer["groupInteractions"]]> = {
      "a cut every five messages": [
        /no call is parted/,
        (messages) =>
          Array.from({ length: Math.ceil(messages.length / 5) }, (_, index) =>
            messages.slice(index * 5, index * 5 + 5),
          ),
      ],
      "the last group forgotten": [/nothing is lost/, (messages) => groupInteractions(messages).slice(0, -1)],
      "copies of the messages": [
        /nothing changes/,
        (messages) => groupInteractions(messages.map((message) => ({ ...message }))),
      ],
      "one group for all": [/first place where it may/, (messages) => (messages.length === 0 ? [] : [messages])],
      "a group for each prompt": [
        /first place where it may/,
        (messages) => {
          const starts = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []))
          return starts.map((start, index) => messages.slice(start, starts[index + 1]))
        },
      ],
      "an empty group in front": [
        /an empty history/,
        (messages) => (messages.length === 0 ? [[]] : groupInteractions(messages)),
      ],
      "a cut behind results": [
        /begins with the person/,
        (messages) => {
          const groups: (typeof messages)[number][][] = []
          for (const message of messages) {
            const open = groups.at(-1)
            if (open === undefined || (open.length >= 5 && message.role !== "toolResult")) groups.push([message])
            else open.push(message)
          }
          return groups
        },
      ],
    }
    test.each(Object.entries(wrong))("fails %s", (_name, [fails, answer]) => {
      const failed = GROUPS.filter(({ run }) => {
        try {
          run({ groupInteractions: answer })
          return false
        } catch {
          return true
        }
      })
      expect(failed.map(({ title }) => title).join("\n")).toMatch(fails)
    })
  })

  describe("the judge of cancelling", () => {
    // The last chapter cannot cancel, and the repository holds no answer: each demand must be one that it does not meet.
    test.each(CANCEL.map(({ title, run }) => [title, run] as const))(
      "fails the last chapter: %s",
      async (_title, run) => {
        await expect(run(final)).rejects.toThrow()
      },
    )
  })
}
