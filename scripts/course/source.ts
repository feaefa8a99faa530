/** The files of the chapters, as texts. */
import { isUtf8 } from "node:buffer"
import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { FileError, InputError } from "./input-error.ts"
import { CHAPTERS, type Chapter } from "./manifest.ts"

/** The root of the repository. */
export const ROOT: string = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))))

/** The text of a file. Throws an `InputError` for what is binary or in another encoding: written back, such a file would be destroyed. */
export function decodeText(bytes: Uint8Array, file: string): string {
  const again = "save it as UTF-8"
  if (/^(fffe|feff)/.test(Buffer.from(bytes.subarray(0, 2)).toString("hex")))
    throw new FileError(file, ` is UTF-16, expected UTF-8: ${again}`)
  if (bytes.includes(0)) throw new FileError(file, ` is no text, expected a TypeScript file`)
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    let [line, start] = [1, 0]
    for (
      let end = bytes.indexOf(10);
      end !== -1 && isUtf8(bytes.subarray(start, end));
      end = bytes.indexOf(10, start)
    ) {
      line++
      start = end + 1
    }
    throw new FileError(file, ` is not UTF-8, first at line ${line}: open it in its own encoding and ${again}`)
  }
}

function readText(file: string): string {
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) throw new FileError(file, " does not exist")
    const kind = stat.isDirectory() ? "folder" : "special file"
    if (!stat.isFile()) throw new FileError(file, ` is a ${kind}, expected a TypeScript file`)
    return decodeText(fs.readFileSync(file), file)
  } catch (error) {
    if (error instanceof InputError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new FileError(file, ` cannot be read: ${code === "EACCES" ? "permission denied" : message}`)
  }
}

/** Reads a text file that is meant to be a chapter. Throws an `InputError` that says what is wrong with it. */
export function readSource(file: string): string {
  const text = readText(file)
  if (text.trim() === "") throw new FileError(file, " is empty")
  if (text.startsWith("\uFEFF"))
    throw new FileError(file, " starts with a byte order mark: save it as UTF-8 without one")
  if (text.includes("\r"))
    throw new FileError(
      file,
      ` has CR or CRLF line ends, expected LF: set your editor to LF, or run git add --renormalize`,
    )
  const separator = text.search(/[\u2028\u2029]/)
  if (separator !== -1) {
    const before = text.slice(0, separator).split("\n")
    const code = text.charCodeAt(separator).toString(16)
    throw new FileError(
      file,
      `:${before.length}:${(before.at(-1)?.length ?? 0) + 1} has the invisible line end U+${code}, which TypeScript counts and editors do not: take it out, or write \\u${code} in a text`,
    )
  }
  return text
}

/** The file of a chapter, here or in another checkout. */
export function chapterFile(chapter: Chapter, root: string = ROOT): string {
  return path.join(root, chapter.folder, "code.ts")
}

/** The files of all chapters in a checkout, by id. */
export function chapterFiles(root: string): Record<string, string> {
  return Object.fromEntries(CHAPTERS.map((chapter) => [chapter.id, chapterFile(chapter, root)]))
}
