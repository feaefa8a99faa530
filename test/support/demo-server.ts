/**
 * Runs the demos of chapters one after the other in a process that has loaded what they need once: the same files, with arguments, output and exit
 * code of their own, and many times faster than a process for each. A demo is a whole program and has no terminal that it could be given, so
 * this process lends it its own. Told by messages what to run; see commands.ts.
 */
import { pathToFileURL } from "node:url"
import type { Run } from "./commands.ts"

/** What is to be run. */
export type Job = {
  script: string
  args: readonly string[]
}

const streams = { stdout: process.stdout.write, stderr: process.stderr.write }
let count = 0

process.stdout.setMaxListeners(0)

/** Waits until nothing is left to do, as a process does before it ends. */
function untilIdle(): Promise<void> {
  return new Promise((resolve) => {
    process.once("beforeExit", () => {
      process.channel?.ref()
      resolve()
    })
    process.channel?.unref()
  })
}

async function run({ script, args }: Job): Promise<Run> {
  const written = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const)
    process[name].write = (text: string | Uint8Array) => {
      written[name] += text
      return true
    }
  process.argv.splice(1, process.argv.length, script, ...args)
  process.exitCode = 0
  try {
    // Each address is a module of its own, so the demo runs again.
    await import(`${pathToFileURL(script).href}?run=${count++}`)
    await untilIdle()
  } catch (error) {
    process.exitCode = 1
    written.stderr += String((error as Error).stack)
  }
  const code = Number(process.exitCode)
  process.exitCode = 0
  Object.assign(process.stdout, { write: streams.stdout })
  Object.assign(process.stderr, { write: streams.stderr })
  return { code, ...written }
}

process.on("message", (job) => void run(job as Job).then((result) => process.send?.(result)))
