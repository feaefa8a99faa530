/**
 * What a chapter has to export by name: the types of the dictionary, and these functions and classes, because the tests call them. Every other
 * name, and every sentence, is free.
 */
import type { ChapterId } from "./manifest.ts"

export const CALLED: Readonly<Record<ChapterId, readonly string[]>> = {
  s01: ["runOneTurn"],
  s02: ["ToolRegistry"],
  s03: ["collectAssistantMessage"],
  s04: ["assertPairedToolCalls", "runEventedToolLoop"],
  s05: ["executeToolCall"],
  s06: ["createTurnSnapshot"],
  s07: ["SessionTree"],
  s08: ["ResourceLoader"],
  s09: ["ExtensionRuntime"],
  s10: ["PrintMode", "JsonMode"],
  s11: [],
  s12: ["loadPackage", "installLoadedPackage"],
}
