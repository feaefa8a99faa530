import fs from "node:fs"
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
  stream(input: ProviderInput): AsyncGenerator<ProviderEvent>
}

/** Where the core writes. It never touches a console itself (R7). */
export type Output = { log(line: string): void }

/** What a turn needs besides the state. What later chapters need becomes a field here. */
export type TurnOptions = {
  provider: Provider
  output: Output
  registry?: ToolRegistry
}

/** A readable text for whatever was thrown. */
export function describeError(error: unknown): string {
  return String((error as Error | undefined)?.message || error || "unknown error")
}

/** What is wrong with a message that has ended, if anything is. */
export function findProblem(content: string, stopReason: StopReason): string | undefined {
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
export function finishMessage(content: string, stopReason: StopReason): AssistantMessage {
  const problem = findProblem(content, stopReason)
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
    messages: state.messages.map(toProviderMessage),
    tools: options?.registry?.getSpecs() ?? [],
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
  state.messages.push(Object.freeze(message))
  if (message.role !== "user") options.output.log(message.content)
}

/** One turn: the person's words in, the model's answer out, both kept. A failing provider is an answer too (R4). */
export async function runOneTurn(state: AgentState, prompt: string, options: TurnOptions): Promise<AssistantMessage> {
  recordMessage(state, { role: "user", content: prompt.toWellFormed() }, options)
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

/** Throws for a value from outside that is not what it should be: nobody checks types while the program runs. */
export function refuse(value: unknown, source: string, expected: string): never {
  const kind = typeof value === "string" ? `"${value.slice(0, 60)}"` : {}.toString.call(value).slice(8, -1)
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
}

// ── s03 Stream ── the answer arrives in pieces ───────────────────────────────

/** What a provider says while it answers. `message_end` comes last; without it the message is not complete. */
export type ProviderEvent =
  | { type: "message_start" }
  | { type: "text_delta"; text: string }
  | { type: "message_end"; stopReason: StopReason }

/** A door. Folds a stream into one message. One that throws or stops short gives an error and keeps its text. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  let content = ""
  try {
    for await (const event of events) {
      if (event?.type === "text_delta") content += expectString(event.text, "a text_delta")
      else if (event?.type === "message_end") return finishMessage(content, event.stopReason)
      else if (event?.type !== "message_start") refuse((event as ProviderEvent)?.type, "an event", "a type we know")
    }
    throw new Error("the stream ended before its message did")
  } catch (error) {
    return failMessage(content, error)
  }
}

// ── Demo ── tools, a scripted provider and main() ────────────────────────────

/** A model that follows a script: it counts, one piece at a time, and loses its line when told to. */
const provider: Provider = {
  async *stream({ messages }) {
    yield { type: "message_start" }
    for (const text of ["one, ", "two, ", "three"]) {
      if (text === "three" && messages.at(-1)?.content.includes("break")) throw new Error("the line broke")
      yield { type: "text_delta", text }
    }
    yield { type: "message_end", stopReason: "stop" }
  },
}

/** The same provider, with a window: each event is printed as it passes. */
const watched: Provider = {
  async *stream(input) {
    for await (const event of provider.stream(input)) {
      console.log(`event  ${JSON.stringify(event)}`)
      yield event
    }
  },
}

const output: Output = { log: (text) => console.log(`model  ${text.replaceAll("\n", "\n       ")}`) }

async function ask(state: AgentState, prompt: string, options: TurnOptions): Promise<void> {
  console.log(`you    ${prompt}`)
  await runOneTurn(state, prompt, options)
}

async function main(args: string[]): Promise<void> {
  // Arguments may hold what drives a terminal.
  const shown = args.join(" ").replace(/\p{C}/gu, "?")
  if (args.length > 0) throw new Error(`this chapter takes no prompt yet (from s04 on it does), got: ${shown}`)
  const state: AgentState = { messages: [] }
  await ask(state, "Count to three.", { provider: watched, output })
  await ask(state, "Count to three, and break off.", { provider: watched, output })
  console.log(`state  ${JSON.stringify(state.messages.at(-1))}`)
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
    console.error(`error: ${describeError(error)}`)
    process.exitCode = 1
  })
}
