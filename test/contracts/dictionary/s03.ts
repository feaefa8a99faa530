import type * as s03 from "../../../s03_stream/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s02.ts"

/** Every type that s03 exports. */
export type Types = {
  StopReason: s03.StopReason
  UserMessage: s03.UserMessage
  AssistantMessage: s03.AssistantMessage
  AgentMessage: s03.AgentMessage
  AgentState: s03.AgentState
  ProviderMessage: s03.ProviderMessage
  ProviderInput: s03.ProviderInput
  Provider: s03.Provider
  Output: s03.Output
  TurnOptions: s03.TurnOptions
  ToolSpec: s03.ToolSpec
  ToolHandler: s03.ToolHandler
  Tool: s03.Tool
  ToolRegistry: s03.ToolRegistry
  ProviderEvent: s03.ProviderEvent
}

/** What s03 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    ProviderEvent:
      | { type: "message_start" }
      | { type: "text_delta"; text: string }
      | { type: "message_end"; stopReason: T["StopReason"] }
    Provider: { stream(input: T["ProviderInput"]): AsyncGenerator<T["ProviderEvent"]> }
  }
>

/** The functions of the turn chain that s03 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    collectAssistantMessage: (events: AsyncIterable<T["ProviderEvent"]>) => Promise<T["AssistantMessage"]>
  }
>
