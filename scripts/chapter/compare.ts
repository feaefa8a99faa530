/** What changed from one chapter to another, declaration by declaration. It says what is; whether it may be is for the rules. */
import type { Text } from "../course/language.ts"
import ts from "../course/typescript.js"
import { compareFrames, declarationFrame, type Mismatch, memberFrame } from "./frames.ts"
import { pairMembers } from "./pairs.ts"
import { type Declaration, type Member, type Surface, structureOf, withoutStyle } from "./surface.ts"
import { withoutComments } from "./syntax.ts"

/** A place in a chapter. Lines count from 1. */
export type Spot = {
  file: string
  line: number
  end: number
}

/** What can happen to a declaration, or to a part of it. */
export type ChangeKind =
  | "identical"
  | "added"
  | "grown"
  | "gone"
  | "moved"
  | "kind"
  | "field-gone"
  | "field-changed"
  | "union-member-gone"
  | "class-member-gone"
  | "class-member-changed"
  | "rewritten"
  | "reformatted"

/** One change. */
export type Change = {
  kind: ChangeKind
  /** The name of the declaration. */
  name: string
  /** `name`, or `name.member` where only a part is concerned. */
  symbol: string
  old?: Spot
  next?: Spot
  /** The concerned text, before and after. */
  from?: string
  to?: string
  /** Of a rewritten function or method: what of its signature old calls do not survive, if anything. */
  breaks?: Text
  /** Of a rewritten function: the parameters that it takes besides and cannot do without. */
  requires?: string[]
  /** Of old lines that are not as they were: how they differ. What is not given is style alone. */
  how?: Mismatch["how"]
  /** Whether `old` and `next` point at the very lines that differ. */
  exact?: boolean
}

/** All changes between two chapters, in the order of the old one; what was added comes last. */
export function compareSurfaces(old: Surface, next: Surface): Change[] {
  const moved = findMoved(old, next)
  const changes = old.core.flatMap((declaration): Change[] => {
    const twin = next.core.find((candidate) => candidate.name === declaration.name)
    const before = spotOf(old, declaration)
    if (twin === undefined)
      return [{ kind: "gone", name: declaration.name, symbol: declaration.name, old: before, from: declaration.text }]
    const found = compareDeclarations(declaration, twin, old, next)
    const place = { name: declaration.name, symbol: declaration.name, old: before, next: spotOf(next, twin) }
    if (moved.has(declaration.name)) return [{ kind: "moved", ...place }, ...found]
    const [oldGap, nextGap] = [readGap(old, declaration), readGap(next, twin)]
    if (oldGap.behind !== nextGap.behind || oldGap.text === nextGap.text) return found
    return [{ kind: "reformatted", ...place, old: oldGap.spot, next: nextGap.spot }, ...found]
  })
  const end = compareEnds(old, next)
  const names = new Set(old.core.map((declaration) => declaration.name))
  const added = next.core.filter((declaration) => !names.has(declaration.name))
  return [
    ...changes,
    ...(end === undefined ? [] : [end]),
    ...added.map((declaration): Change => {
      return {
        kind: "added",
        name: declaration.name,
        symbol: declaration.name,
        next: spotOf(next, declaration),
        to: declaration.text,
      }
    }),
  ]
}

/** Where the code of a declaration or of a member stands; its comment is left out. */
function spotOf(surface: Surface, { line, end }: Declaration | Member): Spot {
  return { file: surface.file, line, end }
}

/** The same, with the comment. */
function wholeSpot(surface: Surface, { start, end }: Declaration | Member): Spot {
  return { file: surface.file, line: start, end }
}

