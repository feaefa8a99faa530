import { describe, expectTypeOf, test } from "vitest"
import type { Differences, FunctionDifferences, FunctionLosses, Grown, Losses, None } from "./support.ts"

/** What every type passes for. */
type Any = ReturnType<typeof JSON.parse>

type One<T> = { It: T }

type Loss<Old, New> = Losses<One<Old>, One<New>> extends { It: infer Found } ? Found : None

type CallLoss<Old, New> = FunctionLosses<One<Old>, One<New>, None, None> extends { It: infer Found } ? Found : None

type Difference<Actual, Expected> = Differences<One<Actual>, One<Expected>> extends { It: infer Found } ? Found : None

class Registry {
  #names: string[] = []
  list(): string[] {
    return this.#names
  }
}

class GrownRegistry {
  #names: string[] = []
  #size = 0
  list(): string[] {
    return this.#names
  }
  count(): number {
    return this.#size
  }
}

describe("what differs from an expectation", () => {
  test("is nothing, where the types are the same, in whatever order and by whatever way they are declared", () => {
    expectTypeOf<Difference<"a" | "b", "b" | "a">>().toEqualTypeOf<None>()
    expectTypeOf<Difference<{ a: 1 } & { b?: 2 }, { b?: 2; a: 1 }>>().toEqualTypeOf<None>()
    expectTypeOf<Difference<{ call: (text: string) => void }, { call(words: string): void }>>().toEqualTypeOf<None>()
    expectTypeOf<Difference<Registry, { list(): string[] }>>().toEqualTypeOf<None>()
    expectTypeOf<FunctionDifferences<{ It: typeof Registry }, One<new () => Registry>>>().toEqualTypeOf<None>()
  })

  test("is named, with what is lost, added and changed", () => {
    expectTypeOf<Difference<"a" | "c", "a" | "b">>().toEqualTypeOf<{ lost: "b"; added: "c" }>()
    expectTypeOf<Difference<{ a: 1; c: 3 }, { a: 2; b: 3 }>>().toEqualTypeOf<{ lost: "b"; added: "c"; changed: "a" }>()
    expectTypeOf<Difference<{ role: "x"; a: 1 } | { role: "y" }, { role: "x" } | { role: "y" }>>().toEqualTypeOf<{
      added: "x.a"
    }>()
    expectTypeOf<Difference<GrownRegistry, { list(): string[] }>>().toEqualTypeOf<{ added: "count" }>()
  })

  test("is a modifier as well", () => {
    expectTypeOf<Difference<{ a?: 1 }, { a: 1 }>>().toEqualTypeOf<{ lost: "a"; added: "a?" }>()
    expectTypeOf<Difference<{ readonly a: 1 }, { a: 1 }>>().toEqualTypeOf<{ lost: "a"; added: "readonly a" }>()
    expectTypeOf<Difference<{ a: 1 | undefined }, { a?: 1 }>>().toEqualTypeOf<{ lost: "a?"; added: "a" }>()
  })

  test("is any, wherever it is", () => {
    expectTypeOf<Difference<Any, { a: 1 }>>().toEqualTypeOf<{ lost: "a"; added: "any" }>()
    expectTypeOf<Difference<{ a: Any }, { a: 1 }>>().toEqualTypeOf<{ changed: "a" }>()
    expectTypeOf<Difference<(a: Any) => void, (a: 1) => void>>().toEqualTypeOf<{ changed: "parameters" }>()
  })

  test("is a name that is missing or that nobody expects", () => {
    expectTypeOf<Differences<None, One<{ a: 1 }>>>().toEqualTypeOf<One<{ lost: "a"; added: "absent" }>>()
    expectTypeOf<Differences<One<{ a: 1 }>, None>>().toEqualTypeOf<One<{ lost: "absent"; added: "a" }>>()
    expectTypeOf<FunctionDifferences<None, One<() => void>>>().toEqualTypeOf<
      One<{ lost: "parameters" | "result"; added: "absent" }>
    >()
  })
})

