import type * as s02 from "../../../s02_tools/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s01.ts"

/** Every type that s02 exports. */
export type Types = {
  StopReason: s02.StopReason
  UserMessage: s02.UserMessage
  AssistantMessage: s02.AssistantMessage
  AgentMessage: s02.AgentMessage
  AgentState: s02.AgentState
  ProviderMessage: s02.ProviderMessage
  ProviderInput: s02.ProviderInput
  Provider: s02.Provider
  Output: s02.Output
  TurnOptions: s02.TurnOptions
  ToolSpec: s02.ToolSpec
  ToolHandler: s02.ToolHandler
  Tool: s02.Tool
  ToolRegistry: s02.ToolRegistry
}

/** What s02 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    ProviderInput: Grown<Before<T>["ProviderInput"], { tools: T["ToolSpec"][] }>
    TurnOptions: Grown<Before<T>["TurnOptions"], { registry?: T["ToolRegistry"] }>
    ToolSpec: { name: string; description: string; input: Record<string, string> }
    ToolHandler: (input: Record<string, string>) => string
    Tool: { spec: T["ToolSpec"]; handler: T["ToolHandler"] }
    ToolRegistry: { register(tool: T["Tool"]): void; getSpecs(): T["ToolSpec"][] }
  }
>

/** The functions of the turn chain that s02 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    buildProviderInput: (state: T["AgentState"], options?: T["TurnOptions"]) => T["ProviderInput"]
    refuse: (value: unknown, source: string, expected: string) => never
    expectString: (value: unknown, source: string) => string
    sealTool: (tool: T["Tool"]) => T["Tool"]
    ToolRegistry: new () => T["ToolRegistry"]
  }
>
