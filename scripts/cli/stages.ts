/** What npm test prints of its stages. */
import chalk from "chalk"

/** A line that says that a stage of the tests is passed. */
export function showStage(name: string, what: string, milliseconds: number): string {
  const time = `${(milliseconds / 1000).toFixed(1)} s`
  return `${chalk.green(name.padEnd(14))}${what.padEnd(48)}${chalk.dim(time.padStart(10))}`
}

/** The last lines after a failure: what failed first, and the command that shows it again. */
export function showFailure(what: string, again: string): string {
  return `${chalk.red("failed".padEnd(8))}${what}\n${"again".padEnd(8)}${again}`
}
