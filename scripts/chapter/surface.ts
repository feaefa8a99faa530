/**
 * What can be seen of a chapter without running it. Only the parser is used, no type checker: types are compared by the text that their author
 * wrote, with references by name. That is sound because a name means the same in every chapter (U2).
 */

import { FileError } from "../course/input-error.ts"
import type { Chapter } from "../course/manifest.ts"
import { chapterFile, readSource } from "../course/source.ts"
import ts from "../course/typescript.js"

/** A field of a record, a member of a union, or a member of a class: something that may be added and not be changed. */
export type Member = {
  /** Field or method name; for a union member its `type` or `role` tag, or its text. */
  name: string
  /** As written, without the comment in front of it and without a semicolon or comma at its end. */
  text: string
  /** First line with its comment, first line of its code, last line. */
  start: number
  line: number
  end: number
  /** The fields of a union member that is a record. */
  fields: Member[]
  /** What a caller sees of a method: parameters and return type, without its body. */
  signature: string
  node: ts.Node
}

/** A declaration at the top level of a core. The overloads of a function and its body are one, and so are the constants of one statement. */
export type Declaration = {
  name: string
  /** All names that it declares: one, but for a statement with several constants. */
  names: string[]
  kind: "type" | "interface" | "class" | "function" | "constant"
  /** Whether it is exported under its name. */
  exported: boolean
  /** Whether a doc comment that says something stands above it. */
  documented: boolean
  /** The chapter whose banner stands above it; empty before the first. */
  section: string
  /** First line with its comment, first line of its code, last line. */
  start: number
  line: number
  end: number
  /** The lines from `start` to `end`, to the byte. */
  text: string
  members: Member[]
  node: ts.Statement
  /** The overload signatures in front of `node`, and `node`. */
  nodes: ts.Statement[]
}

/** A chapter as the rules see it. */
export type Surface = {
  chapter: Chapter
  file: string
  text: string
  lines: string[]
  source: ts.SourceFile
  core: Declaration[]
  demo: ts.Statement[]
  imports: ts.ImportDeclaration[]
  /** Line of the demo's banner. */
  demoLine: number
}

const SECTION = /^\/\/ ── (s\d\d) /
const DEMO = /^\/\/ ── Demo ──/

/** How deep a chapter may be nested. Real ones need about thirty levels; parsers and rules call themselves once per level. */
const MAX_DEPTH = 300

/** Parses a text. Throws an `InputError` that names the first place which is not valid. */
export function parseSource(file: string, text: string): ts.SourceFile {
  const source = parseText(file, text)
  const [problem] = (source as unknown as { parseDiagnostics: ts.DiagnosticWithLocation[] }).parseDiagnostics
  if (problem !== undefined) {
    const { line, character } = source.getLineAndCharacterOfPosition(problem.start)
    throw new FileError(
      file,
      `:${line + 1}:${character + 1} is not valid TypeScript: ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`,
    )
  }
  const [deepest, depth] = findDeepest(source)
  if (depth > MAX_DEPTH) {
    const line = source.getLineAndCharacterOfPosition(deepest.getStart(source)).line + 1
    throw new FileError(file, `:${line} is nested ${depth} levels deep, expected at most ${MAX_DEPTH}: take it apart`)
  }
  return source
}

function parseText(file: string, text: string): ts.SourceFile {
  try {
    return ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TS)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new FileError(file, ` is nested too deeply to be parsed, expected at most ${MAX_DEPTH} levels: take it apart`)
  }
}

/** The deepest node, and how deep it is. Without recursion, since it is there to say where recursion would fail. */
function findDeepest(source: ts.SourceFile): [ts.Node, number] {
  let deepest: [ts.Node, number] = [source, 0]
  const due: [ts.Node, number][] = [deepest]
  for (let next = due.pop(); next !== undefined; next = due.pop()) {
    const [node, depth] = next
    if (depth > deepest[1]) deepest = next
    ts.forEachChild(node, (child) => void due.push([child, depth + 1]))
  }
  return deepest
}

/** The line comments that stand between the statements of a file, from the first column on, by line. */
function readBanners(source: ts.SourceFile): Map<number, string> {
  const { text } = source
  const comments = [...source.statements, source.endOfFileToken].flatMap(
    (node) => ts.getLeadingCommentRanges(text, node.pos) ?? [],
  )
  return new Map(
    comments
      .filter(
        ({ kind, pos }) => kind === ts.SyntaxKind.SingleLineCommentTrivia && (pos === 0 || text[pos - 1] === "\n"),
      )
      .map(({ pos, end }) => [source.getLineAndCharacterOfPosition(pos).line + 1, text.slice(pos, end)]),
  )
}

