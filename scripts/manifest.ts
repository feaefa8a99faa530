/**
 * The evolution of the program, as data. Each chapter lists the names it adds, the old declarations it is welded into, and the upgrades
 * it makes under U1. Checks, tests and tables read it; nothing about the growth of the chapters is written down anywhere else.
 */

import { InputError } from "./command.ts"

/** A chapter's short name. */
export type ChapterId = "s01" | "s02" | "s03" | "s04" | "s05" | "s06" | "s07" | "s08" | "s09" | "s10" | "s11" | "s12"

/** A function or method of an earlier chapter whose text changes, because this chapter's part is joined in there. */
export type Weld = {
  /** `name` or `Class.member`. */
  name: string
  reason: string
}

/** A breaking change that U1 allows. */
export type Upgrade = {
  rule: "U1"
  /** `Type.member`, by its old name. */
  name: string
  /** The member as written before and after, without a body. */
  from: string
  to: string
  reason: string
}

/** What one chapter does to the program. */
export type Chapter = {
  id: ChapterId
  /** The chapter's folder below the root of the repository. */
  folder: string
  title: string
  /** Exported names that this chapter adds, in the order of the source. */
  parts: readonly string[]
  welds: readonly Weld[]
  upgrades: readonly Upgrade[]
}

/** The twelve chapters, in order. */
export const CHAPTERS: readonly Chapter[] = [
  {
    id: "s01",
    folder: "s01_state",
    title: "State",
    parts: [
      "StopReason",
      "UserMessage",
      "AssistantMessage",
      "AgentMessage",
      "AgentState",
      "ProviderMessage",
      "ProviderInput",
      "Provider",
      "Output",
      "TurnOptions",
      "guard",
      "describeError",
      "findProblem",
      "finishMessage",
      "toProviderMessage",
      "buildProviderInput",
      "requestMessage",
      "recordMessage",
      "runOneTurn",
    ],
    welds: [],
    upgrades: [],
  },
  {
    id: "s02",
    folder: "s02_tools",
    title: "Tools",
    parts: ["ToolSpec", "ToolHandler", "Tool", "sealTool", "ToolRegistry"],
    welds: [
      { name: "buildProviderInput", reason: "A request now tells the model which tools there are." },
      { name: "runOneTurn", reason: "It hands its options on, so that the registry reaches the request." },
    ],
    upgrades: [],
  },
  {
    id: "s03",
    folder: "s03_stream",
    title: "Stream",
    parts: ["ProviderEvent", "collectAssistantMessage"],
    welds: [
      { name: "requestMessage", reason: "The answer is collected from a stream instead of awaited in one piece." },
    ],
    upgrades: [
      {
        rule: "U1",
        name: "Provider.complete",
        from: "complete(input: ProviderInput): Promise<AssistantMessage>",
        to: "stream(input: ProviderInput): AsyncGenerator<ProviderEvent>",
        reason:
          "One answer at the end cannot be turned into pieces on the way; the two forms cannot stand side by side.",
      },
    ],
  },
  {
    id: "s04",
    folder: "s04_toolloop",
    title: "Tool loop",
    parts: [
      "ToolCall",
      "ToolResultMessage",
      "ToolExecutor",
      "DEFAULT_MAX_TURNS",
      "sealToolCall",
      "toolResult",
      "errorResult",
      "expectString",
      "checkMaxTurns",
      "findRepeated",
      "assertPairedGroup",
      "assertPairedToolCalls",
      "settleToolCall",
      "startToolCalls",
      "runEventedToolLoop",
    ],
    welds: [
      { name: "findProblem", reason: "A message with tool calls has more ways to be incomplete." },
      { name: "finishMessage", reason: "The calls are kept in the message, unless their ids repeat." },
      { name: "runOneTurn", reason: "One request becomes a loop of requests and tool runs." },
      { name: "collectAssistantMessage", reason: "Calls that arrive in the stream are collected beside the text." },
    ],
    upgrades: [],
  },
  {
    id: "s05",
    folder: "s05_hooks",
    title: "Hooks",
    parts: ["BeforeToolCallResult", "ToolHooks", "decideToolCall", "reviseToolResult", "executeToolCall"],
    welds: [{ name: "startToolCalls", reason: "A call goes through the hooks instead of straight to the registry." }],
    upgrades: [],
  },
  {
    id: "s06",
    folder: "s06_snapshot",
    title: "Snapshot",
    parts: ["TurnSnapshot", "createTurnSnapshot", "extendSnapshot"],
    welds: [
      {
        name: "runEventedToolLoop",
        reason: "Requests are built from a snapshot of the turn, not from the live state.",
      },
    ],
    upgrades: [],
  },
  {
    id: "s07",
    folder: "s07_session",
    title: "Session",
    parts: ["SessionEntry", "SessionNode", "sealMessage", "SessionTree"],
    welds: [
      { name: "buildProviderInput", reason: "The history is the path through the tree." },
      { name: "recordMessage", reason: "A message is appended to the tree." },
      { name: "runOneTurn", reason: "A turn reserves the tree, so that nobody moves in it meanwhile." },
    ],
    upgrades: [
      {
        rule: "U1",
        name: "AgentState.messages",
        from: "messages: AgentMessage[]",
        to: "messages: SessionTree",
        reason: "A list has one past; a history that can be continued from any point is a tree.",
      },
    ],
  },
  {
    id: "s08",
    folder: "s08_resources",
    title: "Resources",
    parts: [
      "ContextResource",
      "MAX_RESOURCE_CHARS",
      "ResourceLoader",
      "cutText",
      "buildSystemPrompt",
      "formatResource",
    ],
    welds: [{ name: "buildProviderInput", reason: "A request now carries the system prompt." }],
    upgrades: [],
  },
  {
    id: "s09",
    folder: "s09_extensions",
    title: "Extensions",
    parts: [
      "Command",
      "RuntimeEvent",
      "ExtensionAPI",
      "Extension",
      "EventHandler",
      "assertFreeNames",
      "ExtensionRuntime",
      "publish",
    ],
    welds: [
      { name: "recordMessage", reason: "What is recorded is also told to the extensions." },
      { name: "runOneTurn", reason: "The end of a turn is an event too." },
    ],
    upgrades: [],
  },
  {
    id: "s10",
    folder: "s10_modes",
    title: "Modes",
    parts: ["RuntimeMode", "escapeControls", "PrintMode", "JsonMode"],
    welds: [
      { name: "recordMessage", reason: "It no longer writes a line by itself; showing is the mode's work." },
      { name: "publish", reason: "Events go to the mode as well, and the mode writes." },
    ],
    upgrades: [],
  },
  {
    id: "s11",
    folder: "s11_trust",
    title: "Trust",
    parts: ["ProjectTrust"],
    welds: [{ name: "buildProviderInput", reason: "The loader is told whether the project is trusted." }],
    upgrades: [
      {
        rule: "U1",
        name: "ResourceLoader.load",
        from: "load(): ContextResource[]",
        to: "load(trust?: ProjectTrust): ContextResource[]",
        reason: "Without a word about trust nothing is loaded any more, so that forgetting it fails closed.",
      },
    ],
  },
  {
    id: "s12",
    folder: "s12_packages",
    title: "Packages",
    parts: [
      "PackageManifest",
      "Package",
      "LoadedPackage",
      "packageName",
      "packageNames",
      "packageSchema",
      "findMismatches",
      "pick",
      "loadPackage",
      "installLoadedPackage",
    ],
    welds: [],
    upgrades: [],
  },
]

/** The chapter with this id, or with this number or folder name. Throws for anything else, naming what there is. */
export function findChapter(name: string): Chapter {
  const id = /^\d+$/.test(name) ? `s${name.padStart(2, "0")}` : name
  const chapter = CHAPTERS.find((candidate) => candidate.id === id || candidate.folder === id)
  if (chapter !== undefined) return chapter
  throw new InputError(`unknown chapter "${name}": expected one of ${CHAPTERS.map((known) => known.id).join(", ")}`)
}
