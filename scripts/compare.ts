/** What changed from one chapter to another, declaration by declaration. It says what is; whether it may be is for the rules. */
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
    if (moved.has(declaration.name)) found.unshift({ kind: "moved", ...place })
    else if (!sameGap(old, declaration, next, twin))
      found.unshift({ kind: "reformatted", ...place, old: { ...before, end: before.line } })
    return found
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

function spotOf(surface: Surface, { start, end }: { start: number; end: number }): Spot {
  return { file: surface.file, line: start, end }
}

function memberSpot(surface: Surface, { line, end }: Member): Spot {
  return { file: surface.file, line, end }
}

/** The old declarations that have to be taken out so that the rest stands in the old order. */
function findMoved(old: Surface, next: Surface): Set<string> {
  const positions = new Map(next.core.map((declaration, index) => [declaration.name, index]))
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

/** Whether what stands between a declaration and the one before it (blank lines, banners) is as it was. */
function sameGap(old: Surface, declaration: Declaration, next: Surface, twin: Declaration): boolean {
  const gap = (surface: Surface, item: Declaration): [string, string] => {
    const previous = surface.core[surface.core.indexOf(item) - 1]
    return [
      previous?.name ?? "",
      surface.lines
        .slice(previous?.end ?? item.start - 1, item.start - 1)
        .concat("")
        .join("\n"),
    ]
  }
  const [oldName, oldText] = gap(old, declaration)
  const [nextName, nextText] = gap(next, twin)
  return oldName !== nextName || oldText === nextText
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
  const style: Change = { kind: "reformatted", ...place }
  if (old.kind === "function" || old.kind === "constant") {
    if (withoutStyle(old.text) === withoutStyle(next.text)) return [style]
    const appended = old.parameters.every((parameter, index) => parameter === next.parameters[index])
    return [{ kind: "rewritten", ...place, appended, sameReturn: old.returns === next.returns }]
  }
  const changes =
    old.kind === "type" ? compareUnions(old, next, before, after) : compareMembers(old, next, before, after)
  const touched = new Set(changes.map((change) => change.symbol.slice(old.name.length + 1)))
  if (!survives(linesWithout(old, touched), linesWithout(next, touched))) return [...changes, style]
  if (changes.length > 0) return changes
  return [countMembers(next) > countMembers(old) ? { kind: "grown", ...place } : style]
}

function countMembers(declaration: Declaration): number {
  return declaration.members.reduce((count, member) => count + 1 + member.fields.length, 0)
}

function compareUnions(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  return old.members.flatMap((member): Change[] => {
    const twin = findTwin(member, next.members)
    const symbol = `${old.name}.${member.name}`
    const place = { name: old.name, old: memberSpot(before, member), next: spotOf(after, next), from: member.text }
    if (twin === undefined) return [{ kind: "union-member-gone", symbol, ...place }]
    if (member.fields.length > 0)
      return compareFields(old.name, member.fields, twin.fields, before, after, memberSpot(after, twin))
    if (member.text === twin.text) return []
    return [{ kind: "field-changed", symbol, ...place, next: memberSpot(after, twin), to: twin.text }]
  })
}

/** The new form of a union member: the one with its tag, or, for a record that became a union, the one that has its fields. */
function findTwin(member: Member, candidates: Member[]): Member | undefined {
  const tagged = candidates.find((candidate) => candidate.name === member.name)
  if (tagged !== undefined || member.name !== "") return tagged
  const has = (candidate: Member): boolean =>
    member.fields.every((field) => candidate.fields.some((other) => other.text === field.text))
  return candidates.find(has) ?? (candidates.length === 1 ? candidates[0] : undefined)
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
    const twin = next.find((candidate) => candidate.name === field.name)
    const place = { name, symbol: `${name}.${field.name}`, old: memberSpot(before, field), from: field.text }
    if (twin === undefined) return [{ kind: "field-gone", ...place, next: around }]
    return twin.text === field.text
      ? []
      : [{ kind: "field-changed", ...place, next: memberSpot(after, twin), to: twin.text }]
  })
}

function compareMembers(old: Declaration, next: Declaration, before: Surface, after: Surface): Change[] {
  const around = spotOf(after, next)
  if (old.kind === "interface") return compareFields(old.name, old.members, next.members, before, after, around)
  return old.members.flatMap((member): Change[] => {
    const twin = next.members.find((candidate) => candidate.name === member.name)
    const place = {
      name: old.name,
      symbol: `${old.name}.${member.name}`,
      old: memberSpot(before, member),
      from: member.text,
    }
    if (twin === undefined) return [{ kind: "class-member-gone", ...place, next: around }]
    if (withoutStyle(twin.text) === withoutStyle(member.text)) return []
    const same = twin.signature === member.signature
    return [
      {
        kind: "class-member-changed",
        ...place,
        next: memberSpot(after, twin),
        to: twin.text,
        appended: same,
        sameReturn: same,
      },
    ]
  })
}

/** The lines of a declaration, without those of the members that are named. */
function linesWithout(declaration: Declaration, names: Set<string>): string[] {
  const all = declaration.members.flatMap((member) => [member, ...member.fields])
  const named = all.filter((member) => names.has(member.name))
  const inside = (line: number): boolean => named.some((member) => line >= member.line && line <= member.end)
  return declaration.text.split("\n").filter((_line, index) => !inside(declaration.start + index))
}

/** Whether the old lines are all there, unchanged and in order. */
function survives(old: string[], next: string[]): boolean {
  let found = 0
  for (const line of next) if (line === old[found]) found++
  return found === old.length
}
