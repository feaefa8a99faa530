/** Prints, after a run, which parts ran on which chapters: the count of tests that passed, or `!` and the count that did not. */
import type { Reporter, TestCase, TestModule } from "vitest/node"
import { CHAPTERS } from "../../scripts/manifest.ts"

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
    if (rows.size === 0) return
    const width = Math.max(...[...rows.keys()].map((name) => name.length))
    const show = (cell: Cell | undefined): string =>
      cell === undefined ? "-" : cell.failed > 0 ? `!${cell.failed}` : `${cell.passed}`
    const lines = [...rows]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, row]) => {
        return `${name.padEnd(width)}${CHAPTERS.map(({ id }) => show(row.get(id)).padStart(5)).join("")}`
      })
    const title = "parts × chapters, tests passed"
    console.log(
      `\n${title}\n${"".padEnd(width)}${CHAPTERS.map(({ id }) => id.padStart(5)).join("")}\n${lines.join("\n")}\n`,
    )
  }
}
