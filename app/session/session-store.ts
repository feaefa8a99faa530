/**
 * A session in a file: JSON Lines, a record a line, only ever appended to (I5). The tree is the core's own `SessionTree`; the store lets it write.
 *
 * Session and context are two things. The session is all that happened: every entry of every branch, in the file for good. The context is what the
 * model gets: the path to the leaf, and where it was compacted, a summary in place of its beginning.
 */
import { randomUUID } from "node:crypto"
import fs from "node:fs"
import path from "node:path"
import { type AgentMessage, guard, type SessionEntry, SessionTree } from "../../s12_packages/code.ts"
import type { CompactionRecord, MessageRecord, SessionHeader, SessionRecord } from "../protocol.ts"
import { takeLock } from "./lock.ts"
import { DamageReport, readRecords, VERSION } from "./records.ts"
import { assertCompaction, lostResult, Replay } from "./replay.ts"
import { SessionIndex } from "./session-index.ts"

/** How a session is opened. */
export type StoreOptions = {
  /** To look only: nothing is written, and the file may be another's. */
  readOnly?: boolean
  /** Whether a result that the loop records is an error, as far as whoever runs the tools knows. Without it, or where it throws, none is. */
  isError?: (toolCallId: string) => boolean
  /** The time for the header of a new file. */
  now?: () => Date
}

/** What the model gets in place of what was compacted. It is the person's message, since somebody has to have said it. */
export function summaryMessage(summary: string): AgentMessage {
  return { role: "user", content: `${SUMMARY_HEADING}\n${summary}` }
}

/** The first line of a summary, as the model gets it. */
export const SUMMARY_HEADING = "[summary of the conversation so far]"

/** What the tree of a stored session tells its store, and asks it. */
type TreeOwner = {
  /** Throws where nothing can be added. */
  assertOpen(): void
  onAppend(entry: SessionEntry): void
  onMove(): void
  contextOf(path: AgentMessage[]): AgentMessage[]
}

/** The tree of a stored session. Whatever happens to it is written; what it gives the model is the context. */
class StoredTree extends SessionTree {
  #owner: TreeOwner

  constructor(owner: TreeOwner) {
    super()
    this.#owner = owner
  }

  override append(message: AgentMessage): SessionEntry {
    this.#owner.assertOpen()
    const entry = super.append(message)
    this.#owner.onAppend(entry)
    return entry
  }

  override moveTo(id: string | null): void {
    this.#owner.assertOpen()
    if (id === this.leafId) return
    super.moveTo(id)
    this.#owner.onMove()
  }

  override currentPath(): AgentMessage[] {
    return this.#owner.contextOf(super.currentPath())
  }
}

/** A session file, open. */
export class JsonlSessionStore {
  readonly file: string
  readonly header: SessionHeader
  /** What was found wrong with the file when it was opened, each a sentence. */
  readonly damage: readonly string[]
  /** The tree, to be given to the loop as the messages of its state. */
  readonly tree: SessionTree
  /** Called after each message that is added. */
  onRecord: ((record: MessageRecord) => void) | undefined

  #options: StoreOptions
  #index = new SessionIndex()
  #fd: number | undefined
  #unlock: () => void = () => {}
  /** Lines that are not written yet. What could not be written goes first the next time. */
  #waiting: string[] = []
  #problem: string | undefined
  /** Whether the file ends in the middle of a line. */
  #torn: boolean
  /** While a file is read, the entries of the tree have their records already. */
  #isReading = true
  /** What the next message is said to be, by whoever appends it himself. */
  #isError: boolean | undefined
  #last: MessageRecord | undefined

