/** Reads the lines of a session file, whatever has happened to it. Nothing here writes. */
import type { SessionRecord, StoredMessage } from "../protocol.ts"

/** The version of the format that is written, and the newest that is read. */
export const VERSION = 1

/** What is wrong with a file, each a sentence, and whether its last line has its end: what is appended to one without would be glued to it. */
export type ReadFile = { damage: string[]; ends: boolean }

/** So many starts of a record are tried in a line that is none, so that a hostile line cannot take for ever. */
const MOST_STARTS = 200

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
export function findRecordProblem(value: unknown): string | undefined {
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

/** The records that can be found in a line that is none itself: glued together, or behind a piece of another. */
function salvage(text: string): SessionRecord[] {
  const found: SessionRecord[] = []
  let at = 0
  for (let tries = 0; tries < MOST_STARTS; tries++) {
    const start = text.indexOf('{"type":"', at)
    if (start < 0) return found
    const end = endOfObject(text, start)
    const record = end < 0 ? undefined : parse(text.slice(start, end))
    if (record !== undefined && findRecordProblem(record) === undefined) {
      found.push(record as SessionRecord)
      at = end
    } else at = start + 1
  }
  return found
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
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

/** What is wrong with a line that is no record, and how many records could be saved from it. */
function describeLine(raw: string, line: number, saved: number, breaksOff: boolean): string {
  const zeros = raw.match(/\0/g)?.length ?? 0
  if (zeros > 0)
    return `line ${line} holds ${zeros} NUL bytes${saved > 0 ? `; records that could be saved: ${saved}` : ""}`
  if (saved > 0) return `line ${line} holds several records, or pieces of some; that could be saved: ${saved}`
  return breaksOff ? `the last line, ${line}, breaks off: ${quote(raw)}` : `line ${line} is no record: ${quote(raw)}`
}

/**
 * Reads a whole file and hands over its records in their order, each with its line, counted from 1. It takes time in proportion to the length of the
 * file, whatever stands in it.
 */
export function readRecords(
  text: string,
  take: (record: SessionRecord, line: number, damage: string[]) => void,
): ReadFile {
  const damage: string[] = []
  // A mark at the start is none of the text; inside of a text it stays.
  let start = text.startsWith("\uFEFF") ? 1 : 0
  for (let line = 1; start < text.length; line++) {
    const end = text.indexOf("\n", start)
    const raw = text.slice(start, end < 0 ? text.length : end)
    start = end < 0 ? text.length : end + 1
    const record = parse(raw)
    const problem = record === undefined ? undefined : findRecordProblem(record)
    if (record !== undefined && problem === undefined) take(record as SessionRecord, line, damage)
    else if (problem !== undefined) damage.push(`line ${line} holds ${problem}; it is left out`)
    else if (raw.trim() !== "") {
      const saved = salvage(raw)
      damage.push(describeLine(raw, line, saved.length, end < 0))
      for (const one of saved) take(one, line, damage)
    }
  }
  return { damage, ends: text === "" || text.endsWith("\n") }
}
