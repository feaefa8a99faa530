import fs from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { ROOT } from "../../support/ladder.ts"

/** The reported faults that touch the adapters, by number. */
const CASES = "B08 B09 B12 B13 B15 B16 B21 B23 B25 B27 B29 B30 B31 B33 B35 B36 B38 B118 B120 B122".split(" ")

test("every reported fault that touches the adapters has a test that is found by its number", () => {
  const folder = path.join(ROOT, "test", "app", "adapters")
  const files = fs.readdirSync(folder).filter((name) => name !== "field-cases.test.ts")
  const titles = files
    .flatMap((name) => fs.readFileSync(path.join(folder, name), "utf8").split("\n"))
    .filter((line) => /"B\d+[^"]*[:"]/.test(line))
    .join("\n")
  expect(CASES.filter((number) => !new RegExp(`\\b${number}\\b`).test(titles))).toEqual([])
})
