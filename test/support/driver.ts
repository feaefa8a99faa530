/**
 * One way to talk to twelve programs. A driver knows how a state, a provider or a registry is made in its chapter, so that a test says what
 * must hold and not how a chapter spells it.
 */
import type * as Final from "../../s12_packages/code.ts"

/** What a chapter may export. Which of it is there depends on the chapter. */
export type Core = typeof Final

export type Message = Final.AgentMessage
export type ProviderInput = Final.ProviderInput
export type ProviderEvent = Final.ProviderEvent
export type Tool = Final.Tool
export type ToolCall = Final.ToolCall
export type ToolResult = Final.ToolResultMessage
export type State = Final.AgentState
export type Options = Final.TurnOptions

/** What the scripted provider does with one request: events, a failure, or something worked out from the request. */
export type Reply = Iterable<ProviderEvent> | Error | ((input: ProviderInput) => Reply)

/** A provider that plays its replies in order and keeps the requests it got. After the last reply it repeats `say("done")`. */
export type ScriptedProvider = Final.Provider & {
  requests: ProviderInput[]
}

/** A message of text, in as many pieces as given. */
export function say(...texts: string[]): ProviderEvent[] {
  return [
    { type: "message_start" },
    ...texts.map((text): ProviderEvent => ({ type: "text_delta", text })),
    { type: "message_end", stopReason: "stop" },
  ]
}

/** A complete message that asks for tools. */
export function ask(...calls: ToolCall[]): ProviderEvent[] {
  return [
    { type: "message_start" },
    ...calls.map((call): ProviderEvent => ({ type: "tool_call", call })),
    { type: "message_end", stopReason: "toolUse" },
  ]
}

/** Events that stop without a `message_end`; with an error, the stream throws it there. */
export function* cut(events: Iterable<ProviderEvent>, error?: unknown): Generator<ProviderEvent> {
  for (const event of events) if (event.type !== "message_end") yield event
  if (error !== undefined) throw error
}

/** Events with another ending. */
export function ending(stopReason: Final.StopReason, events: Iterable<ProviderEvent>): ProviderEvent[] {
  return [...events].map((event) => (event.type === "message_end" ? { type: "message_end", stopReason } : event))
}

/** A call of the tool `echo`, unless told otherwise. */
export function call(id: string, name = "echo", input: Record<string, string> = { text: id }): ToolCall {
  return { id, name, input }
}

/** A tool; without a handler it answers `ok: <text>`. */
export function tool(
  name = "echo",
  handler: (input: Record<string, string>) => unknown = ({ text }) => `ok: ${text}`,
): Tool {
  return {
    spec: { name, description: `the tool ${name}`, input: { text: "any text" } },
    handler: handler as Tool["handler"],
  }
}

/** The result that a transcript should hold. */
export function result(toolCallId: string, content = `ok: ${toolCallId}`): ToolResult {
  return { role: "toolResult", toolCallId, content }
}

/** An output that keeps its lines. */
export function recordOutput(): Final.Output & { lines: string[] } {
  const lines: string[] = []
  return { lines, log: (line) => void lines.push(line) }
}

/** Lets everything that is due run: promises first, then timers that are due now. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}

function play(reply: Reply, input: ProviderInput): Iterable<ProviderEvent> {
  if (reply instanceof Error) throw reply
  return typeof reply === "function" ? play(reply(input), input) : reply
}

export class Driver {
  readonly number: number
  readonly id: string
  readonly core: Core

  constructor(number: number, id: string, core: Core) {
    this.number = number
    this.id = id
    this.core = core
  }

  /** A state that holds these messages already. */
  state(...messages: Message[]): State {
    if (this.number < 7)
      return { messages: [...messages], ...(this.number >= 6 && { model: "test" }) } as unknown as State
    const tree = new this.core.SessionTree()
    for (const message of messages) tree.append(message)
    return { messages: tree, model: "test" }
  }

  /** The messages of the current path, as whoever reads them gets them. */
  stored(state: State): Message[] {
    return this.number < 7 ? (state.messages as unknown as Message[]) : state.messages.currentPath()
  }

  /** The messages of the current path, as plain data. */
  history(state: State): Message[] {
    return structuredClone(this.stored(state))
  }

  /** Adds a message by hand, past the loop. */
  append(state: State, message: Message): void {
    if (this.number < 7) (state.messages as unknown as Message[]).push(message)
    else state.messages.append(message)
  }

  provider(...replies: Reply[]): ScriptedProvider {
    const queue = [...replies]
    const requests: ProviderInput[] = []
    const next = (input: ProviderInput): Iterable<ProviderEvent> => {
      requests.push(structuredClone(input))
      return play(queue.shift() ?? say("done"), input)
    }
    async function complete(input: ProviderInput): Promise<Message> {
      let content = ""
      for (const event of next(input)) {
        if (event.type === "text_delta") content += event.text
        if (event.type === "message_end") return { role: "assistant", content, stopReason: event.stopReason }
      }
      throw new Error("this reply has no end and cannot be played before s03")
    }
    async function* stream(input: ProviderInput): AsyncGenerator<ProviderEvent> {
      yield* next(input)
    }
    return (this.number < 3 ? { requests, complete } : { requests, stream }) as ScriptedProvider
  }

  registry(...tools: Tool[]): Final.ToolRegistry {
    const registry = new this.core.ToolRegistry()
    for (const item of tools) registry.register(item)
    return registry
  }

  /** Options with a silent output. `tools` becomes a registry. */
  options({ tools, ...options }: Partial<Options> & { tools?: Tool[] }): Options {
    const registry = tools === undefined ? {} : { registry: this.registry(...tools) }
    return { provider: this.provider(), output: recordOutput(), ...registry, ...options }
  }

  /** One turn on a state; without one, on a fresh state. Gives the history after it, the last message and the requests. */
  async run({
    replies = [],
    prompt = "go",
    state = this.state(),
    ...options
  }: Partial<Options> & {
    replies?: Reply[]
    prompt?: string
    state?: State
    tools?: Tool[]
  } = {}): Promise<{ history: Message[]; last: Message; requests: ProviderInput[]; state: State }> {
    const provider = this.provider(...replies)
    const last = await this.core.runOneTurn(state, prompt, this.options({ provider, ...options }))
    return { history: this.history(state), last: structuredClone(last), requests: provider.requests, state }
  }
}
