/** What is edited, and the edits that change nothing that is promised. */
import path from "node:path"
import { readSurface } from "../../scripts/chapter/surface.ts"
import { findChapter } from "../../scripts/course/manifest.ts"
import { chapterFile, readSource } from "../../scripts/course/source.ts"

/** A reason, and the edits that no test needs to find because of it. */
type Equivalents = { why: string; edits: string[] }

/** The core of s12 as it is. */
export function readCore(): string {
  const chapter = findChapter("s12")
  const { lines, demoLine } = readSurface(chapter, chapterFile(chapter))
  return lines.slice(0, demoLine - 1).join("\n")
}

/** The keys of the edits in `equivalents.json`. */
export function readEquivalents(): string[] {
  const list = JSON.parse(readSource(path.join(import.meta.dirname, "equivalents.json"))) as Equivalents[]
  return list.flatMap(({ edits }) => edits)
}
