/** Reads the lines of a session file, whatever has happened to it. Nothing here writes. */
import { isUtf8 } from "node:buffer"
import type { SessionRecord, StoredMessage } from "../protocol.ts"

/** The version of the format that is written, and the newest that is read. */
export const VERSION = 1

/** So many starts of a record are tried in vain in one line, so that a hostile line cannot take for ever. */
const MOST_TRIES = 50

/** So many sentences tell what is wrong with a file; of more, only how many there are. */
const MOST_SENTENCES = 100

/** How much of a line a sentence quotes, in characters. */
const MAX_QUOTE = 40

const isText = (value: unknown): value is string => typeof value === "string"
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isIdOrNull = (value: unknown): boolean => value === null || (isText(value) && value !== "")

/** What is wrong with a block, if anything is. */
function findBlockProblem(block: unknown, allowCalls: boolean): string | undefined {
  if (!isObject(block)) return "a block that is no object"
  if (block.type === "text") return isText(block.text) ? undefined : "a text block without text"
  if (block.type !== "toolCall" || !allowCalls) return `a block of the type ${JSON.stringify(block.type)}`
  if (!isText(block.id) || !isText(block.name)) return "a call without id or name"
  const { input } = block
  return isObject(input) && Object.values(input).every(isText) ? undefined : "a call whose input is not texts by name"
}

function findMessageProblem(message: unknown): string | undefined {
  if (!isObject(message)) return "a record without a message"
  const { role, content } = message as Partial<StoredMessage>
  if (role !== "user" && role !== "assistant" && role !== "toolResult") return `the role ${JSON.stringify(role)}`
  if (!Array.isArray(content)) return "a message without blocks"
  for (const block of content) {
    const problem = findBlockProblem(block, role === "assistant")
    if (problem !== undefined) return problem
  }
  if (role === "assistant") {
    const ids = content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))
    if (new Set(ids).size < ids.length) return "a message in which the id of a call repeats"
    const ends: unknown[] = ["stop", "toolUse", "error"]
    return ends.includes(message.stopReason) ? undefined : `the stop reason ${JSON.stringify(message.stopReason)}`
  }
  if (role === "toolResult" && !isText(message.toolCallId)) return "a result without the id of its call"
  if (role === "toolResult" && typeof message.isError !== "boolean") return "a result that does not say isError"
  return undefined
}

/** What is wrong with a value that ought to be a record, if anything is. */
function findRecordProblem(value: unknown): string | undefined {
  if (!isObject(value)) return "no object"
  const { type } = value
  if (type === "message") {
    if (!isText(value.id) || value.id === "") return "a message without id"
    return isIdOrNull(value.parentId) ? findMessageProblem(value.message) : "a message without parentId"
  }
  if (type === "leaf") return isIdOrNull(value.entryId) ? undefined : "a leaf without entryId"
  if (type === "compaction") {
    if (!isText(value.entryId) || !isText(value.summary)) return "a compaction without entryId or summary"
    if (!isIdOrNull(value.firstKeptEntryId)) return "a compaction without firstKeptEntryId"
    return typeof value.tokensBefore === "number" ? undefined : "a compaction without tokensBefore"
  }
  if (type !== "session") return `a record of the type ${JSON.stringify(type)}`
  return isText(value.id) && isText(value.time) && typeof value.version === "number" ? undefined : "a broken header"
}

/** What is told of a file: a sentence for each thing that is wrong, as long as they are not too many. */
export class DamageReport {
  readonly sentences: string[] = []
  #more = 0
  #last = ""

  /** Adds a sentence. */
  add(sentence: string): void {
    if (this.sentences.length < MOST_SENTENCES) this.sentences.push(sentence)
    else {
      this.#more++
      this.#last = sentence
    }
  }

  /** The sentences, and a last one for those that are too many. */
  tell(): string[] {
    if (this.#more === 0) return this.sentences
    return [...this.sentences, `and ${this.#more} more, the last of them: ${this.#last}`]
  }
}

/** Who is handed what stands in a file, in its order; lines are counted from 1. */
export type RecordReader = {
  /** A record. */
  take(record: SessionRecord, line: number): void
  /** What is none. `id` and `parentId` are what can still be read of it. */
  miss(id: string | undefined, parentId: string | null | undefined): void
}

/** Where the object that starts at `from` ends, exclusive; -1 when it does not. */
function endOfObject(text: string, from: number): number {
  let depth = 0
  let quoted = false
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (quoted) {
      if (char === "\\") at++
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === "{") depth++
    else if (char === "}" && --depth === 0) return at + 1
  }
  return -1
}

