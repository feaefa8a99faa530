import type * as s06 from "../../../s06_snapshot/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s05.ts"

/** Every type that s06 exports. */
export type Types = {
  StopReason: s06.StopReason
  UserMessage: s06.UserMessage
  AssistantMessage: s06.AssistantMessage
  AgentMessage: s06.AgentMessage
  AgentState: s06.AgentState
  ProviderMessage: s06.ProviderMessage
  ProviderInput: s06.ProviderInput
  Provider: s06.Provider
  Output: s06.Output
  TurnOptions: s06.TurnOptions
  ToolSpec: s06.ToolSpec
  ToolHandler: s06.ToolHandler
  Tool: s06.Tool
  ToolRegistry: s06.ToolRegistry
  ProviderEvent: s06.ProviderEvent
  ToolCall: s06.ToolCall
  ToolResultMessage: s06.ToolResultMessage
  ToolExecutor: s06.ToolExecutor
  BeforeToolCallResult: s06.BeforeToolCallResult
  ToolHooks: s06.ToolHooks
  TurnSnapshot: s06.TurnSnapshot
}

/** What s06 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    AgentState: Grown<Before<T>["AgentState"], { model: string }>
    TurnSnapshot: T["ProviderInput"]
  }
>

/** The functions of the turn chain that s06 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    createTurnSnapshot: (state: T["AgentState"], options: T["TurnOptions"]) => T["TurnSnapshot"]
  }
>
