/** What changed from one chapter to another, declaration by declaration. It says what is; whether it may be is for the rules. */
import ts from "typescript"
import { type Declaration, type Member, type Surface, withoutStyle } from "./surface.ts"

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
  /** Old and new form of a function or method: whether parameters were only appended, and whether it returns what it did. */
  appended?: boolean
  sameReturn?: boolean
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
  const names = new Set(old.core.map((declaration) => declaration.name))
  const added = next.core.filter((declaration) => !names.has(declaration.name))
  return [
    ...changes,
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
  const style: Change = { kind: "reformatted", ...whole }
  if (old.kind === "function" || old.kind === "constant") {
    if (withoutStyle(old.node) === withoutStyle(next.node)) return [style]
    const appended = old.parameters.every((parameter, index) => parameter === next.parameters[index])
    return [{ kind: "rewritten", ...whole, appended, sameReturn: returnsAlike(old, next) }]
  }
  const found = old.kind === "type" ? compareUnions(old, next, before, after) : compareMembers(old, next, before, after)
  const changes = found.filter((change) => change.kind !== "reformatted")
  if (headOf(old) !== headOf(next)) return [...changes, { kind: "rewritten", ...whole }]
  const oldSpots = changes.flatMap((change) => change.old ?? [])
  const nextSpots = changes.flatMap((change) => (change.to === undefined ? [] : (change.next ?? [])))
  // What is gone takes blank lines along.
  const filled = (line: string): boolean => changes.length === 0 || line.trim() !== ""
  const kept = survives(linesWithout(old, oldSpots).filter(filled), linesWithout(next, nextSpots).filter(filled))
  if (!kept || changes.length < found.length) return [...changes, style]
  if (changes.length > 0) return changes
  if (countMembers(next) <= countMembers(old)) return [style]
  // Apart from what was gained, with the comments in front of it, nothing may be new.
  const isText = (line: string): boolean => line.trim() !== ""
  const rest = linesBesides(next, gainedMembers(old, next)).filter(isText).join("\n")
  return [rest === old.text.split("\n").filter(isText).join("\n") ? { kind: "grown", ...place } : style]
}

/** The lines of a declaration, without those of some members and of the comments in front of them. */
function linesBesides({ text, start }: Declaration, members: readonly Member[]): string[] {
  const lines = text.split("\n")
  const inside = new Set<number>()
  for (const member of members) {
    let first = member.start - start
    while (/^\s*(\/\/.*)?$/.test(lines[first - 1] ?? "x")) first--
    for (let index = first; index <= member.end - start; index++) inside.add(index)
  }
  return lines.filter((_line, index) => !inside.has(index))
}

/** Whether a function returns all that it did; it may return more. */
function returnsAlike(old: Declaration, next: Declaration): boolean {
  const members = ({ node }: Declaration): string[] => {
    const type = ts.isFunctionDeclaration(node) ? node.type : undefined
    const types = type !== undefined && ts.isUnionTypeNode(type) ? [...type.types] : type === undefined ? [] : [type]
    return types.map(withoutStyle)
  }
  const known = members(next)
  return members(old).every((member) => known.includes(member)) && (old.returns === "") === (next.returns === "")
}

/** What stands in front of the members: name, type parameters, what is extended or implemented. */
function headOf({ node }: Declaration): string {
  const end = ts.isTypeAliasDeclaration(node)
    ? node.type.getStart()
    : ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)
      ? node.members.pos
      : node.end
  return node.getSourceFile().text.slice(node.getStart(), end).replaceAll(/\s+/g, " ").trimEnd()
}

function countMembers(declaration: Declaration): number {
  return declaration.members.reduce((count, member) => count + 1 + member.fields.length, 0)
}

function compareUnions(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  return old.members.flatMap((member): Change[] => {
    const twin = findTwin(member, old.members, next.members)
    const symbol = `${old.name}.${member.name}`
    const place = { name: old.name, old: spotOf(before, member), next: spotOf(after, next), from: member.text }
    if (twin === undefined) return [{ kind: "union-member-gone", symbol, ...place }]
    if (member.fields.length > 0)
      return compareFields(old.name, member.fields, twin.fields, before, after, spotOf(after, twin))
    if (withoutStyle(member.node) === withoutStyle(twin.node)) return []
    return [{ kind: "field-changed", symbol, ...place, next: spotOf(after, twin), to: twin.text }]
  })
}

