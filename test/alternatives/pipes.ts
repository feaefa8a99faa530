// Habits: things flow, and somebody at the end takes them. The loop is a generator of events with consumers, a stream
// goes through transforms, results come down a chain of promises; what a class keeps for itself lies in a weak map, and
// what may fail gives `{ ok }`, which only the doors turn into an exception.

/** How a message of the model ended. */
export type StopReason =
  | "stop"
  | "error"
  //#from s04
  | "toolUse"
//#end

/** What the person said. */
export type UserMessage = {
  role: "user"
  content: string
}

/** What the model said. */
export type AssistantMessage = {
  role: "assistant"
  content: string
  stopReason: StopReason
  //#from s04
  toolCalls?: ToolCall[]
  //#end
}

/** Whatever can stand in a history. */
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

/** What a request has of a message. */
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

/** A request. */
export type ProviderInput = {
  messages: ProviderMessage[]
  tools: ToolSpec[]
  //#from s08
  systemPrompt: string
  //#end
}

/** Whoever answers requests. */
export interface Provider {
  //#until s02
  complete(input: ProviderInput): Promise<AssistantMessage>
  //#end
  //#from s03
  stream(input: ProviderInput): AsyncGenerator<ProviderEvent>
  //#end
}

/** Takes lines. */
export type Output = { log(line: string): void }

/** All that a turn is given. */
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

// Outcomes

type Outcome<Value> = { ok: true; value: Value } | { ok: false; reason: string }

const good = <Value>(value: Value): Outcome<Value> => ({ ok: true, value })

const bad = (reason: string): { ok: false; reason: string } => ({ ok: false, reason })

/** A door: what is bad is thrown. */
function passed<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new TypeError(outcome.reason)
  return outcome.value
}

function then<From, To>(outcome: Outcome<From>, next: (value: From) => Outcome<To>): Outcome<To> {
  return outcome.ok ? next(outcome.value) : outcome
}

function tried<Value>(action: () => Outcome<Value>): Outcome<Value> {
  try {
    return action()
  } catch (thrown) {
    return bad(whatWasThrown(thrown))
  }
}

async function triedLater<Value>(action: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> {
  try {
    return await action()
  } catch (thrown) {
    return bad(whatWasThrown(thrown))
  }
}

/** A sentence about anything that can be thrown; never blank. */
function whatWasThrown(thrown: unknown): string {
  let text = ""
  try {
    const { message } = Object(thrown ?? "") as { message?: unknown }
    text = String(message ?? thrown ?? "")
  } catch {
    text = ""
  }
  return /^\s*$|^\[object /.test(text) ? "something failed and did not say why" : text
}

/** Foreign code: what it throws, now or later, flows to `drain`. */
function fenced(action: () => unknown, drain: (reason: string) => void = () => undefined): void {
  const late = (thrown: unknown): void => drain(whatWasThrown(thrown))
  const outcome = tried(() => good(action()))
  if (!outcome.ok) drain(outcome.reason)
  else if (outcome.value instanceof Promise) outcome.value.catch(late)
}

function kind(value: unknown): string {
  try {
    return Object.prototype.toString.call(value).slice(8, -1).toLowerCase()
  } catch {
    return "something that cannot be looked at"
  }
}

/** A value in a sentence; of a long text, its beginning. */
function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 50)) : kind(value)
}

/** Says no to a value; should that be a promise, nobody has to catch it any more. */
function no<Value>(what: string, wanted: string, value: unknown): Outcome<Value> {
  fenced(() => value)
  return bad(`${what} has to be ${wanted}, and is ${shown(value)}`)
}

function asText(value: unknown, what: string): Outcome<string> {
  return typeof value === "string" ? good(value.toWellFormed()) : no(what, "a text", value)
}

function asFunction<Wanted>(value: Wanted, what: string): Outcome<Wanted> {
  return typeof value === "function" ? good(value) : no(what, "a function", value)
}

/** A frozen copy of texts by name. */
function asTexts(value: unknown, what: string): Outcome<Record<string, string>> {
  return tried(() => {
    if (kind(value) !== "object") return no(what, "an object with texts", value)
    const texts = new Map<string, string>()
    for (const [name, content] of Object.entries(value as object)) {
      const text = asText(content, `${JSON.stringify(name)} in ${what}`)
      if (!text.ok) return text
      texts.set(name.toWellFormed(), text.value)
    }
    return good(Object.freeze(Object.fromEntries(texts)))
  })
}

/** What an object keeps for itself. */
function inside<Owner extends object, State>(store: WeakMap<Owner, State>, owner: Owner): State {
  const state = store.get(owner)
  if (state === undefined) throw new TypeError("this object was not made by its constructor")
  return state
}

// Tools

/** What the model reads of a tool. */
export type ToolSpec = {
  name: string
  description: string
  input: Record<string, string>
}

/** What the program runs of a tool. */
export type ToolHandler = (input: Record<string, string>) => string

/** A tool: something to read, and something to run. */
export type Tool = {
  spec: ToolSpec
  handler: ToolHandler
}

const toolsOf = new WeakMap<ToolRegistry, Map<string, Tool>>()

/** Keeps tools by name. */
export class ToolRegistry {
  constructor() {
    toolsOf.set(this, new Map())
  }

  /** A door: takes a copy. Throws, with nothing changed, when it is no tool or its name is taken. */
  register(tool: Tool): void {
    const tools = inside(toolsOf, this)
    const copy = passed(asTool(tool))
    if (tools.has(copy.spec.name)) throw new Error(`the name "${copy.spec.name}" belongs to another tool`)
    tools.set(copy.spec.name, copy)
  }

  /** The specs of all tools, as they were registered one after the other. */
  getSpecs(): ToolSpec[] {
    return Array.from(inside(toolsOf, this).values(), ({ spec }) => spec)
  }

