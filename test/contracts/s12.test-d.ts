import { describe, expectTypeOf, test } from "vitest"
import type * as s12 from "../../s12_packages/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s12.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s12", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s12, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
