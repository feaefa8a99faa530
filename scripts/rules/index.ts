/** All rules that are checked on the text of the chapters. */
import { I1 } from "./i1.ts"
import { R1 } from "./r1.ts"
import { R2 } from "./r2.ts"
import { R3 } from "./r3.ts"
import { R7 } from "./r7.ts"
import { R8 } from "./r8.ts"
import type { Rule } from "./rule.ts"
import { U2 } from "./u2.ts"

/** The rules, in the order of the constitution. */
export const RULES: readonly Rule[] = [...R1, ...R2, ...R3, ...R7, ...R8, ...U2, ...I1]
