/**
 * Runs the tests of the ladder on a selection of chapters, or on a reader's own file.
 *
 *   npm run ladder -- --upto s06        every part up to s06, on the chapters up to s06
 *   npm run ladder -- --only s04        the parts of s01 to s04, on s04
 *   npm run ladder -- s04 my/code.ts    the same, on a file of yours that is to be chapter s04
 */
import fs from "node:fs"
import { parseArgs } from "node:util"
import chalk from "chalk"
import { parseSource } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, findChapter } from "../course/manifest.ts"
import { chapterFile, ROOT, readSource } from "../course/source.ts"
import { runCommand } from "./terminal.ts"

const USAGE = "usage: npm run ladder -- [--upto sNN] [--only sNN] [sNN FILE]"

/** What the command line selects, as the environment that the ladder reads. Throws with a sentence for people. */
function readSelection(args: string[]): Record<string, string> {
  const { values, positionals } = parseArgs({
    args,
    options: { upto: { type: "string" }, only: { type: "string" } },
    allowPositionals: true,
  })
  const selection: Record<string, string> = {}
  if (values.upto !== undefined) selection.LADDER_UPTO = findChapter(values.upto).id
  if (values.only !== undefined) selection.LADDER_ONLY = findChapter(values.only).id
  if (values.upto !== undefined && values.only !== undefined)
    throw new InputError("--upto and --only exclude each other")
  if (positionals.length === 0) {
    const { LADDER_ONLY: only, LADDER_UPTO: last = "s12" } = selection
    const chapters = CHAPTERS.filter(({ id }) => (only === undefined ? id <= last : id === only))
    for (const file of chapters.map((chapter) => chapterFile(chapter))) parseSource(file, readSource(file))
    return selection
  }
  const [name, file] = positionals
  if (name === undefined || file === undefined || positionals.length > 2)
    throw new InputError(`expected a chapter and a file, got "${positionals.join(" ")}"`)
  if (Object.keys(selection).length > 0)
    throw new InputError("a file is tested by itself: leave --upto and --only away")
  parseSource(file, readSource(file))
  return { LADDER_ONLY: findChapter(name).id, LADDER_FILE: fs.realpathSync(file) }
}

await runCommand(USAGE, async (args) => {
  Object.assign(process.env, readSelection(args), {
    TEST_TABLES: "1",
    TEST_AGAIN: `npm run ladder -- ${args.join(" ")}`,
    // The colors of vitest do not ask whether somebody is looking.
    ...(chalk.level === 0 && { NO_COLOR: "1" }),
  })
  // Only now: it takes longer to load than a refusal takes.
  const { startVitest } = await import("vitest/node")
  // The tests stand in this repository, wherever the command was started.
  await startVitest("test", ["test/chapters/s"], { root: ROOT, watch: false, typecheck: { enabled: false } })
  return Number(process.exitCode ?? 0)
})
