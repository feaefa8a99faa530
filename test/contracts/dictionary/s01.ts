import type * as s01 from "../../../s01_state/code.ts"
import type { Names } from "../support.ts"

/** Every type that s01 exports. */
export type Types = {
  StopReason: s01.StopReason
  UserMessage: s01.UserMessage
  AssistantMessage: s01.AssistantMessage
  AgentMessage: s01.AgentMessage
  AgentState: s01.AgentState
  ProviderMessage: s01.ProviderMessage
  ProviderInput: s01.ProviderInput
  Provider: s01.Provider
  Output: s01.Output
  TurnOptions: s01.TurnOptions
}

/** The type dictionary at the start. One type speaks of another by its name, so that a fault is reported once. */
export type Dictionary<T extends Names<Types>> = {
  StopReason: "stop" | "error"
  UserMessage: { role: "user"; content: string }
  AssistantMessage: { role: "assistant"; content: string; stopReason: T["StopReason"] }
  AgentMessage: T["UserMessage"] | T["AssistantMessage"]
  AgentState: { messages: T["AgentMessage"][] }
  ProviderMessage: { role: "user"; content: string } | { role: "assistant"; content: string }
  ProviderInput: { messages: T["ProviderMessage"][] }
  Provider: { complete(input: T["ProviderInput"]): Promise<T["AssistantMessage"]> }
  Output: { log(line: string): void }
  TurnOptions: { provider: T["Provider"]; output: T["Output"] }
}

/** How the functions of the turn chain are called. */
export type Functions<T extends Names<Types>> = {
  describeError: (error: unknown) => string
  findProblem: (content: string, stopReason: T["StopReason"]) => string | undefined
  failMessage: (content: string, error: unknown) => T["AssistantMessage"]
  finishMessage: (content: string, stopReason: T["StopReason"]) => T["AssistantMessage"]
  toProviderMessage: (message: T["AgentMessage"]) => T["ProviderMessage"]
  buildProviderInput: (state: T["AgentState"]) => T["ProviderInput"]
  requestMessage: (provider: T["Provider"], input: T["ProviderInput"]) => Promise<T["AssistantMessage"]>
  recordMessage: (state: T["AgentState"], message: T["AgentMessage"], options: T["TurnOptions"]) => void
  runOneTurn: (state: T["AgentState"], prompt: string, options: T["TurnOptions"]) => Promise<T["AssistantMessage"]>
}
