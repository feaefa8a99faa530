import fs from "node:fs"
import { describe, expect, test } from "vitest"
import { CHAPTERS, type ChapterId, findChapter, INVARIANTS } from "../../scripts/course/manifest.ts"
import { chapterFile } from "../../scripts/course/source.ts"
import { FAULTS, type Fault, faultsFor } from "../../scripts/faults/behaviour.ts"
import { loadProgram, plant } from "../../scripts/faults/plant.ts"
import { type Core, Driver } from "../support/driver.ts"
import { driversFrom } from "../support/ladder.ts"
import { ends } from "../support/tier.ts"
import { PROPERTIES, type Property, type Subject } from "./properties.ts"

/** Enough to find each of these faults, from a seed that is always the same; the other invariants are looked at less often. */
const MEANT = { runs: 300, seed: 7, shrink: false }
const OTHERS = { runs: 40, seed: 7, shrink: false }

/** The faults to plant in a chapter. In the fast tier, each is planted in the first and the last chapter that it fits. */
function faultsOn(id: ChapterId): Fault[] {
  return faultsFor(id).filter((fault) => {
    const fits = CHAPTERS.filter((chapter) => faultsFor(chapter.id).includes(fault))
    return ends(fits).some((chapter) => chapter.id === id)
  })
}

/** The invariants that the properties find broken. */
async function findBroken(subject: Subject, properties: readonly Property[], meant: string): Promise<Set<string>> {
  const broken = new Set<string>()
  for (const property of properties) {
    if (broken.has(property.invariant)) continue
    try {
      await property.check(subject, property.invariant === meant ? MEANT : OTHERS)
    } catch (error) {
      broken.add(/\b(I[1-6]): /.exec(String((error as Error).cause ?? error))?.[1] ?? `no invariant named: ${error}`)
    }
  }
  return broken
}

for (const chapter of driversFrom("s01")) {
  const text = fs.readFileSync(chapterFile(findChapter(chapter.id)), "utf8")
  const properties = PROPERTIES.filter((property) => property.first <= chapter.id)
  const faults = faultsOn(chapter.id as ChapterId)
  if (faults.length === 0) continue
  describe(`faults on ${chapter.id}`, () => {
    test.each(faults.map((fault) => [fault.invariant, fault.name, fault] as const))(
      "%s is broken by %s, and no other invariant is",
      async (invariant, _name, fault) => {
        const damaged = plant(text, fault.edits)
        const subject = {
          chapter: new Driver(chapter.number, chapter.id, await loadProgram<Core>(damaged)),
          text: damaged,
        }
        expect([...(await findBroken(subject, properties, invariant))]).toEqual([invariant])
      },
    )
  })
}

test("each invariant has a fault on every chapter on which it can be stated", () => {
  const bare = CHAPTERS.flatMap(({ id }) =>
    INVARIANTS.filter(
      (invariant) => invariant.first <= id && !faultsFor(id).some((fault) => fault.invariant === invariant.id),
    ).map((invariant) => `${invariant.id} on ${id}`),
  )
  expect(bare).toEqual([])
})

test("every fault says what its author had in mind", () => {
  expect(FAULTS.filter(({ excuse }) => !/^[A-Z].+\.$/.test(excuse))).toEqual([])
})
