import fs from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"

// ── s01 State ── one message in, one message out ─────────────────────────────

/** Why an assistant message ended. */
export type StopReason =
  | "stop"
  | "error"

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
}

/** One entry of the history, in our own words: no field of any vendor gets in (I1). */
export type AgentMessage =
  | UserMessage
  | AssistantMessage

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
    }

/** One request to the model. */
export type ProviderInput = {
  messages: ProviderMessage[]
  tools: ToolSpec[]
}

/** The model, whoever serves it. An implementation keeps its vendor's format to itself (I1). */
export interface Provider {
  complete(input: ProviderInput): Promise<AssistantMessage>
}

/** Where the core writes. It never touches a console itself (R7). */
export type Output = { log(line: string): void }

/** What a turn needs besides the state. Later chapters add fields and no parameters. */
export type TurnOptions = {
  provider: Provider
  output: Output
  registry?: ToolRegistry
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
export function findProblem(content: string, stopReason: StopReason): string | undefined {
  if (content.trim() === "") return "the provider sent an empty message"
  return stopReason === "stop" ? undefined : `the provider ended its message with "${stopReason}"`
}

/** The message to store. A problem makes it an error that says so, behind whatever text had arrived (R4). */
export function finishMessage(
  content: string,
  stopReason: StopReason,
  problem?: string,
): AssistantMessage {
  const reason = problem ?? findProblem(content, stopReason)
  const text = content.trim() === "" ? "" : `${content}\n`
  return Object.freeze({
    role: "assistant",
    content: reason === undefined ? content : `${text}error: ${reason}`,
    stopReason: reason === undefined ? stopReason : "error",
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
    const { content, stopReason } = await provider.complete(input)
    return finishMessage(content, stopReason)
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
  recordMessage(state, { role: "user", content: userInput }, options)
  const message = await requestMessage(options.provider, buildProviderInput(state, options))
  recordMessage(state, message, options)
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
}

// ── Demo ── tools, a scripted provider and main() ────────────────────────────

const projectFolder = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

const readFile: Tool = {
  spec: { name: "read_file", description: "Reads a text file of this project.", input: { path: "path below the project" } },
  handler: ({ path: name = "" }) => fs.readFileSync(path.join(projectFolder, name), "utf8"),
}

/** A model that follows a script: it says which tools it was told of. */
const provider: Provider = {
  async complete({ tools }) {
    const offers = tools.map(({ name, description, input }) => `${name}(${Object.keys(input).join(", ")}): ${description}`)
    const content = offers.length === 0 ? "I was told of no tool." : `I was told of ${offers.join(" ")}`
    return { role: "assistant", content, stopReason: "stop" }
  },
}

const output: Output = { log: (text) => console.log(`model  ${text.replaceAll("\n", "\n       ")}`) }

async function ask(state: AgentState, prompt: string, options: TurnOptions): Promise<void> {
  console.log(`you    ${prompt}`)
  await runOneTurn(state, prompt, options)
}

async function main(args: string[]): Promise<void> {
  if (args.length > 0) throw new Error(`this chapter takes no prompt yet (from s04 on it does), got: ${args.join(" ")}`)
  const state: AgentState = { messages: [] }
  const registry = new ToolRegistry()
  await ask(state, "What can you use?", { provider, output, registry })
  registry.register(readFile)
  await ask(state, "And now?", { provider, output, registry })
  console.log(`sent   ${JSON.stringify(buildProviderInput(state, { provider, output, registry }).tools)}`)
  try {
    registry.register(readFile)
  } catch (error) {
    console.log(`again  ${describeError(error)}`)
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
