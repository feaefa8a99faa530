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
import { readSurface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile, chapterFiles } from "../course/source.ts"
import { RULES } from "../rules/index.ts"
import { assertOrder, checkSteps, pairChapters, readChapters } from "../rules/judge.ts"
import type { Finding, Step } from "../rules/rule.ts"
import { describeFinding, githubAnnotation, jsonReport, tableReport } from "./report.ts"
import { type Command, count, describeError, showFile, type Terminal, toJson, visible } from "./terminal.ts"

type Selection = {
  steps: () => Step[]
  /** The file that stands in for a chapter, with `--as`. */
  file?: string
}

/** How the findings are to be shown. */
type Form = { json: boolean; github: boolean }

/** One chapter, or the file that stands in for it, against the chapter before it. */
function singleStep(chapter: Chapter, root: string, file?: string): Step[] {
  const previous = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
  const read = (one: Chapter, place: string = chapterFile(one, root)) => readSurface(one, place)
  const steps = pairChapters([read(chapter, file)], previous && read(previous))
  return file === undefined ? steps : steps.map((step) => ({ ...step, course: read(chapter) }))
}

function select(
  values: { upto?: string; only?: string; as?: string },
  positionals: string[],
  { root, directory }: Terminal,
): Selection {
  assertOrder(CHAPTERS)
  const given = [values.upto, values.only, values.as].filter((value) => value !== undefined)
  if (given.length > 1) throw new InputError("--upto, --only and --as exclude each other")
  if (values.as !== undefined) {
    const chapter = findChapter(values.as)
    const [name, ...more] = positionals
    if (name === undefined || more.length > 0)
      throw new InputError(`--as ${chapter.id} expects one file, got ${positionals.length}`)
    const file = path.resolve(directory, name)
    return { file, steps: () => singleStep(chapter, root, file) }
  }
  if (positionals.length > 0)
    throw new InputError(
      `unexpected "${positionals.join(" ")}": to check a file of your own, say which chapter it is with --as`,
    )
  if (values.only !== undefined) {
    const chapter = findChapter(values.only)
    return { steps: () => singleStep(chapter, root) }
  }
  const last = values.upto === undefined ? CHAPTERS.length : CHAPTERS.indexOf(findChapter(values.upto)) + 1
  return { steps: () => pairChapters(readChapters(CHAPTERS.slice(0, last), chapterFiles(root))) }
}

/** The first deviation of a reader's file, in plain words. */
function firstDeviation(findings: readonly Finding[], file: string, chapter: string, terminal: Terminal): string {
  const { paint } = terminal
  const [first] = findings
  if (first === undefined)
    return paint.green(
      `${showFile(file, terminal)} holds as ${chapter}: it keeps all that was there and adds what ${chapter} adds.`,
    )
  const where = first.next === undefined ? "" : ` at line ${first.next.line}`
  return paint.bold(`Your ${chapter} first deviates${where}: ${visible(first.message)}.`)
}

/** The findings as a reader needs them: each thing once, and fixed in the file at hand. */
function forReader(findings: readonly Finding[]): Finding[] {
  const misplaced = new Set(findings.filter(({ rule }) => rule === "R8-PLACE").map(({ symbol }) => symbol))
  return findings
    .filter(({ rule, symbol }) => rule !== "R8-UNLISTED" || !misplaced.has(symbol))
    .map((finding) => ({ ...finding, fix: RULES.find(({ id }) => id === finding.rule)?.fixForReader ?? finding.fix }))
}

function runOnce({ steps: readSteps, file }: Selection, { json, github }: Form, terminal: Terminal): number {
  const { out, paint } = terminal
  const steps = readSteps()
  const found = checkSteps(steps)
  const findings = file === undefined ? found : forReader(found)
  const exitCode = findings.length === 0 ? 0 : 1
  if (json) {
    out(toJson(jsonReport(steps, findings, terminal)))
    return exitCode
  }
  out(`${tableReport(steps, findings, terminal)}\n`)
  if (file !== undefined) out(`${firstDeviation(findings, file, steps[0]?.chapter.id ?? "", terminal)}\n`)
  for (const finding of findings) out(`${describeFinding(finding, steps, terminal)}\n`)
  if (github) for (const finding of findings) out(githubAnnotation(finding, terminal))
  const what = `${count(steps.length, "chapter")}, ${RULES.length} rules`
  if (findings.length === 0) out(paint.green(`The constitution holds: ${what}, nothing found.`))
  else out(paint.red(`${what}: ${findings.length} found.`))
  return exitCode
}

/** Checks again whenever a file that was read changes, until nobody reads along. With `--json`, standard output has reports only. */
async function watch(selection: Selection, form: Form, terminal: Terminal): Promise<number> {
  const { closed, err, out, paint, root } = terminal
  const again = (): void => {
    try {
      runOnce(selection, form, terminal)
    } catch (error) {
      err(`error: ${visible(describeError(error as Error, terminal))}`)
    }
    const say = form.json ? err : out
    say(paint.dim("Watching; Ctrl+C ends."))
  }
  const files = [...Object.values(chapterFiles(root)), ...(selection.file === undefined ? [] : [selection.file])]
  const watchers: fs.FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  for (const folder of new Set(files.map((file) => path.dirname(file)))) {
    if (!fs.existsSync(folder)) continue
    try {
      const watcher = fs.watch(folder, () => {
        clearTimeout(timer)
        timer = setTimeout(again, 50)
      })
      watchers.push(watcher)
    } catch (error) {
      throw new InputError(`${showFile(folder, terminal)} cannot be watched: ${(error as Error).message}`)
    }
  }
  again()
  return new Promise((resolve) =>
    closed.addEventListener("abort", () => {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
      resolve(0)
    }),
  )
}

/** npm run check */
export const command: Command = {
  usage: "usage: npm run check -- [--upto sNN] [--only sNN] [--as sNN FILE] [--json] [--github] [--watch]",
  run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        upto: { type: "string" },
        only: { type: "string" },
        as: { type: "string" },
        json: { type: "boolean", default: false },
        github: { type: "boolean", default: terminal.env.GITHUB_ACTIONS === "true" },
        watch: { type: "boolean", default: false },
      },
    })
    const selection = select(values, positionals, terminal)
    return values.watch ? watch(selection, values, terminal) : runOnce(selection, values, terminal)
  },
}
