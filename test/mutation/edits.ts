/**
 * Every small edit that the operators make in a chapter's core. An edit is found again by the declaration that it is in and by what it does, not
 * by its line: lines move whenever an earlier chapter grows.
 */
import ts from "../../scripts/course/typescript.js"

/** One edit: `text` takes the place of the characters from `start` to `end`. */
export type Edit = {
  /** The declaration, and the member where it is a class: `SessionTree.append`. */
  place: string
  line: number
  operator: string
  start: number
  end: number
  text: string
  /** The name of the edit in the file of equivalents and in reports: `place | operator: from -> to`. */
  key: string
}

/** What an operator finds at a node. */
type Found = { operator: string; node?: ts.Node; start?: number; end?: number; text: string }

/** Calls whose receiver takes their place: each of them copies, protects, cleans or limits something. */
const REMOVED = new Set(
  "toWellFormed trim bind reverse slice filter finally catch max regex superRefine padStart map replace replaceAll".split(
    " ",
  ),
)

/** Names that take the place of others. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["some", "every"],
  ["every", "some"],
  ["startsWith", "endsWith"],
  ["strictObject", "object"],
  ["push", "unshift"],
])

const SWAPPED: ReadonlyMap<ts.SyntaxKind, readonly string[]> = new Map([
  [ts.SyntaxKind.EqualsEqualsEqualsToken, ["!=="]],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, ["==="]],
  [ts.SyntaxKind.AmpersandAmpersandToken, ["||"]],
  [ts.SyntaxKind.BarBarToken, ["&&"]],
  [ts.SyntaxKind.LessThanToken, ["<=", ">"]],
  [ts.SyntaxKind.LessThanEqualsToken, ["<", ">"]],
  [ts.SyntaxKind.GreaterThanToken, [">=", "<"]],
  [ts.SyntaxKind.GreaterThanEqualsToken, [">", "<"]],
  [ts.SyntaxKind.PlusToken, ["-"]],
  [ts.SyntaxKind.MinusToken, ["+"]],
  [ts.SyntaxKind.PlusEqualsToken, ["="]],
])

/** Whether a text is a sentence for people. How it is worded is no promise, so nobody edits it. */
function isWording(text: string): boolean {
  return /[a-z] /i.test(text) && text !== "error: "
}

