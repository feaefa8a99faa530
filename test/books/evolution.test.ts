import { execFileSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { findDifferences, findPageProblems, type Page, type Problem } from "../../scripts/books/books.ts"
import { DOCUMENTS, findStale, renderDocument, runDocumented } from "../../scripts/books/docs.ts"
import { readMarkdown } from "../../scripts/books/markdown.ts"
import { CHAPTERS, INVARIANTS } from "../../scripts/course/manifest.ts"
import { RULES } from "../../scripts/rules/index.ts"
import { readChapters } from "../../scripts/rules/judge.ts"
import { ROOT } from "../support/ladder.ts"

const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), "utf8")
const PAIRS = [
  "README",
  "EVOLUTION",
  "EXERCISES",
  "INVARIANTS",
  "CARD",
  "CASES",
  "GLOSSARY",
  "STUDY",
  "CONTRIBUTING",
  "app/README",
  "s00_naive/README",
].map((name) => [`${name}.md`, `${name}.en.md`] as const)
const PAGES = PAIRS.flat()

const page = (file: string): Page => ({ file, text: read(file) })
const linesOfProblems = (problems: readonly Problem[]): string[] =>
  problems.map(({ file, line, message }) => `${file}:${line}: ${message}`)

describe("EVOLUTION", () => {
  test("says what the manifest, the rules and the code say", async () => {
    expect((await findStale(["EVOLUTION"])).map(({ file }) => file)).toEqual([])
  })

  test.each(DOCUMENTS.filter(({ file }) => file.startsWith("EVOLUTION")))(
    "$file is made from data where it can be: a changed cell or type is noticed",
    async (document) => {
      const { file } = document
      const surfaces = readChapters(CHAPTERS)
      const text = read(file)
      const damages = [
        text.replace("`Provider.complete`", "`Provider.finish`"),
        text.replace("toolCalls?: ToolCall[]   ", "toolCalls: ToolCall[]    "),
        text.replace("// s04", "// s05"),
        text.replace(/\| `R8-MOVED` .*\n/, ""),
        text.replace(/\| I4 .*\n/, ""),
        text.replace("s07_session/code.ts", "s06_session/code.ts"),
      ]
      for (const damaged of damages) {
        expect(damaged).not.toBe(text)
        expect(await renderDocument(damaged, document, surfaces)).toBe(text)
      }
    },
  )

  test("an unknown or unfinished part is an error that names it", async () => {
    const page = { file: "page.md", language: "en" } as const
    await expect(renderDocument("<!-- begin: weather -->", page, [])).rejects.toThrow(
      'page.md asks for "weather", expected one of',
    )
    await expect(renderDocument("<!-- begin: rules -->", page, [])).rejects.toThrow(
      'page.md: the part "rules" has no end',
    )
    const twice = "<!-- code: nothing -->\n<!-- code: nothing -->"
    await expect(renderDocument(twice, page, [])).rejects.toThrow("page.md: <!-- code: nothing --> stands there twice")
    await expect(renderDocument("<!-- code: nothing -->", page, [])).rejects.toThrow('page.md quotes "nothing"')
    await expect(renderDocument("<!-- output: rm -rf x -->", page, [])).rejects.toThrow('cannot run "rm -rf x"')
    await expect(renderDocument("<!-- output: npx tsx s01_state/code.ts -->\n", page, [])).rejects.toThrow(
      "a block that starts with ```text is expected",
    )
  })

  test("the output of a command that crashes is not taken", async () => {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "docs-"))
    try {
      fs.writeFileSync(path.join(root, "boom.ts"), "throw new RangeError('too far')\n")
      const run = runDocumented(`npx tsx "${path.join(root, "boom.ts")}"`)
      await expect(run).rejects.toThrow("crashed, so its output is not taken: RangeError: too far")
    } finally {
      fs.rmSync(root, { recursive: true })
    }
  })

  test("a word that is in no path, a page that is gone and a table that is gone are errors that say so", async () => {
    await expect(findStale(["weather"])).rejects.toThrow('no document has "weather" in its path')
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "docs-"))
    try {
      await expect(findStale(["EVOLUTION.md"], root)).rejects.toThrow("EVOLUTION.md does not exist")
      const text = read("EVOLUTION.md").replaceAll(/<!-- (begin|end): upgrades -->\n/g, "")
      fs.writeFileSync(path.join(root, "EVOLUTION.md"), text)
      await expect(findStale(["EVOLUTION.md"], root)).rejects.toThrow('EVOLUTION.md lacks the part "upgrades"')
    } finally {
      fs.rmSync(root, { recursive: true })
    }
  })

  test.each(["EVOLUTION.md", "EVOLUTION.en.md"])("%s speaks of every article, rule and invariant", (file) => {
    const text = read(file)
    const names = [
      ...["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "U1", "U2"].map((name) => `**${name}`),
      ...RULES.map(({ id }) => id),
      ...INVARIANTS.map(({ id }) => `| ${id} |`),
    ]
    expect(names.filter((name) => !text.includes(name))).toEqual([])
  })
})

/** The turn chain: what stands on a line, the chapters that it names, and its rules. */
function readTurnChain(file: string): { words: string; chapters: string[]; rules: string[] }[] {
  const [, chain = ""] = /```text\n(runOneTurn.+?)```/s.exec(read(file)) ?? []
  const lines = chain.split("\n").filter((line) => line.trim() !== "")
  return lines.map((line) => {
    const [, words = line, chapters = "", rules = ""] =
      /^(.*?)\s\s+(s\d\d(?: s\d\d)*)\s+(\w+(?: \w+)*)$/.exec(line) ?? []
    return { words, chapters: chapters.split(" "), rules: rules.split(" ") }
  })
}

