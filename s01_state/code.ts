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
}

/** The model, whoever serves it. An implementation keeps its vendor's format to itself (I1). */
export interface Provider {
  complete(input: ProviderInput): Promise<AssistantMessage>
}

/** Where the core writes. It never touches a console itself (R7). */
export type Output = { log(line: string): void }

/** What a turn needs besides the state. What later chapters need becomes a field here. */
export type TurnOptions = {
  provider: Provider
  output: Output
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
export function buildProviderInput(state: AgentState): ProviderInput {
  return { messages: state.messages.map(toProviderMessage) }
}

/** Asks the model once. A provider that fails gives a message with `error` (R4). */
export async function requestMessage(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  try {
    const { content, stopReason } = await provider.complete(input)
    return finishMessage(content, stopReason)
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
  const message = await requestMessage(options.provider, buildProviderInput(state))
  recordMessage(state, message, options)
  return message
}

// ── Demo ── tools, a scripted provider and main() ────────────────────────────

/** A model that follows a script: it learns a name from the history it is sent, and it can lose its line. */
function createScriptedProvider(online: boolean): Provider {
  return {
    async complete({ messages }) {
      if (!online) throw new Error("no connection to the model")
      const names = messages.map((message) => /my name is (\w+)/i.exec(message.content)?.[1])
      const place = names.findIndex((name) => name !== undefined)
      const known = `You are ${names[place]}: message ${place + 1} of ${messages.length} says so.`
      return { role: "assistant", content: place < 0 ? "I do not know your name." : known, stopReason: "stop" }
    },
  }
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
  const online: TurnOptions = { provider: createScriptedProvider(true), output }
  await ask(state, "Who am I?", online)
  await ask(state, "My name is Ada.", online)
  await ask(state, "Who am I?", online)
  await ask(state, "Who am I?", { provider: createScriptedProvider(false), output })
  const ends = state.messages.map((message) => (message.role === "assistant" ? message.stopReason : message.role))
  console.log(`state  ${ends.join(", ")}`)
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
