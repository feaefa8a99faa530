import { describe, expect, test } from "vitest"
import { here } from "../support/commands.ts"

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
