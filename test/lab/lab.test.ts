import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { InputError } from "../../scripts/course/input-error.ts"
import { CHAPTERS, findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { loadProgram, plant } from "../../scripts/faults/plant.ts"
import { type ChangedLine, changeOf } from "../../scripts/lab/change.ts"
import { EXPERIMENTS, type Experiment } from "../../scripts/lab/experiments.ts"
import { type LabReport, runExperiment } from "../../scripts/lab/run.ts"
import { driversFrom } from "../support/ladder.ts"
import { ends } from "../support/tier.ts"

/** Where a fault does its damage: the line of the transcript with the fault, what stands there instead, and how far away it shows. */
type Damage = {
  line: RegExp
  instead: RegExp
  visible: RegExp
  far: { messages: number; requests: number }
}

/** The damage of each experiment. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  i4: {
    line: /^result [bcde]: /,
    instead: /^result a: /,
    visible: /the answer is wrong/,
    far: { messages: 7, requests: 2 },
  },
  i2: {
    line: /^(result \d+_\d|request)/,
    instead: /^result \d+_\d/,
    visible: /400 invalid_request/,
    far: { messages: 3, requests: 1 },
  },
  "i2-log": {
    line: /^request 2, 3 messages/,
    instead: /^result b: error: missing.txt/,
    visible: /400 invalid_request/,
    far: { messages: 0, requests: 0 },
  },
  i3: {
    line: /^result w: wrote 7 characters/,
    instead: /^result w: error: not run/,
    visible: /seven characters/,
    far: { messages: 3, requests: 1 },
  },
  i5: {
    line: /^request 2, 3 messages/,
    instead: /^request 2, 3 messages/,
    visible: /has forgotten/,
    far: { messages: 5, requests: 2 },
  },
  "i5-cut": {
    line: /^result a/,
    instead: /^user: Thank you/,
    visible: /400 invalid_request/,
    far: { messages: 5, requests: 1 },
  },
  i1: {
    line: /^assistant \[error\]/,
    instead: /^assistant: Answer 3/,
    visible: /every answer of the other service/,
    far: { messages: 0, requests: 0 },
  },
  i6: {
    line: /key-123/,
    instead: /^assistant: Hello\.$/,
    visible: /has read a key/,
    far: { messages: 0, requests: 0 },
  },
  "i6-trust": {
    line: /^request 1, 1 message/,
    instead: /^request 1, 1 message/,
    visible: /gives a key away/,
    far: { messages: 3, requests: 1 },
  },
}

test("the table above has a row for each experiment, and no other", () => {
  expect(Object.keys(DAMAGES).sort()).toEqual(EXPERIMENTS.map(({ id }) => id).sort())
})

describe.each(EXPERIMENTS.map((experiment) => [experiment.id, experiment] as const))(
  "experiment %s",
  (id, experiment) => {
    test.each(ends(driversFrom(experiment.first)).map((chapter) => chapter.id))(
      "on %s: comes again from its seed, deviates where the fault is, and is stopped by the guard",
      async (name) => {
        const chapter = findChapter(name)
        const run = (): Promise<LabReport> => runExperiment(experiment, chapter, 1, 4)
        const report = await run()
        expect(await run()).toEqual(report)
        const expected = DAMAGES[id]
        if (expected === undefined) throw new Error(`the table of damages has no row for ${id}`)
        const shown = report.runs.find((item) => item.deviation >= 0)
        if (shown === undefined) throw new Error("no run deviates from the baseline")
        expect(shown.transcript.lines[shown.deviation]?.text).toMatch(expected.line)
        expect(report.baseline.lines[shown.deviation]?.text).toMatch(expected.instead)
        expect(shown.transcript.lines.slice(0, shown.deviation)).toEqual(
          report.baseline.lines.slice(0, shown.deviation),
        )
        const noticed = report.runs.find((item) => item.transcript.visible !== undefined)
        expect(noticed?.transcript.visible?.what.en).toMatch(expected.visible)
        expect(shown.distance).toEqual(expected.far)
        if (experiment.guarded === "unplanted") expect(report.guarded.deviation).toBe(-1)
        else {
          expect(report.guarded.transcript.visible?.what.en).toMatch(
            /^the guard says "messages\[\d+\]: expected (the|no tool) result.*, got (the|no tool) result/,
          )
          expect(report.guarded.distance?.requests).toBe(0)
        }
        expect(report.baseline.visible).toBeUndefined()
      },
    )

    test("ends with a question and a command that answers it", () => {
      expect([experiment.question.en, experiment.question.zh].join()).toMatch(/\?.*？/)
      expect(experiment.next).toMatch(/^npm run (lab|check)\b/)
    })
  },
)

test("other seeds give other runs, and the guard names the call that was lost", async () => {
  const experiment = find("i2")
  const report = await runExperiment(experiment, findChapter("s12"), 1, 20)
  expect(new Set(report.runs.map(({ transcript }) => JSON.stringify(transcript.lines))).size).toBeGreaterThan(3)
  const lost = report.baseline.lines[report.guarded.deviation]?.text.match(/^result (\w+):/)?.[1]
  expect(report.guarded.transcript.visible?.what.en).toContain(`expected the result of "${lost}"`)
})

test("a chapter that was edited where the fault goes is an error that says what to do", () => {
  const text = "const x = 1\n"
  expect(() => plant(text, [[["const y", "const z"]]])).toThrow(InputError)
  expect(() => plant(text, [[["const y", "const z"]]])).toThrow(/the chapter was edited .*: undo that .*: const y$/)
  expect(() => plant(text + text, [[["const x", "const z"]]])).toThrow("expected once: const x")
})

test("a chapter that cannot be loaded as a program is an error that says why", async () => {
  const load = loadProgram('throw new Error("boom")\n')
  await expect(load).rejects.toThrow(InputError)
  await expect(load).rejects.toThrow("the chapter cannot be loaded as a program: boom")
})

test("an experiment that cannot be run on a chapter says from where on it can", async () => {
  const experiment = find("i6")
  await expect(runExperiment(experiment, findChapter("s03"), 1, 1)).rejects.toThrow(
    "i6 can be run from s08 on, not on s03",
  )
})

test("five runs with calls in completion order are five different transcripts, and the answer is right now and then", async () => {
  const experiment = find("i4")
  for (const name of ["s04", "s12"]) {
    const { runs } = await runExperiment(experiment, findChapter(name), 1, 5)
    expect(new Set(runs.map(({ transcript }) => JSON.stringify(transcript.messages))).size).toBe(5)
    const right = runs.filter(({ transcript }) => transcript.visible === undefined)
    expect(right.length).toBeGreaterThan(0)
    expect(right.length).toBeLessThan(5)
  }
})

test("a lost result is found by the service, in another place of the code than its cause, and without its name", async () => {
  const report = await runExperiment(find("i2"), findChapter("s12"), 1, 5)
  const shown = report.runs.find(({ deviation }) => deviation >= 0)
  const lost = report.baseline.lines[shown?.deviation ?? -1]?.text.match(/^result (\w+):/)?.[1] ?? ""
  expect(lost).not.toBe("")
  expect(shown?.transcript.visible?.what.en).not.toContain(lost)
  expect(Math.abs((report.complaint ?? Number.NaN) - (report.change.fault[0]?.line ?? Number.NaN))).toBeGreaterThan(20)
})

describe("the change that plants a fault", () => {
  test.each(EXPERIMENTS.map((experiment) => [experiment.id, experiment] as const))("%s", (_id, experiment) => {
    for (const { id, folder } of CHAPTERS.filter((chapter) => chapter.id >= experiment.first)) {
      const before = fs.readFileSync(path.join(ROOT, folder, "code.ts"), "utf8")
      const { guard, fault } = changeOf(experiment, before)
      const { right, wrong } = experiment.around ?? {}
      expect(right === wrong, `${id}: the fault is in the chapter, or around it`).toBe(right === undefined)
      expect(fault.length > 0).toBe(right === undefined)
      expect(fault.filter(({ sign }) => sign === "+").length).toBeLessThanOrEqual(3)
      // Made by hand, line by line, it gives the program that the lab plays.
      expect(editByHand(editByHand(before, guard), fault)).toBe(plant(before, experiment.fault))
    }
  })
})

/** Takes out and puts in the lines that a change shows. */
function editByHand(text: string, changes: readonly ChangedLine[]): string {
  const lines = text.split("\n")
  const out = changes.filter(({ sign }) => sign === "-")
  for (const { line, text } of out) expect(lines[line - 1]).toBe(text)
  const kept = lines.filter((_line, index) => !out.some(({ line }) => line === index + 1))
  for (const { line, text } of changes.filter(({ sign }) => sign === "+")) kept.splice(line - 1, 0, text)
  return kept.join("\n")
}

/** The experiment with this id. */
function find(id: string): Experiment {
  const experiment = EXPERIMENTS.find((candidate) => candidate.id === id)
  if (experiment === undefined) throw new Error(`there is no experiment ${id}`)
  return experiment
}
