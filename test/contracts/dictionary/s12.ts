import type * as s12 from "../../../s12_packages/code.ts"
import type { Grown, Names } from "../support.ts"
import type { Dictionary as Before, Functions as FunctionsBefore } from "./s11.ts"

/** Every type that s12 exports. */
export type Types = {
  StopReason: s12.StopReason
  UserMessage: s12.UserMessage
  AssistantMessage: s12.AssistantMessage
  AgentMessage: s12.AgentMessage
  AgentState: s12.AgentState
  ProviderMessage: s12.ProviderMessage
  ProviderInput: s12.ProviderInput
  Provider: s12.Provider
  Output: s12.Output
  TurnOptions: s12.TurnOptions
  ToolSpec: s12.ToolSpec
  ToolHandler: s12.ToolHandler
  Tool: s12.Tool
  ToolRegistry: s12.ToolRegistry
  ProviderEvent: s12.ProviderEvent
  ToolCall: s12.ToolCall
  ToolResultMessage: s12.ToolResultMessage
  ToolExecutor: s12.ToolExecutor
  BeforeToolCallResult: s12.BeforeToolCallResult
  ToolHooks: s12.ToolHooks
  TurnSnapshot: s12.TurnSnapshot
  SessionEntry: s12.SessionEntry
  SessionNode: s12.SessionNode
  SessionTree: s12.SessionTree
  ContextResource: s12.ContextResource
  ResourceLoader: s12.ResourceLoader
  Command: s12.Command
  RuntimeEvent: s12.RuntimeEvent
  EventHandler: s12.EventHandler
  ExtensionAPI: s12.ExtensionAPI
  Extension: s12.Extension
  ExtensionRuntime: s12.ExtensionRuntime
  RuntimeMode: s12.RuntimeMode
  PrintMode: s12.PrintMode
  JsonMode: s12.JsonMode
  ProjectTrust: s12.ProjectTrust
  PackageManifest: s12.PackageManifest
  Package: s12.Package
  LoadedPackage: s12.LoadedPackage
}

/** What s12 adds to the type dictionary, and what grows in it. */
export type Dictionary<T extends Names<Types>> = Grown<
  Before<T>,
  {
    ResourceLoader: Grown<Before<T>["ResourceLoader"], { add(resources: T["ContextResource"][]): void }>
    PackageManifest: { name: string; tools: string[]; commands: string[]; resources: string[] }
    Package: { manifest: T["PackageManifest"]; contents: Record<string, string> }
    LoadedPackage: {
      name: string
      tools: Record<string, string>
      commands: Record<string, string>
      resources: Record<string, string>
    }
  }
>

/** The functions of the turn chain that s12 adds, and those that it welds to another shape. */
export type Functions<T extends Names<Types>> = Grown<
  FunctionsBefore<T>,
  {
    pick: (contents: Record<string, string>, names: string[]) => Record<string, string>
    loadPackage: (pkg: T["Package"]) => T["LoadedPackage"]
    installLoadedPackage: (
      loaded: T["LoadedPackage"],
      extensions: T["ExtensionRuntime"],
      loader: T["ResourceLoader"],
      trust?: T["ProjectTrust"],
    ) => boolean
  }
>
