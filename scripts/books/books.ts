/**
 * What documents have to keep to besides their made parts: links, commands, and the same build in both languages. A
 * book also keeps to an order, and to the words that have come so far.
 */
import fs from "node:fs"
import path from "node:path"
import { readSurface } from "../chapter/surface.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import { chapterFile, ROOT } from "../course/source.ts"
import ts from "../course/typescript.js"
import type { Document, Language } from "./docs.ts"
import { type Block, linesOf, type Markdown, type Piece, readMarkdown } from "./markdown.ts"

/** A document. */
export type Page = {
  file: string
  text: string
}

/** A chapter's book in one language. */
export type Book = Page & Document & { chapter: Chapter }

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

/** The section that a line is in; -1 before the first. */
function sectionAt(line: number, { text, language }: Book): number {
  const heading = sectionsIn(readMarkdown(text)).findLast((section) => section.line <= line)
  return heading === undefined ? -1 : SECTIONS[language].indexOf(heading.text)
}

function sectionsIn({ headings }: Markdown): Piece[] {
  return headings.filter(({ depth, nested }) => depth === 2 && !nested)
}

/** Words that a book uses before their chapter has come. */
function findFutureWords(book: Book): Problem[] {
  const { prose, codes } = readMarkdown(book.text)
  const told = ({ line }: Piece): boolean => sectionAt(line, book) !== MAIN_LINE
  return CHAPTERS.slice(CHAPTERS.indexOf(book.chapter) + 1).flatMap((chapter) => {
    const names = codes.filter(told).flatMap(({ line, text }) => {
      const name = chapter.parts.find(
        (part) => text === part || text.startsWith(`${part}(`) || text.startsWith(`${part}.`),
      )
      return name === undefined ? [] : [{ line, text: name }]
    })
    const words = chapter.terms[book.language].flatMap((term) => {
      const pattern = new RegExp(book.language === "en" ? `\\b(?:${term})\\b` : term, "gi")
      return prose.flatMap(({ line, text }) =>
        [...text.replaceAll("\n", " ").matchAll(pattern)].map(({ 0: word, index }) => ({
          line: line + text.slice(0, index).split("\n").length - 1,
          text: word,
        })),
      )
    })
    return [...names, ...words.filter(told)].map(({ line, text }) => ({
      file: book.file,
      line,
      message: `"${text}" is a word of ${chapter.id} and comes too early`,
    }))
  })
}

function findSectionProblems({ file, text, language, chapter }: Book): Problem[] {
  const markdown = readMarkdown(text)
  const sections = sectionsIn(markdown)
  const last = text.trimEnd().split("\n").length
  const expected = SECTIONS[language]
  const wrong = expected.findIndex((name, index) => sections[index]?.text !== name)
  const problems: Problem[] = []
  if (wrong >= 0)
    problems.push({
      file,
      line: sections[wrong]?.line ?? last,
      message: `expected the section "${expected[wrong]}" here`,
    })
  if (sections.length > expected.length)
    problems.push({ file, line: sections[expected.length]?.line ?? 0, message: "there is a section too many" })
  const title = `${chapter.id}: ${language === "zh" ? chapter.titleZh : chapter.title} — `
  const [heading, another] = markdown.headings.filter(({ depth }) => depth === 1)
  if (heading?.line !== 3 || !heading.text.startsWith(title))
    problems.push({ file, line: 3, message: `expected a title that starts with "# ${title}"` })
  if (another !== undefined) problems.push({ file, line: another.line, message: "there is a title too many" })
  const [begin, end] = markdown.comments.slice(-2)
  if (begin?.text !== "begin: neighbours" || end?.text !== "end: neighbours" || end.line !== last)
    problems.push({ file, line: last, message: "expected the links to the neighbours at the end" })
  const other = language === "zh" ? { text: "English", target: "README.en.md" } : { text: "中文", target: "README.md" }
  const [first] = markdown.links
  if (first?.line !== 1 || first.text !== other.text || first.target !== other.target)
    problems.push({ file, line: 1, message: `expected [${other.text}](${other.target})` })
  return problems
}

