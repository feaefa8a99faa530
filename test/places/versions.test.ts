/** Which versions of Node the course runs on, what it needs there, and what CI makes of that. */
import { execFile } from "node:child_process"
import fs from "node:fs"
import * as nodeModule from "node:module"
import os from "node:os"
import path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { satisfies } from "semver"
import { describe, expect, test } from "vitest"
import { DEEP, ends } from "../support/tier.ts"

const ROOT = fileURLToPath(new URL("../..", import.meta.url))
const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), "utf8")
const run = promisify(execFile)

type Manifest = {
  engines: { node: string }
  scripts: Record<string, string>
  dependencies: Record<string, string>
}

const manifest = JSON.parse(read("package.json")) as Manifest
const chapters = fs.readdirSync(ROOT).filter((name) => /^s\d\d_/.test(name))

/** The first version of each line that the course runs on, and the last one that is still supported. */
const GOOD = ["20.19.0", "20.20.2", "22.12.0", "22.23.3", "24.0.0", "26.0.0"]
const BAD = ["18.20.8", "20.18.3", "21.7.3", "22.0.0", "22.11.0", "23.11.1"]

describe("the versions of Node", () => {
  test("package.json allows those that work, and npm refuses the others instead of warning", () => {
    expect(GOOD.filter((version) => !satisfies(version, manifest.engines.node))).toEqual([])
    expect(BAD.filter((version) => satisfies(version, manifest.engines.node))).toEqual([])
    expect(read(".npmrc").split("\n")).toContain("engine-strict=true")
  })

  test("every package that is installed works on all of them", () => {
    const lock = JSON.parse(read("package-lock.json")) as {
      packages: Record<string, { engines?: { node?: string }; optional?: boolean }>
    }
    const ranges = Object.entries(lock.packages).flatMap(([name, { engines, optional }]) =>
      engines?.node === undefined || optional ? [] : [{ name, range: engines.node }],
    )
    expect(ranges.length).toBeGreaterThan(20)
    const refused = ranges.flatMap(({ name, range }) =>
      GOOD.filter((version) => !satisfies(version, range)).map((version) => `${name} wants ${range}, not ${version}`),
    )
    expect(refused).toEqual([])
  })

  test.each(["README.md", "README.en.md"])("%s names the lowest of each line that has one", (file) => {
    const lowest = [...manifest.engines.node.matchAll(/\^(\d+\.\d+)\.0/g)].map(([, version]) => version ?? "")
    expect(lowest).toHaveLength(2)
    expect(read(file)).toMatch(new RegExp(`Node\\.js ${lowest.join("\\+[^\\n]{1,3}")}\\+[^\\n]{1,9}24\\b`))
  })
})

