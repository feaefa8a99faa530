/** Which member of a type or a class is which in the next chapter. */
import { type Declaration, type Member, structureOf } from "./surface.ts"

type Test = (old: Member, next: Member) => boolean

const sameName: Test = (old, next) => old.name === next.name
const sameText: Test = (old, next) => old.text === next.text

/** A record without a tag is told by its fields: all of them are there. */
const hasFields: Test = (old, next) =>
  old.fields.length > 0 && old.fields.every((field) => next.fields.some((other) => other.text === field.text))

/** Overloads, getter and setter share a name: those that have not changed belong together, the others go by their order. */
const FIELDS: readonly Test[] = [(old, next) => sameName(old, next) && sameText(old, next), sameName]
const UNION: readonly Test[] = [
  sameText,
  (old, next) => structureOf(old.node) === structureOf(next.node),
  sameName,
  hasFields,
]

/** The members of one form of a declaration, or of one form of a record, with their counterparts in the next form. None has two. */
export function pairMembers(old: Declaration | Member, next: Declaration | Member): Map<Member, Member> {
  const isUnion = "kind" in old && old.kind === "type"
  const [olds, nexts] = [membersOf(old), membersOf(next)]
  const found = new Map<Member, Member>()
  const taken = new Set<Member>()
  const match = (member: Member, twin: Member | undefined): void => {
    if (twin === undefined) return
    found.set(member, twin)
    taken.add(twin)
  }
  for (const test of isUnion ? UNION : FIELDS) {
    for (const member of olds.filter((one) => !found.has(one)))
      match(
        member,
        nexts.find((candidate) => !taken.has(candidate) && test(member, candidate)),
      )
  }
  const [only, ...others] = olds
  // A record that stands alone is still the same one, whatever has become of it.
  if (isUnion && only !== undefined && only.fields.length > 0 && others.length === 0 && nexts.length === 1)
    match(only, nexts[0])
  // In the order of the old form.
  return new Map(olds.flatMap((member) => (found.has(member) ? [[member, found.get(member) as Member]] : [])))
}

function membersOf(owner: Declaration | Member): Member[] {
  return "kind" in owner ? owner.members : owner.fields
}
