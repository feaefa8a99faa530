import type * as s09 from "../../../s09_extensions/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s08.ts"

/** Every type that s09 exports. */
export type Types = {
  StopReason: s09.StopReason
  UserMessage: s09.UserMessage
  AssistantMessage: s09.AssistantMessage
  AgentMessage: s09.AgentMessage
  AgentState: s09.AgentState
  ProviderMessage: s09.ProviderMessage
  ProviderInput: s09.ProviderInput
  Provider: s09.Provider
  Output: s09.Output
  TurnOptions: s09.TurnOptions
  ToolSpec: s09.ToolSpec
  ToolHandler: s09.ToolHandler
  Tool: s09.Tool
  ToolRegistry: s09.ToolRegistry
  ProviderEvent: s09.ProviderEvent
  ToolCall: s09.ToolCall
  ToolResultMessage: s09.ToolResultMessage
  ToolExecutor: s09.ToolExecutor
  BeforeToolCallResult: s09.BeforeToolCallResult
  ToolHooks: s09.ToolHooks
  TurnSnapshot: s09.TurnSnapshot
  SessionEntry: s09.SessionEntry
  SessionNode: s09.SessionNode
  SessionTree: s09.SessionTree
  ContextResource: s09.ContextResource
  ResourceLoader: s09.ResourceLoader
  Command: s09.Command
  RuntimeEvent: s09.RuntimeEvent
  EventHandler: s09.EventHandler
  ExtensionAPI: s09.ExtensionAPI
  Extension: s09.Extension
  ExtensionRuntime: s09.ExtensionRuntime
}

/** What s09 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    TurnOptions: Grown<Before<T>["TurnOptions"], { extensions?: T["ExtensionRuntime"] }>
    Command: { name: string; run: () => string }
    RuntimeEvent: { type: "message"; content: string } | { type: "done" }
    EventHandler: (event: T["RuntimeEvent"]) => void
    ExtensionAPI: {
      on(type: "message" | "done", handler: (event: T["RuntimeEvent"]) => void): void
      registerTool(tool: T["Tool"]): void
      registerCommand(command: T["Command"]): void
    }
    Extension: (api: T["ExtensionAPI"]) => void
    ExtensionRuntime: {
      use(extension: T["Extension"], owner?: string): boolean
      getCommands(): string[]
      runCommand(name: string): string
      emit(event: T["RuntimeEvent"]): void
    }
  }
>

/** The functions of the turn chain that s09 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    sealCommand: (command: T["Command"]) => T["Command"]
    ExtensionRuntime: new (registry: T["ToolRegistry"], output: T["Output"]) => T["ExtensionRuntime"]
    publish: (event: T["RuntimeEvent"], options: T["TurnOptions"]) => void
  }
>
