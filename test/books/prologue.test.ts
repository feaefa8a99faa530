/** The prologue: it stays small, it works, and each of its troubles is shown and leads to a chapter. */
import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { readMarkdown } from "../../scripts/books/markdown.ts"
import { CHAPTERS } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { runScript } from "../support/commands.ts"

const FOLDER = path.join(ROOT, "s00_naive")
const CODE = path.join(FOLDER, "code.ts")
const code = fs.readFileSync(CODE, "utf8")
const troubles = [...(/const TROUBLES = \[(.*)\]/.exec(code)?.[1] ?? "").matchAll(/"(\w+)"/g)].map(
  ([, name]) => name ?? "",
)

describe("the prologue", () => {
  test("is a whole agent in at most sixty lines, and no chapter", () => {
    expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(60)
    expect(Math.max(...code.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120)
    expect(CHAPTERS.map(({ folder }) => folder as string)).not.toContain("s00_naive")
    expect(troubles).toHaveLength(7)
  })

  test("refuses a trouble that it does not know, and names those that it does", async () => {
    const run = await runScript(CODE, ["--trouble", "none"])
    expect(run.code).not.toBe(0)
    for (const name of troubles) expect(run.stderr).toContain(name)
  })

  test.each(["README.md", "README.en.md"])(
    "%s shows each trouble once, names the chapter that mends it, and quotes the code",
    (file) => {
      const text = fs.readFileSync(path.join(FOLDER, file), "utf8")
      const parts = text.split(/^\*\*`/m).slice(1)
      expect(parts.map((part) => part.slice(0, part.indexOf("`")))).toEqual(troubles)
      for (const [index, part] of parts.entries()) {
        expect(part).toContain(`<!-- output: npx tsx s00_naive/code.ts --trouble ${troubles[index]} -->`)
        expect(part).toMatch(/\]\(\.\.\/s\d\d_\w+\/README(\.en)?\.md\)/)
      }
      const [quoted] = readMarkdown(text).blocks.filter(({ language }) => language === "ts")
      const lines = code.split("\n").map((line) => line.trim())
      expect(quoted?.lines.length).toBeGreaterThan(3)
      for (const line of quoted?.lines ?? []) expect(lines).toContain(line.text.trim())
    },
  )
})
