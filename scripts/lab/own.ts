/** An experiment on a reader's own file. What it does is not trusted to end, nor to leave this process alive. */
import { fork } from "node:child_process"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { parseSource } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import type { Chapter, ChapterId } from "../course/manifest.ts"
import { chapterFile, ROOT, readSource } from "../course/source.ts"
import type { Experiment } from "./experiments.ts"
import { checkStart, compare, type Trial } from "./run.ts"
import type { Transcript } from "./session.ts"

/** What is played: an experiment, on a file that is to be this chapter, with these seeds. */
export type OwnPlay = {
  experiment: string
  chapter: ChapterId
  file: string
  variant: "baseline" | "fault"
  seeds: number[]
}

/** What came of an experiment on a reader's own file. */
export type OwnReport = {
  experiment: string
  invariant: string
  chapter: ChapterId
  baseline: Transcript
  runs: Trial[]
}

/** How long one run may take, in milliseconds, before it counts as one that does not end. */
const PATIENCE = 20_000

/** So much of what the reader's program prints is kept, in characters. */
const MOST_PRINTED = 2000

/** Plays an experiment on a file, once for each seed. Throws an `InputError` that says what the file did instead. */
export async function playOn(play: OwnPlay, patience: number = PATIENCE): Promise<Transcript[]> {
  const name = path.basename(play.file)
  const child = fork(fileURLToPath(new URL("./own-process.ts", import.meta.url)), {
    execArgv: ["--import", import.meta.resolve("tsx")],
    serialization: "advanced",
    silent: true,
  })
  let printed = ""
  const keep = (chunk: Buffer): void => {
    printed = `${printed}${chunk}`.slice(-MOST_PRINTED)
  }
  child.stdout?.on("data", keep)
  child.stderr?.on("data", keep)
  const found: Transcript[] = []
  return new Promise((resolve, reject) => {
    let late = false
    const end = (): void => {
      late = true
      child.kill("SIGKILL")
    }
    let timer = setTimeout(end, patience)
    child.on("message", (transcript: Transcript) => {
      clearTimeout(timer)
      timer = setTimeout(end, patience)
      found.push(transcript)
    })
    child.on("error", reject)
    child.on("close", (code) => {
      clearTimeout(timer)
      if (found.length === play.seeds.length) return resolve(found)
      const runs = `${found.length} of ${play.seeds.length} runs`
      const reason = /^\w*Error\b.*: (.*)/m.exec(printed)?.[1] ?? ""
      const last = printed.trim().split("\n").at(-1) ?? ""
      if (late)
        reject(
          new InputError(
            `${name} did not come to an end within ${patience / 1000} seconds, after ${runs}: look for a loop or a promise that never ends`,
          ),
        )
      else if (reason !== "") reject(new InputError(`${name} cannot be played: ${reason}`))
      else reject(new InputError(`${name} ended after ${runs}, with exit code ${code}; the last it printed: "${last}"`))
    })
    child.send(play)
  })
}

/**
 * Plays an experiment's script on a reader's file, with `runs` seeds from `seed` on, and compares each run with the baseline: the same script on
 * the course's chapter, or on the file `before`, the reader's own before the cut.
 */
export async function runOnOwnFile(
  experiment: Experiment,
  chapter: Chapter,
  options: { file: string; before?: string; seed: number; runs: number; root?: string },
): Promise<OwnReport> {
  checkStart(experiment, chapter)
  const { file, seed, runs, root = ROOT } = options
  const right = options.before ?? chapterFile(chapter, root)
  for (const given of [file, right]) parseSource(given, readSource(given))
  const seeds = Array.from({ length: runs }, (_, index) => seed + index)
  const play = { experiment: experiment.id, chapter: chapter.id }
  const [baseline] = await playOn({ ...play, file: right, variant: "baseline", seeds: [seed] })
  if (baseline === undefined) throw new Error("a play without a transcript")
  const transcripts = await playOn({ ...play, file, variant: "fault", seeds })
  return {
    experiment: experiment.id,
    invariant: experiment.invariant,
    chapter: chapter.id,
    baseline,
    runs: transcripts.map((transcript, index) => compare(baseline, transcript, seed + index)),
  }
}
