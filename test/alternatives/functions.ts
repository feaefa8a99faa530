// Habits of this engineer: closures and plain data, factories behind thin classes, lists that never change.
// Values are frozen to their last corner and handed out as they are; what repeats is a reduce or a recursion.
// Chapters are derived from this one source: lines between two marks belong to the chapters that the first one names.

/** How the model's message ended. */
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

//#from s04
/** One tool that the model asks for. */
export type ToolCall = {
  id: string
  name: string
  input: Record<string, string>
}

/** What came of one call. */
export type ToolResultMessage = {
  role: "toolResult"
  toolCallId: string
  content: string
}

//#end
/** What the model said. */
export type AssistantMessage = {
  role: "assistant"
  content: string
  stopReason: StopReason
//#from s04
  toolCalls?: ToolCall[]
//#end
}

/** One message of the history. */
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

//#from s02
/** The half of a tool that the model reads. */
export type ToolSpec = {
  name: string
  description: string
  input: Record<string, string>
}

/** The half of a tool that the program runs. */
export type ToolHandler = (input: Record<string, string>) => string

/** A tool: both halves. */
export type Tool = {
  spec: ToolSpec
  handler: ToolHandler
}

//#end
/** One request to a model. */
export type ProviderInput = {
  messages: ProviderMessage[]
//#from s02
  tools: ToolSpec[]
//#end
//#from s08
  systemPrompt: string
//#end
}

//#from s03
/** What a model sends, piece by piece. */
export type ProviderEvent =
  | { type: "message_start" }
  | { type: "text_delta"; text: string }
  | { type: "message_end"; stopReason: StopReason }
//#end
//#from s04
  | { type: "tool_call"; call: ToolCall }
//#end

/** Whoever reaches a model. */
export interface Provider {
//#until s02
  complete(input: ProviderInput): Promise<AssistantMessage>
//#end
//#from s03
  stream(input: ProviderInput): AsyncGenerator<ProviderEvent>
//#end
}

/** Where lines go. */
export type Output = { log(line: string): void }

//#from s04
/** Executes one call in the caller's own way. */
export type ToolExecutor = (call: ToolCall) => ToolResultMessage | Promise<ToolResultMessage>

//#end
//#from s05
/** What the hook before a call decides. */
export type BeforeToolCallResult =
  | { type: "allow" }
  | { type: "block"; reason: string }

/** The two questions around each call. */
export type ToolHooks = {
  beforeToolCall?: (call: ToolCall) => BeforeToolCallResult
  afterToolCall?: (call: ToolCall, result: string) => string
}

//#end
//#from s06
/** What a turn sees from its start to its end: its first request. */
export type TurnSnapshot = ProviderInput

//#end
//#from s07
/** A message at its place in the session. */
export type SessionEntry = AgentMessage & {
  id: string
  parentId: string | null
}

/** A place, as the tree keeps it. */
export type SessionNode = {
  entry: SessionEntry
  message: AgentMessage
  parent: SessionNode | null
}

//#end
//#from s08
/** A text of the project that the model reads. */
export type ContextResource = {
  kind: "agents" | "skill" | "prompt"
  name: string
  content: string
}

//#end
//#from s09
/** What a person runs by its name. */
export type Command = {
  name: string
  run: () => string
}

/** What happened. */
export type RuntimeEvent =
  | { type: "message"; content: string }
  | { type: "done" }

/** Hears what happened. */
export type EventHandler = (event: RuntimeEvent) => void

/** All that an extension is given. */
export type ExtensionAPI = {
  on(type: RuntimeEvent["type"], handler: EventHandler): void
  registerTool(tool: Tool): void
  registerCommand(command: Command): void
}

/** Code from outside. */
export type Extension = (api: ExtensionAPI) => void

//#end
//#from s10
/** One way to show what happened. */
export type RuntimeMode = { render(events: RuntimeEvent[]): void }

//#end
//#from s11
/** What the person decided about a project; nothing said is untrusted. */
export type ProjectTrust =
  | "trusted"
  | "untrusted"

//#end
//#from s12
/** The names in a package. */
export type PackageManifest = {
  name: string
  tools: string[]
  commands: string[]
  resources: string[]
}

/** A package that nobody has checked yet. */
export type Package = {
  manifest: PackageManifest
  contents: Record<string, string>
}

/** A package that was checked, its texts by kind. */
export type LoadedPackage = {
  name: string
  tools: Record<string, string>
  commands: Record<string, string>
  resources: Record<string, string>
}