/** The old declarations that have to be taken out so that the rest stands in the old order. */
function findMoved(old: Surface, next: Surface): Set<string> {
  const positions = new Map(next.core.map((declaration, index) => [declaration.name, index] as const).reverse())
  const names = old.core.map((declaration) => declaration.name).filter((name) => positions.has(name))
  const best: string[][] = []
  for (const [index, name] of names.entries()) {
    const before = best
      .slice(0, index)
      .filter((chain) => (positions.get(chain.at(-1) ?? "") ?? 0) < (positions.get(name) ?? 0))
    best.push([...(before.sort((a, b) => b.length - a.length)[0] ?? []), name])
  }
  const longest = new Set(best.sort((a, b) => b.length - a.length)[0])
  return new Set(names.filter((name) => !longest.has(name)))
}

/** What stands between a declaration and the one before it, or the imports: blank lines and banners. */
function readGap(surface: Surface, declaration: Declaration): { behind: string; text: string; spot: Spot } {
  const previous = surface.core[surface.core.indexOf(declaration) - 1]
  const imports = surface.imports.map((node) => surface.source.getLineAndCharacterOfPosition(node.end).line + 1)
  const last = previous?.end ?? imports.filter((line) => line < declaration.start).at(-1) ?? 0
  const text = surface.lines
    .slice(last, declaration.start - 1)
    .concat("")
    .join("\n")
  return { behind: previous?.name ?? "", text, spot: { file: surface.file, line: last + 1, end: declaration.line } }
}

/** Whether what stands behind the last old declaration, up to the demo, is still there; what is new comes behind it. */
function compareEnds(old: Surface, next: Surface): Change | undefined {
  const last = old.core.at(-1)
  const index = next.core.findIndex(({ name }) => name === last?.name)
  const twin = next.core[index]
  if (last === undefined || twin === undefined) return undefined
  const follower = next.core[index + 1]
  const was = old.lines.slice(last.end, old.demoLine - 1)
  const is = next.lines.slice(twin.end, (follower?.start ?? next.demoLine) - 1)
  const trimmed = was.slice(0, was.findLastIndex((line) => line.trim() !== "") + 1)
  const kept = follower === undefined ? was : trimmed
  if (kept.every((line, place) => line === is[place]) && (follower !== undefined || was.length === is.length))
    return undefined
  const { name } = last
  const spot = (surface: Surface, start: number, end: number): Spot => ({ file: surface.file, line: start, end })
  return {
    kind: "reformatted",
    name,
    symbol: name,
    old: spot(old, last.end + 1, old.demoLine),
    next: spot(next, twin.end + 1, follower?.line ?? next.demoLine),
  }
}

/** The changes inside a declaration that both chapters have. */
function compareDeclarations(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  const place = {
    name: old.name,
    symbol: old.name,
    old: spotOf(before, old),
    next: spotOf(after, next),
    from: old.text,
    to: next.text,
  }
  if (old.text === next.text) return [{ kind: "identical", ...place }]
  if (old.kind !== next.kind) return [{ kind: "kind", ...place }]
  const whole = { ...place, old: wholeSpot(before, old), next: wholeSpot(after, next) }
  if (old.kind === "function" || old.kind === "constant") {
    const [was, is] = [old, next].map(({ nodes }) => nodes.map(structureOf).join("\n"))
    if (was === is) return [{ kind: "reformatted", ...whole }]
    if (old.kind === "constant") return [{ kind: "rewritten", ...whole }]
    const breaks = brokenCalls(old, next)
    return [
      { kind: "rewritten", ...whole, ...(breaks !== undefined && { breaks }), requires: newlyRequired(old, next) },
    ]
  }
  const found = old.kind === "type" ? compareUnions(old, next, before, after) : compareMembers(old, next, before, after)
  const changes = found.filter((change) => change.kind !== "reformatted")
  if (headOf(old) !== headOf(next)) return [...changes, { kind: "rewritten", ...whole }]
  const mismatch = findMismatch(old, next)
  if (mismatch !== undefined) return [...changes, { kind: "reformatted", ...exactly(mismatch, whole, before, after) }]
  if (changes.length < found.length) return [...changes, { kind: "reformatted", ...whole }]
  if (changes.length > 0) return changes
  return [gainedMembers(old, next).length > 0 ? { kind: "grown", ...place } : { kind: "reformatted", ...whole }]
}

