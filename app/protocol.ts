/**
 * What crosses the wire and lies in the session file. The core's messages hold one text; these hold blocks, and have names of their own, so that a
 * name of the core keeps its meaning here (U2). `session/convert.ts` goes from one to the other, both ways, without loss.
 */
import type { ProjectTrust, StopReason } from "../s12_packages/code.ts"

/** A piece of text. */
export type TextBlock = { type: "text"; text: string }

/** A call, as the model asked for it. `id` is unique within its message. */
export type ToolCallBlock = { type: "toolCall"; id: string; name: string; input: Record<string, string> }

/** What the person said. */
export type StoredUserMessage = { role: "user"; content: TextBlock[] }

/** What the model said: first its text, then its calls in their order. */
export type StoredAssistantMessage = {
  role: "assistant"
  content: (TextBlock | ToolCallBlock)[]
  stopReason: StopReason
}

/** The answer to one call. `isError` is what the app knows about the execution, not what the text starts with. */
export type StoredToolResult = { role: "toolResult"; toolCallId: string; isError: boolean; content: TextBlock[] }

/** A message as it is stored and sent. */
export type StoredMessage = StoredUserMessage | StoredAssistantMessage | StoredToolResult

/** The first line of a session file. `time` is ISO 8601 in UTC. */
export type SessionHeader = { type: "session"; version: 1; id: string; time: string }

/** A message and its place in the tree. */
export type MessageRecord = { type: "message"; id: string; parentId: string | null; message: StoredMessage }

/** The person went to an entry, or (null) to before the first. The last of these, or a message behind it, is where a reload stands. */
export type LeafRecord = { type: "leaf"; entryId: string | null }

/**
 * What came before `firstKeptEntryId` on the branch of `entryId` is told to the model by `summary` from here on. Nothing is removed: the session is
 * all that happened, the context is what the model gets. Null keeps no message in front of the next one.
 */
export type CompactionRecord = {
  type: "compaction"
  entryId: string
  summary: string
  firstKeptEntryId: string | null
  tokensBefore: number
}

/** A line of a session file. */
export type SessionRecord = SessionHeader | MessageRecord | LeafRecord | CompactionRecord

/** What is decided about a call before it runs. `rewrite` runs it with other arguments, and is decided on again. */
export type ToolDecision =
  | { type: "allow" }
  | { type: "block"; reason: string }
  | { type: "rewrite"; input: Record<string, string> }

/** What a person is asked before a call that does damage. `text` says what will happen; `diff`, a unified diff, what changes. */
export type Question = { id: string; toolCallId: string; name: string; text: string; diff?: string }

/** A tool as clients show it: what the model reads, where it comes from, and whether it only reads. */
export type ToolView = {
  name: string
  description: string
  input: Record<string, string>
  source: "built-in" | "extension" | "package"
  readOnly: boolean
}

/** What happens in a run, in order. `run_start` comes first, and `run_done` once, last. */
export type AgentEvent =
  | { type: "run_start"; prompt: string }
  | { type: "message_start" }
  | { type: "text_delta"; text: string }
  | { type: "tool_call"; call: ToolCallBlock }
  | { type: "tool_decision"; toolCallId: string; decision: ToolDecision }
  | { type: "question"; question: Question }
  | { type: "answer"; questionId: string; allowed: boolean }
  | { type: "message"; record: MessageRecord }
  | { type: "notice"; text: string }
  | { type: "run_done"; stopReason: StopReason; text: string }

/** An entry of the tree, short enough to be listed. */
export type TreeEntry = { id: string; parentId: string | null; role: StoredMessage["role"]; preview: string }

/** The whole state, as `GET /api/session` gives it. */
export type SessionState = {
  id: string
  model: string
  /** The branch on which the next prompt grows, oldest first. */
  messages: MessageRecord[]
  /** What happened in the last run. */
  events: AgentEvent[]
  tools: ToolView[]
  /** Every entry of every branch, in the order of arrival. */
  tree: TreeEntry[]
  leafId: string | null
  /** The run that is going on; null when there is none. */
  runId: string | null
  /** The project, what was decided on it, and whether it brings anything along on which to decide. */
  project: { folder: string; trust: ProjectTrust | "undecided"; brings: boolean }
  /** What was found wrong with the session file when it was opened, each a sentence. */
  damage: string[]
}

/** How a request is refused. Never a stack. */
export type ApiError = { error: { code: string; message: string } }
