/**
 * Runs all that has to hold, from the quickest to the slowest, and stops at the first that does not.
 *
 *   npm test                    the constitution, the types, the style, and the fast tier of the tests
 *   npm run test:deep           the same, with every test
 *   npm test -- test/lab -t i4  only some tests: what is no option of this command goes to vitest
 *   npm test -- --tables        parts × chapters and invariants × chapters, also when all is well
 *   npm test -- --seed 7        the generated sessions of the run that had this seed
 *
 * Exit code 0: all holds; 1: something does not; 2: it could not be tested.
 */
import { type StdioOptions, spawn } from "node:child_process"
import fs from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"
import { performance } from "node:perf_hooks"
import { parseArgs } from "node:util"
import chalk from "chalk"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS } from "../course/manifest.ts"
import { ROOT } from "../course/source.ts"
import { checkSteps, pairChapters, readChapters } from "../rules/judge.ts"
import { describeFinding, githubAnnotation } from "./report.ts"
import { showFailure, showStage } from "./stages.ts"
import { runCommand } from "./terminal.ts"

const USAGE = "usage: npm test -- [--tables] [--seed N] [ARGUMENTS OF VITEST]"

/** How many findings are shown in full; `npm run check` shows all. */
const SHOWN = 5

/** The file that a package runs under a name. */
function binOf(packageName: string, name: string): string {
  const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`)
  const { bin } = JSON.parse(fs.readFileSync(manifest, "utf8")) as { bin: Record<string, string> }
  return path.join(path.dirname(manifest), bin[name] ?? "")
}

type Ended = {
  code: number
  output: string
  milliseconds: number
}

/** Runs a program of Node in the root of the repository. What it prints is kept, unless it is to go through. */
function run(file: string, args: readonly string[], through?: NodeJS.ProcessEnv): Promise<Ended> {
  const start = performance.now()
  const stdio: StdioOptions = through === undefined ? ["ignore", "pipe", "pipe"] : "inherit"
  const child = spawn(process.execPath, [file, ...args], { cwd: ROOT, stdio, env: through ?? process.env })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (output += text))
  return new Promise((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code) => resolve({ code: code ?? 1, output, milliseconds: performance.now() - start }))
  })
}

/** Holds the chapters against the constitution. Says what is wrong and gives false, or says that nothing is. */
function testConstitution(): boolean {
  const start = performance.now()
  const steps = pairChapters(readChapters(CHAPTERS))
  const findings = checkSteps(steps)
  if (findings.length === 0) {
    console.log(showStage("constitution", `${CHAPTERS.length} chapters hold`, performance.now() - start))
    return true
  }
  for (const finding of findings.slice(0, SHOWN)) console.log(`${describeFinding(finding, steps)}\n`)
  if (process.env.GITHUB_ACTIONS === "true") for (const finding of findings) console.log(githubAnnotation(finding))
  const more = findings.length > SHOWN ? `${findings.length} found, ${SHOWN} are shown` : `${findings.length} found`
  console.log(showFailure(`constitution: ${more}`, "npm run check"))
  return false
}

/** Asks the compiler and the formatter, both at once. */
async function testTypesAndStyle(): Promise<boolean> {
  const colors = chalk.level > 0
  const [types, style] = await Promise.all([
    run(binOf("@typescript/native", "tsc"), ["--pretty", String(colors)]),
    run(binOf("@biomejs/biome", "biome"), ["check", "--error-on-warnings", `--colors=${colors ? "force" : "off"}`]),
  ])
  const stages = [
    { name: "types", ended: types, well: "tsc finds nothing", again: "npx tsc" },
    { name: "style", ended: style, well: "biome finds nothing", again: "npx biome check --write" },
  ]
  for (const { name, ended, well } of stages)
    console.log(ended.code === 0 ? showStage(name, well, ended.milliseconds) : ended.output.trim())
  const [failed] = stages.filter(({ ended }) => ended.code !== 0)
  if (failed !== undefined) console.log(`\n${showFailure(failed.name, failed.again)}`)
  return failed === undefined
}

type Selection = {
  deep: boolean
  tables: boolean
  seed: number
  /** What is left for vitest. */
  rest: string[]
}

/** Takes the options of this command out of the command line. Throws with a sentence for people. */
function readSelection(args: string[]): Selection {
  const { values, tokens } = parseArgs({
    args,
    strict: false,
    tokens: true,
    options: { deep: { type: "boolean" }, tables: { type: "boolean" }, seed: { type: "string" } },
  })
  const own = tokens.flatMap((token) => {
    if (token.kind !== "option" || !["deep", "tables", "seed"].includes(token.name)) return []
    return token.inlineValue === false ? [token.index, token.index + 1] : [token.index]
  })
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
  if (typeof values.seed === "boolean" || values.seed === "" || !Number.isInteger(seed) || seed !== (seed | 0))
    throw new InputError(`--seed expects a whole number of 32 bits, got "${values.seed}"`)
  const rest = args.filter((_arg, index) => !own.includes(index))
  return { deep: values.deep === true, tables: values.tables === true, seed, rest }
}

await runCommand(USAGE, async (args) => {
  const { deep, tables, seed, rest } = readSelection(args)
  if (!testConstitution() || !(await testTypesAndStyle())) return 1
  const env = {
    ...process.env,
    // The colors of vitest do not ask whether somebody is looking.
    ...(chalk.level === 0 && { NO_COLOR: "1" }),
    ...(tables && { TEST_TABLES: "1" }),
    TEST_AGAIN: deep ? "npm run test:deep --" : "npm test --",
    INVARIANT_SEED: String(seed),
  }
  const tier = deep ? ["--mode", "deep"] : []
  return (await run(binOf("vitest", "vitest"), ["run", ...tier, ...rest], env)).code
})