/** The names that a statement declares. */
export function declaredNames(statement: ts.Node): string[] {
  const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
  const namesIn = (name: ts.Node | undefined): string[] => {
    if (name === undefined) return []
    if (!ts.isObjectBindingPattern(name) && !ts.isArrayBindingPattern(name))
      return [ts.isIdentifier(name) ? name.text : name.getText()]
    return name.elements.flatMap((element) => (ts.isBindingElement(element) ? namesIn(element.name) : []))
  }
  return declared.flatMap((node) => namesIn((node as ts.NamedDeclaration).name))
}

/** Parses a chapter. Throws an `InputError` for a text that is no TypeScript or has no demo. */
export function readSurface(
  chapter: Chapter,
  file: string = chapterFile(chapter),
  text: string = readSource(file),
): Surface {
  const source = parseSource(file, text)
  const lines = text.split("\n")
  const banners = readBanners(source)
  const demoLine = [...banners].find(([, comment]) => DEMO.test(comment))?.[0]
  if (demoLine === undefined)
    throw new FileError(file, ` has no demo: expected a line that starts with "// ── Demo ──" behind the core`)
  const lineOf = (node: ts.Node): number => source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  const isCore = (statement: ts.Statement): boolean => lineOf(statement) < demoLine
  const imports = source.statements.filter(ts.isImportDeclaration)
  const rest = source.statements.filter((statement) => !ts.isImportDeclaration(statement))
  return {
    chapter,
    file,
    text,
    lines,
    source,
    core: withOverloads(rest.filter(isCore)).map((nodes) => readDeclaration(nodes, source, lines, banners)),
    demo: rest.filter((statement) => !isCore(statement)),
    imports,
    demoLine,
  }
}

/** Statements, each by itself, but a function with the overload signatures in front of it. */
function withOverloads(statements: readonly ts.Statement[]): ts.Statement[][] {
  const groups: ts.Statement[][] = []
  for (const statement of statements) {
    const last = groups.at(-1)?.at(-1)
    const isOverload = (node: ts.Statement | undefined): node is ts.FunctionDeclaration =>
      node !== undefined && ts.isFunctionDeclaration(node) && node.body === undefined
    const continues =
      isOverload(last) && ts.isFunctionDeclaration(statement) && last.name?.text === statement.name?.text
    if (continues) groups.at(-1)?.push(statement)
    else groups.push([statement])
  }
  return groups
}

function readDeclaration(
  nodes: ts.Statement[],
  source: ts.SourceFile,
  lines: string[],
  banners: ReadonlyMap<number, string>,
): Declaration {
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1
  const [first, node] = [nodes[0] as ts.Statement, nodes.at(-1) as ts.Statement]
  const comments = ts.getJSDocCommentsAndTags(first).filter(ts.isJSDoc)
  const line = lineAt(first.getStart())
  const start = lineAt(comments[0]?.getStart() ?? first.getStart())
  const end = lineAt(node.getEnd())
  const section = [...banners].findLast(([at, comment]) => at < line && SECTION.test(comment))
  const isExported = (statement: ts.Statement): boolean => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
    // A default export has no name for a later chapter or a test to import.
    return (
      ts.isExportDeclaration(statement) ||
      (modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) &&
        modifiers.every(({ kind }) => kind !== ts.SyntaxKind.DefaultKeyword))
    )
  }
  const names = declaredNames(node)
  const base = {
    name: names.join(", "),
    names,
    exported: nodes.every(isExported),
    documented: saysSomething(comments.at(-1), names, lines, line),
    section: SECTION.exec(section?.[1] ?? "")?.[1] ?? "",
    start,
    line,
    end,
    text: lines.slice(start - 1, end).join("\n"),
    members: [] as Member[],
    node,
    nodes,
  }
  if (ts.isTypeAliasDeclaration(node)) return { ...base, kind: "type", members: readUnion(node.type, lineAt) }
  if (ts.isInterfaceDeclaration(node)) return { ...base, kind: "interface", members: readMembers(node.members, lineAt) }
  if (ts.isClassDeclaration(node)) return { ...base, kind: "class", members: readMembers(node.members, lineAt) }
  if (ts.isFunctionDeclaration(node)) return { ...base, kind: "function" }
  return { ...base, name: base.name || node.getText().slice(0, 40), kind: "constant" }
}