/** Where the old lines of a type or a class are not as they were, whatever it has gained. */
function findMismatch(old: Declaration, next: Declaration): Mismatch | undefined {
  const pairs = pairMembers(old, next)
  // What stands on one line, and a record that becomes a union, can only grow into another layout.
  const becomesUnion = old.kind === "type" && old.members.length === 1 && next.members.length > 1
  const loose = (old.line === old.end || becomesUnion) && gainedMembers(old, next).length > 0
  const outer = compareFrames(declarationFrame(old), declarationFrame(next), pairs, loose)
  if (outer !== undefined) return outer
  for (const [member, twin] of pairs) {
    if (member.fields.length === 0 || twin.fields.length === 0) continue
    const inner = compareFrames(memberFrame(member), memberFrame(twin), pairMembers(member, twin), loose)
    if (inner !== undefined) return inner
  }
  return undefined
}

/** The lines of a mismatch; blank ones are passed over. */
function exactly<T extends { old: Spot; next: Spot }>(
  mismatch: Mismatch,
  whole: T,
  before: Surface,
  after: Surface,
): T & Partial<Change> {
  const at = ({ source, lines }: Surface, position: number, spot: Spot): Spot => {
    let { line } = source.getLineAndCharacterOfPosition(position)
    while (line + 1 < spot.end && lines[line]?.trim() === "") line++
    return { ...spot, line: line + 1 }
  }
  return {
    ...whole,
    old: at(before, mismatch.old, whole.old),
    next: at(after, mismatch.next, whole.next),
    how: mismatch.how,
    exact: true,
  }
}

/** What a caller sees of a function: its overloads, or else the function itself. */
function signaturesOf({ nodes }: Declaration): ts.FunctionDeclaration[] {
  return (nodes.length > 1 ? nodes.slice(0, -1) : nodes).filter(ts.isFunctionDeclaration)
}

/** What of the signatures of a function old calls do not survive. More overloads may follow the old ones. */
function brokenCalls(old: Declaration, next: Declaration): Text | undefined {
  const known = signaturesOf(next)
  const broken = signaturesOf(old).map((signature, index) => {
    const twin = known[index]
    return twin === undefined ? { en: "an overload is gone", zh: "少了一个重载" } : brokenCall(signature, twin)
  })
  return broken.find((reason) => reason !== undefined)
}

function brokenCall(old: ts.FunctionDeclaration, next: ts.FunctionDeclaration): Text | undefined {
  const listed = (list: ts.NodeArray<ts.Node> | undefined): string[] => (list ?? []).map((node) => node.getText())
  const [was, is] = [old.parameters.map(parameterText), next.parameters.map(parameterText)]
  const changed = was.findIndex((parameter, index) => parameter !== is[index])
  const now =
    is[changed] === undefined
      ? { en: "gone", zh: "不见了" }
      : { en: `now \`${is[changed]}\``, zh: `现在是 \`${is[changed]}\`` }
  if (listed(old.typeParameters).join() !== listed(next.typeParameters).join())
    return { en: "its type parameters differ", zh: "类型参数不一样了" }
  if (changed !== -1)
    return { en: `the parameter \`${was[changed]}\` is ${now.en}`, zh: `参数 \`${was[changed]}\` ${now.zh}` }
  const isGenerator = (node: ts.FunctionDeclaration): boolean => node.asteriskToken !== undefined
  return isGenerator(old) === isGenerator(next) && returnsAlike(old, next)
    ? undefined
    : { en: "it returns something else", zh: "返回的东西不一样了" }
}

/** The parameters behind the old ones that have to be given, as written. */
function newlyRequired(old: Declaration, next: Declaration): string[] {
  const known = signaturesOf(next)
  return signaturesOf(old).flatMap(({ parameters }, index) => {
    const added = known[index]?.parameters.slice(parameters.length) ?? []
    return added.filter(isRequired).map((parameter) => parameter.getText())
  })
}

