import fs from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { FIELD_CASES } from "../../scripts/books/cases.ts"
import { ROOT } from "../../scripts/course/source.ts"

test("every report has a test, and every number of a test has its report", () => {
  const page = fs.readFileSync(path.join(ROOT, "CASES.en.md"), "utf8")
  expect(page.split("\n").filter((line) => line.endsWith("| — |"))).toEqual([])
  const folder = path.join(ROOT, "test")
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
  const lines = names.flatMap((name) => fs.readFileSync(path.join(folder, name), "utf8").split("\n"))
  const titles = lines.filter((line) => /"B\d+[^"]*[:"]/.test(line))
  const numbers = new Set(titles.flatMap((line) => line.match(/\bB\d+\b/g) ?? []))
  const known = FIELD_CASES.map(({ id }) => id)
  expect([...numbers].filter((number) => !known.includes(number))).toEqual([])
  expect(known.filter((number) => !numbers.has(number))).toEqual([])
  for (const { report } of FIELD_CASES)
    expect(report).toMatch(/^https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(issues|pull)\/\d+$/)
})