  //#from s04
  /** The answer of one call; what fails is a text that begins with `error: `. */
  run(call: ToolCall): string {
    const tools = inside(toolsOf, this)
    return asAnswer(
      then(asCall(call), ({ name, input }) => {
        const tool = tools.get(name)
        return tool === undefined
          ? bad(`nobody registered a tool "${name}"`)
          : answerOf(`the answer of the tool "${name}"`, () => tool.handler({ ...input }))
      }),
    )
  }
  //#end
}

function asTool(tool: unknown): Outcome<Tool> {
  return tried(() => {
    const { spec, handler } = Object(tool) as Partial<Tool>
    const { name, description, input } = Object(spec) as Partial<ToolSpec>
    return then(asText(name, "the name of a tool"), (name) =>
      then(asText(description, `the description of the tool "${name}"`), (description) =>
        then(asTexts(input ?? {}, `the input of the tool "${name}"`), (input) =>
          then(asFunction(handler, `the handler of the tool "${name}"`), (handler) =>
            good(
              Object.freeze({
                spec: Object.freeze({ name, description, input }),
                handler: (handler as ToolHandler).bind(tool),
              }),
            ),
          ),
        ),
      ),
    )
  })
}

//#from s04
/** The text that foreign code returns. */
function answerOf(what: string, action: () => unknown): Outcome<string> {
  return tried(() => asText(action(), what))
}

function asAnswer(outcome: Outcome<string>): string {
  return outcome.ok ? outcome.value : `error: ${outcome.reason}`
}

// Calls

/** Something that the model wants to have run. */
export type ToolCall = {
  id: string
  name: string
  input: Record<string, string>
}

/** The one answer to a call. */
export type ToolResultMessage = {
  role: "toolResult"
  toolCallId: string
  content: string
}

/** Whoever runs calls instead of the registry. */
export type ToolExecutor = (call: ToolCall) => ToolResultMessage | Promise<ToolResultMessage>

/** A call without its arguments. */
function asBareCall(call: unknown): Outcome<ToolCall> {
  return tried(() => {
    const { id, name } = Object(call) as Partial<ToolCall>
    return then(asText(id, "the id of a call"), (id) =>
      then(asText(name, `the tool of the call "${id}"`), (name) =>
        good(Object.freeze({ id, name, input: Object.freeze({}) })),
      ),
    )
  })
}

function withArguments(bare: ToolCall, call: unknown): Outcome<ToolCall> {
  return then(
    tried(() => asTexts((call as ToolCall).input ?? {}, `the input of the call "${bare.id}"`)),
    (input) => good(Object.freeze({ ...bare, input })),
  )
}

function asCall(call: unknown): Outcome<ToolCall> {
  return then(asBareCall(call), (bare) => withArguments(bare, call))
}

function resultFor(id: string, outcome: Outcome<string>): ToolResultMessage {
  return Object.freeze({ role: "toolResult", toolCallId: id, content: asAnswer(outcome).toWellFormed() })
}

/** A door: throws at the first place where calls and results are no pairs, in order and side by side. */
export function assertPairedToolCalls(messages: readonly ProviderMessage[], from = 0): void {
  passed(paired(messages, from))
}

function paired(messages: readonly ProviderMessage[], from: number): Outcome<true> {
  const open = new Set<string>()
  for (let index = from; index < messages.length; index++) {
    const message = messages[index] as ProviderMessage
    const [next] = open
    const result = message.role === "toolResult" ? message.toolCallId : undefined
    if (next !== result) return unpaired(index, next, result)
    if (next !== undefined) open.delete(next)
    for (const { id } of (message.role === "assistant" && message.toolCalls) || []) {
      if (open.has(id)) return bad(`messages[${index}] calls twice with the id "${id}"`)
      open.add(id)
    }
  }
  const [next] = open
  return next === undefined ? good(true) : unpaired(messages.length, next, undefined)
}

function unpaired(index: number, wanted: string | undefined, found: string | undefined): Outcome<true> {
  const result = (id: string | undefined): string =>
    id === undefined ? "anything but a result" : `the result of "${id}"`
  return bad(`messages[${index}] has to be ${result(wanted)}, and is ${result(found)}`)
}
//#end

// Answers

/** What there is of an answer. */
type Gathered = {
  text: string
  //#from s04
  calls: Map<string, ToolCall>
  //#end
}

const nothingYet = (): Gathered => ({
  text: "",
  //#from s04
  calls: new Map(),
  //#end
})

/** Makes a message of an answer: `ending` is how the model ended it, or why it broke off. */
function asMessage(gathered: Gathered, ending: Outcome<unknown>): AssistantMessage {
  const whole = then(ending, (stopReason) => asEnding(gathered, stopReason))
  const lines = whole.ok ? [gathered.text] : [gathered.text, `error: ${whole.reason}`].filter((line) => /\S/.test(line))
  return Object.freeze({
    role: "assistant",
    content: lines.join("\n").toWellFormed(),
    stopReason: whole.ok ? whole.value : "error",
    //#from s04
    ...(gathered.calls.size > 0 && { toolCalls: Object.freeze(Array.from(gathered.calls.values())) as ToolCall[] }),
    //#end
  })
}

function asEnding(gathered: Gathered, stopReason: unknown): Outcome<StopReason> {
  //#from s04
  if (stopReason === "toolUse" && gathered.calls.size > 0) return good(stopReason)
  if (stopReason === "toolUse") return bad("the answer was to have calls and has none")
  if (gathered.calls.size > 0) return no("the ending of an answer with calls", '"toolUse"', stopReason)
  //#end
  if (stopReason !== "stop") return no("the ending of an answer", '"stop"', stopReason)
  return /\S/.test(gathered.text) ? good(stopReason) : bad("the answer is empty")
}

//#until s02
async function answerFrom(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  const gathered = nothingYet()
  const ending = await triedLater(async () => {
    const { content, stopReason } = await provider.complete(input)
    return then(asText(content, "the answer"), (text) => {
      gathered.text = text
      return good(stopReason as unknown)
    })
  })
  return asMessage(gathered, ending)
}
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

