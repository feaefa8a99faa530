/** The programs of others that commands start: compiler, formatter and test runner. */
import { type StdioOptions, spawn } from "node:child_process"
import fs from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"
import { performance } from "node:perf_hooks"
import { InputError } from "../course/input-error.ts"
import type { Terminal } from "./terminal.ts"

/** How a program ended, and what it printed if that was kept. */
export type Ended = {
  code: number
  output: string
  milliseconds: number
}

/** The file that a package runs under a name. Throws an `InputError` where the package is not installed. */
export function binOf(packageName: string, name: string): string {
  const manifest = findManifest(packageName)
  const { bin } = JSON.parse(fs.readFileSync(manifest, "utf8")) as { bin: Record<string, string> }
  return path.join(path.dirname(manifest), bin[name] ?? "")
}

function findManifest(packageName: string): string {
  try {
    return createRequire(import.meta.url).resolve(`${packageName}/package.json`)
  } catch {
    const advice = "npm ci installs what tests need, but not with NODE_ENV=production or --omit=dev"
    throw new InputError(`${packageName} is not installed: ${advice}`)
  }
}

/** Runs a program of Node in the root of the checkout, and keeps what it prints, or lets it through where `stdio` says so. */
export function runTool(
  file: string,
  args: readonly string[],
  { root, env }: Pick<Terminal, "root" | "env">,
  stdio: StdioOptions = ["ignore", "pipe", "pipe"],
): Promise<Ended> {
  const start = performance.now()
  const child = spawn(process.execPath, [file, ...args], { cwd: root, stdio, env })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (output += text))
  return new Promise((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code) => resolve({ code: code ?? 1, output, milliseconds: performance.now() - start }))
  })
}

/** Runs tests with vitest, which prints for itself. `settings` are added to the environment. Gives the exit code. */
export async function runVitest(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  { root, env, paint }: Terminal,
): Promise<number> {
  // The colors of vitest do not ask whether somebody is looking.
  const colors = paint.level === 0 ? { NO_COLOR: "1" } : {}
  const tool = { root, env: { ...env, ...colors, ...settings } }
  return (await runTool(binOf("vitest", "vitest"), ["run", ...args], tool, "inherit")).code
}
