import { pathToFileURL } from "node:url"
import { findGrowth, type LoopFigures, type SessionFigures } from "./figures.ts"
import { CLOSING_TEXT, createProbe, type LoopModule, type Probe, type SessionModule } from "./workload.ts"

/**
 * One measurement, for a process of its own: `node --expose-gc measure.js loop|session MODULE SIZE`. It prints the
 * figures as JSON. All modules are loaded, and the code has run a little, before the clock starts; the heap has not grown yet, so the
 * first memory that a run asks for is part of its price.
 */

const WARM_UP_RUNS = 3
const WARM_UP_SIZE = 10

/** Below this a tenth has too few rounds to speak of growth. */
const GROWTH_ROUNDS = 1000

/** Growth is read from the last runs of many, when the heap itself no longer grows. */
const GROWTH_RUNS = 12
const SETTLED_RUNS = 4

/** Plays the script once. A run in which work was skipped counts for nothing. */
async function play({ run }: LoopModule, rounds: number): Promise<{ elapsed: number; probe: Probe }> {
  const probe = createProbe(rounds)
  const start = performance.now()
  const { finalText } = await run(rounds, probe)
  const elapsed = performance.now() - start
  if (probe.calls !== rounds) throw new Error(`expected ${rounds} runs of the tool, got ${probe.calls}`)
  if (finalText !== CLOSING_TEXT) throw new Error(`expected the final text "${CLOSING_TEXT}", got "${finalText}"`)
  return { elapsed, probe }
}

async function measureLoop(module: LoopModule, rounds: number): Promise<LoopFigures> {
  for (let i = 0; i < WARM_UP_RUNS; i++) await play(module, WARM_UP_SIZE)
  globalThis.gc?.()
  const { elapsed } = await play(module, rounds)
  return {
    round: (elapsed * 1000) / rounds,
    growth: rounds < GROWTH_ROUNDS ? null : await measureGrowth(module, rounds),
  }
}

async function measureGrowth(module: LoopModule, rounds: number): Promise<number> {
  const runs: Float64Array[] = []
  for (let i = 0; i < GROWTH_RUNS; i++) runs.push((await play(module, rounds)).probe.stamps)
  return findGrowth(runs.slice(-SETTLED_RUNS))
}

async function rebuildSession({ inMemory }: SessionModule, entries: number): Promise<SessionFigures> {
  const session = inMemory()
  for (let i = 0; i < entries; i++) {
    await session.append({
      role: i % 2 === 0 ? "user" : "assistant",
      text: `message ${i}, about as long as a short answer`,
    })
  }
  globalThis.gc?.()
  const start = performance.now()
  const length = await session.context()
  const elapsed = performance.now() - start
  if (length !== entries) throw new Error(`expected a path of ${entries} messages, got ${length}`)
  return { rebuild: elapsed }
}

async function measureSession(module: SessionModule, entries: number): Promise<SessionFigures> {
  for (let i = 0; i < WARM_UP_RUNS; i++) await rebuildSession(module, WARM_UP_SIZE)
  return rebuildSession(module, entries)
}

async function main([kind, file = "", size = ""]: string[]): Promise<void> {
  const module = await import(pathToFileURL(file).href)
  const figures = kind === "loop" ? await measureLoop(module, Number(size)) : await measureSession(module, Number(size))
  console.log(JSON.stringify(figures))
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