function* operators(node: ts.Node): Generator<Found> {
  const text = (part: ts.Node): string => part.getText()
  if (ts.isIfStatement(node)) {
    for (const value of ["true", "false"]) yield { operator: "condition", node: node.expression, text: value }
    if (node.elseStatement !== undefined)
      yield { operator: "no else", start: node.thenStatement.end, end: node.end, text: "" }
  }
  if (ts.isConditionalExpression(node)) {
    yield { operator: "choice", node, text: `(${text(node.whenTrue)})` }
    yield { operator: "choice", node, text: `(${text(node.whenFalse)})` }
  }
  if (ts.isForStatement(node) && node.condition !== undefined) {
    yield { operator: "condition", node: node.condition, text: "false" }
    yield { operator: "condition", node: node.condition, text: "true" }
  }
  if (
    ts.isExpressionStatement(node) ||
    ts.isThrowStatement(node) ||
    ts.isReturnStatement(node) ||
    ts.isContinueStatement(node)
  )
    yield { operator: "statement", node, text: ";" }
  if (ts.isForOfStatement(node)) yield { operator: "statement", node, text: ";" }
  if (ts.isBinaryExpression(node)) {
    const { operatorToken, left, right } = node
    for (const other of SWAPPED.get(operatorToken.kind) ?? [])
      yield { operator: "operator", node, text: `${text(left)} ${other} ${text(right)}` }
    if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) {
      yield { operator: "no fallback", node, text: text(left) }
      yield { operator: "fallback only", node, text: text(right) }
    }
    if ([ts.SyntaxKind.AmpersandAmpersandToken, ts.SyntaxKind.BarBarToken].includes(operatorToken.kind)) {
      yield { operator: "one side", node, text: text(left) }
      yield { operator: "one side", node, text: text(right) }
    }
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    yield { operator: "no negation", node, text: text(node.operand) }
  if (ts.isPostfixUnaryExpression(node))
    yield { operator: "operator", node, text: `${text(node.operand)}${text(node).endsWith("++") ? "--" : "++"}` }
  if (ts.isAwaitExpression(node)) yield { operator: "no await", node, text: text(node.expression) }
  if (ts.isCallExpression(node)) yield* callOperators(node)
  if (ts.isPropertyAccessExpression(node) && node.questionDotToken !== undefined)
    yield { operator: "no ?.", node: node.questionDotToken, text: "." }
  if (ts.isCallExpression(node) && node.questionDotToken !== undefined)
    yield { operator: "no ?.", node: node.questionDotToken, text: "" }
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 0) {
    yield { operator: "empty", node, text: "[]" }
    const [only] = node.elements
    if (node.elements.length === 1 && only !== undefined && ts.isSpreadElement(only))
      yield { operator: "no copy", node, text: text(only.expression) }
    else for (const element of node.elements) yield { operator: "element", node: element, text: "...[]" }
  }
  if (ts.isObjectLiteralExpression(node)) {
    const [only] = node.properties
    if (node.properties.length === 1 && only !== undefined && ts.isSpreadAssignment(only))
      yield { operator: "no copy", node, text: text(only.expression) }
    else for (const property of node.properties) yield { operator: "field", node: property, text: "...{}" }
  }
  if (ts.isObjectBindingPattern(node) && node.elements.some((element) => element.dotDotDotToken !== undefined)) {
    for (const element of node.elements)
      if (element.dotDotDotToken === undefined)
        yield { operator: "field", node: element, text: `unused: ${text(element)}` }
  }
  if ((ts.isParameter(node) || ts.isBindingElement(node)) && node.initializer !== undefined)
    yield { operator: "no default", start: node.initializer.getFullStart() - 1, end: node.end, text: "" }
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body))
    yield { operator: "empty", node: node.body, text: "(undefined as never)" }
  if (
    ts.isBlock(node) &&
    node.statements.length > 0 &&
    !ts.isTryStatement(node.parent) &&
    !ts.isIfStatement(node.parent)
  )
    yield { operator: "empty", node, text: "{}" }
  if (ts.isTryStatement(node)) {
    if (node.catchClause !== undefined) {
      if (node.catchClause.block.statements.length > 0)
        yield { operator: "empty", node: node.catchClause.block, text: "{}" }
      yield { operator: "rethrow", node: node.catchClause, text: "catch (thrown) { throw thrown }" }
    }
    if (node.finallyBlock !== undefined) yield { operator: "empty", node: node.finallyBlock, text: "{}" }
  }
  if (node.kind === ts.SyntaxKind.TrueKeyword) yield { operator: "value", node, text: "false" }
  if (node.kind === ts.SyntaxKind.FalseKeyword) yield { operator: "value", node, text: "true" }
  if (ts.isNumericLiteral(node)) {
    const value = Number(node.text.replaceAll("_", ""))
    yield { operator: "value", node, text: String(value + 1) }
    yield { operator: "value", node, text: `(${value - 1})` }
  }
  if (ts.isStringLiteral(node) && node.text !== "" && !isWording(node.text))
    yield { operator: "value", node, text: '""' }
  if (ts.isStringLiteral(node) && node.text === "") yield { operator: "value", node, text: '"?"' }
  if (
    ts.isTemplateExpression(node) &&
    !isWording(node.head.text + node.templateSpans.map((s) => s.literal.text).join(""))
  )
    yield { operator: "value", node, text: '""' }
  if (ts.isRegularExpressionLiteral(node)) yield* regexOperators(node)
}

function* callOperators(node: ts.CallExpression): Generator<Found> {
  const { expression, arguments: args } = node
  const called = expression.getText()
  const [first, second, ...rest] = args
  if (called === "Object.freeze" && first !== undefined) yield { operator: "not frozen", node, text: first.getText() }
  if (first !== undefined && second !== undefined && !ts.isStringLiteral(second) && !ts.isTemplateExpression(second)) {
    const swapped = [second, first, ...rest].map((arg) => arg.getText()).join(", ")
    yield { operator: "swapped", node, text: `${called}(${swapped})` }
  }
  if (!ts.isPropertyAccessExpression(expression)) return
  const name = expression.name.text
  if (REMOVED.has(name)) yield { operator: "no call", node, text: expression.expression.getText() }
  const other = RENAMED.get(name)
  if (other !== undefined) yield { operator: "renamed", node: expression.name, text: other }
}

