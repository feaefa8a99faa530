/**
 * Judges what a reader has written for an exercise of EXERCISES.md.
 *
 *   npm run exercise -- groups my/groups.ts     a history in groups of about five messages
 *   npm run exercise -- cancel my/cancel.ts     a whole program in which a turn can be cancelled
 */
import fs from "node:fs"
import path from "node:path"
import { InputError } from "../course/input-error.ts"
import type { Command } from "./terminal.ts"
import { runVitest } from "./tools.ts"

const EXERCISES = ["groups", "cancel"]

/** A test that takes longer hangs, in milliseconds. */
const PATIENCE = 20_000

/** npm run exercise */
export const command: Command = {
  usage: "usage: npm run exercise -- groups|cancel FILE",
  run([name, given, ...more], terminal) {
    if (name === undefined || given === undefined || more.length > 0)
      throw new InputError("expected the name of an exercise and your file")
    if (!EXERCISES.includes(name))
      throw new InputError(`unknown exercise "${name}": expected one of ${EXERCISES.join(", ")}`)
    const file = path.resolve(terminal.directory, given)
    if (!fs.existsSync(file)) throw new InputError(`${given} does not exist: write your answer there`)
    const settings = {
      EXERCISE: name,
      EXERCISE_FILE: fs.realpathSync(file),
      TEST_AGAIN: `npm run exercise -- ${name} ${given}`,
    }
    const args = ["test/exercises", "--typecheck.enabled=false", `--testTimeout=${PATIENCE}`]
    return runVitest(args, settings, terminal)
  },
}
