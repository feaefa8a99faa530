import type * as s04 from "../../../s04_toolloop/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s03.ts"

/** Every type that s04 exports. */
export type Types = {
  StopReason: s04.StopReason
  UserMessage: s04.UserMessage
  AssistantMessage: s04.AssistantMessage
  AgentMessage: s04.AgentMessage
  AgentState: s04.AgentState
  ProviderMessage: s04.ProviderMessage
  ProviderInput: s04.ProviderInput
  Provider: s04.Provider
  Output: s04.Output
  TurnOptions: s04.TurnOptions
  ToolSpec: s04.ToolSpec
  ToolHandler: s04.ToolHandler
  Tool: s04.Tool
  ToolRegistry: s04.ToolRegistry
  ProviderEvent: s04.ProviderEvent
  ToolCall: s04.ToolCall
  ToolResultMessage: s04.ToolResultMessage
  ToolExecutor: s04.ToolExecutor
}

/** What s04 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    StopReason: Before<T>["StopReason"] | "toolUse"
    AssistantMessage: Grown<Before<T>["AssistantMessage"], { toolCalls?: T["ToolCall"][] }>
    AgentMessage: Before<T>["AgentMessage"] | T["ToolResultMessage"]
    ProviderMessage:
      | { role: "user"; content: string }
      | { role: "assistant"; content: string; toolCalls?: T["ToolCall"][] }
      | { role: "toolResult"; toolCallId: string; content: string }
    TurnOptions: Grown<Before<T>["TurnOptions"], { maxTurns?: number; execute?: T["ToolExecutor"] }>
    ToolRegistry: Grown<Before<T>["ToolRegistry"], { run(call: T["ToolCall"]): string }>
    ProviderEvent: Before<T>["ProviderEvent"] | { type: "tool_call"; call: T["ToolCall"] }
    ToolCall: { id: string; name: string; input: Record<string, string> }
    ToolResultMessage: { role: "toolResult"; toolCallId: string; content: string }
    ToolExecutor: (call: T["ToolCall"]) => T["ToolResultMessage"] | Promise<T["ToolResultMessage"]>
  }
>

/** The functions of the turn chain that s04 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    findProblem: (content: string, stopReason: T["StopReason"], toolCalls?: T["ToolCall"][]) => string | undefined
    finishMessage: (content: string, stopReason: T["StopReason"], toolCalls?: T["ToolCall"][]) => T["AssistantMessage"]
    DEFAULT_MAX_TURNS: 8
    escapeControls: (text: string) => string
    sealToolCall: (call: T["ToolCall"]) => T["ToolCall"]
    toolResult: (call: { id: string }, content: string) => T["ToolResultMessage"]
    errorResult: (call: { id: string }, error: unknown) => T["ToolResultMessage"]
    assertPairedToolCalls: (messages: readonly T["ProviderMessage"][], from?: number) => void
    runEventedToolLoop: (state: T["AgentState"], options: T["TurnOptions"]) => Promise<T["AssistantMessage"]>
  }
>
