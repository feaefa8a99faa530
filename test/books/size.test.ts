import fs from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { CHAPTERS } from "../../scripts/course/manifest.ts"
import { ROOT } from "../support/ladder.ts"

/** The lines of a chapter in front of its demo, without comments and blank lines. */
function codeLines(text: string): number {
  const lines = text.slice(0, text.indexOf("// ── Demo")).split("\n")
  let inComment = false
  return lines.filter((line) => {
    const content = line.trim()
    const isComment = inComment || /^\/[/*]/.test(content)
    inComment = (inComment || content.startsWith("/*")) && !content.endsWith("*/")
    return content !== "" && !isComment
  }).length
}

const texts = CHAPTERS.map(({ folder }) => fs.readFileSync(path.join(ROOT, folder, "code.ts"), "utf8"))

test.each([
  ["s01", 80],
  ["s12", 575],
])("%s has at most %i lines of code in front of its demo", (id, most) => {
  const text = texts[CHAPTERS.findIndex((chapter) => chapter.id === id)] ?? ""
  expect(codeLines(text)).toBeGreaterThan(most / 2)
  expect(codeLines(text)).toBeLessThanOrEqual(most)
})

test.each(CHAPTERS.map((chapter, index) => [chapter.id, texts[index] ?? ""] as const))(
  "no line of %s has more than 120 characters",
  (_id, text) => {
    expect(text).not.toBe("")
    expect(text.split("\n").filter((line) => [...line].length > 120)).toEqual([])
  },
)
