/** Gains that would change what was there before them. */
import ts from "typescript"
import { findGains, type Gain, isRequired } from "../chapter/compare.ts"
import type { Member } from "../chapter/surface.ts"
import type { Step, Violation } from "./rule.ts"

/** What of the gains of types, or of classes, changes what they had. */
export function findRetypingGains(step: Step, kind: "type" | "class"): Violation[] {
  const { old, next } = step
  if (old === undefined) return []
  return findGains(old, next)
    .filter(({ declaration }) => (declaration.kind === "class") === (kind === "class"))
    .filter(({ text }) => !step.chapter.upgrades.some((upgrade) => upgrade.to === text))
    .flatMap((gain) => {
      const reason = whyRetyping(gain)
      const message = `the gain \`${gain.text}\` of ${gain.name} changes what was there: ${reason}`
      return reason === undefined ? [] : [{ symbol: gain.name, message, next: gain.spot }]
    })
}

function whyRetyping({ member, beside }: Gain): string | undefined {
  const { node } = member
  if (ts.isTypeNode(node)) return whyUnion(member, beside)
  if (ts.isClassStaticBlockDeclaration(node)) return "a static block runs when the program is loaded"
  if (ts.isIndexSignatureDeclaration(node)) return "an index signature holds for every field"
  if (ts.isCallSignatureDeclaration(node) || ts.isConstructSignatureDeclaration(node))
    return "it makes a function of a record"
  const namesakes = beside.filter((other) => other !== member && keyOf(other) === keyOf(member))
  const isBehind = namesakes.every((other) => beside.indexOf(other) < beside.indexOf(member))
  const isPair = namesakes.every((other) => isAccessorPair(node, other.node))
  const isOverload = [member, ...namesakes].every((one) => ts.isMethodSignature(one.node))
  if (namesakes.length > 0 && !isPair && !(isOverload && isBehind))
    return isOverload ? "an overload in front of the old ones" : `a second ${keyOf(member)}`
  if (ts.isConstructorDeclaration(node) && namesakes.length === 0 && node.parameters.some(isRequired))
    return "it cannot be made without arguments any more"
  const isJoined = ts.isTypeLiteralNode(node.parent) && ts.isIntersectionTypeNode(node.parent.parent)
  const fields = beside.filter((other) => other !== member && other.node.parent === node.parent)
  return isJoined && fields.length === 0 ? "it joins another record to the old one" : undefined
}

/** A new member of a union, or a new part of an intersection. */
function whyUnion(member: Member, beside: readonly Member[]): string | undefined {
  const { node } = member
  if (
    ts.isIntersectionTypeNode(node.parent) &&
    beside.some((other) => other.node.parent === node.parent && other !== member)
  )
    return "it joins another type to the old one"
  const others = beside.filter((other) => other !== member)
  const tag = tagOf(member)
  if (tag !== undefined && others.some((other) => tagOf(other) !== undefined && other.name === member.name))
    return `a second member with ${member.name}`
  const hasLiterals = others.some((other) => ts.isLiteralTypeNode(other.node))
  const takesIn = node.kind === ts.SyntaxKind.UnknownKeyword || (hasLiterals && isWide(node))
  const takesTags =
    tag !== undefined && !isLiteralTag(tag) && others.map(tagOf).some((other) => other && isLiteralTag(other))
  return takesIn || takesTags ? "it takes in the other members" : undefined
}

/** Whether a type holds texts or numbers without saying which. */
function isWide(node: ts.Node): boolean {
  if (ts.isIntersectionTypeNode(node)) return node.types.some(isWide)
  return (
    node.kind === ts.SyntaxKind.StringKeyword ||
    node.kind === ts.SyntaxKind.NumberKeyword ||
    ts.isTemplateLiteralTypeNode(node)
  )
}

/** The field by which members of a union are told apart. */
function tagOf({ fields }: Member): Member | undefined {
  return fields.find(({ name }) => name === "type" || name === "role")
}

function isLiteralTag({ node }: Member): boolean {
  return ts.isPropertySignature(node) && node.type !== undefined && ts.isLiteralTypeNode(node.type)
}

/** A member's name without its quotes, and whether it belongs to the class itself. */
function keyOf({ name, node }: Member): string {
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  const isStatic = modifiers.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
  return `${isStatic ? "static " : ""}${name.replaceAll(/^\[?["']|["']\]?$/g, "")}`
}

function isAccessor(node: ts.Node): boolean {
  return ts.isGetAccessor(node) || ts.isSetAccessor(node)
}

function isAccessorPair(one: ts.Node, other: ts.Node): boolean {
  return isAccessor(one) && isAccessor(other) && one.kind !== other.kind
}
