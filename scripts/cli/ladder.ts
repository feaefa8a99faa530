/**
 * Runs the tests of the ladder on a selection of chapters, or on a reader's own file.
 *
 *   npm run ladder -- --upto s06        every part up to s06, on the chapters up to s06
 *   npm run ladder -- --only s04        the parts of s01 to s04, on s04
 *   npm run ladder -- s04 my/code.ts    the same, on a file of yours that is to be chapter s04
 */
import fs from "node:fs"
import path from "node:path"
import { parseSource, readSurface, type Surface } from "../chapter/surface.ts"
import { CALLED } from "../course/called.ts"
import { InputError } from "../course/input-error.ts"
import { chooseLanguage, type Language } from "../course/language.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile, readSource } from "../course/source.ts"
import { checkSteps, pairChapters } from "../rules/judge.ts"
import type { Finding } from "../rules/rule.ts"
import { readOptions } from "./options.ts"
import { findTypeFaults, readOwn, showLacks, showTypeFault } from "./own-file.ts"
import { type Command, type Terminal, visible } from "./terminal.ts"
import { runVitest } from "./tools.ts"

/** What the command line selects, as the environment that the ladder reads. Throws with a sentence for people. */
function readSelection(
  args: string[],
  { root, directory, env }: Terminal,
): { selection: Record<string, string>; language: Language } {
  const { values, positionals } = readOptions({
    args,
    options: { upto: { type: "string" }, only: { type: "string" }, lang: { type: "string" } },
    allowPositionals: true,
  })
  const language = chooseLanguage(values.lang, env)
  const selection: Record<string, string> = {}
  if (values.upto !== undefined) selection.LADDER_UPTO = findChapter(values.upto).id
  if (values.only !== undefined) selection.LADDER_ONLY = findChapter(values.only).id
  if (values.upto !== undefined && values.only !== undefined)
    throw new InputError("--upto and --only exclude each other")
  if (positionals.length === 0) {
    const { LADDER_ONLY: only, LADDER_UPTO: last = "s12" } = selection
    const chapters = CHAPTERS.filter(({ id }) => (only === undefined ? id <= last : id === only))
    for (const file of chapters.map((chapter) => chapterFile(chapter, root))) parseSource(file, readSource(file))
    return { selection: { ...selection, TEST_LANGUAGE: language }, language }
  }
  const [name, given] = positionals
  if (name === undefined || given === undefined || positionals.length > 2)
    throw new InputError(`expected a chapter and a file, got "${positionals.join(" ")}"`)
  if (Object.keys(selection).length > 0)
    throw new InputError("a file is tested by itself: leave --upto and --only away")
  const file = path.resolve(directory, given)
  parseSource(file, readSource(file))
  return {
    selection: { LADDER_ONLY: findChapter(name).id, LADDER_FILE: fs.realpathSync(file), TEST_LANGUAGE: language },
    language,
  }
}

/** Whether the tests demand what is missing: types, and what they call by its name. How a chapter is cut into helpers is up to its author. */
function isDemanded({ symbol }: Finding): boolean {
  const [name = ""] = symbol.split(".")
  return /^[A-Z][a-z]/.test(name) || Object.values(CALLED).some((names) => names.includes(name))
}

/** npm run ladder */
export const command: Command = {
  usage: "usage: npm run ladder -- [--upto sNN] [--only sNN] [--lang zh|en] [sNN FILE]",
  async run(args, terminal) {
    const { selection, language } = readSelection(args, terminal)
    const { LADDER_FILE: file, LADDER_ONLY: id = "" } = selection
    const again = { TEST_TABLES: "1", TEST_AGAIN: `npm run ladder -- ${args.join(" ")}` }
    const test = (settings: Readonly<Record<string, string>>): Promise<number> =>
      runVitest(["test/chapters/s", "test/chapters/doors", "--typecheck.enabled=false"], settings, terminal)
    if (file === undefined) return test({ ...selection, ...again })
    const faults = await findTypeFaults(file, terminal)
    for (const fault of faults) terminal.out(`${showTypeFault(fault, file, terminal)}\n`)
    const chapter = findChapter(id)
    const before = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
    const read = (one: Chapter, place: string): Surface => readSurface(one, place)
    const steps = pairChapters([readOwn(chapter, file)], before && read(before, chapterFile(before, terminal.root)))
    const lacks = showLacks(checkSteps(steps).filter(isDemanded), id, language)
    if (lacks !== "") terminal.out(`${visible(lacks)}\n`)
    // A reader writes one thing after the other: the first test that fails is the one to look at.
    const code = await test({ ...selection, ...again, TEST_SHOWN: "1" })
    return faults.length > 0 ? 1 : code
  },
}
