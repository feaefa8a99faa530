/** Prints, after a run, which parts ran on which chapters: the count of tests that passed, or `!` and the count that did not. */
import type { Reporter, TestCase, TestModule } from "vitest/node"
import { CHAPTERS, INVARIANTS } from "../../scripts/manifest.ts"

type Cell = {
  passed: number
  failed: number
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

export default class MatrixReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = new Map<string, Map<string, Cell>>()
    for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
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
    if (parts.size > 0) printMatrix("parts × chapters, tests passed", parts, showCount)
    if (invariants.size > 0) {
      printMatrix("invariants × chapters", invariants, showHeld)
      const sum = (row: Map<string, Cell> | undefined): number =>
        [...(row?.values() ?? [])].reduce((total, { passed }) => total + passed, 0)
      const checks = [...invariants.values()].reduce((total, row) => total + sum(row), 0)
      const runs = process.env.INVARIANT_RUNS ?? "1000"
      console.log(
        `${checks} checks of a property on a chapter, ${runs} generated runs each; ${sum(rows.get("faults"))} planted faults found\n`,
      )
    }
  }
}

function showCount(cell: Cell | undefined): string {
  if (cell === undefined) return "-"
  return cell.failed > 0 ? `!${cell.failed}` : `${cell.passed}`
}

function showHeld(cell: Cell | undefined): string {
  if (cell === undefined) return "-"
  return cell.failed > 0 ? "BROKEN" : "held"
}

function printMatrix(
  title: string,
  rows: Map<string, Map<string, Cell>>,
  show: (cell: Cell | undefined) => string,
): void {
  const width = Math.max(...[...rows.keys()].map((name) => name.length))
  const lines = [...rows]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, row]) => {
      const cells = CHAPTERS.map(({ id }) => show(row.get(id)).padStart(7)).join("")
      const first = INVARIANTS.find(({ id }) => id === name)?.first ?? "s01"
      return `${name.padEnd(width)}${cells}${first === "s01" ? "" : `  not before ${first}`}`
    })
  console.log(
    `\n${title}\n${"".padEnd(width)}${CHAPTERS.map(({ id }) => id.padStart(7)).join("")}\n${lines.join("\n")}\n`,
  )
}
