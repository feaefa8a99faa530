/**
 * A session in a file: JSON Lines, a record a line, only ever appended to (I5). The tree is the core's own `SessionTree`; the store lets it write.
 *
 * Session and context are two things. The session is all that happened: every entry of every branch, in the file for good. The context is what the
 * model gets: the path to the leaf, and where it was compacted, a summary in place of its beginning.
 */
import { randomUUID } from "node:crypto"
import fs from "node:fs"
import path from "node:path"
import {
  type AgentMessage,
  assertPairedToolCalls,
  type SessionEntry,
  SessionTree,
  toProviderMessage,
} from "../../s12_packages/code.ts"
import type { CompactionRecord, MessageRecord, SessionHeader, SessionRecord } from "../protocol.ts"
import { fromStored, toStored } from "./convert.ts"
import { takeLock } from "./lock.ts"
import { readRecords, VERSION } from "./records.ts"
import { lostResult, Replay } from "./replay.ts"
import { SessionIndex, startOf } from "./session-index.ts"

/** How a session is opened. */
export type StoreOptions = {
  /** To look only: nothing is written, and the file may be another's. */
  readOnly?: boolean
  /** Whether a result that the loop records is an error, as far as whoever runs the tools knows. Without it, none is. */
  isError?: (toolCallId: string) => boolean
  /** The time for the header of a new file. */
  now?: () => Date
}

/** What the model gets in place of what was compacted. It is the person's message, since somebody has to have said it. */
function summaryMessage(summary: string): AgentMessage {
  return { role: "user", content: `[summary of the conversation so far]\n${summary}` }
}

/** What the tree of a stored session tells its store, and asks it. */
type TreeOwner = {
  onAppend(entry: SessionEntry): void
  contextOf(path: AgentMessage[]): AgentMessage[]
}

/** The tree of a stored session. Whatever is appended to it is written; what it gives the model is the context. */
class StoredTree extends SessionTree {
  #owner: TreeOwner

  constructor(owner: TreeOwner) {
    super()
    this.#owner = owner
  }

  override append(message: AgentMessage): SessionEntry {
    const entry = super.append(message)
    this.#owner.onAppend(entry)
    return entry
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
      onAppend: (entry) => this.#keep(entry),
      contextOf: (messages) => this.#contextOf(messages),
    })
    const replay = new Replay(this.tree, this.#index)
    const { damage, ends } = readRecords(readText(file), (...taken) => replay.take(...taken))
    this.#torn = !ends
    const { header } = this.#index
    const isEmpty = damage.length === 0 && this.#index.records.size === 0
    if (header === undefined && !isEmpty) damage.push("the file has no header, so the session gets a new id")
    this.header = header ?? newHeader(options)
    if (this.header.version > VERSION)
      throw new Error(
        `${file} is of version ${this.header.version}, and this program reads versions up to ${VERSION}: open it with a newer one`,
      )
    if (!options.readOnly) this.#fd = fs.openSync(file, "a")
    if (!options.readOnly && header === undefined) this.#write(this.header)
    this.#isReading = false
    this.#answer(replay.due, damage)
    this.damage = damage
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

  /** Adds a message below the leaf and writes it. Throws where the core's tree refuses it. */
  appendMessage(message: AgentMessage, isError?: boolean): MessageRecord {
    this.#isError = isError
    try {
      this.tree.append(message)
    } finally {
      this.#isError = undefined
    }
    return this.#last as MessageRecord
  }

  /** Every entry of every branch, in the order of the file. */
  entries(): MessageRecord[] {
    return [...this.#index.records.values()]
  }

  /** The session on this branch: every entry from the first to the leaf. */
  path(): MessageRecord[] {
    return this.#index.pathTo(this.leafId)
  }

  /** The context: what the model gets. The same file gives the same bytes. */
  buildContext(): AgentMessage[] {
    return this.tree.currentPath()
  }

  /** What of the path the model gets as it is, and the summary that it gets in place of the rest. */
  keptPath(): { summary: string | undefined; records: MessageRecord[] } {
    const records = this.path()
    const found = this.#index.compactionOn(records)
    return { summary: found?.compaction.summary, records: records.slice(found?.start ?? 0) }
  }

  /** Goes to an entry, or (null) to before the first, and writes that down. Throws, and stays, where the core's tree does. */
  moveTo(entryId: string | null): void {
    const target = entryId === null ? null : this.#index.treeId(entryId)
    if (target === undefined) throw new Error(`cannot move to "${entryId}": no entry has this id`)
    if (target === this.tree.leafId) return
    this.tree.moveTo(target)
    this.#write({ type: "leaf", entryId })
  }

  /**
   * Tells the model from here on a summary in place of what stands on this branch before an entry. Throws for entries that are not on this branch, and
   * where the cut would part a call from its result.
   */
  appendCompaction(compaction: Omit<CompactionRecord, "type">): CompactionRecord {
    const record: CompactionRecord = { type: "compaction", ...compaction }
    const records = this.path()
    const places = new Map(records.map(({ id }, index) => [id, index]))
    const stranger = [record.entryId, record.firstKeptEntryId].find((id) => id !== null && !places.has(id))
    if (stranger !== undefined) throw new Error(`cannot compact at "${stranger}": it is not on this branch`)
    const kept = records.slice(startOf(record, places))
    assertPairedToolCalls(kept.map(({ message }) => toProviderMessage(fromStored(message))))
    this.#index.compactions.push(record)
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

  /** Gives an entry of the tree its record, and writes that. */
  #keep(entry: SessionEntry): void {
    if (this.#isReading) return
    const { id, parentId, ...message } = entry
    const failed =
      message.role === "toolResult" && (this.#isError ?? this.#options.isError?.(message.toolCallId) ?? false)
    const record: MessageRecord = {
      type: "message",
      id: this.#index.freshId(),
      parentId: this.#index.fileId(parentId),
      message: toStored(message as AgentMessage, failed),
    }
    this.#index.add(record, id)
    this.#last = record
    if (!this.#options.readOnly) this.#write(record)
    this.onRecord?.(record)
  }

  #write(record: SessionRecord): void {
    if (this.#options.readOnly) throw new Error(`${this.file} is open for reading only`)
    if (this.#fd === undefined) throw new Error(`${this.file} is closed`)
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
  #answer(due: readonly string[], damage: string[]): void {
    for (const call of due) this.appendMessage(lostResult(call), true)
    if (due.length > 0)
      damage.push(
        `${due.map((call) => `"${call}"`).join(", ")} had no result when the program stopped; ${this.#options.readOnly ? "shown with an error, which is not written" : "answered with an error"}`,
      )
  }

  #contextOf(messages: AgentMessage[]): AgentMessage[] {
    const found = this.#index.compactions.length > 0 ? this.#index.compactionOn(this.path()) : undefined
    return found === undefined ? messages : [summaryMessage(found.compaction.summary), ...messages.slice(found.start)]
  }
}

/** The text of a file; that of one that is not there is empty. */
function readText(file: string): string {
  try {
    return fs.readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return ""
    throw new Error(`the session file cannot be read: ${(error as Error).message}`)
  }
}

function newHeader({ now = () => new Date() }: StoreOptions): SessionHeader {
  return { type: "session", version: VERSION, id: randomUUID(), time: now().toISOString() }
}
