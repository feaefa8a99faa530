/** Plants a fault in a chapter and loads the result as a program. */
import fs from "node:fs"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { transformSync } from "esbuild"
import { replaceOnly } from "../chapter/replace.ts"
import { InputError } from "../course/input-error.ts"
import { ROOT } from "../course/source.ts"
import type { Edit } from "./behaviour.ts"

/** Makes the edits. Throws an `InputError` when a place is not there exactly once: the chapter was edited, or the fault has to be written anew. */
export function plant(text: string, edits: readonly (readonly Edit[])[]): string {
  return edits.reduce((sofar, forms) => {
    const [planted] = forms.map(([from, to]) => replaceOnly(sofar, from, to)).filter((text) => text !== undefined)
    if (planted === undefined)
      throw new InputError(
        `the chapter was edited where this fault is planted: undo that (git diff shows it), or choose another chapter; expected once: ${forms[0]?.[0].trim()}`,
      )
    return planted
  }, text)
}

const loaded = new Map<string, Promise<unknown>>()

/** Loads a text as a module, from a folder in which it finds the packages of the course. Types are stripped and not checked. */
export function loadProgram<Core>(text: string): Promise<Core> {
  const known = loaded.get(text) ?? load(text)
  loaded.set(text, known)
  return known as Promise<Core>
}

async function load(text: string): Promise<unknown> {
  const cache = path.join(ROOT, "node_modules", ".cache", "learn-pi-agent")
  let folder: string
  try {
    fs.mkdirSync(cache, { recursive: true })
    // Several threads may do this at once, and none may meet another one's program.
    folder = fs.mkdtempSync(path.join(cache, "planted-"))
  } catch (error) {
    throw new InputError(`the lab needs to write to node_modules/.cache: ${(error as Error).message}`)
  }
  try {
    const file = path.join(folder, "planted.mjs")
    const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } }
    fs.writeFileSync(file, transformSync(text, { loader: "ts", target: "es2022", tsconfigRaw }).code)
    return await import(/* @vite-ignore */ pathToFileURL(file).href)
  } catch (error) {
    throw new InputError(`the chapter cannot be loaded as a program: ${(error as Error).message}`)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
