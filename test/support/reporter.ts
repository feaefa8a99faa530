/**
 * What a run of the tests says: one line when all is well. Otherwise the first failures in full and the names of the others, which parts failed
 * on which chapters, and last what failed first and the command that runs it again. With TEST_TABLES the tables are there in any case.
 */
import { performance } from "node:perf_hooks"
import chalk from "chalk"
import { DefaultReporter, type RunnerTask, type RunnerTestFile, type TestCase } from "vitest/node"
import { showFailure, showStage } from "../../scripts/cli/stages.ts"
import { CHAPTERS } from "../../scripts/course/manifest.ts"

/** How many failures are shown in full, and of how many more the names. TEST_SHOWN asks for fewer, and for no names. */
const SHOWN = Number(process.env.TEST_SHOWN ?? 5)
const NAMED = process.env.TEST_SHOWN === undefined ? 20 : 0

/** One of two texts, in the language that TEST_LANGUAGE asks for. */
function say(en: string, zh: string): string {
  return process.env.TEST_LANGUAGE === "zh" ? zh : en
}

type Cell = {
  passed: number
  failed: number
}

export default class ShortReporter extends DefaultReporter {
  #failed: RunnerTask[] = []

  override onInit(...[vitest]: Parameters<DefaultReporter["onInit"]>): void {
    vitest.logger.printBanner = () => {}
    super.onInit(vitest)
  }

  /** Failures are told at the end, in one place. */
  override printTestModule(): void {}

  override reportSummary(files: RunnerTestFile[], errors: unknown[]): void {
    const failed = files.flatMap(failuresIn)
    this.#failed = failed
    const shown = new Set(failed.slice(0, SHOWN))
    super.reportSummary(
      files.map((file) => pick(file, shown)),
      errors,
    )
    const others = failed.slice(SHOWN, SHOWN + NAMED).map((task) => nameOf(task))
    const more = failed.length - SHOWN - others.length
    if (others.length > 0)
      console.log(
        `${[say("also failed:", "还有这些没通过："), ...others, ...(more > 0 ? [say(`and ${more} more`, `另外还有 ${more} 个`)] : [])].join("\n  ")}\n`,
      )
  }

  /** Vitest's own figures are left out. */
  override reportTestSummary(): void {}

