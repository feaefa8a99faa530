/**
 * Holds the chapters against the constitution.
 *
 *   npm run check                          all chapters
 *   npm run check -- --upto s06            the chapters up to s06
 *   npm run check -- --only s04            s04 against s03
 *   npm run check -- --as s04 my/code.ts   your file in the place of s04; says where it first deviates
 *
 * Exit code 0: everything holds; 1: something was found; 2: the check could not be made.
 */
import fs from "node:fs"
import path from "node:path"
import { parseArgs } from "node:util"
import chalk from "chalk"
import { readSurface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile } from "../course/source.ts"
import { RULES } from "../rules/index.ts"
import { assertOrder, checkSteps, pairChapters, readChapters, type Step } from "../rules/judge.ts"
import type { Finding } from "../rules/rule.ts"
import { describeFinding, githubAnnotation, jsonReport, showFile, tableReport } from "./report.ts"
import { runCommand, toJson, visible } from "./terminal.ts"

const USAGE = "usage: npm run check -- [--upto sNN] [--only sNN] [--as sNN FILE] [--json] [--github] [--watch]"

type Selection = {
  steps: () => Step[]
  /** The file that stands in for a chapter, with `--as`. */
  file?: string
}

/** The chapter before another one, if there is one. */
function before(chapter: Chapter): Chapter | undefined {
  return CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
}

/** One chapter, or the file that stands in for it, against the chapter before it. */
function singleStep(chapter: Chapter, file?: string): Step[] {
  const previous = before(chapter)
  const steps = pairChapters([readSurface(chapter, file)], previous && readSurface(previous))
  return file === undefined ? steps : steps.map((step) => ({ ...step, course: readSurface(chapter) }))
}

function select(values: { upto?: string; only?: string; as?: string }, positionals: string[]): Selection {
  assertOrder(CHAPTERS)
  const given = [values.upto, values.only, values.as].filter((value) => value !== undefined)
  if (given.length > 1) throw new InputError("--upto, --only and --as exclude each other")
  if (values.as !== undefined) {
    const chapter = findChapter(values.as)
    const [name, ...more] = positionals
    if (name === undefined || more.length > 0)
      throw new InputError(`--as ${chapter.id} expects one file, got ${positionals.length}`)
    const file = path.resolve(name)
    return { file, steps: () => singleStep(chapter, file) }
  }
  if (positionals.length > 0)
    throw new InputError(
      `unexpected "${positionals.join(" ")}": to check a file of your own, say which chapter it is with --as`,
    )
  if (values.only !== undefined) {
    const chapter = findChapter(values.only)
    return { steps: () => singleStep(chapter) }
  }
  const last = values.upto === undefined ? "s12" : findChapter(values.upto).id
  return { steps: () => pairChapters(readChapters(CHAPTERS.filter((chapter) => chapter.id <= last))) }
}

/** The first deviation of a reader's file, in plain words. */
function firstDeviation(findings: readonly Finding[], file: string, chapter: string): string {
  const [first] = findings
  if (first === undefined)
    return chalk.green(
      `${showFile(file)} holds as ${chapter}: it keeps all that was there and adds what ${chapter} adds.`,
    )
  const where = first.next === undefined ? "" : ` at line ${first.next.line}`
  return chalk.bold(`Your ${chapter} first deviates${where}: ${visible(first.message)}.`)
}

/** How to fix a file of one's own, where the rule would otherwise speak of the course's manifest. */
const FOR_READERS: Record<string, string> = {
  "R8-UNUSED":
    "Make the change that the chapter announces; npm run diff -- sNN shows it. What is new is exported, under its banner, above the demo.",
  "R8-UNLISTED": "Give it a name that the chapter adds, or move it into the demo.",
  "R8-PLACE":
    "Move it to the end of the core, under the banner of the chapter; what belongs to a later chapter does not stand here yet.",
}

/** The findings as a reader needs them: each thing once, and fixed in the file at hand. */
function forReader(findings: readonly Finding[]): Finding[] {
  const misplaced = new Set(findings.filter(({ rule }) => rule === "R8-PLACE").map(({ symbol }) => symbol))
  return findings
    .filter(({ rule, symbol }) => rule !== "R8-UNLISTED" || !misplaced.has(symbol))
    .map((finding) => ({ ...finding, fix: FOR_READERS[finding.rule] ?? finding.fix }))
}

function runOnce(selection: Selection, values: { json: boolean; github: boolean }): number {
  const steps = selection.steps()
  const found = checkSteps(steps)
  const findings = selection.file === undefined ? found : forReader(found)
  const exitCode = findings.length === 0 ? 0 : 1
  if (values.json) {
    console.log(toJson(jsonReport(steps, findings)))
    return exitCode
  }
  console.log(`${tableReport(steps, findings)}\n`)
  if (selection.file !== undefined)
    console.log(`${firstDeviation(findings, selection.file, steps[0]?.chapter.id ?? "")}\n`)
  for (const finding of findings) console.log(`${describeFinding(finding, steps)}\n`)
  if (values.github) for (const finding of findings) console.log(githubAnnotation(finding))
  const count = `${steps.length} ${steps.length === 1 ? "chapter" : "chapters"}, ${RULES.length} rules`
  if (findings.length === 0) console.log(chalk.green(`The constitution holds: ${count}, nothing found.`))
  else console.log(chalk.red(`${count}: ${findings.length} found.`))
  return exitCode
}

/** Checks again whenever a file that was read changes. Ends with the process. */
async function watch(selection: Selection, values: { json: boolean; github: boolean }): Promise<number> {
  const again = (): void => {
    try {
      runOnce(selection, values)
    } catch (error) {
      console.error(`error: ${(error as Error).message}`)
    }
    console.log(chalk.dim("Watching; Ctrl+C ends."))
  }
  const files = [
    ...CHAPTERS.map((chapter) => chapterFile(chapter)),
    ...(selection.file === undefined ? [] : [selection.file]),
  ]
  let timer: NodeJS.Timeout | undefined
  for (const folder of new Set(files.map((file) => path.dirname(file)))) {
    if (!fs.existsSync(folder)) continue
    try {
      fs.watch(folder, () => {
        clearTimeout(timer)
        timer = setTimeout(again, 50)
      })
    } catch (error) {
      throw new InputError(`${showFile(folder)} cannot be watched: ${(error as Error).message}`)
    }
  }
  // Nobody is left to watch for.
  process.stdout.on("error", () => process.exit())
  again()
  return new Promise(() => {})
}

await runCommand(USAGE, (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      upto: { type: "string" },
      only: { type: "string" },
      as: { type: "string" },
      json: { type: "boolean", default: false },
      github: { type: "boolean", default: process.env.GITHUB_ACTIONS === "true" },
      watch: { type: "boolean", default: false },
    },
  })
  const selection = select(values, positionals)
  return values.watch ? watch(selection, values) : runOnce(selection, values)
})
