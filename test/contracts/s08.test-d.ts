import { describe, expectTypeOf, test } from "vitest"
import type * as s08 from "../../s08_resources/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s08.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s08", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s08, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
