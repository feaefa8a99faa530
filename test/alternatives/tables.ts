// Habits: everything is a row. Lists of pairs are searched from top to bottom, the session is four columns side by
// side, what may be wrong stands in tables of tests and sentences, the stream and the loop are machines whose state has
// a name, and whatever comes from outside is held against a zod schema before anybody reads it.

import { z } from "zod"

// Shapes

/** How a message of the model ended. */
export type StopReason =
  | "stop"
  | "error"
  //#from s04
  | "toolUse"
//#end

/** What the person said. */
export type UserMessage = { role: "user"; content: string }

/** What the model said. */
export type AssistantMessage = {
  role: "assistant"
  content: string
  stopReason: StopReason
  //#from s04
  toolCalls?: ToolCall[]
  //#end
}

//#from s04
/** One thing the model asks for. */
export type ToolCall = { id: string; name: string; input: Record<string, string> }

/** What came of one call. */
export type ToolResultMessage = { role: "toolResult"; toolCallId: string; content: string }

/** Runs one call in the place of the registry. */
export type ToolExecutor = (call: ToolCall) => ToolResultMessage | Promise<ToolResultMessage>
//#end

/** One row of the history. */
export type AgentMessage =
  | UserMessage
  | AssistantMessage
  //#from s04
  | ToolResultMessage
//#end

/** What outlives a turn. */
export type AgentState = {
  //#until s06
  messages: AgentMessage[]
  //#end
  //#from s07
  messages: SessionTree
  //#end
  //#from s06
  model: string
  //#end
}

/** A message as the model gets to see it. */
export type ProviderMessage =
  | { role: "user"; content: string }
  | {
      role: "assistant"
      content: string
      //#from s04
      toolCalls?: ToolCall[]
      //#end
    }
  //#from s04
  | { role: "toolResult"; toolCallId: string; content: string }
//#end

/** One request. */
export type ProviderInput = {
  messages: ProviderMessage[]
  tools: ToolSpec[]
  //#from s08
  systemPrompt: string
  //#end
}

//#from s06
/** What the model is shown for the length of a turn. */
export type TurnSnapshot = ProviderInput
//#end

//#from s03
/** What a model sends while it answers. */
export type ProviderEvent =
  | { type: "message_start" }
  | { type: "text_delta"; text: string }
  | { type: "message_end"; stopReason: StopReason }
  //#end
  //#from s04
  | { type: "tool_call"; call: ToolCall }
//#end

/** The side of the model. */
export interface Provider {
  //#until s02
  complete(input: ProviderInput): Promise<AssistantMessage>
  //#end
  //#from s03
  stream(input: ProviderInput): AsyncGenerator<ProviderEvent>
  //#end
}

/** Where lines are shown. */
export type Output = { log(line: string): void }

/** The half of a tool that the model reads. */
export type ToolSpec = { name: string; description: string; input: Record<string, string> }

/** The half of a tool that the program runs. */
export type ToolHandler = (input: Record<string, string>) => string

/** Both halves. */
export type Tool = { spec: ToolSpec; handler: ToolHandler }

//#from s05
/** What a before-hook decides. */
export type BeforeToolCallResult = { type: "allow" } | { type: "block"; reason: string }

/** The rules around all tools. */
export type ToolHooks = {
  beforeToolCall?: (call: ToolCall) => BeforeToolCallResult
  afterToolCall?: (call: ToolCall, result: string) => string
}
//#end

/** What a turn needs besides the state. */
export type TurnOptions = {
  provider: Provider
  output: Output
  registry?: ToolRegistry
  //#from s04
  maxTurns?: number
  execute?: ToolExecutor
  //#end
  //#from s05
  hooks?: ToolHooks
  //#end
  //#from s08
  loader?: ResourceLoader
  //#end
  //#from s09
  extensions?: ExtensionRuntime
  //#end
  //#from s10
  mode?: RuntimeMode
  //#end
  //#from s11
  trust?: ProjectTrust
  //#end
}

// What is wrong, and how it is said

/** What was thrown, as a sentence that is never blank. Never throws. */
export function reasonFor(thrown: unknown): string {
  try {
    const text = String((thrown as Error | null | undefined)?.message ?? thrown ?? "")
    if (text.trim() !== "" && !text.startsWith("[object ")) return text
  } catch {}
  return "a failure without a description"
}

function kindOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value).slice(8, -1)
  } catch {
    return "unreadable"
  }
}

const showValue = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : `a value of kind ${kindOf(value)}`

//#from s04
/** Runs foreign code. What it throws now, or rejects with later, goes to `onFailure` and no further. */
function contain(action: () => unknown, onFailure: (thrown: unknown) => void = () => {}): void {
  try {
    const result = action()
    if (result instanceof Promise) result.catch(onFailure)
  } catch (thrown) {
    onFailure(thrown)
  }
}
//#end

/** The value as the schema hands it out. Throws a sentence that names the source and each fault. */
function admit<Out>(schema: z.ZodType<Out>, value: unknown, source: string): Out {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  //#from s04
  contain(() => value)
  //#end
  const faults = parsed.error.issues.map(({ path, message }) => [path.map(String).join("."), message].join(" ").trim())
  throw new TypeError(`${source} is not as expected: ${faults.join("; ")}; got ${showValue(value)}`)
}

