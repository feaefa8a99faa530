/** What a session holds besides its tree: its records by their ids. */
import type { CompactionRecord, MessageRecord, SessionHeader } from "../protocol.ts"

/** The records of a session, in the order of the file. */
export class SessionIndex {
  header: SessionHeader | undefined
  readonly records: Map<string, MessageRecord> = new Map()
  readonly compactions: CompactionRecord[] = []
  /** From the ids of the file to those of the tree, and back, where they are not the same: behind lines that were lost. */
  #inTree = new Map<string, string>()
  #inFile = new Map<string, string>()
  #next = 1

  /** Adds a record, and remembers how the tree calls its entry. */
  add(record: MessageRecord, treeId: string): void {
    this.records.set(record.id, record)
    if (record.id === treeId) return
    this.#inTree.set(record.id, treeId)
    this.#inFile.set(treeId, record.id)
  }

  /** How the tree calls the entry of a record; undefined when there is no such record. */
  treeId(id: string): string | undefined {
    return this.#inTree.get(id) ?? (this.records.has(id) ? id : undefined)
  }

  /** How the file calls an entry of the tree. */
  fileId(treeId: string | null): string | null {
    return treeId === null ? null : (this.#inFile.get(treeId) ?? treeId)
  }

  /** An id that no record has, nor had. */
  freshId(): string {
    let id = `entry_${this.#next++}`
    while (this.records.has(id)) id = `entry_${this.#next++}`
    return id
  }

  /** The id that is wanted, or one like it that no record has. */
  freeId(wanted: string): string {
    let id = wanted
    for (let number = 2; this.records.has(id); number++) id = `${wanted}~${number}`
    return id
  }

  /** The records from the first to this one. */
  pathTo(id: string | null): MessageRecord[] {
    const found: MessageRecord[] = []
    for (let at = id; at !== null; ) {
      const record = this.records.get(at) as MessageRecord
      found.push(record)
      at = record.parentId
    }
    return found.reverse()
  }

  /** The last compaction whose entries are on a path, and the index of the first entry that it keeps. */
  compactionOn(path: readonly MessageRecord[]): { compaction: CompactionRecord; start: number } | undefined {
    if (this.compactions.length === 0) return undefined
    const places = new Map(path.map(({ id }, index) => [id, index]))
    for (const compaction of this.compactions.toReversed()) {
      const start = startOf(compaction, places)
      if (start !== undefined) return { compaction, start }
    }
    return undefined
  }
}

/** The index of the first entry that a compaction keeps; undefined where its entries are not on the path. */
export function startOf(
  { entryId, firstKeptEntryId }: CompactionRecord,
  places: ReadonlyMap<string, number>,
): number | undefined {
  const entry = places.get(entryId)
  if (entry === undefined) return undefined
  return firstKeptEntryId === null ? entry + 1 : places.get(firstKeptEntryId)
}
