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
  messages: AgentMessage[]
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
    messages: state.messages.map(toProviderMessage),
    tools: options.registry?.getSpecs() ?? [],
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
  state.messages.push(Object.freeze(message))
  if (message.role === "user") return
  guard(() => options.output.log(message.content))
}

/** One turn: the person's words in, the model's answer out, both kept. A failing provider or output does not make it reject. */
export async function runOneTurn(state: AgentState, userInput: string, options: TurnOptions): Promise<AssistantMessage> {
  checkMaxTurns(options.maxTurns)
  recordMessage(state, { role: "user", content: userInput }, options)
  const message = await runEventedToolLoop(state, options)
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
  const execute = options.execute ?? ((call) => toolResult(call, registry.run(call)))
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
  for (let turn = 0; turn < maxTurns; turn++) {
    const input = buildProviderInput(state, options)
    assertPairedToolCalls(input.messages)
    // A copy: whoever is handed the request has no say in which tools may run.
    const message = await requestMessage(options.provider, { ...input, tools: [...input.tools] })
    recordMessage(state, message, options)
    for (const pending of startToolCalls(message, input, options)) {
      const result = await pending
      recordMessage(state, result, options)
    }
    if (message.stopReason !== "toolUse") return message
  }
  const closing = finishMessage("max turns reached", "stop")
  recordMessage(state, closing, options)
  return closing
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

/** What the scripted model understands: a verb, the tool it stands for, and the argument that the words behind it become. */
const VERBS = new Map([
  ["read", ["read_file", "path"]],
  ["list", ["list_files", "path"]],
])

const HELP = `I understand ${[...VERBS].map(([verb, [, argument]]) => `"${verb} ${argument?.toUpperCase()}"`).join(", ")}; "and" joins arguments, "then" joins steps.`

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
  async *stream({ messages }) {
    const turn = messages.slice(messages.findLastIndex((message) => message.role === "user"))
    const steps = (turn[0]?.content ?? "").split(/\s+then\s+/)
    const step = turn.filter((message) => message.role === "assistant").length
    const calls = planCalls(steps[step] ?? "", `call_${messages.length}`)
    const plan = calls.map((call) => `${call.name}(${Object.values(call.input)})`)
    const end = step < steps.length ? HELP : summarize(turn)
    yield { type: "message_start" }
    for (const text of (plan.length > 0 ? `I call ${plan.join(" and ")}.` : end).split(/(?<= )/)) yield { type: "text_delta", text }
    for (const call of calls) yield { type: "tool_call", call }
    yield { type: "message_end", stopReason: calls.length > 0 ? "toolUse" : "stop" }
  },
}

/** Shows a message in one line; a long result would hide what matters. */
const output: Output = {
  log: (text) => {
    const [first = "", ...rest] = text.trimEnd().split(/\r?\n/)
    console.log(`core   ${first}${rest.length > 0 ? ` (+ ${rest.length} lines)` : ""}`)
  },
}

async function ask(state: AgentState, prompt: string, options: TurnOptions): Promise<void> {
  console.log(`you    ${prompt}`)
  await runOneTurn(state, prompt, options)
}

/** The prompt on the command line, if there is one. */
function readPrompt(args: string[]): string | undefined {
  if (args.length < 2 && !args[0]?.startsWith("-")) return args[0]
  throw new Error(`expected at most one prompt, in quotes, got: ${args.join(" ")}`)
}

async function main(args: string[]): Promise<void> {
  const prompt = readPrompt(args)
  const state: AgentState = { messages: [] }
  const registry = new ToolRegistry()
  for (const tool of [readFile, listFiles]) registry.register(tool)
  const options: TurnOptions = { provider, output, registry }
  if (prompt !== undefined) return ask(state, prompt, options)
  await ask(state, "read LICENSE", options)
  await ask(state, "read nothing.txt and tsconfig.json", options)
  for (const message of state.messages.slice(-4)) {
    const line = JSON.stringify(message)
    console.log(`state  ${line.length > 110 ? `${line.slice(0, 110)}…` : line}`)
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
