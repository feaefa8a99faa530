import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { plant } from "../../scripts/faults/plant.ts"
import { EXPERIMENTS, type Experiment } from "../../scripts/lab/experiments.ts"
import { type OwnPlay, playOn, runOnOwnFile } from "../../scripts/lab/own.ts"
import { runExperiment } from "../../scripts/lab/run.ts"
import { here } from "../support/commands.ts"
import { ends } from "../support/tier.ts"

let folder = ""
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "own 自己的-"))
})
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

const textOf = (id: string): string => fs.readFileSync(path.join(ROOT, findChapter(id).folder, "code.ts"), "utf8")

/** Writes a file of a reader's own. It lies elsewhere, so it brings its packages along by their full address. */
function write(name: string, text: string): string {
  const file = path.join(folder, name)
  fs.writeFileSync(file, text.replace('from "zod"', `from ${JSON.stringify(import.meta.resolve("zod"))}`))
  return file
}

const findExperiment = (id: string): Experiment => {
  const experiment = EXPERIMENTS.find((candidate) => candidate.id === id)
  if (experiment === undefined) throw new Error(`there is no experiment ${id}`)
  return experiment
}

describe("an experiment on a file of one's own", () => {
  const cases = EXPERIMENTS.flatMap((experiment) =>
    ends([experiment.first, "s12"] as const).map((id) => [experiment.id, id, experiment] as const),
  )
  test.each(ends(cases))("%s, cut by hand on %s, shows what the lab shows", async (id, chapter, experiment) => {
    const file = write(`${id}-${chapter}.ts`, plant(textOf(chapter), experiment.fault))
    const own = await runOnOwnFile(experiment, findChapter(chapter), { file, seed: 1, runs: 5 })
    const { baseline, runs } = await runExperiment(experiment, findChapter(chapter), 1, 5)
    expect(own.baseline).toEqual(baseline)
    expect(own.runs).toEqual(runs)
  })

  test("deviates nowhere while nothing is cut, and is compared with one's own file where that is given", async () => {
    const whole = textOf("s04").replaceAll("unknown tool", "no such tool")
    const before = write("whole.ts", whole)
    const [chapter, experiment] = [findChapter("s04"), findExperiment("i3")]
    const words = whole.replaceAll("not run: ", "left alone: ")
    const other = write("words.ts", words)
    const own = await runOnOwnFile(experiment, chapter, { file: other, before: other, seed: 1, runs: 2 })
    expect(own.runs.map(({ deviation }) => deviation)).toEqual([-1, -1])
    const course = await runOnOwnFile(experiment, chapter, { file: other, before, seed: 1, runs: 2 })
    expect(course.runs.map(({ deviation }) => deviation)).toEqual([3, 3])
  })

  const strange: [string, string, RegExp][] = [
    ["loops for ever", "for (;;) {}", /loops-for-ever\.ts did not come to an end within 3 seconds/],
    [
      "ends the process",
      'console.log("bye")\nprocess.exit(3)',
      /ended after 0 of 1 runs, with exit code 3; the last it printed: "bye"/,
    ],
    ["throws", 'throw new Error("boom")', /cannot be played: boom/],
    ["imports what is not there", 'import "./nowhere.ts"', /cannot be played: .*nowhere/],
    ["rejects later", 'Promise.reject(new Error("late"))', /cannot be played: late/],
  ]
  test.each(ends(strange))("a file that %s is told so in a sentence", async (name, line, reason) => {
    const file = write(`${name.replaceAll(" ", "-")}.ts`, `${textOf("s04")}\n${line}\n`)
    const play: OwnPlay = { experiment: "i4", chapter: "s04", file, variant: "fault", seeds: [1] }
    // Only the one that never ends is waited for so long.
    await expect(playOn(play, name.startsWith("loops") ? 3000 : 300_000)).rejects.toThrow(reason)
  })
})

