/**
 * Runs scripts one after the other in a process that has loaded what they need once: the same scripts, with arguments, folder, environment, output
 * and exit code of their own, and many times faster than a process for each. Told by messages what to run; see commands.ts.
 */
import os from "node:os"
import { pathToFileURL } from "node:url"
import chalk from "chalk"
import type { Run } from "./commands.ts"

/** What is to be run. */
export type Job = {
  script: string
  args: readonly string[]
  cwd: string
  /** Added to the environment; null takes a variable out. */
  env: Readonly<Record<string, string | null>>
}

const variables = { ...process.env }
const streams = { stdout: process.stdout.write, stderr: process.stderr.write }
let count = 0

process.stdout.setMaxListeners(0)

/** Replaces the environment, with what the job changes in it. Colors were decided when this process started, and are decided anew. */
function setEnvironment(env: Job["env"]): void {
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name]
  Object.assign(process.env, variables)
  for (const [name, value] of Object.entries(env))
    if (value === null) delete process.env[name]
    else process.env[name] = value
  chalk.level = process.env.FORCE_COLOR === "1" ? 1 : 0
}

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

async function run({ script, args, cwd, env }: Job): Promise<Run> {
  const written = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const)
    process[name].write = (text: string | Uint8Array) => {
      written[name] += text
      return true
    }
  setEnvironment(env)
  process.argv.splice(1, process.argv.length, script, ...args)
  process.exitCode = 0
  process.chdir(cwd)
  try {
    // Each address is a module of its own, so the script runs again.
    await import(`${pathToFileURL(script).href}?run=${count++}`)
    await untilIdle()
  } catch (error) {
    process.exitCode = 1
    written.stderr += String((error as Error).stack)
  }
  const code = Number(process.exitCode)
  process.exitCode = 0
  process.chdir(os.tmpdir())
  process.stdout.write = streams.stdout
  process.stderr.write = streams.stderr
  return { code, ...written }
}

process.on("message", (job) => void run(job as Job).then((result) => process.send?.(result)))