//#from s03
/** What an event has for the message. */
type Piece =
  | { kind: "text"; text: string }
  //#end
  //#from s04
  | { kind: "call"; call: ToolCall }
  //#end
  //#from s03
  | { kind: "end"; stopReason: unknown }

/** First transform: events, each checked, become pieces. */
async function* toPieces(events: AsyncIterable<ProviderEvent>): AsyncGenerator<Outcome<Piece>> {
  //#end
  //#from s04
  const ids = new Set<string>()
  //#end
  //#from s03
  for await (const event of events) {
    const { type } = Object(event) as { type?: unknown }
    const readers = new Map<unknown, () => Iterable<Outcome<Piece>>>([
      ["message_start", () => []],
      ["text_delta", () => [textPiece((event as { text?: unknown }).text)]],
      //#end
      //#from s04
      ["tool_call", () => callPieces((event as { call?: unknown }).call, ids)],
      //#end
      //#from s03
      ["message_end", () => [good({ kind: "end", stopReason: (event as { stopReason?: unknown }).stopReason })]],
    ])
    const read =
      readers.get(type) ?? (() => [no<Piece>("the type of an event", Array.from(readers.keys()).join(", "), type)])
    yield* read()
  }
}

function textPiece(text: unknown): Outcome<Piece> {
  // Half a character may find its other half in the next piece.
  return typeof text === "string" ? good({ kind: "text", text }) : no("the text of a text_delta", "a text", text)
}
//#end

//#from s04
/** The call without arguments comes first: should they be bad, it is there all the same. */
function* callPieces(call: unknown, ids: Set<string>): Generator<Outcome<Piece>> {
  const bare = asBareCall(call)
  if (!bare.ok) return yield bare
  const { id } = bare.value
  if (ids.has(id)) return yield bad(`the id "${id}" stands for two calls of one answer`)
  ids.add(id)
  yield good({ kind: "call", call: bare.value })
  yield then(withArguments(bare.value, call), (whole) => good({ kind: "call", call: whole }))
}
//#end

//#from s03
/** Second transform: nothing flows behind the end, or behind the first bad piece. */
async function* untilEnd(pieces: AsyncIterable<Outcome<Piece>>): AsyncGenerator<Outcome<Piece>> {
  for await (const piece of pieces) {
    yield piece
    if (!piece.ok || piece.value.kind === "end") return
  }
  yield bad("the stream stopped, and the answer had no end")
}

/** Collects a stream; whatever breaks it off becomes a message that says so, behind the text so far. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  const gathered = nothingYet()
  const ending = await triedLater(async () => {
    let last: Outcome<unknown> = good(undefined)
    for await (const piece of untilEnd(toPieces(events))) {
      if (!piece.ok) last = piece
      else if (piece.value.kind === "end") last = good(piece.value.stopReason)
      else if (piece.value.kind === "text") gathered.text += piece.value.text
      //#end
      //#from s04
      else gathered.calls.set(piece.value.call.id, piece.value.call)
      //#end
      //#from s03
    }
    return last
  })
  return asMessage(gathered, ending)
}

async function answerFrom(provider: Provider, input: ProviderInput): Promise<AssistantMessage> {
  const stream = await triedLater(async () => good(await provider.stream(input)))
  return stream.ok ? collectAssistantMessage(stream.value) : asMessage(nothingYet(), stream)
}
//#end

//#from s05
// Hooks

/** Go ahead, or stop and why. */
export type BeforeToolCallResult = { type: "allow" } | { type: "block"; reason: string }

/** What is asked before and after each call. */
export type ToolHooks = {
  beforeToolCall?: (call: ToolCall) => BeforeToolCallResult
  afterToolCall?: (call: ToolCall, result: string) => string
}

/** A door: only a clear yes is a yes. */
function allowed(hooks: ToolHooks, call: ToolCall): Outcome<ToolHooks> {
  return tried(() => {
    if (typeof hooks !== "object" || hooks === null || hooks instanceof Promise) return no("hooks", "an object", hooks)
    if (hooks.beforeToolCall === undefined) return good(hooks)
    const decision: unknown = hooks.beforeToolCall(call)
    const { type, reason } = Object(decision) as { type?: unknown; reason?: unknown }
    if (type === "allow") return good(hooks)
    if (type === "block") return bad(`blocked: ${String(reason || "without a reason")}`)
    return no("the decision of beforeToolCall", "allow or block", decision)
  })
}

/** A door: what a result is after the hook. A failure stays a failure. */
function revised(hooks: ToolHooks, call: ToolCall, result: string): Outcome<string> {
  const failed = (text: string): boolean => text.startsWith("error: ")
  return then(
    answerOf("the answer of afterToolCall", () => hooks.afterToolCall?.(call, result) ?? result),
    (text) => {
      if (!failed(result) || failed(text)) return good(text)
      return good(/\S/.test(text) ? `error: ${text}` : result)
    },
  )
}

/** One call, without a loop and without an exception. */
export function executeToolCall(registry: ToolRegistry, hooks: ToolHooks, call: ToolCall): ToolResultMessage {
  const id = tried(() => asText(call.id, "the id of a call"))
  const answer = then(asCall(call), (sealed) =>
    then(allowed(hooks, sealed), (rules) =>
      then(
        answerOf("the answer of the registry", () => registry.run(sealed)),
        (text) => revised(rules, sealed, text),
      ),
    ),
  )
  return resultFor(id.ok ? id.value : "", answer)
}
//#end

// Requests

function withoutNotes(message: AgentMessage): ProviderMessage {
  if (message.role !== "assistant") return message
  const shown = new Map(Object.entries(message))
  shown.delete("stopReason")
  return Object.freeze(Object.fromEntries(shown)) as ProviderMessage
}