/** Whether a parameter has to be given. Of the rest a list need not be, and a tuple not if none of its elements is. */
export function isRequired({ questionToken, initializer, dotDotDotToken, type }: ts.ParameterDeclaration): boolean {
  return dotDotDotToken === undefined ? !(questionToken || initializer) : type !== undefined && !isAnyLength(type)
}

function isAnyLength(type: ts.TypeNode): boolean {
  if (ts.isParenthesizedTypeNode(type) || ts.isTypeOperatorNode(type)) return isAnyLength(type.type)
  if (ts.isTypeReferenceNode(type)) return /^(Readonly)?Array$/.test(type.typeName.getText())
  if (!ts.isTupleTypeNode(type)) return ts.isArrayTypeNode(type)
  return type.elements.every((element) =>
    ts.isNamedTupleMember(element)
      ? element.questionToken !== undefined || element.dotDotDotToken !== undefined
      : ts.isOptionalTypeNode(element) || ts.isRestTypeNode(element),
  )
}

/** A parameter as callers see it: what a pattern takes out of what is given is no concern of theirs. */
function parameterText(parameter: ts.ParameterDeclaration): string {
  const { name, type } = parameter
  const isPattern = !ts.isIdentifier(name) && type !== undefined
  return isPattern ? `{}${parameter.getText().slice(name.getEnd() - parameter.getStart())}` : parameter.getText()
}

/** Whether a function returns all that it did; it may return more. */
function returnsAlike(old: ts.FunctionDeclaration, next: ts.FunctionDeclaration): boolean {
  const members = ({ type }: ts.FunctionDeclaration): string[] => {
    const types = type !== undefined && ts.isUnionTypeNode(type) ? [...type.types] : type === undefined ? [] : [type]
    return types.map(withoutStyle)
  }
  const known = members(next)
  return (
    members(old).every((member) => known.includes(member)) && (old.type === undefined) === (next.type === undefined)
  )
}

/** What stands in front of the members: name, type parameters, what is extended or implemented. */
function headOf({ node }: Declaration): string {
  const end = ts.isTypeAliasDeclaration(node)
    ? node.type.getStart()
    : ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)
      ? node.members.pos
      : node.end
  const text = node.getSourceFile().text.slice(node.getStart(), end)
  return withoutComments(text)
    .replaceAll(/[\s|]+/g, " ")
    .trim()
}

function compareUnions(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  const pairs = pairMembers(old, next)
  return old.members.flatMap((member): Change[] => {
    const twin = pairs.get(member)
    const symbol = `${old.name}.${member.name}`
    const place = { name: old.name, old: spotOf(before, member), next: spotOf(after, next), from: member.text }
    if (twin === undefined) return [{ kind: "union-member-gone", symbol, ...place }]
    const isRecord = ts.isTypeLiteralNode(twin.node) || ts.isIntersectionTypeNode(twin.node)
    if (member.fields.length > 0 && !isRecord)
      return [{ kind: "field-changed", ...place, symbol: old.name, next: spotOf(after, twin), to: twin.text }]
    if (member.fields.length > 0) return compareFields(old.name, member, twin, before, after, spotOf(after, twin))
    if (structureOf(member.node) === structureOf(twin.node)) return []
    return [{ kind: "field-changed", symbol, ...place, next: spotOf(after, twin), to: twin.text }]
  })
}

function compareFields(
  name: string,
  old: Member | Declaration,
  next: Member | Declaration,
  before: Surface,
  after: Surface,
  around: Spot,
): Change[] {
  const pairs = pairMembers(old, next)
  return ("fields" in old ? old.fields : old.members).flatMap((field): Change[] => {
    const twin = pairs.get(field)
    const place = { name, symbol: `${name}.${field.name}`, old: spotOf(before, field), from: field.text }
    if (twin === undefined) return [{ kind: "field-gone", ...place, next: around }]
    if (twin.text === field.text) return []
    const kind = structureOf(twin.node) === structureOf(field.node) ? "reformatted" : "field-changed"
    return [{ kind, ...place, next: spotOf(after, twin), to: twin.text }]
  })
}