const Text = z.string().transform((text) => text.toWellFormed())

const Texts = z
  .preprocess(
    (value) => (kindOf(value ?? {}) === "Object" ? { ...(value as object) } : value),
    z.record(z.string(), Text),
  )
  .transform((texts): Record<string, string> => {
    const rows = Object.entries(texts).map(([name, text]) => [name.toWellFormed(), text] as const)
    return Object.freeze(Object.fromEntries(rows))
  })

const Callable = z.custom<(...given: never) => unknown>((value) => typeof value === "function", "expected a function")

const ToolRow = z.object({ spec: z.object({ name: Text, description: Text, input: Texts }), handler: Callable })

// Tools

const toolNamed = (name: unknown): string => (typeof name === "string" ? `the tool "${name}"` : "the tool")

/** The tools of a program, in the order of their registration. */
export class ToolRegistry {
  #rows: [name: string, tool: Tool][] = []

  /** A door. Keeps a frozen copy; throws when the name is taken or the tool is none, and changes nothing then. */
  register(tool: Tool): void {
    const { spec, handler } = admit(ToolRow, tool, toolNamed(tool?.spec?.name))
    if (this.#find(spec.name) !== undefined)
      throw new Error(`there is a tool "${spec.name}" already: choose another name`)
    const bound = handler.bind(tool) as ToolHandler
    this.#rows.push([spec.name, Object.freeze({ spec: Object.freeze(spec), handler: bound })])
  }

  /** What the model gets to see. */
  getSpecs(): ToolSpec[] {
    return this.#rows.map(([, tool]) => tool.spec)
  }

  //#from s04
  /** Runs one call. Never throws: what fails is a text that begins with `error: `. */
  run(call: ToolCall): string {
    return textOf(`what ${toolNamed(call?.name)} returned`, () => {
      const { name, input } = sealCall(call)
      const tool = this.#find(name)
      if (tool === undefined) throw new Error(`no tool is called "${name}"`)
      return tool.handler({ ...input })
    })
  }
  //#end

  #find(name: string): Tool | undefined {
    return this.#rows.find(([other]) => other === name)?.[1]
  }
}

//#from s04
/** The text that an action returns; anything else is a text that begins with `error: `. */
function textOf(source: string, action: () => unknown): string {
  try {
    return admit(z.string(), action(), source)
  } catch (thrown) {
    return `error: ${reasonFor(thrown)}`
  }
}

// Calls and results

const CallHead = z.object({ id: Text, name: Text })

const CallRow = z.object({ id: Text, name: Text, input: Texts })

function sealCall(call: unknown): ToolCall {
  return Object.freeze(admit(CallRow, call, "the call"))
}

function resultOf(id: string, content: string): ToolResultMessage {
  return Object.freeze({ role: "toolResult", toolCallId: id, content: content.toWellFormed() })
}

function failureOf(id: string, thrown: unknown): ToolResultMessage {
  return resultOf(id, `error: ${reasonFor(thrown)}`)
}

/** Throws unless behind each message with calls stand exactly its results, in the order of its calls. */
export function assertPairedToolCalls(messages: readonly ProviderMessage[], from = 0): void {
  const say = (id: string | undefined): string => (id === undefined ? "no result" : `the result of "${id}"`)
  let owed: string[] = []
  let paid = 0
  for (const [offset, message] of [...messages.slice(from), undefined].entries()) {
    const place = from + offset
    const wanted = owed[paid]
    const came = message?.role === "toolResult" ? message.toolCallId : undefined
    if (wanted !== came)
      throw new Error(`message ${place} of the history: ${say(wanted)} belongs here, ${say(came)} came`)
    paid += 1
    if (message?.role !== "assistant") continue
    owed = (message.toolCalls ?? []).map((call) => call.id)
    paid = 0
    const twice = owed.find((id, index) => owed.indexOf(id) !== index)
    if (twice !== undefined) throw new Error(`message ${place} of the history has two calls with the id "${twice}"`)
  }
}
//#end

// Messages of the model

/** What has arrived of a message so far. */
type Draft = {
  text: string
  ending: unknown
  //#from s04
  calls: ToolCall[]
  //#end
}

/** One way in which a message can be no good, and the sentence for it. */
type Fault = { when: (draft: Draft) => boolean; say: (draft: Draft) => string }

const GOOD_ENDINGS: readonly unknown[] = [
  "stop",
  //#from s04
  "toolUse",
  //#end
]

/** The first row that applies is what is said. */
const FAULTS: Fault[] = [
  //#from s04
  {
    when: ({ ending, calls }) => ending === "toolUse" && calls.length === 0,
    say: () => "the model announced calls, and none came",
  },
  {
    when: ({ ending, calls }) => ending !== "toolUse" && calls.length > 0,
    say: ({ ending }) => `the message has calls and ended with ${showValue(ending)}`,
  },
  //#end
  {
    when: ({ ending }) => !GOOD_ENDINGS.includes(ending),
    say: ({ ending }) => `the message ended with ${showValue(ending)}`,
  },
  {
    when: ({ ending, text }) => ending === "stop" && text.trim() === "",
    say: () => "the model sent a message without any text",
  },
]

