/** For each step of each chapter a fault in the course's chapter that fails at exactly this step: what stands there, and what is put in its place. */
import type { ChapterId } from "../../scripts/course/manifest.ts"

/** A promise of s01 that every later chapter has to keep. */
const EMPTY: Fault = ['  if (content.trim() === "") return "the provider sent an empty message"\n', ""]

/** What stands in a chapter exactly once, and what is put there. */
export type Fault = readonly [from: string, to: string]

/** The faults, in the order of the steps. */
export const STEP_FAULTS: Readonly<Record<ChapterId, readonly Fault[]>> = {
  s01: [
    ['  if (message.role !== "user") options.output.log', "  options.output.log"],
    ['  if (stopReason !== "stop") return', '  if (stopReason === "error") return'],
    [
      'return Object.freeze({ role: "assistant", content: content.toWellFormed(), stopReason })',
      'return { role: "assistant", content, stopReason }',
    ],
    ["  state.messages.push(Object.freeze(message))", "  state.messages.push(message)"],
  ],
  s02: [
    ["    if (this.#tools.has(sealed.spec.name)) throw", "    if (false) throw"],
    ["tools: options?.registry?.getSpecs() ?? []", "tools: options?.registry?.getSpecs().reverse() ?? []"],
    EMPTY,
  ],
  s03: [
    ["    return failMessage(content, error)", "    throw error"],
    [
      'await provider.stream(input))\n  } catch (error) {\n    return failMessage("", error)',
      "await provider.stream(input))\n  } catch (error) {\n    throw error",
    ],
    ['expectString(event.text, "a text_delta")', "event.text"],
    EMPTY,
  ],
  s04: [
    ["/^\\s*$|^", "/^"],
    ["    if (run === undefined) throw", '    if (run === undefined) return ""\n    if (run === undefined) throw'],
    ["addToolCall(calls, event.call)", "calls.push(event.call)"],
    ["    if (due.length > 1) assertUnique", "    if (due.length > 9) assertUnique"],
    ["handler({ ...sealToolCall(call).input })", "handler(sealToolCall(call).input)"],
    ["  if (toolCalls.length > 0) return `the message ended", "  if (toolCalls.length > 9) return `the message ended"],
    ["DEFAULT_MAX_TURNS = 8", "DEFAULT_MAX_TURNS = 9"],
    ["      if (reply.toolCallId !== call.id) throw", "      if (false) throw"],
    [
      "guard(() => options.output.log(escapeControls(message.content)))",
      "options.output.log(escapeControls(message.content))",
    ],
    EMPTY,
  ],
  s05: [
    ["    const sealed = sealToolCall(call)\n    assertAllowed", "    const sealed = call\n    assertAllowed"],
    ["      assertAllowed(hooks, call)\n", ""],
    ['if (!result.startsWith("error: ") || text', 'if (result !== "" || text'],
    EMPTY,
  ],
  s06: [
    [
      "  return buildProviderInput(state, options)\n}",
      "  return { ...buildProviderInput(state, options), get messages() { return buildProviderInput(state, options).messages } }\n}",
    ],
    [
      "startToolCalls(message, snapshot.tools, options)",
      "startToolCalls(message, buildProviderInput(state, options).tools, options)",
    ],
    EMPTY,
  ],
  s07: [
    ["parentId: this.leafId, ...sealed })", "parentId: null, ...sealed })"],
    ["    assertPairedToolCalls(this.#pathTo(node))\n", ""],
    [
      "state.messages.currentPath().map(toProviderMessage)",
      "state.messages.allEntries().map(({ id, parentId, ...message }) => toProviderMessage(message as AgentMessage))",
    ],
    ['if (this.#release !== null) throw new Error("a turn', 'if (this.#nodes.size < 0) throw new Error("a turn'],
    EMPTY,
  ],
  s08: [
    ["return this.#resources.map((resource) => ({ ...resource }))", "return this.#resources"],
    ["options?.loader?.load() ?? []", "options?.loader?.load().reverse() ?? []"],
    ['name.replace(/[\\p{C}\\p{Z}]+/gu, " ").trim()', "name.trim()"],
    EMPTY,
  ],
  s09: [
    ["      if (!settingUp) throw", "      if (false) throw"],
    ["this.#commands.get(name)?.run)", 'this.#commands.get(name)?.run ?? (() => ""))'],
    ["    for (const handle of [...this.#handlers]) handle", "    for (const handle of this.#handlers) handle"],
    ['  publish({ type: "done" }, given)\n', ""],
    EMPTY,
  ],
  s10: [
    [
      '      if (event.type !== "message") continue\n',
      '      if (event.type !== "message") { guard(() => this.#output.log("")); continue }\n',
    ],
    ['code.padStart(4, "0")', "code"],
    [
      "  if (options.extensions !== undefined) guard(() => options.extensions?.emit(event))\n  guard(() => (options.mode ?? new PrintMode(options.output)).render([event]))",
      "  guard(() => (options.mode ?? new PrintMode(options.output)).render([event]))\n  if (options.extensions !== undefined) guard(() => options.extensions?.emit(event))",
    ],
    EMPTY,
  ],
  s11: [
    ['    if (trust !== "trusted") return []', '    if (trust === "untrusted") return []'],
    ['    if (trust !== "trusted") return false', '    if (trust === "untrusted") return false'],
    EMPTY,
  ],
  s12: [
    ["resources: pick(texts, resources) }", "resources: pick(texts, tools) }"],
    [".max(64)", ".max(65)"],
    ["this.#resources = [...this.#resources, ...resources", "this.#resources = [...resources"],
    ["  loader.add(texts)\n  return true", "  return true"],
    EMPTY,
  ],
}
