import { describe, expectTypeOf, test } from "vitest"
import type * as s11 from "../../s11_trust/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s11.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s11", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s11, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