describe("what the next chapter does not keep", () => {
  test("is nothing, where a type only grew", () => {
    expectTypeOf<Loss<"a", "a" | "b">>().toEqualTypeOf<None>()
    expectTypeOf<Loss<{ a: 1 }, { a: 1; b: 2 }>>().toEqualTypeOf<None>()
    expectTypeOf<Loss<{ kind: "a" }, { kind: "a" | "b" }>>().toEqualTypeOf<None>()
    expectTypeOf<Loss<{ type: "x" }, { type: "x"; a: 1 } | { type: "y" }>>().toEqualTypeOf<None>()
    expectTypeOf<Loss<Registry, GrownRegistry>>().toEqualTypeOf<None>()
  })

  test("is nothing, where a type speaks of one that grew", () => {
    type Old = { Entry: { a: 1 }; Tree: { add(entry: Old["Entry"]): Promise<Old["Entry"][]>; last?: Old["Entry"] } }
    type New = {
      Entry: { a: 1; b: 2 }
      Tree: { add(entry: New["Entry"]): Promise<New["Entry"][]>; last?: New["Entry"] }
    }
    expectTypeOf<Losses<Old, New>>().toEqualTypeOf<None>()
    expectTypeOf<Losses<Old, Grown<New, { Entry: { b: 2 } }>>["Tree"]>().toEqualTypeOf<{ changed: "add" | "last?" }>()
  })

  test("is a field, a literal, a member of a union, a method, a type", () => {
    expectTypeOf<Loss<{ a: 1; b: 2 }, { a: 1 }>>().toEqualTypeOf<{ lost: "b" }>()
    expectTypeOf<Loss<"a" | "b", "a">>().toEqualTypeOf<{ lost: "b" }>()
    expectTypeOf<Loss<{ type: "x" } | { type: "y" }, { type: "x" }>>().toEqualTypeOf<{ lost: "y.type" }>()
    expectTypeOf<Loss<GrownRegistry, Registry>>().toEqualTypeOf<{ lost: "count" }>()
    expectTypeOf<Losses<One<{ a: 1 }>, None>>().toEqualTypeOf<One<{ lost: "a" }>>()
  })

  test("is a field that has another type or modifier", () => {
    expectTypeOf<Loss<{ a: string }, { a: string | number }>>().toEqualTypeOf<{ changed: "a" }>()
    expectTypeOf<Loss<{ a: string[] }, { a: readonly string[] }>>().toEqualTypeOf<{ changed: "a" }>()
    expectTypeOf<Loss<{ kind: "a" | "b" }, { kind: string }>>().toEqualTypeOf<{ changed: "kind" }>()
    expectTypeOf<Loss<{ a: 1 }, { a?: 1 }>>().toEqualTypeOf<{ lost: "a" }>()
    expectTypeOf<Loss<{ a: 1 }, { readonly a: 1 }>>().toEqualTypeOf<{ lost: "a" }>()
  })

  test("is a method with other parameters or another result, be it assignable", () => {
    expectTypeOf<Loss<{ to(id: string | null): void }, { to(id: string): void }>>().toEqualTypeOf<{ changed: "to" }>()
    expectTypeOf<Loss<{ load(): void }, { load(all?: boolean): void }>>().toEqualTypeOf<{ changed: "load" }>()
    expectTypeOf<Loss<{ use(): boolean }, { use(): void }>>().toEqualTypeOf<{ changed: "use" }>()
  })

  test("is all that became any", () => {
    expectTypeOf<Loss<{ a: 1 }, Any>>().toEqualTypeOf<{ lost: "a" }>()
    expectTypeOf<Loss<{ a: 1 }, { a: Any }>>().toEqualTypeOf<{ changed: "a" }>()
    expectTypeOf<Loss<() => 1, Any>>().toEqualTypeOf<{ lost: "parameters" | "result" }>()
  })

  test("is a function that needs more, takes less, gives something else or is gone", () => {
    expectTypeOf<CallLoss<(a: 1) => 2, (a: 1, b?: 2) => 2>>().toEqualTypeOf<None>()
    expectTypeOf<CallLoss<(a: 1) => 2, (a: 1, b: 2) => 2>>().toEqualTypeOf<{ changed: "parameters" }>()
    expectTypeOf<CallLoss<(a: 1, b?: 2) => 2, (a: 1) => 2>>().toEqualTypeOf<{ changed: "parameters" }>()
    expectTypeOf<CallLoss<(a: 1) => 2, (a: Any) => Any>>().toEqualTypeOf<{ changed: "parameters" | "result" }>()
    expectTypeOf<FunctionLosses<One<() => 1>, None, None, None>>().toEqualTypeOf<One<{ changed: "value" }>>()
    expectTypeOf<CallLoss<8, 9>>().toEqualTypeOf<{ changed: "value" }>()
  })
})
