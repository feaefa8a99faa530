import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { binOf, runTool } from "../../scripts/cli/tools.ts"
import { CALLED } from "../../scripts/course/called.ts"
import { CHAPTERS, findChapter } from "../../scripts/course/manifest.ts"
import { derive, readAlternative, STYLES } from "../support/alternatives.ts"
import { ROOT } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"

const LATER = CHAPTERS.slice(1)

describe("what others have written", () => {
  test("is there four times and more, so that no test takes one way for the only one", () => {
    expect(STYLES.length).toBeGreaterThanOrEqual(4)
  })

  test.each(STYLES)("%s shares hardly a line with the course", (style) => {
    const linesOf = (text: string): string[] =>
      text
        .split("\n")
        .map((line) => line.trim())
        // Types are the dictionary's, and braces are everybody's.
        .filter((line) => line.length > 30 && !/^(\/\/|\*|\/\*|import |export (type|interface)|\||\w+\??:)/.test(line))
    const last = findChapter("s12")
    const course = new Set(linesOf(fs.readFileSync(path.join(ROOT, last.folder, "code.ts"), "utf8")))
    const own = linesOf(readAlternative(style, last.id))
    expect(own.length).toBeGreaterThan(150)
    expect(own.filter((line) => course.has(line)).length / own.length).toBeLessThan(0.15)
  })

  test.each(STYLES)("%s has helpers of its own", (style) => {
    const called = new Set(Object.values(CALLED).flat())
    const names = CHAPTERS.flatMap(({ parts }) => parts).filter((name) => /^[a-z]/.test(name) && !called.has(name))
    const text = readAlternative(style, "s12")
    expect(names.length).toBeGreaterThan(30)
    expect(names.filter((name) => new RegExp(`\\b(function|const) ${name}\\b`).test(text)).length).toBeLessThan(8)
  })

  test.runIf(DEEP)("compiles with the options of the course, after each chapter", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "alternatives-"))
    try {
      const files = STYLES.flatMap((style) =>
        LATER.map(({ id }) => {
          const file = path.join(folder, `${style}-${id}.ts`)
          fs.writeFileSync(file, readAlternative(style, findChapter(id).id))
          return file
        }),
      )
      const packages = path.join(ROOT, "node_modules")
      const config = path.join(folder, "tsconfig.json")
      const compilerOptions = {
        typeRoots: [path.join(packages, "@types")],
        paths: { "*": [path.join(packages, "*")] },
        module: "ESNext",
        moduleResolution: "Bundler",
      }
      const settings = { extends: path.join(ROOT, "tsconfig.json"), compilerOptions, files, include: [], exclude: [] }
      fs.writeFileSync(config, JSON.stringify(settings))
      const terminal = { root: ROOT, env: process.env }
      const { output } = await runTool(
        binOf("@typescript/native", "tsc"),
        ["-p", config, "--pretty", "false"],
        terminal,
      )
      expect(output).toBe("")
    } finally {
      fs.rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe("a source with marks", () => {
  const source =
    "all\n  //#from s05\nlater\n//#end\n//#until s03\nearly\n//#end\n//#from s04 until s05\nbetween\n//#end"

  test.each([
    ["s03", "all\nearly\n"],
    ["s04", "all\nbetween\n"],
    ["s05", "all\nlater\nbetween\n"],
    ["s12", "all\nlater\n"],
  ] as const)("is derived for %s", (id, text) => expect(derive(source, id, "x.ts")).toBe(text))

  test.each([
    ["//#form s05\n//#end", 'x.ts:1: "//#form s05" is no mark'],
    ["//#from s05\na", 'x.ts:1: the mark has no "//#end"'],
    ["a\n//#end", 'x.ts:2: "//#end" ends nothing'],
    ["//#from s05\n//#from s06\n//#end\n//#end", 'x.ts:2: "//#from s06" stands inside of the mark of line 1'],
    ["//#from s99\n//#end", 'unknown chapter "s99"'],
  ])("with a mistake is refused by its line: %j", (text, sentence) =>
    expect(() => derive(text, "s05", "x.ts")).toThrow(sentence),
  )
})