function findBlockProblems(book: Book): Problem[] {
  return readMarkdown(book.text).blocks.flatMap(({ line, opening, language, mark }): Problem[] => {
    const problem = (message: string): Problem[] => [{ file: book.file, line, message }]
    if (!["```", "```ts", "```diff", "```text", "```sh", "```mermaid"].includes(opening))
      return problem(
        `"${opening}" opens no block of a book: expected \`\`\`ts, diff, text, sh or mermaid, not indented`,
      )
    if (language === "text" && sectionAt(line, book) === TRY_IT && !mark?.startsWith("output: "))
      return problem("a block of output without a mark that says which command prints it")
    if (language === "ts" && !mark?.startsWith("code: "))
      return problem("a block of code without a mark that says where it comes from")
    if (language === "diff" && !mark?.startsWith("diff: "))
      return problem("a difference without a mark that says of what")
    return []
  })
}

/** Commands that name scripts and files which are not there, wherever they are written. */
function findCommandProblems({ file, text }: Page, root: string): Problem[] {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>
  }
  const { prose, codes, comments, blocks } = readMarkdown(text)
  const pieces = [...[...prose, ...codes, ...comments].flatMap(linesOf), ...blocks.flatMap(({ lines }) => lines)]
  return pieces.flatMap((piece): Problem[] => {
    const problem = (message: string): Problem => ({ file, line: piece.line, message })
    const named = [...piece.text.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, script = ""]) => script)
    const started = [...piece.text.matchAll(/npx tsx ([^\s;&|]+)/g)].map(([, place = ""]) => place)
    return [
      ...named.filter((script) => !(script in scripts)).map((script) => problem(`there is no script "${script}"`)),
      ...started
        .filter((place) => place.includes("/") && !place.includes("*") && !place.startsWith("my/"))
        .filter((place) => !fs.existsSync(path.join(root, place)))
        .map((place) => problem(`there is no file ${place}`)),
    ]
  })
}

