import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { z } from "zod"

// ── s01 State ── one message in, one message out ─────────────────────────────

/** Why an assistant message ended. */
export type StopReason =
  | "stop"
  | "error"
  | "toolUse"

/** What the person said. */
export type UserMessage = {
  role: "user"
  content: string
}

/** What the model said. With `error`, `content` says what went wrong. */
export type AssistantMessage = {
  role: "assistant"
  content: string
  stopReason: StopReason
  toolCalls?: ToolCall[]
}

/** One entry of the history, in our own words: no field of any vendor gets in (I1). */
export type AgentMessage =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage

/** All that outlives a turn. */
export type AgentState = {
  messages: SessionTree
  model: string
}

/** A message as the model gets to see it. */
export type ProviderMessage =
  | { role: "user"; content: string }
  | {
      role: "assistant"
      content: string
      toolCalls?: ToolCall[]
    }
  | { role: "toolResult"; toolCallId: string; content: string }

/** One request to the model. */
export type ProviderInput = {
  messages: ProviderMessage[]
  tools: ToolSpec[]
  systemPrompt: string
}

/** The model, whoever serves it. An implementation keeps its vendor's format to itself (I1). */
export interface Provider {
  stream(input: ProviderInput): AsyncGenerator<ProviderEvent>
}

/** Where the core writes. It never touches a console itself (R7). */
export type Output = { log(line: string): void }

/** What a turn needs besides the state. Later chapters add fields and no parameters. */
export type TurnOptions = {
  provider: Provider
  output: Output
  registry?: ToolRegistry
  maxTurns?: number
  execute?: ToolExecutor
  hooks?: ToolHooks
  loader?: ResourceLoader
  extensions?: ExtensionRuntime
  mode?: RuntimeMode
  trust?: ProjectTrust
}

/** Runs code that the core does not own. What it throws or rejects with goes to `onError`, and no further. */
export function guard(action: () => unknown, onError?: (error: unknown) => void): void {
  try {
    const result = action()
    if (result instanceof Promise) result.catch((error: unknown) => onError?.(error))
  } catch (error) {
    onError?.(error)
  }
}

