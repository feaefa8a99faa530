import fs from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { ROOT } from "../support/ladder.ts"

/** The reported faults that touch the core of the chapters, by number. */
const CASES = [
  "B01 B03 B04 B06 B08 B09 B12 B13 B18 B20 B21 B31 B33 B35 B36 B38 B48 B50 B54 B55 B57 B74 B75 B76 B78 B80 B82 B84 B85",
  "B86 B88 B90 B93 B95 B97 B98 B100 B102 B116 B118 B119 B120 B122 B124",
].flatMap((line) => line.split(" "))

test("every reported fault that touches the core has a test that is found by its number", () => {
  const folder = path.join(ROOT, "test", "chapters")
  const files = fs.readdirSync(folder).filter((name) => name !== "field-cases.test.ts")
  const titles = files
    .flatMap((name) => fs.readFileSync(path.join(folder, name), "utf8").split("\n"))
    .filter((line) => /(test|describe)[.(]|^\s*\[?"|\)\("/.test(line))
    .join("\n")
  expect(CASES.filter((number) => !new RegExp(`\\b${number}\\b`).test(titles))).toEqual([])
})