function requestFrom(state: AgentState, options: TurnOptions): ProviderInput {
  return {
    //#until s06
    messages: Array.from(state.messages, withoutNotes),
    //#end
    //#from s07
    messages: Array.from(state.messages.currentPath(), withoutNotes),
    //#end
    tools: Array.from(options.registry?.getSpecs() ?? []),
    //#from s08 until s10
    systemPrompt: promptFrom(options.loader?.load() ?? []),
    //#end
    //#from s11
    systemPrompt: promptFrom(options.loader?.load(options.trust) ?? []),
    //#end
  }
}

//#from s06
/** A request that a whole turn goes by. */
export type TurnSnapshot = ProviderInput

/** Takes the snapshot: later changes of history or tools do not reach it. */
export function createTurnSnapshot(state: AgentState, options: TurnOptions): TurnSnapshot {
  return requestFrom(state, options)
}
//#end

// Consumers

function record(state: AgentState, message: AgentMessage): void {
  //#until s06
  state.messages.push(Object.freeze(message))
  //#end
  //#from s07
  state.messages.append(message)
  //#end
}

//#until s09
function show(message: AgentMessage, { output }: TurnOptions): void {
  if (message.role === "user") return
  //#end
  //#until s03
  output.log(message.content)
  //#end
  //#from s04 until s09
  fenced(() => output.log(harmless(message.content)))
  //#end
  //#until s09
}
//#end

//#from s09
function announce(event: RuntimeEvent, options: TurnOptions): void {
  fenced(() => options.extensions?.emit(event))
  //#end
  //#from s10
  fenced(() => (options.mode ?? new PrintMode(options.output)).render([event]))
  //#end
  //#from s09
}
//#end

/** One message flows to everybody who wants it, the history first. */
function spread(state: AgentState, message: AgentMessage, options: TurnOptions): void {
  record(state, message)
  //#until s09
  show(message, options)
  //#end
  //#from s09
  if (message.role !== "user") announce({ type: "message", content: message.content }, options)
  //#end
}

//#from s04
const codeOf = (sign: string): string => sign.charCodeAt(0).toString(16)

