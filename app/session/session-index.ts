/** What a session knows of the entries of its tree: how the file calls them, which are errors, and where it was compacted. */
import type { AgentMessage, SessionEntry } from "../../s12_packages/code.ts"
import type { CompactionRecord, MessageRecord, SessionHeader } from "../protocol.ts"
import { toStored } from "./convert.ts"

/** How the tree begins the ids of its entries, which it counts from 1. */
const TREE_PREFIX = "entry_"

/** A compaction that holds on a branch, and the index of the first entry that it keeps. */
export type FoundCompaction = { compaction: CompactionRecord; start: number }

/** The entries of a tree by the ids that the file gives them. The entries are the tree's own. */
export class SessionIndex {
  header: SessionHeader | undefined
  /** In the order of the file, which is that of the tree: `entry_1` stands first. */
  #entries: SessionEntry[] = []
  /** From the ids of the file to those of the tree, and back, where they are not the same: behind lines that were lost. */
  #inTree = new Map<string, string>()
  #inFile = new Map<string, string>()
  /** Results of which it is known that they are errors. */
  #errors = new Set<string>()
  /** By the entry at which the person compacted; the last one counts. */
  #compactions = new Map<string, CompactionRecord>()
  /** Ids that the file names and that are none of an entry, and the entry on which it goes on in their place. */
  #standIns = new Map<string, string | null>()
  /** How many ids have been made out of each that was taken. */
  #copies = new Map<string, number>()
  #next = 1

  /** Whether the session was compacted anywhere. */
  get hasCompactions(): boolean {
    return this.#compactions.size > 0
  }

  /** Adds an entry of the tree under the id that the file gives it. */
  add(id: string, entry: SessionEntry, isError: boolean): void {
    this.#entries.push(entry)
    if (isError) this.#errors.add(id)
    if (id === entry.id) return
    this.#inTree.set(id, entry.id)
    this.#inFile.set(entry.id, id)
  }

  has(id: string): boolean {
    return this.#find(id) !== undefined
  }

  /** How the tree calls the entry that the file calls so; undefined when there is none. */
  treeId(id: string): string | undefined {
    return this.#find(id)?.id
  }

  /** The entry that the file calls so. Where file and tree agree, its place is in its name; that saves a map as large as the tree's own. */
  #find(id: string): SessionEntry | undefined {
    const treeId = this.#inTree.get(id) ?? id
    const entry = this.#entries[Number(treeId.slice(TREE_PREFIX.length)) - 1]
    return entry?.id === treeId && this.fileId(treeId) === id ? entry : undefined
  }

  /** How the file calls an entry of the tree. */
  fileId(treeId: string | null): string | null {
    return treeId === null || this.#inFile.size === 0 ? treeId : (this.#inFile.get(treeId) ?? treeId)
  }

  /** Says on which entry it goes on in place of one that is lost. What was said first holds. */
  standIn(id: string, place: string | null): void {
    if (!this.#standIns.has(id)) this.#standIns.set(id, place)
  }

  /** The entry in place of one that is lost; undefined when nothing is known of it. */
  placeOf(id: string): string | null | undefined {
    return this.#standIns.get(id)
  }

  /** An id that no line of the file names. */
  freshId(): string {
    this.#next = Math.max(this.#next, this.#entries.length + 1)
    let id = `entry_${this.#next++}`
    while (this.has(id) || this.#standIns.has(id)) id = `entry_${this.#next++}`
    return id
  }

  /** The id that is wanted, or one like it that no entry has. */
  freeId(wanted: string): string {
    let id = wanted
    for (let number = this.#copies.get(wanted) ?? 2; this.has(id); number++) {
      id = `${wanted}~${number}`
      this.#copies.set(wanted, number + 1)
    }
    return id
  }

  /** The record of an entry, as the file has it. */
  record(id: string): MessageRecord {
    return this.toRecord(this.#find(id) as SessionEntry)
  }

  /** The record of an entry of the tree. */
  toRecord(entry: SessionEntry): MessageRecord {
    const id = this.fileId(entry.id) as string
    return {
      type: "message",
      id,
      parentId: this.fileId(entry.parentId),
      message: toStored(entry, this.#errors.has(id)),
    }
  }

  /** The record of every entry, in the order of the file. */
  records(): MessageRecord[] {
    return this.#entries.map((entry) => this.toRecord(entry))
  }

  /** The entries from `first`, or from the first of all, to this one; undefined where `first` is not on the way. */
  pathTo(id: string | null, first?: string): string[] | undefined {
    const path: string[] = []
    for (let at = id; at !== null; ) {
      path.push(at)
      if (at === first) return path.reverse()
      at = this.fileId(this.#find(at)?.parentId ?? null)
    }
    return first === undefined ? path.reverse() : undefined
  }

  /** The messages of entries. */
  messages(ids: readonly string[]): AgentMessage[] {
    return ids.map((id) => this.#find(id) as AgentMessage)
  }

  /** Remembers a compaction. It holds on every branch through its entry. */
  compact(compaction: CompactionRecord): void {
    this.#compactions.set(compaction.entryId, compaction)
  }

  /** The compaction that holds at the end of a path: the one made farthest along it. */
  compactionOn(path: readonly string[]): FoundCompaction | undefined {
    for (let at = path.length - 1; at >= 0; at--) {
      const compaction = this.#compactions.get(path[at] as string)
      if (compaction === undefined) continue
      const { firstKeptEntryId } = compaction
      return { compaction, start: firstKeptEntryId === null ? at + 1 : path.lastIndexOf(firstKeptEntryId, at) }
    }
    return undefined
  }
}
