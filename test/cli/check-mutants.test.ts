import fs from "node:fs"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { stateCounts } from "../../scripts/cli/check-mutants.ts"
import { InputError } from "../../scripts/course/input-error.ts"
import { Copy, makeTemporaryFolder } from "../support/commands.ts"
import { ROOT } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"

const temporary = makeTemporaryFolder()
afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

const PAGES = ["README.md", "README.en.md"]
const read = (root: string): string[] => PAGES.map((name) => fs.readFileSync(path.join(root, name), "utf8"))
const countsIn = (text: string): string[] | undefined => /npm run check:mutants\D+(\d+)\D+(\d+)/.exec(text)?.slice(1)

describe("npm run check:mutants", () => {
  test("states the two figures on both pages and changes nothing else; where a page does not state them, no page is written", () => {
    const root = fs.mkdtempSync(path.join(temporary, "pages-"))
    for (const name of PAGES) fs.copyFileSync(path.join(ROOT, name), path.join(root, name))
    stateCounts(root, 1, 2)
    expect(read(root).map(countsIn)).toEqual([
      ["1", "2"],
      ["1", "2"],
    ])
    const [damage, harmless] = (countsIn(read(ROOT)[0] as string) ?? []).map(Number)
    stateCounts(root, damage as number, harmless as number)
    expect(read(root)).toEqual(read(ROOT))
    fs.writeFileSync(path.join(root, "README.en.md"), "nothing")
    expect(() => stateCounts(root, 1, 2)).toThrow(InputError)
    expect(read(root)[0]).toBe(read(ROOT)[0])
  })

  test.runIf(DEEP)("with --accept writes what it has counted", async () => {
    const copy = new Copy(temporary)
    for (const name of PAGES) fs.copyFileSync(path.join(ROOT, name), path.join(copy.root, name))
    stateCounts(copy.root, 1, 2)
    const run = await copy.call("check:mutants", "--accept")
    expect(run.code).toBe(0)
    expect(read(copy.root)).toEqual(read(ROOT))
  })
})