function newDraft(text = "", ending: unknown = undefined): Draft {
  return {
    text,
    ending,
    //#from s04
    calls: [],
    //#end
  }
}

function stamp(draft: Draft): AssistantMessage {
  const stopReason = draft.ending as StopReason
  const message: AssistantMessage = { role: "assistant", content: draft.text.toWellFormed(), stopReason }
  //#from s04
  if (draft.calls.length > 0) message.toolCalls = Object.freeze([...draft.calls]) as ToolCall[]
  //#end
  return Object.freeze(message)
}

function breakOff(draft: Draft, thrown: unknown): AssistantMessage {
  const rows = [draft.text, `error: ${reasonFor(thrown)}`].filter((row) => row.trim() !== "")
  return stamp({ ...draft, text: rows.join("\n"), ending: "error" })
}

function close(draft: Draft): AssistantMessage {
  const fault = FAULTS.find((row) => row.when(draft))
  return fault === undefined ? stamp(draft) : breakOff(draft, fault.say(draft))
}

//#until s02
const Answer = z.object({ content: z.string(), stopReason: z.unknown() })

async function ask(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  try {
    const { content, stopReason } = admit(Answer, await provider.complete(input), "the answer")
    return close(newDraft(content, stopReason))
  } catch (thrown) {
    return breakOff(newDraft(), thrown)
  }
}
//#end

//#from s03
const Head = z.object({ type: z.string() })

/** The message that a stream amounts to. Never throws: what breaks off is marked `error`, its text is kept. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  const draft = newDraft()
  let phase: "reading" | "complete" = "reading"
  try {
    for await (const event of events) {
      phase = take(draft, event)
      if (phase === "complete") break
    }
    if (phase !== "complete") throw new Error("the stream was over before the message had an end")
    return close(draft)
  } catch (thrown) {
    return breakOff(draft, thrown)
  }
}

/** A door: takes one event into the draft, and says in which state that leaves the stream. */
function take(draft: Draft, event: ProviderEvent): "reading" | "complete" {
  const { type } = admit(Head, event, "an event of the stream")
  switch (type) {
    case "message_start":
      return "reading"
    case "text_delta":
      draft.text += admit(z.string(), (event as { text?: unknown }).text, "the text of a text_delta")
      return "reading"
    //#end
    //#from s04
    case "tool_call":
      takeCall(draft.calls, (event as { call?: unknown }).call)
      return "reading"
    //#end
    //#from s03
    case "message_end":
      draft.ending = (event as { stopReason?: unknown }).stopReason
      return "complete"
    default:
      throw new TypeError(`the stream has no event of the type ${showValue(type)}`)
  }
}
//#end

//#from s04
/** Adds a call; one whose arguments are refused stays there without them, for it has to be answered. */
function takeCall(calls: ToolCall[], call: unknown): void {
  const head = admit(CallHead, call, "a call of the stream")
  if (calls.some(({ id }) => id === head.id)) throw new Error(`two calls of one message have the id "${head.id}"`)
  const row = calls.push(Object.freeze({ ...head, input: Object.freeze({}) })) - 1
  const input = admit(Texts, (call as { input?: unknown }).input, `the arguments of the call "${head.id}"`)
  calls[row] = Object.freeze({ ...head, input })
}
//#end

//#from s03
async function ask(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  try {
    return await collectAssistantMessage(await provider.stream(input))
  } catch (thrown) {
    return breakOff(newDraft(), thrown)
  }
}
//#end

//#from s05
// Hooks

const Hooks = z.custom<ToolHooks>(
  (value) => typeof value === "object" && value !== null && !(value instanceof Promise),
  "expected an object of functions",
)

/** The sentences of a before-hook. Whatever is in no row is no decision, and counts as a no. */
const DECISIONS: [type: string, complaint: (decision: { reason?: unknown }) => string | undefined][] = [
  ["allow", () => undefined],
  ["block", ({ reason }) => `blocked: ${reason ? reasonFor(reason) : "no reason was given"}`],
]

/** A door. Throws unless the hooks allow the call. */
function permit(given: unknown, call: ToolCall): ToolHooks {
  const hooks = admit(Hooks, given, "the hooks")
  if (hooks.beforeToolCall === undefined) return hooks
  const decision: unknown = hooks.beforeToolCall(call)
  const type = (decision as { type?: unknown } | null | undefined)?.type
  const row = DECISIONS.find(([name]) => name === type)
  if (row === undefined) {
    contain(() => decision)
    throw new TypeError(`blocked: beforeToolCall has to answer "allow" or "block", and gave ${showValue(decision)}`)
  }
  const complaint = row[1](decision as { reason?: unknown })
  if (complaint !== undefined) throw new Error(complaint)
  return hooks
}

