import { describe, expectTypeOf, test } from "vitest"
import type * as s06 from "../../s06_snapshot/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s06.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s06", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s06, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
