/** What a piece of syntax says, in whatever way it is spelled: texts, names of members, and what is written to. */
import ts from "../course/typescript.js"

/** The text that an expression is, where that can be told without running it: literals, and what puts them together. */
export function foldText(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return node.text
  const inner = ts.isExpression(node) ? plain(node) : node
  if (inner !== node) return foldText(inner)
  if (ts.isTemplateExpression(node))
    return joinTexts([
      node.head.text,
      ...node.templateSpans.flatMap(({ expression, literal }) => [foldText(expression), literal.text]),
    ])
  if (ts.isBinaryExpression(node))
    return node.operatorToken.kind === ts.SyntaxKind.PlusToken
      ? joinTexts([foldText(node.left), foldText(node.right)])
      : undefined
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined
  const { expression: owner, name } = node.expression
  const given = node.arguments.map(foldText)
  if (name.text === "concat") return joinTexts([foldText(owner), ...given])
  if (name.text !== "join" || !ts.isArrayLiteralExpression(owner)) return undefined
  return joinTexts(owner.elements.map(foldText), node.arguments.length === 0 ? "," : given[0])
}

function joinTexts(texts: readonly (string | undefined)[], separator: string | undefined = ""): string | undefined {
  return texts.includes(undefined) ? undefined : texts.join(separator)
}

/** An expression without what changes nothing: parentheses, casts, `!`. */
export function plain(node: ts.Expression): ts.Expression {
  const isWrapped =
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isTypeAssertionExpression(node) ||
    ts.isNonNullExpression(node)
  return isWrapped ? plain(node.expression) : node
}

/** The name of a member, however it is written: plain, in quotes, or in brackets. Nothing where the text does not say it. */
export function nameText(name: ts.Node | undefined): string | undefined {
  if (name === undefined) return undefined
  if (ts.isComputedPropertyName(name)) return foldText(name.expression)
  return ts.isIdentifier(name) || ts.isPrivateIdentifier(name) ? name.text : foldText(name)
}

/** The member that an expression takes out of another: behind a dot, or in brackets. */
export function memberOf(node: ts.PropertyAccessExpression | ts.ElementAccessExpression): string | undefined {
  return ts.isPropertyAccessExpression(node) ? node.name.text : foldText(node.argumentExpression)
}

/** Whether an expression takes a member out of another. */
export function isAccess(node: ts.Node): node is ts.PropertyAccessExpression | ts.ElementAccessExpression {
  return ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)
}

/** Something that gets another value: a member of an object, or a name, which has no member. */
export type Write = {
  object: ts.Expression
  isName: boolean
  /** Which member; undefined where the text does not say it. */
  member: string | undefined
}

/** What a node writes to: by an assignment, `++`, `delete`, the head of a loop, or a function that is there for it. */
export function writesOf(node: ts.Node): Write[] {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken
    const isAssignment = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
    return isAssignment ? targetsIn(node.left) : []
  }
  if (ts.isDeleteExpression(node)) return targetsIn(node.expression)
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const isStep = node.operator === ts.SyntaxKind.PlusPlusToken || node.operator === ts.SyntaxKind.MinusMinusToken
    return isStep ? targetsIn(node.operand) : []
  }
  if ((ts.isForOfStatement(node) || ts.isForInStatement(node)) && ts.isExpression(node.initializer))
    return targetsIn(node.initializer)
  return ts.isCallExpression(node) ? writesOfCall(node) : []
}

/** The targets of an assignment; a pattern has several. */
function targetsIn(given: ts.Expression): Write[] {
  const node = plain(given)
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(targetsIn)
  if (ts.isSpreadElement(node)) return targetsIn(node.expression)
  if (ts.isBinaryExpression(node)) return targetsIn(node.left)
  if (ts.isObjectLiteralExpression(node))
    return node.properties.flatMap((property): Write[] => {
      if (ts.isPropertyAssignment(property)) return targetsIn(property.initializer)
      if (ts.isSpreadAssignment(property)) return targetsIn(property.expression)
      return ts.isShorthandPropertyAssignment(property) ? targetsIn(property.name) : []
    })
  if (isAccess(node)) return [{ object: node.expression, isName: false, member: memberOf(node) }]
  return [{ object: node, isName: true, member: undefined }]
}

/** What the functions of `Object` and `Reflect` that write put onto their first argument. */
function writesOfCall({ expression, arguments: [object, second, ...others] }: ts.CallExpression): Write[] {
  const callee = plain(expression)
  if (!isAccess(callee) || object === undefined) return []
  const owner = plain(callee.expression)
  if (!ts.isIdentifier(owner) || !/^(Object|Reflect)$/.test(owner.text)) return []
  const write = (member: string | undefined): Write => ({ object, isName: false, member })
  const name = memberOf(callee)
  if (name === "setPrototypeOf") return [write(undefined)]
  if (name === "defineProperty" || name === "set" || name === "deleteProperty")
    return [write(second && foldText(second))]
  if (name !== "assign" && name !== "defineProperties") return []
  return [second, ...others].flatMap((source): Write[] => {
    const literal = source && plain(source)
    if (literal === undefined || !ts.isObjectLiteralExpression(literal)) return [write(undefined)]
    return literal.properties.map((property) => write(nameText(property.name)))
  })
}

/** What a chain of members begins with. */
export function rootOf(given: ts.Expression): ts.Expression {
  const node = plain(given)
  return isAccess(node) ? rootOf(node.expression) : node
}

/** A text of code without its comments. */
export function withoutComments(text: string): string {
  const parts = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/.*/g
  return text.replaceAll(parts, (part) => (part.startsWith("/*") ? " " : part.startsWith("//") ? "" : part))
}
