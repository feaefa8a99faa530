/**
 * The file that a reader begins a chapter with: the chapter before, with the new banner, the new types and signatures, marks in the old functions
 * that have to change, and the new demo, so that it can be started at any time.
 */

import { mergeTexts } from "../chapter/merge.ts"
import { type Declaration, type Member, readSurface, type Surface } from "../chapter/surface.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import ts from "../course/typescript.js"

/** The longest line of a mark, in characters. */
const WIDTH = 118

/** A range of a text, and what takes its place. */
type Edit = { start: number; end: number; text: string }

type Body = ts.FunctionDeclaration | ts.MethodDeclaration | ts.ConstructorDeclaration | ts.AccessorDeclaration

function hasBody(node: ts.Node): node is Body & { body: ts.Block } {
  const isFunction =
    ts.isFunctionDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.isAccessor(node)
  return isFunction && node.body !== undefined
}

function chapterBefore(chapter: Chapter): Chapter | undefined {
  return CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
}

/** What a reader writes in a chapter, in the order of the source: functions, `Class.member` and constants that are made and not just named. */
export function namesToWrite(chapter: Chapter): string[] {
  const names: string[] = []
  makeStart(chapter, new Set(), (name) => void names.push(name))
  return names
}

/**
 * The text to begin a chapter with. What is named in `written` is there already, as in the course's chapter; `note` is told the name of everything
 * that is still to be written or changed.
 */
export function makeStart(
  chapter: Chapter,
  written: ReadonlySet<string> = new Set(),
  note: (name: string) => void = () => {},
): string {
  const now = readSurface(chapter)
  const before = chapterBefore(chapter)
  const old = before && readSurface(before)
  const edits = now.core.flatMap((declaration) => {
    const twin = old?.core.find(({ name }) => name === declaration.name)
    return editsFor(declaration, twin, { chapter, old, written, note, text: now.text })
  })
  return rootedBelow(applyEdits(now.text, edits))
}

type Place = {
  chapter: Chapter
  old: Surface | undefined
  written: ReadonlySet<string>
  note: (name: string) => void
  text: string
}

function editsFor(declaration: Declaration, twin: Declaration | undefined, place: Place): Edit[] {
  const { node, name } = declaration
  const { written, note } = place
  if (ts.isClassDeclaration(node))
    return declaration.members.flatMap((member) =>
      editsForMember(
        name,
        member,
        twin?.members.find((other) => other.name === member.name),
        twin !== undefined,
        place,
      ),
    )
  if (ts.isFunctionDeclaration(node) && hasBody(node)) {
    if (twin?.text === declaration.text) return []
    note(name)
    if (written.has(name)) return []
    return [twin === undefined ? stub(node, name) : keepOld(node, twin.node, name, place)]
  }
  if (ts.isVariableStatement(node) && twin === undefined) {
    const [constant] = node.declarationList.declarations
    const { initializer } = constant ?? {}
    if (initializer === undefined || !/^z\b/.test(initializer.getText())) return []
    note(name)
    const text = `z.custom(() => {\n  throw new Error("not written yet: ${name}")\n})`
    return written.has(name) ? [] : [{ start: initializer.getStart(), end: initializer.end, text }]
  }
  return []
}

function editsForMember(
  className: string,
  member: Member,
  twin: Member | undefined,
  isOld: boolean,
  place: Place,
): Edit[] {
  const { node } = member
  const name = `${className}.${member.name}`
  const isPrivate = member.name.startsWith("#")
  if (hasBody(node) && !isPrivate) {
    if (twin?.text === member.text) return []
    place.note(name)
    if (place.written.has(name)) return []
    return [twin === undefined ? stub(node, name) : keepOld(node, twin.node, name, place)]
  }
  // How a class keeps what it knows is the reader's own choice. It comes with the first member that is written.
  const isWritten = [...place.written].some((known) => known.startsWith(`${className}.`))
  if (!isPrivate || isOld || isWritten) return []
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const start = lineStart(place.text, comment?.getStart() ?? node.getStart())
  const behind = place.text.indexOf("\n", node.end) + 1
  return [{ start, end: place.text[behind] === "\n" ? behind + 1 : behind, text: "" }]
}

