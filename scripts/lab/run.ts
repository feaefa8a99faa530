/** Runs an experiment and compares what came of it. */

import { parseSource } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import type { Chapter } from "../course/manifest.ts"
import { chapterFile, ROOT, readSource } from "../course/source.ts"
import { loadProgram, plant } from "../faults/plant.ts"
import { type Change, changeOf, lineOfFunction } from "./change.ts"
import type { Bench, Experiment } from "./experiments.ts"
import { type Core, distance, firstDeviation, randomFrom, type Transcript } from "./session.ts"

/** One run, compared with the baseline. */
export type Trial = {
  seed: number
  transcript: Transcript
  /** Index of the first line that differs from the baseline; -1 when none does. */
  deviation: number
  /** From the deviation to where it could be noticed. */
  distance?: { messages: number; requests: number }
}

/** What an experiment found. */
export type LabReport = {
  experiment: string
  invariant: string
  chapter: string
  seed: number
  /** What the fault changes in the chapter. */
  change: Change
  /** The line of code.ts out of which a service's complaint comes, where the service is the first to complain. */
  complaint?: number
  baseline: Transcript
  runs: Trial[]
  guarded: Trial
}

/** Texts of chapters that are known to be valid. */
const valid = new Set<string>()

/** The text of a chapter. Throws an `InputError` where it is none. */
function readChapter(file: string): string {
  const text = readSource(file)
  if (!valid.has(text)) parseSource(file, text)
  valid.add(text)
  return text
}

async function programFor(text: string, experiment: Experiment, variant: Bench["variant"]): Promise<Core> {
  const edits =
    variant === "fault"
      ? experiment.fault
      : variant === "guarded" && experiment.guarded !== "unplanted"
        ? experiment.guarded
        : []
  return loadProgram<Core>(plant(text, edits))
}

/** Compares a run with the baseline. */
export function compare(baseline: Transcript, transcript: Transcript, seed: number): Trial {
  const deviation = firstDeviation(baseline, transcript)
  const { visible } = transcript
  if (deviation < 0 || visible === undefined) return { seed, transcript, deviation }
  return { seed, transcript, deviation, distance: distance(transcript, deviation, visible.line) }
}

/** Throws an `InputError` for a chapter that does not have yet what the experiment breaks. */
export function checkStart(experiment: Experiment, chapter: Chapter): void {
  if (chapter.id < experiment.first)
    throw new InputError(`${experiment.id} can be run from ${experiment.first} on, not on ${chapter.id}`)
}

/** Runs an experiment: the baseline once, the fault with `runs` seeds from `seed` on, and the guard with the first seed that shows something. */
export async function runExperiment(
  experiment: Experiment,
  chapter: Chapter,
  seed: number,
  runs: number,
  progress: (done: number) => void = () => {},
  root: string = ROOT,
): Promise<LabReport> {
  checkStart(experiment, chapter)
  const text = readChapter(chapterFile(chapter, root))
  const change = changeOf(experiment, text)
  const play = async (core: Core, variant: Bench["variant"], from: number): Promise<Transcript> => {
    return experiment.play({ program: { id: chapter.id, core }, random: randomFrom(from), variant })
  }
  const baseline = await play(await programFor(text, experiment, "baseline"), "baseline", seed)
  const damaged = await programFor(text, experiment, "fault")
  const found: Trial[] = []
  for (let index = 0; index < runs; index++) {
    found.push(compare(baseline, await play(damaged, "fault", seed + index), seed + index))
    progress(index + 1)
  }
  const shown = found.find((run) => run.deviation >= 0)?.seed ?? seed
  const guarded = compare(baseline, await play(await programFor(text, experiment, "guarded"), "guarded", shown), shown)
  return {
    experiment: experiment.id,
    invariant: experiment.invariant,
    chapter: chapter.id,
    seed,
    change,
    ...(experiment.complaint && { complaint: lineOfFunction(text, experiment.complaint) }),
    baseline,
    runs: found,
    guarded,
  }
}
