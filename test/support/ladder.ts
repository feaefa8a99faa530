/**
 * The ladder: a part is tested on the chapter that brings it and on every later one. The environment narrows it: LADDER_ONLY and LADDER_UPTO
 * name chapters; LADDER_FILE is a file that claims to be chapter LADDER_ONLY. `npm run ladder` sets them.
 */
import path from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, test } from "vitest"
import { CALLED } from "../../scripts/course/called.ts"
import { CHAPTERS, type Chapter, type ChapterId, findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { loadProgram } from "../../scripts/faults/plant.ts"
import { readAlternative, STYLES } from "./alternatives.ts"
import { type Core, Driver } from "./driver.ts"
import { DEEP } from "./tier.ts"

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

/** The chapters of an implementation by other hands that are tested: in the fast tier the last one, and an earlier one that is not the same for all. */
function chaptersOf(style: string): readonly Chapter[] {
  const later = CHAPTERS.slice(1)
  const early = later[(STYLES.indexOf(style) * 3) % later.length]
  return DEEP ? later : later.filter((chapter) => chapter === early || chapter === later.at(-1))
}

/** The other implementations, unless this run is about certain chapters or a certain file. */
const others = [only, upto, file].some((selection) => selection !== undefined)
  ? []
  : await Promise.all(
      STYLES.flatMap((style) =>
        chaptersOf(style).map(async ({ id }) => {
          const core = await loadProgram<Core>(readAlternative(style, findChapter(id).id))
          return { style, driver: new Driver(CHAPTERS.findIndex((chapter) => chapter.id === id) + 1, id, core) }
        }),
      ),
    )

/**
 * Defines the tests of a part for each chapter that contains it, and for what others have written in its place: whoever keeps the promises passes. The
 * title of the suite is what the matrix at the end is made from.
 */
export function part(first: ChapterId, title: string, define: (chapter: Driver) => void): void {
  for (const { style, driver } of others)
    if (driver.id >= first) describe(`${first} ${title} on ${driver.id}, written in ${style}`, () => define(driver))
  courseOnly(first, title, define)
}

/** Defines the tests of a part for the chapters of the course, or for the file that stands for one. */
function courseOnly(first: ChapterId, title: string, define: (chapter: Driver) => void): void {
  for (const driver of driversFrom(first)) describe(`${first} ${title} on ${driver.id}`, () => define(driver))
  if (driversFrom(first).length === 0)
    describe.skip(`${first} ${title}`, () => test("is in no selected chapter", () => {}))
}

/** Defines the test that the names that tests call are there; without it, a missing name would show as a puzzle somewhere else. */
export function exportsItsParts(first: ChapterId, chapter: Driver): void {
  test("exports the functions and classes that the tests call", () => {
    const missing = CALLED[first].filter((name) => !(name in chapter.core))
    expect(missing.join(", "), `names that ${chapter.id} does not export`).toBe("")
  })
}

/** The same as `part`, for what only the course's own chapters are held to. A reader's file is not judged by it. */
export function ownPart(first: ChapterId, title: string, define: (chapter: Driver) => void): void {
  if (file === undefined) courseOnly(first, title, define)
}
