import fs from "node:fs"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { CHAPTERS, type Chapter } from "../../scripts/course/manifest.ts"
import { chapterFile } from "../../scripts/course/source.ts"
import { Judge, type Verdict } from "../../scripts/practice/judge.ts"
import { makeStart, namesToWrite } from "../../scripts/practice/start.ts"
import { firstOpenStep, stepsOf, testsOf } from "../../scripts/practice/steps.ts"
import { makeTemporaryFolder } from "../support/commands.ts"
import { ends } from "../support/tier.ts"

const folder = makeTemporaryFolder()
const judge = new Judge()

afterAll(async () => {
  await judge.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Judges a text as a chapter, with all of its tests. */
function judgeText(chapter: Chapter, text: string): Promise<Verdict> {
  const file = path.join(folder, `${chapter.id}.ts`)
  fs.writeFileSync(file, text)
  return judge.run(file, { chapter: chapter.id, failures: Number.POSITIVE_INFINITY })
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

  test("everything that is new or changes is the work of a step", () => {
    expect(namesToWrite(chapter).filter((name) => !steps.some(({ names }) => names.includes(name)))).toEqual([])
  })

  test("the start fails at the first; written declaration by declaration, they go forward and never back", async () => {
    const written = new Set<string>()
    let last = openIn(chapter, await judgeText(chapter, makeStart(chapter)))
    expect(last).toBe(0)
    for (const [index, { names }] of steps.entries()) {
      for (const name of names) {
        if (written.has(name)) continue
        written.add(name)
        const open = openIn(chapter, await judgeText(chapter, makeStart(chapter, written)))
        expect(open, `behind ${name}`).toBeGreaterThanOrEqual(last)
        last = open
      }
      expect(last, `with all of step ${index + 1} written`).toBeGreaterThan(index)
    }
    expect(last).toBe(steps.length)
  })
})
