/**
 * Proves that the check can fail: damages every chapter in every way it knows, and edits it in ways that do no damage.
 *
 *   npm run check:mutants            a few places of each kind in each chapter
 *   npm run check:mutants -- --all   every place; takes minutes
 *   npm run check:mutants -- --accept  writes how many there were into both READMEs
 *
 * Exit code 0: each damage was found by the rule meant for it, and no harmless edit was reported; 1: not so.
 */
import fs from "node:fs"
import path from "node:path"
import type { ChalkInstance } from "chalk"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS } from "../course/manifest.ts"
import { chapterFiles } from "../course/source.ts"
import { countVerdicts, OPERATORS, type Row, runOperator, SAMPLE, type Verdict } from "../faults/run.ts"
import { readChapters } from "../rules/judge.ts"
import { readOptions } from "./options.ts"
import type { Command } from "./terminal.ts"

function line(edit: string, rule: string, ...counts: (number | string)[]): string {
  return `${edit.padEnd(48)}${rule.padEnd(26)}${counts.map((one) => String(one).padStart(8)).join("")}`
}

function show({ operator, rule, mutants, right, single }: Row, paint: ChalkInstance): string {
  const cells = line(operator, rule, mutants, right)
  return `${right === mutants ? cells : paint.red(cells)}${rule === "none" ? "" : String(single).padStart(8)}`
}

/** Where a README says how many faults were planted, and how many edits were harmless. */
const STATED = /(npm run check:mutants\D+)\d+(\D+)\d+/

/** Writes into both READMEs how many there were. Throws an `InputError`, and writes nothing, where one does not say it anywhere. */
export function stateCounts(root: string, damage: number, harmless: number): void {
  const files = ["README.md", "README.en.md"].map((name) => path.join(root, name))
  const texts = files.map((file) => {
    const text = fs.readFileSync(file, "utf8")
    if (!STATED.test(text)) throw new InputError(`${file} does not say how many faults npm run check:mutants plants`)
    return text.replace(STATED, `$1${damage}$2${harmless}`)
  })
  for (const [index, text] of texts.entries()) fs.writeFileSync(files[index] as string, text)
}

/** npm run check:mutants */
export const command: Command = {
  usage: "usage: npm run check:mutants -- [--all | --accept]",
  run(args, { out, paint, root }) {
    const { values } = readOptions({
      args,
      options: { all: { type: "boolean", default: false }, accept: { type: "boolean", default: false } },
    })
    if (values.all && values.accept) throw new InputError("--all and --accept exclude each other")
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
    if (wrong.length > 0) return 1
    if (!values.accept) return 0
    stateCounts(root, damage, harmless)
    return 0
  },
}
