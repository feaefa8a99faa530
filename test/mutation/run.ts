/**
 * Tests the tests: makes every small edit of s12's core, one at a time, and asks which of them no test of the chapters and no invariant notices.
 *
 *   npm run mutation                    all edits; exit code 1 when too few are found
 *   npm run mutation -- --in sealTool   only those in declarations with this in their name
 *   npm run mutation -- --json FILE     writes which test has found which edit
 *   npm run mutation -- --again FILE    only those that had survived when that file was written
 *
 * An edit that changes nothing that could be promised stands in `equivalents.json`, with the reason. Several minutes; not part of `npm test`.
 */
import fs from "node:fs"
import path from "node:path"
import { parseArgs } from "node:util"
import { transformSync } from "esbuild"
import { createVitest, type TestCase } from "vitest/node"
import { openTerminal, runCommand, type Terminal } from "../../scripts/cli/terminal.ts"
import { InputError } from "../../scripts/course/input-error.ts"
import { ROOT, readSource } from "../../scripts/course/source.ts"
import { readCore, readEquivalents } from "./core.ts"
import { type Edit, editedCore, editsOf } from "./edits.ts"

/** The share of the edits that are not equivalent and must be found, in percent. */
const BOUND = 95

/** How many edited cores share one start of the tests. */
const BATCH = 60

/** What became of an edit: the first test that failed, if one did. */
type Row = { line: number; key: string; found?: string | undefined }

const core = readCore()
const all = editsOf(core)

/** The number of the core as it is. It runs behind every batch: should it fail, one edited core has disturbed another. */
const NONE = "none"

/** Writes an edited core as a program. */
function write(folder: string, edit: Pick<Edit, "start" | "end" | "text">, number: number | string): void {
  const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } }
  const { code } = transformSync(editedCore(core, edit), { loader: "ts", target: "es2022", tsconfigRaw })
  fs.writeFileSync(path.join(folder, `${number}.mjs`), code)
}

/** Runs the tests on some edited cores. Gives the first test that failed, by number. */
async function run(folder: string, numbers: (number | string)[]): Promise<Map<string, string>> {
  const ladder = path.join(import.meta.dirname, "ladder.ts")
  const vitest = await createVitest(
    "test",
    {
      root: ROOT,
      config: false,
      watch: false,
      include: ["test/chapters/{s*,doors,own}.test.ts", "test/mutation/invariants.ts"],
      setupFiles: ["test/support/no-console.ts"],
      pool: "threads",
      maxWorkers: 1,
      isolate: false,
      // An edited core that never answers costs this once; a busy machine must not pass for one.
      testTimeout: 5000,
      deps: { interopDefault: false },
      // A rejection that nobody handles cannot be laid to one edited core: what shows in no test is not found.
      dangerouslyIgnoreUnhandledErrors: true,
      env: { MUTATION_FOLDER: folder, MUTATION_NUMBERS: numbers.join(" "), TEST_TIER: "fast" },
      reporters: [{}],
    },
    {
      plugins: [
        {
          name: "edited cores",
          enforce: "pre",
          resolveId: (id: string) => (id.endsWith("/support/ladder.ts") ? ladder : undefined),
        },
      ],
    },
  )
  const found = new Map<string, string>()
  try {
    const { testModules, unhandledErrors } = await vitest.start()
    for (const module of testModules) {
      for (const error of module.errors()) throw new Error(`${module.moduleId}: ${error.message}`)
      for (const test of module.children.allTests("failed")) {
        const [, number = ""] = /on #(\w+)/.exec(test.fullName) ?? []
        if (!found.has(number)) found.set(number, nameOf(test))
      }
    }
    if (testModules.length === 0) throw new Error(`no test ran: ${unhandledErrors}`)
  } finally {
    await vitest.close()
  }
  return found
}

function nameOf(test: TestCase): string {
  return `${path.basename(test.module.moduleId)}: ${test.fullName.replace(/ on #\w+/, "")}`
}

/** The keys of the edits that an earlier run has found. Throws when the file is not what `--json` writes. */
function readFound(file: string): Set<string> {
  try {
    const rows = JSON.parse(readSource(path.resolve(file))) as Row[]
    return new Set(rows.flatMap(({ key, found }) => (found === undefined ? [] : [key])))
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`--again expects a file that --json has written, and ${file} is none`)
  }
}

/** Runs the tests on all of the edits, batch by batch. Gives the first test that failed, by the number of the edit. */
async function runAll(edits: readonly Edit[], { out, progress }: Terminal): Promise<Map<string, string>> {
  const folder = fs.mkdtempSync(path.join(ROOT, "node_modules", ".mutation-"))
  try {
    write(folder, { start: 0, end: 0, text: "" }, NONE)
    const found = new Map<string, string>()
    for (let first = 0; first < edits.length; first += BATCH) {
      const batch = edits.slice(first, first + BATCH).map((edit, index) => ({ edit, number: first + index }))
      for (const { edit, number } of batch) write(folder, edit, number)
      const killed = await run(folder, [...batch.map(({ number }) => number), NONE])
      if (killed.has(NONE)) throw new Error(`the tests fail without an edit: ${killed.get(NONE)}`)
      for (const [number, test] of killed) found.set(number, test)
      for (const { edit, number } of batch)
        if (!killed.has(String(number))) out(`survived  s12:${edit.line}  ${edit.key}`)
      progress?.(`\r${first + batch.length} of ${edits.length}\r`)
    }
    return found
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

async function main(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { in: { type: "string" }, json: { type: "string" }, again: { type: "string" } },
  })
  const began = Date.now()
  const equivalents = new Set(readEquivalents())
  const known = values.again === undefined ? new Set<string>() : readFound(values.again)
  const looked = all.filter(({ place }) => place.includes(values.in ?? ""))
  if (looked.length === 0)
    throw new InputError(`--in expects a part of a declaration's name, and "${values.in}" is in none of s12`)
  const edits = looked.filter(({ key }) => !equivalents.has(key) && !known.has(key))
  const found = await runAll(edits, terminal)
  const score = edits.length === 0 ? 100 : (found.size / edits.length) * 100
  const same = looked.filter(({ key }) => equivalents.has(key)).length
  const seconds = Math.round((Date.now() - began) / 1000)
  terminal.out(
    `mutation  ${score.toFixed(1)} % (at least ${BOUND} %): ${found.size} of ${edits.length} edits found, ${same} more change nothing; ${seconds} s`,
  )
  if (values.json !== undefined) {
    const rows: Row[] = edits.map(({ key, line }, number) => ({ line, key, found: found.get(String(number)) }))
    fs.writeFileSync(values.json, JSON.stringify(rows, null, 1))
  }
  return score < BOUND ? 1 : 0
}

const usage = "usage: npm run mutation -- [--in NAME] [--json FILE] [--again FILE]"
process.exitCode = await runCommand({ usage, run: main }, process.argv.slice(2), openTerminal())