/** A door. What the after-hook makes of a result; an error stays one. */
function revise(hooks: ToolHooks, call: ToolCall, result: string): string {
  const revised = admit(z.string(), hooks.afterToolCall?.(call, result) ?? result, "what afterToolCall returned")
  const failed = [result, revised].map((text) => text.startsWith("error: "))
  if (!failed[0] || failed[1]) return revised
  return revised.trim() === "" ? result : `error: ${revised}`
}

/** One call without a loop: hook, tool, hook. Never throws. */
export function executeToolCall(registry: ToolRegistry, hooks: ToolHooks, call: ToolCall): ToolResultMessage {
  let id = ""
  try {
    id = admit(Text, call.id, "the id of the call")
    const sealed = sealCall(call)
    const rules = permit(hooks, sealed)
    return resultOf(id, revise(rules, sealed, registry.run(sealed)))
  } catch (thrown) {
    return failureOf(id, thrown)
  }
}
//#end

//#from s04
// Running calls

type Asked = { call: ToolCall; message: AssistantMessage; shown: ToolSpec[] }

/** A call may run when no row is true of it. */
const GATES: { shut: (asked: Asked) => boolean; say: (asked: Asked) => string }[] = [
  {
    shut: ({ message }) => message.stopReason !== "toolUse",
    say: ({ message }) => `may not run: ${message.content.replace(/^[^]*?^error: /m, "")}`,
  },
  {
    shut: ({ call, shown }) => shown.every(({ name }) => name !== call.name),
    say: ({ call }) => `the model was shown no tool "${call.name}"`,
  },
]

/** A door. The result of one call, whatever fails. */
async function answerCall(asked: Asked, options: TurnOptions): Promise<ToolResultMessage> {
  const { call } = asked
  const registry = options.registry ?? new ToolRegistry()
  const execute = options.execute ?? ((given: ToolCall) => resultOf(given.id, registry.run(given)))
  try {
    const gate = GATES.find(({ shut }) => shut(asked))
    if (gate !== undefined) throw new Error(gate.say(asked))
    //#end
    //#from s04 until s04
    const reply = await execute(call)
    //#end
    //#from s05
    const hooks = permit(options.hooks === undefined ? {} : options.hooks, call)
    // All hooks are asked before the first call runs; and what the executor throws is for the after-hook to see.
    const reply = await Promise.resolve(call)
      .then(execute)
      .catch((thrown: unknown) => failureOf(call.id, thrown))
    //#end
    //#from s04
    const text = admit(z.string(), reply?.content, "the text that the executor answered with")
    if (reply.toolCallId !== call.id)
      throw new Error(`the executor answered ${showValue(reply.toolCallId)}, and was given "${call.id}"`)
    //#end
    //#from s04 until s04
    return resultOf(call.id, text)
    //#end
    //#from s05
    return resultOf(call.id, revise(hooks, call, text))
    //#end
    //#from s04
  } catch (thrown) {
    return failureOf(call.id, thrown)
  }
}
//#end

// The turn

function toProviderRow(message: AgentMessage): ProviderMessage {
  switch (message.role) {
    case "assistant": {
      const { stopReason, ...shown } = message
      return Object.freeze(shown)
    }
    default:
      return message
  }
}

function buildRequest(state: AgentState, options: TurnOptions): ProviderInput {
  return {
    //#until s06
    messages: state.messages.map(toProviderRow),
    //#end
    //#from s07
    messages: state.messages.currentPath().map(toProviderRow),
    //#end
    tools: options.registry?.getSpecs() ?? [],
    //#from s08 until s10
    systemPrompt: promptOf(options.loader?.load() ?? []),
    //#end
    //#from s11
    systemPrompt: promptOf(options.loader?.load(options.trust) ?? []),
    //#end
  }
}

//#from s06
/** What the model is shown for the length of a turn; the turn adds its own messages behind. */
export function createTurnSnapshot(state: AgentState, options: TurnOptions): TurnSnapshot {
  return buildRequest(state, options)
}
//#end

function record(state: AgentState, message: AgentMessage, options: TurnOptions): void {
  //#until s06
  state.messages.push(Object.freeze(message))
  //#end
  //#from s07
  state.messages.append(message)
  //#end
  if (message.role === "user") return
  //#until s03
  options.output.log(message.content)
  //#end
  //#from s04 until s08
  contain(() => options.output.log(visible(message.content)))
  //#end
  //#from s09
  tell({ type: "message", content: message.content }, options)
  //#end
}

