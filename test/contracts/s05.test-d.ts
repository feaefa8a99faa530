import { describe, expectTypeOf, test } from "vitest"
import type * as s05 from "../../s05_hooks/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s05.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s05", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s05, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
