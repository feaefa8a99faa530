/** Plants a fault in a chapter and loads the result as a program. */
import fs from "node:fs"
import path from "node:path"
import { pathToFileURL } from "node:url"
import ts from "typescript"
import { InputError } from "../command.ts"
import { ROOT } from "../surface.ts"
import type { Edit } from "./faults.ts"

/** Makes the edits. Throws an `InputError` when a place is not there exactly once: the chapter was edited, or the fault has to be written anew. */
export function plant(text: string, edits: readonly (readonly Edit[])[]): string {
  return edits.reduce((sofar, forms) => {
    const form = forms.find(([from]) => sofar.split(from).length === 2)
    if (form === undefined)
      throw new InputError(
        `the chapter was edited where this fault is planted: undo that (git diff shows it), or choose another chapter; expected once: ${forms[0]?.[0].trim()}`,
      )
    return sofar.replace(form[0], () => form[1])
  }, text)
}

const loaded = new Map<string, Promise<unknown>>()

/** Loads a text as a module, from a folder in which it finds the packages of the course. Types are stripped and not checked. */
export function loadProgram<Core>(text: string): Promise<Core> {
  const known = loaded.get(text) ?? load(text, loaded.size)
  loaded.set(text, known)
  return known as Promise<Core>
}

async function load(text: string, number: number): Promise<unknown> {
  const folder = path.join(
    ROOT,
    "node_modules",
    ".cache",
    "learn-pi-agent",
    `${process.pid}-${Date.now().toString(36)}-${number}`,
  )
  try {
    fs.mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new InputError(`the lab needs to write to node_modules/.cache: ${(error as Error).message}`)
  }
  const file = path.join(folder, "planted.mjs")
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
  fs.writeFileSync(file, ts.transpileModule(text, { compilerOptions: options }).outputText)
  try {
    return await import(/* @vite-ignore */ pathToFileURL(file).href)
  } catch (error) {
    throw new InputError(`the chapter cannot be loaded as a program: ${(error as Error).message}`)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
