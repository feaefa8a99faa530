import fs from "node:fs"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { CHAPTERS, type Chapter } from "../../scripts/course/manifest.ts"
import { chapterFile, ROOT } from "../../scripts/course/source.ts"
import { Judge, type Verdict } from "../../scripts/practice/judge.ts"
import { placeInBook } from "../../scripts/practice/look.ts"
import { makeStart, namesToWrite } from "../../scripts/practice/start.ts"
import { firstOpenStep, stepsOf, testsOf } from "../../scripts/practice/steps.ts"
import { here, makeTemporaryFolder, replaceOnce } from "../support/commands.ts"
import { DEEP, ends } from "../support/tier.ts"
import { STEP_FAULTS } from "./faults.ts"

const folder = makeTemporaryFolder()
const judge = new Judge()

afterAll(async () => {
  await judge.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Judges a text as a chapter, as practice does. */
function judgeText(chapter: Chapter, text: string): Promise<Verdict> {
  const file = path.join(folder, `${chapter.id}.ts`)
  fs.writeFileSync(file, text)
  return judge.run(file, { chapter: chapter.id, failures: Number.POSITIVE_INFINITY, ownFirst: true })
}

const openIn = (chapter: Chapter, { tests, passed }: Verdict): number => firstOpenStep(chapter, tests, new Set(passed))

describe.each(ends(CHAPTERS))("the steps of $id", (chapter) => {
  const steps = stepsOf(chapter)

  test("the course's chapter passes all of them, and each names tests that there are", async () => {
    const verdict = await judge.run(chapterFile(chapter), { chapter: chapter.id, failures: 1 })
    expect(verdict).toMatchObject({ failures: [], passed: verdict.tests })
    expect(verdict).not.toHaveProperty("trouble")
    expect(openIn(chapter, verdict)).toBe(steps.length)
    const gone = steps.flatMap((step) =>
      step.tests.filter((start) => testsOf({ ...step, tests: [start] }, chapter, verdict.tests).length === 0),
    )
    expect(gone, "beginnings of names that no test has any more: name others in scripts/practice/steps.ts").toEqual([])
  })

  test("for each of them a fault fails at exactly this one", async () => {
    const faults = STEP_FAULTS[chapter.id]
    const found: number[] = []
    for (const [from, to] of faults)
      found.push(openIn(chapter, await judgeText(chapter, replaceOnce(here.read(chapter.id), from, to))))
    expect(found).toEqual(steps.map((_step, index) => index))
  })

  test("everything that is new or changes is the work of a step", () => {
    expect(namesToWrite(chapter).filter((name) => !steps.some(({ names }) => names.includes(name)))).toEqual([])
  })

  test("no hint holds a line of the solution, nor a piece of code", () => {
    const lines = here
      .read(chapter.id)
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line.length > 8)
    const hints = steps.flatMap(({ task, promise, idea }) => [task, promise, idea].flatMap(({ en, zh }) => [en, zh]))
    expect(hints.filter((hint) => lines.some((line) => hint.includes(line)))).toEqual([])
    expect(hints.filter((hint) => /[{}[\]=]|\w\(|\.\w+\(/.test(hint))).toEqual([])
  })

  test("each has its place in the book, in both languages", () => {
    for (const step of steps.slice(0, -1))
      for (const language of ["en", "zh"] as const) {
        const { file, line, heading } = placeInBook(chapter, step.names, language)
        expect(fs.readFileSync(path.join(ROOT, file), "utf8").split("\n")[line - 1], step.task.en).toMatch(
          /^<!-- \w+: /,
        )
        expect(heading).toMatch(/\S/)
      }
  })

  test("the start fails at the first; written declaration by declaration, they go forward and never back", async () => {
    const written = new Set<string>()
    let last = openIn(chapter, await judgeText(chapter, makeStart(chapter)))
    expect(last).toBe(0)
    for (const [index, { names }] of steps.entries()) {
      // In the fast tier a step is written as a whole.
      for (const some of DEEP ? names.map((name) => [name]) : [names]) {
        const known = written.size
        for (const name of some) written.add(name)
        if (written.size === known && index < steps.length - 1) continue
        const open = openIn(chapter, await judgeText(chapter, makeStart(chapter, written)))
        expect(open, `behind ${some.join(", ")}`).toBeGreaterThanOrEqual(last)
        last = open
      }
      expect(last, `with all of step ${index + 1} written`).toBeGreaterThan(index)
    }
    expect(last).toBe(steps.length)
  })
})
