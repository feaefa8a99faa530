/**
 * The ladder: a part is tested on the chapter that brings it and on every later one. The environment narrows it: LADDER_ONLY and LADDER_UPTO
 * name chapters; LADDER_FILE is a file that claims to be chapter LADDER_ONLY. `npm run ladder` sets them.
 */
import path from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, test } from "vitest"
import * as final from "../../s12_packages/code.ts"
import { CHAPTERS, type Chapter, type ChapterId, findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { type Core, Driver } from "./driver.ts"

export { ROOT }

const only = process.env.LADDER_ONLY
const upto = process.env.LADDER_UPTO
const file = process.env.LADDER_FILE

/** Where the program of a chapter is read from in this run. */
export function sourceOf(chapter: Chapter): string {
  return file !== undefined && chapter.id === only ? path.resolve(file) : path.join(ROOT, chapter.folder, "code.ts")
}

const selected = CHAPTERS.filter(
  (chapter) =>
    (only === undefined || chapter.id === findChapter(only).id) &&
    (upto === undefined || chapter.id <= findChapter(upto).id),
)

const drivers = await Promise.all(
  selected.map(async (chapter) => {
    const core = (await import(pathToFileURL(sourceOf(chapter)).href)) as Core
    return new Driver(CHAPTERS.indexOf(chapter) + 1, chapter.id, core)
  }),
)

/** The drivers of the selected chapters from `first` to `last`. */
export function driversFrom(first: ChapterId, last: ChapterId = "s12"): Driver[] {
  return drivers.filter((driver) => driver.id >= first && driver.id <= last)
}

/** Defines the tests of a part for each chapter that contains it. The title of the suite is what the matrix at the end is made from. */
export function part(first: ChapterId, title: string, define: (chapter: Driver) => void): void {
  for (const driver of driversFrom(first)) describe(`${first} ${title} on ${driver.id}`, () => define(driver))
  if (driversFrom(first).length === 0)
    describe.skip(`${first} ${title}`, () => test("is in no selected chapter", () => {}))
}

/** Defines the test that a chapter's names are there; without it, a missing name would show as a puzzle somewhere else. */
export function exportsItsParts(first: ChapterId, chapter: Driver): void {
  test("exports its functions and classes", () => {
    const expected = findChapter(first).parts.filter((name) => name in final)
    const missing = expected.filter((name) => !(name in chapter.core))
    expect(missing.join(", "), `names that ${chapter.id} does not export`).toBe("")
  })
}
