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
import { type Edit, editedCore, editsOf } from "./edits.ts"

const ROOT = path.join(import.meta.dirname, "..", "..")
const HERE = import.meta.dirname

/** The share of the edits that are not equivalent and must be found, in percent. */
const BOUND = 95

/** How many edited cores share one start of the tests. */
const BATCH = 60

/** What became of an edit: the first test that failed, if one did. */
type Row = { line: number; key: string; found?: string | undefined }

/** Edits that no test needs to find, and the reason. */
type Equivalents = { why: string; edits: string[] }

const { values } = parseArgs({
  options: { in: { type: "string" }, json: { type: "string" }, again: { type: "string" } },
})
const file = path.join(ROOT, "s12_packages", "code.ts")
const original = fs.readFileSync(file, "utf8")
const core = original.slice(0, original.indexOf("// ── Demo ──"))
const equivalents = new Set(
  (JSON.parse(fs.readFileSync(path.join(HERE, "equivalents.json"), "utf8")) as Equivalents[]).flatMap(
    ({ edits }) => edits,
  ),
)
const all = editsOf(core)
const before = values.again === undefined ? [] : (JSON.parse(fs.readFileSync(values.again, "utf8")) as Row[])
const known = new Set(before.filter((row) => row.found !== undefined).map((row) => row.key))
const looked = all.filter(({ place }) => place.includes(values.in ?? ""))
const edits = looked.filter(({ key }) => !equivalents.has(key) && !known.has(key))

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
  const ladder = path.join(HERE, "ladder.ts")
  const vitest = await createVitest(
    "test",
    {
      root: ROOT,
      config: false,
      watch: false,
      include: ["test/chapters/s*.test.ts", "test/chapters/doors.test.ts", "test/mutation/invariants.ts"],
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

const folder = fs.mkdtempSync(path.join(ROOT, "node_modules", ".mutation-"))
const began = Date.now()
try {
  fs.writeFileSync(path.join(folder, "original.ts"), original)
  write(folder, { start: 0, end: 0, text: "" }, NONE)
  const found = new Map<string, string>()
  const survivors: Edit[] = []
  let shown = 0
  for (let first = 0; first < edits.length; first += BATCH) {
    const numbers = edits.slice(first, first + BATCH).map((_edit, index) => first + index)
    for (const number of numbers) write(folder, edits[number] as Edit, number)
    for (const [number, test] of await run(folder, [...numbers, NONE])) found.set(number, test)
    if (found.has(NONE)) throw new Error(`the tests fail without an edit: ${found.get(NONE)}`)
    for (const number of numbers) if (!found.has(String(number))) survivors.push(edits[number] as Edit)
    for (const { line, key } of survivors.slice(shown)) console.log(`survived  s12:${line}  ${key}`)
    shown = survivors.length
    if (process.stderr.isTTY) process.stderr.write(`\r${first + numbers.length} of ${edits.length}`)
  }
  process.stderr.write("\r")
  const unknown = [...equivalents].filter((key) => !all.some((edit) => edit.key === key))
  for (const key of unknown) console.log(`no longer an edit, take it out of equivalents.json  ${key}`)
  const score = edits.length === 0 ? 100 : ((edits.length - survivors.length) / edits.length) * 100
  const seconds = Math.round((Date.now() - began) / 1000)
  const counts = `${edits.length - survivors.length} of ${edits.length} edits found, ${looked.filter(({ key }) => equivalents.has(key)).length} more change nothing`
  console.log(`mutation  ${score.toFixed(1)} % (at least ${BOUND} %): ${counts}; ${seconds} s`)
  if (values.json !== undefined) {
    const rows: Row[] = edits.map(({ key, line }, number) => ({ line, key, found: found.get(String(number)) }))
    fs.writeFileSync(values.json, JSON.stringify(rows, null, 1))
  }
  process.exitCode = score < BOUND || unknown.length > 0 ? 1 : 0
} finally {
  fs.rmSync(folder, { recursive: true, force: true })
}
