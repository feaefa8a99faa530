import { describe, expectTypeOf, test } from "vitest"
import type * as s03 from "../../s03_stream/code.ts"
import type { Dictionary, Functions, Types } from "./dictionary/s03.ts"
import type { Differences, FunctionDifferences, None } from "./support.ts"

describe("types on s03", () => {
  test("has exactly the types of the dictionary", () => {
    expectTypeOf<Differences<Types, Dictionary<Types>>>().toEqualTypeOf<None>()
  })

  test("has functions that are called as the dictionary says", () => {
    expectTypeOf<FunctionDifferences<typeof s03, Functions<Types>>>().toEqualTypeOf<None>()
  })
})
