/**
 * The fault lab: break an invariant, see how far from the cause the damage shows, install the guard, and see it fail at the first deviation.
 *
 *   npm run lab                      lists the experiments
 *   npm run lab -- i4                runs one
 *   npm run lab -- i4 --runs 20 --seed 3 --chapter s04
 *   npm run lab -- i4 --json         for programs; --save FOLDER keeps the transcripts
 *
 * Exit code 0: the experiment ran; 2: it could not.
 */
import fs from "node:fs"
import path from "node:path"
import { parseArgs } from "node:util"
import type { ChalkInstance } from "chalk"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { EXPERIMENTS, type Experiment } from "../lab/experiments.ts"
import { type LabReport, runExperiment, type Trial } from "../lab/run.ts"
import type { Line, Transcript } from "../lab/session.ts"
import { type Command, count, MAX_WIDTH, readWholeNumber, toJson, visible } from "./terminal.ts"

function showSideBySide(baseline: Transcript, run: Trial, width: number, paint: ChalkInstance): string {
  const half = Math.max(30, Math.floor((width - 8) / 2))
  const cell = (line: Line | undefined): string => {
    const text = line === undefined ? "" : `${line.kind === "request" ? "→ " : "  "}${visible(line.text)}`
    return text.length > half ? `${text.slice(0, half - 1)}…` : text.padEnd(half)
  }
  const length = Math.max(baseline.lines.length, run.transcript.lines.length)
  const rows = Array.from({ length }, (_, index) => {
    const mark = index === run.deviation ? "▶" : index === run.transcript.visible?.line ? "✗" : " "
    const differs = baseline.lines[index]?.text !== run.transcript.lines[index]?.text
    const right = cell(run.transcript.lines[index])
    return `${String(index).padStart(3)} ${cell(baseline.lines[index])} ${mark}${differs ? paint.yellow(right) : right}`.trimEnd()
  })
  return [paint.bold(`    ${"as it is".padEnd(half)}  with the fault, seed ${run.seed}`), ...rows].join("\n")
}

function showRun(run: Trial): string {
  const { visible } = run.transcript
  if (run.deviation < 0) return "no deviation"
  const where = `first deviation at line ${run.deviation}`
  if (visible === undefined || run.distance === undefined) return `${where}, and nobody noticed`
  const far = `${count(run.distance.messages, "message")} and ${count(run.distance.requests, "request")} later`
  return `${where}; ${visible.line === run.deviation ? "visible right there" : `visible at line ${visible.line}, ${far}`}: ${visible.what}`
}

function showReport(experiment: Experiment, report: LabReport, width: number, paint: ChalkInstance): string {
  const { baseline, runs, guarded } = report
  const shown = runs.find((run) => run.deviation >= 0) ?? (runs[0] as Trial)
  const kinds = new Set(runs.map((run) => JSON.stringify(run.transcript.lines))).size
  const deviating = runs.filter((run) => run.deviation >= 0).length
  const noticed = runs.filter((run) => run.transcript.visible !== undefined).length
  return [
    `${paint.bold(`${experiment.id}  ${experiment.title}`)}  (${experiment.invariant}, on ${report.chapter})`,
    "",
    showSideBySide(baseline, shown, width, paint),
    "",
    `▶ ${showRun(shown)}`,
    `${count(runs.length, "run")}: ${count(kinds, "different transcript")}, ${deviating} deviated, ${noticed} could be noticed`,
    "",
    `${paint.bold("With the guard")} (${experiment.guard}), seed ${guarded.seed}:`,
    guarded.deviation < 0 ? "  the transcript is the baseline: the fault cannot happen" : `  ${showRun(guarded)}`,
    "",
    `${paint.bold("Question")}  ${experiment.question}`,
    `  ${paint.cyan(nextCommand(experiment, report.chapter))}`,
  ].join("\n")
}