function* regexOperators(node: ts.RegularExpressionLiteral): Generator<Found> {
  const text = node.getText()
  const end = text.lastIndexOf("/")
  const source = text.slice(1, end)
  const flags = text.slice(end + 1)
  const other = (pattern: string, kept = flags): Found => ({ operator: "pattern", node, text: `/${pattern}/${kept}` })
  for (const flag of flags) yield other(source, flags.replace(flag, ""))
  for (const match of source.matchAll(/(?<!\[|\\)\^|(?<!\\)\$|(?<=\)|\]|\\s|\})[+*]\??|(?<=n|r)\?|\(\?![^)]*\)/g))
    yield other(source.slice(0, match.index) + source.slice(match.index + match[0].length))
  for (const match of source.matchAll(/\[(\^?)([^\]]+)\]/g)) {
    const parts = match[2]?.match(/\\[pPxu]\{?\w+\}?-?(?:\\u\w{4})?|\\.|\w-\w|./g) ?? []
    for (const part of parts.length > 1 ? parts : []) {
      const at = match.index + source.slice(match.index).indexOf(part, 1)
      yield other(source.slice(0, at) + source.slice(at + part.length))
    }
  }
  const choices = source.split("|")
  if (choices.length > 1 && !/[([]/.test(source.replaceAll(/\[[^\]]*\]|\\./g, "")))
    for (const choice of choices) yield other(choices.filter((kept) => kept !== choice).join("|"))
}

/** Whether nothing runs here: types vanish when the program starts. */
function isType(node: ts.Node): boolean {
  return ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)
}

function placeOf(node: ts.Node): string {
  const names: string[] = []
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) {
    const named = ts.isClassElement(at) || ts.isFunctionDeclaration(at) || ts.isClassDeclaration(at)
    const top = ts.isVariableDeclaration(at) && ts.isSourceFile(at.parent.parent.parent)
    if (named || top) names.unshift((at as ts.NamedDeclaration).name?.getText() ?? "constructor")
  }
  return names.join(".")
}

/** All edits of a core, in the order of their places. Edits that give the same text are one. */
export function editsOf(core: string): Edit[] {
  const source = ts.createSourceFile("core.ts", core, ts.ScriptTarget.Latest, true)
  const edits: Edit[] = []
  const texts = new Set([core])
  const short = (text: string): string => text.replaceAll(/\s+/g, " ")
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || isType(node)) return
    for (const { operator, node: edited, text, ...range } of operators(node)) {
      const start = range.start ?? edited?.getStart() ?? 0
      const end = range.end ?? edited?.end ?? 0
      const result = core.slice(0, start) + text + core.slice(end)
      if (texts.has(result)) continue
      texts.add(result)
      const place = placeOf(node)
      const line = source.getLineAndCharacterOfPosition(start).line + 1
      // A short edit is known by what it stands in.
      const around = range.start === undefined ? node.parent : node
      const where = end - start < 12 ? ` in ${short(around.getText()).slice(0, 100)}` : ""
      const name = `${place} | ${operator}: ${short(core.slice(start, end))} -> ${short(text)}${where}`
      const twins = edits.filter(({ key }) => key.replace(/ #\d+$/, "") === name).length
      edits.push({ place, line, operator, start, end, text, key: twins === 0 ? name : `${name} #${twins + 1}` })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return edits
}

/** The core with one edit. Each loop counts its rounds, so that one without an end ends all the same. */
export function editedCore(core: string, { start, end, text }: Pick<Edit, "start" | "end" | "text">): string {
  const edited = core.slice(0, start) + text + core.slice(end)
  const source = ts.createSourceFile("core.ts", edited, ts.ScriptTarget.Latest, true)
  const inserted: [number, string][] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIterationStatement(node, false))
      inserted.push([node.statement.getStart(), "{ globalThis.countRound();"], [node.statement.end, "\n}"])
    ts.forEachChild(node, visit)
  }
  visit(source)
  return inserted
    .sort(([a], [b]) => b - a)
    .reduce((sofar, [at, piece]) => sofar.slice(0, at) + piece + sofar.slice(at), edited)
}
