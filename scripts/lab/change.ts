/** What a fault changes in the text of a chapter, line by line, as somebody would do it by hand. */
import { diffLines } from "diff"
import { GUARD_OUT } from "../faults/behaviour.ts"
import { plant } from "../faults/plant.ts"
import type { Experiment } from "./experiments.ts"

/** A line to take out or to put in. `line` counts from 1: in the chapter as it is for a minus, in the chapter with the change for a plus. */
export type ChangedLine = { sign: "-" | "+"; line: number; text: string }

/** A fault as an edit by hand: first the guard goes, then the fault comes in. */
export type Change = { guard: ChangedLine[]; fault: ChangedLine[] }

/** The lines in which two texts differ. */
export function changedLines(before: string, after: string): ChangedLine[] {
  let [old, next] = [1, 1]
  return diffLines(before, after).flatMap(({ value, added, removed, count }) => {
    const lines = value.replace(/\n$/, "").split("\n")
    const changed = lines.flatMap((text, index): ChangedLine[] => {
      if (removed) return [{ sign: "-", line: old + index, text }]
      return added ? [{ sign: "+", line: next + index, text }] : []
    })
    if (!added) old += count
    if (!removed) next += count
    return changed
  })
}

/** The change that plants the fault of an experiment in the text of a chapter. */
export function changeOf({ fault }: Experiment, text: string): Change {
  const takesGuardOut = GUARD_OUT.every((forms) => fault.some((edit) => edit[0] === forms[0]))
  const open = takesGuardOut ? plant(text, GUARD_OUT) : text
  return { guard: changedLines(text, open), fault: changedLines(open, plant(text, fault)) }
}

/** The number of the line in which a function of the core begins. Throws where the text has no such function. */
export function lineOfFunction(text: string, name: string): number {
  const index = text.split("\n").findIndex((line) => new RegExp(`^export (async )?function ${name}\\b`).test(line))
  if (index < 0) throw new Error(`there is no function ${name}`)
  return index + 1
}
