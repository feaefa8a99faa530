import { existsSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { InputError } from "../scripts/course/input-error.ts"

/** What a run of the bench is asked to do. */
export type Options = {
  /** Leaves out the others. */
  only?: string
  rounds: number[]
  /** Processes per figure. */
  repeat: number
  /** The folder of an installed copy of bench-peers. */
  peers?: string
  /** Its adapters that take part. */
  names: string[]
  json: boolean
  /** Whether a bound that is over makes the run fail. */
  strict: boolean
}

/** The flags that there are. */
export const USAGE =
  "[--only loop|session|start|check|practice|app] [--rounds 100,1000] [--repeat 7] [--peers DIR [--names pi081,pi]] [--json] [--strict]"
const PARTS = ["loop", "session", "start", "check", "practice", "app"]

/** Reads the command line. Throws with one line that says what was expected and what came. */
export function parseOptions(args: string[]): Options {
  const { only, rounds, repeat, peers, names, json, strict } = parseFlags(args)
  if (only !== undefined && !PARTS.includes(only))
    throw new InputError(`--only: expected loop, session, start, check, practice or app, got "${only}"`)
  if (names !== undefined && peers === undefined)
    throw new InputError(`--names: expected --peers DIR beside it, got "${names}" alone`)
  return {
    ...(only !== undefined && { only }),
    rounds: [...new Set(rounds.split(",").map((text) => parseCount("rounds", text)))],
    repeat: parseCount("repeat", repeat),
    ...(peers === undefined ? { names: [] } : findPeers(peers, names ?? "pi081")),
    json,
    strict,
  }
}

type Flags = {
  only?: string | undefined
  rounds: string
  repeat: string
  peers?: string | undefined
  names?: string | undefined
  json: boolean
  strict: boolean
}

function parseFlags(args: string[]): Flags {
  return parseArgs({
    args,
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: "100,1000" },
      repeat: { type: "string", default: "7" },
      peers: { type: "string" },
      names: { type: "string" },
      json: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
    },
  }).values
}

function parseCount(flag: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new InputError(`--${flag}: expected whole numbers from 1 to 999999, got "${text}"`)
}

function findPeers(folder: string, names: string): { peers: string; names: string[] } {
  const adapters = resolve(folder, "adapters")
  if (!existsSync(adapters))
    throw new InputError(`--peers: expected a copy of bench-peers, with a folder "adapters", got "${folder}"`)
  const known = readdirSync(adapters).flatMap((file) => /^(.+)\.mjs$/.exec(file)?.[1] ?? [])
  const others = known.filter((name) => name !== "floor")
  const chosen = [...new Set(names.split(","))]
  const stranger = chosen.find((name) => !others.includes(name))
  if (stranger !== undefined)
    throw new InputError(`--names: expected names among ${others.join(", ")}, got "${stranger}"`)
  return { peers: join(adapters, ".."), names: chosen }
}