/** A text that drives no terminal: control characters and those that turn the writing around are spelled out. */
function harmless(
  text: string,
  //#end
  //#from s10
  spell: (sign: string) => string = (sign) => `\\u{${codeOf(sign)}}`,
  //#end
  //#from s04
): string {
  //#end
  //#from s04 until s09
  const spell = (sign: string): string => `\\u{${codeOf(sign)}}`
  //#end
  //#from s04
  return text.replace(/\r\n|[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu, (sign) => (/^\r?\n$|\t/.test(sign) ? sign : spell(sign)))
}

// The loop

/** What the loop wants done next. */
type LoopEvent =
  | { type: "request" }
  | { type: "message"; message: AssistantMessage }
  | { type: "calls"; message: AssistantMessage }

/** The loop: only the order of things. It is handed the answer to each request. */
async function* loopEvents(limit: number): AsyncGenerator<LoopEvent, AssistantMessage, AssistantMessage | undefined> {
  for (let requests = 0; requests < limit; requests++) {
    const message = (yield { type: "request" }) as AssistantMessage
    yield { type: "message", message }
    yield { type: "calls", message }
    if (message.stopReason !== "toolUse") return message
  }
  const message = asMessage({ ...nothingYet(), text: "max turns reached" }, good("stop"))
  yield { type: "message", message }
  return message
}

function asLimit(maxTurns: unknown): Outcome<number> {
  if (maxTurns === undefined) return good(8)
  const whole = Number.isInteger(maxTurns) && (maxTurns as number) > 0
  return whole
    ? good(maxTurns as number)
    : bad(`maxTurns has to be a whole number from 1 on, and is ${String(maxTurns)}`)
}

/** Whether a call may run at all: its message is whole, and the model was shown the tool. */
function mayRun(call: ToolCall, message: AssistantMessage, shown: Set<string>): Outcome<ToolCall> {
  if (message.stopReason !== "toolUse") return bad(`not run: ${message.content.replace(/^[^]*?^error: /m, "")}`)
  return shown.has(call.name) ? good(call) : bad(`the model was told of no tool "${call.name}"`)
}

/** A door: the text of what an executor answers. */
function asReply(reply: unknown, call: ToolCall): Outcome<string> {
  return tried(() => {
    const { toolCallId, content } = Object(reply) as Partial<ToolResultMessage>
    return then(asText(content, "the content of a reply"), (text) =>
      toolCallId === call.id ? good(text) : no(`the toolCallId of the reply to "${call.id}"`, "that id", toolCallId),
    )
  })
}

/** Starts one call. The promise is never rejected. */
function start(
  call: ToolCall,
  message: AssistantMessage,
  shown: Set<string>,
  options: TurnOptions,
): Promise<ToolResultMessage> {
  const { registry = new ToolRegistry() } = options
  const { execute = (given) => resultFor(given.id, good(registry.run(given))) } = options
  const failed = (thrown: unknown): ToolResultMessage => resultFor(call.id, bad(whatWasThrown(thrown)))
  //#end
  //#from s04 until s04
  const gate = mayRun(call, message, shown)
  if (!gate.ok) return Promise.resolve(resultFor(call.id, gate))
  return Promise.resolve(call)
    .then(execute)
    .then((reply) => resultFor(call.id, asReply(reply, call)), failed)
  //#end
  //#from s05
  const given: ToolHooks = options.hooks === undefined ? {} : options.hooks
  const gate = then(mayRun(call, message, shown), () => allowed(given, call))
  if (!gate.ok) return Promise.resolve(resultFor(call.id, gate))
  return Promise.resolve(call)
    .then(execute)
    .catch(failed)
    .then((reply) => then(asReply(reply, call), (text) => revised(gate.value, call, text)))
    .then((outcome) => resultFor(call.id, outcome))
  //#end
  //#from s04
}

/** Asks, runs calls and asks again, until the model wants nothing more or has asked often enough. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  const events = loopEvents(passed(asLimit(options.maxTurns)))
  //#end
  //#from s04 until s05
  let shown = new Set<string>()
  const keep = (message: AgentMessage): void => spread(state, message, options)
  const nextRequest = (): ProviderInput => {
    const request = requestFrom(state, options)
    assertPairedToolCalls(request.messages)
    shown = new Set(request.tools.map(({ name }) => name))
    return request
  }
  //#end
  //#from s06
  const snapshot = createTurnSnapshot(state, options)
  const shown = new Set(snapshot.tools.map(({ name }) => name))
  let sound = 0
  const keep = (message: AgentMessage): void => {
    spread(state, message, options)
    snapshot.messages.push(withoutNotes(message))
  }
  // Copies: what is done to a request reaches no later one.
  const nextRequest = (): ProviderInput => {
    assertPairedToolCalls(snapshot.messages, sound)
    sound = snapshot.messages.length
    return { ...snapshot, messages: [...snapshot.messages], tools: [...snapshot.tools] }
  }
  //#end
  //#from s04
  const answerCalls = (message: AssistantMessage): Promise<void> => {
    const results = (message.toolCalls ?? []).map((call) => start(call, message, shown, options))
    return results.reduce((line, result) => line.then(() => result).then(keep), Promise.resolve())
  }
  const consume = async (event: LoopEvent): Promise<AssistantMessage | undefined> => {
    if (event.type === "request") return answerFrom(options.provider, nextRequest())
    if (event.type === "message") keep(event.message)
    else await answerCalls(event.message)
    return undefined
  }
  let step = await events.next()
  while (!step.done) step = await events.next(await consume(step.value))
  return step.value
}
//#end

/** One turn: what the person says, and all that comes of it. */
export async function runOneTurn(state: AgentState, prompt: string, options: TurnOptions): Promise<AssistantMessage> {
  //#until s03
  spread(state, { role: "user", content: prompt.toWellFormed() }, options)
  const message = await answerFrom(options.provider, requestFrom(state, options))
  spread(state, message, options)
  return message
  //#end
  //#from s04
  // A door: until the words are recorded, whatever is wrong refuses the turn.
  passed(asLimit(options.maxTurns))
  const content = passed(asText(prompt, "the prompt"))
  //#end
  //#from s04 until s06
  assertPairedToolCalls(requestFrom(state, options).messages)
  spread(state, { role: "user", content }, options)
  return runEventedToolLoop(state, options)
  //#end
  //#from s07
  const own = ownCopy(options)
  const ownState: AgentState = { messages: state.messages, model: state.model }
  requestFrom(ownState, own)
  const release = ownState.messages.acquire()
  const turn = Promise.resolve({ role: "user" as const, content })
    .then((words) => spread(ownState, words, own))
    .then(() => runEventedToolLoop(ownState, own))
    .finally(release)
  //#end
  //#from s07 until s08
  return turn
  //#end
  //#from s09
  return turn.then((message) => {
    announce({ type: "done" }, own)
    return message
  })
  //#end
}

//#from s07
/** The options as they are now, those included that a class has. */
function ownCopy(options: TurnOptions): TurnOptions {
  const names = new Set<keyof TurnOptions>(["provider", "output", "registry", "maxTurns", "execute", "hooks"])
  //#end
  //#from s08
  names.add("loader")
  //#end
  //#from s09
  names.add("extensions")
  //#end
  //#from s10
  names.add("mode")
  //#end
  //#from s11
  names.add("trust")
  //#end
  //#from s07
  const values = new Map(Array.from(names, (name) => [name, options[name]] as const))
  for (const [name, value] of values) if (value === undefined) values.delete(name)
  return Object.fromEntries(values) as TurnOptions
}

// The session

/** A message and where it stands. */
export type SessionEntry = AgentMessage & {
  id: string
  parentId: string | null
}

/** An entry, the message in it, and the node before it. */
export type SessionNode = {
  entry: SessionEntry
  message: AgentMessage
  parent: SessionNode | null
}

type Session = { nodes: Map<string, SessionNode>; leaf: SessionNode | null; turns: Set<symbol> }

const sessionOf = new WeakMap<SessionTree, Session>()

/** A history that can go on from any of its places. */
export class SessionTree {
  constructor() {
    sessionOf.set(this, { nodes: new Map(), leaf: null, turns: new Set() })
  }

  /** Where the next message will be added; null is the beginning. */
  get leafId(): string | null {
    return inside(sessionOf, this).leaf?.entry.id ?? null
  }

  /** A door: adds a copy of the message, and stands there. Throws when it is none. */
  append(message: AgentMessage): SessionEntry {
    const session = inside(sessionOf, this)
    const sealed = passed(asAgentMessage(message))
    const entry = Object.freeze({ ...sealed, id: `node:${session.nodes.size + 1}`, parentId: this.leafId })
    session.leaf = { entry, message: sealed, parent: session.leaf }
    session.nodes.set(entry.id, session.leaf)
    return entry
  }

  /** Stands at another place. Throws, and stays, when a turn runs, there is no such place, or results are due there. */
  moveTo(id: string | null): void {
    const session = inside(sessionOf, this)
    if (session.turns.size > 0) throw new Error("a turn is running: move when it is over")
    const node = id === null ? null : session.nodes.get(id)
    if (node === undefined) throw new Error(`there is no place "${id}" to move to`)
    assertPairedToolCalls(pathTo(node))
    session.leaf = node
  }

  /** The messages on the way to the current place. */
  currentPath(): AgentMessage[] {
    return pathTo(inside(sessionOf, this).leaf)
  }

  /** Every entry there is, the oldest first. */
  allEntries(): SessionEntry[] {
    return Array.from(inside(sessionOf, this).nodes.values(), ({ entry }) => entry)
  }

  /** Keeps the tree for one turn, until the function that it gives is called. Throws when it is kept already. */
  acquire(): () => void {
    const { turns } = inside(sessionOf, this)
    if (turns.size > 0) throw new Error("a turn is running: begin when it is over")
    assertPairedToolCalls(this.currentPath())
    const turn = Symbol("turn")
    turns.add(turn)
    return () => void turns.delete(turn)
  }
}

function pathTo(leaf: SessionNode | null): AgentMessage[] {
  const path: AgentMessage[] = []
  for (let node = leaf; node !== null; node = node.parent) path.push(node.message)
  return path.reverse()
}

const ENDINGS = new Set<unknown>(["stop", "error", "toolUse"])

/** A frozen copy of a message, with the fields that we know and no others. */
function asAgentMessage(message: unknown): Outcome<AgentMessage> {
  const readers = new Map<unknown, () => Outcome<AgentMessage>>([
    ["user", () => asUserMessage(message)],
    ["assistant", () => asAssistantMessage(message)],
    ["toolResult", () => asToolResult(message)],
  ])
  return tried(() => {
    const { role } = Object(message) as { role?: unknown }
    return (readers.get(role) ?? (() => no<AgentMessage>("a role", Array.from(readers.keys()).join(" or "), role)))()
  })
}

function asUserMessage(message: unknown): Outcome<AgentMessage> {
  return then(asText((message as UserMessage).content, "the content of a message"), (content) =>
    good(Object.freeze({ role: "user", content })),
  )
}

function asToolResult(message: unknown): Outcome<AgentMessage> {
  const { toolCallId, content } = message as ToolResultMessage
  return then(asText(toolCallId, "the toolCallId of a result"), (id) =>
    then(asText(content, "the content of a result"), (text) => good(resultFor(id, good(text)))),
  )
}

function asAssistantMessage(message: unknown): Outcome<AgentMessage> {
  const { content, stopReason, toolCalls } = message as AssistantMessage
  return then(asText(content, "the content of a message"), (content) => {
    if (!ENDINGS.has(stopReason)) return no("a stop reason", Array.from(ENDINGS).join(" or "), stopReason)
    const calls: ToolCall[] = []
    for (const call of toolCalls ?? []) {
      const sealed = asCall(call)
      if (!sealed.ok) return sealed
      calls.push(sealed.value)
    }
    const field = calls.length > 0 ? { toolCalls: Object.freeze(calls) as ToolCall[] } : {}
    return good(Object.freeze({ role: "assistant", content, stopReason, ...field }))
  })
}
//#end

//#from s08
// Texts

/** A text that the project has for the model. */
export type ContextResource = {
  kind: "agents" | "skill" | "prompt"
  name: string
  content: string
}

const RANKS = new Map<ContextResource["kind"], string>([
  ["agents", "rules"],
  ["skill", "how something is done"],
  ["prompt", "prepared words"],
])

function asResource(resource: unknown): Outcome<ContextResource> {
  return tried(() => {
    const { kind, name, content } = Object(resource) as ContextResource
    if (!RANKS.has(kind)) return no("the kind of a resource", Array.from(RANKS.keys()).join(" or "), kind)
    return then(asText(name, "the name of a resource"), (name) =>
      then(asText(content, `the content of the resource "${name}"`), (content) =>
        good(Object.freeze({ kind, name, content })),
      ),
    )
  })
}

const resourcesOf = new WeakMap<ResourceLoader, Set<ContextResource>>()

/** Hands out the texts of a project. */
export class ResourceLoader {
  /** A door: throws when one of them is no resource. */
  constructor(resources: ContextResource[]) {
    resourcesOf.set(this, new Set(resources.map((resource) => passed(asResource(resource)))))
  }
  //#end

  //#from s08 until s10
  /** Copies of all texts. */
  load(): ContextResource[] {
    return Array.from(inside(resourcesOf, this), (resource) => ({ ...resource }))
  }
  //#end
  //#from s11
  /** Copies of all texts of a project that is trusted; of any other, none. */
  load(trust?: ProjectTrust): ContextResource[] {
    const resources = trust === "trusted" ? inside(resourcesOf, this) : []
    return Array.from(resources, (resource) => ({ ...resource }))
  }
  //#end
  //#from s12
  /** A door: adds all of them. Throws, with nothing added, when one is no resource. */
  add(resources: ContextResource[]): void {
    const more = resources.map((resource) => passed(asResource(resource)))
    for (const resource of more) inside(resourcesOf, this).add(resource)
  }
  //#end
  //#from s08
}

const MOST_OF_A_NAME = 100

const MOST_OF_A_TEXT = 20_000

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const half = text.slice(0, most).isWellFormed() ? most : most - 1
  return `${text.slice(0, half)}\n(here the text breaks off: ${half} characters of ${text.length})`
}

