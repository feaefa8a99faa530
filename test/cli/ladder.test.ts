import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { finish, here } from "../support/commands.ts"
import { DEEP } from "../support/tier.ts"

describe("npm run ladder", () => {
  test("finds its tests wherever it is started", { timeout: 300_000 }, async () => {
    const cwd = fs.realpathSync.native(os.tmpdir())
    const run = await finish(here.start("ladder", ["--only", "s01"], { cwd }))
    expect(run.stdout + run.stderr).not.toContain("No test files found")
    expect(run).toMatchObject({ code: 0 })
  })
})

describe("npm run ladder on a file of one's own", { timeout: 300_000 }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ladder-"))
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))
  const start = async (name: string, text: string) => {
    const file = path.join(folder, name)
    fs.writeFileSync(file, text)
    return finish(here.start("ladder", ["s02", file]))
  }

  test("says in one line what is not written yet, and shows one failure, not all of them", async () => {
    const { code, stdout, stderr } = await start("begun.ts", here.read("s01"))
    expect(code).toBe(1)
    expect(stdout).toMatch(/^s02 still lacks: ToolSpec, .*ToolRegistry/m)
    expect((stdout + stderr).match(/^ FAIL /gm)).toHaveLength(1)
    expect(stdout + stderr).not.toContain("also failed")
  })

  test.runIf(DEEP)("shows an error of a type, and fails for it, though every test passes", async () => {
    const { code, stdout, stderr } = await start(
      "typed.ts",
      `${here.read("s02")}\nconst seven: number = "seven"\nvoid seven\n`,
    )
    expect(code).toBe(1)
    expect(stdout).toMatch(/^TYPE {2}TS2322 {2}Type 'string'/m)
    expect(stdout + stderr).not.toMatch(/^ FAIL /m)
  })
})

describe("npm run ladder refuses, and runs no test,", () => {
  test.each<[string[], string]>([
    [["--upto", "s03", "--only", "s05"], "--upto and --only exclude each other"],
    [["s04"], 'expected a chapter and a file, got "s04"'],
    [["s04", "nowhere.ts"], "nowhere.ts does not exist"],
    [["--only", "s13"], 'unknown chapter "s13"'],
  ])("%j", async (args, reason) => {
    const run = await here.run("ladder", args)
    expect(run).toMatchObject({ code: 2, stdout: "" })
    expect(run.stderr).toContain(`error: ${reason}`)
    expect(run.stderr).toContain("usage: npm run ladder -- ")
  })
})