//#end
/** What a turn needs besides the state. */
export type TurnOptions = {
  provider: Provider
  output: Output
//#from s02
  registry?: ToolRegistry
//#end
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

/** Throws with this sentence. */
export function complain(sentence: string): never {
  throw new Error(sentence)
}

/** What a value is, in a word or two; a string is shown. */
export function describeKind(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(value.slice(0, 40))}`
  return value === null ? "nothing" : Object.prototype.toString.call(value).slice(8, -1).toLowerCase()
}

/** Throws: this was not what was wanted. A promise that is refused may fail later without harm. */
export function reject(value: unknown, what: string, wanted: string): never {
  if (value instanceof Promise) value.catch(() => undefined)
  return complain(`${what}: ${describeKind(value)} was given instead of ${wanted}`)
}

/** The value, if it is a string. Throws otherwise. */
export function asText(value: unknown, what: string): string {
  return typeof value === "string" ? value : reject(value, what, "a text")
}

/** The same value, frozen to its last corner. For values of our own alone. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  Object.values(value).forEach(freezeDeep)
  return Object.freeze(value)
}

/** Why something failed, in words: never blank, and it does not throw. */
export function explain(thrown: unknown): string {
  try {
    const hasMessage = typeof thrown === "object" && thrown !== null && "message" in thrown
    const words = String((hasMessage ? thrown.message : thrown) ?? "")
    return words.trim() === "" || words.startsWith("[object ") ? "no reason is known" : words
  } catch {
    return "no reason is known"
  }
}
//#from s02

/** A frozen copy of texts by name. Throws for anything else. */
export function copyTexts(value: unknown, what: string): Record<string, string> {
  if (Object.prototype.toString.call(value) !== "[object Object]") return reject(value, what, "texts by name")
  const pairs = Object.entries(value as object)
  return Object.freeze(
    Object.fromEntries(pairs.map(([name, text]) => [name.toWellFormed(), asText(text, what).toWellFormed()])),
  )
}

/** Values by name: a record that inherits nothing. The colon keeps names like "10" in the order of their arrival. */
export type Shelf<Item> = { readonly [key: `:${string}`]: Item }

/** A shelf with nothing on it. */
export function emptyShelf<Item>(): Shelf<Item> {
  return Object.freeze(Object.create(null) as Shelf<Item>)
}

/** The same shelf with one thing more. */
export function shelve<Item>(shelf: Shelf<Item>, name: string, item: Item): Shelf<Item> {
  return Object.freeze(Object.assign(Object.create(null), shelf, { [`:${name}`]: item }) as Shelf<Item>)
}

/** What stands on a shelf, in the order of its arrival. */
export function shelfItems<Item>(shelf: Shelf<Item>): readonly Item[] {
  return Object.values(shelf)
}
//#end
//#from s04

/** Runs what others wrote; a failure, now or later, goes to `onTrouble` and no further. */
export function tolerate(action: () => unknown, onTrouble: (error: unknown) => void = () => undefined): void {
  try {
    const outcome = action()
    if (outcome instanceof Promise) outcome.catch(onTrouble)
  } catch (error) {
    onTrouble(error)
  }
}

/** What `make` returns, if that is a text; otherwise a text that starts with `error: `. Does not throw. */
export function textOrError(make: () => unknown, what: string): string {
  try {
    return asText(make(), what)
  } catch (error) {
    return `error: ${explain(error)}`
  }
}

/** The text with control characters written out by `show`; line ends and tabs stay. */
export function uncover(text: string, show: (hex: string) => string = (hex) => `\\u{${hex}}`): string {
  const pieces = text.split(/(\r\n|[\t\n])/)
  const uncovered = pieces.map((piece, index) =>
    index % 2 === 1
      ? piece
      : piece.replace(/[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu, (char) => show(char.charCodeAt(0).toString(16))),
  )
  return uncovered.join("")
}

/** A frozen call with our own fields. Throws for what is none. */
export function copyCall(call: ToolCall): ToolCall {
  const bare = copyCallHead(call)
  return Object.freeze({ ...bare, input: copyTexts(call.input ?? {}, `the arguments of call "${bare.id}"`) })
}

/** A frozen call without its arguments. Throws for what is none. */
export function copyCallHead(call: ToolCall): ToolCall {
  const id = asText(call?.id, "the id of a call").toWellFormed()
  return freezeDeep({ id, name: asText(call.name, `the name in call "${id}"`).toWellFormed(), input: {} })
}
//#end

/** How far an answer has been read. */
export type Reading = {
  readonly text: string
//#from s04
  readonly calls: readonly ToolCall[]
//#end
}

/** Nothing was read yet. */
export const UNREAD: Reading = Object.freeze({
  text: "",
//#from s04
  calls: Object.freeze([]),
//#end
})

/** The message of what was read. */
//#until s03
export function toMessage(_: Reading, content: string, stopReason: StopReason): AssistantMessage {
  return Object.freeze({ role: "assistant", content: content.toWellFormed(), stopReason })
//#end
//#from s04
export function toMessage(reading: Reading, content: string, stopReason: StopReason): AssistantMessage {
  const message: AssistantMessage = { role: "assistant", content: content.toWellFormed(), stopReason }
  return freezeDeep(reading.calls.length === 0 ? message : { ...message, toolCalls: [...reading.calls] })
//#end
}

/** The message of what was read until something failed: the text first, then the reason. */
export function breakOff(reading: Reading, thrown: unknown): AssistantMessage {
  const parts = [reading.text, `error: ${explain(thrown)}`].filter((part) => part.trim() !== "")
  return toMessage(reading, parts.join("\n"), "error")
}

/** The message of what was read to its end, or a failed one when the end is not as it should be. */
export function conclude(reading: Reading, stopReason: StopReason): AssistantMessage {
//#from s04
  const asks = reading.calls.length > 0
  if (stopReason === "toolUse" && asks) return toMessage(reading, reading.text, stopReason)
  if (stopReason === "toolUse") return breakOff(reading, "calls were announced, and none came")
  if (asks) return breakOff(reading, `the answer has calls and ended with "${stopReason}" instead of "toolUse"`)
//#end
  if (stopReason !== "stop") return breakOff(reading, `the answer ended with "${String(stopReason)}"`)
  if (reading.text.trim() === "") return breakOff(reading, "the answer was empty")
  return toMessage(reading, reading.text, stopReason)
}
//#from s03

/** What reading one event led to. */
export type Step =
  | { readonly kind: "on"; readonly reading: Reading }
  | { readonly kind: "ended"; readonly message: AssistantMessage }

/** Reads one event. An event that is wrong ends the answer with an error. */
export function readEvent(reading: Reading, event: ProviderEvent): Step {
  try {
    const type = event?.type
    if (type === "message_start") return { kind: "on", reading }
    if (type === "text_delta") {
      const text = reading.text + asText(event.text, "a text_delta")
      return { kind: "on", reading: { ...reading, text } }
    }
//#end
//#from s04
    if (type === "tool_call") return readCall(reading, event.call)
//#end
//#from s03
    if (type === "message_end") return { kind: "ended", message: conclude(reading, event.stopReason) }
    return reject(type, "an event of the stream", "a type that is known")
  } catch (error) {
    return { kind: "ended", message: breakOff(reading, error) }
  }
}
//#end
//#from s04

/** Reads one call. With a new id it is kept even when its arguments are refused: it has to be answered. */
export function readCall(reading: Reading, call: ToolCall): Step {
  const head = copyCallHead(call)
  if (reading.calls.some((other) => other.id === head.id)) complain(`a second call came with the id "${head.id}"`)
  const withCall = (kept: ToolCall): Reading => ({ ...reading, calls: [...reading.calls, kept] })
  try {
    const input = copyTexts(call.input ?? {}, `the arguments of call "${head.id}"`)
    return { kind: "on", reading: withCall(Object.freeze({ ...head, input })) }
  } catch (error) {
    return { kind: "ended", message: breakOff(withCall(head), error) }
  }
}
//#end
//#from s03

/** Makes one message out of a stream. Does not throw. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  let reading = UNREAD
  try {
    for await (const event of events) {
      const step = readEvent(reading, event)
      if (step.kind === "ended") return step.message
      reading = step.reading
    }
    return breakOff(reading, "the stream was over before the answer was")
  } catch (error) {
    return breakOff(reading, error)
  }
}
//#end
//#from s02

/** A frozen copy of a tool. Throws for what is none. */
export function copyTool(tool: Tool): Tool {
  const spec = tool?.spec ?? reject(tool, "a tool", "something with a spec")
  const name = asText(spec.name, "the name of a tool").toWellFormed()
  const description = asText(spec.description, `the description of "${name}"`).toWellFormed()
  const input = copyTexts(spec.input ?? {}, `the arguments of "${name}"`)
  if (typeof tool.handler !== "function") return reject(tool.handler, `the handler of "${name}"`, "a function")
  return freezeDeep({ spec: { name, description, input }, handler: tool.handler.bind(tool) })
}

/** Where tools are kept. */
export type ToolBox = {
  add(tool: Tool): void
  specs(): ToolSpec[]
//#end
//#from s04
  run(call: ToolCall): string
//#end
//#from s02
}

/** Makes an empty tool box. */
export function createToolBox(): ToolBox {
  let tools: Shelf<Tool> = emptyShelf()
  return {
    add(tool) {
      const own = copyTool(tool)
      if (tools[`:${own.spec.name}`] !== undefined) complain(`a tool named "${own.spec.name}" is here already`)
      tools = shelve(tools, own.spec.name, own)
    },
    specs: () => shelfItems(tools).map((tool) => tool.spec),
//#end
//#from s04
    run: (call) =>
      textOrError(() => {
        const name = asText(call?.name, "the name in a call")
        const tool = tools[`:${name}`] ?? complain(`unknown tool "${name}"`)
        return tool.handler({ ...copyTexts(call.input ?? {}, `the arguments for "${name}"`) })
      }, `what tool "${String(call?.name)}" returned`),
//#end
//#from s02
  }
}

/** Keeps tools, each name once. */
export class ToolRegistry {
  readonly #box: ToolBox = createToolBox()

  /** A door: throws for what is no tool and for a name that is taken; nothing has changed then. */
  register(tool: Tool): void {
    this.#box.add(tool)
  }

  /** What the model gets to see, in the order of registration. */
  getSpecs(): ToolSpec[] {
    return this.#box.specs()
  }
//#end
//#from s04

  /** Runs one call. Does not throw: a failure is a text that starts with `error: `. */
  run(call: ToolCall): string {
    return this.#box.run(call)
  }
//#end
//#from s02
}
//#end

/** The message as a model gets to see it. */
export function toSent(message: AgentMessage): ProviderMessage {
  if (message.role === "user") return Object.freeze({ role: message.role, content: message.content })
//#from s04
  if (message.role === "toolResult")
    return Object.freeze({ role: message.role, toolCallId: message.toolCallId, content: message.content })
  if (message.toolCalls !== undefined && message.toolCalls.length > 0)
    return freezeDeep({ role: message.role, content: message.content, toolCalls: message.toolCalls.map(copyCall) })
//#end
  return Object.freeze({ role: message.role, content: message.content })
}
//#from s04

/** One result, frozen. */
export function answer(id: string, content: string): ToolResultMessage {
  return Object.freeze({ role: "toolResult", toolCallId: id, content: content.toWellFormed() })
}

/** The result of a call that failed. */
export function answerError(id: string, thrown: unknown): ToolResultMessage {
  return answer(id, `error: ${explain(thrown)}`)
}

/** Throws where calls are not followed by their results, one for one. The first `from` were checked before. */
export function assertPairedToolCalls(messages: readonly ProviderMessage[], from: number = 0): void {
  const open = messages.slice(from).reduce<readonly string[]>((due, message, index) => {
    const here = `messages[${from + index}]`
    const [expected, ...rest] = due
    const found = message.role === "toolResult" ? message.toolCallId : undefined
    if (expected !== found) complain(`${here}: ${nameResult(expected)} belongs here, and ${nameResult(found)} is here`)
    if (message.role !== "assistant") return rest
    const ids = (message.toolCalls ?? []).map((call) => call.id)
    const twice = ids.find((id, place) => ids.indexOf(id) !== place)
    return twice === undefined ? ids : complain(`${here}: two calls have the id "${twice}"`)
  }, [])
  if (open.length > 0)
    complain(`messages[${messages.length}]: ${nameResult(open[0])} belongs here, and nothing is here`)
}

/** How a result is called in a complaint about pairs. */
export function nameResult(id: string | undefined): string {
  return id === undefined ? "no result" : `the result of "${id}"`
}
//#end
//#from s07

/** A frozen message with our own fields. Throws for what is none. */
export function copyMessage(message: AgentMessage): AgentMessage {
  const { role } = message
  const content = asText(message.content, "the content of a message").toWellFormed()
  if (role === "user") return Object.freeze({ role, content })
  if (role === "toolResult") return answer(asText(message.toolCallId, "the id in a result").toWellFormed(), content)
  if (role !== "assistant") return reject(role, "the role of a message", "user, assistant or toolResult")
  const { stopReason, toolCalls = [] } = message
  const isKnown = ["stop", "error", "toolUse"].some((known) => known === stopReason)
  if (!isKnown) return reject(stopReason, "the stop reason of a message", "stop, error or toolUse")
  return toMessage({ text: content, calls: toolCalls.map(copyCall) }, content, stopReason)
}

/** What a session can do. */
export type Session = {
  leafId(): string | null
  append(message: AgentMessage): SessionEntry
  moveTo(id: string | null): void
  path(): AgentMessage[]
  entries(): SessionEntry[]
  acquire(): () => void
}

/** From a place back to the first one. */
export function* walkBack(last: SessionNode | null): Generator<SessionNode> {
  for (let node = last; node !== null; node = node.parent) yield node
}

/** The messages up to a place, in their order. */
export function pathTo(last: SessionNode | null): AgentMessage[] {
  return Array.from(walkBack(last), (node) => node.message).reverse()
}

/** Makes an empty session. */
export function createSession(): Session {
  const nodes: Record<string, SessionNode> = Object.create(null)
  const arrived: SessionEntry[] = []
  let leaf: SessionNode | null = null
  let turn: symbol | null = null
  const assertFree = (): void => {
    if (turn !== null) complain("a turn is running in this session: try again after its end")
  }
  const assertWhole = (place: SessionNode | null): void => assertPairedToolCalls(pathTo(place).map(toSent))
  return {
    leafId: () => leaf?.entry.id ?? null,
    append(message) {
      const own = copyMessage(message)
      const entry = Object.freeze({ ...own, id: `node-${arrived.length + 1}`, parentId: leaf?.entry.id ?? null })
      leaf = Object.freeze({ entry, message: own, parent: leaf })
      nodes[entry.id] = leaf
      arrived.push(entry)
      return entry
    },
    moveTo(id) {
      assertFree()
      const place = id === null ? null : (nodes[id] ?? complain(`no entry of this session is called "${String(id)}"`))
      assertWhole(place)
      leaf = place
    },
    path: () => pathTo(leaf),
    entries: () => [...arrived],
    acquire() {
      assertFree()
      assertWhole(leaf)
      const mine = Symbol("turn")
      turn = mine
      return () => {
        turn = turn === mine ? null : turn
      }
    },
  }
}

/** The session: a tree that only grows, and a place in it. */
export class SessionTree {
  readonly #session: Session = createSession()

  /** Where the next message goes; null is before the first. */
  get leafId(): string | null {
    return this.#session.leafId()
  }

  /** A door: adds a message behind the current place. Throws for what is none; nothing was added then. */
  append(message: AgentMessage): SessionEntry {
    return this.#session.append(message)
  }

  /** Goes to an entry, or before the first. Throws during a turn, for an unknown id, and inside of a pair. */
  moveTo(id: string | null): void {
    this.#session.moveTo(id)
  }

  /** The messages from the first to the current place. */
  currentPath(): AgentMessage[] {
    return this.#session.path()
  }

  /** All entries, as they arrived. */
  allEntries(): SessionEntry[] {
    return this.#session.entries()
  }

  /** Reserves the session; what it returns gives it back. Throws during a turn, and where results are due. */
  acquire(): () => void {
    return this.#session.acquire()
  }
}
//#end
//#from s08

/** The kinds of resources, in the order of the prompt. */
export const KIND_ORDER: readonly ContextResource["kind"][] = Object.freeze(["agents", "skill", "prompt"] as const)

/** A frozen copy of a resource. Throws for what is none. */
export function copyResource(resource: ContextResource): ContextResource {
  const { kind } = resource
  if (!KIND_ORDER.includes(kind)) return reject(kind, "the kind of a resource", KIND_ORDER.join(", "))
  const name = asText(resource.name, "the name of a resource").toWellFormed()
  return Object.freeze({ kind, name, content: asText(resource.content, `the text of "${name}"`).toWellFormed() })
}

/** The first units of a text, and never half a character at the end. */
export function clip(text: string, limit: number): string {
  const clipped = text.slice(0, limit)
  return clipped.length < text.length && !clipped.isWellFormed() ? text.slice(0, limit - 1) : clipped
}

/** One resource as it stands in the prompt: its heading at the margin, and nothing else. */
export function layOut({ kind, name, content }: ContextResource): string {
  const heading = clip(name.replace(/[\p{C}\p{Z}]+/gu, " ").trim(), 100)
  const kept = clip(content, 20_000)
  const lines = kept.split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/)
  const note = kept === content ? [] : [`[only ${kept.length} of ${content.length} characters]`]
  return [`# ${kind}: ${heading}`, ...[...lines, ...note].map((line) => `  ${line}`)].join("\n")
}

