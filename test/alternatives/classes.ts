// Habits of this engineer: everything is a class, and what is wrong is refused at the door by an error of its own kind.
// Whoever asks gets a private copy, so nobody has to be kept from editing it; fields are private.
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

/** A refusal of this program; its text is for people. */
export class AgentError extends Error {
  override readonly name: string = "AgentError"
}

/** Something from outside is not what it has to be. */
export class UnfitError extends AgentError {
  override readonly name: string = "UnfitError"

  constructor(where: string, wanted: string, value: unknown) {
    super(`${where} has to be ${wanted}, but it is ${UnfitError.#show(value)}`)
    // Nobody waits for a promise that was refused. Should it fail later, that must not end the process.
    if (value instanceof Promise) value.catch(() => {})
  }

  static #show(value: unknown): string {
    if (typeof value === "string") return JSON.stringify(value.slice(0, 50))
    if (value === null) return "null"
    if (Array.isArray(value)) return "a list"
    return value instanceof Promise ? "a promise" : typeof value
  }
}

/** Says why something failed. */
export class Failure {
  /** A reason in words, whatever was thrown: never blank, and it does not throw itself. */
  static reason(thrown: unknown): string {
    try {
      const isObject = typeof thrown === "object" && thrown !== null
      const said = isObject && "message" in thrown ? thrown.message : thrown
      const words = said === undefined || said === null ? "" : String(said)
      if (words.trim() !== "" && !words.startsWith("[object ")) return words
    } catch {
      // Some objects throw while they are turned into text.
    }
    return "it failed and did not say why"
  }

  /** The reason in the form that the model knows a failure by. */
  static text(thrown: unknown): string {
    return `error: ${Failure.reason(thrown)}`
  }
}

/** Checks of texts that come from outside. */
export class Text {
  /** The string as it came. Throws for anything else. */
  static raw(value: unknown, where: string): string {
    if (typeof value !== "string") throw new UnfitError(where, "a string", value)
    return value
  }

  /** The string without half characters. Throws for anything else. */
  static of(value: unknown, where: string): string {
    return Text.raw(value, where).toWellFormed()
  }
//#from s02

  /** A private copy of strings by name. Throws for anything else, lists and maps included. */
  static byName(value: unknown, where: string): Record<string, string> {
    if (Object.prototype.toString.call(value) !== "[object Object]")
      throw new UnfitError(where, "strings by name", value)
    const texts = Object.entries(value as object).map(([name, text]) => [
      name.toWellFormed(),
      Text.of(text, `${where}: ${JSON.stringify(name)}`),
    ])
    return Object.fromEntries(texts)
  }
//#end
}

//#from s04
/** Calls what others have written. */
export class Outside {
  /** Runs it; whatever it throws now or fails with later goes to `heard` and no further. */
  static run(action: () => unknown, heard: (error: unknown) => void = () => {}): void {
    try {
      const result = action()
      if (result instanceof Promise) result.catch(heard)
    } catch (error) {
      heard(error)
    }
  }
}

/** Makes control characters harmless. */
export class Visible {
  static readonly #hidden = /\r\n|[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

  /** The text with everything that a terminal may obey written out; line ends and tabs stay. */
  static text(text: string): string {
    return Visible.#replace(text, (code) => `\\u{${code}}`)
  }
//#end
//#from s10

  /** The same for a text in JSON, which stays JSON. */
  static json(text: string): string {
    return Visible.#replace(text, (code) => `\\u${code.padStart(4, "0")}`)
  }
//#end
//#from s04

  static #replace(text: string, show: (code: string) => string): string {
    const isHarmless = (found: string): boolean => found === "\r\n" || found === "\n" || found === "\t"
    return text.replace(Visible.#hidden, (found) =>
      isHarmless(found) ? found : show((found.codePointAt(0) ?? 0).toString(16)),
    )
  }
}

//#end
/** Private copies, with the fields that we know and no others. */
export class Copy {
//#from s04
  /** A call of one's own. */
  static call(call: ToolCall): ToolCall {
    return { id: call.id, name: call.name, input: { ...call.input } }
  }

//#end
  /** A message of one's own. */
  static message<Message extends AgentMessage>(message: Message): Message
  static message(message: AgentMessage): AgentMessage {
    if (message.role === "user") return { role: "user", content: message.content }
//#from s04
    if (message.role === "toolResult")
      return { role: "toolResult", toolCallId: message.toolCallId, content: message.content }
//#end
    const copy: AssistantMessage = { role: "assistant", content: message.content, stopReason: message.stopReason }
//#from s04
    if (message.toolCalls !== undefined && message.toolCalls.length > 0)
      copy.toolCalls = message.toolCalls.map(Copy.call)
//#end
    return copy
  }

  /** The message as the model is to see it. */
  static forModel(message: AgentMessage): ProviderMessage {
    const copy = Copy.message(message)
    if (copy.role !== "assistant") return copy
    const { stopReason: _, ...sent } = copy
    return sent
  }
//#until s06

  /** A message that stands in an open list, where a copy alone protects nothing: so it is frozen. */
  static fixed(message: AgentMessage): AgentMessage {
    const copy = Copy.message(message)
//#end
//#from s04 until s06
    if (copy.role === "assistant" && copy.toolCalls !== undefined) {
      for (const call of copy.toolCalls) Object.freeze(Object.freeze(call).input)
      Object.freeze(copy.toolCalls)
    }
//#end
//#until s06
    return Object.freeze(copy)
  }
//#end
//#from s02

