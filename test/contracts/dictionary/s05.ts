import type * as s05 from "../../../s05_hooks/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s04.ts"

/** Every type that s05 exports. */
export type Types = {
  StopReason: s05.StopReason
  UserMessage: s05.UserMessage
  AssistantMessage: s05.AssistantMessage
  AgentMessage: s05.AgentMessage
  AgentState: s05.AgentState
  ProviderMessage: s05.ProviderMessage
  ProviderInput: s05.ProviderInput
  Provider: s05.Provider
  Output: s05.Output
  TurnOptions: s05.TurnOptions
  ToolSpec: s05.ToolSpec
  ToolHandler: s05.ToolHandler
  Tool: s05.Tool
  ToolRegistry: s05.ToolRegistry
  ProviderEvent: s05.ProviderEvent
  ToolCall: s05.ToolCall
  ToolResultMessage: s05.ToolResultMessage
  ToolExecutor: s05.ToolExecutor
  BeforeToolCallResult: s05.BeforeToolCallResult
  ToolHooks: s05.ToolHooks
}

/** What s05 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    TurnOptions: Grown<Before<T>["TurnOptions"], { hooks?: T["ToolHooks"] }>
    BeforeToolCallResult: { type: "allow" } | { type: "block"; reason: string }
    ToolHooks: {
      beforeToolCall?: (call: T["ToolCall"]) => T["BeforeToolCallResult"]
      afterToolCall?: (call: T["ToolCall"], result: string) => string
    }
  }
>

/** The functions of the turn chain that s05 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    assertAllowed: (hooks: T["ToolHooks"], call: T["ToolCall"]) => void
    reviseToolResult: (hooks: T["ToolHooks"], call: T["ToolCall"], result: string) => string
    executeToolCall: (registry: T["ToolRegistry"], hooks: T["ToolHooks"], call: T["ToolCall"]) => T["ToolResultMessage"]
  }
>
