import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"

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

/** What a turn needs besides the state. What later chapters need becomes a field here. */
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
}

/** A readable text for whatever was thrown. */
export function describeError(error: unknown): string {
  try {
    const text = String((error as Error | undefined)?.message ?? error ?? "")
    if (!/^\s*$|^\[object /.test(text)) return text
  } catch {}
  return "unknown error"
}

/** What is wrong with a message that has ended, if anything is. */
export function findProblem(content: string, stopReason: StopReason, toolCalls: ToolCall[] = []): string | undefined {
  if (stopReason === "toolUse") return toolCalls.length > 0 ? undefined : "the provider announced calls and sent none"
  if (toolCalls.length > 0) return `the message ended with "${stopReason}", not "toolUse"`
  if (stopReason !== "stop") return `the provider ended its message with "${stopReason}"`
  if (content.trim() === "") return "the provider sent an empty message"
  return undefined
}

/** An error to store, behind whatever text had arrived (R4). */
export function failMessage(content: string, error: unknown): AssistantMessage {
  const parts = [content, `error: ${describeError(error)}`].filter((part) => part.trim() !== "")
  return Object.freeze({ role: "assistant", content: parts.join("\n").toWellFormed(), stopReason: "error" })
}

/** The message to store: as it came, or as an error that says what is wrong with it. */
export function finishMessage(content: string, stopReason: StopReason, toolCalls: ToolCall[] = []): AssistantMessage {
  const problem = findProblem(content, stopReason, toolCalls)
  if (problem !== undefined) return failMessage(content, problem)
  return Object.freeze({ role: "assistant", content: content.toWellFormed(), stopReason })
}

/** Hides from the model what is only ours: the stop reason. */
export function toProviderMessage(message: AgentMessage): ProviderMessage {
  if (message.role !== "assistant") return message
  const { stopReason, ...sent } = message
  return Object.freeze(sent)
}

/** Builds the next request. The model remembers nothing, so each request carries the whole history. */
export function buildProviderInput(state: AgentState, options?: TurnOptions): ProviderInput {
  return {
    messages: state.messages.currentPath().map(toProviderMessage),
    tools: options?.registry?.getSpecs() ?? [],
    systemPrompt: buildSystemPrompt(options?.loader?.load() ?? []),
  }
}

/** Asks the model once. A provider that fails gives a message with `error` (R4). */
export async function requestMessage(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  try {
    return await collectAssistantMessage(await provider.stream(input))
  } catch (error) {
    return failMessage("", error)
  }
}

/** Puts a message into the history, frozen (I5), and shows it, unless it is the person's own. */
export function recordMessage(state: AgentState, message: AgentMessage, options: TurnOptions): void {
  state.messages.append(message)
  if (message.role !== "user") publish({ type: "message", content: message.content }, options)
}

/** One turn: the person's words in, the model's answer out, both kept. A failing provider is an answer too (R4). */
export async function runOneTurn(state: AgentState, prompt: string, options: TurnOptions): Promise<AssistantMessage> {
  // A door. Whatever refuses the turn does so before anything is recorded.
  checkMaxTurns(options.maxTurns)
  expectString(prompt, "the prompt")
  // Copies: whoever puts another tree or registry in place meanwhile does so for the next turn.
  const given: TurnOptions = Object.assign(Object.create(Object.getPrototypeOf(options)), options)
  // A rehearsal: a registry or a loader that cannot be read refuses the turn as well.
  buildProviderInput(state, given)
  const release = state.messages.acquire()
  recordMessage(state, { role: "user", content: prompt.toWellFormed() }, given)
  const message = await runEventedToolLoop({ ...state, messages: state.messages }, given).finally(release)
  publish({ type: "done" }, given)
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

/** Throws for a value from outside that is not what it should be: nobody checks types while the program runs. */
export function refuse(value: unknown, source: string, expected: string): never {
  const kind = typeof value === "string" ? `"${value.slice(0, 60)}"` : {}.toString.call(value).slice(8, -1)
  // Should it be a promise that rejects later, somebody has to catch that.
  guard(() => value)
  throw new TypeError(`${source}: expected ${expected}, got ${kind}`)
}

/** Passes a string through and refuses all else. */
export function expectString(value: unknown, source: string): string {
  return typeof value === "string" ? value : refuse(value, source, "a string")
}

/** A frozen copy of texts by name. Half a character (a lone surrogate) is replaced: services refuse what holds one. */
export function sealTexts<Texts extends Record<string, string>>(texts: Texts, source: string): Texts {
  if ({}.toString.call(texts) !== "[object Object]") refuse(texts, source, "texts by name")
  const sealed: Record<string, string> = {}
  for (const name in texts) sealed[name.toWellFormed()] = expectString(texts[name], source).toWellFormed()
  return Object.freeze(sealed) as Texts
}

/** A frozen copy: what the owner does to the original afterwards changes nothing here. Throws if it is no tool. */
export function sealTool(tool: Tool): Tool {
  const { name, description, input } = tool?.spec ?? refuse(tool, "a tool", "an object with a spec")
  const texts = sealTexts({ name, description }, "the spec of a tool")
  const spec = Object.freeze({ ...texts, input: sealTexts(input ?? {}, `the input of tool "${name}"`) })
  if (typeof tool.handler !== "function") refuse(tool.handler, `the handler of tool "${name}"`, "a function")
  return Object.freeze({ spec, handler: tool.handler.bind(tool) })
}

/** The tools of a session, by name, in the order of registration. */
export class ToolRegistry {
  #tools = new Map<string, Tool>()

  /**
   * A door: here, and only here, what comes from outside is checked. Adds a tool; any string is a name. Throws when the
   * name is taken, and changes nothing then.
   */
  register(tool: Tool): void {
    const sealed = sealTool(tool)
    if (this.#tools.has(sealed.spec.name)) throw new Error(`tool "${sealed.spec.name}" is already registered`)
    this.#tools.set(sealed.spec.name, sealed)
  }

  /** What the model gets to see. */
  getSpecs(): ToolSpec[] { return [...this.#tools.values()].map((tool) => tool.spec) }

  /** A door. Runs a tool and gives its text. Never throws: a failure is a text too (R4). */
  run(call: ToolCall): string {
    const tool = this.#tools.get(call?.name)
    return runForText(`tool "${String(call?.name)}"`, tool && (() => tool.handler({ ...sealToolCall(call).input })))
  }
}

// ── s03 Stream ── the answer arrives in pieces ───────────────────────────────

/** What a provider says while it answers. `message_end` comes last; without it the message is not complete. */
export type ProviderEvent =
  | { type: "message_start" }
  | { type: "text_delta"; text: string }
  | { type: "message_end"; stopReason: StopReason }
  | { type: "tool_call"; call: ToolCall }

/** A door. Folds a stream into one message. One that throws or stops short gives an error and keeps its text. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  let content = ""
  const calls: ToolCall[] = []
  try {
    for await (const event of events) {
      if (event?.type === "text_delta") content += expectString(event.text, "a text_delta")
      else if (event?.type === "tool_call") addToolCall(calls, event.call)
      else if (event?.type === "message_end") return addCalls(finishMessage(content, event.stopReason, calls), calls)
      else if (event?.type !== "message_start") refuse((event as ProviderEvent)?.type, "an event", "a type we know")
    }
    throw new Error("the stream ended before its message did")
  } catch (error) {
    return addCalls(failMessage(content, error), calls)
  }
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

/** Runs code that the core does not own. What it throws or rejects with goes to `onError`, and no further. */
export function guard(action: () => unknown, onError?: (error: unknown) => void): void {
  try {
    const result = action()
    if (result instanceof Promise) result.catch((error: unknown) => onError?.(error))
  } catch (error) {
    onError?.(error)
  }
}

/** Makes control characters visible, all but tabs and line ends: no text from outside may drive a terminal. */
export function escapeControls(text: string, show = (code: string): string => `\\u{${code}}`): string {
  return text.replace(/(?!\t|\r?\n)[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu, (char) => show(char.charCodeAt(0).toString(16)))
}

/** Runs what somebody has registered, for its text. Never throws: a failure is a text too (R4). */
export function runForText(source: string, run: (() => unknown) | undefined): string {
  try {
    if (run === undefined) throw new Error(`unknown ${source}`)
    return expectString(run(), source)
  } catch (error) {
    return `error: ${describeError(error)}`
  }
}

/** A frozen copy with our fields only (I1): what was decided on is what runs. Throws if it is no call. */
export function sealToolCall({ id, name, input }: ToolCall): ToolCall {
  const texts = sealTexts({ id, name }, "a call")
  return Object.freeze({ ...texts, input: sealTexts(input ?? {}, `the input of "${id}"`) })
}

/** Takes a call into its message. Throws if it is no call, or if its id is there already. */
export function addToolCall(calls: ToolCall[], call: ToolCall): void {
  const bare = Object.freeze({ ...sealTexts({ id: call?.id, name: call?.name }, "a call"), input: Object.freeze({}) })
  if (calls.some((other) => other.id === bare.id)) throw new Error(`the call id "${bare.id}" repeats`)
  // First without arguments: should they be refused, the call is there all the same, and has to be answered.
  calls.push(bare)
  calls[calls.length - 1] = Object.freeze({ ...bare, input: sealTexts(call.input ?? {}, `the input of "${bare.id}"`) })
}

/** The message and its calls; a message without calls has no field for them. */
export function addCalls(message: AssistantMessage, calls: ToolCall[]): AssistantMessage {
  return calls.length === 0 ? message : Object.freeze({ ...message, toolCalls: Object.freeze(calls) as ToolCall[] })
}

/** Pairs a content with the call that it answers. */
export function toolResult(call: { id: string }, content: string): ToolResultMessage {
  return Object.freeze({ role: "toolResult", toolCallId: call.id, content: content.toWellFormed() })
}

/** A failure as an answer that the model can read and react to (R4). */
export function errorResult(call: { id: string }, error: unknown): ToolResultMessage {
  return toolResult(call, `error: ${describeError(error)}`)
}

/** The limit to use. Throws for anything that is not a positive integer. */
export function checkMaxTurns(maxTurns: number = DEFAULT_MAX_TURNS): number {
  if (Number.isInteger(maxTurns) && maxTurns > 0) return maxTurns
  throw new RangeError(`maxTurns must be a positive integer, got ${String(maxTurns)}`)
}

/** Throws when a name occurs twice. */
export function assertUnique(kind: string, names: readonly string[], complaint = "repeats"): void {
  const repeated = names.find((name, index) => names.indexOf(name) < index)
  if (repeated !== undefined) throw new Error(`${kind} "${repeated}" ${complaint}`)
}

/**
 * Throws unless directly behind each message with calls stand exactly their results, in call order (I2, I4). Runs
 * before every request, so that a broken history fails here, by name, and not far away at the provider. Messages in
 * front of `from` have been checked already.
 */
export function assertPairedToolCalls(messages: readonly ProviderMessage[], from = 0): void {
  const show = (id?: string): string => (id === undefined ? "no tool result" : `the result of "${id}"`)
  let due: string[] = []
  for (let index = from; index <= messages.length; index++) {
    const message = messages[index]
    const expected = due.shift()
    const found = message?.role === "toolResult" ? message.toolCallId : undefined
    if (found !== expected) throw new Error(`messages[${index}]: expected ${show(expected)}, got ${show(found)}`)
    if (message?.role === "assistant") due = (message.toolCalls ?? []).map((call) => call.id)
    if (due.length > 1) assertUnique(`messages[${index}]: the call id`, due)
  }
}

/** Starts the calls of a message together. One result each, whatever happens (I2), in call order (I4). */
export function startToolCalls(
  message: AssistantMessage,
  tools: ToolSpec[],
  options: TurnOptions,
): Promise<ToolResultMessage>[] {
  const { hooks = {}, registry = new ToolRegistry() } = options
  const { execute = (call) => toolResult(call, registry.run(call)) } = options
  return (message.toolCalls ?? []).map(async (call) => {
    try {
      // Only a complete message may act (I3), and only with the tools it was shown.
      if (message.stopReason !== "toolUse") throw new Error(`not run: ${message.content.replace(/.*?^error: /ms, "")}`)
      if (!tools.some((spec) => spec.name === call.name)) throw new Error(`unknown tool "${call.name}"`)
      assertAllowed(hooks, call)
      // A door: what the executor answers is checked here. What it throws is for the after-hook to see, too.
      const reply = await Promise.resolve(call).then(execute).catch((error: unknown) => errorResult(call, error))
      const text = expectString(reply?.content, "the executor")
      if (reply.toolCallId !== call.id) throw new Error(`the executor answered "${reply.toolCallId}", not "${call.id}"`)
      return toolResult(call, reviseToolResult(hooks, call, text))
    } catch (error) {
      return errorResult(call, error)
    }
  })
}

/** Requests and runs calls, until the model asks for no more or the limit is reached (R5). Returns the last message. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  const snapshot = createTurnSnapshot(state, options)
  let checked = 0
  const record = <Message extends AgentMessage>(message: Message): Message => {
    recordMessage(state, message, options)
    snapshot.messages.push(toProviderMessage(message))
    return message
  }
  for (let left = checkMaxTurns(options.maxTurns); left > 0; left--) {
    assertPairedToolCalls(snapshot.messages, checked)
    checked = snapshot.messages.length
    // Copies: whoever is handed the request has no say in what is sent next, or in which tools may run.
    const input = { ...snapshot, messages: [...snapshot.messages], tools: [...snapshot.tools] }
    const message = record(await requestMessage(options.provider, input))
    for (const pending of startToolCalls(message, snapshot.tools, options)) record(await pending)
    if (message.stopReason !== "toolUse") return message
  }
  return record(finishMessage("max turns reached", "stop"))
}

// ── s05 Hooks ── a last word before and after a tool ─────────────────────────

/** What a hook decides about a call. */
export type BeforeToolCallResult =
  | { type: "allow" }
  | { type: "block"; reason: string }

/**
 * `beforeToolCall` decides on exactly the arguments that will run; `afterToolCall` may rewrite what the model reads.
 * They are asked whoever executes the call: an `execute` of the caller's own does not switch them off.
 */
export type ToolHooks = {
  beforeToolCall?: (call: ToolCall) => BeforeToolCallResult
  afterToolCall?: (call: ToolCall, result: string) => string
}

/** A door. Asks the before-hook and throws unless it allows. Fails closed: an answer that is no decision blocks too. */
export function assertAllowed(hooks: ToolHooks, call: ToolCall): void {
  if (typeof hooks !== "object" || hooks instanceof Promise) refuse(hooks, "hooks", "an object of functions")
  if (hooks.beforeToolCall === undefined) return
  const decision: BeforeToolCallResult | undefined = hooks.beforeToolCall(call)
  if (decision?.type === "block") throw new Error(`blocked: ${decision.reason || "no reason given"}`)
  if (decision?.type !== "allow") refuse(decision, "beforeToolCall", 'the type "allow" or "block"')
}

/** A door. Asks the after-hook. No answer means no change, and an error stays an error. */
export function reviseToolResult(hooks: ToolHooks, call: ToolCall, result: string): string {
  const text = expectString(hooks.afterToolCall?.(call, result) ?? result, "afterToolCall")
  if (!result.startsWith("error: ") || text.startsWith("error: ")) return text
  return text.trim() === "" ? result : `error: ${text}`
}

/** A door for one call without a loop: before-hook, tool, after-hook. What fails is the result (R4); never throws. */
export function executeToolCall(registry: ToolRegistry, hooks: ToolHooks, call: ToolCall): ToolResultMessage {
  let id = ""
  try {
    id = expectString(call?.id, "the id of a call")
    const sealed = sealToolCall(call)
    assertAllowed(hooks, sealed)
    return toolResult(sealed, reviseToolResult(hooks, sealed, registry.run(sealed)))
  } catch (error) {
    return errorResult({ id }, error)
  }
}

// ── s06 Snapshot ── what holds for a whole turn ──────────────────────────────

/** What a turn has fixed at its start: its first request. The model's name is not in it, that stays in the state. */
export type TurnSnapshot = ProviderInput

/** Takes the snapshot. */
export function createTurnSnapshot(state: AgentState, options: TurnOptions): TurnSnapshot {
  return buildProviderInput(state, options)
}

// ── s07 Session ── a history that can branch ─────────────────────────────────

/** A message and its place in the tree. `parentId` is null for a first message. */
export type SessionEntry = AgentMessage & {
  id: string
  parentId: string | null
}

/** A place in the tree. */
export type SessionNode = {
  entry: SessionEntry
  message: AgentMessage
  parent: SessionNode | null
}

/** Refuses what is none of the given words. */
export function assertOneOf(value: unknown, source: string, words: readonly unknown[]): void {
  if (!words.includes(value)) refuse(value, source, words.join(", "))
}

/** A frozen copy with our fields only (I1): what its owner does to the original changes no history (I5). */
export function sealMessage(message: AgentMessage): AgentMessage {
  const { role, content } = message
  assertOneOf(role, "the role", ["user", "assistant", "toolResult"])
  if (role === "user") return sealTexts({ role, content }, "a message")
  if (role === "toolResult") return sealTexts({ role, toolCallId: message.toolCallId, content }, "a message")
  const { stopReason, toolCalls } = message
  assertOneOf(stopReason, "the stop reason", ["stop", "error", "toolUse"])
  return addCalls(sealTexts({ role, content, stopReason }, "a message"), (toolCalls ?? []).map(sealToolCall))
}

/** A history that only grows (I5): no entry changes or goes. To go back is to stand elsewhere and grow from there. */
export class SessionTree {
  #nodes = new Map<string, SessionNode>()
  #leaf: SessionNode | null = null
  #release: (() => void) | null = null

  /** Where the next message will hang; null is before the first. */
  get leafId(): string | null { return this.#leaf?.entry.id ?? null }

  /** A door. Adds a message below the leaf, under a fresh id, and stands on it. Refuses what is no message. */
  append(message: AgentMessage): SessionEntry {
    const sealed = sealMessage(message)
    const entry = Object.freeze({ id: `entry_${this.#nodes.size + 1}`, parentId: this.leafId, ...sealed })
    this.#leaf = { entry, message: sealed, parent: this.#leaf }
    this.#nodes.set(entry.id, this.#leaf)
    return entry
  }

  /** Goes to an entry; null is before the first. Throws, and stays, during a turn and where results are due (I2). */
  moveTo(id: string | null): void {
    if (this.#release !== null) throw new Error("cannot move while a turn is running: wait until it has ended")
    const node = id === null ? null : this.#nodes.get(id)
    if (node === undefined) throw new Error(`cannot move to "${id}": no entry has this id`)
    assertPairedToolCalls(this.#pathTo(node))
    this.#leaf = node
  }

  /** The messages from the first to the leaf: what the model gets to see. */
  currentPath(): AgentMessage[] { return this.#pathTo(this.#leaf) }

  #pathTo(leaf: SessionNode | null): AgentMessage[] {
    const messages: AgentMessage[] = []
    for (let node = leaf; node !== null; node = node.parent) messages.push(node.message)
    return messages.reverse()
  }

  /** Every entry of every branch, in the order of their arrival. */
  allEntries(): SessionEntry[] { return [...this.#nodes.values()].map((node) => node.entry) }

  /** Reserves the tree for one turn; a release works once. Throws during a turn, and where results are due (I2). */
  acquire(): () => void {
    if (this.#release !== null) throw new Error("a turn is already running on this session: wait until it has ended")
    assertPairedToolCalls(this.currentPath())
    const release = (): void => { if (this.#release === release) this.#release = null }
    this.#release = release
    return release
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

/** The kinds of resources, in the order in which the model reads them. */
export const RESOURCE_KINDS: readonly ContextResource["kind"][] = ["agents", "skill", "prompt"]

/** A frozen copy with our fields only. Throws if it is no resource. */
export function sealResource({ kind, name, content }: ContextResource): ContextResource {
  assertOneOf(kind, "the kind of a resource", RESOURCE_KINDS)
  return sealTexts({ kind, name, content }, `resource "${String(name)}"`)
}

/** Holds the texts of a project and hands out copies of them. */
export class ResourceLoader {
  #resources: ContextResource[]

  /** A door. Copies the texts; refuses what is no resource. */
  constructor(resources: ContextResource[]) { this.#resources = resources.map(sealResource) }

  /** Copies of the texts, in their order. */
  load(): ContextResource[] {
    return this.#resources.map((resource) => ({ ...resource }))
  }
}

/** The text in whole characters up to the limit, and a note where it was cut. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit
  return `${text.slice(0, end)}\n[cut: ${end} of ${text.length} characters]`
}

/**
 * Puts resources into the system prompt, by kind, then in the order given. Headings start a line and contents are
 * indented, so that no content can pass for a heading. Without resources the prompt is empty.
 */
export function buildSystemPrompt(resources: ContextResource[]): string {
  const ordered = RESOURCE_KINDS.flatMap((kind) => resources.filter((resource) => resource.kind === kind))
  return ordered.map(({ kind, name, content }) => {
    const heading = cutText(name.replace(/[\p{C}\p{Z}]+/gu, " ").trim(), 100).replaceAll("\n", " ")
    const lines = cutText(content, MAX_RESOURCE_CHARS).split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/)
    return [`# ${kind}: ${heading}`, ...lines.map((line) => `  ${line}`)].join("\n")
  }).join("\n\n")
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

/** Somebody who listens to what the loop reports. */
export type EventHandler = (event: RuntimeEvent) => void

/** All that an extension is given. It works during the setup of the extension only; it is no sandbox. */
export type ExtensionAPI = {
  on(type: RuntimeEvent["type"], handler: EventHandler): void
  registerTool(tool: Tool): void
  registerCommand(command: Command): void
}

/** Code that runs, and so has to be trusted (I6). Failures are reported under the name of the function. */
export type Extension = (api: ExtensionAPI) => void

/** A frozen copy. Throws if it is no command. */
export function sealCommand(command: Command): Command {
  const name = expectString(command?.name || undefined, "the name of a command").toWellFormed()
  if (typeof command.run !== "function") refuse(command.run, `the run of command "${name}"`, "a function")
  return Object.freeze({ name, run: command.run.bind(command) })
}

/** A handler that hears events of one type only. Throws if no event has this type, or if it cannot be called. */
export function filterHandler(type: RuntimeEvent["type"], handler: EventHandler): EventHandler {
  assertOneOf(type, "the event", ["message", "done"])
  if (typeof handler !== "function") refuse(handler, `the handler of "${type}"`, "a function")
  return (event) => (event.type === type ? handler(event) : undefined)
}

/** Keeps extensions apart from the core and from each other. Their tools go into the one registry, with its hooks. */
export class ExtensionRuntime {
  #registry: ToolRegistry
  #output: Output
  #used = new Set<unknown>()
  #commands = new Map<string, Command>()
  #handlers: EventHandler[] = []

  /** Failures of extensions are written to `output`. */
  constructor(registry: ToolRegistry, output: Output) {
    this.#registry = registry
    this.#output = output
  }

  /**
   * A door. All or nothing: an extension that throws, clashes or is in use already adds nothing and is reported by
   * name. Says whether it was added. A function counts once, and so does an `owner`; reports go by its name, or by that
   * of the function.
   */
  use(extension: Extension, owner?: string): boolean {
    const report = (error: unknown): false => this.#report(owner ?? (extension?.name || "anonymous"), error)
    if (this.#used.has(extension) || this.#used.has(owner)) return report("it is in use already")
    this.#used.add(extension).add(owner ?? extension)
    const tools: Tool[] = []
    const commands: Command[] = []
    const handlers: EventHandler[] = []
    let settingUp = true
    const add = <Part>(list: Part[], part: Part): void => {
      if (!settingUp) throw new Error("an extension registers during its setup only")
      list.push(part)
    }
    try {
      const result: unknown = extension({
        on: (type, handler) => add(handlers, filterHandler(type, handler)),
        registerTool: (tool) => add(tools, sealTool(tool)),
        registerCommand: (command) => add(commands, sealCommand(command)),
      })
      if (result instanceof Promise) refuse(result, "its setup", "nothing to wait for")
      const specs = [...this.#registry.getSpecs(), ...tools.map((tool) => tool.spec)]
      assertUnique("tool", specs.map((spec) => spec.name), "is already registered")
      assertUnique("command", [...this.getCommands(), ...commands.map(({ name }) => name)], "is already registered")
    } catch (error) {
      for (const key of [extension, owner]) this.#used.delete(key)
      return report(error)
    } finally { settingUp = false }
    for (const tool of tools) this.#registry.register(tool)
    for (const command of commands) this.#commands.set(command.name, command)
    for (const hear of handlers) this.#handlers.push((event) => guard(() => hear(event), report))
    return true
  }

  /** Reports who failed, and why. False, so that `use` can pass it on. */
  #report(owner: string, error: unknown): false {
    guard(() => this.#output.log(escapeControls(`extension "${owner}" failed: ${describeError(error)}`)))
    return false
  }

  /** Names of the commands, in the order of registration. */
  getCommands(): string[] { return [...this.#commands.keys()] }

  /** Runs a command and gives its text. Never throws: a failure is a text too (R4). */
  runCommand(name: string): string { return runForText(`command "${name}"`, this.#commands.get(name)?.run) }

  /** Tells the handlers, in the order of registration. One that fails is reported and harms nobody. */
  emit(event: RuntimeEvent): void {
    // A copy: a handler that is added now starts with the next event. Frozen: none changes what the next one hears.
    for (const handle of [...this.#handlers]) handle(Object.freeze(event))
  }
}

/** Sends what happens in the loop to whoever listens. Never throws. */
export function publish(event: RuntimeEvent, options: TurnOptions): void {
  if (options.extensions !== undefined) guard(() => options.extensions?.emit(event))
  guard(() => (options.mode ?? new PrintMode(options.output)).render([event]))
}

// ── s10 Modes ── one loop, many faces ────────────────────────────────────────

/** How events are shown. Modes write through an `Output`, so the core stays free of consoles (R7). */
export type RuntimeMode = { render(events: RuntimeEvent[]): void }

/** For people: the text of each message, line by line. */
export class PrintMode implements RuntimeMode {
  #output: Output

  constructor(output: Output) { this.#output = output }

  render(events: RuntimeEvent[]): void {
    for (const event of events) {
      if (event.type !== "message") continue
      for (const line of escapeControls(event.content).split(/\r?\n/)) guard(() => this.#output.log(line))
    }
  }
}

/** For programs: one JSON object per line and nothing else. No reader can find a line end inside one. */
export class JsonMode implements RuntimeMode {
  #output: Output

  constructor(output: Output) { this.#output = output }

  render(events: RuntimeEvent[]): void {
    const lines = events.map((event) => escapeControls(JSON.stringify(event), (code) => `\\u${code.padStart(4, "0")}`))
    for (const line of lines) guard(() => this.#output.log(line))
  }
}

// ── Demo ── tools, a scripted provider and main() ────────────────────────────

const projectFolder = fs.realpathSync(path.dirname(path.dirname(fileURLToPath(import.meta.url))))

/** A file or folder of this project; the model gets no further. */
function resolveInside(name: string): string {
  const target = path.resolve(projectFolder, name)
  const inside = path.relative(projectFolder, fs.existsSync(target) ? fs.realpathSync(target) : target)
  const isOutside = inside.split(path.sep)[0] === ".." || path.isAbsolute(inside)
  if (isOutside) throw new Error(`${name} is outside of this project`)
  if (!fs.existsSync(target)) throw new Error(`${name} does not exist`)
  return target
}

const readFile: Tool = {
  spec: { name: "read_file", description: "Reads a text file.", input: { path: "path below the project" } },
  handler: ({ path: name = "" }) => {
    const target = resolveInside(name)
    if (fs.statSync(target).isDirectory()) throw new Error(`${name} is a folder, list it instead`)
    return fs.readFileSync(target, "utf8")
  },
}

const listFiles: Tool = {
  spec: { name: "list_files", description: "Lists a folder.", input: { path: "path below the project" } },
  handler: ({ path: name = "." }) => {
    const target = resolveInside(name)
    if (!fs.statSync(target).isDirectory()) throw new Error(`${name} is a file, read it instead`)
    return fs.readdirSync(target).sort().join("\n")
  },
}

const paint: Tool = {
  spec: { name: "paint", description: "Paints a text red, for terminals.", input: { text: "any text" } },
  handler: ({ text = "" }) => `\u001b[31m${text}\u001b[0m`,
}

/** Shows what hooks can do. It judges a path by its name, so a link or a copy gets around it: a demonstration. */
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

/** Runs tools that take their time. Of calls made together the first takes longest, so that the last is done first. */
function createExecutor(registry: ToolRegistry): ToolExecutor {
  return async (call) => {
    const place = Number(call.id.split("_").at(-1))
    // Rounds of the event loop, not milliseconds: a busy machine changes nothing in the order.
    for (let round = 0; round < 12 / place; round += 1) await new Promise((resolve) => setImmediate(resolve))
    return toolResult(call, registry.run(call))
  }
}

/** What the scripted model understands: a verb, the tool that it stands for, and the argument that the rest becomes. */
const VERBS = new Map([
  ["read", ["read_file", "path"]],
  ["list", ["list_files", "path"]],
  ["count", ["count_words", "text"]],
  ["paint", ["paint", "text"]],
])

const orders = [...VERBS].map(([verb, [, argument]]) => `"${verb} ${argument?.toUpperCase()}"`)
const HELP = `I understand ${orders.join(", ")}, "rules"; "and" joins arguments, "then" joins steps.`

/** The calls that one step of a prompt asks for; none when it is not understood. */
function planCalls(step: string, id: string): ToolCall[] {
  const [, verb = "", words = ""] = /^\s*(\w+)\s+(.+)$/.exec(step) ?? []
  const [name, argument] = VERBS.get(verb.toLowerCase()) ?? []
  if (name === undefined || argument === undefined) return []
  const values = words.split(/\s+and\s+/)
  return values.map((value, index) => ({ id: `${id}_${index + 1}`, name, input: { [argument]: value } }))
}

/** What the scripted model says when the steps are done: how each result begins. */
function summarize(turn: ProviderMessage[]): string {
  const calls = turn.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
  const results = turn.filter((message) => message.role === "toolResult")
  const asked = calls.map((call) => Object.values(call.input).join(" "))
  return `Done. ${results.map(({ content }, index) => `${asked[index]}: ${content.split(/\r?\n/)[0]}`).join("; ")}`
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
    const answer = plan.length > 0 ? `I call ${plan.join(" and ")}.` : end
    for (const text of answer.split(/(?<= )/)) yield { type: "text_delta", text }
    for (const call of calls) yield { type: "tool_call", call }
    yield { type: "message_end", stopReason: calls.length > 0 ? "toolUse" : "stop" }
  },
}

const output: Output = { log: (line) => console.log(`core   ${line}`) }

/** Prints what happens under a label. Nothing that comes from outside gets to the terminal as it is. */
function show(label: string, text: string): void {
  console.log(`${label.padEnd(6)} ${escapeControls(text)}`)
}

/** One turn. Where it failed, or came to its limit, the program ends with the exit code 1. */
async function ask(state: AgentState, prompt: string, options: TurnOptions): Promise<void> {
  const { content, stopReason } = await runOneTurn(state, prompt, options)
  if (stopReason === "error" || content === "max turns reached") process.exitCode = 1
}

/** The prompt on the command line, if there is one, and whether programs are to read the answer. */
function readArguments(args: string[]): { prompt?: string; json: boolean } {
  const [prompt, ...more] = args.filter((arg) => arg !== "--json")
  const isOne = more.length === 0 && !prompt?.startsWith("-")
  if (!isOne) throw new Error(`expected [--json] and one prompt, in quotes, got: ${args.join(" ")}`)
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
  const state: AgentState = { messages: new SessionTree(), model: "scripted-1" }
  const registry = new ToolRegistry()
  for (const tool of [readFile, listFiles, paint]) registry.register(tool)
  const extensions = new ExtensionRuntime(registry, errors)
  extensions.use(wordCounter)
  const loader = new ResourceLoader(resources)
  const execute = createExecutor(registry)
  const options: TurnOptions = { provider, output, registry, execute, hooks, loader, extensions }
  if (json) return ask(state, prompt ?? "read LICENSE", { ...options, mode: new JsonMode(events) })
  const words = prompt ?? "paint it and that"
  show("you", words)
  await ask(state, words, options)
  if (prompt !== undefined) return
  show("you", words)
  await ask(state, words, { ...options, mode: new JsonMode(output) })
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
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? undefined : 1))
  main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(`error: ${escapeControls(describeError(error))}`)
    process.exitCode = 1
  })
}