/** All resources as one text; empty without any. */
export function writePrompt(resources: readonly ContextResource[]): string {
  return KIND_ORDER.flatMap((kind) => resources.filter((resource) => resource.kind === kind))
    .map(layOut)
    .join("\n\n")
}

/** Keeps the texts of a project. */
export class ResourceLoader {
  #texts: readonly ContextResource[]

  /** A door: throws for what is no resource. */
  constructor(resources: ContextResource[]) {
    this.#texts = Object.freeze(resources.map(copyResource))
  }
//#end
//#from s08 until s10

  /** Copies of the texts, in their order. */
  load(): ContextResource[] {
    return this.#texts.map((text) => ({ ...text }))
  }
//#end
//#from s11

  /** Copies of the texts, in their order; none unless the project is trusted. */
  load(trust?: ProjectTrust): ContextResource[] {
    return this.#texts.filter(() => trust === "trusted").map((text) => ({ ...text }))
  }
//#end
//#from s12

  /** A door: adds all of them, or throws and adds none. */
  add(resources: ContextResource[]): void {
    this.#texts = Object.freeze([...this.#texts, ...resources.map(copyResource)])
  }
//#end
//#from s08
}
//#end
//#from s09

/** What one extension brings. */
export type Luggage = {
  readonly tools: readonly Tool[]
  readonly commands: readonly Command[]
  readonly hearers: readonly EventHandler[]
}

