import { expectTypeOf, test } from "vitest"
import type { StopReason } from "../../../s01_state/code.ts"
import type { Differences, None } from "../support.ts"

test("a contract that is not kept is reported: this one is false on purpose", () => {
  type Claim = Differences<{ StopReason: StopReason }, { StopReason: "stop" | "error" | "canary" }>
  expectTypeOf<Claim>().toEqualTypeOf<None>()
})
