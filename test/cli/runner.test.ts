/** What npm test and npm run ladder say, above all when something is wrong. */
import fs from "node:fs"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { Copy, here, makeTemporaryFolder, replaceOnce } from "../support/commands.ts"
import { DEEP } from "../support/tier.ts"

const temporary = makeTemporaryFolder()

afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

describe("npm test", () => {
  test("is this command, and so is its deep tier", () => {
    expect(here.scriptOf("test")).toBe("node --import tsx/esm scripts/cli/main.ts test")
    expect(here.scriptOf("test:deep")).toBe("node --import tsx/esm scripts/cli/main.ts test --deep")
  })

  test("lets the checker speak alone, its rule in the first line, when an old line of a chapter is another one", async () => {
    const copy = new Copy(temporary)
    copy.edit("s05", 'source, "a string")', 'source, "a text")')
    const { code, stdout, stderr } = await copy.run("test")
    expect([code, stderr]).toEqual([1, ""])
    const lines = stdout.trimEnd().split("\n")
    expect(lines[0]).toMatch(/^R8-REWRITTEN {2}s05 {2}expectString /)
    expect(lines.slice(-2)).toEqual(["failed  constitution: 1 found", "again   npm run check"])
    expect(lines.length).toBeLessThan(30)
    expect(stdout).not.toMatch(/^(types|style|tests) /m)
  })

  test("shows five findings of many, and says how many there are", async () => {
    const copy = new Copy(temporary)
    copy.write("s12", copy.read("s12").replaceAll("): string {\n", "): string  {\n"))
    const { code, stdout } = await copy.run("test")
    expect(code).toBe(1)
    expect(stdout.match(/^R\d-[A-Z-]+ {2}s12 /gm)).toHaveLength(5)
    expect(stdout).toMatch(/\nfailed {2}constitution: \d+ found, 5 are shown\nagain {3}npm run check\n$/)
  })

  test.each([["--seed"], ["--seed="], ["--seed", "x"], ["--seed", "4294967296"]])("refuses %s %s", async (...args) => {
    const run = await here.run("test", args)
    expect(run).toMatchObject({ code: 2, stdout: "" })
    expect(run.stderr).toMatch(/^error: --seed expects a whole number of 32 bits, got "/)
    expect(run.stderr).toContain("usage: npm test -- ")
  })

  test.runIf(DEEP)("lets compiler and formatter speak, and runs no test, when both have found something", async () => {
    const copy = new Copy(temporary)
    for (const name of ["app", "biome.json", ".gitignore"])
      fs.cpSync(path.join(here.root, name), path.join(copy.root, name), { recursive: true })
    copy.init()
    const clean = await copy.run("test", ["--reporter=json"])
    expect(clean.stdout).toMatch(/^constitution +12 chapters hold .*\ntypes +tsc .*\nstyle +biome .*\n/)
    copy.write("s05", `${copy.read("s05")}export const wrong: number = "text"\n`)
    fs.writeFileSync(path.join(copy.root, "scripts", "odd.ts"), "export const odd: number = 1;\n")
    const { code, stdout } = await copy.run("test")
    expect(code).toBe(1)
    expect(stdout).toMatch(/^constitution +12 chapters hold .*\ns05_hooks.code\.ts\(\d+,\d+\): error TS2322: /)
    expect(stdout).toMatch(/scripts.odd\.ts format/)
    expect(stdout).toMatch(/\nfailed {2}types\nagain {3}npx tsc\n$/)
    expect(stdout).not.toMatch(/^tests /m)
  })
})

describe.runIf(DEEP)("npm run ladder", () => {
  test("says of a good file in a table and one line that all of it is right", async () => {
    const { code, stdout, stderr } = await here.run("ladder", ["s02", here.file("s02")])
    expect([code, stderr]).toEqual([0, ""])
    expect(stdout).toMatch(
      /^parts × chapters.*\n +s01 .*\n(s0\d [\w ]+? [-\d ]+\n){3}\ntests +\d+ passed, \d+ left out +\d+\.\d s\n$/,
    )
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80)
  })

  test("says of a bad file what failed, where, and how to run it again", async () => {
    const file = path.join(temporary, "bad.ts")
    fs.writeFileSync(
      file,
      replaceOnce(
        here.read("s02"),
        "    if (this.#tools.has(sealed.spec.name)) throw",
        '    if (sealed.spec.name === "none") throw',
      ),
    )
    const { code, stdout, stderr } = await here.run("ladder", ["s02", file])
    expect(code).toBe(1)
    expect(stderr).toContain("a second registration of a name")
    expect(stdout).toMatch(/^s02 Tools +- +!\d /m)
    const lines = stdout.trimEnd().split("\n").slice(-2)
    expect(lines[0]).toMatch(
      /^failed {2}tests: \d of \d+, first test\/chapters\/s02-tools\.test\.ts > s02 Tools on s02 > /,
    )
    expect(lines[1]).toBe(`again   npm run ladder -- s02 ${file}`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is looked for.
    expect(stdout + stderr).not.toMatch(/\u001b/)
  })
})
