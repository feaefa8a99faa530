import { spawnSync } from "node:child_process"
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { command as practice } from "../scripts/cli/practice.ts"
import { openTerminal, runCommand, type Terminal } from "../scripts/cli/terminal.ts"
import { InputError } from "../scripts/course/input-error.ts"
import { ROOT } from "../scripts/course/source.ts"
import { compileContestants } from "./compile.ts"
import type { LoopFigures, SessionFigures } from "./figures.ts"
import { type Options, parseOptions, USAGE } from "./options.ts"
import { compareWithFlat, compareWithOthers, formatRow, HEADER, type Report, type Row } from "./report.ts"

/**
 * How fast the last chapter is, in ratios of one run: microseconds differ from machine to machine, ratios much less.
 *
 *     npm run bench                        s12 against the floor: a loop and a tree written by hand
 *     npm run bench -- --peers DIR         and against Pi, from an installed copy of bench-peers
 *     npm run bench -- --only loop --rounds 1000 --repeat 9 --strict
 *
 * A figure is the median of fresh processes, which take turns so that a busy moment of the machine hits everyone. A contestant that skips
 * work ends the run. With `--json` one `Report` is printed; with `--strict` a bound that is over gives exit code 1.
 */

const ENTRIES = 100_000
const DEMOS = ["s01_state", "s04_toolloop", "s09_extensions", "s12_packages"]
const TIMEOUT_MS = 240_000

/** Where the contestants lie as plain JavaScript. */
let compiled = ""

/** Runs a file in a process of its own and gives what it printed last. Throws when it fails. */
function runFile(label: string, args: string[], stdout: "pipe" | "ignore"): string {
  const result = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", stdout, "pipe"],
    timeout: TIMEOUT_MS,
  })
  if (result.status === 0) return result.stdout?.trimEnd().split("\n").at(-1) ?? ""
  const reason = result.error?.message ?? result.stderr.trim().split("\n")[0]
  throw new InputError(`${label} failed: ${reason || `exit code ${result.status}`}`)
}

/** Every name once, then every name again. */
function takeTurns<T>(names: Iterable<string>, repeat: number, run: (name: string) => T): Map<string, T[]> {
  const samples = new Map<string, T[]>([...names].map((name) => [name, []]))
  for (let turn = 0; turn < repeat; turn++) for (const [name, list] of samples) list.push(run(name))
  return samples
}

function mapSamples<T>(samples: Map<string, T[]>, read: (sample: T) => number): Map<string, number[]> {
  return new Map([...samples].map(([name, list]) => [name, list.map(read)]))
}

/** Who takes part, s12 first, and the module of each. Not every peer has a session. */
function findModules({ peers = "", names }: Options, folder: string, suffix: string): Map<string, string> {
  const own = ["s12", "floor"].map((name): [string, string] => [name, join(compiled, "bench", `${name}.js`)])
  const others = names.map((name): [string, string] => [name, join(peers, folder, `${name}${suffix}.mjs`)])
  return new Map([...own, ...others.filter(([, file]) => existsSync(file))])
}

function measure<T>(kind: string, modules: Map<string, string>, size: number, repeat: number): Map<string, T[]> {
  return takeTurns(modules.keys(), repeat, (name) => {
    const args = ["--expose-gc", join(compiled, "bench", "measure.js"), kind, modules.get(name) ?? "", String(size)]
    const figures = runFile(`${kind} ${name} ${size}`, args, "pipe")
    if (figures === "") throw new InputError(`${kind} ${name} ${size} failed: the process ended before its run did`)
    return JSON.parse(figures)
  })
}

function* compareLoops(options: Options): Generator<Row[]> {
  const modules = findModules(options, "adapters", "")
  for (const rounds of options.rounds) {
    const task = `rounds: ${rounds}`
    const samples = measure<LoopFigures>("loop", modules, rounds, options.repeat)
    const times = mapSamples(samples, (figures) => figures.round)
    yield compareWithOthers({ suite: "loop", task, unit: "us/round" }, times)
    const growths = mapSamples(samples, (figures) => figures.growth ?? Number.NaN)
    if (![...growths.values()].flat().some(Number.isNaN))
      yield compareWithFlat({ suite: "growth", task, unit: "late/early" }, growths)
  }
}

