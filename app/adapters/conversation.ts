/**
 * A request in terms that every service understands: turns that take each other's place, results next to their calls, names and ids that are
 * accepted. Each adapter writes it down in its vendor's words.
 */
import { createHash } from "node:crypto"
import type { ProviderInput, ProviderMessage, ToolCall, ToolSpec } from "../../s12_packages/code.ts"

/** A call on its way to the service. */
export type SentCall = {
  id: string
  name: string
  input: Record<string, string>
  /** What the service said about this call and wants to hear again. Only the adapter that stored it can read it. */
  extra: unknown
}

/** A result on its way to the service. */
export type SentResult = {
  id: string
  name: string
  content: string
  isError: boolean
  /** What the service said about the call. */
  extra: unknown
}

/** One turn: the person and the machine speak as one, and then the model. No text is blank, and no turn is empty. */
export type Turn =
  | { role: "user"; results: SentResult[]; texts: string[] }
  | { role: "assistant"; texts: string[]; calls: SentCall[] }

/** A tool as it is offered: its arguments as a JSON schema. */
export type SentTool = {
  name: string
  description: string
  schema: { type: "object"; properties: Record<string, { type: "string"; description: string }> }
}

/** The names that all services accept, and the characters that may not stand in one. */
type NameForm = { accepted: RegExp; foreign: RegExp }

const TOOL_NAME: NameForm = { accepted: /^[A-Za-z_][\w-]{0,63}$/, foreign: /[^\w-]/gu }
const ARGUMENT_NAME: NameForm = { accepted: /^[A-Za-z_]\w{0,63}$/, foreign: /\W/gu }

/** The ids of calls that are kept as they come. */
const CALL_ID = /^[\w-]{1,64}$/

/** A user turn has to say something, even where the person did not. */
const NO_TEXT = "(no text)"

/** What stands in front of a conversation that would begin with the model. */
const EARLIER = "(the beginning of this conversation is not shown)"

/** The same name, or the name with the first number behind it that makes it free. */
export function freeName(name: string, taken: { has(name: string): boolean }): string {
  if (!taken.has(name)) return name
  for (let number = 2; ; number++) {
    const suffix = `_${number}`
    const free = `${name.slice(0, 64 - suffix.length)}${suffix}`
    if (!taken.has(free)) return free
  }
}

/** Names that a service accepts for names that it may not, both ways. Names that are accepted stay as they are. */
export class Names {
  #ours = new Map<string, string>()
  #theirs = new Map<string, string>()

  constructor(names: Iterable<string>, { accepted, foreign }: NameForm) {
    const all = new Set(names)
    for (const name of all) if (accepted.test(name)) this.#add(name, name)
    for (const name of all) {
      if (accepted.test(name)) continue
      const plain = name.replaceAll(foreign, "_")
      const begun = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
      this.#add(name, freeName(begun.slice(0, 64), this.#ours))
    }
  }

  #add(ours: string, theirs: string): void {
    this.#theirs.set(ours, theirs)
    this.#ours.set(theirs, ours)
  }

  /** The name to send. */
  toTheirs(ours: string): string {
    return this.#theirs.get(ours) ?? ours
  }

  /** Our name for one that has arrived; a name that was never sent stays as it is. */
  toOurs(theirs: string): string {
    return this.#ours.get(theirs) ?? theirs
  }
}

/** What an adapter remembers about calls beyond what our messages hold (I1). It lives as long as the process. */
export class CallMemory {
  #calls = new Map<string, { id?: string; extra?: unknown }>()