describe("the turn chain", () => {
  const last = readChapters(CHAPTERS).at(-1)
  const sectionOf = (name: string): string | undefined => last?.core.find((part) => part.name === name)?.section

  test.each(["EVOLUTION.md", "EVOLUTION.en.md"])("%s gives each line its chapters and its rules", (file) => {
    const known = new Set([
      ...INVARIANTS.map(({ id }) => id),
      ...RULES.map(({ article }) => article),
      "R4",
      "R5",
      "R6",
      "U1",
    ])
    const lines = readTurnChain(file)
    expect(lines.length).toBeGreaterThan(20)
    for (const { words, chapters, rules } of lines) {
      expect(chapters.concat(rules), words).not.toContain("")
      expect(
        rules.filter((rule) => !known.has(rule)),
        words,
      ).toEqual([])
      const sections = [...words.matchAll(/\w+/g)].flatMap(([name]) => sectionOf(name) ?? [])
      const from = sections.filter((section) => section > (chapters.at(-1) ?? ""))
      expect(from, `${words}: what stands here comes later than the line says`).toEqual([])
    }
  })

  test.each(["EVOLUTION.md", "EVOLUTION.en.md"])("%s has every function that a turn calls on its way", (file) => {
    const chain = readTurnChain(file)
    const words = new Set(chain.flatMap((line) => line.words.match(/\w+/g) ?? []))
    const steps = ["runOneTurn", "runEventedToolLoop", "createTurnSnapshot", "buildProviderInput", "requestMessage"]
    // What seals, describes or pairs a value is a step of no turn by itself.
    const small = ["toolResult", "errorResult", "failMessage", "guard", "refuse"]
    const called = steps.flatMap((step) => {
      const text = last?.core.find(({ name }) => name === step)?.text ?? ""
      return (text.match(/\w+(?=\()/g) ?? []).filter((name) => sectionOf(name) !== undefined && !small.includes(name))
    })
    expect(called.length).toBeGreaterThan(10)
    expect([...new Set(called)].filter((name) => !words.has(name))).toEqual([])
  })

  test("both languages have the same lines", () => {
    const shape = (file: string): string[] =>
      readTurnChain(file).map(({ chapters, rules }) => [...chapters, ...rules].join(" "))
    expect(shape("EVOLUTION.md")).toEqual(shape("EVOLUTION.en.md"))
  })
})

/** The folders at the root that belong to the course: those that git knows, for a reader may keep others beside them. */
function foldersOfCourse(): string[] {
  // In a copy without git, they are those that the compiler is told to read.
  const files = fs.existsSync(path.join(ROOT, ".git"))
    ? execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n")
    : [...read("tsconfig.json").matchAll(/"(\w+)"(?=[,\]])/g)].map((match) => `${match[1]}/`)
  const folders = files.flatMap((file) => /^([^/]+)\//.exec(file)?.[1] ?? [])
  return [...new Set(folders)].filter((name) => fs.existsSync(path.join(ROOT, name)))
}

describe("pages", () => {
  test.each(PAGES)("%s links to what is there and names commands that exist", (file) => {
    expect(readMarkdown(read(file)).links).not.toEqual([])
    expect(linesOfProblems(findPageProblems(page(file)))).toEqual([])
  })

  test.each(PAIRS)("%s and %s have the same headings, tables and blocks", (chinese, english) => {
    expect(linesOfProblems(findDifferences(page(chinese), page(english)))).toEqual([])
  })

  test.each(PAGES)("%s opens with a link to its other language", (file) => {
    const other = file.includes(".en.") ? file.replace(".en.", ".") : file.replace(".md", ".en.md")
    expect(readMarkdown(read(file)).links.find(({ target }) => target.endsWith(".md"))?.target).toBe(
      path.basename(other),
    )
  })

  test.each(["README.md", "README.en.md"])("%s leads to every chapter, page of its language and folder", (file) => {
    const { links, rows, codes } = readMarkdown(read(file))
    const language = file.includes(".en.") ? ".en.md" : ".md"
    const targets = links.map(({ target }) => target)
    const pages = PAGES.filter((other) => other.includes(".en.") === (language === ".en.md") && other !== file)
    const books = CHAPTERS.map(({ folder }) => `${folder}/README${language}`)
    expect([...pages, ...books].filter((target) => !targets.includes(target))).toEqual([])
    expect(codes.some(({ text }) => text.startsWith("npm run "))).toBe(true)
    const folders = foldersOfCourse().filter((name) => !/^(\.|s\d\d_)/.test(name))
    expect(folders).toContain("scripts")
    expect(folders.filter((name) => !rows.some(({ cells }) => cells[0]?.text.startsWith(`${name}/`)))).toEqual([])
  })

  test("the test command of the README is the one that CI runs, and the deep tier behind it", () => {
    const ci = read(".ci/run")
    for (const file of ["README.md", "README.en.md"]) expect(read(file)).toContain("npm ci && npm test")
    const commands = ci.split("\n").filter((line) => line.startsWith("npm"))
    expect(commands).toEqual(["npm ci && npm test && npm run test:deep"])
  })
})
