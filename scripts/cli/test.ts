/**
 * Runs all that has to hold, from the quickest to the slowest, and stops at the first that does not.
 *
 *   npm test                    the constitution, the types, the style, and the fast tier of the tests
 *   npm run test:deep           the same, with every test
 *   npm test -- test/lab -t i4  only some tests: what is no option of this command goes to vitest
 *   npm test -- --tables        parts × chapters and invariants × chapters, also when all is well
 *   npm test -- --accept test/rules  writes what the rules find into those fixtures that expect something else
 *   npm test -- --seed 7        the generated sessions of the run that had this seed
 *
 * Exit code 0: all holds; 1: something does not; 2: it could not be tested.
 */
import { performance } from "node:perf_hooks"
import { parseArgs } from "node:util"
import { InputError } from "../course/input-error.ts"
import { chooseLanguage } from "../course/language.ts"
import { CHAPTERS } from "../course/manifest.ts"
import { chapterFiles } from "../course/source.ts"
import { assertWhole, checkSteps, pairChapters, readChapters } from "../rules/judge.ts"
import { describeFinding, githubAnnotation } from "./report.ts"
import { showFailure, showStage } from "./stages.ts"
import type { Command, Terminal } from "./terminal.ts"
import { binOf, runTool, runVitest } from "./tools.ts"

/** How many findings are shown in full; `npm run check` shows all. */
const SHOWN = 5

/** Holds the chapters against the constitution. Says what is wrong and gives false, or says that nothing is. */
function testConstitution(terminal: Terminal): boolean {
  const { env, out, paint, root } = terminal
  const start = performance.now()
  const language = chooseLanguage(undefined, env)
  assertWhole(CHAPTERS)
  const steps = pairChapters(readChapters(CHAPTERS, chapterFiles(root)))
  const findings = checkSteps(steps)
  if (findings.length === 0) {
    out(showStage("constitution", `${CHAPTERS.length} chapters hold`, performance.now() - start, paint))
    return true
  }
  for (const finding of findings.slice(0, SHOWN)) out(`${describeFinding(finding, steps, terminal, language)}\n`)
  if (env.GITHUB_ACTIONS === "true") for (const finding of findings) out(githubAnnotation(finding, terminal))
  const more = findings.length > SHOWN ? `${findings.length} found, ${SHOWN} are shown` : `${findings.length} found`
  out(showFailure(`constitution: ${more}`, "npm run check", paint))
  return false
}

/** Asks the compiler, for the programs of Node and for the page, and the formatter, all at once. */
async function testTypesAndStyle(terminal: Terminal): Promise<boolean> {
  const { out, paint } = terminal
  const colors = paint.level > 0
  const checks = ["check", "--error-on-warnings", `--colors=${colors ? "force" : "off"}`]
  const ended = await Promise.all([
    runTool(binOf("@typescript/native", "tsc"), ["--pretty", String(colors)], terminal),
    runTool(binOf("@typescript/native", "tsc"), ["--pretty", String(colors), "-p", "app/page"], terminal),
    runTool(binOf("@biomejs/biome", "biome"), checks, terminal),
  ])
  const [types, page, style] = ended
  const stages = [
    types.code === 0 && page.code !== 0
      ? { name: "types", ended: page, well: "", again: "npx tsc -p app/page" }
      : { name: "types", ended: types, well: "tsc finds nothing", again: "npx tsc" },
    { name: "style", ended: style, well: "biome finds nothing", again: "npx biome check --write" },
  ]
  for (const { name, ended, well } of stages)
    out(ended.code === 0 ? showStage(name, well, ended.milliseconds, paint) : ended.output.trim())
  const [failed] = stages.filter(({ ended }) => ended.code !== 0)
  if (failed !== undefined) out(`\n${showFailure(failed.name, failed.again, paint)}`)
  return failed === undefined
}

type Selection = {
  deep: boolean
  tables: boolean
  accept: boolean
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
    options: {
      deep: { type: "boolean" },
      tables: { type: "boolean" },
      accept: { type: "boolean" },
      seed: { type: "string" },
    },
  })
  const own = tokens.flatMap((token) => {
    if (token.kind !== "option" || !["deep", "tables", "accept", "seed"].includes(token.name)) return []
    return token.inlineValue === false ? [token.index, token.index + 1] : [token.index]
  })
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
  if (typeof values.seed === "boolean" || values.seed === "" || !Number.isInteger(seed) || seed !== (seed | 0))
    throw new InputError(`--seed expects a whole number of 32 bits, got "${values.seed}"`)
  const rest = args.filter((_arg, index) => !own.includes(index))
  return { deep: values.deep === true, tables: values.tables === true, accept: values.accept === true, seed, rest }
}

/** npm test */
export const command: Command = {
  usage: "usage: npm test -- [--tables] [--accept] [--seed N] [ARGUMENTS OF VITEST]",
  async run(args, terminal) {
    const { deep, tables, accept, seed, rest } = readSelection(args)
    if (!testConstitution(terminal) || !(await testTypesAndStyle(terminal))) return 1
    const settings = {
      ...(tables && { TEST_TABLES: "1" }),
      ...(accept && { TEST_ACCEPT: "1" }),
      TEST_AGAIN: deep ? "npm run test:deep --" : "npm test --",
      INVARIANT_SEED: String(seed),
    }
    return runVitest([...(deep ? ["--mode", "deep"] : []), ...rest], settings, terminal)
  },
}