/** The words of the project as one text; at its margin stand headings, and nothing that somebody else wrote. */
function promptFrom(resources: ContextResource[]): string {
  const sections = new Map(Array.from(RANKS.keys(), (kind) => [kind, [] as string[]]))
  for (const { kind, name, content } of resources) {
    const heading = cut(name.replace(/[\p{C}\p{Z}]+/gu, " ").trim(), MOST_OF_A_NAME).replaceAll("\n", " ")
    const body = cut(content, MOST_OF_A_TEXT).replace(/\r\n|[\n\v\f\r\x85\u2028\u2029]/g, "\n  ")
    sections.get(kind)?.push(`# ${kind}: ${heading}\n  ${body}`)
  }
  return Array.from(sections.values()).flat().join("\n\n")
}
//#end

//#from s09
// Extensions

/** Something that a person runs, and the model does not know of. */
export type Command = {
  name: string
  run: () => string
}

/** What has happened. */
export type RuntimeEvent = { type: "message"; content: string } | { type: "done" }

/** Whoever is told. */
export type EventHandler = (event: RuntimeEvent) => void

/** The three things that an extension can do. */
export type ExtensionAPI = {
  on(type: RuntimeEvent["type"], handler: EventHandler): void
  registerTool(tool: Tool): void
  registerCommand(command: Command): void
}