function compareMembers(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  const around = spotOf(after, next)
  if (old.kind === "interface") return compareFields(old.name, old, next, before, after, around)
  const pairs = pairMembers(old, next)
  return old.members.flatMap((member): Change[] => {
    const twin = pairs.get(member)
    const place = {
      name: old.name,
      symbol: `${old.name}.${member.name}`,
      old: spotOf(before, member),
      from: member.text,
    }
    if (twin === undefined) return [{ kind: "class-member-gone", ...place, next: around }]
    if (twin.text === member.text) return []
    return [
      {
        kind: structureOf(twin.node) === structureOf(member.node) ? "reformatted" : "class-member-changed",
        ...place,
        next: spotOf(after, twin),
        to: twin.text,
        ...(callText(twin) !== callText(member) && { breaks: { en: "its signature differs", zh: "签名不一样了" } }),
      },
    ]
  })
}

/** The signature of a method as callers see it. */
function callText({ node, signature }: Member): string {
  if (!ts.isMethodDeclaration(node) && !ts.isConstructorDeclaration(node)) return signature
  return node.parameters.reduce(
    (text, parameter) => text.replace(parameter.getText(), parameterText(parameter)),
    signature,
  )
}

/** A field, a member of a union or a member of a class that an older declaration has gained. */
export type Gain = {
  /** The name of the declaration. */
  name: string
  /** `name.member`. */
  symbol: string
  /** As written, on one line; of a method, what a caller sees. */
  text: string
  spot: Spot
  member: Member
  /** What stands beside it: all fields of its record, or all members of its union or class. */
  beside: readonly Member[]
  declaration: Declaration
}

/** What the declarations that both chapters have gained from one to the other, in the order of the source. */
export function findGains(old: Surface, next: Surface): Gain[] {
  return next.core.flatMap((declaration) => {
    const before = old.core.find(({ name, kind }) => name === declaration.name && kind === declaration.kind)
    if (before === undefined || before.text === declaration.text) return []
    const gained = gainedMembers(before, declaration).filter(({ member }) => !isBodyOfOverloads(member, declaration))
    return gained.map(({ member, beside }): Gain => {
      const { name } = declaration
      const text = onOneLine(member.signature || member.text)
      return { name, symbol: `${name}.${member.name}`, text, spot: spotOf(next, member), member, beside, declaration }
    })
  })
}

/** A text of several lines as it would stand on one: what a line end parts, a semicolon parts. */
function onOneLine(text: string): string {
  const joined = withoutComments(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .reduce((before, line) => {
      const isOpen = /[({[<|&,;:=]$|=>$/.test(before) || /^[)}\]>|&?:=]/.test(line)
      return `${before}${isOpen ? " " : "; "}${line}`
    })
  return joined
    .replaceAll(/\s+/g, " ")
    .replaceAll(/([([<]) /g, "$1")
    .replaceAll(/,? ([)\]>])/g, "$1")
    .replaceAll(/([{:=]|=>) \| /g, "$1 ")
}

/** Whether a method of a class is what its overloads stand in front of: callers see those. */
function isBodyOfOverloads({ name, node }: Member, { members }: Declaration): boolean {
  const hasBody = ts.isMethodDeclaration(node) && node.body !== undefined
  return (
    hasBody && members.some((other) => other.name === name && ts.isMethodDeclaration(other.node) && !other.node.body)
  )
}

function gainedMembers(old: Declaration, next: Declaration): Pick<Gain, "member" | "beside">[] {
  const pairs = pairMembers(old, next)
  const twins = new Map([...pairs].map(([member, twin]) => [twin, member]))
  return next.members.flatMap((member) => {
    const twin = twins.get(member)
    if (twin === undefined) return [{ member, beside: next.members }]
    const known = new Set(pairMembers(twin, member).values())
    return member.fields.filter((field) => !known.has(field)).map((field) => ({ member: field, beside: member.fields }))
  })
}
