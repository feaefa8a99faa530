/** In which folders the course works, and what may stand beside it. */
import { execFile, execFileSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { ends } from "../support/tier.ts"

const ROOT = fileURLToPath(new URL("../..", import.meta.url))
const temporary = fs.realpathSync.native(fs.mkdtempSync(path.join(os.tmpdir(), "places-")))

afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

/** The environment, without what the run of these tests has put there. */
function withoutNames(names: RegExp): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.test(name)))
}

type Ended = { code: number; stdout: string; stderr: string }

/** Runs a program of the packages to its end. */
function run(cwd: string, program: string, args: readonly string[]): Promise<Ended> {
  const file = path.join(ROOT, "node_modules", program)
  const env = { ...withoutNames(/^(VITEST|TEST_|FORCE_COLOR$)/), NO_COLOR: "1" }
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

/** A folder with the settings of the course, its first chapter and its packages. */
function settle(name: string): string {
  const folder = path.join(temporary, name)
  fs.mkdirSync(folder)
  for (const file of ["biome.json", "package.json", "tsconfig.json", "vitest.config.ts", ".gitattributes", "s01_state"])
    fs.cpSync(path.join(ROOT, file), path.join(folder, file), { recursive: true })
  fs.symlinkSync(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"), "junction")
  return folder
}

const TSC = "@typescript/native/bin/tsc"
const BIOME = "@biomejs/biome/bin/biome"
const VITEST = "vitest/vitest.mjs"

describe("a folder of one's own", () => {
  const folder = settle("own")
  for (const own of ["notes", "coverage", "my", "src_mine", "web/app"]) {
    fs.mkdirSync(path.join(folder, own, "test"), { recursive: true })
    for (const [file, text] of [
      ["broken.ts", "const = 1 !!\n"],
      ["code.ts", 'const text: number = "no"\n'],
      ["README.md", "[nowhere](nowhere.md), `npm run dance`\n"],
      ["test/broken.test.ts", 'import "nothing"\n'],
      ["package.json", "{ no\n"],
      ["tsconfig.json", "{ no\n"],
      ["biome.json", "{ no\n"],
      ["vitest.config.ts", "no no\n"],
    ] as const)
      fs.writeFileSync(path.join(folder, own, file), text)
  }
  fs.mkdirSync(path.join(folder, "test"))
  fs.writeFileSync(path.join(folder, "test", "one.test.ts"), 'import { test } from "vitest"\n\ntest("one", () => {})\n')

  test("is not compiled", async () => {
    const { code, stdout } = await run(folder, TSC, ["--listFilesOnly"])
    const own = stdout.split(/\r?\n/).filter((file) => file !== "" && !file.includes("node_modules"))
    const names = own.map((file) => path.relative(folder, path.resolve(folder, file)).split(path.sep).join("/"))
    expect([code, names.sort()]).toEqual([0, ["s01_state/code.ts", "test/one.test.ts", "vitest.config.ts"]])
  })

  test("has no style to keep to", async () => {
    const args = ["check", "--error-on-warnings", "--vcs-enabled=false"]
    expect(await run(folder, BIOME, args)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Checked/) })
    // The course has one.
    fs.writeFileSync(path.join(folder, "test", "two.test.ts"), "let x  =  1;\n")
    const broken = await run(folder, BIOME, args)
    fs.rmSync(path.join(folder, "test", "two.test.ts"))
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining("two.test.ts")])
  })

  test("has no tests that are run", async () => {
    const { stdout, stderr } = await run(folder, VITEST, ["list", "--filesOnly", "--reporter=default"])
    expect([stdout.trim(), stderr]).toEqual(["test/one.test.ts", ""])
  })
})

test.each(ends(["a#b", "50%", "a%20b"]))(
  "in a folder that is called %s, the tests say in one line that they cannot run",
  async (name) => {
    const { code, stdout, stderr } = await run(settle(name), VITEST, ["run"])
    const folder = path.join(temporary, name)
    const [special] = /[#%]/.exec(name) ?? []
    expect({ code, stdout, stderr: stderr.trimEnd() }).toEqual({
      code: 2,
      stdout: "",
      stderr: `error: the tests cannot run below a folder with "${special}" in its name, got "${folder}"`,
    })
  },
)

test("a checkout has LF line ends, whatever git is told to make of them", () => {
  const folder = settle("crlf")
  const settings = [
    "user.name=Somebody",
    "user.email=somebody@example.com",
    "commit.gpgSign=false",
    "core.autocrlf=true",
  ]
  const env = withoutNames(/^GIT_/)
  const git = (...args: string[]): unknown =>
    execFileSync("git", [...settings.flatMap((setting) => ["-c", setting]), ...args], {
      cwd: folder,
      env,
      stdio: "pipe",
    })
  git("init", "--quiet", "--template=")
  git("add", ".gitattributes", "package.json", "s01_state")
  git("commit", "--quiet", "--message", "As it is")
  git("clone", "--quiet", ".", path.join(temporary, "clone"))
  for (const file of ["package.json", "s01_state/code.ts", "s01_state/README.md"])
    expect(fs.readFileSync(path.join(temporary, "clone", file), "utf8")).not.toContain("\r")
})
