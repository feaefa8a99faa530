import { describe, expectTypeOf, test } from "vitest"
import type * as s01 from "../../s01_state/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s01.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s01", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s01, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
