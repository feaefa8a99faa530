/**
 * Each chapter can be rebuilt from its book: the chapter before, with every block applied where the book says. A reader writes comments of their own
 * and copies the demo; nothing else is known here but the book.
 */
import fs from "node:fs"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { readBook } from "../../scripts/books/books.ts"
import { readMarkdown } from "../../scripts/books/markdown.ts"
import { readSurface, type Surface } from "../../scripts/chapter/surface.ts"
import { findTypeFaults, forReader, readOwn } from "../../scripts/cli/own-file.ts"
import { CHAPTERS, type Chapter } from "../../scripts/course/manifest.ts"
import { chapterFile, readSource } from "../../scripts/course/source.ts"
import ts from "../../scripts/course/typescript.js"
import { Judge } from "../../scripts/practice/judge.ts"
import { checkSteps, pairChapters } from "../../scripts/rules/judge.ts"
import { makeTemporaryFolder, recordTerminal } from "../support/commands.ts"
import { ROOT } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"

const folder = makeTemporaryFolder()
const judge = new Judge()

afterAll(async () => {
  await judge.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** A comment in the words of whoever writes along. */
const COMMENT = "/** What the book says of it. */"

type Lines = string[]

/** Applies a difference to the lines that it is about. Throws where they are not what the difference says. */
function applyDifference(old: Lines, difference: Lines): Lines {
  const left = [...old]
  const out: Lines = []
  for (const [index, line] of difference.entries()) {
    const [sign, text] = [line.slice(0, 1), line.slice(1)]
    if (line.trim() === "…") {
      const next = difference
        .slice(index + 1)
        .find((other) => !other.startsWith("+"))
        ?.slice(1)
      while (left.length > 0 && left[0] !== next) out.push(left.shift() ?? "")
    } else if (sign === "+") out.push(text)
    else if (left[0] !== text)
      throw new Error(`the book takes "${text}" for an old line, and there stands "${left[0]}"`)
    else if (sign === "-") left.shift()
    else out.push(left.shift() ?? "")
  }
  return [...out, ...left]
}

/** The declarations that a block of new code holds, each with the name it is known by. */
function declarationsIn(text: string): { name: string; text: string }[] {
  const source = ts.createSourceFile("block.ts", text, ts.ScriptTarget.Latest, true)
  return source.statements.map((statement) => {
    const named = ts.isVariableStatement(statement) ? statement.declarationList.declarations[0] : statement
    const name = (named as ts.NamedDeclaration | undefined)?.name?.getText() ?? ""
    return { name, text: statement.getText() }
  })
}

/** Rebuilds a chapter: the one before, and what its book shows. */
function rebuild(chapter: Chapter, old: Surface | undefined, book: string): string {
  const { blocks } = readMarkdown(book)
  const known = new Map<string, string>(
    old?.core.map(({ name, start, line, end }) => [name, old.lines.slice(Math.min(start, line) - 1, end).join("\n")]),
  )
  const added: string[] = []
  const head: string[] = []
  let banner = ""
  for (const { mark = "", lines } of blocks) {
    const [, kind, names = ""] = /^(code|diff): (.+)$/.exec(mark) ?? []
    const [text, own] = [lines.map((line) => line.text).join("\n"), names.split(",").map((name) => name.trim())]
    if (kind === undefined || names.includes(":")) continue
    if (names === "banner") banner = text
    else if (names === "imports") head.push(text)
    else if (kind === "diff") {
      const [owner = "", member] = names.split(".")
      const before = known.get(owner)
      if (before === undefined) throw new Error(`the book changes ${owner}, which the chapter before does not have`)
      known.set(
        owner,
        applyWithin(
          before,
          lines.map((line) => line.text),
          owner,
          member,
        ),
      )
    } else if (own.some((name) => name.includes("."))) {
      const [owner = "", member = ""] = names.split(".")
      const before = known.get(owner)
      // The pieces of a new class are put together in a block of their own.
      if (before !== undefined && old?.core.some(({ name }) => name === owner) && !before.includes(`  ${member}(`))
        known.set(
          owner,
          before.replace(/\n}$/, () => `\n\n  /** What the book says of it. */\n${text}\n}`),
        )
    } else
      for (const { name, text: declaration } of declarationsIn(text)) {
        if (known.has(name) || added.some((one) => one.includes(`\n${declaration.split("\n")[0]}`))) continue
        added.push(`${COMMENT}\n${declaration}`)
      }
  }
  const sections = new Map<string, string[]>()
  for (const { name, section } of old?.core ?? [])
    sections.set(section, [...(sections.get(section) ?? []), known.get(name) ?? ""])
  const parts = [...sections].map(([section, texts]) => [bannerOf(old, section), ...texts].join("\n\n"))
  const course = readSource(chapterFile(chapter))
  const demo = course.slice(course.indexOf("// ── Demo ──"))
  const imports = course
    .slice(0, course.indexOf("// ── s01"))
    .split("\n")
    .filter((line) => line.includes('"node:'))
  return `${[[...imports, ...head].join("\n"), ...parts, banner, ...added, demo].filter((part) => part !== "").join("\n\n")}`
}

function bannerOf(surface: Surface | undefined, section: string): string {
  return surface?.lines.find((line) => line.startsWith(`// ── ${section} `)) ?? ""
}

/** Applies a difference to a declaration, or to a member of it. */
function applyWithin(declaration: string, difference: Lines, owner: string, member: string | undefined): string {
  const lines = declaration.split("\n")
  const first = difference.find((line) => !line.startsWith("+") && line.trim() !== "…")?.slice(1)
  const start = lines.indexOf(first ?? "")
  if (start === -1)
    throw new Error(`the book begins at "${first}", which ${owner}${member ? `.${member}` : ""} does not have`)
  return [...lines.slice(0, start), ...applyDifference(lines.slice(start), difference)].join("\n")
}

const LOOKED_AT = CHAPTERS.filter(({ id }) => DEEP || id === "s02" || id === "s12")

describe.each(LOOKED_AT)("$id, rebuilt from its book", (chapter) => {
  const before = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
  const old = before && readSurface(before, chapterFile(before))

  test.each(["zh", "en"] as const)(
    "(%s) keeps the rules, compiles with its demo, and passes its tests",
    async (language) => {
      const text = rebuild(chapter, old, readBook(chapter, language).text)
      const file = path.join(folder, `${chapter.id}-${language}.ts`)
      fs.writeFileSync(file, text)
      const steps = pairChapters([readOwn(chapter, file)], old)
      expect(forReader(checkSteps(steps)).map(({ rule, symbol }) => `${rule} ${symbol}`)).toEqual([])
      if (!DEEP && language === "en") return
      const { terminal } = recordTerminal(ROOT)
      expect(await findTypeFaults(file, terminal)).toEqual([])
      const verdict = await judge.run(file, { chapter: chapter.id, failures: 3 })
      expect(verdict).toMatchObject({ failures: [], passed: verdict.tests })
    },
  )
})

describe("what cannot be rebuilt", () => {
  const chapter = CHAPTERS[1] as Chapter
  const old = readSurface(CHAPTERS[0] as Chapter, chapterFile(CHAPTERS[0] as Chapter))
  const book = readBook(chapter, "en").text
  const findingsOf = (text: string): string[] => {
    const rebuilt = readOwn(chapter, "code.ts", rebuild(chapter, old, text))
    return forReader(checkSteps(pairChapters([rebuilt], old))).map(({ rule, symbol }) => `${rule} ${symbol}`)
  }

  test.each([
    ["a block that is gone", /<!-- code: ToolSpec -->\n```ts\n[\s\S]*?\n```/, "R8-UNUSED ToolSpec"],
    ["a difference that is gone", /<!-- diff: TurnOptions -->\n```diff\n[\s\S]*?\n```/, "R8-UNUSED TurnOptions"],
    ["a banner that is gone", /<!-- code: banner -->\n```ts\n[\s\S]*?\n```/, "R8-PLACE ToolSpec"],
  ])("is found: %s", (_what, block, finding) => {
    const damaged = book.replace(block, "")
    expect(damaged).not.toBe(book)
    expect(findingsOf(book)).toEqual([])
    expect(findingsOf(damaged)).toContain(finding)
  })

  test("a difference whose old line is not there is refused", () => {
    const damaged = book.replace(/(<!-- diff: \w+ -->\n```diff\n [^\n]+)/, "$1 // not so")
    expect(damaged).not.toBe(book)
    expect(() => findingsOf(damaged)).toThrow(/the book (begins at|takes)/)
  })
})