  /** A description of one's own. */
  static spec({ name, description, input }: ToolSpec): ToolSpec {
    return { name, description, input: { ...input } }
  }
//#end
//#from s06

  /** A request of one's own: whoever gets it has no say in what is sent next. */
  static request(request: ProviderInput): ProviderInput {
    return { ...request, messages: request.messages.map(Copy.sent), tools: request.tools.map(Copy.spec) }
  }

  /** A message of a request, of one's own. */
  static sent(message: ProviderMessage): ProviderMessage {
    if (message.role !== "assistant" || message.toolCalls === undefined) return { ...message }
    return { ...message, toolCalls: message.toolCalls.map(Copy.call) }
  }
//#end
}

/** The model's message while it is being made. */
export class Draft {
  #text = ""
//#from s04
  readonly #calls: ToolCall[] = []
//#end

  /** Adds a piece of text. */
  write(text: string): void {
    this.#text += text
  }

//#from s04
  /** Adds a call. Throws for what is no call, for an id that is there already, and for arguments that are no texts. */
  call(call: ToolCall): void {
    const id = Text.of(call?.id, "the id of a call")
    const name = Text.of(call.name, "the tool of a call")
    if (this.#calls.some((other) => other.id === id)) throw new AgentError(`the model used the call id "${id}" twice`)
    const kept: ToolCall = { id, name, input: {} }
    // It is kept before its arguments are looked at: a call that has an id has to be answered.
    this.#calls.push(kept)
    kept.input = Text.byName(call.input ?? {}, `the input of call "${id}"`)
  }

//#end
  /** The message that ended like this. When something is wrong with it, it becomes a failed one. */
  finish(stopReason: StopReason): AssistantMessage {
    const complaint = this.#complaint(stopReason)
    if (complaint !== undefined) return this.fail(new AgentError(complaint))
    return this.#message(this.#text, stopReason)
  }

  /** The message that broke off: what had arrived comes first, then the reason. */
  fail(thrown: unknown): AssistantMessage {
    const reason = Failure.text(thrown)
    return this.#message(this.#text.trim() === "" ? reason : `${this.#text}\n${reason}`, "error")
  }

  #complaint(stopReason: StopReason): string | undefined {
//#from s04
    if (stopReason === "toolUse")
      return this.#calls.length === 0 ? "the message ended to wait for results, but it has no calls" : undefined
    if (this.#calls.length > 0) return `a message with calls has to end with "toolUse", it ended with "${stopReason}"`
//#end
    if (stopReason !== "stop") return `the model's message ended with "${String(stopReason)}"`
    return this.#text.trim() === "" ? "the model's message is empty" : undefined
  }

  #message(content: string, stopReason: StopReason): AssistantMessage {
    const message: AssistantMessage = { role: "assistant", content: content.toWellFormed(), stopReason }
//#from s04
    if (this.#calls.length > 0) message.toolCalls = this.#calls.map(Copy.call)
//#end
    return message
  }
}

//#from s03
/** Reads one stream to its end and makes one message of it. */
export class StreamReader {
  readonly #draft = new Draft()

  /** The message of the events; a stream that breaks gives a failed one. Does not throw. */
  async read(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
    try {
      for await (const event of events) {
        const message = this.#take(event)
        if (message !== undefined) return message
      }
      throw new AgentError("the stream stopped before the message had ended")
    } catch (error) {
      return this.#draft.fail(error)
    }
  }

  #take(event: ProviderEvent): AssistantMessage | undefined {
    const type: unknown = event?.type
    switch (type) {
      case "message_start":
        return undefined
      case "text_delta":
        this.#draft.write(Text.raw((event as { text: unknown }).text, "the text of a text_delta"))
        return undefined
//#end
//#from s04
      case "tool_call":
        this.#draft.call((event as { call: ToolCall }).call)
        return undefined
//#end
//#from s03
      case "message_end":
        return this.#draft.finish((event as { stopReason: StopReason }).stopReason)
      default:
        throw new UnfitError("the type of an event", "one that we know", type)
    }
  }
}

/** Makes one message out of the events of a stream. Does not throw. */
export async function collectAssistantMessage(events: AsyncIterable<ProviderEvent>): Promise<AssistantMessage> {
  return new StreamReader().read(events)
}

