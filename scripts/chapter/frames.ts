/**
 * What stands around the members of a type or a class: its head, its end, and what is between one member and the next. However a declaration has
 * grown, all of that is as it was, to the byte: where a new member was put in, the lines in front of the old one and the rest of the old line.
 */
import ts from "../course/typescript.js"
import type { Declaration, Member } from "./surface.ts"

/** A declaration or a record with its members, by positions in the text. */
export type Frame = {
  text: string
  start: number
  /** Behind what opens the list of members. */
  open: number
  members: readonly Member[]
  end: number
}

/** The first place where the old lines are not as they were. */
export type Mismatch = {
  old: number
  next: number
  /** Another layout or comment, another order, or something new on an old line. */
  how: "style" | "order" | "joined"
}

/** The frame of a type, an interface or a class, from the line of its comment to the end of its last line. */
export function declarationFrame({ node, members, start, end }: Declaration): Frame {
  const source = node.getSourceFile()
  const last = source.getPositionOfLineAndCharacter(end - 1, 0)
  const lineEnd = source.text.indexOf("\n", last)
  const open = ts.isTypeAliasDeclaration(node)
    ? node.type.pos
    : ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)
      ? node.members.pos
      : node.end
  return {
    text: source.text,
    start: source.getPositionOfLineAndCharacter(start - 1, 0),
    open,
    members,
    end: lineEnd === -1 ? source.text.length : lineEnd + 1,
  }
}

/** The frame of a member that has fields. */
export function memberFrame({ node, fields }: Member): Frame {
  const open = ts.isTypeLiteralNode(node) ? node.members.pos : node.getStart()
  return { text: node.getSourceFile().text, start: node.getStart(), open, members: fields, end: node.end }
}

/** The place of a member with its comment, without the semicolon or comma behind it. */
function rangeOf({ node, text }: Member): { start: number; code: number; end: number } {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const code = node.getStart()
  return { start: comment?.getStart() ?? code, code, end: code + text.length }
}

/** The pairs, with those that stand in the same place of a form and have nothing else to go with: one has taken the place of the other. */
function withReplacements(old: Frame, next: Frame, pairs: ReadonlyMap<Member, Member>): Map<Member, Member> {
  const all = new Map(pairs)
  const taken = new Set(pairs.values())
  for (const [index, member] of old.members.entries()) {
    const [before, behind] = [old.members[index - 1], old.members[index + 1]]
    const place = before === undefined ? 0 : indexOf(next, all.get(before)) + 1
    const twin = next.members[place]
    const isNext =
      behind === undefined ? place === next.members.length - 1 : next.members[place + 1] === pairs.get(behind)
    const fits = (before === undefined || all.has(before)) && (behind === undefined || pairs.has(behind)) && isNext
    if (!all.has(member) && twin !== undefined && !taken.has(twin) && fits) all.set(member, twin)
  }
  return all
}

/** Compares what is around the members of two forms. `loose` leaves blank space and what separates members out of account. */
export function compareFrames(
  old: Frame,
  next: Frame,
  known: ReadonlyMap<Member, Member>,
  loose: boolean,
): Mismatch | undefined {
  const pairs = withReplacements(old, next, known)
  const bare = (text: string): string => (loose ? text.replaceAll(/[\s;,|()]+/g, "") : text)
  const between = (frame: Frame, start: number, end: number): Piece => ({ text: frame.text.slice(start, end), start })
  const differ = (was: Piece, is: Piece, how: Mismatch["how"] = "style"): Mismatch | undefined =>
    bare(was.text) === bare(is.text) ? undefined : { ...firstDifference(was, is), how }

  const head = differ(between(old, old.start, old.open), between(next, next.start, next.open))
  if (head !== undefined) return head

  const kept = old.members.filter((member) => pairs.has(member))
  const order = [...kept].sort((a, b) => indexOf(next, pairs.get(a)) - indexOf(next, pairs.get(b)))
  const out = kept.findIndex((member, index) => member !== order[index])
  if (out !== -1) {
    const [was, is] = [kept[out] as Member, pairs.get(order[out] as Member) as Member]
    return { old: rangeOf(was).code, next: rangeOf(is).code, how: "order" }
  }

  for (const member of kept) {
    const [was, is] = [rangeOf(member), rangeOf(pairs.get(member) as Member)]
    const same = member.text === pairs.get(member)?.text
    const comment = differ(between(old, was.start, was.code), between(next, is.start, is.code))
    if (same && comment !== undefined) return comment
  }

  // The end of the frame counts as a member that both have.
  for (const member of [...kept, undefined]) {
    const [was, is] = [gapBefore(old, member), gapBefore(next, member && pairs.get(member))]
    const [before, after] = [was.behind && pairs.get(was.behind), is.behind]
    const isSame = was.behind === undefined ? after === undefined : before !== undefined && before === after
    const found = isSame ? differ(was, is) : compareApart(was, is, loose)
    if (found !== undefined) return found
  }
  for (const member of [undefined, ...kept]) {
    const [was, is] = [gapBehind(old, member), gapBehind(next, member && pairs.get(member))]
    const [tail, rest] = [restOfLine(was), restOfLine(is)]
    const isJoined = tail !== undefined && rest === undefined
    if (isJoined && !loose) return { old: was.start, next: is.start, how: "joined" }
    const found = tail === undefined || rest === undefined ? undefined : differ(tail, rest)
    if (found !== undefined) return found
  }
  return undefined
}

type Piece = { text: string; start: number }
type Gap = Piece & { behind: Member | undefined }

function indexOf({ members }: Frame, member: Member | undefined): number {
  return member === undefined ? -1 : members.indexOf(member)
}

/** What stands in front of a member, or of the end: behind the member before it, or behind what opens the list. */
function gapBefore(frame: Frame, member: Member | undefined): Gap {
  const index = member === undefined ? frame.members.length : frame.members.indexOf(member)
  const behind = frame.members[index - 1]
  const start = behind === undefined ? frame.open : rangeOf(behind).end
  return { text: frame.text.slice(start, member === undefined ? frame.end : rangeOf(member).start), start, behind }
}

/** What stands behind a member, or behind what opens the list. */
function gapBehind(frame: Frame, member: Member | undefined): Piece {
  return gapBefore(frame, frame.members[indexOf(frame, member) + 1])
}

/** A gap up to the end of its first line, if it has one. */
function restOfLine({ text, start }: Piece): Piece | undefined {
  const end = text.indexOf("\n")
  return end === -1 ? undefined : { text: text.slice(0, end), start }
}

/** Compares what is in front of an old member where something new, or gone, is between it and the one before: its own lines are as they were. */
function compareApart(was: Piece, is: Piece, loose: boolean): Mismatch | undefined {
  if (!was.text.includes("\n") && !loose) return { old: was.start, next: is.start, how: "joined" }
  const lead = (text: string): string[] =>
    text
      .slice(loose ? 0 : text.indexOf("\n") + 1)
      .split("\n")
      .map((line) => (loose ? line.replaceAll(/[\s;,|()]+/g, "") : line))
      .filter((line) => line.trim() !== "")
  const [before, after] = [lead(was.text), lead(is.text)]
  if (before.length === after.length && before.every((line, index) => line === after[index])) return undefined
  const ends = [was, is].map(({ text, start }) => start + Math.max(0, text.trimEnd().length)) as [number, number]
  return { old: ends[0], next: ends[1], how: "style" }
}

function firstDifference(was: Piece, is: Piece): { old: number; next: number } {
  let length = 0
  while (length < was.text.length && was.text[length] === is.text[length]) length++
  return { old: was.start + length, next: is.start + length }
}
