import { Chalk } from "chalk"
import { describe, expect, test } from "vitest"
import { compact, cutLine, firstDifference, fold, showFailure, withoutInsides } from "../../scripts/practice/show.ts"

const value = (content: unknown): string => JSON.stringify(content, null, 2)

describe("what is shown of a value", () => {
  test("stands on one line where that fits, part by part", () => {
    const history = [
      { role: "user", content: "go" },
      { role: "assistant", toolCalls: [{ id: "a", input: {} }] },
    ]
    expect(compact(value(history), 72).split("\n")).toEqual([
      "[",
      '  { role: "user", content: "go" },',
      '  { role: "assistant", toolCalls: [ { id: "a", input: {} } ] }',
      "]",
    ])
    expect(compact(value(history), 200)).not.toContain("\n")
    expect(compact(value({ text: "x".repeat(100) }), 72)).toContain("\n")
  })

  test("begins one line before the first difference", () => {
    const [left, right] = [
      ["a", "b", "c", "d", "e", "f", "g", "h"],
      ["a", "b", "c", "d", "X", "f", "g", "h"],
    ].map(value)
    expect(firstDifference(left ?? "", right ?? "", 10)).toEqual([
      '  "d",\n  "e",\n  "f",\n  "g",',
      '  "d",\n  "X",\n  "f",\n  "g",',
    ])
  })
})

describe("a failing test in words", () => {
  const page = { language: "en", width: 80, paint: new Chalk({ level: 0 }) } as const
  const failure = { path: ["s01 State", "says so"], stack: "", played: [] }
  const shown = (message: string, expected: string, actual: string): string[] =>
    showFailure({ ...failure, message, expected, actual }, "code.ts", page).map((line) => line.trim())

  test("says of what must not be there that it is not wanted", () => {
    expect(shown("expected 'a\\nb' not to match /\\n/", "/\\n/", '"a\\nb"')).toEqual([
      "✗ says so",
      "not wanted /\\n/",
      'came      "a\\nb"',
    ])
  })

  test("says that an exception was wanted where none came", () => {
    const [, wanted] = shown('promise resolved "{}" instead of rejecting', "Error: rejected promise", "{}")
    expect(wanted).toBe("expected  an exception")
  })

  test("says what a text must carry, and not by which function that was asked", () => {
    expect(withoutInsides('content: toSatisfy<[Function isOne], "carries "", "error: "">,')).toBe(
      'content: <carries "", "error: ">,',
    )
  })
})

describe("a line of a page", () => {
  test("is never wider than the page, whatever language it is in", () => {
    expect(cutLine("模型要求执行工具", { width: 9 })).toBe("模型要求…")
    expect(cutLine("short", { width: 9 })).toBe("short")
    expect(fold("一个很长的句子".repeat(10), { width: 30 }, "> ", 3)).toHaveLength(3)
  })

  test("drives no terminal", () => {
    expect(fold("\u001b[31mred", { width: 80 })).toEqual(["\\u{1b}[31mred"])
    expect(cutLine("\u001b[2J", { width: 80 })).toBe("\\u{1b}[2J")
  })
})
