import { expect, test } from "vitest"
import { readCore, readEquivalents } from "./core.ts"
import { editsOf } from "./edits.ts"

test("every edit that is said to change nothing is still an edit of s12's core", () => {
  const keys = new Set(editsOf(readCore()).map(({ key }) => key))
  expect(readEquivalents().filter((key) => !keys.has(key))).toEqual([])
})
