import fs from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { findChapter, INVARIANTS } from "../../scripts/course/manifest.ts"
import { driversFrom, sourceOf } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"
import { anyScript, type Script, scriptsOf } from "./play.ts"
import { propertiesOf } from "./properties.ts"

/** Runs per property and chapter. */
const RUNS = Number(process.env.INVARIANT_RUNS ?? (DEEP ? 1000 : 100))

/** Another seed for every run of the tests, unless it is to be played again. */
const SEED = Number(process.env.INVARIANT_SEED)

test("the number of runs and the seed are whole numbers", () => {
  expect([RUNS, SEED]).toEqual([expect.toSatisfy(Number.isInteger), expect.toSatisfy(Number.isInteger)])
  expect(RUNS).toBeGreaterThan(0)
})

test("a failure is looked for among the same sessions that were played", async () => {
  const tried: Script[] = []
  const keep = fc.asyncProperty(anyScript, async (script) => void tried.push(script))
  await fc.assert(keep, { numRuns: RUNS, seed: SEED })
  expect(tried).toEqual(scriptsOf(SEED, RUNS))
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
            throw new Error(`${(error as Error).message}\n${again}`, { cause: (error as Error).cause })
          }
        },
      )
    })
  }
}