function lineStart(text: string, position: number): number {
  return text.lastIndexOf("\n", position - 1) + 1
}

function indentOf(node: ts.Node): string {
  const { text } = node.getSourceFile()
  const start = node.getStart()
  return /^[ \t]*/.exec(text.slice(lineStart(text, start), start))?.[0] ?? ""
}

function stub(node: Body & { body: ts.Block }, name: string): Edit {
  const indent = indentOf(node)
  const text = `{\n${indent}  throw new Error("not written yet: ${name}")\n${indent}}`
  return { start: node.body.getStart(), end: node.body.end, text }
}

/** Puts an old function back, with a mark that says why it changes and, where that is so, under which head. */
function keepOld(node: Body & { body: ts.Block }, old: ts.Node, name: string, { chapter, text }: Place): Edit {
  if (!hasBody(old)) throw new Error(`${name} had no body before ${chapter.id}`)
  const indent = `${indentOf(node)}  `
  const { welds, upgrades } = chapter
  const reason = [...welds, ...upgrades].find((change) => change.name === name)?.reason ?? "it changes here"
  const head = (one: Body & { body: ts.Block }): string =>
    one.getSourceFile().text.slice(one.getStart(), one.body.getStart()).replaceAll(/\s+/g, " ").trim()
  const isUpgrade = upgrades.some((change) => change.name === name)
  const words = [`${chapter.id} changes this: ${reason}`]
  if (head(node) !== head(old) && !isUpgrade) words.push(`New head: ${head(node)}`)
  const mark = words.flatMap((line) => wrap(line, WIDTH - indent.length - 3)).map((line) => `${indent}// ${line}\n`)
  const body = old.body.getText()
  const inner = body.includes("\n")
    ? body.replace(/^\{[ \t]*\n/, "")
    : `${indent}${body.slice(1, -1).trim()}\n${indent.slice(2)}}`
  const start = isUpgrade ? node.body.getStart() : node.getStart()
  const front = isUpgrade ? "" : old.getSourceFile().text.slice(old.getStart(), old.body.getStart())
  void text
  return { start, end: node.body.end, text: `${front}{\n${mark.join("")}${inner}` }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length + 1 > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  const ordered = [...edits].sort((a, b) => b.start - a.start)
  return ordered.reduce((sofar, { start, end, text: put }) => sofar.slice(0, start) + put + sofar.slice(end), text)
}

/** A reader's file lies one folder deeper than the course's; its demo works in the same project. */
function rootedBelow(text: string): string {
  const here = "path.dirname(fileURLToPath(import.meta.url))"
  return text.replace(here, `path.dirname(${here})`)
}

/** What a new file was made from. */
export type Origin = "own" | "course" | "conflict"

/**
 * The text to begin a chapter with, made in the reader's own chapter before where that is given and both go together. `blank` is the chapter before
 * and nothing else.
 */
export function beginChapter(
  chapter: Chapter,
  own: string | undefined,
  blank: boolean,
): { text: string; origin: Origin } {
  const before = chapterBefore(chapter)
  const course = before === undefined ? "" : rootedBelow(readSurface(before).text)
  if (blank) return { text: own ?? course, origin: own === undefined ? "course" : "own" }
  const start = makeStart(chapter)
  if (own === undefined || before === undefined) return { text: start, origin: "course" }
  // The demo is new in every chapter; what is the reader's own is in front of it.
  const merge = mergeTexts(coreOf(own), coreOf(course), coreOf(start))
  if (merge.type === "conflict") return { text: start, origin: "conflict" }
  return { text: `${merge.text}${start.slice(coreOf(start).length)}`, origin: "own" }
}

function coreOf(text: string): string {
  const demo = text.search(/^\/\/ ── Demo ──/m)
  return demo === -1 ? text : text.slice(0, demo)
}