//#from s04
/** The text with each control character, and what turns the direction of writing, in a form that can be seen. */
function visible(
  text: string,
  //#end
  //#from s10
  spell: (code: string) => string = (code) => `\\u{${code}}`,
  //#end
  //#from s04
): string {
  //#end
  //#from s04 until s09
  const spell = (code: string): string => `\\u{${code}}`
  //#end
  //#from s04
  return text.replace(/(?!\t|\r?\n)[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu, (sign) => spell(sign.charCodeAt(0).toString(16)))
}

const Limit = z.int("expected a whole number").positive("expected at least 1").default(8)

/** Asks, acts and asks again, until the model asks for nothing more or the limit is reached. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  let left = admit(Limit, options.maxTurns, "maxTurns")
  //#end
  //#from s06
  const fixed = createTurnSnapshot(state, options)
  let checked = 0
  //#end
  //#from s04
  let shown: ToolSpec[] = []
  let last = close(newDraft("max turns reached", "stop"))
  const keep = (message: AgentMessage): void => {
    record(state, message, options)
    //#end
    //#from s06
    fixed.messages.push(toProviderRow(message))
    //#end
    //#from s04
  }
  let phase: "ask" | "act" | "give up" | "done" = "ask"
  while (phase !== "done") {
    switch (phase) {
      case "ask": {
        //#end
        //#from s04 until s05
        const input = buildRequest(state, options)
        assertPairedToolCalls(input.messages)
        shown = input.tools
        //#end
        //#from s06
        const input = { ...fixed, messages: [...fixed.messages] }
        assertPairedToolCalls(fixed.messages, checked)
        checked = fixed.messages.length
        shown = fixed.tools
        //#end
        //#from s04
        // A copy of the list: whoever is handed the request has no say in which tools may run.
        last = await ask(options.provider, { ...input, tools: [...shown] })
        left -= 1
        keep(last)
        phase = "act"
        break
      }
      case "act": {
        const message = last
        const answers = (message.toolCalls ?? []).map((call) => answerCall({ call, message, shown }, options))
        for (const answer of answers) keep(await answer)
        if (message.stopReason !== "toolUse") phase = "done"
        else phase = left > 0 ? "ask" : "give up"
        break
      }
      case "give up":
        last = close(newDraft("max turns reached", "stop"))
        keep(last)
        phase = "done"
    }
  }
  return last
}
//#end

/** From one sentence of the person to the answer. */
export async function runOneTurn(state: AgentState, prompt: string, options: TurnOptions): Promise<AssistantMessage> {
  //#until s03
  record(state, { role: "user", content: prompt.toWellFormed() }, options)
  const message = await ask(options.provider, buildRequest(state, options))
  record(state, message, options)
  return message
  //#end
  //#from s04
  // A door: what refuses the turn does so before anything is recorded.
  admit(Limit, options.maxTurns, "maxTurns")
  const content = admit(Text, prompt, "the prompt")
  //#end
  //#from s04 until s06
  assertPairedToolCalls(buildRequest(state, options).messages)
  record(state, { role: "user", content }, options)
  return await runEventedToolLoop(state, options)
  //#end
  //#from s07
  const given = readOptions(options)
  const own: AgentState = { messages: state.messages, model: state.model }
  buildRequest(own, given)
  const release = own.messages.acquire()
  let message: AssistantMessage
  try {
    record(own, { role: "user", content }, given)
    message = await runEventedToolLoop(own, given)
  } finally {
    release()
  }
  //#end
  //#from s09
  tell({ type: "done" }, given)
  //#end
  //#from s07
  return message
  //#end
}

//#from s07
/** What a turn is given. It is read once, at its start. */
const OPTIONS: (keyof TurnOptions)[] = [
  "provider",
  "output",
  "registry",
  "maxTurns",
  "execute",
  "hooks",
  //#end
  //#from s08
  "loader",
  //#end
  //#from s09
  "extensions",
  //#end
  //#from s10
  "mode",
  //#end
  //#from s11
  "trust",
  //#end
  //#from s07
]

function readOptions(options: TurnOptions): TurnOptions {
  const rows = OPTIONS.map((name) => [name, options[name]]).filter(([, value]) => value !== undefined)
  return Object.fromEntries(rows) as TurnOptions
}

// The session

/** A message with its place in the session. */
export type SessionEntry = AgentMessage & { id: string; parentId: string | null }

/** A place in the session, and the way back from it. */
export type SessionNode = { entry: SessionEntry; message: AgentMessage; parent: SessionNode | null }

const MessageRow = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), content: Text }),
  z.object({ role: z.literal("toolResult"), toolCallId: Text, content: Text }),
  z.object({
    role: z.literal("assistant"),
    content: Text,
    stopReason: z.enum(["stop", "error", "toolUse"]),
    toolCalls: z.array(CallRow).nullish(),
  }),
])

function copyMessage(message: unknown): AgentMessage {
  const row = admit(MessageRow, message, "the message")
  if (row.role !== "assistant") return Object.freeze(row)
  const draft: Draft = {
    text: row.content,
    ending: row.stopReason,
    calls: (row.toolCalls ?? []).map((call) => Object.freeze(call)),
  }
  return stamp(draft)
}

/** All that was said, on whichever branch. Nothing is ever changed or removed. */
export class SessionTree {
  // Four columns: a row is one place. The parent of a first place is -1, and so is the place before all of them.
  #ids: string[] = []
  #parents: number[] = []
  #messages: AgentMessage[] = []
  #entries: SessionEntry[] = []
  #here = -1
  #turn = 0
  #running = 0

  /** The id of the current place; null before the first message. */
  get leafId(): string | null {
    return this.#ids[this.#here] ?? null
  }

  /** A door. Adds a copy behind the current place, which it then is. Throws when it is no message. */
  append(message: AgentMessage): SessionEntry {
    const sealed = copyMessage(message)
    const id = `row-${this.#ids.length}`
    const entry: SessionEntry = Object.freeze({ ...sealed, id, parentId: this.leafId })
    this.#parents.push(this.#here)
    this.#messages.push(sealed)
    this.#entries.push(entry)
    this.#here = this.#ids.push(id) - 1
    return entry
  }

