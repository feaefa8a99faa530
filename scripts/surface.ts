/**
 * What can be seen of a chapter without running it. Only the parser is used, no type checker: types are compared by the text that their author
 * wrote, with references by name. That is sound because a name means the same in every chapter (U2).
 */
import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"
import { InputError } from "./command.ts"
import type { Chapter } from "./manifest.ts"

/** The root of the repository. */
export const ROOT: string = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

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

/** A declaration at the top level of a core. */
export type Declaration = {
  name: string
  kind: "type" | "interface" | "class" | "function" | "constant"
  /** Whether it is exported under its name. */
  exported: boolean
  /** The chapter whose banner stands above it; empty before the first. */
  section: string
  /** First line with its comment, first line of its code, last line. */
  start: number
  line: number
  end: number
  /** The lines from `start` to `end`, to the byte. */
  text: string
  members: Member[]
  /** Parameters and return type of a function, as written. */
  parameters: string[]
  returns: string
  node: ts.Statement
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

function readText(file: string, shown: string): string {
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) throw new InputError(`${shown} does not exist`)
    const kind = stat.isDirectory() ? "folder" : "special file"
    if (!stat.isFile()) throw new InputError(`${shown} is a ${kind}, expected a TypeScript file`)
    return fs.readFileSync(file, "utf8")
  } catch (error) {
    if (error instanceof InputError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new InputError(`${shown} cannot be read: ${code === "EACCES" ? "permission denied" : message}`)
  }
}

/** Reads a text file that is meant to be a chapter. Throws an `InputError` that says what is wrong with it. */
export function readSource(file: string): string {
  const shown = path.relative(process.cwd(), file) || file
  const text = readText(file, shown)
  if (text.trim() === "") throw new InputError(`${shown} is empty`)
  if (text.includes("\0")) throw new InputError(`${shown} is no text, expected a TypeScript file`)
  if (text.startsWith("\uFEFF"))
    throw new InputError(`${shown} starts with a byte order mark: save it as UTF-8 without one`)
  if (text.includes("\r"))
    throw new InputError(
      `${shown} has CR or CRLF line ends, expected LF: set your editor to LF, or run git add --renormalize`,
    )
  return text
}

/** The file of a chapter in this repository. */
export function chapterFile(chapter: Chapter, root: string = ROOT): string {
  return path.join(root, chapter.folder, "code.ts")
}

/** Parses a text. Throws an `InputError` that names the first place which is not valid. */
export function parseSource(file: string, text: string): ts.SourceFile {
  const shown = path.relative(process.cwd(), file) || file
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TS)
  const [problem] = (source as unknown as { parseDiagnostics: ts.DiagnosticWithLocation[] }).parseDiagnostics
  if (problem !== undefined) {
    const { line, character } = source.getLineAndCharacterOfPosition(problem.start)
    throw new InputError(
      `${shown}:${line + 1}:${character + 1} is not valid TypeScript: ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`,
    )
  }
  return source
}

/** Parses a chapter. Throws an `InputError` for a text that is no TypeScript or has no demo. */
export function readSurface(
  chapter: Chapter,
  file: string = chapterFile(chapter),
  text: string = readSource(file),
): Surface {
  const shown = path.relative(process.cwd(), file) || file
  const source = parseSource(file, text)
  const lines = text.split("\n")
  const demoLine = lines.findIndex((line) => DEMO.test(line)) + 1
  if (demoLine === 0)
    throw new InputError(`${shown} has no demo: expected a line that starts with "// ── Demo ──" behind the core`)
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
    core: rest.filter(isCore).map((statement) => readDeclaration(statement, source, lines)),
    demo: rest.filter((statement) => !isCore(statement)),
    imports,
    demoLine,
  }
}

function readDeclaration(node: ts.Statement, source: ts.SourceFile, lines: string[]): Declaration {
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const line = lineAt(node.getStart())
  const start = comment === undefined ? line : lineAt(comment.getStart())
  const end = lineAt(node.getEnd())
  const banner = lines.slice(0, line).findLast((text) => SECTION.test(text))
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  const base = {
    // A default export has no name for a later chapter or a test to import.
    exported:
      ts.isExportDeclaration(node) ||
      (modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) &&
        modifiers.every(({ kind }) => kind !== ts.SyntaxKind.DefaultKeyword)),
    section: SECTION.exec(banner ?? "")?.[1] ?? "",
    start,
    line,
    end,
    text: lines.slice(start - 1, end).join("\n"),
    members: [] as Member[],
    parameters: [] as string[],
    returns: "",
    node,
  }
  if (ts.isTypeAliasDeclaration(node))
    return { ...base, name: node.name.text, kind: "type", members: readUnion(node.type, lineAt) }
  if (ts.isInterfaceDeclaration(node))
    return { ...base, name: node.name.text, kind: "interface", members: readMembers(node.members, lineAt) }
  if (ts.isClassDeclaration(node))
    return { ...base, name: node.name?.text ?? "", kind: "class", members: readMembers(node.members, lineAt) }
  if (ts.isFunctionDeclaration(node)) {
    const parameters = node.parameters.map((parameter) => parameter.getText())
    return { ...base, name: node.name?.text ?? "", kind: "function", parameters, returns: node.type?.getText() ?? "" }
  }
  const named = ts.isVariableStatement(node) ? node.declarationList.declarations : [node as ts.DeclarationStatement]
  const names = named.flatMap(({ name }) => name?.getText() ?? [])
  return { ...base, name: names.join(", ") || node.getText().slice(0, 40), kind: "constant" }
}

/** The members of a type. A record counts as a union of one, so that it may grow into one of two. */
function readUnion(type: ts.TypeNode, lineAt: (position: number) => number): Member[] {
  const types = ts.isUnionTypeNode(type) ? [...type.types] : [type]
  return types.map((member) => {
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
  const tokens: string[] = []
  const visit = (inner: ts.Node): void => {
    const children = inner
      .getChildren()
      .filter((child) => child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode)
    for (const child of children) visit(child)
    const word = children.length > 0 ? "" : inner.getText()
    if (word === "" || word === ";") return
    if (/^[)\]}]$/.test(word) && tokens.at(-1) === ",") tokens.pop()
    tokens.push(ts.isStringLiteral(inner) ? JSON.stringify(inner.text) : word)
  }
  visit(node)
  return tokens.join(" ").replaceAll("= | ", "= ")
}
