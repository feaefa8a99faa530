/**
 * The one reader of the documents. A parser of GitHub's Markdown decides what is a heading, a link or a block of code,
 * not the look of a line; and every part knows its line, counted from 1.
 */
import GithubSlugger from "github-slugger"
import type { Nodes, Parents, Root } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm } from "micromark-extension-gfm"
import { type DefaultTreeAdapterTypes, parseFragment } from "parse5"

/** A piece of a document, and the line it begins on. */
export type Piece = {
  line: number
  text: string
}

/** A heading. One that stands in a quotation or a list has an anchor, and begins no section. */
export type Heading = Piece & {
  depth: number
  nested: boolean
}

/** Where a link or an image leads, and what it is written on. */
export type Link = Piece & {
  target: string
}

/** A block of code, fenced or indented. */
export type Block = {
  line: number
  /** The whole line that opens it, as it stands there. */
  opening: string
  language: string
  lines: Piece[]
  /** The comment right above it. */
  mark: string | undefined
}

/** A cell of a table: what it says, and the code in it. */
export type Cell = {
  text: string
  codes: string[]
}

/** What a document consists of, each kind in its order. */
export type Markdown = {
  headings: Heading[]
  /** What can stand behind `#` in a link to this document. */
  anchors: Set<string>
  links: Link[]
  blocks: Block[]
  /** Code in a line of text. */
  codes: Piece[]
  comments: Piece[]
  rows: { line: number; cells: Cell[] }[]
  /** Paragraphs, headings and cells without their code. Each line break in the document is one in the text. */
  prose: Piece[]
  /** References that nothing in the document defines, and that GitHub shows with their brackets. */
  lost: Piece[]
}

const known = new Map<string, Markdown>()

/** Takes a document apart; the same text only once. */
export function readMarkdown(text: string): Markdown {
  const markdown = known.get(text) ?? new Reader(text).markdown
  known.set(text, markdown)
  return markdown
}

/** Pieces of one line each. */
export function linesOf({ line, text }: Piece): Piece[] {
  return text.split("\n").map((part, index) => ({ line: line + index, text: part }))
}

/** What a reader sees of a node, without its markup. */
function textOf(node: Nodes): string {
  if ("children" in node) return node.children.map(textOf).join("")
  if (node.type === "break") return "\n"
  return "value" in node && node.type !== "html" ? node.value : ""
}

function codesIn(node: Nodes): string[] {
  if (node.type === "inlineCode") return [node.value]
  return "children" in node ? node.children.flatMap(codesIn) : []
}

function startOf(node: Nodes): number {
  return node.position?.start.line ?? 0
}

class Reader {
  readonly markdown: Markdown = {
    headings: [],
    anchors: new Set(),
    links: [],
    blocks: [],
    codes: [],
    comments: [],
    rows: [],
    prose: [],
    lost: [],
  }
  readonly #source: string
  readonly #slugger = new GithubSlugger()

  constructor(source: string) {
    this.#source = source
    const root: Root = fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
    this.#visitAll(root)
  }

  #visitAll(parent: Parents): void {
    parent.children.forEach((node, index) => {
      this.#visit(node, parent, parent.children[index - 1])
    })
  }

  #visit(node: Nodes, parent: Parents, before: Nodes | undefined): void {
    const { headings, links, blocks, codes, rows, prose } = this.markdown
    const line = startOf(node)
    switch (node.type) {
      case "heading":
        headings.push({ line, text: textOf(node), depth: node.depth, nested: parent.type !== "root" })
        this.#addAnchor(textOf(node))
        prose.push({ line, text: this.#proseOf(node) })
        break
      case "paragraph":
      case "tableCell":
        prose.push({ line, text: this.#proseOf(node) })
        break
      case "tableRow":
        rows.push({ line, cells: node.children.map((cell) => ({ text: textOf(cell), codes: codesIn(cell) })) })
        break
      case "link":
        links.push({ line, text: textOf(node), target: node.url })
        break
      case "image":
        links.push({ line, text: node.alt ?? "", target: node.url })
        break
      case "definition":
        links.push({ line, text: node.label ?? "", target: node.url })
        break
      case "inlineCode":
        codes.push({ line, text: node.value.replaceAll("\n", " ") })
        break
      case "code": {
        const opening = this.#source.split("\n")[line - 1] ?? ""
        const fenced = /^[`~]/.test(this.#sourceOf(node))
        const lines = node.value === "" ? [] : linesOf({ line: fenced ? line + 1 : line, text: node.value })
        const above = before?.type === "html" && before.position?.end.line === line - 1 ? startOf(before) : line
        const mark = this.markdown.comments.findLast((comment) => comment.line >= above)?.text
        blocks.push({ line, opening, language: node.lang ?? "", lines, mark })
        break
      }
      case "html":
        for (const part of parseFragment(node.value, { sourceCodeLocationInfo: true }).childNodes)
          this.#visitHtml(part, line, parent)
        break
      case "text":
        this.#findLost(node)
    }
    if ("children" in node) this.#visitAll(node)
  }

  /** Parts that are written in HTML. Text between two tags in a line is text of the paragraph already. */
  #visitHtml(node: DefaultTreeAdapterTypes.ChildNode, first: number, parent: Parents): void {
    const { headings, anchors, links, comments, prose } = this.markdown
    const line = first + (node.sourceCodeLocation?.startLine ?? 1) - 1
    if ("data" in node) comments.push({ line, text: node.data.trim() })
    if ("value" in node && node.value.trim() !== "") prose.push({ line, text: node.value })
    if (!("tagName" in node)) return
    const seen = (part: DefaultTreeAdapterTypes.ChildNode): string => {
      if ("value" in part) return part.value
      return "childNodes" in part ? part.childNodes.map(seen).join("") : ""
    }
    const text = seen(node)
    for (const { name, value } of node.attrs) {
      if (name === "href" || name === "src") links.push({ line, text, target: value })
      if (name === "id" || name === "name") anchors.add(value)
    }
    const depth = /^h([1-6])$/.exec(node.tagName)?.[1]
    if (depth !== undefined && text !== "") {
      headings.push({ line, text, depth: Number(depth), nested: parent.type !== "root" })
      this.#addAnchor(text)
    }
    for (const child of node.childNodes) this.#visitHtml(child, first, parent)
  }

  #addAnchor(heading: string): void {
    this.markdown.anchors.add(this.#slugger.slug(heading))
  }

  #sourceOf(node: Nodes): string {
    return this.#source.slice(node.position?.start.offset, node.position?.end.offset)
  }

  #proseOf(block: Nodes): string {
    const start = startOf(block)
    let text = ""
    const add = (node: Nodes): void => {
      if ("children" in node) {
        for (const child of node.children) add(child)
        return
      }
      text += "\n".repeat(Math.max(0, startOf(node) - start + 1 - text.split("\n").length))
      if (node.type === "text") text += node.value
      else if (node.type === "image" || node.type === "imageReference") text += node.alt ?? ""
      else if (node.type === "inlineCode" || /^<br\b/i.test(this.#sourceOf(node))) text += " "
    }
    add(block)
    return text
  }

  /** The parser leaves such references in the text. Only the source tells an escaped bracket from a bare one. */
  #findLost(node: Nodes): void {
    for (const { line, text } of linesOf({ line: startOf(node), text: this.#sourceOf(node) }))
      for (const [reference] of text.matchAll(/(?<![\\\]])\[(?:[^[\]\\]+\]\[[^[\]\\]*|\^[^[\]\\]+)\]/g))
        this.markdown.lost.push({ line, text: reference })
  }
}
