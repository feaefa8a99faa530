import fs from "node:fs"
import { describe, expect, test } from "vitest"
import { findChapter, INVARIANTS } from "../../scripts/manifest.ts"
import { driversFrom, sourceOf } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"
import { propertiesOf } from "./properties.ts"

/** Runs per property and chapter. */
const RUNS = Number(process.env.INVARIANT_RUNS ?? (DEEP ? 1000 : 100))

/** Another seed for every run of the tests, unless it is to be played again. */
const SEED = Number(process.env.INVARIANT_SEED)

test("the number of runs and the seed are whole numbers", () => {
  expect([RUNS, SEED]).toEqual([expect.toSatisfy(Number.isInteger), expect.toSatisfy(Number.isInteger)])
  expect(RUNS).toBeGreaterThan(0)
})

// One chapter after the other: its properties share their plays.
for (const chapter of driversFrom("s01")) {
  const text = fs.readFileSync(sourceOf(findChapter(chapter.id)), "utf8")
  for (const { id } of INVARIANTS.filter(({ first }) => first <= chapter.id)) {
    describe(`${id} on ${chapter.id}`, () => {
      test.each(propertiesOf(id, chapter).map((property) => [property.title, property] as const))(
        "%s",
        async (_title, property) => {
          try {
            await property.check({ chapter, text }, { runs: RUNS, seed: SEED })
          } catch (error) {
            const again = `to play it again: npm test -- --seed ${SEED} test/invariants`
            throw new Error(`${(error as Error).message}\n${again}`, { cause: error })
          }
        },
      )
    })
  }
}