describe("a chapter", () => {
  test("needs, to run, only what is installed without the tools of development", () => {
    const imported = chapters.flatMap((folder) =>
      [...read(`${folder}/code.ts`).matchAll(/^import .*from "([^"]+)"$/gm)].map(([, name]) => name ?? ""),
    )
    const packages = imported.filter((name) => !name.startsWith("node:"))
    const preloaded = /--import (\S+)/.exec(manifest.scripts.start ?? "")?.[1] ?? ""
    expect([...new Set([...packages, preloaded])].sort()).toEqual(Object.keys(manifest.dependencies).sort())
  })

  test("says in a sentence what a command lacks where only that is installed", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "production-"))
    try {
      fs.cpSync(path.join(ROOT, "scripts"), path.join(folder, "scripts"), { recursive: true })
      fs.copyFileSync(path.join(ROOT, "package.json"), path.join(folder, "package.json"))
      const packages = path.join(folder, "node_modules")
      fs.mkdirSync(packages)
      for (const name of [...Object.keys(manifest.dependencies), "esbuild", "get-tsconfig", "resolve-pkg-maps"])
        if (fs.existsSync(path.join(ROOT, "node_modules", name)))
          fs.symlinkSync(path.join(ROOT, "node_modules", name), path.join(packages, name), "junction")
      const command = ["--import", "tsx/esm", path.join(folder, "scripts", "cli", "main.ts"), "check"]
      const failed = run(process.execPath, command, { cwd: folder })
      await expect(failed).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /^error: check needs the package \S+, which is not installed: npm ci installs it, .*\n$/,
        ),
      })
    } finally {
      fs.rmSync(folder, { recursive: true })
    }
  })

  test("has types that can be taken off without a compiler: the compiler refuses all others", () => {
    expect(read("tsconfig.json")).toContain('"erasableSyntaxOnly": true')
  })

  test.runIf(DEEP)("with an enum, a namespace or a parameter property is refused by the compiler", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "erasable-"))
    try {
      fs.copyFileSync(path.join(ROOT, "tsconfig.json"), path.join(folder, "tsconfig.json"))
      fs.symlinkSync(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"), "junction")
      fs.mkdirSync(path.join(folder, "s01_state"))
      fs.writeFileSync(
        path.join(folder, "s01_state", "code.ts"),
        "export enum A { B }\nexport namespace C { export const d = 1 }\nexport class E { constructor(readonly f: string) {} }\n",
      )
      const tsc = path.join(folder, "node_modules", "@typescript", "native", "bin", "tsc")
      const found = await run(process.execPath, [tsc], { cwd: folder }).catch((error: { stdout: string }) => error)
      expect([...found.stdout.matchAll(/code\.ts\((\d)\D.*TS1294/g)].map(([, line]) => line)).toEqual(["1", "2", "3"])
    } finally {
      fs.rmSync(folder, { recursive: true })
    }
  })

  // Node 20 has no such function.
  const strip = (nodeModule as { stripTypeScriptTypes?: (text: string) => string }).stripTypeScriptTypes
  test.runIf(strip !== undefined).each(chapters)("%s can be read by a Node that takes off types", (folder) => {
    // It says once that it is an experiment.
    const { emitWarning } = process
    process.emitWarning = () => {}
    try {
      expect(strip?.(read(`${folder}/code.ts`))).not.toMatch(/^(?:export )?(?:type|interface) /m)
    } finally {
      process.emitWarning = emitWarning
    }
  })

  const strips = (process.features as { typescript?: unknown }).typescript === "strip"
  test.runIf(strips).each(ends(chapters))("%s runs without tsx, with the same output", async (folder) => {
    const options = { cwd: ROOT, env: { ...process.env, NODE_OPTIONS: "", NO_COLOR: "1" } }
    const file = path.join(ROOT, folder, "code.ts")
    const tsx = pathToFileURL(path.join(ROOT, "node_modules", "tsx", "dist", "loader.mjs")).href
    const [plain, usual] = await Promise.all([
      run(process.execPath, [file], options),
      run(process.execPath, ["--import", tsx, file], options),
    ])
    expect(plain.stdout).toMatch(/\S/)
    expect(plain.stdout).toBe(usual.stdout)
  })
})

describe("the workflow of GitHub Actions", () => {
  const workflow = read(".github/workflows/tests.yml")

  test("tests every line of Node that is allowed and not over, and the oldest version of each, on three systems", () => {
    expect(workflow).toContain("os: [ubuntu-latest, macos-latest, windows-latest]")
    const lines = JSON.parse(/node: (\[.*\])/.exec(workflow)?.[1] ?? "[]") as string[]
    expect(lines).toEqual(["20", "22", "24", "26"])
    expect(lines.filter((line) => !satisfies(`${line}.99.0`, manifest.engines.node))).toEqual([])
    const oldest = [...manifest.engines.node.matchAll(/\^(\d+\.\d+\.\d+)/g)].map(([, version]) => version)
    const included = [...workflow.matchAll(/\{ os: ubuntu-latest, node: "([\d.]+)" \}/g)].map(([, version]) => version)
    expect(included).toEqual(oldest)
  })

  test("runs the commands of the README, all tests at night, and the program without the tools of development", () => {
    const steps = [...workflow.matchAll(/^ {6}- run: (.+)$/gm)].map(([, command]) => command)
    const commands = ["test", "start", "run test:deep", "run mutation"]
    expect(steps).toEqual(commands.map((command) => `npm ci && npm ${command}`))
    expect(workflow).toMatch(/^ {2}schedule:\n {4}- cron: "\d+ \d+ \* \* \*"$/m)
    expect(workflow).toContain("NODE_ENV: production")
  })
})
