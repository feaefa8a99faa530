import { describe, expect, test } from "vitest"
import { readSurface } from "../../scripts/chapter/surface.ts"
import { forReader, readOwn, showLacks } from "../../scripts/cli/own-file.ts"
import { same } from "../../scripts/course/language.ts"
import { findChapter } from "../../scripts/course/manifest.ts"
import { RULES } from "../../scripts/rules/index.ts"
import { checkSteps, pairChapters } from "../../scripts/rules/judge.ts"
import type { Finding } from "../../scripts/rules/rule.ts"
import { here, replaceOnce } from "../support/commands.ts"

const s05 = findChapter("s05")
const course = here.read("s05")
/** The rules about the manifest itself. */
const MAINTAINED = ["R8-MANIFEST", "R3-FOREIGN"]
const BANNER = /^\/\/ ── s05 .*$/m
const DEMO = /^\/\/ ── Demo .*$/m

function findingsIn(text: string): Finding[] {
  const old = readSurface(findChapter("s04"))
  return forReader(checkSteps(pairChapters([readOwn(s05, "code.ts", text)], old)))
}

describe("a reader's own file", () => {
  test.each([
    "//s05",
    "// s05",
    "// -- s05 --",
    "// ===== S05: Hooks =====",
    "// — s05 — hooks",
    "//──s05──",
    "//\ts05",
  ])("may draw its banner as %j", (banner) => expect(findingsIn(course.replace(BANNER, banner))).toEqual([]))

  test.each(["// Demo", "//---- demo ----"])("may draw that of the demo as %j", (banner) =>
    expect(findingsIn(course.replace(DEMO, banner))).toEqual([]),
  )

  test("without a banner is told which line to write, to the letter", () => {
    const [finding] = findingsIn(course.replace(BANNER, "// s055"))
    expect(finding?.fix.en).toContain("`// ── s05 ──`")
    expect(finding?.fix.en).not.toContain("sNN")
  })

  test("may have helpers of its own, exported or not, but no part of a later chapter", () => {
    const at = "/** A door. Asks the before-hook"
    const helper = (name: string): string =>
      replaceOnce(
        course,
        at,
        `/** Says no to a call. */\nexport function ${name}(): never {\n  throw new Error("no")\n}\n\n${at}`,
      )
    expect(findingsIn(helper("sayNo"))).toEqual([])
    expect(findingsIn(helper("sayNo").replace("export function sayNo", "function sayNo"))).toEqual([])
    expect(findingsIn(helper("loadPackage")).map(({ symbol }) => symbol)).toContain("loadPackage")
  })

  test("is told of what is wrong in no word of those who maintain the course", () => {
    const damage: [string, string][] = [
      ["  if (hooks.beforeToolCall === undefined) return\n", ""],
      ["  const repeated = names.find(", "  const repeated = [...names].find("],
      ["  hooks?: ToolHooks\n", "  hooks?: ToolHooks\n  more?: string\n"],
      ["export type AgentState = {\n", "export type AgentState = {\n  more: string\n"],
    ]
    const messages = damage.flatMap(([from, to]) =>
      findingsIn(replaceOnce(course, from, to)).map(({ message }) => message),
    )
    expect(messages.length).toBeGreaterThan(2)
    expect(messages.filter(({ en, zh }) => /\b(manifest|welds?|gains?)\b/.test(en) || /清单/.test(zh))).toEqual([])
  })

  test("asks nothing in the words of those who maintain the course", () => {
    const rules = RULES.filter(({ id }) => !MAINTAINED.includes(id))
    for (const { id, fix, fixForReader = fix } of rules) {
      expect(fixForReader.en, id).not.toMatch(/manifest|\b(welds?|gains?)\b/)
      expect(fixForReader.zh, id).not.toMatch(/manifest|清单|接入点/)
    }
  })

  test("says in either language what is not written yet", () => {
    const lacking = [{ lacks: same("ToolHooks") }, { lacks: same("hooks?:\n  ToolHooks") }] as Finding[]
    expect(showLacks(lacking, "s05", "en")).toBe("s05 still lacks: ToolHooks, hooks?: ToolHooks.")
    expect(showLacks(lacking, "s05", "zh")).toBe("s05 还差：ToolHooks、hooks?: ToolHooks。")
    expect(showLacks([], "s05", "zh")).toBe("")
  })
})
