/** What would make a name mean something else while the program runs: something is put in its place, or into what all code shares. */

import { coreOf, findUses, type Use } from "../chapter/scopes.ts"
import type { Declaration, Surface } from "../chapter/surface.ts"
import { isAccess, memberOf, nameText, plain, rootOf, type Write, writesOf } from "../chapter/syntax.ts"
import { same, type Text } from "../course/language.ts"
import ts from "../course/typescript.js"
import { GLOBALS, HIDING, isShared, LANGUAGE } from "./language.ts"
import { spotAt, type Violation } from "./rule.ts"

/** What to do about a class or an object that is handed on whole. */
export const BY_NAME: Text = {
  en: "Use it by its name where it is needed, as in `Math.max(a, b)`: whoever has all of it could change it for all code.",
  zh: "在需要的地方按名字用，例如 `Math.max(a, b)`：谁拿到整个它，谁就能替所有代码改掉它。",
}

/** Makers of plain values that stand for a function: `list.map(String)`. */
const CALLBACKS = /^(String|Number|Boolean|BigInt|Symbol)$/

/**
 * The member that is taken out of a name; empty where it is used in another plain way: called, made, extended, compared, as a type. Undefined where
 * all of it is handed on, or where the text does not say which member it is.
 */
export function memberTaken(name: ts.Identifier): string | undefined {
  let node: ts.Node = name
  while (isPassedThrough(node)) node = node.parent
  const { parent } = node
  if (isAccess(parent) && parent.expression === node) return memberOf(parent)
  return isPlainUse(node, parent) || isCallback(name, parent) ? "" : undefined
}

/** Whether what is around a node has the same value, now or in one of its cases. */
function isPassedThrough(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isQualifiedName(parent)) return true
  if (ts.isConditionalExpression(parent)) return parent.condition !== node
  return ts.isExpression(parent) && plain(parent) !== parent
}

function isPlainUse(node: ts.Node, parent: ts.Node): boolean {
  if (ts.isTypeNode(parent) || ts.isTypeElement(parent) || ts.isExportSpecifier(parent)) return true
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return parent.expression === node
  if (ts.isTaggedTemplateExpression(parent)) return parent.tag === node
  if (ts.isTypeOfExpression(parent) || ts.isExpressionStatement(parent)) return true
  return ts.isBinaryExpression(parent) && /^([!=]==?|instanceof|in)$/.test(parent.operatorToken.getText())
}

/** Whether a name is given to a method that calls it, or to zod, which asks for instances of it. */
function isCallback({ text }: ts.Identifier, call: ts.Node): boolean {
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return false
  const method = call.expression.name.text
  return method === "instanceof" || (CALLBACKS.test(text) && /^(map|flatMap|filter|find|some|every|then)$/.test(method))
}

/** What a chapter replaces: of the language, in its demo; of its own core, wherever it does so. */
export function findReplaced(surface: Surface): Violation[] {
  const uses = new Map<ts.Node, Use>(findUses(surface).map((use) => [use.node, use]))
  const violations: Violation[] = []
  const say = (node: ts.Node, symbol: string, message: Text, fix?: Text): void =>
    void violations.push({ symbol, message, next: spotAt(surface, node), ...(fix && { fix }) })
  for (const use of uses.values()) {
    const { node, symbol } = use
    const own = ownOf(surface, use)
    const isFree = use.declarations.length === 0
    const [about, where] = [symbol ?? node.text, symbol === undefined ? DEMO : same(symbol)]
    if (symbol === undefined && isFree && HIDING.has(node.text))
      say(node, node.text, {
        en: `the demo runs a text by ${node.text}, which no rule can read`,
        zh: `演示用 ${node.text} 运行一段文本，没有规则读得懂`,
      })
    const isWhole =
      own?.kind === "class" || (symbol === undefined && isFree && (isShared(node.text) || GLOBALS.has(node.text)))
    if (isWhole && memberTaken(node) === undefined) {
      const message = { en: `${where.en} hands on all of ${node.text}`, zh: `${where.zh} 把整个 ${node.text} 交了出去` }
      say(node, about, message, BY_NAME)
    }
  }
  const methods = methodsOf(surface)
  const visit = (node: ts.Node, symbol: string | undefined): void => {
    for (const write of writesOf(node)) {
      const message = whatIsReplaced(surface, write, uses, symbol, methods)
      if (message !== undefined) {
        const who = symbol === undefined ? DEMO : same(symbol)
        const whole = { en: `${who.en} ${message.en}`, zh: `${who.zh} ${message.zh}` }
        say(node, symbol ?? rootOf(write.object).getText(), whole)
      }
    }
    if (symbol === undefined && leadsToPrototype(node))
      say(node, "prototype", {
        en: "the demo reaches for a prototype, which all code shares",
        zh: "演示去拿原型（prototype），那是所有代码共用的",
      })
    ts.forEachChild(node, (child) => visit(child, symbol))
  }
  for (const { name, nodes } of surface.core) for (const node of nodes) visit(node, name)
  for (const node of surface.demo) visit(node, undefined)
  return violations
}

