/** Puts the records of a file back into a tree, whatever has become of them. */
import { isDeepStrictEqual } from "node:util"
import {
  type AgentMessage,
  assertPairedToolCalls,
  errorResult,
  type SessionTree,
  toProviderMessage,
} from "../../s12_packages/code.ts"
import type { CompactionRecord, MessageRecord, SessionRecord } from "../protocol.ts"
import { fromStored } from "./convert.ts"
import type { DamageReport, RecordReader } from "./records.ts"
import type { SessionIndex } from "./session-index.ts"

/** What stands in for the result of a call that was never answered. */
export function lostResult(toolCallId: string): AgentMessage {
  return errorResult(
    { id: toolCallId },
    "interrupted: the program stopped before there was a result; the tool may have done its work",
  )
}

/** What has to be true of a compaction: it keeps the end of its branch, and parts no call from its result. Throws otherwise. */
export function assertCompaction({ entryId, firstKeptEntryId }: CompactionRecord, index: SessionIndex): void {
  const stranger = [entryId, firstKeptEntryId].find((id) => id !== null && !index.has(id))
  if (stranger !== undefined) throw new Error(`a compaction at ${stranger}, which is not there`)
  const kept = index.pathTo(entryId, firstKeptEntryId ?? undefined)
  if (kept === undefined) throw new Error(`a compaction that cannot be: ${firstKeptEntryId} is on another branch`)
  try {
    assertPairedToolCalls(index.messages(kept).map(toProviderMessage))
  } catch (error) {
    throw new Error(`a compaction that cannot be: ${(error as Error).message}`)
  }
}

/** Takes the records one by one. What is wrong with them is told, and nothing that can be kept is left out. */
export class Replay implements RecordReader {
  /** The calls of the last message that have no result yet. */
  due: string[] = []
  #tree: SessionTree
  #index: SessionIndex
  #damage: DamageReport
  /** The entry on which the tree stands, as the file calls it. */
  #last: string | null = null
  /** Where the tree stood at records that are lost with their ids, until an id is found that could be theirs. */
  #gaps: (string | null)[] = []
  /** The lost entries that were told. */
  #told = new Set<string>()
  /** From an entry to the error that stands behind it in place of a lost result. */
  #filled = new Map<string | null, string>()

  constructor(tree: SessionTree, index: SessionIndex, damage: DamageReport) {
    this.#tree = tree
    this.#index = index
    this.#damage = damage
  }

  take(record: SessionRecord, line: number): void {
    if (record.type === "session") {
      if (this.#index.header === undefined) this.#index.header = record
      else this.#damage.add(`line ${line} is a second header`)
    } else if (record.type === "leaf") this.#goTo(record.entryId, line)
    else if (record.type === "compaction") this.#takeCompaction(record, line)
    else this.#takeMessage(record, line)
  }

  miss(id: string | undefined, parentId: string | null | undefined): void {
    const isKnown = parentId === null || (parentId !== undefined && this.#index.has(parentId))
    if (id === undefined) this.#gaps.push(this.#last)
    else this.#index.standIn(id, isKnown ? parentId : this.#last)
  }

  /** A compaction counts when it can be. Else the one before it stays in force. */
  #takeCompaction(record: CompactionRecord, line: number): void {
    try {
      assertCompaction(record, this.#index)
      this.#index.compact(record)
    } catch (error) {
      this.#damage.add(`line ${line}: ${(error as Error).message}`)
    }
  }

  #takeMessage(record: MessageRecord, line: number): void {
    const { message } = record
    const isTaken = this.#index.has(record.id)
    // Word for word what is there already: nothing has happened that was not known.
    if (isTaken && isDeepStrictEqual(this.#index.record(record.id).message, message)) {
      this.#damage.add(`line ${line} repeats ${record.id}; it is left out`)
      return
    }
    this.#goTo(record.parentId, line)
    if (message.role === "toolResult" && !this.due.includes(message.toolCallId)) {
      const call = message.toolCallId
      this.#damage.add(`line ${line}: a result of "${call}", and no such call waits for one; it is left out`)
      this.#index.standIn(record.id, this.#last)
      return
    }
    this.#fill(line, message.role === "toolResult" ? message.toolCallId : undefined)
    this.due.shift()
    const id = isTaken ? this.#index.freeId(record.id) : record.id
    if (isTaken) this.#damage.add(`line ${line}: the id ${record.id} stands there twice; this one is called ${id}`)
    this.#place(id, fromStored(message), message.role === "toolResult" && message.isError)
    if (message.role !== "assistant") return
    for (const block of message.content) if (block.type === "toolCall") this.due.push(block.id)
  }

  #place(id: string, message: AgentMessage, isError: boolean): void {
    this.#index.add(id, this.#tree.append(message), isError)
    this.#last = id
  }

  /** Puts errors in the place of results that are lost, up to the result of this call. They are shown, and not written. */
  #fill(line: number, until?: string): void {
    while (this.due.length > 0 && this.due[0] !== until) {
      const call = this.due.shift() as string
      this.#damage.add(`line ${line}: before it the result of "${call}" is lost; an error is shown in its place`)
      const [before, id] = [this.#last, this.#index.freeId("lost")]
      this.#place(id, lostResult(call), true)
      this.#filled.set(before, id)
    }
  }

  /** Goes to an entry, as far as that can be. */
  #goTo(id: string | null, line: number): void {
    if (id === this.#last) return
    const place = id === null || this.#index.has(id) ? id : this.#findPlace(id, line)
    if (place === this.#last) return
    this.#fill(line)
    try {
      this.#tree.moveTo(place === null ? null : (this.#index.treeId(place) as string))
      this.#last = place
    } catch (error) {
      this.#damage.add(`line ${line}: ${(error as Error).message}`)
    }
  }

  /** Where it goes on below an entry that is not there, one place for each: where its record stood, if that is known, else here. */
  #findPlace(id: string, line: number): string | null {
    let place = this.#index.placeOf(id)
    if (place === undefined) place = this.#gaps.length > 0 ? (this.#gaps.pop() as string | null) : this.#last
    this.#index.standIn(id, place)
    if (!this.#told.has(id))
      this.#damage.add(`line ${line}: ${id} is not there; what hangs below it is put below ${place ?? "nothing"}`)
    this.#told.add(id)
    for (let next = this.#filled.get(place); next !== undefined; next = this.#filled.get(place)) place = next
    return place
  }
}
