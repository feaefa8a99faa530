/** What a command prints on, how it ends, and what may never reach a terminal as it came. */
import path from "node:path"
import { createInterface, emitKeypressEvents } from "node:readline"
import chalk, { Chalk, type ChalkInstance } from "chalk"
import { FileError, InputError } from "../course/input-error.ts"
import { ROOT } from "../course/source.ts"

/** Says what to ask after an answer that will not do; undefined for one that does. */
export type Judge = (answer: string) => string | undefined

/** All that a command knows of the world besides its arguments. */
export type Terminal = {
  /** Prints a line, or several. */
  out(text: string): void
  err(text: string): void
  /** Writes over the last line of somebody who looks on; missing where nobody does. */
  progress?: (text: string) => void
  /** Asks the person until an answer will do, and gives that; undefined where no more answers come. */
  ask(question: string, judge: Judge): Promise<string | undefined>
  /** Somebody who looks on and presses keys; missing where nobody does. */
  screen?: Screen
  /** How wide it is; undefined for a file or a pipe. */
  columns: number | undefined
  /** Colors, or none. */
  paint: ChalkInstance
  /** The folder that the command was started in. */
  directory: string
  /** The root of the checkout whose chapters are meant. */
  root: string
  env: Readonly<Record<string, string | undefined>>
  /** Aborted when nobody reads along any more. */
  closed: AbortSignal
}

/** A terminal with a person in front of it. */
export type Screen = {
  /** Begins an empty page. */
  clear(): void
  /** Tells of each key by its name until the function that it gives is called; Ctrl+C is `q`. */
  listen(hear: (key: string) => void): () => void
}

/** A command: its usage, and what it does. It gives the exit code, and throws an `InputError` when it cannot do its work. */
export type Command = {
  usage: string
  run(args: string[], terminal: Terminal): number | Promise<number>
}

/** The terminal of this process. */
export function openTerminal(): Terminal {
  const closed = new AbortController()
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that closes the pipe (`| head`) has seen enough; what was found still decides the exit code.
    if (error.code === "EPIPE") return closed.abort()
    console.error(`error: standard output cannot be written to: ${error.message}`)
    process.exit(2)
  })
  return {
    out: (text) => console.log(text),
    err: (text) => console.error(text),
    ...(process.stderr.isTTY && { progress: (text: string) => void process.stderr.write(text) }),
    ask: askOnStdin,
    ...(process.stdin.isTTY && process.stdout.isTTY && { screen: openScreen() }),
    columns: process.stdout.columns,
    paint: process.env.NO_COLOR ? new Chalk({ level: 0 }) : chalk,
    directory: process.cwd(),
    root: ROOT,
    env: process.env,
    closed: closed.signal,
  }
}

function openScreen(): Screen {
  const { stdin, stdout } = process
  return {
    clear: () => void stdout.write("\u001b[2J\u001b[3J\u001b[H"),
    listen(hear) {
      const press = (_text: string | undefined, key: { name?: string; ctrl?: boolean }): void => {
        if (!key.ctrl) hear(key.name ?? "")
        else if (key.name === "c" || key.name === "d") hear("q")
      }
      emitKeypressEvents(stdin)
      stdin.setRawMode(true)
      stdin.resume().on("keypress", press)
      return () => {
        stdin.off("keypress", press).pause()
        stdin.setRawMode(false)
      }
    },
  }
}

/** Asks on standard error, so that what is printed can go elsewhere, and reads lines from standard input. */
async function askOnStdin(question: string, judge: Judge): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin })
  try {
    process.stderr.write(question)
    for await (const answer of lines) {
      const again = judge(answer)
      if (again === undefined) return answer
      process.stderr.write(again)
    }
    return undefined
  } finally {
    lines.close()
  }
}

/**
 * Runs a command and gives its exit code, or 2 with one clear line when it could not do its work. Anything else that is thrown is a defect of
 * the command and keeps its stack.
 */
export async function runCommand(command: Command, args: string[], terminal: Terminal): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    terminal.out(command.usage)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const line = visible(describeError(error, terminal)).replaceAll(/\r?\n/g, "\\n")
    terminal.err(`error: ${line}\n${command.usage}`)
    return 2
  }
}

/** What an error says, with a file called as the reader calls it. */
export function describeError(error: Error, terminal: Terminal): string {
  if (!(error instanceof FileError) || !path.isAbsolute(error.file)) return error.message
  return `${showFile(error.file, terminal)}${error.message.slice(error.file.length)}`
}

/** A path for people: relative to where they are, with forward slashes on every system. */
export function showFile(file: string, { directory }: Terminal): string {
  return visible((path.relative(directory, file) || file).split(path.sep).join("/"))
}

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

/** A text with blanks behind it, up to a width; a Chinese character takes two columns. */
export function padWide(text: string, width: number): string {
  const wide = text.match(/\p{Script=Han}/gu)?.length ?? 0
  return text.padEnd(width - wide)
}

/** A number of things, in words. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`
}
