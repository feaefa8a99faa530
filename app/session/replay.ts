/** Puts the records of a file back into a tree, whatever has become of them. */
import {
  type AgentMessage,
  assertPairedToolCalls,
  errorResult,
  type SessionTree,
  toProviderMessage,
} from "../../s12_packages/code.ts"
import type { CompactionRecord, MessageRecord, SessionRecord } from "../protocol.ts"
import { fromStored, toStored } from "./convert.ts"
import { type SessionIndex, startOf } from "./session-index.ts"

/** What stands in for the result of a call that was never answered. */
export function lostResult(toolCallId: string): AgentMessage {
  return errorResult(
    { id: toolCallId },
    "interrupted: the program stopped before there was a result; the tool may have done its work",
  )
}

/** Takes the records one by one. What is wrong with them is told, and nothing that can be kept is left out. */
export class Replay {
  /** The calls of the last message that have no result yet. */
  due: string[] = []
  #tree: SessionTree
  #index: SessionIndex
  /** The record on which the tree stands, as the file calls it. */
  #last: string | null = null

  constructor(tree: SessionTree, index: SessionIndex) {
    this.#tree = tree
    this.#index = index
  }

  /** Takes a record of this line. */
  take(record: SessionRecord, line: number, damage: string[]): void {
    if (record.type === "session") {
      if (this.#index.header === undefined) this.#index.header = record
      else damage.push(`line ${line} is a second header`)
    } else if (record.type === "leaf") this.#goTo(record.entryId, line, damage)
    else if (record.type === "compaction") this.#takeCompaction(record, line, damage)
    else this.#takeMessage(record, line, damage)
  }

  /** A compaction counts when its entries are there and it parts no call from its result. Else the one before it stays in force. */
  #takeCompaction(record: CompactionRecord, line: number, damage: string[]): void {
    const { records, compactions } = this.#index
    const stranger = [record.entryId, record.firstKeptEntryId].find((id) => id !== null && !records.has(id))
    if (stranger !== undefined) {
      damage.push(`line ${line}: a compaction at ${stranger}, which is not there`)
      return
    }
    const path = this.#index.pathTo(record.entryId)
    const start = startOf(record, new Map(path.map(({ id }, index) => [id, index])))
    try {
      if (start === undefined) throw new Error("its entries are on different branches")
      assertPairedToolCalls(path.slice(start).map(({ message }) => toProviderMessage(fromStored(message))))
      compactions.push(record)
    } catch (error) {
      damage.push(`line ${line}: a compaction that cannot be: ${(error as Error).message}`)
    }
  }

  #takeMessage(record: MessageRecord, line: number, damage: string[]): void {
    this.#goTo(record.parentId, line, damage)
    const message = fromStored(record.message)
    if (message.role === "toolResult") {
      const call = message.toolCallId
      if (!this.due.includes(call)) {
        damage.push(`line ${line}: a result of "${call}", and no such call waits for one; it is left out`)
        return
      }
      this.#fill(call, damage)
      this.due.shift()
    } else this.#fill(undefined, damage)
    const id = this.#index.freeId(record.id)
    if (id !== record.id) damage.push(`line ${line}: the id ${record.id} stands there twice; this one is called ${id}`)
    this.#place(message, id, record)
    if (message.role === "assistant") this.due = (message.toolCalls ?? []).map((call) => call.id)
  }

  /** Appends a message to the tree. Its record says where it really hangs now. */
  #place(message: AgentMessage, id: string, record: MessageRecord): void {
    const entry = this.#tree.append(message)
    const parentId = this.#index.fileId(entry.parentId)
    const isAsItWas = record.id === id && record.parentId === parentId
    this.#index.add(isAsItWas ? record : { ...record, id, parentId }, entry.id)
    this.#last = id
  }

  /** Puts errors in the place of results that are lost, up to the result of this call. They are shown, and not written. */
  #fill(until: string | undefined, damage: string[]): void {
    while (this.due.length > 0 && this.due[0] !== until) {
      const call = this.due.shift() as string
      damage.push(`the result of "${call}" is lost; an error is shown in its place`)
      const [message, id] = [lostResult(call), this.#index.freeId("lost")]
      this.#place(message, id, { type: "message", id, parentId: null, message: toStored(message, true) })
    }
  }

  /** Goes to an entry, as far as that can be. */
  #goTo(id: string | null, line: number, damage: string[]): void {
    if (id === this.#last) return
    const target = id === null ? null : this.#index.treeId(id)
    if (target === undefined) {
      damage.push(`line ${line}: ${id} is not there; what hangs below it is put below ${this.#last ?? "nothing"}`)
      return
    }
    try {
      this.#tree.moveTo(target)
      this.#last = id
      this.due = []
    } catch (error) {
      damage.push(`line ${line}: ${(error as Error).message}`)
    }
  }
}
