/** What the commands of this folder share: how they end, and what they print on. */
import chalk from "chalk"
import { InputError } from "../course/input-error.ts"

const CONTROLS = /(?!\t|\r?\n)[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu

/** A text that a file or a command line holds, as a terminal may see it: control characters are visible, but for tabs and line ends. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u{${char.charCodeAt(0).toString(16)}}`)
}

/** A value for programs. Control characters are escaped in the way of JSON, those too that JSON itself lets through. */
export function toJson(value: unknown): string {
  const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
  return JSON.stringify(value, null, 2).replace(CONTROLS, unicode)
}

/**
 * Runs a command and sets the exit code: what `main` returns, or 2 with one clear line when it could not do its work. Anything else that is
 * thrown is a defect of the command and keeps its stack.
 */
export async function runCommand(usage: string, main: (args: string[]) => number | Promise<number>): Promise<void> {
  if (process.env.NO_COLOR !== undefined && process.env.NO_COLOR !== "") chalk.level = 0
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that closes the pipe (`| head`) has seen enough; what was found still decides the exit code.
    if (error.code === "EPIPE") return
    console.error(`error: standard output cannot be written to: ${error.message}`)
    process.exit(2)
  })
  const args = process.argv.slice(2)
  if (args.includes("--help") || args.includes("-h")) return console.log(usage)
  try {
    process.exitCode = await main(args)
  } catch (error) {
    const misuse = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")
    if (!(error instanceof InputError) && !misuse) throw error
    console.error(`error: ${visible(misuse ? error.message.replaceAll("\n", " ") : error.message)}\n${usage}`)
    process.exitCode = 2
  }
}

/** A whole number from the command line, or `fallback` where none was given. Throws an `InputError` for anything that is none, or out of bounds. */
export function readWholeNumber(name: string, given: string | undefined, bounds: Bounds): number {
  const { fallback, least, most = Number.MAX_SAFE_INTEGER } = bounds
  if (given === undefined) return Math.min(Math.max(fallback, least), most)
  const value = /^\d+$/.test(given) ? Number(given) : Number.NaN
  if (value >= least && value <= most) return value
  throw new InputError(`--${name} expects a whole number from ${least} to ${most}, got "${given}"`)
}

/** What a number may be. */
export type Bounds = { fallback: number; least: number; most?: number }

/** The widest that a command prints. */
export const MAX_WIDTH = 1000