/** A frozen copy of a command. Throws for what is none. */
export function copyCommand(command: Command): Command {
  const name = asText(command?.name, "the name of a command").toWellFormed()
  if (name === "") complain("the name of a command: it is empty")
  if (typeof command.run !== "function") return reject(command.run, `the run of "${name}"`, "a function")
  return Object.freeze({ name, run: command.run.bind(command) })
}

/** Hears the events of one type. Throws for a type that no event has, and for what is no function. */
export function hearOnly(type: RuntimeEvent["type"], handler: EventHandler): EventHandler {
  if (type !== "message" && type !== "done") return reject(type, "the type of an event", "message or done")
  if (typeof handler !== "function") return reject(handler, `what hears "${type}"`, "a function")
  return (event) => (event.type === type ? handler(event) : undefined)
}

/** Runs a setup and returns what it brought. Throws when the setup fails or is asynchronous. */
export function unpack(extension: Extension): Luggage {
  if (typeof extension !== "function") return reject(extension, "an extension", "a function")
  let luggage: Luggage = { tools: [], commands: [], hearers: [] }
  let isOpen = true
  const pack = (more: () => Partial<Luggage>): void => {
    if (!isOpen) complain("the setup of this extension is over, nothing more can be registered")
    luggage = { ...luggage, ...more() }
  }
  try {
    const outcome: unknown = extension({
      on: (type, handler) => pack(() => ({ hearers: [...luggage.hearers, hearOnly(type, handler)] })),
      registerTool: (tool) => pack(() => ({ tools: [...luggage.tools, copyTool(tool)] })),
      registerCommand: (command) => pack(() => ({ commands: [...luggage.commands, copyCommand(command)] })),
    })
    return outcome instanceof Promise ? reject(outcome, "what the setup returned", "nothing") : luggage
  } finally {
    isOpen = false
  }
}

