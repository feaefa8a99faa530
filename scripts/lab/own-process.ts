/** Plays an experiment on a reader's own file, in a process that can be ended from outside. It is told what to play, and sends each transcript. */
import { once } from "node:events"
import { pathToFileURL } from "node:url"
import { EXPERIMENTS } from "./experiments.ts"
import type { OwnPlay } from "./own.ts"
import { type Core, randomFrom } from "./session.ts"

const [{ experiment: id, chapter, file, variant, seeds }] = (await once(process, "message")) as [OwnPlay]
const experiment = EXPERIMENTS.find((candidate) => candidate.id === id)
if (experiment === undefined) throw new Error(`there is no experiment ${id}`)
const core = (await import(pathToFileURL(file).href)) as Core
for (const seed of seeds) {
  process.send?.(await experiment.play({ program: { id: chapter, core }, random: randomFrom(seed), variant }))
}
process.disconnect()
