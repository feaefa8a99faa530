/**
 * Proves that the check can fail: damages every chapter in every way it knows, and edits it in ways that do no damage.
 *
 *   npm run check:mutants            a few places of each kind in each chapter
 *   npm run check:mutants -- --all   every place; takes minutes
 *
 * Exit code 0: each damage was found by the rule meant for it, and no harmless edit was reported; 1: not so.
 */
import { parseArgs } from "node:util"
import type { ChalkInstance } from "chalk"
import { CHAPTERS } from "../course/manifest.ts"
import { chapterFiles } from "../course/source.ts"
import { countVerdicts, OPERATORS, type Row, runOperator, SAMPLE, type Verdict } from "../faults/run.ts"
import { readChapters } from "../rules/judge.ts"
import type { Command } from "./terminal.ts"

function line(edit: string, rule: string, ...counts: (number | string)[]): string {
  return `${edit.padEnd(48)}${rule.padEnd(26)}${counts.map((one) => String(one).padStart(8)).join("")}`
}

function show({ operator, rule, mutants, right, single }: Row, paint: ChalkInstance): string {
  const cells = line(operator, rule, mutants, right)
  return `${right === mutants ? cells : paint.red(cells)}${rule === "none" ? "" : String(single).padStart(8)}`
}

/** npm run check:mutants */
export const command: Command = {
  usage: "usage: npm run check:mutants -- [--all]",
  run(args, { out, paint, root }) {
    const { values } = parseArgs({ args, options: { all: { type: "boolean", default: false } } })
    const surfaces = readChapters(CHAPTERS, chapterFiles(root))
    const wrong: Verdict[] = []
    let damage = 0
    let harmless = 0
    out(paint.bold(line("edit", "rule", "mutants", "right", "single")))
    for (const operator of OPERATORS) {
      const verdicts = runOperator(operator, surfaces, values.all ? undefined : SAMPLE)
      wrong.push(...verdicts.filter((verdict) => !verdict.right))
      if (operator.rule === undefined) harmless += verdicts.length
      else damage += verdicts.length
      out(show(countVerdicts(operator, verdicts), paint))
    }
    for (const { operator, chapter, target, findings } of wrong)
      out(paint.red(`${operator}, ${chapter} ${target}: ${findings.join(", ") || "nothing found"}`))
    out(`\n${damage} planted faults, ${harmless} harmless edits, ${wrong.length} judged wrong.`)
    return wrong.length === 0 ? 0 : 1
  },
}
