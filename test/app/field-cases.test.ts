import fs from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { ROOT } from "../support/ladder.ts"

/** The reported faults that touch the app outside of its adapters, by number. */
const CASES = [
  "B01 B03 B04 B06 B39 B41 B43 B45 B46 B48 B50 B52 B54 B55 B57 B59 B61 B63 B64 B65 B66 B67 B70 B71 B72 B80 B84 B85",
  "B86 B88 B90 B91 B104 B106 B108 B110 B112 B113 B115 B118 B119 B120 B122",
].flatMap((line) => line.split(" "))

test("every reported fault that touches the app has a test that is found by its number", () => {
  const folders = ["agent", "server", "session"].map((name) => path.join(ROOT, "test", "app", name))
  const titles = folders
    .flatMap((folder) => fs.readdirSync(folder).map((name) => fs.readFileSync(path.join(folder, name), "utf8")))
    .flatMap((text) => text.split("\n").filter((line) => /"B\d+[^"]*: /.test(line)))
    .join("\n")
  expect(CASES.filter((number) => !new RegExp(`\\b${number}\\b`).test(titles))).toEqual([])
})