  /** Keeps what the service said about a call. */
  keep(call: ToolCall, said: { id?: string; extra?: unknown }): void {
    this.#calls.set(printOf(call), said)
    // The oldest go first. A conversation with more calls than this goes on without what was said about those.
    if (this.#calls.size > 10_000) this.#calls.delete(this.#calls.keys().next().value as string)
  }

  /** What the service said about a call, if this very call came from it. */
  recall(call: ToolCall): { id?: string; extra?: unknown } {
    return (this.#calls.size > 0 && this.#calls.get(printOf(call))) || {}
  }
}

/** Two branches may use one id for two calls, so a call is known by all that it is. */
function printOf({ id, name, input }: ToolCall): string {
  return createHash("sha256")
    .update(JSON.stringify([id, name, input]))
    .digest("base64")
}

/** All that goes along with a request, and what is needed to understand its answer. */
export class Conversation {
  readonly system: string
  readonly turns: readonly Turn[]
  /** What is on offer. */
  readonly tools: readonly SentTool[]
  /** Tools that are no longer on offer, and stand in the history. */
  readonly pastTools: readonly SentTool[]
  readonly #names: Names
  readonly #arguments: Map<string, Names>
  /** The ids of the calls on this path, as ours. */
  readonly #ids: Set<string>
  readonly #memory: CallMemory

  /** `acceptedId` is the form of the ids that the service takes. */
  constructor({ systemPrompt, messages, tools }: ProviderInput, memory: CallMemory, acceptedId: RegExp) {
    const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    const pastNames = new Set(calls.map((call) => call.name))
    for (const tool of tools) pastNames.delete(tool.name)
    const past = [...pastNames].map((name): ToolSpec => ({ name, description: "", input: {} }))
    this.#memory = memory
    this.#ids = new Set(calls.map((call) => call.id))
    this.#names = new Names(
      [...tools, ...past].map((tool) => tool.name),
      TOOL_NAME,
    )
    this.#arguments = new Map([...tools, ...past].map(({ name, input }) => [name, namesOf(name, input, calls)]))
    this.system = systemPrompt.toWellFormed()
    this.tools = tools.map((tool) => this.#sendTool(tool))
    this.pastTools = past.map((tool) => this.#sendTool(tool))
    this.turns = joinTurns(this.#sendMessages(messages, acceptedId))
  }

  /** Our call for one that has arrived, under an id that no other call of this path has (I2). */
  receiveCall(id: string | undefined, theirName: string, values: Record<string, string>, extra: unknown): ToolCall {
    const name = this.#names.toOurs(theirName)
    const names = this.#arguments.get(name)
    const input = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [names?.toOurs(key) ?? key, value.toWellFormed()]),
    )
    const isKept = id !== undefined && CALL_ID.test(id)
    const call = { id: freeName(isKept ? id : numbered(this.#ids.size + 1), this.#ids), name, input }
    this.#ids.add(call.id)
    if (id !== call.id || extra !== undefined) this.#memory.keep(call, { ...(id !== undefined && { id }), extra })
    return call
  }

  #sendTool({ name, description, input }: ToolSpec): SentTool {
    const names = this.#arguments.get(name)
    const properties = Object.entries(input).map(([key, text]) => [
      names?.toTheirs(key) ?? key,
      { type: "string", description: text.toWellFormed() },
    ])
    return {
      name: this.#names.toTheirs(name),
      description: (description.trim() === "" ? name : description).toWellFormed(),
      schema: { type: "object", properties: Object.fromEntries(properties) },
    }
  }

  #sendMessages(messages: readonly ProviderMessage[], acceptedId: RegExp): Turn[] {
    const sent = new Set<string>()
    let due: SentCall[] = []
    return messages.map((message): Turn => {
      if (message.role === "user") return { role: "user", results: [], texts: [message.content] }
      if (message.role === "assistant") {
        const calls = (message.toolCalls ?? []).map((call) => this.#sendCall(call, sent, acceptedId))
        due = [...calls]
        return { role: "assistant", texts: [message.content], calls }
      }
      const call = due.shift()
      if (call === undefined) throw new Error(`the history holds a result of "${message.toolCallId}" without its call`)
      const content = message.content.toWellFormed()
      const { id, name, extra } = call
      const result = { id, name, content, isError: content.startsWith("error: "), extra }
      return { role: "user", results: [result], texts: [] }
    })
  }

  /** Ids may repeat on a path, and may have come from another service: this one gets those that it takes, each once. */
  #sendCall(call: ToolCall, sent: Set<string>, acceptedId: RegExp): SentCall {
    const said = this.#memory.recall(call)
    const isFit = (id: string | undefined): id is string => id !== undefined && acceptedId.test(id) && !sent.has(id)
    const known = said.id !== undefined && !sent.has(said.id) ? said.id : undefined
    const id = known ?? (isFit(call.id) ? call.id : freeName(numbered(sent.size + 1), sent))
    sent.add(id)
    const names = this.#arguments.get(call.name)
    const input = Object.entries(call.input).map(([key, value]) => [names?.toTheirs(key) ?? key, value.toWellFormed()])
    return { id, name: this.#names.toTheirs(call.name), input: Object.fromEntries(input), extra: said.extra }
  }
}

/** An id that every service takes: nine letters and digits are what the strictest one wants. */
function numbered(number: number): string {
  return `call${String(number).padStart(5, "0")}`
}

/** The names of a tool's arguments: those that it offers, and those that it was called with. */
function namesOf(name: string, input: ToolSpec["input"], calls: readonly ToolCall[]): Names {
  const used = calls.filter((call) => call.name === name).flatMap((call) => Object.keys(call.input))
  return new Names([...Object.keys(input), ...used], ARGUMENT_NAME)
}

/** Joins what stands side by side, leaves out what says nothing, and lets the person begin. */
function joinTurns(all: readonly Turn[]): Turn[] {
  const turns: Turn[] = []
  for (const turn of all) {
    const texts = turn.texts.filter((text) => text.trim() !== "").map((text) => text.toWellFormed())
    const last = turns.at(-1)
    if (turn.role === "assistant") {
      if (texts.length === 0 && turn.calls.length === 0) continue
      if (last?.role === "assistant") {
        last.texts.push(...texts)
        last.calls.push(...turn.calls)
      } else turns.push({ ...turn, texts })
    } else if (last?.role === "user") {
      last.results.push(...turn.results)
      last.texts.push(...texts)
    } else turns.push({ ...turn, texts })
  }
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", results: [], texts: [EARLIER] })
  for (const turn of turns)
    if (turn.role === "user" && turn.results.length + turn.texts.length === 0) turn.texts.push(NO_TEXT)
  return turns
}
