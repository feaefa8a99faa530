/** Gains that would change what was there before them. */

import { findGains, type Gain, isRequired } from "../chapter/compare.ts"
import type { Declaration, Member, Surface } from "../chapter/surface.ts"
import { nameText, type Write, writesOf } from "../chapter/syntax.ts"
import type { Text } from "../course/language.ts"
import ts from "../course/typescript.js"
import { formsOf, type Types, taggedWords, whyNoFormOfItsOwn } from "./forms.ts"
import type { Step, Violation } from "./rule.ts"

/** What of the gains of types, or of classes, changes what they had. */
export function findRetypingGains(step: Step, kind: "type" | "class"): Violation[] {
  const { old, next } = step
  if (old === undefined) return []
  const gains = findGains(old, next).filter(({ text }) => !step.chapter.upgrades.some((upgrade) => upgrade.to === text))
  const oldNames = (name: string): string[] =>
    old.core.find((declaration) => declaration.name === name)?.members.map(keyOf) ?? []
  const types = typesOf(next)
  const found = gains
    .filter(({ declaration }) => (declaration.kind === "class") === (kind === "class"))
    .flatMap((gain): Violation[] => {
      const reason = whyRetyping(gain, oldNames(gain.name), types)
      if (reason === undefined) return []
      const message = {
        en: `\`${gain.text}\`, new in ${gain.name}, changes what was there: ${reason.en}`,
        zh: `${gain.name} 多出的 \`${gain.text}\` 动了原有的东西：${reason.zh}`,
      }
      return [{ symbol: gain.name, message, next: gain.spot }]
    })
  if (kind === "class") return found
  const known = new Set(found.map(({ symbol }) => symbol))
  return [...found, ...findIndirect(old, next).filter(({ symbol }) => !known.has(symbol))]
}

function typesOf({ core }: Surface): Types {
  return new Map(core.map((declaration) => [declaration.name, declaration]))
}

function whyRetyping({ member, beside }: Gain, olds: readonly string[], types: Types): Text | undefined {
  const { node } = member
  if (ts.isTypeNode(node)) return whyUnion(node, beside, types)
  if (ts.isClassStaticBlockDeclaration(node))
    return { en: "a static block runs when the program is loaded", zh: "静态块在程序加载时就会运行" }
  if (ts.isIndexSignatureDeclaration(node))
    return { en: "an index signature holds for every field", zh: "索引签名管住了所有字段" }
  if (ts.isCallSignatureDeclaration(node) || ts.isConstructSignatureDeclaration(node))
    return { en: "it makes a function of a record", zh: "它让记录变成了函数" }
  const namesakes = beside.filter((other) => other !== member && keyOf(other) === keyOf(member))
  const isBehind = namesakes.every((other) => beside.indexOf(other) < beside.indexOf(member))
  const isPair = namesakes.every((other) => isAccessorPair(node, other.node))
  const isOverload = [member, ...namesakes].every((one) => ts.isMethodSignature(one.node))
  // The overloads of a new method and its body belong together.
  const isNew = ts.isMethodDeclaration(node) && node.body === undefined && !olds.includes(keyOf(member))
  if (namesakes.length > 0 && !isPair && !isNew && !(isOverload && isBehind))
    return isOverload
      ? { en: "an overload in front of the old ones", zh: "新的重载放在了旧的前面" }
      : { en: `a second ${keyOf(member)}`, zh: `第二个 ${keyOf(member)}` }
  if (ts.isConstructorDeclaration(node) || ts.isPropertyDeclaration(node)) return whyMadeOtherwise(node, olds)
  const isJoined = ts.isTypeLiteralNode(node.parent) && ts.isIntersectionTypeNode(node.parent.parent)
  const fields = beside.filter((other) => other !== member && other.node.parent === node.parent)
  return isJoined && fields.length === 0
    ? { en: "it joins another record to the old one", zh: "它给原来的记录并上了另一个记录" }
    : undefined
}