/** Throws when two names are the same. */
export function assertDistinct(what: string, names: readonly string[]): void {
  const taken = names.find((name, index) => names.indexOf(name) !== index)
  if (taken !== undefined) complain(`there would be two ${what} named "${taken}"`)
}

/** The door for code from outside. */
export class ExtensionRuntime {
  readonly #registry: ToolRegistry
  readonly #output: Output
  #installed: readonly unknown[] = []
  #commands: Shelf<Command> = emptyShelf()
  #hearers: readonly EventHandler[] = []

  constructor(registry: ToolRegistry, output: Output) {
    this.#registry = registry
    this.#output = output
  }

  /** Installs an extension whole, or reports by name why not and returns false. */
  use(extension: Extension, owner?: string): boolean {
    const label = owner ?? (extension?.name || "anonymous")
    const marks = owner === undefined ? [extension] : [extension, owner]
    if (marks.some((mark) => this.#installed.includes(mark))) return this.#tell(label, "it is here already")
    this.#installed = [...this.#installed, ...marks]
    try {
      const luggage = unpack(extension)
      this.#assertRoom(luggage)
      this.#unload(luggage, label)
      return true
    } catch (error) {
      this.#installed = this.#installed.filter((mark) => !marks.includes(mark as Extension))
      return this.#tell(label, error)
    }
  }
//#end
//#from s11

  /** Fetches an extension of a trusted project and installs it; of any other, nothing is fetched. */
  async useProject(fetchExtension: () => Extension | Promise<Extension>, trust?: ProjectTrust): Promise<boolean> {
    if (trust !== "trusted") return false
    try {
      return this.use(await fetchExtension())
    } catch (error) {
      return this.#tell("project", error)
    }
  }
//#end
//#from s09

  /** The names of the commands, in the order of their arrival. */
  getCommands(): string[] {
    return shelfItems(this.#commands).map((command) => command.name)
  }

  /** Runs a command. Does not throw: a failure is a text that starts with `error: `. */
  runCommand(name: string): string {
    const command = this.#commands[`:${String(name)}`]
    const run = (): string => (command ?? complain(`unknown command "${String(name)}"`)).run()
    return textOrError(run, `what command "${String(name)}" returned`)
  }

  /** Tells an event to those who listen when it comes. */
  emit(event: RuntimeEvent): void {
    const told = Object.freeze({ ...event })
    this.#hearers.forEach((hear) => {
      hear(told)
    })
  }

  #assertRoom({ tools, commands }: Luggage): void {
    const specs = [...this.#registry.getSpecs(), ...tools.map((tool) => tool.spec)]
    assertDistinct("tools", specs.map((spec) => spec.name))
    assertDistinct("commands", [...this.getCommands(), ...commands.map((command) => command.name)])
  }

  #unload({ tools, commands, hearers }: Luggage, label: string): void {
    tools.forEach((tool) => {
      this.#registry.register(tool)
    })
    this.#commands = commands.reduce((shelf, command) => shelve(shelf, command.name, command), this.#commands)
    const onTrouble = (error: unknown): false => this.#tell(label, error)
    const safe = hearers.map((hear): EventHandler => (event) => tolerate(() => hear(event), onTrouble))
    this.#hearers = Object.freeze([...this.#hearers, ...safe])
  }

  #tell(label: string, error: unknown): false {
    tolerate(() => this.#output.log(uncover(`[${label}] has failed, ${explain(error)}`)))
    return false
  }
}
//#end
//#from s10