describe("npm run lab on a file of one's own", () => {
  test("prints both sides and keeps the message arrays, whole", async () => {
    const file = write("mine.ts", plant(textOf("s04"), findExperiment("i4").fault))
    const target = path.join(folder, "kept")
    const run = await here.run("lab", ["i4", "--as", "s04", file, "--save", target])
    expect(run.code).toBe(0)
    expect(run.stdout).toContain("5 runs: 5 different transcripts, 5 deviated")
    expect(fs.readdirSync(target).sort()).toEqual(
      ["baseline", 1, 2, 3, 4, 5].map((name) => (name === "baseline" ? "baseline.json" : `seed-${name}.json`)),
    )
    const [baseline, first] = ["baseline", "seed-1"].map((name) =>
      JSON.parse(fs.readFileSync(path.join(target, `${name}.json`), "utf8")),
    )
    expect(baseline[0]).toEqual({ role: "user", content: "What does the file say that config.txt names?" })
    expect(baseline.at(-1)).toEqual({ role: "assistant", content: "Any time.", stopReason: "stop" })
    expect(first).toHaveLength(baseline.length)
    expect(first).not.toEqual(baseline)
  })

  test.each<[string[], string]>([
    [["i4", "--as", "s04"], 'expected one experiment and one file, got "i4"'],
    [["i4", "mine.ts"], 'expected one experiment, got "i4 mine.ts"'],
    [["i4", "--as", "s04", "nowhere.ts"], "nowhere.ts"],
    [["i6", "--as", "s04", "s04_toolloop/code.ts"], "i6 can be run from s08 on, not on s04"],
    [["i4", "--as", "s04", "--chapter", "s05", "mine.ts"], "leave --chapter away"],
    [["i4", "--before", "mine.ts"], "it goes with --as"],
    [["i4", "--lang", "fr"], '--lang expects zh or en, got "fr"'],
  ])("%j is refused", async (args, reason) => {
    const run = await here.run("lab", args)
    expect(run).toMatchObject({ code: 2, stdout: "" })
    expect(run.stderr).toContain(reason)
  })
})

describe("npm run lab --guess", () => {
  const left = "as it is"
  const right = "with the fault"

  test("hides the right side until the first wrong line is named", async () => {
    const run = await here.run("lab", ["i4", "--guess"], { answers: ["12", "0", "x", "99", "3"] })
    expect(run.stderr).toBe(
      'Which line is the first that goes wrong? A number, "none", or nothing to see it: ' +
        'No, earlier. Again: No, later. Again: A number from 0 to 16, or "none": A number from 0 to 16, or "none": ',
    )
    const [hidden = "", shown = ""] = run.stdout.split("Found, after 3 tries.")
    expect(hidden).toContain(left)
    expect(hidden).not.toContain(right)
    expect(hidden).not.toContain("▶")
    expect(shown).toContain(right)
  })

  test.each([[[]], [[""]]])("shows it where nobody answers (%j)", async (answers: string[]) => {
    const run = await here.run("lab", ["i4", "--guess"], { answers })
    expect(run.code).toBe(0)
    expect(run.stdout).toMatch(/Not found; here it is\.[\s\S]*with the fault/)
  })
})

describe("the width of a terminal", () => {
  test.each([40, 80, 200])("of %i is kept by both columns", async (width) => {
    const run = await here.run("lab", ["i4", "--width", `${width}`])
    const rows = run.stdout.split("\n").filter((line) => /^ {0,2}\d+ (→ | {2})/.test(line))
    expect(rows.length).toBeGreaterThan(10)
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(width)
  })
})

describe("Chinese", () => {
  test("comes by --lang, and from the environment", async () => {
    const given = await here.run("lab", ["i4", "--lang", "zh"])
    expect(given.stdout).toContain("当时的理由：“谁先做完谁先记。”")
    const env = { LC_ALL: "zh_CN.UTF-8" }
    expect((await here.run("lab", ["i4"], { env })).stdout).toBe(given.stdout)
    expect((await here.run("lab", ["i4", "--lang", "en"], { env })).stdout).toContain("The excuse:")
  })
})