/** Why objects of a class are not made as before, for a new constructor or a new field. */
function whyMadeOtherwise(
  node: ts.ConstructorDeclaration | ts.PropertyDeclaration,
  names: readonly string[],
): Text | undefined {
  if (ts.isConstructorDeclaration(node) && node.parameters.some(isRequired))
    return { en: "it cannot be made without arguments any more", zh: "不给参数就造不出来了" }
  const writes: Write[] = []
  const visit = (inner: ts.Node): void => {
    writes.push(...writesOf(inner))
    ts.forEachChild(inner, visit)
  }
  visit(node)
  const changed = writes.find(({ isName, member }) => !isName && (member === undefined || names.includes(member)))
  if (changed === undefined) return undefined
  const { member } = changed
  return {
    en: `it is made with another ${member ?? "member, which the text does not name,"} than before`,
    zh: `造出来的对象，${member ?? "某个看不出名字的成员"} 和以前不一样了`,
  }
}

/** What types gain by the growth of others: a field that two of their parts have, a tag that two of their members have. */
function findIndirect(old: Surface, next: Surface): Violation[] {
  const [before, after] = [typesOf(old), typesOf(next)]
  return [...before].flatMap(([name, was]): Violation[] => {
    const is = after.get(name)
    if (is === undefined || was.kind !== is.kind) return []
    const known = clashesOf(was, before)
    const spot = { file: next.file, line: is.line, end: is.end }
    return clashesOf(is, after)
      .filter((clash) => !known.some(({ kind, name: other }) => kind === clash.kind && other === clash.name))
      .map((clash) => {
        const { en, zh } = CLASHES[clash.kind](clash.name)
        const message = { en: `${name} does not mean what it did: ${en}`, zh: `${name} 的意思和原来不一样了：${zh}` }
        return { symbol: name, message, next: spot }
      })
  })
}

/** Something that stands in a type twice. */
type Clash = { kind: "field" | "tag"; name: string }

const CLASHES: Readonly<Record<Clash["kind"], (name: string) => Text>> = {
  field: (name) => ({
    en: `two of the types that it is made of have a field ${name}`,
    zh: `拼成它的类型里，有两个都有字段 ${name}`,
  }),
  tag: (name) => ({ en: `two of its members have ${name}`, zh: `有两个成员都是 ${name}` }),
}

/** What stands in a type twice, by its name and by the types of the core that it names. */
function clashesOf({ node }: Declaration, types: Types): Clash[] {
  const parts = partsOf(node).map((part) => [
    ...new Set(formsOf(part, types).flatMap(({ fields }) => [...fields.keys()])),
  ])
  if (ts.isInterfaceDeclaration(node))
    parts.push([...new Set(node.members.flatMap((member) => nameText(member.name) ?? []))])
  const twice = (list: readonly string[]): string[] => [
    ...new Set(list.filter((one, index) => list.indexOf(one) < index)),
  ]
  const fields = twice(parts.flat()).map((name): Clash => ({ kind: "field", name }))
  const isUnion = ts.isTypeAliasDeclaration(node) && ts.isUnionTypeNode(node.type)
  const tags = isUnion ? twice(taggedWords(formsOf(node.type, types), types)) : []
  return [...fields, ...tags.map((name): Clash => ({ kind: "tag", name }))]
}

/** A new member of a union, or a new part of an intersection. */
function whyUnion(node: ts.TypeNode, beside: readonly Member[], types: Types): Text | undefined {
  const others = beside.map((other) => other.node).filter((other) => other !== node)
  if (ts.isIntersectionTypeNode(node.parent) && others.some(({ parent }) => parent === node.parent))
    return { en: "it joins another type to the old one", zh: "它给原来的类型并上了另一个类型" }
  const olds = others.filter(ts.isTypeNode).flatMap((type) => formsOf(type, types))
  return whyNoFormOfItsOwn(formsOf(node, types), olds, types)
}

/** The types that a type is joined of, or extends. */
function partsOf(node: ts.Node): readonly ts.TypeNode[] {
  if (ts.isTypeAliasDeclaration(node)) return ts.isIntersectionTypeNode(node.type) ? node.type.types : []
  if (!ts.isInterfaceDeclaration(node)) return []
  return (node.heritageClauses ?? []).flatMap(({ types }) => [...types])
}

/** A member's name without its quotes, and whether it belongs to the class itself. */
function keyOf({ name, node }: Member): string {
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  const isStatic = modifiers.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
  return `${isStatic ? "static " : ""}${nameText((node as ts.NamedDeclaration).name) ?? name}`
}

function isAccessor(node: ts.Node): boolean {
  return ts.isGetAccessor(node) || ts.isSetAccessor(node)
}

function isAccessorPair(one: ts.Node, other: ts.Node): boolean {
  return isAccessor(one) && isAccessor(other) && one.kind !== other.kind
}
