/** The invariants, on edited cores, by a small number of sessions. */
import { test } from "vitest"
import { PROPERTIES } from "../invariants/properties.ts"
import { eachMutant, TEXT } from "./ladder.ts"

const EFFORT = { runs: 40, seed: 7, shrink: false }

eachMutant("the invariants", (chapter) => {
  test.each(PROPERTIES.map((property) => [property.title, property] as const))("%s", (_title, property) =>
    property.check({ chapter, text: TEXT }, EFFORT),
  )
})
