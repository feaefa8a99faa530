import { median } from "./figures.ts"

/**
 * What is compared: a tool round, its growth within a run, the rebuild of a long path, the start of a chapter's demo, the check, practice from a save to its answer; and of the app, adding
 * to a session file and opening one, a prompt over HTTP, and a run with many listeners.
 */
export type Suite =
  | "loop"
  | "growth"
  | "rebuild"
  | "start"
  | "check"
  | "practice"
  | "append"
  | "open"
  | "prompt"
  | "events"

/** What a row is about. */
export type Subject = {
  suite: Suite
  /** How many rounds or entries, or which chapter. */
  task: string
  unit: "us/round" | "us/entry" | "late/early" | "ms"
}

/** One contestant at one task. The first row of a task is the one that is judged; it is held against the others. */
export type Row = Subject & {
  name: string
  /** Over all processes; `min` and `max` are the extremes. */
  median: number
  min: number
  max: number
  /** The first row's median over this one; for growth, the first row's own median. */
  ratio?: number
  /** The most that `ratio` may be, where the course says so. */
  bound?: number
  verdict?: "ok" | "over"
}

/** What `--json` prints. */
export type Report = {
  /** The version of Node. */
  node: string
  /** Processes per figure. */
  repeat: number
  rows: Row[]
}

/** The bounds of the course, by the name in the row that carries the ratio. */
const BOUNDS: Record<Suite, Record<string, number>> = {
  loop: { floor: 2, pi081: 0.5 },
  growth: { s12: 1.5 },
  rebuild: { floor: 1.5, pi081: 0.1 },
  start: { "empty file": 1.15 },
  check: { "tsc --noEmit": 3.5 },
  practice: { demo: 2 },
  append: { floor: 1.5 },
  open: { "lines only": 2, pi081: 1 },
  prompt: {},
  events: {},
}

function summarize(subject: Subject, samples: Map<string, number[]>): Row[] {
  return [...samples].map(([name, values]) => {
    return { ...subject, name, median: median(values), min: Math.min(...values), max: Math.max(...values) }
  })
}

function judge(row: Row, ratio: number): Row {
  const bound = BOUNDS[row.suite][row.name]
  return { ...row, ratio, ...(bound !== undefined && { bound, verdict: ratio <= bound ? "ok" : "over" }) }
}

/** Holds the first contestant against each of the others. */
export function compareWithOthers(subject: Subject, samples: Map<string, number[]>): Row[] {
  const rows = summarize(subject, samples)
  return rows.map((row, index) => (index === 0 ? row : judge(row, (rows[0]?.median ?? Number.NaN) / row.median)))
}

/** Holds the first contestant against 1, which is flat. The others are there to be looked at. */
export function compareWithFlat(subject: Subject, samples: Map<string, number[]>): Row[] {
  return summarize(subject, samples).map((row, index) => (index === 0 ? judge(row, row.median) : row))
}

/** The line above the rows. */
export const HEADER: string = formatLine("", "task", "name", "median", "(min - max)", "", "ratio", "bound", "")

/** A row as a line of the table. */
export function formatRow({ suite, task, name, unit, median, min, max, ratio, bound, verdict }: Row): string {
  const range = `(${formatNumber(min)} - ${formatNumber(max)})`
  const limit = bound === undefined ? "" : `<= ${bound}`
  return formatLine(suite, task, name, formatNumber(median), range, unit, ratio?.toFixed(3) ?? "", limit, verdict ?? "")
}

function formatNumber(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
}

function formatLine(
  ...[suite = "", task = "", name = "", value = "", range = "", unit = "", ratio = "", ...rest]: string[]
): string {
  const left = [suite.padEnd(8), task.padEnd(15), name.padEnd(13)]
  const right = [
    value.padStart(7),
    range.padEnd(16),
    unit.padEnd(11),
    ratio.padStart(7),
    ...rest.map((cell) => cell.padEnd(8)),
  ]
  return [...left, ...right].join(" ").trimEnd()
}