  override onTestRunEnd(...[modules, errors, reason]: Parameters<DefaultReporter["onTestRunEnd"]>): void {
    super.onTestRunEnd(modules, errors, reason)
    if (modules.length === 0 && errors.length === 0) return
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (...states: string[]): number => tests.filter((test) => states.includes(test.result().state)).length
    const well = reason === "passed"
    printTables(tests, process.env.TEST_TABLES === "1")
    if (well) {
      const skipped = count("skipped")
      const left = skipped === 0 ? "" : say(`, ${skipped} left out`, `，${skipped} 个没跑`)
      const passed = say(`${count("passed")} passed`, `${count("passed")} 个通过`)
      console.log(showStage(say("tests", "测试"), `${passed}${left}`, performance.now() - this.start, chalk))
      return
    }
    const [first] = this.#failed
    const again = process.env.TEST_AGAIN ?? "npx vitest run"
    const file = first?.file.name ?? ""
    const narrow = again.startsWith("npm run ladder") ? again : `${again} ${file}`.trimEnd()
    const what =
      first === undefined ? say("something outside of the tests, see above", "测试之外的东西，见上") : nameOf(first)
    const [number, all] = [this.#failed.length, tests.length]
    const sentence = say(
      `tests: ${number} of ${all}, first ${what}`,
      `测试：${all} 个里 ${number} 个没通过，第一个是 ${what}`,
    )
    console.log(showFailure(sentence, narrow, chalk))
  }
}

/** The tests of a file that failed, and what else in it did: a hook, or the file when it could not be loaded. */
function failuresIn(task: RunnerTask): RunnerTask[] {
  const below = task.type === "suite" ? task.tasks.flatMap(failuresIn) : []
  const own = task.type === "suite" ? (task.result?.errors?.length ?? 0) > 0 : task.result?.state === "fail"
  return own ? [task, ...below] : below
}

/** A file with these of its failures, and no others. */
function pick<Task extends RunnerTask>(task: Task, shown: ReadonlySet<RunnerTask>): Task {
  if (task.type !== "suite") return task
  const tasks = task.tasks.filter((inner) => inner.type === "suite" || shown.has(inner))
  const { errors: _errors, ...result } = task.result ?? { state: "fail" }
  const picked = { ...task, tasks: tasks.map((inner) => pick(inner, shown)) }
  return shown.has(task) || task.result === undefined ? picked : { ...picked, result }
}

function nameOf(task: RunnerTask): string {
  const names = [task.name]
  for (let suite = task.suite; suite !== undefined; suite = suite.suite) names.unshift(suite.name)
  return task.file === task ? task.name : [task.file.name, ...names.filter((name) => name !== "")].join(" > ")
}

/** The part and the chapter that a test belongs to, read from the title of its suite. */
function placeOf(test: TestCase): { part: string; chapter: string } | undefined {
  const match = /^(.+) on (s\d\d)$/.exec(test.parent.type === "suite" ? topSuite(test).name : "")
  return match?.[1] === undefined || match[2] === undefined ? undefined : { part: match[1], chapter: match[2] }
}

function topSuite(test: TestCase): { name: string } {
  let suite = test.parent
  while (suite.type === "suite" && suite.parent.type === "suite") suite = suite.parent
  return suite.type === "suite" ? suite : { name: "" }
}

/** Prints the tables in which something is not green, or both. */
function printTables(tests: readonly TestCase[], both: boolean): void {
  const rows = new Map<string, Map<string, Cell>>()
  for (const test of tests) {
    const place = placeOf(test)
    const { state } = test.result()
    if (place === undefined || state === "skipped" || state === "pending") continue
    const row = rows.get(place.part) ?? new Map<string, Cell>()
    const cell = row.get(place.chapter) ?? { passed: 0, failed: 0 }
    if (state === "passed") cell.passed++
    else cell.failed++
    row.set(place.chapter, cell)
    rows.set(place.part, row)
  }
  const invariants = new Map([...rows].filter(([name]) => /^I\d$/.test(name)))
  const parts = new Map([...rows].filter(([name]) => !invariants.has(name)))
  const isShown = (table: Map<string, Map<string, Cell>>): boolean =>
    table.size > 0 && (both || [...table.values()].some((row) => [...row.values()].some(({ failed }) => failed > 0)))
  if (isShown(parts))
    printTable(
      say("parts × chapters: tests passed, or ! and those that failed", "零件 × 章：通过的测试数；! 后面是没通过的"),
      parts,
      String,
    )
  if (isShown(invariants))
    printTable(
      say(
        "invariants × chapters: held, or ! and the properties that failed",
        "不变量 × 章：成立，或 ! 和没通过的性质数",
      ),
      invariants,
      () => "held",
    )
}

/** A table that fits into 80 columns. */
function printTable(title: string, rows: Map<string, Map<string, Cell>>, show: (passed: number) => string): void {
  const cell = (found: Cell | undefined): string =>
    found === undefined ? "-" : found.failed > 0 ? `!${found.failed}` : show(found.passed)
  const line = (name: string, cells: string[]): string =>
    `${name.slice(0, 19).padEnd(19)}${cells.map((text) => text.padStart(5)).join("")}`
  const head = line(
    "",
    CHAPTERS.map(({ id }) => id),
  )
  const body = [...rows]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, row]) =>
      line(
        name,
        CHAPTERS.map(({ id }) => cell(row.get(id))),
      ),
    )
  console.log([title, head, ...body, ""].join("\n"))
}
