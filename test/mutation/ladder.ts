/**
 * The ladder with many s12s on it: each one has another small edit. The tests of the chapters run on all of them in one process; an edited core
 * that has failed a test is left out from then on.
 */
import path from "node:path"
import { pathToFileURL } from "node:url"
import { beforeEach, describe, expect, test } from "vitest"
import { CALLED } from "../../scripts/course/called.ts"
import { type ChapterId, findChapter } from "../../scripts/course/manifest.ts"
import { chapterFile, readSource } from "../../scripts/course/source.ts"
import { type Core, Driver } from "../support/driver.ts"

/** How many rounds the loops of a core may make in one test before they count as endless. */
const MAX_ROUNDS = 100_000

/** Where the edited cores are, and their numbers. `run.ts` sets them. */
const folder = process.env.MUTATION_FOLDER ?? ""
const numbers = (process.env.MUTATION_NUMBERS ?? "").split(" ")

const shared = globalThis as { countRound?: () => void }
const killed = new Set<string>()
let rounds = 0

shared.countRound = () => {
  if (++rounds > MAX_ROUNDS) throw new RangeError("a loop without an end")
}

/** One edited core; undefined where it does not even load. */
export type Mutant = { number: string; driver: Driver | undefined }

export const mutants: Mutant[] = []
for (const number of numbers) {
  rounds = 0
  try {
    const core = (await import(pathToFileURL(path.join(folder, `${number}.mjs`)).href)) as Core
    mutants.push({ number, driver: new Driver(12, "s12", core) })
  } catch {
    mutants.push({ number, driver: undefined })
  }
}

/** Defines tests for every edited core. In their suite's title stands the number of the edit, by which `run.ts` knows who was killed. */
export function eachMutant(title: string, define: (chapter: Driver) => void): void {
  // A file of tests needs one test, should all of its suites be left out.
  test("the edits are known", () => {})
  for (const { number, driver } of mutants) {
    if (killed.has(number)) continue
    describe(`${title} on #${number}`, () => {
      beforeEach((context) => {
        if (killed.has(number)) context.skip()
        context.onTestFailed(() => void killed.add(number))
        rounds = 0
      })
      try {
        if (driver === undefined) throw new Error("the edited core does not load")
        define(driver)
      } catch (error) {
        test("can be tested", () => {
          throw error
        })
      }
    })
  }
}

/** What the tests of the chapters call: the ladder of `test/support`, with edited cores. */
export function part(_first: string, title: string, define: (chapter: Driver) => void): void {
  eachMutant(title, define)
}

export function ownPart(first: string, title: string, define: (chapter: Driver) => void): void {
  part(first, title, define)
}

export function exportsItsParts(first: ChapterId, chapter: Driver): void {
  test("exports what the tests call", () => expect(CALLED[first].filter((name) => !(name in chapter.core))).toEqual([]))
}

/** The text of the chapter as it is: what is judged here is how it behaves. */
export const TEXT: string = readSource(chapterFile(findChapter("s12")))
