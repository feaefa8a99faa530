/** Applies every operator to every chapter and asks the rules. */

import { mergeTexts } from "../chapter/merge.ts"
import { readSurface, type Surface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { checkSteps, pairChapters } from "../rules/judge.ts"
import type { Finding } from "../rules/rule.ts"
import { DAMAGE, HARMLESS, type Mutant, type Operator } from "./operators.ts"

/** What the rules said to one mutant. */
export type Verdict = {
  operator: string
  chapter: string
  target: string
  /** For damage: found by the rule meant for it. For a harmless edit: nothing found. */
  right: boolean
  /** What was found. */
  findings: string[]
}

/** The mutants of one operator over all chapters, in numbers. */
export type Row = {
  operator: string
  rule: string
  mutants: number
  right: number
  /** How many gave exactly one finding. */
  single: number
}

function judge(mutant: Mutant, index: number, surfaces: readonly Surface[], operator: Operator): Verdict {
  const now = surfaces[index] as Surface
  const chapter = mutant.chapter ?? now.chapter
  const text = mutant.text ?? now.text
  const changed = surfaces.map((surface, place) => {
    if (place === index) return readSurface(chapter, surface.file, text)
    return mutant.carried && place > index
      ? readSurface(surface.chapter, surface.file, carry(surface.text, now.text, text))
      : surface
  })
  const end = mutant.carried ? undefined : index + 2
  const steps = pairChapters(changed.slice(index, end), surfaces[index - 1])
  const findings: Finding[] = checkSteps(steps)
  const meant = findings.filter((finding) => new RegExp(operator.rule ?? "$^").test(finding.rule))
  const named = meant.some(
    ({ symbol }) => operator.anywhere || mutant.target.split(/[. ]/).includes(symbol.split(".")[0] ?? ""),
  )
  const right = operator.rule === undefined ? findings.length === 0 : named
  return {
    operator: operator.name,
    chapter: chapter.id,
    target: mutant.target,
    right,
    findings: findings.map(({ rule, chapter: id, symbol: name }) => `${rule} ${id} ${name}`),
  }
}

/** The same edit in a later chapter. */
function carry(later: string, before: string, after: string): string {
  const merge = mergeTexts(later, before, after)
  if (merge.type === "merged") return merge.text
  throw new InputError("the places around it have changed, so this edit cannot be carried")
}

/** At most `limit` of the items, spread evenly. */
function spread<T>(items: readonly T[], limit: number): T[] {
  if (items.length <= limit) return [...items]
  return Array.from({ length: limit }, (_, index) => items[Math.floor((index * items.length) / limit)] as T)
}

/** Runs one operator over all chapters, on at most `limit` places of each. */
export function runOperator(
  operator: Operator,
  surfaces: readonly Surface[],
  limit: number = Number.POSITIVE_INFINITY,
): Verdict[] {
  return surfaces.flatMap((_now, index) =>
    spread(mutantsOf(operator, index, surfaces), limit).flatMap((mutant) =>
      judgeIfReal(mutant, index, surfaces, operator),
    ),
  )
}

/** Runs one operator on one place of the first chapter that has one, and on one of the last. */
export function runOperatorAtEnds(operator: Operator, surfaces: readonly Surface[]): Verdict[] {
  const indices = [...surfaces.keys()]
  const found = [indices, indices.toReversed()].map((order) => firstVerdict(operator, surfaces, order))
  const [first, last] = found
  return [first, ...(last?.chapter === first?.chapter ? [] : [last])].filter((verdict) => verdict !== undefined)
}

function firstVerdict(operator: Operator, surfaces: readonly Surface[], order: readonly number[]): Verdict | undefined {
  for (const index of order) {
    for (const mutant of mutantsOf(operator, index, surfaces)) {
      const [verdict] = judgeIfReal(mutant, index, surfaces, operator)
      if (verdict !== undefined) return verdict
    }
  }
  return undefined
}

/** Every place of a chapter where an operator changes something. */
function mutantsOf(operator: Operator, index: number, surfaces: readonly Surface[]): Mutant[] {
  const now = surfaces[index] as Surface
  const mutants = operator.mutate({ old: surfaces[index - 1], now, last: index === surfaces.length - 1 })
  return mutants.filter(({ text }) => text !== now.text)
}

/** The verdict on a mutant. An edit that leaves no TypeScript behind, or cannot be carried, is no mutant and has none. */
function judgeIfReal(mutant: Mutant, index: number, surfaces: readonly Surface[], operator: Operator): Verdict[] {
  try {
    return [judge(mutant, index, surfaces, operator)]
  } catch (error) {
    if (error instanceof InputError) return []
    throw error
  }
}

/** A row of the table. */
export function countVerdicts(operator: Operator, verdicts: readonly Verdict[]): Row {
  return {
    operator: operator.name,
    rule: operator.rule ?? "none",
    mutants: verdicts.length,
    right: verdicts.filter((verdict) => verdict.right).length,
    single: verdicts.filter((verdict) => verdict.findings.length === 1).length,
  }
}

/** How many places per operator and chapter the tests try. */
export const SAMPLE = 2

/** Every operator: the damage first. */
export const OPERATORS: readonly Operator[] = [...DAMAGE, ...HARMLESS]