/** A readable text for anything that can be thrown. Never blank, never throws. */
export function describeError(error: unknown): string {
  try {
    const text = String((error as { message?: unknown } | null | undefined)?.message ?? error ?? "")
    return /^\s*$|^\[object /.test(text) ? "unknown error" : text
  } catch {
    return "unknown error"
  }
}

/** What is wrong with a message that has ended, if anything is. */
export function findProblem(content: string, stopReason: StopReason, toolCalls: ToolCall[]): string | undefined {
  if (toolCalls.length > 0 && stopReason !== "toolUse") return `the message ended with "${stopReason}", not "toolUse"; no call was run`
  if (toolCalls.length === 0 && stopReason === "toolUse") return "the provider announced tool calls and sent none"
  if (toolCalls.length === 0 && content.trim() === "") return "the provider sent an empty message"
  return toolCalls.length > 0 || stopReason === "stop" ? undefined : `the provider ended its message with "${stopReason}"`
}

/** The message to store. A problem makes it an error that says so, behind whatever text had arrived (R4). */
export function finishMessage(
  content: string,
  stopReason: StopReason,
  problem?: string,
  toolCalls: ToolCall[] = [],
): AssistantMessage {
  const repeated = findRepeated(toolCalls.map((call) => call.id))
  if (repeated !== undefined) return finishMessage(content, "error", `${problem ?? "no call was run"}; the call id "${repeated}" repeats`)
  const reason = problem ?? findProblem(content, stopReason, toolCalls)
  const text = content.trim() === "" ? "" : `${content}\n`
  return Object.freeze({
    role: "assistant",
    content: reason === undefined ? content : `${text}error: ${reason}`,
    stopReason: reason === undefined ? stopReason : "error",
    ...(toolCalls.length > 0 && { toolCalls: Object.freeze(toolCalls) as ToolCall[] }),
  })
}

/** Hides from the model what is only ours: the stop reason. */
export function toProviderMessage(message: AgentMessage): ProviderMessage {
  if (message.role !== "assistant") return message
  const { stopReason, ...sent } = message
  return Object.freeze(sent)
}

/** Builds the next request. The model remembers nothing, so each request carries the whole history. */
export function buildProviderInput(state: AgentState, options: TurnOptions): ProviderInput {
  return {
    messages: state.messages.currentPath().map(toProviderMessage),
    tools: options.registry?.getSpecs() ?? [],
    systemPrompt: buildSystemPrompt(options.loader?.load(options.trust) ?? []),
  }
}

/** Asks the model once. Never rejects: a provider that fails gives a message with `error` (R4). */
export async function requestMessage(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  try {
    return await collectAssistantMessage(provider.stream(input))
  } catch (error) {
    return finishMessage("", "error", describeError(error))
  }
}

/** The one door into the history. What went through it is frozen (I5), and all but the person's own words is shown. */
export function recordMessage(state: AgentState, message: AgentMessage, options: TurnOptions): void {
  state.messages.append(message)
  if (message.role === "user") return
  publish({ type: "message", content: message.content }, options)
}

/** One turn: the person's words in, the model's answer out, both kept. A failing provider or output does not make it reject. */
export async function runOneTurn(state: AgentState, userInput: string, options: TurnOptions): Promise<AssistantMessage> {
  checkMaxTurns(options.maxTurns)
  const release = state.messages.acquire()
  recordMessage(state, { role: "user", content: userInput }, options)
  // Copies: whoever puts another tree or registry in place meanwhile does so for the next turn.
  const message = await runEventedToolLoop({ ...state }, { ...options }).finally(release)
  publish({ type: "done" }, options)
  return message
}

// ── s02 Tools ── what the model may ask for ──────────────────────────────────

/** A tool as the model sees it. `input` maps each argument to its description. */
export type ToolSpec = {
  name: string
  description: string
  input: Record<string, string>
}

/** A tool as the machine runs it. Synchronous; it may throw. */
export type ToolHandler = (input: Record<string, string>) => string

/** Both halves of a tool: what the model reads, and what the program runs. */
export type Tool = {
  spec: ToolSpec
  handler: ToolHandler
}

/** A frozen copy: what the owner does to the original afterwards changes nothing here. Throws for what is no tool. */
export function sealTool(tool: Tool): Tool {
  if (typeof tool?.spec?.name !== "string") throw new TypeError("expected a tool with a spec that has a name")
  if (typeof tool.handler !== "function") throw new TypeError(`tool "${tool.spec.name}" has no handler, expected a function`)
  const { name, description, input } = tool.spec
  const spec = Object.freeze({ name, description, input: Object.freeze({ ...input }) })
  return Object.freeze({ spec, handler: tool.handler.bind(tool) })
}

/** The tools of a session, by name, in the order of registration. */
export class ToolRegistry {
  #tools = new Map<string, Tool>()

  /** Adds a tool; any string is a name. Throws when the name is taken, and changes nothing then. */
  register(tool: Tool): void {
    const sealed = sealTool(tool)
    if (this.#tools.has(sealed.spec.name)) throw new Error(`tool "${sealed.spec.name}" is already registered`)
    this.#tools.set(sealed.spec.name, sealed)
  }

  /** What the model gets to see. */
  getSpecs(): ToolSpec[] {
    return [...this.#tools.values()].map((tool) => tool.spec)
  }

  /** Runs a tool and gives its text. Never throws: a failure is a text too (R4). */
  run(call: ToolCall): string {
    try {
      const tool = this.#tools.get(call.name)
      if (tool === undefined) throw new Error(`unknown tool "${call.name}"`)
      return expectString(tool.handler({ ...call.input }), `tool "${call.name}"`)
    } catch (error) {
      return errorResult(call, error).content
    }
  }
}

// ── s03 Stream ── the answer arrives in pieces ───────────────────────────────

/** What a provider says while it answers. `message_end` comes last; without it the message is not complete. */
export type ProviderEvent =
  | { type: "message_start" }
  | { type: "text_delta"; text: string }
  | { type: "message_end"; stopReason: StopReason }
  | { type: "tool_call"; call: ToolCall }

/** Folds a stream into one message. One that throws or stops short gives an error that keeps the text so far; never rejects. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  let content = ""
  const calls: ToolCall[] = []
  try {
    for await (const event of events) {
      if (event.type === "text_delta") content += event.text
      if (event.type === "tool_call") calls.push(sealToolCall(event.call))
      if (event.type === "message_end") return finishMessage(content, event.stopReason, undefined, calls)
    }
  } catch (error) {
    return finishMessage(content, "error", describeError(error), calls)
  }
  return finishMessage(content, "error", "the stream ended before its message did", calls)
}

// ── s04 Tool loop ── the model asks, the machine acts ────────────────────────

/** The model's request to run a tool. `id` is unique within its message. */
export type ToolCall = {
  id: string
  name: string
  input: Record<string, string>
}

/** The answer to one call. A failure reads `error: <message>`. */
export type ToolResultMessage = {
  role: "toolResult"
  toolCallId: string
  content: string
}

/** Executes one call, now or later. Whatever it does, the loop records one result per call, in call order. */
export type ToolExecutor = (call: ToolCall) => ToolResultMessage | Promise<ToolResultMessage>

/** How many requests one turn may make unless told otherwise (R5). */
export const DEFAULT_MAX_TURNS = 8

/** A frozen copy with our fields only (I1): a call decided on, run and stored is the same call. Throws for what is no text. */
export function sealToolCall(call: ToolCall): ToolCall {
  const { id, name, input } = call
  for (const value of [id, name, ...Object.values(input ?? {})]) expectString(value, "a tool call: the provider")
  return Object.freeze({ id, name, input: Object.freeze({ ...input }) })
}

/** Pairs a content with the call that it answers. */
export function toolResult(call: ToolCall, content: string): ToolResultMessage {
  return Object.freeze({ role: "toolResult", toolCallId: call.id, content })
}

/** A failure as an answer that the model can read and react to (R4). */
export function errorResult(call: ToolCall, error: unknown): ToolResultMessage {
  return toolResult(call, `error: ${describeError(error)}`)
}

/** Passes a string through and throws for all else: tools come from outside, and nobody checks types while the program runs. */
export function expectString(value: unknown, source: string): string {
  if (typeof value === "string") return value
  // Should it be a promise that rejects later, somebody has to catch that.
  guard(() => value)
  const kind = value instanceof Promise ? "a promise" : value === null ? "null" : typeof value
  throw new Error(`${source} returned ${kind}, expected a string`)
}

/** The limit to use. Throws for anything that is not a positive integer. */
export function checkMaxTurns(maxTurns: number = DEFAULT_MAX_TURNS): number {
  if (Number.isInteger(maxTurns) && maxTurns > 0) return maxTurns
  throw new RangeError(`maxTurns must be a positive integer, got ${String(maxTurns)}`)
}

/** The first id that occurs twice, if any. */
export function findRepeated(ids: readonly string[]): string | undefined {
  return ids.find((id, index) => ids.indexOf(id) < index)
}

/**
 * Throws unless directly behind each message with calls stand exactly their results, in call order (I2, I4). Runs before every
 * request, so that a broken history fails here, by name, and not far away at the provider. What stands before `from` was checked.
 */
export function assertPairedToolCalls(messages: readonly ProviderMessage[], from = 0): void {
  const show = (id?: string): string => (id === undefined ? "no tool result" : `the result of "${id}"`)
  let due: string[] = []
  for (let index = from; index <= messages.length; index++) {
    const message = messages[index]
    const expected = due.shift()
    const found = message?.role === "toolResult" ? message.toolCallId : undefined
    if (found !== expected) throw new Error(`messages[${index}]: expected ${show(expected)}, got ${show(found)}`)
    if (message?.role !== "assistant") continue
    due = (message.toolCalls ?? []).map((call) => call.id)
    const repeated = findRepeated(due)
    if (repeated !== undefined) throw new Error(`messages[${index}]: the call id "${repeated}" repeats`)
  }
}

/** Starts the calls of a message together. One result each, whatever the executor does (I2), in call order, whoever finishes first (I4). */
export function startToolCalls(message: AssistantMessage, input: ProviderInput, options: TurnOptions): Promise<ToolResultMessage>[] {
  const registry = options.registry ?? new ToolRegistry()
  const execute = options.execute ?? ((call) => executeToolCall(registry, options.hooks ?? {}, call))
  return (message.toolCalls ?? []).map(async (call) => {
    try {
      // Only a complete message may act (I3), and only with the tools it was shown.
      if (message.stopReason !== "toolUse") throw new Error("not run, because its message is incomplete")
      if (!input.tools.some((spec) => spec.name === call.name)) throw new Error(`unknown tool "${call.name}"`)
      const { toolCallId, content } = await execute(call)
      const text = expectString(content, "the executor")
      if (toolCallId !== call.id) throw new Error(`the executor answered "${toolCallId}" instead of "${call.id}"`)
      return toolResult(call, text)
    } catch (error) {
      return errorResult(call, error)
    }
  })
}

/** Requests and runs calls, until the model asks for no more or the limit is reached (R5). Returns the last message. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  const maxTurns = checkMaxTurns(options.maxTurns)
  const snapshot = createTurnSnapshot(state, options)
  const produced: ProviderMessage[] = []
  let checked = 0
  for (let turn = 0; turn < maxTurns; turn++) {
    const input = { ...snapshot, messages: snapshot.messages.concat(produced) }
    assertPairedToolCalls(input.messages, checked)
    checked = input.messages.length
    // A copy: whoever is handed the request has no say in which tools may run.
    const message = await requestMessage(options.provider, { ...input, tools: [...input.tools] })
    recordMessage(state, message, options)
    produced.push(toProviderMessage(message))
    for (const pending of startToolCalls(message, input, options)) {
      const result = await pending
      recordMessage(state, result, options)
      produced.push(toProviderMessage(result))
    }
    if (message.stopReason !== "toolUse") return message
  }
  const closing = finishMessage("max turns reached", "stop")
  recordMessage(state, closing, options)
  return closing
}

// ── s05 Hooks ── a last word before and after a tool ─────────────────────────

/** What a hook decides about a call. */
export type BeforeToolCallResult =
  | { type: "allow" }
  | { type: "block"; reason: string }

/**
 * `beforeToolCall` decides on exactly the arguments that will run; `afterToolCall` may rewrite what the model reads. They belong to
 * `executeToolCall`: a caller who brings an `execute` of his own answers for the hooks too.
 */
export type ToolHooks = {
  beforeToolCall?: (call: ToolCall) => BeforeToolCallResult
  afterToolCall?: (call: ToolCall, result: string) => string
}

/** Asks the before-hook. Fails closed: an answer that is not a decision is an error, and the tool does not run. */
export function decideToolCall(hooks: ToolHooks, call: ToolCall): BeforeToolCallResult {
  if (hooks.beforeToolCall === undefined) return { type: "allow" }
  const decision: BeforeToolCallResult | undefined = hooks.beforeToolCall(call)
  if (decision?.type === "allow" || decision?.type === "block") return decision
  // Should it be a promise that rejects later, somebody has to catch that.
  guard(() => decision)
  throw new Error('beforeToolCall gave no decision, expected { type: "allow" } or { type: "block", reason }')
}

/** Asks the after-hook. No answer means no change, and an error stays an error. */
export function reviseToolResult(hooks: ToolHooks, call: ToolCall, result: string): string {
  const revised: unknown = hooks.afterToolCall?.(call, result)
  if (revised === undefined) return result
  const text = expectString(revised, "afterToolCall")
  if (!result.startsWith("error: ") || text.startsWith("error: ")) return text
  return text.trim() === "" ? result : `error: ${text}`
}

/** Before-hook, tool, after-hook; whatever fails on the way is the result (R4). Never throws. */
export function executeToolCall(registry: ToolRegistry, hooks: ToolHooks, call: ToolCall): ToolResultMessage {
  const sealed = sealToolCall(call)
  try {
    const decision = decideToolCall(hooks, sealed)
    if (decision.type === "block") return errorResult(sealed, `blocked: ${decision.reason}`)
    return toolResult(sealed, reviseToolResult(hooks, sealed, registry.run(sealed)))
  } catch (error) {
    return errorResult(sealed, error)
  }
}

// ── s06 Snapshot ── what holds for a whole turn ──────────────────────────────

/** What a turn has fixed at its start. The model's name is not in it: that outlives the turn and stays in the state. */
export type TurnSnapshot = {
  messages: ProviderMessage[]
  tools: ToolSpec[]
  systemPrompt: string
}

/** Takes the snapshot. It has the shape of a request because it is one: the first of the turn. */
export function createTurnSnapshot(state: AgentState, options: TurnOptions): TurnSnapshot {
  return buildProviderInput(state, options)
}

// ── s07 Session ── a history that can branch ─────────────────────────────────

/** A message and its place in the tree. `parentId` is null for a first message. */
export type SessionEntry = AgentMessage & {
  id: string
  parentId: string | null
}

/** A place in the tree. `open` counts the calls that still wait for their result here. */
export type SessionNode = {
  entry: SessionEntry
  message: AgentMessage
  parent: SessionNode | null
  open: number
}

/** A frozen copy with our fields only (I1): what its owner does to the original changes no history (I5). */
export function sealMessage(message: AgentMessage): AgentMessage {
  const { role, content } = message
  if (role === "user") return Object.freeze({ role, content })
  if (role === "toolResult") return Object.freeze({ role, toolCallId: message.toolCallId, content })
  const { stopReason, toolCalls } = message
  if (!toolCalls?.length) return Object.freeze({ role, content, stopReason })
  return Object.freeze({ role, content, stopReason, toolCalls: Object.freeze(toolCalls.map(sealToolCall)) as ToolCall[] })
}

/** A history that only grows (I5): no entry changes or goes. To go back is to stand elsewhere and grow from there. */
export class SessionTree {
  #nodes = new Map<string, SessionNode>()
  #leaf: SessionNode | null = null
  #busy = false

  /** Where the next message will hang; null is before the first. */
  get leafId(): string | null {
    return this.#leaf?.entry.id ?? null
  }

  /** Adds a message below the leaf, under a fresh id, and stands on it. */
  append(message: AgentMessage): SessionEntry {
    const parent = this.#leaf
    const sealed = sealMessage(message)
    const entry = Object.freeze({ id: `entry_${this.#nodes.size + 1}`, parentId: this.leafId, ...sealed })
    const waiting = sealed.role === "toolResult" ? Math.max(0, (parent?.open ?? 0) - 1) : 0
    const open = sealed.role === "assistant" ? (sealed.toolCalls?.length ?? 0) : waiting
    this.#leaf = { entry, message: sealed, parent, open }
    this.#nodes.set(entry.id, this.#leaf)
    return entry
  }

  /** Stands on an entry; null is before the first. Throws and changes nothing during a turn, and where calls would lose results (I2). */
  moveTo(id: string | null): void {
    if (this.#busy) throw new Error("cannot move while a turn is running: wait until it has ended")
    const node = id === null ? null : this.#nodes.get(id)
    if (node === undefined) throw new Error(`cannot move to "${id}": no entry has this id`)
    if (node !== null && node.open > 0) throw new Error(`cannot move to "${id}": tool results are still due there: ${node.open}`)
    this.#leaf = node
  }

  /** The messages from the first to the leaf: what the model gets to see. */
  currentPath(): AgentMessage[] {
    const path: AgentMessage[] = []
    for (let node = this.#leaf; node !== null; node = node.parent) path.push(node.message)
    return path.reverse()
  }

  /** Every entry of every branch, in the order of their arrival. */
  allEntries(): SessionEntry[] {
    return [...this.#nodes.values()].map((node) => node.entry)
  }

  /** Reserves the tree for one turn and gives back the release. Throws when a turn is running already, and where results are due (I2). */
  acquire(): () => void {
    if (this.#busy) throw new Error("a turn is already running on this session: wait until it has ended")
    if (this.#leaf !== null && this.#leaf.open > 0) throw new Error(`a turn cannot start here: tool results are still due: ${this.#leaf.open}`)
    this.#busy = true
    return () => {
      this.#busy = false
    }
  }
}

// ── s08 Resources ── what the project wants the model to know ────────────────

/** A text that the model reads. It is never run (I6). */
export type ContextResource = {
  kind: "agents" | "skill" | "prompt"
  name: string
  content: string
}

/** How many characters of one resource reach the model. */
export const MAX_RESOURCE_CHARS = 20_000

/** Holds the texts of a project and hands out copies of them. */
export class ResourceLoader {
  constructor(private resources: ContextResource[]) {}

  /** Copies of the texts, in their order; none unless the project is trusted (I6). */
  load(trust?: ProjectTrust): ContextResource[] {
    if (trust !== "trusted") return []
    return this.resources.map((resource) => ({ ...resource }))
  }

  /** Adds resources behind those that are there. */
  add(resources: ContextResource[]): void {
    this.resources = [...this.resources, ...resources]
  }
}

/** The text in whole characters up to the limit, and a note where it was cut. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit
  return `${text.slice(0, end)}\n[cut: ${end} of ${text.length} characters]`
}

/**
 * Puts resources into the system prompt, by kind, then in the order given. Headings start a line and contents are indented, so that
 * no content can pass for a heading. Without resources the prompt is empty.
 */
export function buildSystemPrompt(resources: ContextResource[]): string {
  const kinds: ContextResource["kind"][] = ["agents", "skill", "prompt"]
  const ordered = kinds.flatMap((kind) => resources.filter((resource) => resource.kind === kind))
  const sections = ordered.map(({ kind, name, content }) => {
    const heading = cutText(name.replace(/[\p{C}\p{Z}]+/gu, " ").trim(), 100).replaceAll("\n", " ")
    const lines = cutText(content, MAX_RESOURCE_CHARS).split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/)
    return [`# ${kind}: ${heading}`, ...lines.map((line) => `  ${line}`)].join("\n")
  })
  return sections.join("\n\n")
}

// ── s09 Extensions ── code from outside, by a door of its own ────────────────

/** Something the person can run by name, without the model. */
export type Command = {
  name: string
  run: () => string
}

/** What the loop reports while it works. Not to be confused with `ProviderEvent`, which comes from the model. */
export type RuntimeEvent =
  | { type: "message"; content: string }
  | { type: "done" }

/** All that an extension is given. It works during the setup of the extension only; it is no sandbox. */
export type ExtensionAPI = {
  on(type: RuntimeEvent["type"], handler: (event: RuntimeEvent) => void): void
  registerTool(tool: Tool): void
  registerCommand(command: Command): void
}

/** Code that runs, and so has to be trusted (I6). Failures are reported under the name of the function. */
export type Extension = (api: ExtensionAPI) => void

/** Throws when a name occurs twice. */
export function assertFreeNames(kind: string, names: string[]): void {
  const clash = findRepeated(names)
  if (clash !== undefined) throw new Error(`${kind} "${clash}" is already registered`)
}

/** Keeps extensions apart from the core and from each other. Their tools go into the one registry and through the same hooks. */
export class ExtensionRuntime {
  #commands = new Map<string, Command>()
  #handlers: ((event: RuntimeEvent) => void)[] = []

  /** Failures of extensions are written to `output`. */
  constructor(
    private registry: ToolRegistry,
    private output: Output,
  ) {}

  /** All or nothing: an extension that throws or clashes adds nothing and is reported by name. Says whether it was added. */
  use(extension: Extension): boolean {
    const tools: Tool[] = []
    const commands: Command[] = []
    const handlers: ((event: RuntimeEvent) => void)[] = []
    const owner = extension?.name || "anonymous"
    const report = (error: unknown): void => guard(() => this.output.log(`extension "${owner}" failed: ${describeError(error)}`))
    const add = <T>(list: T[], item: T): void => {
      if (Object.isFrozen(list)) throw new Error("an extension registers during its setup only")
      list.push(item)
    }
    try {
      const result: unknown = extension({
        on: (type, handle) => add(handlers, (event) => guard(() => event.type === type && handle(event), report)),
        registerTool: (tool) => add(tools, sealTool(tool)),
        registerCommand: (command) => add(commands, { name: command.name, run: command.run.bind(command) }),
      })
      // Should it be a promise that rejects later, somebody has to catch that.
      guard(() => result)
      if (result instanceof Promise) throw new Error("its setup is asynchronous, expected a plain function")
      assertFreeNames("tool", [...this.registry.getSpecs(), ...tools.map((tool) => tool.spec)].map((spec) => spec.name))
      assertFreeNames("command", [...this.getCommands(), ...commands.map((command) => command.name)])
    } catch (error) {
      report(error)
      return false
    } finally {
      for (const list of [tools, commands, handlers]) Object.freeze(list)
    }
    for (const tool of tools) this.registry.register(tool)
    for (const command of commands) this.#commands.set(command.name, command)
    this.#handlers.push(...handlers)
    return true
  }

  /** The door for code of a project. Until the project is trusted, the code is not even fetched (I6). */
  async useProject(fetchExtension: () => Extension | Promise<Extension>, trust?: ProjectTrust): Promise<boolean> {
    if (trust !== "trusted") return false
    // A failed fetch becomes an extension that fails, so that `use` reports it like any other.
    const failed = (error: unknown): Extension => {
      return function project() {
        throw error
      }
    }
    return this.use(await Promise.resolve().then(fetchExtension).catch(failed))
  }

  /** Names of the commands, in the order of registration. */
  getCommands(): string[] {
    return [...this.#commands.keys()]
  }

  /** Runs a command and gives its text; a failure is a text too (R4). */
  runCommand(name: string): string {
    try {
      const command = this.#commands.get(name)
      if (command === undefined) throw new Error(`unknown command "${name}"`)
      return expectString(command.run(), `command "${name}"`)
    } catch (error) {
      return `error: ${describeError(error)}`
    }
  }

  /** Tells the handlers, in the order of registration. One that fails is reported and harms nobody. */
  emit(event: RuntimeEvent): void {
    for (const handle of this.#handlers) handle(event)
  }
}

/** Sends what happens in the loop to whoever listens. Never throws. */
export function publish(event: RuntimeEvent, options: TurnOptions): void {
  Object.freeze(event)
  options.extensions?.emit(event)
  const mode = options.mode ?? new PrintMode(options.output)
  guard(() => mode.render([event]))
}

// ── s10 Modes ── one loop, many faces ────────────────────────────────────────

/** How events are shown. Modes write through an `Output`, so the core stays free of consoles (R7). */
export type RuntimeMode = { render(events: RuntimeEvent[]): void }

/** Makes control characters visible, so that no text can drive the terminal that shows it. */
export function escapeControls(text: string): string {
  return text.replace(/(?!\t)\p{Cc}|[\u2028-\u202E\u2066-\u2069]/gu, (char) => `\\u{${char.charCodeAt(0).toString(16)}}`)
}

/** For people: the text of each message, line by line. */
export class PrintMode implements RuntimeMode {
  constructor(private output: Output) {}

  render(events: RuntimeEvent[]): void {
    for (const event of events) {
      const lines = event.type === "message" ? event.content.split(/\r?\n/) : []
      for (const line of lines) guard(() => this.output.log(escapeControls(line)))
    }
  }
}

/** For programs: one JSON object per line and nothing else. No reader can find a line end inside one. */
export class JsonMode implements RuntimeMode {
  constructor(private output: Output) {}

  render(events: RuntimeEvent[]): void {
    for (const event of events) {
      const line = JSON.stringify(event).replace(/[\u0085\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
      guard(() => this.output.log(line))
    }
  }
}

// ── s11 Trust ── whose project is this? ──────────────────────────────────────

/** What the person decided about a project; undecided is untrusted. It rules what is loaded, not what may be done (R6). */
export type ProjectTrust =
  | "trusted"
  | "untrusted"

// ── s12 Packages ── tools, commands and texts to pass on ─────────────────────

/** What a package says it holds: names of its contents. */
export type PackageManifest = {
  name: string
  tools: string[]
  commands: string[]
  resources: string[]
}

/** A package as it arrives: from anywhere, so not to be believed. */
export type Package = {
  manifest: PackageManifest
  contents: Record<string, string>
}

/** A package that has been checked: every name has its text. */
export type LoadedPackage = {
  name: string
  tools: Record<string, string>
  commands: Record<string, string>
  resources: Record<string, string>
}

/** A plain name: a letter, then letters, digits, dashes, underscores and single dots. No path can be written in it. */
export const packageName: z.ZodType<string> = z.string().max(64).regex(/^[a-z]([.]?[a-z0-9_-])*$/i, "expected a plain name")

/** The names of one kind of contents. */
export const packageNames: z.ZodType<string[]> = z.array(packageName)

/** The shape of a package. Unknown fields are refused, and so are names without a text and texts without a name. */
export const packageSchema: z.ZodType<Package> = z
  .strictObject({
    manifest: z.strictObject({ name: packageName, tools: packageNames, commands: packageNames, resources: packageNames }),
    contents: z.custom<Record<string, string>>((value) => typeof value === "object" && value !== null, "expected texts by name"),
  })
  .superRefine((pkg, context) => {
    for (const name of findMismatches(pkg)) context.addIssue(`"${name}" must be listed once and have a text`)
  })

/** Names that are not listed exactly once, or whose text is not there. */
export function findMismatches({ manifest, contents }: Package): string[] {
  const listed = [...manifest.tools, ...manifest.commands, ...manifest.resources]
  const names = new Set([...listed, ...Object.keys(contents)])
  const isText = (name: string): boolean => Object.hasOwn(contents, name) && typeof contents[name] === "string"
  return [...names].filter((name) => !isText(name) || listed.filter((other) => other === name).length !== 1)
}

/** The named contents, in the order of the names. */
export function pick(contents: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, contents[name] ?? ""]))
}

/** Checks a package and sorts its contents. Throws with every reason found when any part is wrong: half a package is none. */
export function loadPackage(pkg: Package): LoadedPackage {
  const parsed = packageSchema.safeParse(pkg)
  if (!parsed.success) throw new Error(`package refused:\n${z.prettifyError(parsed.error)}`)
  const { manifest, contents } = parsed.data
  return {
    name: manifest.name,
    tools: pick(contents, manifest.tools),
    commands: pick(contents, manifest.commands),
    resources: pick(contents, manifest.resources),
  }
}

/**
 * Brings a package in through the two doors (I6): tools and commands as an extension, texts as resources. Contents are handed out as
 * text and never evaluated. An untrusted project installs nothing. Says whether it was installed; a clash of tools or commands is reported.
 */
export function installLoadedPackage(
  loaded: LoadedPackage,
  extensions: ExtensionRuntime,
  loader: ResourceLoader,
  trust?: ProjectTrust,
): boolean {
  if (trust !== "trusted") return false
  const extension: Extension = (api) => {
    for (const [name, text] of Object.entries(loaded.tools)) {
      api.registerTool({ spec: { name, description: `from package ${loaded.name}`, input: {} }, handler: () => text })
    }
    for (const [name, text] of Object.entries(loaded.commands)) api.registerCommand({ name, run: () => text })
  }
  Object.defineProperty(extension, "name", { value: loaded.name })
  if (!extensions.use(extension)) return false
  loader.add(Object.entries(loaded.resources).map(([name, content]) => ({ kind: "skill", name, content })))
  return true
}

// ── Demo ── tools, a scripted provider and main() ────────────────────────────

const projectFolder = fs.realpathSync(path.dirname(path.dirname(fileURLToPath(import.meta.url))))

/** A file or folder of this project; the model gets no further. */
function resolveInside(name: string): string {
  const target = path.resolve(projectFolder, name)
  const inside = path.relative(projectFolder, fs.existsSync(target) ? fs.realpathSync(target) : target)
  if (inside.split(path.sep)[0] === ".." || path.isAbsolute(inside)) throw new Error(`${name} is outside of this project`)
  if (!fs.existsSync(target)) throw new Error(`${name} does not exist`)
  return target
}

const readFile: Tool = {
  spec: { name: "read_file", description: "Reads a text file of this project.", input: { path: "path below the project" } },
  handler: ({ path: name = "" }) => {
    const target = resolveInside(name)
    if (fs.statSync(target).isDirectory()) throw new Error(`${name} is a folder, list it instead`)
    return fs.readFileSync(target, "utf8")
  },
}

const listFiles: Tool = {
  spec: { name: "list_files", description: "Lists a folder of this project.", input: { path: "path below the project" } },
  handler: ({ path: name = "." }) => {
    const target = resolveInside(name)
    if (!fs.statSync(target).isDirectory()) throw new Error(`${name} is a file, read it instead`)
    return fs.readdirSync(target).sort().join("\n")
  },
}

/** Keeps secrets out of the model's reach and long texts out of its memory. */
const hooks: ToolHooks = {
  beforeToolCall: (call) =>
    /secret/i.test(call.input.path ?? "") ? { type: "block", reason: "secrets are not read" } : { type: "allow" },
  afterToolCall: (_call, result) => {
    const lines = result.trimEnd().split(/\r?\n/)
    return lines.length < 4 ? result : [...lines.slice(0, 2), `[${lines.length - 2} more lines]`].join("\n")
  },
}

/** What this project wants the model to know. */
const resources: ContextResource[] = [
  { kind: "skill", name: "summaries", content: "Say how a text begins.\nNever retell it." },
  { kind: "agents", name: "AGENTS.md", content: "Answer in one line." },
]

/** An extension: a tool for the model, a command for the person, an ear on the loop. */
function wordCounter(api: ExtensionAPI): void {
  let messages = 0
  api.on("message", () => messages++)
  api.registerCommand({ name: "heard", run: () => `messages so far: ${messages}` })
  api.registerTool({
    spec: { name: "count_words", description: "Counts the words of a text.", input: { text: "any text" } },
    handler: ({ text = "" }) => `words: ${text.split(/\s+/).length}`,
  })
}

/** A package, as it could have come from anywhere. */
const greetings: Package = {
  manifest: { name: "greetings", tools: ["greet"], commands: ["motto"], resources: ["politeness"] },
  contents: { greet: "Hello from a package.", motto: "Small parts, well joined.", politeness: "Greet before you answer." },
}

/** What the scripted model understands: a verb, the tool it stands for, and the argument that the words behind it become. */
const VERBS = new Map([
  ["read", ["read_file", "path"]],
  ["list", ["list_files", "path"]],
  ["count", ["count_words", "text"]],
  ["greet", ["greet", "text"]],
])

const HELP = `I understand ${[...VERBS].map(([verb, [, argument]]) => `"${verb} ${argument?.toUpperCase()}"`).join(", ")}, "rules"; "and" joins arguments, "then" joins steps.`

/** The calls that one step of a prompt asks for; none when it is not understood. */
function planCalls(step: string, id: string): ToolCall[] {
  const [, verb = "", words = ""] = /^\s*(\w+)\s+(.+)$/.exec(step) ?? []
  const [name, argument] = VERBS.get(verb.toLowerCase()) ?? []
  if (name === undefined || argument === undefined) return []
  return words.split(/\s+and\s+/).map((value, index) => ({ id: `${id}_${index + 1}`, name, input: { [argument]: value } }))
}

/** What the scripted model says when the steps are done: how each result begins. */
function summarize(turn: ProviderMessage[]): string {
  const calls = turn.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
  const results = turn.filter((message) => message.role === "toolResult")
  const lines = results.map(({ content }, index) => `${Object.values(calls[index]?.input ?? {})}: ${content.split(/\r?\n/)[0]}`)
  return `Done. ${lines.join("; ")}`
}

/** A model that follows a script: one step of the prompt per request, then a summary. */
const provider: Provider = {
  async *stream({ messages, systemPrompt }) {
    const turn = messages.slice(messages.findLastIndex((message) => message.role === "user"))
    const steps = (turn[0]?.content ?? "").split(/\s+then\s+/)
    const step = turn.filter((message) => message.role === "assistant").length
    const calls = planCalls(steps[step] ?? "", `call_${messages.length}`)
    const plan = calls.map((call) => `${call.name}(${Object.values(call.input)})`)
    const rules = systemPrompt.split("\n").filter((line) => line.startsWith("# "))
    const known = turn[0]?.content === "rules" ? ["I was given", rules.length, "texts.", ...rules].join(" ") : HELP
    const end = step < steps.length ? known : summarize(turn)
    yield { type: "message_start" }
    for (const text of (plan.length > 0 ? `I call ${plan.join(" and ")}.` : end).split(/(?<= )/)) yield { type: "text_delta", text }
    for (const call of calls) yield { type: "tool_call", call }
    yield { type: "message_end", stopReason: calls.length > 0 ? "toolUse" : "stop" }
  },
}

/** Prints a step and the chapter that it comes from. */
function trace(chapter: string, text: string): void {
  console.log(`${chapter}  ${text}`)
}

/** The same parts, each with a window onto what it does. */
function watch(options: TurnOptions): TurnOptions {
  let requests = 0
  const { hooks = {}, extensions, provider } = options
  extensions?.use((api) => api.on("done", () => trace("s09", "handlers are told that the turn is done")))
  return {
    ...options,
    provider: {
      async *stream(input) {
        trace("s04", `request ${++requests} of at most ${DEFAULT_MAX_TURNS}`)
        trace("s01", `the history goes along: ${input.messages.map((message) => message.role).join(", ")}`)
        trace("s02", `tools on offer: ${input.tools.map((spec) => spec.name).join(", ")}`)
        const types: string[] = []
        try {
          for await (const event of provider.stream(input)) {
            types.push(event.type)
            yield event
          }
        } finally {
          trace("s03", `the answer came in ${types.length} events: ${[...new Set(types)].join(", ")}`)
        }
      },
    },
    hooks: {
      ...hooks,
      beforeToolCall: (call) => {
        const decision = decideToolCall(hooks, call)
        trace("s05", `${decision.type} ${call.name} ${JSON.stringify(call.input)}`)
        return decision
      },
    },
    mode: new PrintMode({ log: (line) => trace("s10", `| ${line}`) }),
  }
}

const output: Output = { log: (line) => console.log(`core   ${line}`) }

async function ask(state: AgentState, prompt: string, options: TurnOptions): Promise<void> {
  console.log(`you    ${prompt}`)
  await runOneTurn(state, prompt, options)
}

/** The prompt on the command line, if there is one, and whether programs are to read the answer. */
function readArguments(args: string[]): { prompt?: string; json: boolean } {
  const [prompt, ...more] = args.filter((arg) => arg !== "--json")
  if (more.length > 0 || prompt?.startsWith("-")) throw new Error(`expected [--json] and one prompt, in quotes, got: ${args.join(" ")}`)
  return { json: args.includes("--json"), ...(prompt !== undefined && { prompt }) }
}

/** Standard output for events alone: whatever else is printed in this process goes to standard error. */
function claimStdout(): Output {
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write
  return { log: (line) => void write(`${line}\n`) }
}

const errors: Output = { log: (line) => console.error(line) }

async function main(args: string[]): Promise<void> {
  const { prompt, json } = readArguments(args)
  const events = json ? claimStdout() : output
  const trust: ProjectTrust = "trusted"
  const state: AgentState = { messages: new SessionTree(), model: "scripted-1" }
  const registry = new ToolRegistry()
  for (const tool of [readFile, listFiles]) registry.register(tool)
  const loader = new ResourceLoader(resources)
  const extensions = new ExtensionRuntime(registry, errors)
  await extensions.useProject(() => wordCounter, trust)
  const installed = installLoadedPackage(loadPackage(greetings), extensions, loader, trust)
  const options: TurnOptions = { provider, output, registry, hooks, loader, extensions, trust }
  if (json) {
    await runOneTurn(state, prompt ?? "read LICENSE", { ...options, mode: new JsonMode(events) })
  } else if (prompt !== undefined) {
    await ask(state, prompt, options)
  } else {
    trace("s11", `the project is ${trust}`)
    trace("s12", `package "greetings" ${installed ? "installed" : "refused"}; /motto says: ${extensions.runCommand("motto")}`)
    const { systemPrompt } = createTurnSnapshot(state, options)
    trace("s06", `the snapshot holds history, tools and system prompt for the turn; the model, ${state.model}, stays in the state`)
    trace("s08", `the system prompt has ${systemPrompt.split("\n").filter((line) => line.startsWith("# ")).length} texts`)
    await runOneTurn(state, "greet me then read secret.txt and LICENSE", watch(options))
    trace("s07", `the session keeps ${state.messages.allEntries().map((entry) => `${entry.id} ${entry.role}`).join(", ")}`)
  }
}

/** Whether this very file was started, by whatever path; importing it prints nothing. */
function startedDirectly(): boolean {
  try {
    return fs.realpathSync.native(process.argv[1] ?? "") === fs.realpathSync.native(fileURLToPath(import.meta.url))
  } catch {
    return false
  }
}

if (startedDirectly()) {
  // A reader that closes the pipe (`| head -1`) has seen enough.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1))
  main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(`error: ${describeError(error)}`)
    process.exitCode = 1
  })
}