function* compareSessions(options: Options): Generator<Row[]> {
  const modules = findModules(options, "session", "-session")
  const samples = measure<SessionFigures>("session", modules, ENTRIES, options.repeat)
  const times = mapSamples(samples, (figures) => figures.rebuild)
  yield compareWithOthers({ suite: "rebuild", task: `entries: ${ENTRIES}`, unit: "ms" }, times)
}

/** A file that loads what the chapter loads and does nothing. */
function writeEmptyFile(folder: string, chapter: string): string {
  const code = readFileSync(join(ROOT, chapter, "code.ts"), "utf8")
  const names = [...code.matchAll(/^import\s+(?!type\s)[^"]*"([^"]+)"/gm)].map(([, name = ""]) => name)
  const file = join(folder, `${chapter}.mts`)
  writeFileSync(file, names.map((name) => `import "${import.meta.resolve(name)}"\n`).join(""))
  return file
}

function* compareStarts({ repeat }: Options): Generator<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-start-"))
  try {
    for (const chapter of DEMOS) {
      const files = new Map([
        ["demo", join(ROOT, chapter, "code.ts")],
        ["empty file", writeEmptyFile(folder, chapter)],
      ])
      const start = (name: string): number => {
        const begin = performance.now()
        runFile(`start ${chapter} ${name}`, ["--import", "tsx", files.get(name) ?? ""], "ignore")
        return performance.now() - begin
      }
      takeTurns(files.keys(), 1, start) // tsx compiles a new text once; no later start pays for it
      yield compareWithOthers({ suite: "start", task: chapter, unit: "ms" }, takeTurns(files.keys(), repeat, start))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The check of all chapters beside the compiler on the same files. */
function* compareChecks({ repeat }: Options): Generator<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-check-"))
  try {
    const chapters = readdirSync(ROOT).filter((name) => /^s\d\d_/.test(name))
    const config = join(folder, "tsconfig.json")
    const files = chapters.map((chapter) => join(ROOT, chapter, "code.ts"))
    const compilerOptions = { typeRoots: [join(ROOT, "node_modules", "@types")] }
    writeFileSync(config, JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions, files, include: [] }))
    const tsc = join(ROOT, "node_modules", "@typescript", "native", "bin", "tsc")
    const commands = new Map([
      ["npm run check", ["--import", "tsx", join(ROOT, "scripts", "cli", "main.ts"), "check"]],
      ["tsc --noEmit", [tsc, "--noEmit", "-p", config]],
    ])
    const run = (name: string): number => {
      const begin = performance.now()
      runFile(name, commands.get(name) ?? [], "ignore")
      return performance.now() - begin
    }
    takeTurns(commands.keys(), 1, run)
    yield compareWithOthers(
      { suite: "check", task: "12 chapters", unit: "ms" },
      takeTurns(commands.keys(), repeat, run),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A reader at a terminal that nobody sees: saves, and waits for the page. */
class Reader {
  #file: string
  #pages: string[] = []
  #wake = (): void => {}
  #press: (key: string) => void = () => {}
  #run: Promise<number>

  /** Begins a chapter in a folder. */
  constructor(chapter: string, folder: string) {
    this.#file = join(folder, "my", chapter, "code.ts")
    const terminal: Terminal = {
      ...openTerminal(),
      root: folder,
      out: (page) => {
        this.#pages.push(page)
        this.#wake()
      },
      screen: {
        clear: () => {},
        listen: (hear) => {
          this.#press = hear
          return () => {}
        },
      },
    }
    this.#run = runCommand(practice, [chapter], terminal)
  }

  /** Saves, and gives how many milliseconds it took to the page that answers. */
  async save(): Promise<number> {
    // The next run's process is made ready behind each page; nobody saves in that very moment.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const begin = performance.now()
    appendFileSync(this.#file, "\n")
    await this.see()
    return performance.now() - begin
  }

  /** Waits for the next page. */
  async see(): Promise<void> {
    while (this.#pages.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    this.#pages.shift()
  }

  async leave(): Promise<void> {
    this.#press("q")
    await this.#run
  }
}

/** Practice, from a save to the page that answers it, beside the start of the chapter's demo. */
async function* comparePractice({ repeat }: Options): AsyncGenerator<Row[]> {
  for (const chapter of DEMOS) {
    const folder = mkdtempSync(join(tmpdir(), "bench-practice-"))
    const reader = new Reader(chapter.slice(0, 3), folder)
    try {
      const samples = new Map<string, number[]>([
        ["save to answer", []],
        ["demo", []],
      ])
      await reader.see()
      for (let turn = 0; turn < repeat; turn++) {
        samples.get("save to answer")?.push(await reader.save())
        const begin = performance.now()
        runFile(`start ${chapter}`, ["--import", "tsx", join(ROOT, chapter, "code.ts")], "ignore")
        samples.get("demo")?.push(performance.now() - begin)
      }
      yield compareWithOthers({ suite: "practice", task: chapter, unit: "ms" }, samples)
    } finally {
      await reader.leave()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** What of the app is measured: with how much, in which unit. The first of the names is held against the others. */
const APP = [
  { suite: "append", names: ["app", "floor"], size: ENTRIES, task: `entries: ${ENTRIES}`, unit: "us/entry" },
  { suite: "open", names: ["app", "lines only"], size: ENTRIES, task: `entries: ${ENTRIES}`, unit: "ms" },
  { suite: "prompt", names: ["over HTTP", "in process"], size: 100, task: "one prompt", unit: "ms" },
  { suite: "events", names: ["100 listeners", "1 listener"], size: 2000, task: "2000 pieces", unit: "ms" },
] as const

/** The app: its session file against the floor and Pi, its API against the same turn in process. */
function* compareApp({ repeat, peers = "", names }: Options): Generator<Row[]> {
  const file = join(compiled, "bench", "measure-app.js")
  for (const { suite, names: own, size, task, unit } of APP) {
    const pi = join(peers, "session", "pi081-session.mjs")
    const others = suite === "open" && names.includes("pi081") && existsSync(pi) ? ["pi081"] : []
    const measureOnce = (name: string): number =>
      Number(runFile(`${suite} ${name}`, ["--expose-gc", file, suite, name, String(size), pi], "pipe"))
    yield compareWithOthers({ suite, task, unit }, takeTurns([...own, ...others], repeat, measureOnce))
  }
}

async function* compareAll(options: Options): AsyncGenerator<Row[]> {
  const { only } = options
  if (only === undefined || only === "loop") yield* compareLoops(options)
  if (only === undefined || only === "session") yield* compareSessions(options)
  if (only === undefined || only === "start") yield* compareStarts(options)
  if (only === undefined || only === "check") yield* compareChecks(options)
  if (only === undefined || only === "practice") yield* comparePractice(options)
  if (only === undefined || only === "app") yield* compareApp(options)
}

async function main(args: string[]): Promise<number> {
  const options = parseOptions(args)
  compiled = compileContestants()
  const report: Report = { node: process.version, repeat: options.repeat, rows: [] }
  const print = options.json ? () => {} : (line: string) => console.log(line)
  print(`Node ${report.node}; processes per figure: ${report.repeat}; ratio: the first of a task over this one`)
  print(HEADER)
  for await (const rows of compareAll(options)) {
    report.rows.push(...rows)
    for (const row of rows) print(formatRow(row))
  }
  if (options.json) console.log(JSON.stringify(report, null, 2))
  return options.strict && report.rows.some((row) => row.verdict === "over") ? 1 : 0
}

const usage = `usage: npm run bench -- ${USAGE}`
process.exitCode = await runCommand({ usage, run: main }, process.argv.slice(2), openTerminal())