  private constructor(file: string, options: StoreOptions) {
    this.file = file
    this.#options = options
    this.tree = new StoredTree({
      assertOpen: () => this.#assertOpen(),
      onAppend: (entry) => this.#keep(entry),
      onMove: () => this.#isReading || this.#write({ type: "leaf", entryId: this.leafId }),
      contextOf: (messages) => this.#contextOf(messages),
    })
    const damage = new DamageReport()
    const bytes = readBytes(file)
    const replay = new Replay(this.tree, this.#index, damage)
    this.#torn = !readRecords(bytes, replay, damage)
    const { header } = this.#index
    if (header === undefined && bytes.length > 0) damage.add("the file has no header, so the session gets a new id")
    this.header = header ?? newHeader(options)
    if (this.header.version > VERSION)
      throw new Error(
        `${file} is of version ${this.header.version}, and this program reads versions up to ${VERSION}: open it with a newer one`,
      )
    if (!options.readOnly) this.#fd = fs.openSync(file, "a")
    if (!options.readOnly && header === undefined) this.#write(this.header)
    this.#answer(replay.due, damage)
    this.#isReading = false
    this.damage = damage.tell()
  }

  /**
   * Opens a session, or begins one where no file is. Throws when another process writes it, when it cannot be read, and when a newer program wrote
   * it. What is damaged stays as it is and is told in `damage`; whatever can be read is there. Calls that a crash has left without a result get one.
   */
  static open(file: string, options: StoreOptions = {}): JsonlSessionStore {
    if (options.readOnly) return new JsonlSessionStore(file, options)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    const unlock = takeLock(file)
    try {
      const store = new JsonlSessionStore(file, options)
      store.#unlock = unlock
      return store
    } catch (error) {
      unlock()
      throw error
    }
  }

  /** Where the next message will hang; null is before the first. */
  get leafId(): string | null {
    return this.#index.fileId(this.tree.leafId)
  }

  /** Why the last lines are not on the disk; undefined when they are. They are kept, and go first the next time. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Adds a message below the leaf and writes it. Throws, and adds nothing, where the core's tree refuses it and where nothing can be written. */
  appendMessage(message: AgentMessage, isError?: boolean): MessageRecord {
    this.#isError = isError
    try {
      this.tree.append(message)
      return this.#last as MessageRecord
    } finally {
      this.#isError = undefined
    }
  }

  /** Every entry of every branch, in the order of the file. */
  entries(): MessageRecord[] {
    return this.#index.records()
  }

  /** The session on this branch: every entry from the first to the leaf. */
  path(): MessageRecord[] {
    return this.#pathIds().map((id) => this.#index.record(id))
  }

  /** The context: what the model gets. The same file gives the same bytes. */
  buildContext(): AgentMessage[] {
    return this.tree.currentPath()
  }

  /** What of the path the model gets as it is, and the summary that it gets in place of the rest. */
  keptPath(): { summary: string | undefined; records: MessageRecord[] } {
    const ids = this.#pathIds()
    const found = this.#index.compactionOn(ids)
    const records = ids.slice(found?.start ?? 0).map((id) => this.#index.record(id))
    return { summary: found?.compaction.summary, records }
  }

  /** Goes to an entry, or (null) to before the first, and writes that down. Throws, and stays, where the core's tree does and where nothing can be written. */
  moveTo(entryId: string | null): void {
    const target = entryId === null ? null : this.#index.treeId(entryId)
    if (target === undefined) throw new Error(`cannot move to "${entryId}": no entry has this id`)
    this.tree.moveTo(target)
  }

  /**
   * Tells the model from here on a summary in place of what stands on this branch before an entry. Throws, and changes nothing, for entries that are
   * not on this branch, where the cut would part a call from its result, and where nothing can be written.
   */
  appendCompaction(compaction: Omit<CompactionRecord, "type">): CompactionRecord {
    this.#assertOpen()
    const record: CompactionRecord = { type: "compaction", ...compaction }
    const ids = this.#pathIds()
    const stranger = [record.entryId, record.firstKeptEntryId].find((id) => id !== null && !ids.includes(id))
    if (stranger !== undefined) throw new Error(`cannot compact at "${stranger}": it is not on this branch`)
    assertCompaction(record, this.#index)
    this.#index.compact(record)
    this.#write(record)
    return record
  }

  /** Writes what is waiting and lets another process have the file. */
  close(): void {
    if (this.#fd !== undefined) {
      this.#flush()
      fs.closeSync(this.#fd)
    }
    this.#fd = undefined
    this.#unlock()
  }

  #pathIds(): string[] {
    return this.#index.pathTo(this.leafId) ?? []
  }

  /** Gives an entry of the tree its id in the file, and writes its record. */
  #keep(entry: SessionEntry): void {
    if (this.#isReading) return
    const id = this.#index.freshId()
    this.#index.add(id, entry, entry.role === "toolResult" && this.#knowsError(entry.toolCallId))
    const record = this.#index.toRecord(entry)
    this.#last = record
    this.#write(record)
    guard(() => this.onRecord?.(record))
  }

  #knowsError(toolCallId: string): boolean {
    if (this.#isError !== undefined) return this.#isError
    let isError = false
    guard(() => {
      isError = this.#options.isError?.(toolCallId) ?? false
    })
    return isError
  }

  /** Nothing is added that could not be written, now or later. */
  #assertOpen(): void {
    if (this.#isReading) return
    if (this.#options.readOnly) throw new Error(`${this.file} is open for reading only`)
    if (this.#fd === undefined) throw new Error(`${this.file} is closed`)
  }

  #write(record: SessionRecord): void {
    this.#waiting.push(`${JSON.stringify(record)}\n`)
    this.#flush()
  }

  /** Writes whole lines, as many as the disk takes. It never throws: a turn that is going on must be able to end. */
  #flush(): void {
    const fd = this.#fd as number
    try {
      if (this.#torn) this.#torn = fs.writeSync(fd, "\n") !== 1
      for (let line = this.#waiting[0]; line !== undefined; line = this.#waiting[0]) {
        const length = Buffer.byteLength(line)
        for (let done = fs.writeSync(fd, line); done < length; done += fs.writeSync(fd, Buffer.from(line), done))
          this.#torn = true
        this.#torn = false
        this.#waiting.shift()
      }
      this.#problem = undefined
    } catch (error) {
      this.#problem = `${this.file} cannot be written: ${(error as Error).message}`
    }
  }

  /** Answers the calls that a crash has left without a result: for good where the file is written, else only to look at. */
  #answer(due: readonly string[], damage: DamageReport): void {
    for (const call of due) {
      const id = this.#index.freshId()
      this.#index.add(id, this.tree.append(lostResult(call)), true)
      if (!this.#options.readOnly) this.#write(this.#index.record(id))
    }
    if (due.length === 0) return
    const calls = due.map((call) => `"${call}"`).join(", ")
    const end = this.#options.readOnly ? "shown with an error, which is not written" : "answered with an error"
    damage.add(`${calls} had no result when the program stopped; ${end}`)
  }

  #contextOf(messages: AgentMessage[]): AgentMessage[] {
    const found = this.#index.hasCompactions ? this.#index.compactionOn(this.#pathIds()) : undefined
    return found === undefined ? messages : [summaryMessage(found.compaction.summary), ...messages.slice(found.start)]
  }
}

/** The bytes of a file; one that is not there has none. */
function readBytes(file: string): Buffer {
  try {
    return fs.readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0)
    throw new Error(`the session file cannot be read: ${(error as Error).message}`)
  }
}

function newHeader({ now = () => new Date() }: StoreOptions): SessionHeader {
  return { type: "session", version: VERSION, id: randomUUID(), time: now().toISOString() }
}
