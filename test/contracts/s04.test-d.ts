import { describe, expectTypeOf, test } from "vitest"
import type * as s04 from "../../s04_toolloop/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s04.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s04", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s04, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