/** A function from outside that is called once. */
export type Extension = (api: ExtensionAPI) => void

/** What extensions have brought, or want to bring. */
type Brought = {
  tools: Map<string, Tool>
  commands: Map<string, Command>
  hearers: Map<RuntimeEvent["type"], Set<EventHandler>>
}

type Runtime = Brought & { registry: ToolRegistry; output: Output; used: Set<unknown> }

const nothingBrought = (): Brought => ({
  tools: new Map(),
  commands: new Map(),
  hearers: new Map([
    ["message", new Set()],
    ["done", new Set()],
  ]),
})

const runtimeOf = new WeakMap<ExtensionRuntime, Runtime>()

/** Where code from outside comes in, and where it is told what happens. */
export class ExtensionRuntime {
  constructor(registry: ToolRegistry, output: Output) {
    runtimeOf.set(this, { ...nothingBrought(), registry, output, used: new Set() })
  }

  /** A door: true when all of the extension is in; false when nothing is, which is reported by name. */
  use(extension: Extension, owner?: string): boolean {
    const runtime = inside(runtimeOf, this)
    const name = owner ?? nameOf(extension)
    const keys = new Set<unknown>([extension, owner ?? extension])
    for (const key of keys) if (runtime.used.has(key)) return complain(runtime, name, "it was added before")
    for (const key of keys) runtime.used.add(key)
    const brought = setUp(extension, (reason) => complain(runtime, name, reason))
    const fitting = then(brought, (parts) => fits(parts, runtime))
    if (!fitting.ok) {
      for (const key of keys) runtime.used.delete(key)
      return complain(runtime, name, fitting.reason)
    }
    const { tools, commands, hearers } = fitting.value
    for (const tool of tools.values()) runtime.registry.register(tool)
    for (const command of commands.values()) runtime.commands.set(command.name, command)
    for (const [type, handlers] of hearers) for (const hear of handlers) runtime.hearers.get(type)?.add(hear)
    return true
  }
  //#end

  //#from s11
  /** A door for code of a project: fetched and used when the project is trusted, and not touched otherwise. */
  async useProject(fetchExtension: () => Extension | Promise<Extension>, trust?: ProjectTrust): Promise<boolean> {
    if (trust !== "trusted") return false
    const fetched = await triedLater(async () => good(await fetchExtension()))
    return fetched.ok ? this.use(fetched.value) : complain(inside(runtimeOf, this), "project", fetched.reason)
  }
  //#end

  //#from s09
  /** What can be run by name. */
  getCommands(): string[] {
    return Array.from(inside(runtimeOf, this).commands.keys())
  }

  /** The answer of a command; what fails is a text that begins with `error: `. */
  runCommand(name: string): string {
    const command = inside(runtimeOf, this).commands.get(name)
    return asAnswer(
      command === undefined
        ? bad(`nobody registered a command "${String(name)}"`)
        : answerOf(`the answer of the command "${name}"`, command.run),
    )
  }

  /** Tells everybody who listens now. */
  emit(event: RuntimeEvent): void {
    const told = Object.freeze({ ...event })
    for (const hear of Array.from(inside(runtimeOf, this).hearers.get(told.type) ?? [])) hear(told)
  }
}

function nameOf(extension: unknown): string {
  const name = tried(() => asText((extension as { name?: unknown }).name, "a name"))
  return name.ok && name.value !== "" ? name.value : "anonymous"
}

function complain({ output }: Runtime, name: string, reason: string): false {
  fenced(() => output.log(harmless(`${name}, an extension, did not work: ${reason}`)))
  return false
}

/** Runs a setup, and gathers what it registers while it runs. */
function setUp(extension: Extension, onFailure: (reason: string) => void): Outcome<Brought> {
  const brought = nothingBrought()
  let over = false
  const add = <Part>(make: () => Outcome<Part>, put: (part: Part) => void): void => {
    if (over) throw new Error("the setup of this extension is over: nothing can be registered any more")
    put(passed(make()))
  }
  const outcome = tried(() => {
    const result: unknown = extension({
      on: (type, handler) =>
        add(
          () => asHearer(type, handler, onFailure),
          (hear) => brought.hearers.get(type)?.add(hear),
        ),
      registerTool: (tool) =>
        add(
          () => asTool(tool),
          (copy) => putNew(brought.tools, copy.spec.name, copy),
        ),
      registerCommand: (command) =>
        add(
          () => asCommand(command),
          (copy) => putNew(brought.commands, copy.name, copy),
        ),
    })
    return result instanceof Promise ? no<Brought>("a setup", "done when it returns", result) : good(brought)
  })
  over = true
  return outcome
}

function putNew<Part>(parts: Map<string, Part>, name: string, part: Part): void {
  if (parts.has(name)) throw new Error(`the name "${name}" is registered twice`)
  parts.set(name, part)
}

/** Whether no name is taken. */
function fits(parts: Brought, { registry, commands }: Runtime): Outcome<Brought> {
  return tried(() => {
    const tools = new Set(registry.getSpecs().map(({ name }) => name))
    for (const name of parts.tools.keys()) if (tools.has(name)) return bad(`the tool "${name}" is there already`)
    for (const name of parts.commands.keys())
      if (commands.has(name)) return bad(`the command "${name}" is there already`)
    return good(parts)
  })
}

function asCommand(command: Command): Outcome<Command> {
  return tried(() => {
    const { name, run } = Object(command) as Command
    if (name === "") return no("the name of a command", "something", name)
    return then(asText(name, "the name of a command"), (name) =>
      then(asFunction(run, `the run of the command "${name}"`), (run) =>
        good(Object.freeze({ name, run: run.bind(command) })),
      ),
    )
  })
}

function asHearer(type: unknown, handler: EventHandler, onFailure: (reason: string) => void): Outcome<EventHandler> {
  if (type !== "message" && type !== "done") return no("the type of an event", "message or done", type)
  return then(asFunction(handler, `what hears "${type}"`), (hear) =>
    good((event) => fenced(() => hear(event), onFailure)),
  )
}
//#end

