/** What the tests of the session file share: a folder of its own for each test, messages, and files that are written by hand. */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { afterEach, beforeEach } from "vitest"
import type { MessageRecord, SessionRecord } from "../../../app/protocol.ts"
import { JsonlSessionStore, type StoreOptions } from "../../../app/session/session-store.ts"
import type { AgentMessage } from "../../../s12_packages/code.ts"

/** A folder, and the session file in it. */
export type SessionFolder = {
  readonly folder: string
  readonly file: string
  /** Opens the file, and sees to it that it is closed at the end. */
  open(options?: StoreOptions): JsonlSessionStore
  /** Closes what is open. */
  close(): void
  /** Closes what is open, and opens the file anew. */
  reopen(options?: StoreOptions): JsonlSessionStore
  /** Writes the file by hand: records as lines, texts and bytes as they are. */
  write(...parts: (SessionRecord | string | Uint8Array)[]): void
}

/** Gives each test of this file a folder of its own; its name has a blank and signs beyond ASCII. */
export function useSessionFolder(): SessionFolder {
  let folder = ""
  const stores: JsonlSessionStore[] = []
  const close = (): void => {
    for (const store of stores.splice(0)) store.close()
  }
  const open = (options: StoreOptions = {}): JsonlSessionStore => {
    const store = JsonlSessionStore.open(path.join(folder, "session.jsonl"), options)
    stores.push(store)
    return store
  }
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "session 会话-"))
  })
  afterEach(() => {
    close()
    fs.rmSync(folder, { recursive: true, force: true })
  })
  return {
    get folder() {
      return folder
    },
    get file() {
      return path.join(folder, "session.jsonl")
    },
    open,
    close,
    reopen: (options) => {
      close()
      return open(options)
    },
    write: (...parts) => {
      const bytes = parts.map((part) => (part instanceof Uint8Array ? part : Buffer.from(toLine(part))))
      fs.writeFileSync(path.join(folder, "session.jsonl"), Buffer.concat(bytes))
    },
  }
}

function toLine(part: SessionRecord | string): string {
  return typeof part === "string" ? part : `${JSON.stringify(part)}\n`
}

export const user = (content: string): AgentMessage => ({ role: "user", content })
export const say = (content: string): AgentMessage => ({ role: "assistant", content, stopReason: "stop" })
export const ask = (...ids: string[]): AgentMessage => ({
  role: "assistant",
  content: "",
  stopReason: "toolUse",
  toolCalls: ids.map((id) => ({ id, name: "read_file", input: { path: "a.md" } })),
})
export const result = (toolCallId: string, content = "text"): AgentMessage => ({
  role: "toolResult",
  toolCallId,
  content,
})

/** A header as it stands in a file. */
export const HEADER: SessionRecord = { type: "session", version: 1, id: "test", time: "2026-01-01T00:00:00.000Z" }

/** What a person said, as it stands in a file. */
export const record = (id: string, parentId: string | null, text: string = id): MessageRecord => ({
  type: "message",
  id,
  parentId,
  message: { role: "user", content: [{ type: "text", text }] },
})

/** A message with calls, as it stands in a file. */
export const callRecord = (id: string, parentId: string | null, ...calls: string[]): MessageRecord => ({
  type: "message",
  id,
  parentId,
  message: {
    role: "assistant",
    stopReason: "toolUse",
    content: calls.map((call) => ({ type: "toolCall", id: call, name: "read_file", input: {} })),
  },
})

/** The result of a call, as it stands in a file. */
export const resultRecord = (id: string, parentId: string | null, toolCallId: string): MessageRecord => ({
  type: "message",
  id,
  parentId,
  message: { role: "toolResult", toolCallId, isError: false, content: [] },
})

/** So many records, each below the one before it. */
export const chain = (length: number): MessageRecord[] =>
  Array.from({ length }, (_, index) => record(`entry_${index + 1}`, index === 0 ? null : `entry_${index}`))

/** What the records say; of a call, its id. */
export const textsOf = (records: readonly MessageRecord[]): string[] =>
  records.map(({ message }) => message.content.map((block) => (block.type === "text" ? block.text : block.id)).join())
