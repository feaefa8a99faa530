import type * as s10 from "../../../s10_modes/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s09.ts"

/** Every type that s10 exports. */
export type Types = {
  StopReason: s10.StopReason
  UserMessage: s10.UserMessage
  AssistantMessage: s10.AssistantMessage
  AgentMessage: s10.AgentMessage
  AgentState: s10.AgentState
  ProviderMessage: s10.ProviderMessage
  ProviderInput: s10.ProviderInput
  Provider: s10.Provider
  Output: s10.Output
  TurnOptions: s10.TurnOptions
  ToolSpec: s10.ToolSpec
  ToolHandler: s10.ToolHandler
  Tool: s10.Tool
  ToolRegistry: s10.ToolRegistry
  ProviderEvent: s10.ProviderEvent
  ToolCall: s10.ToolCall
  ToolResultMessage: s10.ToolResultMessage
  ToolExecutor: s10.ToolExecutor
  BeforeToolCallResult: s10.BeforeToolCallResult
  ToolHooks: s10.ToolHooks
  TurnSnapshot: s10.TurnSnapshot
  SessionEntry: s10.SessionEntry
  SessionNode: s10.SessionNode
  SessionTree: s10.SessionTree
  ContextResource: s10.ContextResource
  ResourceLoader: s10.ResourceLoader
  Command: s10.Command
  RuntimeEvent: s10.RuntimeEvent
  EventHandler: s10.EventHandler
  ExtensionAPI: s10.ExtensionAPI
  Extension: s10.Extension
  ExtensionRuntime: s10.ExtensionRuntime
  RuntimeMode: s10.RuntimeMode
  PrintMode: s10.PrintMode
  JsonMode: s10.JsonMode
}

/** What s10 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    TurnOptions: Grown<Before<T>["TurnOptions"], { mode?: T["RuntimeMode"] }>
    RuntimeMode: { render(events: T["RuntimeEvent"][]): void }
    PrintMode: { render(events: T["RuntimeEvent"][]): void }
    JsonMode: { render(events: T["RuntimeEvent"][]): void }
  }
>

/** The functions of the turn chain that s10 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    escapeControls: (text: string, show?: (code: string) => string) => string
    PrintMode: new (output: T["Output"]) => T["PrintMode"]
    JsonMode: new (output: T["Output"]) => T["JsonMode"]
  }
>