/** The command that answers the question, on the chapter at hand. */
function nextCommand({ next }: Experiment, chapter: string): string {
  return next.startsWith("npm run lab") && chapter !== CHAPTERS.at(-1)?.id ? `${next} --chapter ${chapter}` : next
}

function listExperiments(paint: ChalkInstance): string {
  const rows = EXPERIMENTS.map(
    ({ id, invariant, title, first }) => `  ${id.padEnd(8)} ${invariant.padEnd(8)} from ${first}  ${title}`,
  )
  return [paint.bold("Experiments"), ...rows, "", "Run one: npm run lab -- i4"].join("\n")
}

/** Makes the folder for transcripts. Throws an `InputError` where there can be none. */
function prepareFolder(folder: string, directory: string): void {
  const place = path.resolve(directory, folder)
  try {
    if (folder === "") throw new Error("it has no name")
    fs.mkdirSync(place, { recursive: true })
    fs.accessSync(place, fs.constants.W_OK)
  } catch (error) {
    throw new InputError(`--save expects a folder that can be written to, got "${folder}": ${(error as Error).message}`)
  }
}

function save(folder: string, directory: string, report: LabReport): string[] {
  const write = (name: string, transcript: Transcript): string => {
    const file = path.join(folder, name)
    fs.writeFileSync(path.resolve(directory, file), `${transcript.lines.map(({ text }) => text).join("\n")}\n`)
    return file
  }
  return [
    write(`${report.experiment}-baseline.txt`, report.baseline),
    ...report.runs.map((run) => write(`${report.experiment}-fault-${run.seed}.txt`, run.transcript)),
    write(`${report.experiment}-guarded-${report.guarded.seed}.txt`, report.guarded.transcript),
  ]
}

/** So many transcripts are kept in memory; each run takes a few milliseconds. */
const MAX_RUNS = 10_000

/** npm run lab */
export const command: Command = {
  usage:
    "usage: npm run lab -- [EXPERIMENT] [--runs N] [--seed N] [--chapter sNN] [--json] [--save FOLDER] [--width N]",
  async run(args, { out, err, progress, columns, paint, directory, root }) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        runs: { type: "string" },
        seed: { type: "string" },
        chapter: { type: "string" },
        width: { type: "string" },
        save: { type: "string" },
        json: { type: "boolean", default: false },
      },
    })
    const [name, ...more] = positionals
    if (more.length > 0) throw new InputError(`expected one experiment, got "${positionals.join(" ")}"`)
    if (name === undefined) {
      const list = EXPERIMENTS.map(({ id, invariant, title, first }) => ({ id, invariant, title, first }))
      out(values.json ? toJson(list) : listExperiments(paint))
      return 0
    }
    const experiment = EXPERIMENTS.find(({ id }) => id === name.toLowerCase())
    if (experiment === undefined)
      throw new InputError(
        `unknown experiment "${name}": expected one of ${EXPERIMENTS.map(({ id }) => id).join(", ")}`,
      )
    const chapter = values.chapter === undefined ? (CHAPTERS.at(-1) as Chapter) : findChapter(values.chapter)
    const runs = readWholeNumber("runs", values.runs, { fallback: 5, least: 1, most: MAX_RUNS })
    const most = Number.MAX_SAFE_INTEGER - MAX_RUNS
    const seed = readWholeNumber("seed", values.seed, { fallback: 1, least: 0, most })
    const width = readWholeNumber("width", values.width, { fallback: columns ?? 120, least: 40, most: MAX_WIDTH })
    if (values.save !== undefined) prepareFolder(values.save, directory)
    const tell = runs > 100 ? progress : undefined
    const show = (done: number): void => {
      if (done % 50 === 0) tell?.(`\r${done} of ${runs} runs`)
    }
    const report = await runExperiment(experiment, chapter, seed, runs, show, root)
    tell?.("\r\n")
    out(values.json ? toJson(report) : showReport(experiment, report, width, paint))
    if (values.save !== undefined)
      for (const file of save(values.save, directory, report)) err(`saved ${visible(file)}`)
    return 0
  },
}