  /** Stands somewhere else; null is before the first message. Throws during a turn, or between calls and results. */
  moveTo(id: string | null): void {
    if (this.#running !== 0) throw new Error("nobody moves in a session while a turn runs on it: wait for its end")
    const row = id === null ? -1 : this.#ids.indexOf(id)
    if (id !== null && row === -1) throw new Error(`this session has no entry "${id}"`)
    assertPairedToolCalls(this.#pathTo(row))
    this.#here = row
  }

  /** The messages from the first one to the current place. */
  currentPath(): AgentMessage[] {
    return this.#pathTo(this.#here)
  }

  /** All entries, in the order of their arrival. */
  allEntries(): SessionEntry[] {
    return [...this.#entries]
  }

  /** Reserves the session for a turn, and gives what ends that turn. Throws while another one runs. */
  acquire(): () => void {
    if (this.#running !== 0) throw new Error("another turn runs on this session: wait for its end")
    assertPairedToolCalls(this.currentPath())
    this.#turn += 1
    const mine = this.#turn
    this.#running = mine
    return () => {
      if (this.#running === mine) this.#running = 0
    }
  }

  #pathTo(last: number): AgentMessage[] {
    const path: AgentMessage[] = []
    for (let row = last; row !== -1; row = this.#parents[row] ?? -1) path.push(this.#messages[row] as AgentMessage)
    return path.reverse()
  }
}
//#end

//#from s08
// Texts of the project

/** A text for the model to read. */
export type ContextResource = { kind: "agents" | "skill" | "prompt"; name: string; content: string }

const KINDS = ["agents", "skill", "prompt"] as const

const ResourceRow = z.object({ kind: z.enum(KINDS), name: Text, content: Text })

const sealResources = (resources: unknown): ContextResource[] => admit(z.array(ResourceRow), resources, "the resources")

/** The texts of a project. */
export class ResourceLoader {
  #rows: ContextResource[]

  /** A door. Keeps copies; throws when one is no resource. */
  constructor(resources: ContextResource[]) {
    this.#rows = sealResources(resources)
  }
  //#end

  //#from s08 until s10
  /** Copies of the texts, in their order. */
  load(): ContextResource[] {
    return this.#rows.map((row) => ({ ...row }))
  }
  //#end
  //#from s11
  /** Copies of the texts, in their order; none, unless the project is trusted. */
  load(trust?: ProjectTrust): ContextResource[] {
    return trust === "trusted" ? this.#rows.map((row) => ({ ...row })) : []
  }
  //#end

  //#from s12
  /** A door. Adds all of the texts; throws, and adds none, when one is no resource. */
  add(resources: ContextResource[]): void {
    this.#rows = [...this.#rows, ...sealResources(resources)]
  }
  //#end
  //#from s08
}

const HEADING_LIMIT = 100

const CONTENT_LIMIT = 20_000

/** At most so many units of a text, no character cut in half; what is missing is said in its last line. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text
  const kept = text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")
  return `${kept}\n[cut: ${kept.length} of ${text.length} characters]`
}

/** The system prompt: only what the program says stands at the margin. */
function promptOf(resources: ContextResource[]): string {
  const ordered = KINDS.flatMap((kind) => resources.filter((row) => row.kind === kind))
  return ordered.map((row) => [headingOf(row), ...indented(row.content)].join("\n")).join("\n\n")
}

function headingOf({ kind, name }: ContextResource): string {
  return `# ${kind}: ${shorten(name.replace(/[\p{C}\p{Z}]+/gu, " ").trim(), HEADING_LIMIT).replace("\n", " ")}`
}

function indented(content: string): string[] {
  return shorten(content, CONTENT_LIMIT)
    .split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/)
    .map((line) => `  ${line}`)
}
//#end

//#from s09
// Extensions

/** What a person runs by its name. */
export type Command = { name: string; run: () => string }

/** What the loop tells the outside. */
export type RuntimeEvent = { type: "message"; content: string } | { type: "done" }

/** Hears an event. */
export type EventHandler = (event: RuntimeEvent) => void

/** What an extension may do, and only during its setup. */
export type ExtensionAPI = {
  on(type: RuntimeEvent["type"], handler: EventHandler): void
  registerTool(tool: Tool): void
  registerCommand(command: Command): void
}

/** Code from outside. */
export type Extension = (api: ExtensionAPI) => void

const CommandRow = z.object({ name: Text.refine((name) => name !== "", "expected a name"), run: Callable })

const HandlerRow = z.tuple([z.enum(["message", "done"]), Callable])

type HandlerEntry = { owner: string; type: RuntimeEvent["type"]; hear: EventHandler }

/** What one extension has asked for so far. */
type Request = { tools: Tool[]; commands: Command[]; handlers: HandlerEntry[]; open: boolean }

/** The extensions of a program. Their tools go into the registry, their failures to the output, by name. */
export class ExtensionRuntime {
  #registry: ToolRegistry
  #output: Output
  #used: [extension: Extension, owner: string | undefined][] = []
  #commands: [name: string, command: Command][] = []
  #handlers: HandlerEntry[] = []

  constructor(registry: ToolRegistry, output: Output) {
    this.#registry = registry
    this.#output = output
  }

  /** A door. Adds all that the extension registers and gives true; or nothing, reports it by name, and gives false. */
  use(extension: Extension, owner?: string): boolean {
    const name =
      owner ?? (typeof extension === "function" && extension.name !== "" ? String(extension.name) : "anonymous")
    const request: Request = { tools: [], commands: [], handlers: [], open: true }
    const twice = this.#used.some(([other, by]) => other === extension || (owner !== undefined && by === owner))
    if (twice) return this.#report(name, "it is in use already")
    this.#used.push([extension, owner])
    try {
      const result: unknown = extension(openTo(request, name))
      admit(
        z.custom((value) => !(value instanceof Promise), "a setup has to be done when it returns"),
        result,
        "the setup",
      )
      const tools = [
        ...this.#registry.getSpecs().map((spec) => spec.name),
        ...request.tools.map(({ spec }) => spec.name),
      ]
      const commands = [...this.getCommands(), ...request.commands.map((command) => command.name)]
      for (const [kind, names] of [
        ["tool", tools],
        ["command", commands],
      ] as const) {
        const taken = names.find((one, index) => names.indexOf(one) !== index)
        if (taken !== undefined) throw new Error(`there is a ${kind} "${taken}" already`)
      }
    } catch (thrown) {
      this.#used = this.#used.filter(([other]) => other !== extension)
      return this.#report(name, thrown)
    } finally {
      request.open = false
    }
    for (const tool of request.tools) this.#registry.register(tool)
    this.#commands.push(...request.commands.map((command): [string, Command] => [command.name, command]))
    this.#handlers.push(...request.handlers)
    return true
  }
  //#end

  //#from s11
  /** A door. Fetches an extension of the project and uses it; fetches nothing, unless the project is trusted. */
  async useProject(fetchExtension: () => Extension | Promise<Extension>, trust?: ProjectTrust): Promise<boolean> {
    if (trust !== "trusted") return false
    let fetched: Extension
    try {
      fetched = await fetchExtension()
    } catch (thrown) {
      return this.#report("project", thrown)
    }
    return this.use(fetched)
  }
  //#end

  //#from s09
  /** The names of all commands. */
  getCommands(): string[] {
    return this.#commands.map(([name]) => name)
  }

  /** Runs a command. Never throws: what fails is a text that begins with `error: `. */
  runCommand(name: string): string {
    return textOf(`the command ${showValue(name)}`, () => {
      const row = this.#commands.find(([other]) => other === name)
      if (row === undefined) throw new Error(`no command is called ${showValue(name)}`)
      return row[1].run()
    })
  }

  /** Tells all who listen now. What fails is reported, and keeps nobody else from hearing. */
  emit(event: RuntimeEvent): void {
    const told = Object.freeze({ ...event })
    for (const { owner, hear } of this.#handlers.filter(({ type }) => type === told.type)) {
      contain(
        () => hear(told),
        (thrown) => this.#report(owner, thrown),
      )
    }
  }

  #report(owner: string, thrown: unknown): false {
    contain(() => this.#output.log(visible(`extension "${owner}" failed: ${reasonFor(thrown)}`)))
    return false
  }
}

/** The API for one setup: it writes into the request and nowhere else. */
function openTo(request: Request, owner: string): ExtensionAPI {
  const whileOpen = (): void => {
    if (!request.open) throw new Error("this setup is over: an extension registers during its setup only")
  }
  return {
    on(type, handler) {
      whileOpen()
      const [heard, hear] = admit(HandlerRow, [type, handler], "the handler")
      request.handlers.push({ owner, type: heard, hear: hear as EventHandler })
    },
    registerTool(tool) {
      whileOpen()
      const { spec, handler } = admit(ToolRow, tool, toolNamed(tool?.spec?.name))
      request.tools.push({ spec, handler: handler.bind(tool) as ToolHandler })
    },
    registerCommand(command) {
      whileOpen()
      const { name, run } = admit(CommandRow, command, `the command ${showValue(command?.name)}`)
      request.commands.push({ name, run: run.bind(command) as Command["run"] })
    },
  }
}

/** Tells the outside what happened. Never throws. */
function tell(event: RuntimeEvent, options: TurnOptions): void {
  //#end
  //#from s09 until s09
  if (event.type === "message") contain(() => options.output.log(visible(event.content)))
  //#end
  //#from s09
  contain(() => options.extensions?.emit(event))
  //#end
  //#from s10
  contain(() => (options.mode ?? new PrintMode(options.output)).render([event]))
  //#end
  //#from s09
}
//#end

//#from s10
// Modes

/** One way to show what happens. */
export type RuntimeMode = { render(events: RuntimeEvent[]): void }

/** For people: line by line, control characters in a form that can be seen. */
export class PrintMode implements RuntimeMode {
  #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  /** Shows the messages among the events. */
  render(events: RuntimeEvent[]): void {
    const texts = events.flatMap((event) => (event.type === "message" ? [visible(event.content)] : []))
    const lines = texts.flatMap((text) => text.split(/\r?\n/))
    for (const line of lines) contain(() => this.#output.log(line))
  }
}

/** For programs: one JSON object per line and nothing else. */
export class JsonMode implements RuntimeMode {
  #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  /** Writes the events, each as one line. */
  render(events: RuntimeEvent[]): void {
    const lines = events.map((event) => visible(JSON.stringify(event), (code) => `\\u${code.padStart(4, "0")}`))
    for (const line of lines) contain(() => this.#output.log(line))
  }
}
//#end

//#from s11
// Trust

/** What a person has decided about a project. Nothing said counts as untrusted. */
export type ProjectTrust = "trusted" | "untrusted"
//#end

//#from s12
// Packages

/** The names of what a package holds. */
export type PackageManifest = { name: string; tools: string[]; commands: string[]; resources: string[] }

/** A package that nobody has looked at yet. */
export type Package = { manifest: PackageManifest; contents: Record<string, string> }

/** A package that is right in all of its parts. */
export type LoadedPackage = {
  name: string
  tools: Record<string, string>
  commands: Record<string, string>
  resources: Record<string, string>
}

const PlainName = z
  .string()
  .max(64)
  .regex(
    /^[A-Za-z](?:\.?[A-Za-z0-9_-])*$/,
    "a name has letters, digits, dots, underscores and hyphens, and begins with a letter",
  )

const PackageRow = z.strictObject({
  manifest: z.strictObject({
    name: PlainName,
    tools: z.array(PlainName),
    commands: z.array(PlainName),
    resources: z.array(PlainName),
  }),
  contents: z.array(z.tuple([z.string(), z.unknown()]), "expected texts by name"),
})

/** What is said of one name, by how often it is listed and what stands under it. */
const NAME_FAULTS: { when: (listed: number, content: unknown) => boolean; say: string }[] = [
  { when: (listed) => listed === 0, say: "is not listed in the manifest" },
  { when: (listed) => listed > 1, say: "is listed more than once" },
  { when: (_, content) => typeof content !== "string", say: "has no text" },
]

function nameFaults(listed: string[], rows: [string, unknown][]): string[] {
  const names = [...listed, ...rows.map(([name]) => name)].filter((name, index, all) => all.indexOf(name) === index)
  return names.flatMap((name) => {
    const count = listed.filter((other) => other === name).length
    const content = rows.find(([other]) => other === name)?.[1]
    return NAME_FAULTS.filter(({ when }) => when(count, content)).map(({ say }) => `${JSON.stringify(name)} ${say}`)
  })
}

const NameLists = z.object({
  tools: z.array(z.string()),
  commands: z.array(z.string()),
  resources: z.array(z.string()),
})

/** A door. The package by kinds, each name with its text; throws every reason that it has to refuse it. */
export function loadPackage(pkg: Package): LoadedPackage {
  const given = { ...pkg }
  // A copy in rows: what is looked at is what is handed out.
  const rows = kindOf(given.contents) === "Object" ? Object.entries(given.contents) : undefined
  const whole = PackageRow.safeParse({ ...given, contents: rows })
  const lists = NameLists.safeParse(given.manifest)
  const faults = whole.success ? [] : whole.error.issues.map(({ path, message }) => `${path.join(".")} ${message}`)
  if (lists.success && rows !== undefined) {
    faults.push(...nameFaults([...lists.data.tools, ...lists.data.commands, ...lists.data.resources], rows))
  }
  if (!whole.success || faults.length > 0) throw new Error(visible(`the package is refused:\n${faults.join("\n")}`))
  const { name, tools, commands, resources } = whole.data.manifest
  const pick = (names: string[]): Record<string, string> =>
    Object.freeze(Object.fromEntries(names.map((one) => [one, textUnder(one, rows ?? [])])))
  return { name, tools: pick(tools), commands: pick(commands), resources: pick(resources) }
}

function textUnder(name: string, rows: [string, string][]): string {
  return (rows.find(([other]) => other === name)?.[1] ?? "").toWellFormed()
}

/** Installs all of a package and gives true; or nothing, unless the project is trusted and nothing clashes. */
export function installLoadedPackage(
  pkg: LoadedPackage,
  extensions: ExtensionRuntime,
  loader: ResourceLoader,
  trust?: ProjectTrust,
): boolean {
  if (trust !== "trusted") return false
  let texts: ContextResource[] = []
  const extension: Extension = (api) => {
    const skills = Object.entries(pkg.resources).map(([name, content]) => ({ kind: "skill", name, content }))
    texts = sealResources(skills)
    for (const [name, text] of Object.entries(pkg.tools)) {
      api.registerTool({
        spec: { name, description: `comes with the package ${pkg.name}`, input: {} },
        handler: () => text,
      })
    }
    for (const [name, text] of Object.entries(pkg.commands)) api.registerCommand({ name, run: () => text })
  }
  if (!extensions.use(extension, pkg.name)) return false
  loader.add(texts)
  return true
}
//#end