/** The new form of a union member: the one with its tag, or, for a record without one, the one that has its fields. */
function findTwin(member: Member, siblings: Member[], candidates: Member[]): Member | undefined {
  const named = candidates.find((candidate) => candidate.name === member.name)
  if (named !== undefined || member.fields.length === 0) return named
  if (siblings.length === 1 && candidates.length === 1) return candidates[0]
  const has = (candidate: Member): boolean =>
    member.fields.every((field) => candidate.fields.some((other) => other.text === field.text))
  return candidates.find(has)
}

/** The member of the same name. Where several share it (overloads, getter and setter), the one with the same text or at the same place. */
function findNamesake(member: Member, siblings: Member[], candidates: Member[]): Member | undefined {
  const namesakes = candidates.filter((candidate) => candidate.name === member.name)
  const place = siblings.filter((sibling) => sibling.name === member.name).indexOf(member)
  return namesakes.find((candidate) => candidate.text === member.text) ?? namesakes[place]
}

function compareFields(
  name: string,
  old: Member[],
  next: Member[],
  before: Surface,
  after: Surface,
  around: Spot,
): Change[] {
  return old.flatMap((field): Change[] => {
    const twin = findNamesake(field, old, next)
    const place = { name, symbol: `${name}.${field.name}`, old: spotOf(before, field), from: field.text }
    if (twin === undefined) return [{ kind: "field-gone", ...place, next: around }]
    if (twin.text === field.text) return []
    const kind = withoutStyle(twin.node) === withoutStyle(field.node) ? "reformatted" : "field-changed"
    return [{ kind, ...place, next: spotOf(after, twin), to: twin.text }]
  })
}

function compareMembers(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  const around = spotOf(after, next)
  if (old.kind === "interface") return compareFields(old.name, old.members, next.members, before, after, around)
  return old.members.flatMap((member): Change[] => {
    const twin = findNamesake(member, old.members, next.members)
    const place = {
      name: old.name,
      symbol: `${old.name}.${member.name}`,
      old: spotOf(before, member),
      from: member.text,
    }
    if (twin === undefined) return [{ kind: "class-member-gone", ...place, next: around }]
    if (twin.text === member.text) return []
    const same = twin.signature === member.signature
    return [
      {
        kind: withoutStyle(twin.node) === withoutStyle(member.node) ? "reformatted" : "class-member-changed",
        ...place,
        next: spotOf(after, twin),
        to: twin.text,
        appended: same,
        sameReturn: same,
      },
    ]
  })
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
}

/** What the declarations that both chapters have gained from one to the other, in the order of the source. */
export function findGains(old: Surface, next: Surface): Gain[] {
  return next.core.flatMap((declaration) => {
    const before = old.core.find(({ name, kind }) => name === declaration.name && kind === declaration.kind)
    if (before === undefined || before.text === declaration.text) return []
    return gainedMembers(before, declaration).map((member): Gain => {
      const text = (member.signature || member.text).replaceAll(/\s+/g, " ")
      return { name: declaration.name, symbol: `${declaration.name}.${member.name}`, text, spot: spotOf(next, member) }
    })
  })
}

function gainedMembers(old: Declaration, next: Declaration): Member[] {
  if (next.kind !== "type")
    return next.members.filter((member) => findNamesake(member, next.members, old.members) === undefined)
  return next.members.flatMap((member) => {
    const twin = findTwin(member, next.members, old.members) ?? old.members.find((other) => isFormOf(other, member))
    if (twin === undefined) return [member]
    return member.fields.filter((field) => findNamesake(field, member.fields, twin.fields) === undefined)
  })
}

/** Whether a record is an older form of another: all its fields are there. */
function isFormOf(old: Member, next: Member): boolean {
  const has = (field: Member): boolean => next.fields.some((other) => other.text === field.text)
  return old.fields.length > 0 && old.fields.every(has)
}

/** The lines of a declaration, without those of the members that stand at these places, comments included. */
function linesWithout(declaration: Declaration, spots: readonly Spot[]): string[] {
  const all = declaration.members.flatMap((member) => [member, ...member.fields])
  const named = all.filter((member) => spots.some((spot) => spot.line === member.line && spot.end === member.end))
  const inside = (line: number): boolean => named.some((member) => line >= member.start && line <= member.end)
  return declaration.text.split("\n").filter((_line, index) => !inside(declaration.start + index))
}

/** Whether the old lines are all there, unchanged and in order. */
function survives(old: string[], next: string[]): boolean {
  let found = 0
  for (const line of next) if (line === old[found]) found++
  return found === old.length
}
