import { describe, expectTypeOf, test } from "vitest"
import type * as s02 from "../../s02_tools/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s02.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s02", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s02, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