/** A mode that writes what `lines` makes of each event; a line that cannot be written keeps back no other. */
export function createMode(output: Output, lines: (event: RuntimeEvent) => readonly string[]): RuntimeMode {
  const write = (line: string): void => tolerate(() => output.log(line))
  return { render: (events) => events.flatMap(lines).forEach(write) }
}

/** Shows messages to people, line by line. */
export class PrintMode implements RuntimeMode {
  readonly #mode: RuntimeMode

  constructor(output: Output) {
    this.#mode = createMode(output, (event) =>
      event.type === "message" ? event.content.split(/\r?\n/).map((line) => uncover(line)) : [],
    )
  }

  /** Writes the lines of all messages. */
  render(events: RuntimeEvent[]): void {
    this.#mode.render(events)
  }
}

/** Writes one JSON object per event. */
export class JsonMode implements RuntimeMode {
  readonly #mode: RuntimeMode

  constructor(output: Output) {
    this.#mode = createMode(output, (event) => [
      uncover(JSON.stringify(event), (hex) => `\\u${hex.padStart(4, "0")}`),
    ])
  }

  /** Writes one line for each event. */
  render(events: RuntimeEvent[]): void {
    this.#mode.render(events)
  }
}
//#end

/** The options of a turn, all of them read once. */
export type Given = { readonly [Key in keyof Required<TurnOptions>]: TurnOptions[Key] }

/** Reads the options: what is put in their place afterwards counts for the next turn. */
export function readOptions(options: TurnOptions): Given {
  return Object.freeze({
    provider: options.provider,
    output: options.output,
//#from s02
    registry: options.registry,
//#end
//#from s04
    maxTurns: options.maxTurns,
    execute: options.execute,
//#end
//#from s05
    hooks: options.hooks,
//#end
//#from s08
    loader: options.loader,
//#end
//#from s09
    extensions: options.extensions,
//#end
//#from s10
    mode: options.mode,
//#end
//#from s11
    trust: options.trust,
//#end
  })
}

