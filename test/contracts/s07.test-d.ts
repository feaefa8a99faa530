import { describe, expectTypeOf, test } from "vitest"
import type * as s07 from "../../s07_session/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s07.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s07", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s07, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
