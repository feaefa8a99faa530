import type * as s07 from "../../../s07_session/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s06.ts"

/** Every type that s07 exports. */
export type Types = {
  StopReason: s07.StopReason
  UserMessage: s07.UserMessage
  AssistantMessage: s07.AssistantMessage
  AgentMessage: s07.AgentMessage
  AgentState: s07.AgentState
  ProviderMessage: s07.ProviderMessage
  ProviderInput: s07.ProviderInput
  Provider: s07.Provider
  Output: s07.Output
  TurnOptions: s07.TurnOptions
  ToolSpec: s07.ToolSpec
  ToolHandler: s07.ToolHandler
  Tool: s07.Tool
  ToolRegistry: s07.ToolRegistry
  ProviderEvent: s07.ProviderEvent
  ToolCall: s07.ToolCall
  ToolResultMessage: s07.ToolResultMessage
  ToolExecutor: s07.ToolExecutor
  BeforeToolCallResult: s07.BeforeToolCallResult
  ToolHooks: s07.ToolHooks
  TurnSnapshot: s07.TurnSnapshot
  SessionEntry: s07.SessionEntry
  SessionNode: s07.SessionNode
  SessionTree: s07.SessionTree
}

/** What s07 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    AgentState: Grown<Before<T>["AgentState"], { messages: T["SessionTree"] }>
    SessionEntry: T["AgentMessage"] & { id: string; parentId: string | null }
    SessionNode: { entry: T["SessionEntry"]; message: T["AgentMessage"]; parent: T["SessionNode"] | null }
    SessionTree: {
      readonly leafId: string | null
      append(message: T["AgentMessage"]): T["SessionEntry"]
      moveTo(id: string | null): void
      currentPath(): T["AgentMessage"][]
      allEntries(): T["SessionEntry"][]
      acquire(): () => void
    }
  }
>

/** The functions of the turn chain that s07 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    sealMessage: (message: T["AgentMessage"]) => T["AgentMessage"]
    SessionTree: new () => T["SessionTree"]
  }
>