const RECORD_START = /\{"type":"(?:message|leaf|compaction|session)"/g

/** The records in a line that is none itself, glued together or behind a piece of another; what stands before each; and what was given up. */
type Salvage = { found: { before: string; record: SessionRecord }[]; rest: string; isGivenUp: boolean }

function salvage(text: string): Salvage {
  const found: Salvage["found"] = []
  const starts = new RegExp(RECORD_START)
  let from = 0
  let tries = 0
  for (let start = starts.exec(text); start !== null; start = starts.exec(text)) {
    const end = endOfObject(text, start.index)
    const record = end < 0 ? undefined : parse(text.slice(start.index, end))
    if (record !== undefined && findRecordProblem(record) === undefined) {
      found.push({ before: text.slice(from, start.index), record: record as SessionRecord })
      from = end
      starts.lastIndex = end
    } else if (++tries === MOST_TRIES) return { found, rest: text.slice(from), isGivenUp: true }
    else starts.lastIndex = start.index + 1
  }
  return { found, rest: text.slice(from), isGivenUp: false }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The beginning of a line, for a sentence about it. */
function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE)}…` : text)
}

/** What is wrong with a line that is no record, and how many records could be saved from it. */
function describeLine(raw: string, line: number, { found, isGivenUp }: Salvage, breaksOff: boolean): string {
  const saved = found.length
  const end = isGivenUp ? "; the rest of it was given up" : ""
  const zeros = raw.match(/\0/g)?.length ?? 0
  if (zeros > 0)
    return `line ${line} holds ${zeros} NUL bytes${saved > 0 ? `; records that could be saved: ${saved}` : ""}${end}`
  if (saved > 0) return `line ${line} holds several records, or pieces of some; that could be saved: ${saved}${end}`
  return `${breaksOff ? `the last line, ${line}, breaks off` : `line ${line} is no record`}: ${quote(raw)}${end}`
}

/** The lines with bytes that are no text, counted from 1. */
function findBrokenLines(bytes: Buffer): Set<number> {
  const broken = new Set<number>()
  if (isUtf8(bytes)) return broken
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const found = bytes.indexOf("\n", start)
    const end = found < 0 ? bytes.length : found
    if (!isUtf8(bytes.subarray(start, end))) broken.add(line)
    start = end + 1
  }
  return broken
}

/** How a message begins, as far as its id, and its parent if that is still there. */
const PIECE = /\{"type":"message","id":"([^"\\]+)",(?:"parentId":(?:"([^"\\]+)"|(null)))?/

/** Tells the reader of a piece of a record, as far as it can be read. A piece without an end may be half of an id. */
function missPiece(piece: string, reader: RecordReader): void {
  if (piece.trim() === "") return
  const [, id, parentId, none] = PIECE.exec(piece) ?? []
  reader.miss(id, none === undefined ? parentId : null)
}

/** Tells the reader of something that is JSON and no record. One of a newer program may say where it hangs. */
function missValue(value: unknown, reader: RecordReader): void {
  const { id, parentId } = Object(value) as { id?: unknown; parentId?: unknown }
  const isPlace = typeof parentId === "string" || parentId === null
  reader.miss(typeof id === "string" ? id : undefined, isPlace ? parentId : undefined)
}

/**
 * Reads a whole file and hands over what stands in it. It takes time in proportion to the length of the file, whatever that is. Says whether the
 * last line has its end: what is appended to one without would be glued to it.
 */
export function readRecords(bytes: Buffer, reader: RecordReader, damage: DamageReport): boolean {
  const text = bytes.toString()
  const broken = findBrokenLines(bytes)
  // A mark at the start is none of the text; inside of a text it stays.
  let start = text.startsWith("\uFEFF") ? 1 : 0
  for (let line = 1; start < text.length; line++) {
    const end = text.indexOf("\n", start)
    const raw = text.slice(start, end < 0 ? text.length : end)
    start = end < 0 ? text.length : end + 1
    const value = parse(raw)
    const problem = value === undefined ? undefined : findRecordProblem(value)
    if (value !== undefined && problem === undefined) {
      if (broken.has(line)) damage.add(`line ${line} holds bytes that are no UTF-8; they are shown as \uFFFD`)
      reader.take(value as SessionRecord, line)
    } else if (value !== undefined) {
      damage.add(`line ${line} holds ${problem}; it is left out`)
      missValue(value, reader)
    } else if (raw.trim() !== "") {
      const saved = salvage(raw)
      damage.add(describeLine(raw, line, saved, end < 0))
      for (const { before, record: one } of saved.found) {
        missPiece(before, reader)
        reader.take(one, line)
      }
      missPiece(saved.rest, reader)
    }
  }
  return text === "" || text.endsWith("\n")
}
