/**
 * Other implementations of the course, by other hands. Each is one source in test/alternatives, from which its chapters are derived by marks:
 * what stands between `//#from s05`, `//#until s07` or `//#from s05 until s07` and `//#end` belongs to those chapters, and all else to all.
 */
import fs from "node:fs"
import path from "node:path"
import { InputError } from "../../scripts/course/input-error.ts"
import { type ChapterId, findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"

const FOLDER = path.join(ROOT, "test", "alternatives")

/** The names of the implementations. */
export const STYLES: readonly string[] = fs
  .readdirSync(FOLDER)
  .flatMap((name) => /^(\w+)\.ts$/.exec(name)?.[1] ?? [])
  .sort()

/** Reads an implementation as it is after a chapter. */
export function readAlternative(style: string, id: ChapterId): string {
  const file = path.join(FOLDER, `${style}.ts`)
  return derive(fs.readFileSync(file, "utf8"), id, file)
}

/**
 * What of a source with marks belongs to a chapter. Throws an `InputError` for a mark that nobody knows, that stands inside of another, or that has
 * no end.
 */
export function derive(source: string, id: ChapterId, file: string): string {
  let open: number | undefined
  let isOurs = true
  const kept: string[] = []
  const refuse = (line: number, what: string): never => {
    throw new InputError(`${file}:${line}: ${what}`)
  }
  for (const [index, line] of source.split(/\r?\n/).entries()) {
    const mark = line.trim()
    if (!mark.startsWith("//#")) {
      if (isOurs) kept.push(line)
      continue
    }
    const isEnd = mark === "//#end"
    const [, from, until] = /^\/\/#(?:from (s\d\d))? ?(?:until (s\d\d))?$/.exec(mark) ?? []
    if (!isEnd && from === undefined && until === undefined)
      refuse(
        index + 1,
        `"${mark}" is no mark, expected "//#from s05", "//#until s05", "//#from s05 until s07" or "//#end"`,
      )
    if (isEnd === (open === undefined))
      refuse(index + 1, isEnd ? '"//#end" ends nothing' : `"${mark}" stands inside of the mark of line ${open}`)
    for (const name of [from, until]) if (name !== undefined) findChapter(name)
    open = isEnd ? undefined : index + 1
    isOurs = isEnd || (id >= (from ?? "s01") && id <= (until ?? "s12"))
  }
  if (open !== undefined) refuse(open, 'the mark has no "//#end"')
  return `${kept
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trimEnd()}\n`
}
