import fs from "node:fs"
import os from "node:os"
import { describe, expect, test } from "vitest"
import { finish, here } from "../support/commands.ts"

describe("npm run ladder", () => {
  test("finds its tests wherever it is started", { timeout: 300_000 }, async () => {
    const cwd = fs.realpathSync.native(os.tmpdir())
    const run = await finish(here.start("ladder", ["--only", "s01"], { cwd }))
    expect(run.stdout + run.stderr).not.toContain("No test files found")
    expect(run).toMatchObject({ code: 0 })
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
