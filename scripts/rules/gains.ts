/** Gains that would change what was there before them. */

import { findGains, type Gain, isRequired } from "../chapter/compare.ts"
import type { Declaration, Member, Surface } from "../chapter/surface.ts"
import { nameText, type Write, writesOf } from "../chapter/syntax.ts"
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
      const message = `the gain \`${gain.text}\` of ${gain.name} changes what was there: ${reason}`
      return reason === undefined ? [] : [{ symbol: gain.name, message, next: gain.spot }]
    })
  if (kind === "class") return found
  const known = new Set(found.map(({ symbol }) => symbol))
  return [...found, ...findIndirect(old, next).filter(({ symbol }) => !known.has(symbol))]
}

function typesOf({ core }: Surface): Types {
  return new Map(core.map((declaration) => [declaration.name, declaration]))
}

function whyRetyping({ member, beside }: Gain, olds: readonly string[], types: Types): string | undefined {
  const { node } = member
  if (ts.isTypeNode(node)) return whyUnion(node, beside, types)
  if (ts.isClassStaticBlockDeclaration(node)) return "a static block runs when the program is loaded"
  if (ts.isIndexSignatureDeclaration(node)) return "an index signature holds for every field"
  if (ts.isCallSignatureDeclaration(node) || ts.isConstructSignatureDeclaration(node))
    return "it makes a function of a record"
  const namesakes = beside.filter((other) => other !== member && keyOf(other) === keyOf(member))
  const isBehind = namesakes.every((other) => beside.indexOf(other) < beside.indexOf(member))
  const isPair = namesakes.every((other) => isAccessorPair(node, other.node))
  const isOverload = [member, ...namesakes].every((one) => ts.isMethodSignature(one.node))
  // The overloads of a new method and its body belong together.
  const isNew = ts.isMethodDeclaration(node) && node.body === undefined && !olds.includes(keyOf(member))
  if (namesakes.length > 0 && !isPair && !isNew && !(isOverload && isBehind))
    return isOverload ? "an overload in front of the old ones" : `a second ${keyOf(member)}`
  if (ts.isConstructorDeclaration(node) || ts.isPropertyDeclaration(node)) return whyMadeOtherwise(node, olds)
  const isJoined = ts.isTypeLiteralNode(node.parent) && ts.isIntersectionTypeNode(node.parent.parent)
  const fields = beside.filter((other) => other !== member && other.node.parent === node.parent)
  return isJoined && fields.length === 0 ? "it joins another record to the old one" : undefined
}

/** Why objects of a class are not made as before, for a new constructor or a new field. */
function whyMadeOtherwise(
  node: ts.ConstructorDeclaration | ts.PropertyDeclaration,
  names: readonly string[],
): string | undefined {
  if (ts.isConstructorDeclaration(node) && node.parameters.some(isRequired))
    return "it cannot be made without arguments any more"
  const writes: Write[] = []
  const visit = (inner: ts.Node): void => {
    writes.push(...writesOf(inner))
    ts.forEachChild(inner, visit)
  }
  visit(node)
  const changed = writes.find(({ isName, member }) => !isName && (member === undefined || names.includes(member)))
  return changed && `it is made with another ${changed.member ?? "member, which the text does not name,"} than before`
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
      .filter((clash) => !known.includes(clash))
      .map((clash) => ({ symbol: name, message: `${name} does not mean what it did: ${clash}`, next: spot }))
  })
}

/** What stands in a type twice, by its name and by the types of the core that it names. */
function clashesOf({ node }: Declaration, types: Types): string[] {
  const parts = partsOf(node).map((part) => [
    ...new Set(formsOf(part, types).flatMap(({ fields }) => [...fields.keys()])),
  ])
  if (ts.isInterfaceDeclaration(node))
    parts.push([...new Set(node.members.flatMap((member) => nameText(member.name) ?? []))])
  const twice = (list: readonly string[]): string[] => [
    ...new Set(list.filter((one, index) => list.indexOf(one) < index)),
  ]
  const fields = twice(parts.flat()).map((field) => `two of the types that it is made of have a field ${field}`)
  const isUnion = ts.isTypeAliasDeclaration(node) && ts.isUnionTypeNode(node.type)
  const tags = isUnion ? twice(taggedWords(formsOf(node.type, types), types)) : []
  return [...fields, ...tags.map((tag) => `two of its members have ${tag}`)]
}

/** A new member of a union, or a new part of an intersection. */
function whyUnion(node: ts.TypeNode, beside: readonly Member[], types: Types): string | undefined {
  const others = beside.map((other) => other.node).filter((other) => other !== node)
  if (ts.isIntersectionTypeNode(node.parent) && others.some(({ parent }) => parent === node.parent))
    return "it joins another type to the old one"
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
