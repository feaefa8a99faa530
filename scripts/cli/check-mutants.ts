/**
 * Proves that the check can fail: damages every chapter in every way it knows, and edits it in ways that do no damage.
 *
 *   npm run check:mutants            a few places of each kind in each chapter
 *   npm run check:mutants -- --all   every place; takes minutes
 *
 * Exit code 0: each damage was found by the rule meant for it, and no harmless edit was reported; 1: not so.
 */
import { parseArgs } from "node:util"
import chalk from "chalk"
import { CHAPTERS } from "../course/manifest.ts"
import { countVerdicts, OPERATORS, type Row, runOperator, SAMPLE, type Verdict } from "../faults/run.ts"
import { readChapters } from "../rules/judge.ts"
import { runCommand } from "./terminal.ts"

function show({ operator, rule, mutants, right, single }: Row): string {
  const cells = `${operator.padEnd(48)}${rule.padEnd(26)}${String(mutants).padStart(8)}${String(right).padStart(8)}`
  return `${right === mutants ? cells : chalk.red(cells)}${rule === "none" ? "" : String(single).padStart(8)}`
}

await runCommand("usage: npm run check:mutants -- [--all]", (args) => {
  const { values } = parseArgs({ args, options: { all: { type: "boolean", default: false } } })
  const surfaces = readChapters(CHAPTERS)
  const wrong: Verdict[] = []
  let damage = 0
  let harmless = 0
  console.log(
    chalk.bold(
      `${"edit".padEnd(48)}${"rule".padEnd(26)}${"mutants".padStart(8)}${"right".padStart(8)}${"single".padStart(8)}`,
    ),
  )
  for (const operator of OPERATORS) {
    const verdicts = runOperator(operator, surfaces, values.all ? undefined : SAMPLE)
    wrong.push(...verdicts.filter((verdict) => !verdict.right))
    if (operator.rule === undefined) harmless += verdicts.length
    else damage += verdicts.length
    console.log(show(countVerdicts(operator, verdicts)))
  }
  for (const { operator, chapter, target, findings } of wrong)
    console.log(chalk.red(`${operator}, ${chapter} ${target}: ${findings.join(", ") || "nothing found"}`))
  console.log(`\n${damage} planted faults, ${harmless} harmless edits, ${wrong.length} judged wrong.`)
  return wrong.length === 0 ? 0 : 1
})
