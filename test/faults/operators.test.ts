import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { CHAPTERS } from "../../scripts/course/manifest.ts"
import { OPERATORS, runOperator, runOperatorAtEnds, SAMPLE, type Verdict } from "../../scripts/faults/run.ts"
import { RULES } from "../../scripts/rules/index.ts"
import { readChapters } from "../../scripts/rules/judge.ts"
import { ROOT } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"

const surfaces = readChapters(CHAPTERS)
const verdicts = new Map<string, Verdict[]>()

describe("the check can fail", () => {
  test.each(OPERATORS.map((operator) => [operator.name, operator] as const))("%s", (name, operator) => {
    const found = DEEP ? runOperator(operator, surfaces, SAMPLE) : runOperatorAtEnds(operator, surfaces)
    verdicts.set(name, found)
    expect(found.length).toBeGreaterThan(0)
    expect(found.filter((verdict) => !verdict.right)).toEqual([])
  })

  test("each rule is the one that is meant by some damage", () => {
    const meant = OPERATORS.map((operator) => operator.rule).filter((rule) => rule !== undefined)
    const unmet = RULES.filter((rule) => !meant.some((pattern) => new RegExp(pattern).test(rule.id)))
    // A changed signature of a class member is an upgrade or nothing, a type cannot become an interface by one edit, and the course's own
    // chapters have the shape that they have.
    expect(unmet.map((rule) => rule.id)).toEqual(["R2-SIGNATURE", "R8-KIND", "U2-OTHER-SHAPE"])
  })

  test.runIf(DEEP).each(["README.md", "README.en.md"])("%s states how many faults were planted", (file) => {
    const count = (harmless: boolean): number =>
      OPERATORS.filter((operator) => (operator.rule === undefined) === harmless).reduce(
        (sum, { name }) => sum + (verdicts.get(name)?.length ?? 0),
        0,
      )
    const text = fs.readFileSync(path.join(ROOT, file), "utf8")
    const stated = /npm run check:mutants\D+(\d+)\D+(\d+)/.exec(text)?.slice(1).map(Number)
    expect(stated).toEqual([count(false), count(true)])
  })
})