/** One request, made of what is there now. */
//#until s01
export function makeRequest(state: AgentState, _: Given): ProviderInput {
//#end
//#from s02
export function makeRequest(state: AgentState, given: Given): ProviderInput {
//#end
  return {
//#until s06
    messages: state.messages.map(toSent),
//#end
//#from s07
    messages: state.messages.currentPath().map(toSent),
//#end
//#from s02
    tools: [...(given.registry?.getSpecs() ?? [])],
//#end
//#from s08 until s10
    systemPrompt: writePrompt(given.loader?.load() ?? []),
//#end
//#from s11
    systemPrompt: writePrompt(given.loader?.load(given.trust) ?? []),
//#end
  }
}
//#from s06

/** What a turn that began now would see from start to end. */
export function createTurnSnapshot(state: AgentState, options: TurnOptions): TurnSnapshot {
  return makeRequest(state, readOptions(options))
}
//#end
//#from s09

/** Tells those outside; whatever they do with it harms nobody. */
export function announce(event: RuntimeEvent, given: Given): void {
  tolerate(() => given.extensions?.emit(event))
//#end
//#from s10
  tolerate(() => (given.mode ?? new PrintMode(given.output)).render([event]))
//#end
//#from s09
}
//#end

/** Keeps a message, then tells of it, and returns it. */
export function keep<Message extends AgentMessage>(state: AgentState, message: Message, given: Given): Message {
//#until s06
  state.messages.push(freezeDeep(message))
//#end
//#from s07
  state.messages.append(message)
//#end
  if (message.role === "user") return message
//#until s03
  given.output.log(message.content)
//#end
//#from s04 until s09
  tolerate(() => given.output.log(uncover(message.content)))
//#end
//#from s09
  announce({ type: "message", content: message.content }, given)
//#end
  return message
}

/** Asks the model once. Does not throw: a failure is a message. */
export async function ask(request: ProviderInput, given: Given): Promise<AssistantMessage> {
  try {
//#until s02
    const { content, stopReason } = await given.provider.complete(request)
    return conclude({ text: asText(content, "the answer") }, stopReason)
//#end
//#from s03
    return await collectAssistantMessage(await given.provider.stream(request))
//#end
  } catch (error) {
    return breakOff(UNREAD, error)
  }
}
//#from s05

/** Throws unless the hooks let a call through. Hooks that are broken let nothing through. */
export function assertMayRun(hooks: ToolHooks | undefined, call: ToolCall): void {
  if (hooks === undefined) return
  if (Object.prototype.toString.call(hooks) !== "[object Object]")
    reject(hooks, "hooks", "an object with the two functions")
  if (hooks.beforeToolCall === undefined) return
  const decision = hooks.beforeToolCall(call)
  const type = decision?.type
  if (type === "allow") return
  if (type !== "block") reject(decision, "beforeToolCall", 'a decision, "allow" or "block"')
  const { reason } = decision as { reason: unknown }
  complain(`blocked: ${typeof reason === "string" && reason.trim() !== "" ? reason : "nobody said why"}`)
}

/** The result as the hook wants it to be. An error stays an error. Throws when the hook does, or gives no text. */
export function afterwards(hooks: ToolHooks | undefined, call: ToolCall, result: string): string {
  const revised = asText(hooks?.afterToolCall?.(call, result) ?? result, "afterToolCall")
  if (!result.startsWith("error: ") || revised.startsWith("error: ")) return revised
  return revised.trim() === "" ? result : `error: ${revised}`
}

/** One call by itself: hook, tool, hook. Does not throw. */
export function executeToolCall(registry: ToolRegistry, hooks: ToolHooks, call: ToolCall): ToolResultMessage {
  let id = ""
  try {
    id = asText(call?.id, "the id of a call")
    const own = copyCall(call)
    assertMayRun(hooks, own)
    return answer(own.id, afterwards(hooks, own, asText(registry.run(own), "what the registry returned")))
  } catch (error) {
    return answerError(id, error)
  }
}
//#end
//#from s04

/** Throws unless the call may run: of a whole message, of a tool that was on offer. */
//#end
//#from s04 until s04
export function assertRunnable(message: AssistantMessage, call: ToolCall, tools: readonly ToolSpec[], _: Given): void {
//#end
//#from s05
export function assertRunnable(
  message: AssistantMessage,
  call: ToolCall,
  tools: readonly ToolSpec[],
  given: Given,
): void {
//#end
//#from s04
  if (message.stopReason !== "toolUse") complain(`not run: ${whyFailed(message)}`)
  if (!tools.some((spec) => spec.name === call.name)) complain(`unknown tool "${call.name}", it was not on offer`)
//#end
//#from s05
  assertMayRun(given.hooks, call)
//#end
//#from s04
}

/** The reason that a failed message gives. */
export function whyFailed({ content }: AssistantMessage): string {
  const [, reason = content] = /^error: ([^]*)$/m.exec(content.slice(Math.max(0, content.search(/^error: /m)))) ?? []
  return reason
}

/** What an executor, or the registry, answers to a call. An executor that throws gives an error as a text. */
export async function reply(call: ToolCall, given: Given): Promise<string> {
  const { execute, registry = new ToolRegistry() } = given
  const ownWay: ToolExecutor = (own) => answer(own.id, asText(registry.run(own), "what the registry returned"))
  const found = await Promise.resolve(call)
    .then(execute ?? ownWay)
    .catch((error: unknown) => answerError(call.id, error))
  const content = asText(found?.content, "what the executor answered")
  return found.toolCallId === call.id ? content : complain(`call "${call.id}" got an answer to "${found.toolCallId}"`)
}

/** One result for each call, in their order, once all are there. Each call is judged before the first one runs. */
export async function runCalls(
  message: AssistantMessage,
  tools: readonly ToolSpec[],
  given: Given,
): Promise<readonly ToolResultMessage[]> {
  const judged = (message.toolCalls ?? []).map((call) => {
    try {
      assertRunnable(message, call, tools, given)
      return { call, refusal: undefined }
    } catch (error) {
      return { call, refusal: answerError(call.id, error) }
    }
  })
  return Promise.all(judged.map(async ({ call, refusal }) => refusal ?? runCall(call, given)))
}

/** The one result of a call that may run. Does not throw. */
export async function runCall(call: ToolCall, given: Given): Promise<ToolResultMessage> {
  try {
    const text = await reply(call, given)
//#end
//#from s04 until s04
    return answer(call.id, text)
//#end
//#from s05
    return answer(call.id, afterwards(given.hooks, call, text))
//#end
//#from s04
  } catch (error) {
    return answerError(call.id, error)
  }
}

/** How many requests a turn may make: eight unless something else was said. Throws for what is no positive integer. */
export function readLimit(maxTurns: number | undefined): number {
  if (maxTurns === undefined) return 8
  return Number.isInteger(maxTurns) && maxTurns > 0 ? maxTurns : reject(maxTurns, "maxTurns", "a positive integer")
}
//#end
//#from s04 until s05

/** One request and what follows from it, and again, as long as any are left. Throws for a broken history. */
export async function goRound(state: AgentState, given: Given, left: number): Promise<AssistantMessage> {
  if (left === 0) return keep(state, toMessage(UNREAD, "max turns reached", "stop"), given)
  const request = makeRequest(state, given)
  assertPairedToolCalls(request.messages)
  const message = keep(state, await ask({ ...request, tools: [...request.tools] }, given), given)
  const results = await runCalls(message, request.tools, given)
  results.forEach((result) => keep(state, result, given))
  return message.stopReason === "toolUse" ? goRound(state, given, left - 1) : message
}

/** Goes on with a history until the model has answered. Throws where the history is broken. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  const given = readOptions(options)
  return goRound(state, given, readLimit(given.maxTurns))
}
//#end
//#from s06

/** What a turn sends next: the snapshot, grown by what was said. The first `checked` are known to pair. */
export type Conversation = { readonly snapshot: TurnSnapshot; readonly checked: number; readonly left: number }

/** The conversation with more messages at its end. */
export function grow(conversation: Conversation, said: readonly AgentMessage[], left: number): Conversation {
  const { snapshot } = conversation
  const messages = [...snapshot.messages, ...said.map(toSent)]
  return { snapshot: { ...snapshot, messages }, checked: snapshot.messages.length, left }
}

/** One request and what follows from it, and again, as long as any are left. Throws for a broken history. */
export async function goRound(state: AgentState, given: Given, talk: Conversation): Promise<AssistantMessage> {
  const { snapshot, checked, left } = talk
  if (left === 0) return keep(state, toMessage(UNREAD, "max turns reached", "stop"), given)
  assertPairedToolCalls(snapshot.messages, checked)
  // Lists of their own: whoever is handed the request has no say in what is sent next.
  const request = { ...snapshot, messages: [...snapshot.messages], tools: [...snapshot.tools] }
  const message = keep(state, await ask(request, given), given)
  const results = await runCalls(message, snapshot.tools, given)
  results.forEach((result) => keep(state, result, given))
  return message.stopReason === "toolUse" ? goRound(state, given, grow(talk, [message, ...results], left - 1)) : message
}

/** Goes on with a history until the model has answered. Throws where the history is broken. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  const given = readOptions(options)
  const left = readLimit(given.maxTurns)
  return goRound(state, given, { snapshot: makeRequest(state, given), checked: 0, left })
}
//#end

/** One turn. A failing model becomes a message; what throws is the caller's mistake, and was not recorded. */
export async function runOneTurn(state: AgentState, prompt: string, options: TurnOptions): Promise<AssistantMessage> {
  const given = readOptions(options)
  const words: UserMessage = { role: "user", content: asText(prompt, "the prompt").toWellFormed() }
//#until s03
  keep(state, words, given)
  return keep(state, await ask(makeRequest(state, given), given), given)
//#end
//#from s04
  const left = readLimit(given.maxTurns)
//#end
//#from s04 until s05
  assertPairedToolCalls(makeRequest(state, given).messages)
  keep(state, words, given)
  return goRound(state, given, left)
//#end
//#from s06
  const snapshot = makeRequest(state, given)
//#end
//#from s06 until s06
  assertPairedToolCalls(snapshot.messages)
  const talk = grow({ snapshot, checked: 0, left }, [keep(state, words, given)], left)
  return goRound(state, given, talk)
//#end
//#from s07
  const own: AgentState = { model: state.model, messages: state.messages }
  const release = own.messages.acquire()
  try {
    const talk = grow({ snapshot, checked: 0, left }, [keep(own, words, given)], left)
    return await goRound(own, given, talk)
  } finally {
    release()
//#end
//#from s09
    announce({ type: "done" }, given)
//#end
//#from s07
  }
//#end
}
//#from s12

/** The lists of a manifest. */
export const LISTS: readonly ["tools", "commands", "resources"] = Object.freeze(["tools", "commands", "resources"])

/** The own fields of an object, copied; nothing for anything else. */
export function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return Object.prototype.toString.call(value) === "[object Object]" ? { ...(value as object) } : undefined
}

/** Whether a name is plain: it starts with a letter, has no blanks and no paths, and is not too long. */
export function isPlain(name: unknown): boolean {
  return typeof name === "string" && name.length <= 64 && /^[a-zA-Z][\w-]*(\.[\w-]+)*$/.test(name)
}

/** What is wrong with the fields of an object. */
export function findFieldFaults(
  fields: Record<string, unknown> | undefined,
  what: string,
  known: readonly string[],
): string[] {
  if (fields === undefined) return [`${what} is no object`]
  const missing = known.filter((name) => !Object.hasOwn(fields, name)).map((name) => `${what} lacks ${name}`)
  const unknown = Object.keys(fields).filter((name) => !known.includes(name))
  return [...missing, ...unknown.map((name) => `${what} has a field that nobody knows, ${JSON.stringify(name)}`)]
}

/** What is wrong with a list of names. */
export function findListFaults(list: unknown, what: string): string[] {
  if (!Array.isArray(list)) return [`${what} is no list`]
  return Array.from(list)
    .filter((name) => !isPlain(name))
    .map((name) => `in ${what}: ${describeKind(name)} is no plain name`)
}

/** What is wrong between the names and the contents. */
export function findContentFaults(listed: readonly unknown[], contents: Record<string, unknown>): string[] {
  const names = [...listed, ...Object.keys(contents)].filter((name) => typeof name === "string")
  return [...new Set(names)].flatMap((name) => {
    const times = listed.filter((other) => other === name).length
    const hasText = Object.hasOwn(contents, name) && typeof contents[name] === "string"
    return [
      ...(times === 1 ? [] : [`${JSON.stringify(name)} stands ${times} times in the manifest, once is right`]),
      ...(hasText ? [] : [`${JSON.stringify(name)} comes without a text`]),
    ]
  })
}

/** Checks a package, and runs nothing of it. Throws with every reason that was found. */
export function loadPackage(pkg: Package): LoadedPackage {
  const outer = fieldsOf(pkg)
  const manifest = fieldsOf(outer?.manifest)
  const contents = fieldsOf(outer?.contents)
  const lists = LISTS.map((kind): unknown => (Array.isArray(manifest?.[kind]) ? [...manifest[kind]] : undefined))
  const listed = lists.flatMap((list) => (Array.isArray(list) ? list : []))
  const faults = [
    ...findFieldFaults(outer, "the package", ["manifest", "contents"]),
    ...findFieldFaults(manifest, "the manifest", ["name", ...LISTS]),
    ...(isPlain(manifest?.name) ? [] : [`the name of the package: ${describeKind(manifest?.name)} is no plain name`]),
    ...LISTS.flatMap((kind, index) => findListFaults(lists[index], kind)),
    ...(contents === undefined ? ["the contents are no texts by name"] : findContentFaults(listed, contents)),
  ]
  if (faults.length > 0) complain(uncover(`refused, for these reasons:\n${faults.join("\n")}`))
  const [tools, commands, resources] = lists.map((list) =>
    copyTexts(Object.fromEntries((list as string[]).map((name) => [name, contents?.[name]])), "the contents"),
  )
  const name = manifest?.name as string
  return Object.freeze({ name, tools: tools ?? {}, commands: commands ?? {}, resources: resources ?? {} })
}

/** Installs a package whole, by the doors that are there, or nothing of it, and says which. */
export function installLoadedPackage(
  pkg: LoadedPackage,
  extensions: ExtensionRuntime,
  loader: ResourceLoader,
  trust?: ProjectTrust,
): boolean {
  if (trust !== "trusted") return false
  const texts = (): ContextResource[] =>
    Object.entries(pkg.resources).map(([name, content]) => copyResource({ kind: "skill", name, content }))
  let checked: ContextResource[] = []
  const bring: Extension = (api) => {
    checked = texts()
    Object.entries(pkg.tools).forEach(([name, text]) => {
      const spec = { name, description: `out of the package ${pkg.name}`, input: {} }
      api.registerTool({ spec, handler: () => text })
    })
    Object.entries(pkg.commands).forEach(([name, text]) => {
      api.registerCommand({ name, run: () => text })
    })
  }
  const isInstalled = extensions.use(bring, pkg.name)
  if (isInstalled) loader.add(checked)
  return isInstalled
}
//#end
