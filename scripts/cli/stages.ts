/** What npm test prints of its stages. */
import type { ChalkInstance } from "chalk"

/** A line that says that a stage of the tests is passed. */
export function showStage(name: string, what: string, milliseconds: number, paint: ChalkInstance): string {
  const time = `${(milliseconds / 1000).toFixed(1)} s`
  return `${paint.green(name.padEnd(14))}${what.padEnd(48)}${paint.dim(time.padStart(10))}`
}

/** The last lines after a failure: what failed first, and the command that shows it again. */
export function showFailure(what: string, again: string, paint: ChalkInstance): string {
  return `${paint.red("failed".padEnd(8))}${what}\n${"again".padEnd(8)}${again}`
}
