import fs from "node:fs"
import { describe, test } from "vitest"
import { findChapter, INVARIANTS } from "../../scripts/manifest.ts"
import { driversFrom, sourceOf } from "../support/ladder.ts"
import { propertiesOf } from "./properties.ts"

/** Runs per property and chapter. The night run of CI sets it higher. */
const RUNS = Number(process.env.INVARIANT_RUNS ?? 1000)

for (const { id, first } of INVARIANTS) {
  for (const chapter of driversFrom(first)) {
    const text = fs.readFileSync(sourceOf(findChapter(chapter.id)), "utf8")
    describe(`${id} on ${chapter.id}`, () => {
      test.each(propertiesOf(id, chapter).map((property) => [property.title, property] as const))(
        "%s",
        async (_title, property) => {
          await property.check({ chapter, text }, { runs: RUNS })
        },
      )
    })
  }
}