function ownOf(surface: Surface, { declarations }: Use): Declaration | undefined {
  const [declaration] = declarations
  return declaration && coreOf(surface, declaration)
}

const DEMO: Text = { en: "the demo", zh: "演示" }
const UNNAMED: Text = {
  en: "writes to a member of its own that the text does not name",
  zh: "往自己的某个成员里写，文本里看不出是哪一个",
}

function changesForAll(name: string): Text {
  return { en: `changes ${name} for all code`, zh: `替所有代码改了 ${name}` }
}

/** What a write puts something else in the place of, if it is not the writer's own. */
function whatIsReplaced(
  surface: Surface,
  { object, isName, member }: Write,
  uses: ReadonlyMap<ts.Node, Use>,
  symbol: string | undefined,
  methods: ReadonlySet<string>,
): Text | undefined {
  const root = rootOf(object)
  const use = uses.get(root)
  const own = use && ownOf(surface, use)
  if (use !== undefined && own !== undefined) {
    const writer = surface.core.find(({ name }) => name === symbol)
    const isItsOwn = own.kind === "constant" && writer?.section === own.section
    return isItsOwn ? undefined : changesForAll(own.name)
  }
  if (use !== undefined && use.declarations.length === 0) {
    const isGlobal = LANGUAGE.has(use.node.text) || GLOBALS.has(use.node.text)
    return symbol === undefined && isGlobal ? changesForAll(use.node.text) : undefined
  }
  if (use?.declarations.some((declaration) => ts.findAncestor(declaration, ts.isImportDeclaration))) {
    const isShared = findUses(surface).some((other) => other.symbol && other.declarations[0] === use.declarations[0])
    return isShared
      ? { en: `changes ${use.node.text}, which the core uses`, zh: `改了核心要用的 ${use.node.text}` }
      : undefined
  }
  if (symbol === undefined || isName) return undefined
  return whichMethod(object, member, methods)
}

/** The method that a write to a member replaces, as far as names tell. A class may write to a field of its own. */
function whichMethod(
  object: ts.Expression,
  member: string | undefined,
  methods: ReadonlySet<string>,
): Text | undefined {
  const isThis = plain(object).kind === ts.SyntaxKind.ThisKeyword
  if (member === undefined) return isThis ? UNNAMED : undefined
  const around = ts.findAncestor(object, ts.isClassLike)
  const field = around?.members.find(({ name }) => nameText(name) === member)
  if (isThis && field !== undefined && ts.isPropertyDeclaration(field)) return undefined
  return methods.has(member)
    ? { en: `puts something in the place of the method ${member}`, zh: `用别的东西换掉了方法 ${member}` }
    : undefined
}

/** The names of all methods and accessors that classes and types of the core have. */
function methodsOf({ core }: Surface): Set<string> {
  const members = core.flatMap((declaration) => declaration.members.flatMap((member) => [member, ...member.fields]))
  const isMethod = (node: ts.Node): boolean =>
    ts.isMethodDeclaration(node) || ts.isMethodSignature(node) || ts.isGetAccessor(node)
  return new Set(
    members
      .filter(({ node }) => isMethod(node))
      .flatMap(({ node }) => nameText((node as ts.MethodDeclaration).name) ?? []),
  )
}

/** Whether a node is a prototype that others share, or asks for one. */
function leadsToPrototype(node: ts.Node): boolean {
  if (ts.isBindingElement(node)) return nameText(node.propertyName ?? node.name) === "prototype"
  return isAccess(node) && /^(prototype|__proto__|getPrototypeOf)$/.test(memberOf(node) ?? "")
}
