import { describe, expectTypeOf, test } from "vitest"
import type * as s01 from "../../s01_state/code.ts"
import type * as s02 from "../../s02_tools/code.ts"
import type * as s03 from "../../s03_stream/code.ts"
import type * as s04 from "../../s04_toolloop/code.ts"
import type * as s05 from "../../s05_hooks/code.ts"
import type * as s06 from "../../s06_snapshot/code.ts"
import type * as s07 from "../../s07_session/code.ts"
import type * as s08 from "../../s08_resources/code.ts"
import type * as s09 from "../../s09_extensions/code.ts"
import type * as s10 from "../../s10_modes/code.ts"
import type * as s11 from "../../s11_trust/code.ts"
import type * as s12 from "../../s12_packages/code.ts"
import type { Types as S01 } from "./dictionary/s01.ts"
import type { Types as S02 } from "./dictionary/s02.ts"
import type { Types as S03 } from "./dictionary/s03.ts"
import type { Types as S04 } from "./dictionary/s04.ts"
import type { Types as S05 } from "./dictionary/s05.ts"
import type { Types as S06 } from "./dictionary/s06.ts"
import type { Types as S07 } from "./dictionary/s07.ts"
import type { Types as S08 } from "./dictionary/s08.ts"
import type { Types as S09 } from "./dictionary/s09.ts"
import type { Types as S10 } from "./dictionary/s10.ts"
import type { Types as S11 } from "./dictionary/s11.ts"
import type { Types as S12 } from "./dictionary/s12.ts"
import type { FunctionLosses, Losses, None } from "./support.ts"

describe("from s01 to s02", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S01, S02>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s01, typeof s02, S01, S02>>().toEqualTypeOf<None>()
  })
})

describe("from s02 to s03", () => {
  test("every type keeps its members, but for Provider.complete, which became stream (U1)", () => {
    expectTypeOf<Losses<S02, S03>>().toEqualTypeOf<{ Provider: { lost: "complete" } }>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s02, typeof s03, S02, S03>>().toEqualTypeOf<None>()
  })
})

describe("from s03 to s04", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S03, S04>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s03, typeof s04, S03, S04>>().toEqualTypeOf<None>()
  })
})

describe("from s04 to s05", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S04, S05>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s04, typeof s05, S04, S05>>().toEqualTypeOf<None>()
  })
})

describe("from s05 to s06", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S05, S06>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s05, typeof s06, S05, S06>>().toEqualTypeOf<None>()
  })
})

describe("from s06 to s07", () => {
  test("every type keeps its members, but for AgentState.messages, which became a SessionTree (U1)", () => {
    expectTypeOf<Losses<S06, S07>>().toEqualTypeOf<{ AgentState: { changed: "messages" } }>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s06, typeof s07, S06, S07>>().toEqualTypeOf<None>()
  })
})

describe("from s07 to s08", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S07, S08>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s07, typeof s08, S07, S08>>().toEqualTypeOf<None>()
  })
})

describe("from s08 to s09", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S08, S09>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s08, typeof s09, S08, S09>>().toEqualTypeOf<None>()
  })
})

describe("from s09 to s10", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S09, S10>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s09, typeof s10, S09, S10>>().toEqualTypeOf<None>()
  })
})

describe("from s10 to s11", () => {
  test("every type keeps its members, but for ResourceLoader.load, which became load(trust) (U1)", () => {
    expectTypeOf<Losses<S10, S11>>().toEqualTypeOf<{ ResourceLoader: { changed: "load" } }>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s10, typeof s11, S10, S11>>().toEqualTypeOf<None>()
  })
})

describe("from s11 to s12", () => {
  test("every type keeps its members", () => {
    expectTypeOf<Losses<S11, S12>>().toEqualTypeOf<None>()
  })

  test("every function can be called as before", () => {
    expectTypeOf<FunctionLosses<typeof s11, typeof s12, S11, S12>>().toEqualTypeOf<None>()
  })
})
