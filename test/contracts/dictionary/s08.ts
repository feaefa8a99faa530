import type * as s08 from "../../../s08_resources/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s07.ts"

/** Every type that s08 exports. */
export type Types = {
  StopReason: s08.StopReason
  UserMessage: s08.UserMessage
  AssistantMessage: s08.AssistantMessage
  AgentMessage: s08.AgentMessage
  AgentState: s08.AgentState
  ProviderMessage: s08.ProviderMessage
  ProviderInput: s08.ProviderInput
  Provider: s08.Provider
  Output: s08.Output
  TurnOptions: s08.TurnOptions
  ToolSpec: s08.ToolSpec
  ToolHandler: s08.ToolHandler
  Tool: s08.Tool
  ToolRegistry: s08.ToolRegistry
  ProviderEvent: s08.ProviderEvent
  ToolCall: s08.ToolCall
  ToolResultMessage: s08.ToolResultMessage
  ToolExecutor: s08.ToolExecutor
  BeforeToolCallResult: s08.BeforeToolCallResult
  ToolHooks: s08.ToolHooks
  TurnSnapshot: s08.TurnSnapshot
  SessionEntry: s08.SessionEntry
  SessionNode: s08.SessionNode
  SessionTree: s08.SessionTree
  ContextResource: s08.ContextResource
  ResourceLoader: s08.ResourceLoader
}

/** What s08 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    ProviderInput: Grown<Before<T>["ProviderInput"], { systemPrompt: string }>
    TurnOptions: Grown<Before<T>["TurnOptions"], { loader?: T["ResourceLoader"] }>
    ContextResource: { kind: "agents" | "skill" | "prompt"; name: string; content: string }
    ResourceLoader: { load(): T["ContextResource"][] }
  }
>

/** The functions of the turn chain that s08 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    sealResource: (resource: T["ContextResource"]) => T["ContextResource"]
    ResourceLoader: new (resources: T["ContextResource"][]) => T["ResourceLoader"]
    buildSystemPrompt: (resources: T["ContextResource"][]) => string
  }
>