/** Lines of commands that a book has no use for. */
function findStrangeCommands(book: Book): Problem[] {
  const lines = readMarkdown(book.text).blocks.flatMap((block) => (block.language === "sh" ? block.lines : []))
  return lines
    .filter(({ text }) => text.trim() !== "" && !/^(npx tsx|npm |node |git |docker |openshell |#|pi )/.test(text))
    .map(({ line, text }) => ({ file: book.file, line, message: `"${text}" is no command of this course` }))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** What is wrong with where a link of a document leads, if anything. */
function judgeTarget(target: string, { file, text }: Page, root: string): string | undefined {
  if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(target)) return undefined
  const [address = "", anchor] = target.split("#").map(decode)
  const folder = address.startsWith("/") ? "" : path.posix.dirname(file)
  const place = address === "" ? file : path.posix.join(folder, address.split("?")[0] ?? "")
  if (target === "" || !fs.existsSync(path.join(root, place))) return `the link ${target || "()"} leads nowhere`
  if (place.startsWith("..")) return `the link ${target} leads out of the repository`
  if (anchor === undefined || !place.endsWith(".md")) return undefined
  const { anchors } = readMarkdown(place === file ? text : fs.readFileSync(path.join(root, place), "utf8"))
  return anchors.has(anchor) ? undefined : `${place} has no heading #${anchor}`
}

function findLinkProblems(page: Page, root: string): Problem[] {
  const { file } = page
  const { links, lost } = readMarkdown(page.text)
  return [
    ...links.flatMap(({ line, target }) => {
      const message = judgeTarget(target, page, root)
      return message === undefined ? [] : [{ file, line, message }]
    }),
    ...lost.map(({ line, text: reference }) => ({ file, line, message: `nothing says where ${reference} leads` })),
  ]
}

function findSymbolProblems({ file, text }: Page, root: string): Problem[] {
  const { symbols } = JSON.parse(fs.readFileSync(path.join(root, "scripts/books/pi-symbols.json"), "utf8")) as {
    symbols: string[]
  }
  return readMarkdown(text)
    .codes.filter((code) => code.text.startsWith("packages/") && !symbols.includes(code.text))
    .map(({ line, text: symbol }) => ({ file, line, message: `Pi 0.81.1 has no ${symbol}, as far as the list knows` }))
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
  const invented = readMarkdown(book.text).blocks.filter(
    ({ language, mark }) => language === "text" && !mark?.startsWith("output: "),
  )
  const errors = invented
    .flatMap(({ lines }) => lines)
    .map(({ line, text }) => ({ line, message: /\berror: (.+?)\s*$/i.exec(text)?.[1] ?? "" }))
    .filter(({ message }) => message !== "" && !FOREIGN_ERRORS.includes(message))
  if (errors.length === 0) return []
  const patterns = known.flatMap((chapter) => errorPatterns(readSurface(chapter, chapterFile(chapter, root)).source))
  return errors
    .filter(({ message }) => !patterns.some((pattern) => pattern.test(message)))
    .map(({ line, message }) => ({
      file: book.file,
      line,
      message: `no chapter up to ${book.chapter.id} gives the error "${message}"`,
    }))
}

/** What is wrong with any document by itself. */
export function findPageProblems(page: Page, root: string = ROOT): Problem[] {
  return [...findCommandProblems(page, root), ...findLinkProblems(page, root), ...findSymbolProblems(page, root)]
}

/** What is wrong with a book by itself. */
export function findBookProblems(book: Book, root: string = ROOT): Problem[] {
  return [
    ...findSectionProblems(book),
    ...findBlockProblems(book),
    ...findFutureWords(book),
    ...findStrangeCommands(book),
    ...findPageProblems(book, root),
    ...findErrorProblems(book, root),
  ]
}

type Part = { line: number; part: string }

/**
 * The build of a document: headings, rows of tables, marks and blocks, in order. In a book the lines of a block count
 * too, without the labels of diagrams; of text that was invented each language has as much as it needs.
 */
function buildOf(page: Page): Part[] {
  const { headings, rows, comments, blocks } = readMarkdown(page.text)
  const linesIn = (block: Block): Part[] => {
    if (!("chapter" in page)) return []
    if (block.language === "text" || block.language === "") return [{ line: block.line, part: "text" }]
    const bare = (text: string): string =>
      block.language === "mermaid"
        ? text.replaceAll(/\[+[^\]]*\]+|\(+[^)]*\)+|\{[^}]*\}|\|[^|]*\|/g, "[]").trim()
        : text
    return block.lines.map(({ line, text }) => ({ line, part: `${block.language} ${bare(text)}` }))
  }
  const parts = [
    ...headings.map(({ line, depth }) => ({ line, part: "#".repeat(depth) })),
    ...rows.map(({ line, cells }) => ({ line, part: `row of ${cells.length}` })),
    ...comments.map(({ line, text }) => ({ line, part: `<!-- ${text.replace(/ --lang (zh|en)\b/, "")} -->` })),
    ...blocks.flatMap((block) => [{ line: block.line, part: "block" }, ...linesIn(block)]),
  ]
  return parts.sort((a, b) => a.line - b.line)
}

/** Where the two languages of a document are not built alike. */
export function findDifferences(first: Page, second: Page): Problem[] {
  const [a, b] = [buildOf(first), buildOf(second)]
  const at = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index).find(
    (index) => a[index]?.part !== b[index]?.part,
  )
  if (at === undefined) return []
  const is = b[at]?.part ?? "nothing"
  const has = a[at]?.part ?? "nothing"
  const line = b[at]?.line ?? second.text.split("\n").length
  const message = `is "${is}", and ${first.file}:${a[at]?.line ?? "the end"} has "${has}"`
  return [{ file: second.file, line, message }]
}
