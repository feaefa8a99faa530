import { describe, expectTypeOf, test } from "vitest"
import type * as s09 from "../../s09_extensions/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s09.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s09", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s09, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
