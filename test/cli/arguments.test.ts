import path from "node:path"
import { describe, expect, test } from "vitest"
import { readWholeNumber } from "../../scripts/cli/terminal.ts"
import { EXPERIMENTS } from "../../scripts/lab/experiments.ts"
import { finish, here, startScript } from "../support/commands.ts"

describe("a number on the command line", () => {
  const bounds = { fallback: 5, least: 2, most: 9 }

  test("is taken as it is, within its bounds", () => {
    expect(["2", "9", "007"].map((given) => readWholeNumber("runs", given, bounds))).toEqual([2, 9, 7])
  })

  test("has a fallback, which is kept within the bounds too", () => {
    expect(readWholeNumber("runs", undefined, bounds)).toBe(5)
    expect(readWholeNumber("width", undefined, { ...bounds, fallback: 1 })).toBe(2)
    expect(readWholeNumber("width", undefined, { ...bounds, fallback: 99 })).toBe(9)
  })

  test.each(["1", "10", "-3", "3.5", "1e0", "0x3", "", " 3", "three", "9".repeat(400)])("is refused as %j", (given) => {
    expect(() => readWholeNumber("runs", given, bounds)).toThrow(
      `--runs expects a whole number from 2 to 9, got "${given}"`,
    )
  })
})

describe("npm run lab --json", () => {
  test("prints JSON only, of an experiment and of their list", async () => {
    const [one, list] = [await here.call("lab", "i4", "--json", "--runs", "2"), await here.call("lab", "--json")]
    expect([one.code, one.stderr, list.code, list.stderr]).toEqual([0, "", 0, ""])
    expect(JSON.parse(one.stdout)).toMatchObject({ experiment: "i4", runs: [{ seed: 1 }, { seed: 2 }] })
    const ids = (JSON.parse(list.stdout) as { id: string }[]).map(({ id }) => id)
    expect(ids).toEqual(EXPERIMENTS.map(({ id }) => id))
  })
})

describe("a command line that names no command", () => {
  test("is refused with the commands that there are", async () => {
    const run = await finish(startScript(path.join(here.root, "scripts", "cli", "main.ts"), ["chekc"]))
    expect(run).toMatchObject({ code: 2, stdout: "" })
    expect(run.stderr).toMatch(/^error: unknown command "chekc": expected one of check, .*, test\n$/)
  })
})

describe("npm run lab refuses, and plays nothing,", () => {
  test.each<[string[], string]>([
    [["i4", "--width", "1e9"], '--width expects a whole number from 40 to 1000, got "1e9"'],
    [["i4", "--runs", "1000000000"], '--runs expects a whole number from 1 to 10000, got "1000000000"'],
    [["i4", "--seed", "1e300"], '--seed expects a whole number from 0 to 9007199254730991, got "1e300"'],
    [["i4", "--seed", "9007199254740993"], "--seed expects a whole number"],
  ])("%j", async (args, reason) => {
    const run = await here.run("lab", args)
    expect(run).toMatchObject({ code: 2, stdout: "" })
    expect(run.stderr).toContain(`error: ${reason}`)
    expect(run.stderr).toContain("usage: npm run lab -- ")
  })
})
