import type * as s11 from "../../../s11_trust/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s10.ts"

/** Every type that s11 exports. */
export type Types = {
  StopReason: s11.StopReason
  UserMessage: s11.UserMessage
  AssistantMessage: s11.AssistantMessage
  AgentMessage: s11.AgentMessage
  AgentState: s11.AgentState
  ProviderMessage: s11.ProviderMessage
  ProviderInput: s11.ProviderInput
  Provider: s11.Provider
  Output: s11.Output
  TurnOptions: s11.TurnOptions
  ToolSpec: s11.ToolSpec
  ToolHandler: s11.ToolHandler
  Tool: s11.Tool
  ToolRegistry: s11.ToolRegistry
  ProviderEvent: s11.ProviderEvent
  ToolCall: s11.ToolCall
  ToolResultMessage: s11.ToolResultMessage
  ToolExecutor: s11.ToolExecutor
  BeforeToolCallResult: s11.BeforeToolCallResult
  ToolHooks: s11.ToolHooks
  TurnSnapshot: s11.TurnSnapshot
  SessionEntry: s11.SessionEntry
  SessionNode: s11.SessionNode
  SessionTree: s11.SessionTree
  ContextResource: s11.ContextResource
  ResourceLoader: s11.ResourceLoader
  Command: s11.Command
  RuntimeEvent: s11.RuntimeEvent
  EventHandler: s11.EventHandler
  ExtensionAPI: s11.ExtensionAPI
  Extension: s11.Extension
  ExtensionRuntime: s11.ExtensionRuntime
  RuntimeMode: s11.RuntimeMode
  PrintMode: s11.PrintMode
  JsonMode: s11.JsonMode
  ProjectTrust: s11.ProjectTrust
}

/** What s11 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    TurnOptions: Grown<Before<T>["TurnOptions"], { trust?: T["ProjectTrust"] }>
    ResourceLoader: { load(trust?: T["ProjectTrust"]): T["ContextResource"][] }
    ExtensionRuntime: Grown<
      Before<T>["ExtensionRuntime"],
      {
        useProject(
          fetchExtension: () => T["Extension"] | Promise<T["Extension"]>,
          trust?: T["ProjectTrust"],
        ): Promise<boolean>
      }
    >
    ProjectTrust: "trusted" | "untrusted"
  }
>

/** No function of the turn chain is called in another way. */
export type Functions<T extends Names<Types>> = FunctionsBefore<T>