//#end
//#from s02
/** Keeps tools, each name once. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>()

  /** A door: throws for what is no tool and for a name that is taken, and has changed nothing then. */
  register(tool: Tool): void {
    const own = ToolRegistry.check(tool)
    if (this.#tools.has(own.spec.name)) throw new AgentError(`there is a tool "${own.spec.name}" already`)
    this.#tools.set(own.spec.name, own)
  }

  /** Private copies of the descriptions, in the order of registration. */
  getSpecs(): ToolSpec[] {
    return Array.from(this.#tools.values(), ({ spec }) => Copy.spec(spec))
  }
//#end
//#from s04

  /** Runs one call. Does not throw: a failure is a text that starts with `error: `. */
  run(call: ToolCall): string {
    try {
      const name = Text.raw(call?.name, "the tool of a call")
      const tool = this.#tools.get(name)
      if (tool === undefined) throw new AgentError(`unknown tool "${name}": nobody has registered it`)
      const input = Text.byName(call.input ?? {}, `the input of tool "${name}"`)
      return Text.raw(tool.handler(input), `the result of tool "${name}"`)
    } catch (error) {
      return Failure.text(error)
    }
  }
//#end
//#from s02

  /** A private copy of a tool. Throws for what is none. */
  static check(tool: Tool): Tool {
    const spec = tool?.spec
    if (typeof spec !== "object" || spec === null) throw new UnfitError("the spec of a tool", "an object", spec)
    const name = Text.of(spec.name, "the name of a tool")
    const description = Text.of(spec.description, `the description of tool "${name}"`)
    const input = Text.byName(spec.input ?? {}, `the input of tool "${name}"`)
    const { handler } = tool
    if (typeof handler !== "function") throw new UnfitError(`the handler of tool "${name}"`, "a function", handler)
    return { spec: { name, description, input }, handler: handler.bind(tool) }
  }
}

//#end
//#from s07
/** The session: a tree that only grows, and a place in it. It hands out copies and nothing of its own. */
export class SessionTree {
  readonly #places = new Map<string, SessionNode>()
  #here: SessionNode | null = null
  #holder: object | null = null

  /** Where the next message will be added; null is before the first one. */
  get leafId(): string | null {
    return this.#here === null ? null : this.#here.entry.id
  }

  /** A door: adds a message behind the current place. Throws for what is no message, and has added nothing then. */
  append(message: AgentMessage): SessionEntry {
    const own = SessionTree.#check(message)
    const entry: SessionEntry = { ...Copy.message(own), id: `m${this.#places.size + 1}`, parentId: this.leafId }
    this.#here = { entry, message: own, parent: this.#here }
    this.#places.set(entry.id, this.#here)
    return SessionTree.#copy(this.#here)
  }

  /** Goes to an entry, or with null before the first. Throws during a turn, for an unknown id, and inside of a pair. */
  moveTo(id: string | null): void {
    if (this.#holder !== null) throw new AgentError("nobody moves in a session while a turn is running in it")
    const place = id === null ? null : this.#places.get(id)
    if (place === undefined) throw new AgentError(`the session has no entry "${String(id)}" to move to`)
    assertPairedToolCalls(SessionTree.#path(place).map(Copy.forModel))
    this.#here = place
  }

  /** The messages from the first one to the current place. */
  currentPath(): AgentMessage[] {
    return SessionTree.#path(this.#here).map((message) => Copy.message(message))
  }

  /** All entries of all branches, as they arrived. */
  allEntries(): SessionEntry[] {
    return Array.from(this.#places.values(), SessionTree.#copy)
  }

  /** Reserves the session for a turn and returns what ends that. Throws during a turn, and where results are due. */
  acquire(): () => void {
    if (this.#holder !== null) throw new AgentError("this session is busy with another turn; ask again when it is over")
    assertPairedToolCalls(SessionTree.#path(this.#here).map(Copy.forModel))
    const holder = {}
    this.#holder = holder
    return () => {
      if (this.#holder === holder) this.#holder = null
    }
  }

  static #path(last: SessionNode | null): AgentMessage[] {
    const backwards: AgentMessage[] = []
    for (let place = last; place !== null; place = place.parent) backwards.push(place.message)
    return backwards.reverse()
  }

  static #copy({ entry, message }: SessionNode): SessionEntry {
    return { ...Copy.message(message), id: entry.id, parentId: entry.parentId }
  }

  static #check(message: AgentMessage): AgentMessage {
    const role: unknown = message?.role
    if (role !== "user" && role !== "assistant" && role !== "toolResult")
      throw new UnfitError("the role of a message", "user, assistant or toolResult", role)
    const content = Text.of(message.content, "the content of a message")
    if (role === "user") return { role, content }
    if (role === "toolResult") {
      const { toolCallId } = message as ToolResultMessage
      return { role, toolCallId: Text.of(toolCallId, "the call id of a result"), content }
    }
    const { stopReason, toolCalls } = message as AssistantMessage
    if (stopReason !== "stop" && stopReason !== "error" && stopReason !== "toolUse")
      throw new UnfitError("the stop reason of a message", "stop, error or toolUse", stopReason)
    const own: AssistantMessage = { role, content, stopReason }
    if (toolCalls === undefined) return own
    if (!Array.isArray(toolCalls)) throw new UnfitError("the calls of a message", "a list", toolCalls)
    if (toolCalls.length > 0) own.toolCalls = toolCalls.map(SessionTree.#checkCall)
    return own
  }

  static #checkCall(call: ToolCall): ToolCall {
    const id = Text.of(call?.id, "the id of a call")
    const name = Text.of(call.name, "the tool of a call")
    return { id, name, input: Text.byName(call.input ?? {}, `the input of call "${id}"`) }
  }
}

//#end
//#from s08
/** Keeps the texts of a project. */
export class ResourceLoader {
  #texts: ContextResource[]

  /** A door: throws for what is no resource. */
  constructor(resources: ContextResource[]) {
    this.#texts = resources.map(ResourceLoader.check)
  }

//#end
//#from s08 until s10
  /** Private copies of the texts, in their order. */
  load(): ContextResource[] {
    return this.#texts.map((text) => ({ ...text }))
  }
//#end
//#from s11
  /** Private copies of the texts, in their order; of a project that nobody called trusted, none. */
  load(trust?: ProjectTrust): ContextResource[] {
    return trust === "trusted" ? this.#texts.map((text) => ({ ...text })) : []
  }
//#end
//#from s12

  /** A door: adds all of them, or throws and adds none. */
  add(resources: ContextResource[]): void {
    const checked = resources.map(ResourceLoader.check)
    this.#texts = this.#texts.concat(checked)
  }
//#end
//#from s08

  /** A private copy of a resource. Throws for what is none. */
  static check(resource: ContextResource): ContextResource {
    const kind = resource?.kind
    if (!SystemPrompt.KINDS.includes(kind))
      throw new UnfitError("the kind of a resource", SystemPrompt.KINDS.join(" or "), kind)
    const name = Text.of(resource.name, "the name of a resource")
    return { kind, name, content: Text.of(resource.content, `the content of resource "${name}"`) }
  }
}

/** Puts resources together into one text. They are read, and nothing in them is run. */
export class SystemPrompt {
  /** The kinds, in the order in which they stand in the prompt. */
  static readonly KINDS: readonly ContextResource["kind"][] = ["agents", "skill", "prompt"]
  static readonly #longestText = 20_000
  static readonly #longestName = 100
  static readonly #lineEnd = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/
  readonly #sections: string[] = []

  constructor(resources: ContextResource[]) {
    for (const kind of SystemPrompt.KINDS)
      for (const resource of resources) if (resource.kind === kind) this.#add(resource)
  }

  /** The whole prompt; empty without resources. */
  text(): string {
    return this.#sections.join("\n\n")
  }

  #add({ kind, name, content }: ContextResource): void {
    const oneLine = name.replace(/[\p{C}\p{Z}]+/gu, " ").trim()
    const lines = [`# ${kind}: ${SystemPrompt.#cut(oneLine, SystemPrompt.#longestName)}`]
    for (const line of SystemPrompt.#cut(content, SystemPrompt.#longestText).split(SystemPrompt.#lineEnd))
      lines.push(`  ${line}`)
    if (content.length > SystemPrompt.#longestText) lines.push(`  (${SystemPrompt.#note(content)})`)
    this.#sections.push(lines.join("\n"))
  }

  static #note(content: string): string {
    return `cut here: ${SystemPrompt.#cut(content, SystemPrompt.#longestText).length} of ${content.length} characters`
  }

  /** The first `limit` units, one less where that would leave half a character. */
  static #cut(text: string, limit: number): string {
    if (text.length <= limit) return text
    const last = text.charCodeAt(limit - 1)
    return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
  }
}

//#end
//#from s09
/** What one extension wants to add, gathered while its setup runs. */
export class Application {
  readonly tools: Tool[] = []
  readonly commands: Command[] = []
  readonly handlers: [type: RuntimeEvent["type"], handler: EventHandler][] = []
  #open = true

  /** The three functions that the extension is given. */
  api(): ExtensionAPI {
    return {
      on: (type, handler) => {
        this.#assertOpen()
        if (type !== "message" && type !== "done") throw new UnfitError("the event to hear", "message or done", type)
        if (typeof handler !== "function") throw new UnfitError(`the handler of "${type}"`, "a function", handler)
        this.handlers.push([type, handler])
      },
      registerTool: (tool) => {
        this.#assertOpen()
        this.tools.push(ToolRegistry.check(tool))
      },
      registerCommand: (command) => {
        this.#assertOpen()
        this.commands.push(Application.#command(command))
      },
    }
  }

  /** From here on the functions refuse. */
  close(): void {
    this.#open = false
  }

  #assertOpen(): void {
    if (!this.#open) throw new AgentError("what an extension adds, it adds during its setup")
  }

  static #command(command: Command): Command {
    const name = Text.of(command?.name, "the name of a command")
    if (name === "") throw new AgentError("a command needs a name that is not empty")
    const { run } = command
    if (typeof run !== "function") throw new UnfitError(`the run of command "${name}"`, "a function", run)
    return { name, run: run.bind(command) }
  }
}

/** The door for code from outside. */
export class ExtensionRuntime {
  readonly #registry: ToolRegistry
  readonly #output: Output
  readonly #inUse = new Set<unknown>()
  readonly #commands = new Map<string, Command>()
  #handlers: EventHandler[] = []

  constructor(registry: ToolRegistry, output: Output) {
    this.#registry = registry
    this.#output = output
  }

  /** Installs all of an extension, or reports by name why none of it is installed and returns false. */
  use(extension: Extension, owner?: string): boolean {
    const name = owner ?? (extension?.name || "anonymous")
    const keys = owner === undefined ? [extension] : [extension, owner]
    if (keys.some((key) => this.#inUse.has(key))) return this.#report(name, new AgentError("it is installed already"))
    for (const key of keys) this.#inUse.add(key)
    try {
      this.#install(this.#setUp(extension), name)
      return true
    } catch (error) {
      for (const key of keys) this.#inUse.delete(key)
      return this.#report(name, error)
    }
  }
//#end
//#from s11

  /** Fetches and installs an extension of the project; of one that nobody called trusted, nothing is even fetched. */
  async useProject(fetchExtension: () => Extension | Promise<Extension>, trust?: ProjectTrust): Promise<boolean> {
    if (trust !== "trusted") return false
    try {
      return this.use(await fetchExtension())
    } catch (error) {
      return this.#report("project", error)
    }
  }
//#end
//#from s09

  /** The names of the commands, in the order of registration. */
  getCommands(): string[] {
    return Array.from(this.#commands.keys())
  }

  /** Runs a command. Does not throw: a failure is a text that starts with `error: `. */
  runCommand(name: string): string {
    try {
      const command = this.#commands.get(name)
      if (command === undefined) throw new AgentError(`unknown command "${String(name)}"`)
      return Text.raw(command.run(), `the result of command "${name}"`)
    } catch (error) {
      return Failure.text(error)
    }
  }

  /** Tells everyone who listens now, each with a copy of the event. */
  emit(event: RuntimeEvent): void {
    for (const handler of this.#handlers) handler({ ...event })
  }

  #setUp(extension: Extension): Application {
    if (typeof extension !== "function") throw new UnfitError("an extension", "a function", extension)
    const application = new Application()
    try {
      const result: unknown = extension(application.api())
      if (result instanceof Promise) throw new UnfitError("what a setup returns", "nothing to wait for", result)
    } finally {
      application.close()
    }
    return application
  }

  #install({ tools, commands, handlers }: Application, name: string): void {
    const toolNames = new Set(this.#registry.getSpecs().map((spec) => spec.name))
    for (const { spec } of tools) ExtensionRuntime.#claim(toolNames, "tool", spec.name)
    const commandNames = new Set(this.#commands.keys())
    for (const command of commands) ExtensionRuntime.#claim(commandNames, "command", command.name)
    for (const tool of tools) this.#registry.register(tool)
    for (const command of commands) this.#commands.set(command.name, command)
    const heard = handlers.map(([type, handler]): EventHandler => (event) => {
      if (event.type !== type) return
      Outside.run(
        () => handler(event),
        (error) => this.#report(name, error),
      )
    })
    // A new list: an event that is going round now is not told to those who have just come.
    this.#handlers = [...this.#handlers, ...heard]
  }

  static #claim(taken: Set<string>, kind: string, name: string): void {
    if (taken.has(name)) throw new AgentError(`the ${kind} name "${name}" is taken`)
    taken.add(name)
  }

  #report(name: string, error: unknown): false {
    Outside.run(() => this.#output.log(Visible.text(`trouble with extension ${name}: ${Failure.reason(error)}`)))
    return false
  }
}

//#end
//#from s10
/** Shows messages to people, line by line. */
export class PrintMode implements RuntimeMode {
  readonly #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  /** Writes each line of each message; one that cannot be written does not keep back the next. */
  render(events: RuntimeEvent[]): void {
    for (const event of events) if (event.type === "message") this.#show(event.content)
  }

  #show(content: string): void {
    for (const line of content.split(/\r?\n/)) Outside.run(() => this.#output.log(Visible.text(line)))
  }
}

/** Writes one JSON object per event for programs. */
export class JsonMode implements RuntimeMode {
  readonly #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  /** Writes one line per event; one that cannot be written does not keep back the next. */
  render(events: RuntimeEvent[]): void {
    for (const event of events) Outside.run(() => this.#output.log(Visible.json(JSON.stringify(event))))
  }
}

//#end
/** What was given for a turn, read once: what is put in its place meanwhile counts for the next turn. */
export class Settings {
  readonly provider: Provider
  readonly output: Output
//#from s02
  readonly registry: ToolRegistry | undefined
//#end
//#from s04
  readonly rounds: number
  readonly execute: ToolExecutor | undefined
//#end
//#from s05
  readonly hooks: ToolHooks | undefined
//#end
//#from s08
  readonly loader: ResourceLoader | undefined
//#end
//#from s09
  readonly extensions: ExtensionRuntime | undefined
//#end
//#from s10
  readonly mode: RuntimeMode
//#end
//#from s11
  readonly trust: ProjectTrust | undefined
//#end

  /** Throws for a limit that is no positive integer. */
  constructor(options: TurnOptions) {
    this.provider = options.provider
    this.output = options.output
//#from s02
    this.registry = options.registry
//#end
//#from s04
    this.rounds = Settings.#limit(options.maxTurns)
    this.execute = options.execute
//#end
//#from s05
    this.hooks = options.hooks
//#end
//#from s08
    this.loader = options.loader
//#end
//#from s09
    this.extensions = options.extensions
//#end
//#from s10
    this.mode = options.mode ?? new PrintMode(options.output)
//#end
//#from s11
    this.trust = options.trust
//#end
  }

  /** One request, of private copies. */
  request(state: AgentState): ProviderInput {
    return {
//#until s06
      messages: state.messages.map(Copy.forModel),
//#end
//#from s07
      messages: state.messages.currentPath().map(Copy.forModel),
//#end
//#from s02
      tools: this.registry?.getSpecs().map(Copy.spec) ?? [],
//#end
//#from s08 until s10
      systemPrompt: new SystemPrompt(this.loader?.load() ?? []).text(),
//#end
//#from s11
      systemPrompt: new SystemPrompt(this.loader?.load(this.trust) ?? []).text(),
//#end
    }
  }
//#from s04

  static #limit(maxTurns: number | undefined): number {
    if (maxTurns === undefined) return 8
    if (!Number.isInteger(maxTurns) || maxTurns < 1)
      throw new AgentError(`maxTurns has to be a positive integer, not ${Failure.reason(maxTurns)}`)
    return maxTurns
  }
//#end
}

/** Everything that is recorded passes here: it is kept first and told afterwards. */
export class Transcript {
  readonly #state: AgentState
  readonly #settings: Settings

  constructor(state: AgentState, settings: Settings) {
    this.#state = state
    this.#settings = settings
  }

  /** Records a message; what the person said is not told back. */
  record(message: AgentMessage): void {
//#until s06
    this.#state.messages.push(Copy.fixed(message))
//#end
//#from s07
    this.#state.messages.append(message)
//#end
    if (message.role === "user") return
//#until s03
    this.#settings.output.log(message.content)
//#end
//#from s04 until s09
    Outside.run(() => this.#settings.output.log(Visible.text(message.content)))
//#end
//#from s09
    this.tell({ type: "message", content: message.content })
//#end
  }
//#from s09

  /** Tells those outside what happened; whatever they do with it harms nobody. */
  tell(event: RuntimeEvent): void {
    Outside.run(() => this.#settings.extensions?.emit({ ...event }))
//#end
//#from s10
    Outside.run(() => this.#settings.mode.render([{ ...event }]))
//#end
//#from s09
  }
//#end
}

//#from s04
/** Throws unless each message with calls is followed by its results, in order. The first `from` count as checked. */
export function assertPairedToolCalls(messages: readonly ProviderMessage[], from: number = 0): void {
  new PairCheck().run(messages, from)
}

/** Walks along a history and knows which results are due. */
export class PairCheck {
  #due: string[] = []

  /** Throws at the first place that is wrong. */
  run(messages: readonly ProviderMessage[], from: number): void {
    for (const [index, message] of messages.entries()) if (index >= from) this.#step(message, index)
    if (this.#due.length > 0) throw new PairError(messages.length, this.#due[0], undefined)
  }

  #step(message: ProviderMessage, index: number): void {
    const due = this.#due.shift()
    const came = message.role === "toolResult" ? message.toolCallId : undefined
    if (due !== came) throw new PairError(index, due, came)
    if (message.role !== "assistant" || message.toolCalls === undefined) return
    this.#due = message.toolCalls.map((call) => call.id)
    for (const [place, id] of this.#due.entries())
      if (this.#due.indexOf(id) !== place) throw new AgentError(`messages[${index}] uses the call id "${id}" twice`)
  }
}

/** A result is missing, surplus or misplaced. */
export class PairError extends AgentError {
  override readonly name: string = "PairError"

  constructor(index: number, due: string | undefined, came: string | undefined) {
    const show = (id: string | undefined): string => (id === undefined ? "no result" : `a result for call "${id}"`)
    super(`at messages[${index}] ${show(due)} is due, and ${show(came)} stands there`)
  }
}

/** Makes the messages that answer calls. */
export class Answer {
  /** What the call brought. */
  static of(call: { id: string }, content: string): ToolResultMessage {
    return { role: "toolResult", toolCallId: call.id, content: content.toWellFormed() }
  }

  /** Why the call brought nothing. */
  static failed(call: { id: string }, thrown: unknown): ToolResultMessage {
    return Answer.of(call, Failure.text(thrown))
  }
}

//#end
//#from s05
/** Asks the hooks. One that is broken is a closed gate. */
export class Gate {
  readonly #hooks: ToolHooks

  /** Throws for what cannot hold hooks, such as the promise or the function that would have brought them. */
  constructor(hooks: ToolHooks | undefined) {
    if (hooks !== undefined && (typeof hooks !== "object" || hooks === null || hooks instanceof Promise))
      throw new UnfitError("hooks", "an object with functions in it", hooks)
    this.#hooks = hooks ?? {}
  }

  /** Throws unless the hook before the call allows it; without one, every call may pass. */
  admit(call: ToolCall): void {
    const { beforeToolCall } = this.#hooks
    if (beforeToolCall === undefined) return
    const decision: unknown = beforeToolCall.call(this.#hooks, Copy.call(call))
    const { type, reason } = (decision ?? {}) as { type?: unknown; reason?: unknown }
    if (type === "allow") return
    if (type !== "block") throw new UnfitError("what beforeToolCall decides", 'an "allow" or a "block"', decision)
    throw new AgentError(`blocked: ${typeof reason === "string" && reason.trim() ? reason : "no reason was given"}`)
  }

  /** What the hook after the call makes of its result. An error stays one. Throws when that is no text. */
  revise(call: ToolCall, result: string): string {
    const { afterToolCall } = this.#hooks
    if (afterToolCall === undefined) return result
    const answer: unknown = afterToolCall.call(this.#hooks, Copy.call(call), result)
    if (answer === undefined || answer === null) return result
    const revised = Text.raw(answer, "what afterToolCall returns")
    if (!result.startsWith("error: ") || revised.startsWith("error: ")) return revised
    return revised.trim() === "" ? result : `error: ${revised}`
  }
}

/** One call without a loop: hook, tool, hook. Does not throw. */
export function executeToolCall(registry: ToolRegistry, hooks: ToolHooks, call: ToolCall): ToolResultMessage {
  let id = ""
  try {
    id = Text.of(call?.id, "the id of a call")
    const name = Text.of(call.name, "the tool of a call")
    const own: ToolCall = { id, name, input: Text.byName(call.input ?? {}, `the input of call "${id}"`) }
    const gate = new Gate(hooks)
    gate.admit(own)
    return Answer.of(own, gate.revise(own, Text.raw(registry.run(Copy.call(own)), "what the registry returns")))
  } catch (error) {
    return Answer.failed({ id }, error)
  }
}

//#end
//#from s04
/** Runs the calls of one message. */
export class CallRunner {
  readonly #settings: Settings
  readonly #shown: Set<string>

  constructor(settings: Settings, tools: ToolSpec[]) {
    this.#settings = settings
    this.#shown = new Set(tools.map((spec) => spec.name))
  }

  /** One result for each call, in their order. All of them are judged before the first one runs. None rejects. */
  start(message: AssistantMessage): Promise<ToolResultMessage>[] {
    const judged = (message.toolCalls ?? []).map((call) => ({ call, refusal: this.#refuse(message, call) }))
    return judged.map(async ({ call, refusal }) => refusal ?? this.#execute(call))
  }

  #refuse(message: AssistantMessage, call: ToolCall): ToolResultMessage | undefined {
    try {
      if (message.stopReason !== "toolUse") throw new AgentError(`not run: ${CallRunner.#reasonOf(message)}`)
      if (!this.#shown.has(call.name)) throw new AgentError(`unknown tool "${call.name}": this turn does not offer it`)
//#end
//#from s05
      new Gate(this.#settings.hooks).admit(call)
//#end
//#from s04
      return undefined
    } catch (error) {
      return Answer.failed(call, error)
    }
  }

  async #execute(call: ToolCall): Promise<ToolResultMessage> {
    try {
//#end
//#from s04 until s04
      return Answer.of(call, await this.#reply(call))
//#end
//#from s05
      return Answer.of(call, new Gate(this.#settings.hooks).revise(call, await this.#reply(call)))
//#end
//#from s04
    } catch (error) {
      return Answer.failed(call, error)
    }
  }

  async #reply(call: ToolCall): Promise<string> {
    const { execute, registry } = this.#settings
    let reply: ToolResultMessage
    try {
      if (execute === undefined)
        return Text.raw((registry ?? new ToolRegistry()).run(Copy.call(call)), "what the registry returns")
      reply = await execute(Copy.call(call))
    } catch (error) {
      return Failure.text(error)
    }
    const content = Text.raw(reply?.content, "the content of what the executor answers")
    if (reply.toolCallId !== call.id)
      throw new AgentError(`the executor was asked about call "${call.id}" and answered "${reply.toolCallId}"`)
    return content
  }

  static #reasonOf({ content }: AssistantMessage): string {
    const lines = content.split("\n")
    const first = lines.findIndex((line) => line.startsWith("error: "))
    return first < 0 ? content : lines.slice(first).join("\n").slice("error: ".length)
  }
}

//#end
/** One turn, from the person's words to the answer. */
export class Turn {
  readonly #state: AgentState
  readonly #settings: Settings
  readonly #transcript: Transcript
//#from s06
  readonly #snapshot: TurnSnapshot
//#end

  /** Takes what the turn will see. Throws when that cannot be had; nothing is recorded then. */
  constructor(state: AgentState, options: TurnOptions) {
//#until s06
    this.#state = state
//#end
//#from s07
    this.#state = { ...state, messages: state.messages }
//#end
    this.#settings = new Settings(options)
    this.#transcript = new Transcript(this.#state, this.#settings)
//#from s06
    this.#snapshot = this.#settings.request(this.#state)
//#end
  }

//#until s03
  /** Records the words, asks once, and records the answer. Throws for a prompt that is no string. */
  async run(prompt: string): Promise<AssistantMessage> {
    this.#transcript.record({ role: "user", content: Text.of(prompt, "the prompt") })
    const message = await this.#ask(this.#settings.request(this.#state))
    this.#transcript.record(message)
    return message
  }
//#end
//#from s04
  /** Records the words and lets model and tools go on to the answer. What refuses the turn leaves no trace. */
  async run(prompt: string): Promise<AssistantMessage> {
    const content = Text.of(prompt, "the prompt")
//#end
//#from s04 until s05
    assertPairedToolCalls(this.#settings.request(this.#state).messages)
//#end
//#from s06 until s06
    assertPairedToolCalls(this.#snapshot.messages)
//#end
//#from s04 until s06
    this.#note({ role: "user", content })
    return this.loop()
//#end
//#from s07
    const release = this.#state.messages.acquire()
    try {
      this.#note({ role: "user", content })
      return await this.loop()
    } finally {
      release()
//#end
//#from s09
      this.#transcript.tell({ type: "done" })
//#end
//#from s07
    }
//#end
//#from s04
  }

  /** Asks, runs what was asked for, and asks again, up to the limit. Throws where the history is broken. */
  async loop(): Promise<AssistantMessage> {
//#end
//#from s06
    let checked = 0
//#end
//#from s04
    for (let round = 0; round < this.#settings.rounds; round++) {
//#end
//#from s04 until s05
      const request = this.#settings.request(this.#state)
      assertPairedToolCalls(request.messages)
      const runner = new CallRunner(this.#settings, request.tools)
//#end
//#from s06
      assertPairedToolCalls(this.#snapshot.messages, checked)
      checked = this.#snapshot.messages.length
      const request = Copy.request(this.#snapshot)
      const runner = new CallRunner(this.#settings, this.#snapshot.tools)
//#end
//#from s04
      const message = await this.#ask(request)
      this.#note(message)
      for (const result of runner.start(message)) this.#note(await result)
      if (message.stopReason !== "toolUse") return message
    }
    const last: AssistantMessage = { role: "assistant", content: "max turns reached", stopReason: "stop" }
    this.#note(last)
    return last
  }

  #note(message: AgentMessage): void {
    this.#transcript.record(message)
//#end
//#from s06
    this.#snapshot.messages.push(Copy.forModel(message))
//#end
//#from s04
  }
//#end

  async #ask(request: ProviderInput): Promise<AssistantMessage> {
    try {
//#until s02
      const answer = await this.#settings.provider.complete(request)
      const draft = new Draft()
      draft.write(Text.raw(answer?.content, "the content of the model's message"))
      return draft.finish(answer.stopReason)
//#end
//#from s03
      return await collectAssistantMessage(await this.#settings.provider.stream(request))
//#end
    } catch (error) {
      return new Draft().fail(error)
    }
  }
}

//#from s04
/** Goes on with a history to the answer. Throws where the history is broken, and for a limit that is none. */
export async function runEventedToolLoop(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  return new Turn(state, options).loop()
}

//#end
//#from s06
/** What a turn that began now would see. */
export function createTurnSnapshot(state: AgentState, options: TurnOptions): TurnSnapshot {
  return new Settings(options).request(state)
}

//#end
/** One turn. A failing model becomes a message; what throws is the caller's own mistake, and has recorded nothing. */
export async function runOneTurn(state: AgentState, prompt: string, options: TurnOptions): Promise<AssistantMessage> {
  return new Turn(state, options).run(prompt)
}
//#from s12

/** Checks one package and gathers everything that is wrong with it. */
export class PackageCheck {
  readonly #complaints: string[] = []
  readonly #kinds = ["tools", "commands", "resources"] as const

  /** The checked package, its texts in the order of the manifest. Throws with every reason that was found. */
  load(pkg: Package): LoadedPackage {
    const { manifest, contents } = this.#fields(pkg, "the package", ["manifest", "contents"])
    const { name, ...lists } = this.#fields(manifest, "the manifest", ["name", ...this.#kinds])
    const texts = this.#texts(contents)
    const owner = this.#plainName(name, "the name of the package")
    const [tools, commands, resources] = this.#kinds.map((kind) => this.#names(lists[kind], kind))
    const listed = [...(tools ?? []), ...(commands ?? []), ...(resources ?? [])]
    for (const item of new Set([...listed, ...texts.keys()])) this.#compare(item, listed, texts)
    if (this.#complaints.length > 0)
      throw new AgentError(`this package cannot be loaded:\n${Visible.text(this.#complaints.join("\n"))}`)
    const pick = (names: string[] = []): Record<string, string> =>
      Object.fromEntries(names.map((item) => [item, (texts.get(item) as string).toWellFormed()]))
    return { name: owner, tools: pick(tools), commands: pick(commands), resources: pick(resources) }
  }

  #fields(value: unknown, where: string, known: string[]): Record<string, unknown> {
    if (Object.prototype.toString.call(value) !== "[object Object]") {
      this.#complaints.push(`${where} has to be an object`)
      return {}
    }
    const fields = { ...(value as Record<string, unknown>) }
    for (const field of Object.keys(fields))
      if (!known.includes(field)) this.#complaints.push(`${where} has an unknown field ${JSON.stringify(field)}`)
    return fields
  }

  #texts(contents: unknown): Map<string, unknown> {
    if (Object.prototype.toString.call(contents) === "[object Object]")
      return new Map(Object.entries(contents as object))
    this.#complaints.push("the contents have to be texts by name")
    return new Map()
  }

  #plainName(value: unknown, where: string): string {
    const isPlain =
      typeof value === "string" &&
      value.length <= 64 &&
      /^[A-Za-z][\w.-]*$/.test(value) &&
      !value.includes("..") &&
      !value.endsWith(".")
    if (isPlain) return value
    const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : typeof value
    this.#complaints.push(`${where} has to be a plain name, not ${shown}`)
    return ""
  }

  #names(value: unknown, kind: string): string[] {
    if (Array.isArray(value)) return Array.from(value, (item) => this.#plainName(item, `each name in ${kind}`))
    this.#complaints.push(`${kind} has to be a list of names`)
    return []
  }

  #compare(item: string, listed: string[], texts: Map<string, unknown>): void {
    const times = listed.filter((other) => other === item).length
    if (times !== 1) this.#complaints.push(`${JSON.stringify(item)} is listed ${times} times, it has to be once`)
    if (typeof texts.get(item) !== "string") this.#complaints.push(`${JSON.stringify(item)} has no text`)
  }
}

/** Checks a package and runs nothing of it. Throws with every reason that was found. */
export function loadPackage(pkg: Package): LoadedPackage {
  return new PackageCheck().load(pkg)
}

/** Installs all of a package by the two doors that are there, or nothing of it, and says which. */
export function installLoadedPackage(
  pkg: LoadedPackage,
  extensions: ExtensionRuntime,
  loader: ResourceLoader,
  trust?: ProjectTrust,
): boolean {
  if (trust !== "trusted") return false
  let texts: ContextResource[] = []
  const extension: Extension = (api) => {
    texts = Object.entries(pkg.resources).map(([name, content]) =>
      ResourceLoader.check({ kind: "skill", name, content }),
    )
    for (const [name, text] of Object.entries(pkg.tools)) {
      const spec: ToolSpec = { name, description: `Gives the text "${name}" of package ${pkg.name}.`, input: {} }
      api.registerTool({ spec, handler: () => text })
    }
    for (const [name, text] of Object.entries(pkg.commands)) api.registerCommand({ name, run: () => text })
  }
  if (!extensions.use(extension, pkg.name)) return false
  loader.add(texts)
  return true
}
//#end
