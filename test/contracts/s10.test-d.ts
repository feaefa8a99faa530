import { describe, expectTypeOf, test } from "vitest"
import type * as s10 from "../../s10_modes/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s10.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s10", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s10, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