//#from s10
// Modes

/** Shows what happens, in a way of its own. */
export type RuntimeMode = { render(events: RuntimeEvent[]): void }

const outputOf = new WeakMap<RuntimeMode, Output>()

/** Writes each line, if it can be written. */
function pour(lines: Iterable<string>, mode: RuntimeMode): void {
  for (const line of lines) fenced(() => inside(outputOf, mode).log(line))
}

/** Shows people the messages, line by line. */
export class PrintMode implements RuntimeMode {
  constructor(output: Output) {
    outputOf.set(this, output)
  }

  /** Shows the messages among the events. */
  render(events: RuntimeEvent[]): void {
    for (const event of events) if (event.type === "message") pour(harmless(event.content).split(/\r?\n/), this)
  }
}

/** Gives programs one event per line, as JSON. */
export class JsonMode implements RuntimeMode {
  constructor(output: Output) {
    outputOf.set(this, output)
  }

  /** Writes the events, each as one line. */
  render(events: RuntimeEvent[]): void {
    const spell = (sign: string): string => `\\u${codeOf(sign).padStart(4, "0")}`
    pour(
      events.map((event) => harmless(JSON.stringify(event), spell)),
      this,
    )
  }
}
//#end

//#from s11
// Trust

/** Whether a person trusts a project; whoever does not say so does not. */
export type ProjectTrust = "trusted" | "untrusted"
//#end

//#from s12
// Packages

/** What is in a package, by name. */
export type PackageManifest = {
  name: string
  tools: string[]
  commands: string[]
  resources: string[]
}

/** A package as it came. */
export type Package = {
  manifest: PackageManifest
  contents: Record<string, string>
}

/** A package that was looked at. */
export type LoadedPackage = {
  name: string
  tools: Record<string, string>
  commands: Record<string, string>
  resources: Record<string, string>
}

const LISTS = ["tools", "commands", "resources"] as const

/** Collects what is wrong with a package. */
type Faults = Set<string>

function readObject(value: unknown, what: string, fields: readonly string[], faults: Faults): Map<string, unknown> {
  if (kind(value) !== "object") faults.add(`${what} has to be an object, and is ${kind(value)}`)
  const found = new Map(kind(value) === "object" ? Object.entries(value as object) : [])
  const unknown = Array.from(found.keys()).filter((field) => !fields.includes(field))
  for (const field of unknown) faults.add(`${what} has an unknown field ${JSON.stringify(field)}`)
  return found
}

function readName(value: unknown, what: string, faults: Faults): string {
  const plain = typeof value === "string" && value.length <= 64 && /^[a-z](?:\.?[a-z\d_-])*$/i.test(value)
  if (!plain) faults.add(`${what} has to be a plain name, and is ${shown(value)}`)
  return String(value)
}

function readNames(value: unknown, what: string, faults: Faults): string[] {
  if (!Array.isArray(value)) faults.add(`${what} has to be a list of names, and is ${kind(value)}`)
  return Array.isArray(value) ? Array.from(value, (name, index) => readName(name, `${what}[${index}]`, faults)) : []
}

function readContents(value: unknown, listed: string[], faults: Faults): Map<string, string> {
  if (kind(value) !== "object") faults.add(`the contents have to be an object, and are ${kind(value)}`)
  const found = new Map<string, unknown>(kind(value) === "object" ? Object.entries(value as object) : [])
  const texts = new Map<string, string>()
  for (const name of new Set([...listed, ...found.keys()])) {
    const times = listed.filter((other) => other === name).length
    if (times !== 1) faults.add(`${JSON.stringify(name)} is listed ${times} times, and not once`)
    const text = asText(found.get(name), `the content of ${JSON.stringify(name)}`)
    if (text.ok) texts.set(name, text.value)
    else faults.add(text.reason)
  }
  return texts
}

/** A door: a package that is right everywhere, sorted by kinds. Throws with all that is wrong. */
export function loadPackage(pkg: Package): LoadedPackage {
  const faults: Faults = new Set()
  const parts = readObject(pkg, "the package", ["manifest", "contents"], faults)
  const manifest = readObject(parts.get("manifest"), "the manifest", ["name", ...LISTS], faults)
  const name = readName(manifest.get("name"), "the name of the package", faults)
  const lists = new Map(LISTS.map((list) => [list, readNames(manifest.get(list), list, faults)] as const))
  const texts = readContents(parts.get("contents"), Array.from(lists.values()).flat(), faults)
  if (faults.size > 0) throw new Error(harmless(["this package is refused:", ...faults].join("\n- ")))
  const pick = (list: (typeof LISTS)[number]): Record<string, string> =>
    Object.freeze(Object.fromEntries((lists.get(list) ?? []).map((one) => [one, texts.get(one) ?? ""])))
  return { name, tools: pick("tools"), commands: pick("commands"), resources: pick("resources") }
}

/** Adds all of a package: true. Without trust, or where something clashes, nothing is added: false. */
export function installLoadedPackage(
  pkg: LoadedPackage,
  extensions: ExtensionRuntime,
  loader: ResourceLoader,
  trust?: ProjectTrust,
): boolean {
  if (trust !== "trusted") return false
  const skills = new Set<ContextResource>()
  const extension: Extension = ({ registerTool, registerCommand }) => {
    for (const [name, content] of Object.entries(pkg.resources)) {
      skills.add(passed(asResource({ kind: "skill", name, content })))
    }
    for (const [name, text] of Object.entries(pkg.tools)) {
      registerTool({
        spec: { name, description: `a text of the package "${pkg.name}"`, input: {} },
        handler: () => text,
      })
    }
    for (const [name, text] of Object.entries(pkg.commands)) registerCommand({ name, run: () => text })
  }
  if (!extensions.use(extension, pkg.name)) return false
  loader.add(Array.from(skills))
  return true
}
//#end
