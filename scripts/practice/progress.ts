/** How far a reader is, kept beside the reader's files. */
import fs from "node:fs"
import path from "node:path"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, type ChapterId } from "../course/manifest.ts"

/** What is known of a chapter. */
export type Mark = {
  /** How many steps have passed at best. */
  best: number
  passed: boolean
  /** Whether the file was made from the reader's own chapter before. */
  fromOwn: boolean
}

/** The reader's files and progress in a checkout. */
export class Progress {
  readonly folder: string
  #marks: Partial<Record<ChapterId, Mark>>

  /** Reads what is there. A file that cannot be read counts as none: nothing but the display depends on it. */
  constructor(root: string) {
    this.folder = path.join(root, "my")
    this.#marks = readMarks(this.#file)
  }

  get #file(): string {
    return path.join(this.folder, "progress.json")
  }

  /** Where a chapter of the reader's own lies. */
  fileOf(chapter: Chapter): string {
    return path.join(this.folder, chapter.id, "code.ts")
  }

  markOf(chapter: Chapter): Mark {
    return this.#marks[chapter.id] ?? { best: 0, passed: false, fromOwn: false }
  }

  /** Keeps what is known of a chapter. Throws an `InputError` where it cannot be written. */
  keep(chapter: Chapter, mark: Mark): void {
    const known = this.markOf(chapter)
    if (this.#marks[chapter.id] !== undefined && JSON.stringify(known) === JSON.stringify(mark)) return
    this.#marks[chapter.id] = mark
    writeFile(this.#file, `${JSON.stringify(this.#marks, null, 2)}\n`)
  }

  /** The text of the reader's own chapter before, where that is finished and there. */
  ownBefore(chapter: Chapter): { file: string; text: string } | undefined {
    const before = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
    if (before === undefined || !this.markOf(before).passed) return undefined
    const file = this.fileOf(before)
    return fs.existsSync(file) ? { file, text: readPlain(file) } : undefined
  }
}

/** The text of a file with plain line ends and without a byte order mark, as the rules and a merge need it. */
export function readPlain(file: string): string {
  return fs
    .readFileSync(file, "utf8")
    .replace(/^\uFEFF/, "")
    .replaceAll(/\r\n?/g, "\n")
}

/** Writes a file and the folders that it needs. Throws an `InputError` that names it where that fails. */
export function writeFile(file: string, text: string): void {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  } catch (error) {
    throw new InputError(`${file} cannot be written: ${(error as Error).message}`)
  }
}

function readMarks(file: string): Partial<Record<ChapterId, Mark>> {
  try {
    const known: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
    const marks: Partial<Record<ChapterId, Mark>> = {}
    for (const { id } of CHAPTERS) {
      const mark = (known as Partial<Record<ChapterId, Partial<Mark>>> | null)?.[id]
      if (typeof mark?.best !== "number") continue
      marks[id] = { best: mark.best, passed: mark.passed === true, fromOwn: mark.fromOwn === true }
    }
    return marks
  } catch {
    return {}
  }
}
