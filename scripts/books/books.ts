/** What a chapter's book has to keep to besides its made parts: order, words, links, commands, symbols, and the same build in both languages. */
import fs from "node:fs"
import path from "node:path"
import ts from "typescript"
import { readSurface } from "../chapter/surface.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import { chapterFile, ROOT } from "../course/source.ts"
import type { Document, Language } from "./docs.ts"

/** A chapter's book in one language. */
export type Book = Document & {
  chapter: Chapter
  text: string
}

/** Something in a book that does not hold. Lines count from 1. */
export type Problem = {
  file: string
  line: number
  message: string
}

/** The sections of a book, in order. */
export const SECTIONS: Record<Language, readonly string[]> = {
  zh: ["问题", "解决方案", "工作原理", "试一下", "接入主线", "接下来", "Pi 源码溯源"],
  en: [
    "The problem",
    "The solution",
    "How it works",
    "Try it",
    "Where it fits in",
    "What comes next",
    "In Pi's source",
  ],
}

/** The section in which all output is real, and the one in which words of later chapters may stand. */
const TRY_IT = 3
const MAIN_LINE = 4

/** Reads a book from the repository. */
export function readBook(chapter: Chapter, language: Language, root: string = ROOT): Book {
  const file = `${chapter.folder}/README${language === "en" ? ".en" : ""}.md`
  return { chapter, language, file, text: fs.readFileSync(path.join(root, file), "utf8") }
}

type Line = {
  number: number
  text: string
  /** Index of the section; -1 before the first. */
  section: number
  /** Language of the block that the line is in; undefined outside of blocks. */
  block: string | undefined
}

