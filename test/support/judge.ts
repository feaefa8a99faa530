/** How tests judge what a chapter may say and do in its own way: by what it must carry, and by what must not change. */
import { expect } from "vitest"

/**
 * Matches a failure as the model gets to read it: `error: `, and then words, in which these stand. What else it says is free.
 */
export function failure(...carried: string[]): string {
  return brokenOff("", ...carried)
}

/** Matches the text of a message that broke off: what had arrived comes first, and behind it stands a failure, in which these words stand. */
export function brokenOff(arrived: string, ...carried: string[]): string {
  const isOne = (text: unknown): boolean => {
    const kept = arrived.trimEnd()
    if (typeof text !== "string" || !text.startsWith(kept)) return false
    const begin = kept === "" ? /^\s*error: (?=\S)/ : /\berror: (?=\S)/
    const rest = text.slice(kept.length)
    const at = begin.exec(rest)
    return at !== null && carried.every((words) => rest.slice(at.index + at[0].length).includes(words))
  }
  const wanted = [`"${arrived}", "error: "`, ...carried.map((words) => `"${words}"`)].join(", then ")
  return expect.toSatisfy(isOne, `carries ${wanted}`) as string
}

/** What an action throws, as text; undefined where it throws nothing. */
export function complaintOf(action: () => unknown): string | undefined {
  try {
    action()
  } catch (error) {
    return String((error as Error | undefined)?.message ?? error)
  }
  return undefined
}

/** Whether a text says these words with no letter or digit of another word beside them. */
export function says(text: string, words: string): boolean {
  const parts = text.split(words)
  return parts.slice(1).some((after, index) => !/\w$/.test(parts[index] ?? "") && !/^\w/.test(after))
}

type Part = Record<PropertyKey, unknown>

/** Changes all of an object that can be changed. Gives what takes the changes back. */
function tamper(value: Part): () => void {
  const before = Object.getOwnPropertyDescriptors(value)
  for (const name of [...Object.keys(value), "tampered"]) Reflect.set(value, name, "tampered")
  if (Array.isArray(value)) Reflect.set(value, value.length, "tampered")
  return () => {
    for (const name of Object.keys(value)) if (!(name in before)) Reflect.deleteProperty(value, name)
    for (const [name, descriptor] of Object.entries(before)) {
      if ("value" in descriptor && value[name] !== descriptor.value) Reflect.set(value, name, descriptor.value)
    }
    if (Array.isArray(value)) Reflect.set(value, "length", before.length?.value)
  }
}

function partAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((sofar, name) => (sofar as Part | undefined)?.[name], value)
}

/**
 * The parts of what `read` gives that somebody who holds them can change, so that whoever reads again sees it. Frozen parts and private
 * copies are safe alike. Gives their paths; everything is afterwards as it was.
 */
export function findSoft(read: () => unknown, name: string): string[] {
  const visit = (value: unknown, path: string[]): string[] => {
    if (typeof value !== "object" || value === null) return []
    const parts = Object.keys(value).flatMap((key) => visit((value as Part)[key], [...path, key]))
    if (Object.isFrozen(value)) return parts
    const before = JSON.stringify(partAt(read(), path))
    const undo = tamper(value as Part)
    const after = JSON.stringify(partAt(read(), path))
    undo()
    return before === after ? parts : [[name, ...path].join("."), ...parts]
  }
  return visit(read(), [])
}

/** Does all that a holder could do to what he was given. */
export function edit(value: unknown): void {
  if (typeof value !== "object" || value === null) return
  for (const part of Object.values(value)) edit(part)
  tamper(value as Part)
}
