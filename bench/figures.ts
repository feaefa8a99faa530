/** What one process measures, and the arithmetic on it. */

/** A loop: microseconds per tool round of one run, and the growth within a run; null when it is too short. */
export type LoopFigures = {
  round: number
  growth: number | null
}

/** A session: milliseconds for one rebuild of the whole path. */
export type SessionFigures = {
  rebuild: number
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: Iterable<number>): number {
  const sorted = [...values].sort((a, b) => a - b)
  const below = sorted[(sorted.length - 1) >> 1] ?? Number.NaN
  const above = sorted[sorted.length >> 1] ?? Number.NaN
  return (below + above) / 2
}

/**
 * A round of the last tenth over one of the second (in the first there is most to warm up), from the stamps of several runs. A tenth is
 * represented by its median round, in the run where that was fastest: collecting garbage and getting fresh memory from the system only
 * ever add time, and where they happen to fall says nothing about growth.
 */
export function findGrowth(runs: Float64Array[]): number {
  const tenth = Math.floor((runs[0]?.length ?? 0) / 10)
  const typicalRound = (stamps: Float64Array): number => {
    return median(stamps.slice(1).map((stamp, index) => stamp - (stamps[index] ?? Number.NaN)))
  }
  const early = runs.map((stamps) => typicalRound(stamps.slice(tenth, 2 * tenth)))
  const late = runs.map((stamps) => typicalRound(stamps.slice(-tenth)))
  return Math.min(...late) / Math.min(...early)
}
