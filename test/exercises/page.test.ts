/** Does what the pages of exercises say, with the edits that they show, and sees what they promise. */
import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { readMarkdown } from "../../scripts/books/markdown.ts"
import { findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { loadProgram } from "../../scripts/faults/plant.ts"
import { EXPERIMENTS } from "../../scripts/lab/experiments.ts"
import { compare, type Trial } from "../../scripts/lab/run.ts"
import { type Core, randomFrom } from "../../scripts/lab/session.ts"

/** An edit as a page shows it. */
type Shown = { experiment: string; chapter: string; lines: string[] }

function readEdits(file: string): Shown[] {
  const { comments, blocks } = readMarkdown(fs.readFileSync(path.join(ROOT, file), "utf8"))
  return comments.flatMap(({ line, text }) => {
    const [, experiment = "", chapter = ""] =
      /^output: npm run lab -- (\S+) --chapter (s\d\d) --change/.exec(text) ?? []
    if (experiment === "") return []
    const block = blocks.find((candidate) => candidate.line > line)
    return [{ experiment, chapter, lines: block?.lines.map((shown) => shown.text) ?? [] }]
  })
}

/** Makes an edit by hand: takes each line with a minus out and puts each with a plus in, part by part. */
function makeEdit(chapter: string, shown: readonly string[]): string {
  const text = fs.readFileSync(path.join(ROOT, findChapter(chapter).folder, "code.ts"), "utf8")
  const parts: { sign: string; line: number; text: string }[][] = []
  for (const row of shown) {
    const [, line, sign = "", changed = ""] = /^ +(\d+) ([-+]) ?(.*)$/.exec(row) ?? []
    if (line === undefined) parts.push([])
    else parts.at(-1)?.push({ sign, line: Number(line), text: changed })
  }
  return parts.reduce((sofar, part) => {
    const lines = sofar.split("\n")
    const out = part.filter(({ sign }) => sign === "-")
    for (const { line, text } of out) expect(lines[line - 1]).toBe(text)
    const kept = lines.filter((_text, index) => !out.some(({ line }) => line === index + 1))
    for (const { line, text } of part.filter(({ sign }) => sign === "+")) kept.splice(line - 1, 0, text)
    return kept.join("\n")
  }, text)
}

/** Plays the task of an exercise five times on a program that was cut, and once on the chapter as it is. */
async function doExercise({ experiment: id, chapter, lines }: Shown): Promise<Trial[]> {
  const experiment = EXPERIMENTS.find((candidate) => candidate.id === id)
  if (experiment === undefined) throw new Error(`the page speaks of ${id}, and there is no such experiment`)
  const play = async (text: string, seed: number, variant: "baseline" | "fault") => {
    const program = { id: findChapter(chapter).id, core: await loadProgram<Core>(text) }
    return experiment.play({ program, random: randomFrom(seed), variant })
  }
  const baseline = await play(makeEdit(chapter, []), 1, "baseline")
  const cut = makeEdit(chapter, lines)
  const runs: Trial[] = []
  for (const seed of [1, 2, 3, 4, 5]) runs.push(compare(baseline, await play(cut, seed, "fault"), seed))
  return runs
}

const edits = readEdits("EXERCISES.en.md")

describe("the exercises", () => {
  test("show the same edits in both languages, one at least for each invariant", () => {
    const bare = (shown: Shown[]): Shown[] =>
      shown.map((edit) => ({ ...edit, lines: edit.lines.filter((line) => /^ +\d+ [-+]/.test(line)) }))
    expect(bare(readEdits("EXERCISES.md"))).toEqual(bare(edits))
    const invariants = edits.map(({ experiment }) => experiment.slice(0, 2).toUpperCase())
    expect([...new Set(invariants)].sort()).toEqual(["I1", "I2", "I3", "I4", "I5", "I6"])
  })

  test.each(edits.map((edit) => [edit.experiment, edit.chapter, edit] as const))(
    "%s on %s, cut as the page says, goes wrong where the lab says, and somebody could notice",
    async (_id, _chapter, edit) => {
      const runs = await doExercise(edit)
      const shown = runs.find(({ deviation }) => deviation >= 0)
      expect(shown?.transcript.visible).toBeDefined()
    },
  )

  test("i4: five runs, five arrays, four wrong answers and a right one", async () => {
    const edit = edits.find(({ experiment }) => experiment === "i4")
    if (edit === undefined) throw new Error("the page has no edit for i4")
    const runs = await doExercise(edit)
    expect(new Set(runs.map(({ transcript }) => JSON.stringify(transcript.messages))).size).toBe(5)
    expect(runs.filter(({ transcript }) => transcript.visible !== undefined)).toHaveLength(4)
  })
})