function linesOf({ text, language }: Book): Line[] {
  let section = -1
  let block: string | undefined
  return text.split("\n").map((line, index) => {
    const fence = /^```(\w*)/.exec(line)
    if (fence !== null) {
      block = block === undefined ? fence[1] : undefined
      return { number: index + 1, text: line, section, block: "fence" }
    }
    const heading = block === undefined ? /^## (.+)/.exec(line)?.[1] : undefined
    if (heading !== undefined) section = SECTIONS[language].indexOf(heading)
    return { number: index + 1, text: line, section, block }
  })
}

/** GitHub's name for a heading, as it stands behind `#` in a link. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-")
}

/** The anchors of a page: its headings, and places that are named by hand. */
export function anchorsIn(text: string): string[] {
  const named = [...text.matchAll(/<a id="([^"]+)">/g)].map((match) => match[1] ?? "")
  const headings = text
    .split("\n")
    .flatMap((line) => /^#+ (.+)/.exec(line)?.[1] ?? [])
    .map(anchorOf)
  return [...named, ...headings]
}

/** Words that a book uses before their chapter has come. */
function findFutureWords(book: Book): Problem[] {
  const later = CHAPTERS.slice(CHAPTERS.indexOf(book.chapter) + 1)
  return linesOf(book).flatMap(({ number, text, section, block }) => {
    if (block !== undefined || section === MAIN_LINE || text.startsWith("<!--")) return []
    return later.flatMap((chapter): Problem[] => {
      const names = chapter.parts.filter(
        (name) => text.includes(`\`${name}\``) || text.includes(`\`${name}(`) || text.includes(`\`${name}.`),
      )
      const prose = text.replaceAll(/`[^`]*`|\]\([^)]*\)/g, " ")
      const patterns = chapter.terms[book.language]
      const words = patterns.flatMap(
        (term) => new RegExp(book.language === "en" ? `\\b(?:${term})\\b` : term, "i").exec(prose)?.[0] ?? [],
      )
      return [...names, ...words].map((word) => ({
        file: book.file,
        line: number,
        message: `"${word}" is a word of ${chapter.id} and comes too early`,
      }))
    })
  })
}

function findSectionProblems({ file, text, language, chapter }: Book): Problem[] {
  const lines = text.split("\n")
  const headings = lines.flatMap((line, index) => (/^## /.test(line) ? [{ name: line.slice(3), line: index + 1 }] : []))
  const expected = SECTIONS[language]
  const wrong = expected.findIndex((name, index) => headings[index]?.name !== name)
  const faults: Problem[] = []
  if (wrong >= 0)
    faults.push({
      file,
      line: headings[wrong]?.line ?? lines.length,
      message: `expected the section "${expected[wrong]}" here`,
    })
  if (headings.length > expected.length)
    faults.push({ file, line: headings[expected.length]?.line ?? 0, message: "there is a section too many" })
  const title = `# ${chapter.id}: ${language === "zh" ? chapter.titleZh : chapter.title} — `
  if (!lines[2]?.startsWith(title))
    faults.push({ file, line: 3, message: `expected a title that starts with "${title}"` })
  if (!/\n<!-- begin: neighbours -->[\s\S]*<!-- end: neighbours -->\n$/.test(text))
    faults.push({ file, line: lines.length, message: "expected the links to the neighbours at the end" })
  const other = language === "zh" ? "[English](README.en.md)" : "[中文](README.md)"
  if (lines[0] !== other) faults.push({ file, line: 1, message: `expected ${other}` })
  return faults
}

function findBlockProblems(book: Book): Problem[] {
  const lines = book.text.split("\n")
  const sections = linesOf(book).map(({ section }) => section)
  return lines.flatMap((line, index): Problem[] => {
    if (/^\s*(`{3,}|~{3,})/.test(line) && !/^```(ts|text|sh|mermaid)?$/.test(line)) {
      const message = `"${line}" opens no block of a book: expected ts, text, sh or mermaid, not indented`
      return [{ file: book.file, line: index + 1, message }]
    }
    if (line === "```text" && sections[index] === TRY_IT && !/^<!-- output: /.test(lines[index - 1] ?? "")) {
      return [
        {
          file: book.file,
          line: index + 1,
          message: "a block of output without a mark that says which command prints it",
        },
      ]
    }
    if (line === "```ts" && !/^<!-- code: /.test(lines[index - 1] ?? "")) {
      return [
        { file: book.file, line: index + 1, message: "a block of code without a mark that says where it comes from" },
      ]
    }
    return []
  })
}

/** Commands that name files, scripts or tools which are not there. */
function findCommandProblems(book: Book, root: string): Problem[] {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>
  }
  return linesOf(book).flatMap(({ number, text, block }): Problem[] => {
    const problem = (message: string): Problem[] => [{ file: book.file, line: number, message }]
    const script = /npm run (?:-s )?([\w:]+)/.exec(text)?.[1]
    if (script !== undefined && !(script in scripts)) return problem(`there is no script "${script}"`)
    const file = /npx tsx (\S+)/.exec(text)?.[1]?.replaceAll("`", "")
    if (file?.includes("/") && !file.includes("*") && !file.startsWith("my/") && !fs.existsSync(path.join(root, file)))
      return problem(`there is no file ${file}`)
    if (block === "sh" && text.trim() !== "" && !/^(npx tsx|npm |node |git |docker |openshell |#|pi )/.test(text))
      return problem(`"${text}" is no command of this course`)
    return []
  })
}

function findLinkProblems(book: Book, root: string): Problem[] {
  const folder = path.posix.dirname(book.file)
  return linesOf(book).flatMap(({ number, text, block }) => {
    if (block !== undefined) return []
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap((match): Problem[] => {
      const [target = "", anchor] = (match[1] ?? "").split("#")
      if (/^https?:/.test(target)) return []
      const place = path.join(root, folder, target || path.posix.basename(book.file))
      if (!fs.existsSync(place))
        return [{ file: book.file, line: number, message: `the link ${match[1]} leads nowhere` }]
      const headings =
        anchor === undefined || !place.endsWith(".md") ? [anchor] : anchorsIn(fs.readFileSync(place, "utf8"))
      return headings.includes(anchor)
        ? []
        : [{ file: book.file, line: number, message: `${target} has no heading #${anchor}` }]
    })
  })
}

function findSymbolProblems(book: Book, root: string): Problem[] {
  const { symbols } = JSON.parse(fs.readFileSync(path.join(root, "scripts/books/pi-symbols.json"), "utf8")) as {
    symbols: string[]
  }
  return linesOf(book).flatMap(({ number, text }) => {
    const cited = [...text.matchAll(/`(packages\/[^`]+)`/g)].map((match) => match[1] ?? "")
    return cited
      .filter((symbol) => !symbols.includes(symbol))
      .map((symbol) => ({
        file: book.file,
        line: number,
        message: `Pi 0.81.1 has no ${symbol}, as far as the list knows`,
      }))
  })
}

/** Errors that come from outside of the chapters and may stand in an invented transcript. */
const FOREIGN_ERRORS = ["socket hang up"]

/** What a program can say of errors, each as a pattern: whatever is put in at run time may be anything. */
function errorPatterns(source: ts.SourceFile): RegExp[] {
  const patterns: RegExp[] = []
  const literal = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit)
    if (ts.isStringLiteralLike(node)) patterns.push(new RegExp(`^${literal(node.text)}$`))
    if (!ts.isTemplateExpression(node)) return
    const fixed = [node.head.text, ...node.templateSpans.map((span) => span.literal.text)]
    // What is nearly all put in at run time would fit anything.
    if (fixed.join("").length >= 8) patterns.push(new RegExp(`^${fixed.map(literal).join(".+")}$`))
  }
  visit(source)
  return patterns
}

/** Errors in invented transcripts that no chapter so far can give. */
function findErrorProblems(book: Book, root: string): Problem[] {
  const known = CHAPTERS.slice(0, CHAPTERS.indexOf(book.chapter) + 1)
  let patterns: RegExp[] | undefined
  let made = false
  return linesOf(book).flatMap(({ number, text, block }): Problem[] => {
    if (block === undefined) made = text.startsWith("<!-- output: ")
    const message = block === "text" && !made ? /\berror: (.+?)\s*$/i.exec(text)?.[1] : undefined
    if (message === undefined || FOREIGN_ERRORS.includes(message)) return []
    patterns ??= known.flatMap((chapter) => errorPatterns(readSurface(chapter, chapterFile(chapter, root)).source))
    return patterns.some((pattern) => pattern.test(message))
      ? []
      : [{ file: book.file, line: number, message: `no chapter up to ${book.chapter.id} gives the error "${message}"` }]
  })
}

/** What is wrong with a book by itself. */
export function findBookProblems(book: Book, root: string = ROOT): Problem[] {
  return [
    ...findSectionProblems(book),
    ...findBlockProblems(book),
    ...findFutureWords(book),
    ...findCommandProblems(book, root),
    ...findLinkProblems(book, root),
    ...findSymbolProblems(book, root),
    ...findErrorProblems(book, root),
  ]
}

/** The build of a book: headings, rows of tables, marks, and blocks with their text, in order. Labels of diagrams are left out. */
function buildOf(book: Book): { line: number; part: string }[] {
  return linesOf(book).flatMap(({ number, text, block }) => {
    const part = ((): string | undefined => {
      if (block === "mermaid") return text.replaceAll(/\[+[^\]]*\]+|\(+[^)]*\)+|\{[^}]*\}|\|[^|]*\|/g, "[]").trim()
      if (block !== undefined) return block === "text" || block === "" ? "text" : `${block} ${text}`
      if (text.startsWith("<!--")) return text
      const heading = /^#+/.exec(text)?.[0]
      if (heading !== undefined) return heading
      return text.startsWith("|") ? `row of ${text.split(/(?<!\\)\|/).length}` : undefined
    })()
    return part === undefined ? [] : [{ line: number, part }]
  })
}

/** Where the two languages of a book are not built alike. Invented transcripts may differ in length. */
export function findDifferences(first: Book, second: Book): Problem[] {
  const collapse = (parts: { line: number; part: string }[]): { line: number; part: string }[] => {
    return parts.filter(({ part }, index) => part !== "text" || parts[index - 1]?.part !== "text")
  }
  const [a, b] = [collapse(buildOf(first)), collapse(buildOf(second))]
  const at = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index).find(
    (index) => a[index]?.part !== b[index]?.part,
  )
  if (at === undefined) return []
  const here = a[at]
  const there = b[at]
  return [
    {
      file: second.file,
      line: there?.line ?? second.text.split("\n").length,
      message: `is "${there?.part ?? "nothing"}", and ${first.file}:${here?.line ?? "the end"} has "${here?.part ?? "nothing"}"`,
    },
  ]
}