/** Whether a comment stands right above a declaration and says more than its name: a sentence, no mark for a tool and none for later. */
function saysSomething(
  comment: ts.JSDoc | undefined,
  names: readonly string[],
  lines: readonly string[],
  line: number,
): boolean {
  if (comment === undefined || /^\s*$/.test(lines[line - 2] ?? "")) return false
  const text = ts.getTextOfJSDocComment(comment.comment) ?? ""
  if (/^\W*(todo|fixme|xxx|tbd|hack|wip|biome-|eslint|prettier-|@?ts-|c8 |v8 )/i.test(text)) return false
  const wordsIn = (given: string): string[] =>
    given
      .replaceAll(/(\p{Ll})(?=\p{Lu})/gu, "$1 ")
      .toLowerCase()
      .match(/\p{Script=Han}|[\p{L}\p{N}]+/gu) ?? []
  const empty = [...names.flatMap(wordsIn), ...names.map((name) => name.toLowerCase()), "a", "an", "the", "this"]
  const words = wordsIn(text)
  return words.some((word) => !empty.includes(word))
}

/** The members of a type. A record counts as a union of one, so that it may grow into one of two. */
function readUnion(type: ts.TypeNode, lineAt: (position: number) => number): Member[] {
  const bare = (member: ts.TypeNode): ts.TypeNode => (ts.isParenthesizedTypeNode(member) ? bare(member.type) : member)
  const types = ts.isUnionTypeNode(type) ? [...type.types] : [type]
  return types.map(bare).map((member) => {
    const fields = readFields(member, lineAt)
    const tag = fields.find((field) => field.name === "type" || field.name === "role")
    const text = tag?.text ?? member.getText()
    return { ...readMember(member, lineAt), name: text.replaceAll("'", '"').replaceAll(/\s+/g, " "), fields }
  })
}

/** The fields of a record. In an intersection, what is no record counts as a field without a name of its own. */
function readFields(type: ts.TypeNode, lineAt: (position: number) => number): Member[] {
  if (ts.isTypeLiteralNode(type)) return readMembers(type.members, lineAt)
  if (!ts.isIntersectionTypeNode(type)) return []
  return type.types.flatMap((part): Member[] =>
    ts.isTypeLiteralNode(part) ? readMembers(part.members, lineAt) : [readMember(part, lineAt)],
  )
}

function readMembers(
  members: ts.NodeArray<ts.TypeElement | ts.ClassElement>,
  lineAt: (position: number) => number,
): Member[] {
  return members.map((member) => {
    const read = readMember(member, lineAt)
    const body = "body" in member ? (member.body as ts.Node | undefined) : undefined
    const end = body === undefined ? undefined : body.getStart() - member.getStart()
    const name = ts.isConstructorDeclaration(member) ? "constructor" : (member.name?.getText() ?? read.text)
    return { ...read, name, signature: read.text.slice(0, end).trimEnd() }
  })
}

function readMember(node: ts.Node, lineAt: (position: number) => number): Member {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const text = node.getText().replace(/[;,]$/, "")
  const line = lineAt(node.getStart())
  const start = comment === undefined ? line : lineAt(comment.getStart())
  return { name: text, text, start, line, end: lineAt(node.getEnd()), fields: [], signature: "", node }
}

/** A node without what is style: comments, blank space, line ends, semicolons, closing commas, kind of quotes, a leading bar. */
export function withoutStyle(node: ts.Node): string {
  return spell(node, (_kind, words) => words)
}

/** The same, with how its parts belong together: `return x` and `return` with `x` on the next line are spelled alike and are not the same. */
export function structureOf(node: ts.Node): string {
  return spell(node, (kind, words) => (words === "" ? "" : `(${ts.SyntaxKind[kind]} ${words})`))
}

function spell(node: ts.Node, wrap: (kind: ts.SyntaxKind, words: string) => string): string {
  const children = node
    .getChildren()
    .filter(({ kind }) => kind < ts.SyntaxKind.FirstJSDocNode || kind > ts.SyntaxKind.LastJSDocNode)
  if (children.length === 0) return ts.isStringLiteral(node) ? JSON.stringify(node.text) : node.getText()
  const isList = node.kind === ts.SyntaxKind.SyntaxList
  const isStyle = (child: ts.Node, index: number): boolean =>
    (child.kind === ts.SyntaxKind.SemicolonToken && !ts.isForStatement(node)) ||
    (child.kind === ts.SyntaxKind.CommaToken && index === children.length - 1 && (isList || ts.isTypeElement(node))) ||
    (child.kind === ts.SyntaxKind.BarToken && index === 0)
  const words = children.filter((child, index) => !isStyle(child, index)).map((child) => spell(child, wrap))
  const text = words.filter((word) => word !== "").join(" ")
  const isBare = isList || (ts.isUnionTypeNode(node) && node.types.length === 1)
  return isBare ? text : wrap(node.kind, text)
}
