/**
 * One run of the agent. The loop, the registry, the hooks and the pairing are the core's own; here is told what happens, and asked before damage is
 * done. Nothing here knows of HTTP, of a page or of a file.
 */
import {
  type AgentMessage,
  type AgentState,
  type AssistantMessage,
  describeError,
  type ExtensionRuntime,
  type Output,
  type ProjectTrust,
  type Provider,
  type ProviderEvent,
  ResourceLoader,
  type RuntimeMode,
  runEventedToolLoop,
  runOneTurn,
  SessionTree,
  type Tool,
  type ToolCall,
  ToolRegistry,
  type ToolResultMessage,
  type TurnOptions,
  toolResult,
} from "../../s12_packages/code.ts"
import type { AgentEvent, Question } from "../protocol.ts"
import { toCallBlock } from "../session/convert.ts"
import { createProvider, type TeachingModel } from "./model.ts"
import { type Ask, type BeforeToolCall, decide, questionFor } from "./tool-policy.ts"
import type { ToolDefinition } from "./tools.ts"

/** What a run needs. */
export type RunContext = {
  /** The person's words. Without them the loop goes on from the messages, whose last must then be the person's. */
  prompt?: string
  messages: SessionTree | readonly AgentMessage[]
  tools: AppRegistry | readonly ToolDefinition[]
  model: Provider | TeachingModel
  /** What the model is told before everything else. Where there is a loader, its texts are told instead. */
  systemPrompt?: string
  loader?: ResourceLoader
  extensions?: ExtensionRuntime
  trust?: ProjectTrust
  beforeToolCall?: BeforeToolCall | readonly BeforeToolCall[]
  /** Asks the person before damage, one question after the other. Without it the answer is no. */
  ask?: Ask
  onEvent?: (event: AgentEvent) => void
  /** How the core shows its own events (s10); nothing is shown without it. */
  mode?: RuntimeMode
  /** Ends the run: the stream and the tools are given up, every call gets its result, the last message is an error. */
  signal?: AbortSignal
  maxTurns?: number
  /** How often an answer that broke off is asked for again; once unless told otherwise. */
  retries?: number
}

/** What a run has added to the messages, and what happened. */
export type RunResult = {
  newMessages: AgentMessage[]
  events: AgentEvent[]
  message: AssistantMessage
}

/** The core's registry, and what the app knows besides: where a tool comes from, whether it only reads, whether its last run came to its end. */
export class AppRegistry extends ToolRegistry {
  #definitions = new Map<string, ToolDefinition>()
  #origin: Pick<ToolDefinition, "source"> & { readOnlyTools: readonly string[] } = {
    source: "built-in",
    readOnlyTools: [],
  }
  #succeeded = false

  constructor(tools: readonly ToolDefinition[] = []) {
    super()
    for (const tool of tools) this.register(tool)
  }

  /** Adds a tool. One that says nothing of itself is of the origin that is set, and counts as one that does damage. */
  override register(tool: Tool | ToolDefinition): void {
    const handler: Tool["handler"] = (input) => {
      const text = tool.handler(input)
      this.#succeeded = typeof text === "string"
      return text
    }
    super.register({ spec: tool.spec, handler })
    const { source, readOnlyTools } = this.#origin
    const known = "source" in tool ? tool : { ...tool, source, readOnly: readOnlyTools.includes(tool.spec.name) }
    this.#definitions.set(tool.spec.name, known)
  }

  /** What registers tools in `action` does so for an extension or a package. */
  registerFor<Result>(
    source: ToolDefinition["source"],
    readOnlyTools: readonly string[],
    action: () => Result,
  ): Result {
    const before = this.#origin
    this.#origin = { source, readOnlyTools }
    try {
      return action()
    } finally {
      this.#origin = before
    }
  }

  /** What the app knows of a tool. */
  definition(name: string): ToolDefinition | undefined {
    return this.#definitions.get(name)
  }

  /** Every tool, in the order of registration. */
  definitions(): ToolDefinition[] {
    return [...this.#definitions.values()]
  }

  override run(call: ToolCall): string {
    this.#succeeded = false
    return super.run(call)
  }

  /** Whether the tool that ran last came to its end. */
  get succeeded(): boolean {
    return this.#succeeded
  }
}

/** Knows of each call whether it went well: what has not run to its end, for whatever reason, has not. */
export class CallTracker {
  #good = new Set<string>()

  /** A call comes in: whatever had its id before is over. */
  begin(id: string): void {
    this.#good.delete(id)
  }

  succeed(id: string): void {
    this.#good.add(id)
  }

  isError(id: string): boolean {
    return !this.#good.has(id)
  }
}

/** A promise that is given up when the signal says so. What comes of it later is for nobody. */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(new Error("cancelled"))
    if (signal.aborted) give()
    signal.addEventListener("abort", give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", give))
  })
}

/** The same stream, told to whoever listens, and given up when the signal says so. */
async function* watchStream(
  open: () => AsyncGenerator<ProviderEvent>,
  signal: AbortSignal,
  tell: (event: ProviderEvent) => void,
): AsyncGenerator<ProviderEvent> {
  const events = await untilAborted(Promise.resolve(open()), signal)
  let ended = false
  try {
    for (;;) {
      const next = await untilAborted(events.next(), signal)
      ended = next.done === true
      if (next.done) return
      tell(next.value)
      yield next.value
    }
  } finally {
    // A stream that hangs cannot be waited for; one that can be ended cleans up behind itself.
    if (!ended) void Promise.resolve(events.return(undefined)).catch(() => {})
  }
}

const silent: Output = { log: () => {} }

/** Whether a message is one that is worth asking for a second time: it broke off, and nobody wanted it to. */
function brokeOff(message: AssistantMessage, signal: AbortSignal): boolean {
  return message.stopReason === "error" && !signal.aborted
}

let questions = 0

/**
 * Runs the core's loop once. It resolves whatever happens in a provider, a tool or a rule; it rejects, and has recorded nothing, where the core refuses
 * the turn: a prompt that is no text, a session on which a turn is running.
 */
export async function runAgentLoop(context: RunContext, tracker: CallTracker = new CallTracker()): Promise<RunResult> {
  const { prompt, ask, signal = new AbortController().signal, maxTurns, extensions, trust = "trusted" } = context
  const events: AgentEvent[] = []
  const emit = (event: AgentEvent): void => {
    events.push(event)
    context.onEvent?.(event)
  }
  const tree = context.messages instanceof SessionTree ? context.messages : treeOf(context.messages)
  const state: AgentState = { messages: tree, model: "app" }
  const registry = context.tools instanceof AppRegistry ? context.tools : new AppRegistry(context.tools)
  const rules = [context.beforeToolCall ?? []].flat()
  const model = "stream" in context.model ? context.model : createProvider(context.model)
  const system = { kind: "agents" as const, name: "system", content: context.systemPrompt ?? "" }
  const loader = context.loader ?? new ResourceLoader(context.systemPrompt === undefined ? [] : [system])

  const provider: Provider = {
    stream: (input) =>
      watchStream(
        () => model.stream(input),
        signal,
        (event) => {
          if (event?.type === "message_start") emit({ type: "message_start" })
          if (event?.type === "text_delta") emit({ type: "text_delta", text: String(event.text) })
          if (event?.type === "tool_call") tracker.begin(event.call?.id)
        },
      ),
  }

  // A person reads one question at a time, and what was allowed has happened before the next one is put.
  let lastQuestion: Promise<unknown> = Promise.resolve()
  const inTurn = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const mine = lastQuestion.then(work)
    lastQuestion = mine.catch(() => {})
    return mine
  }

  const askPerson = async (question: Question): Promise<void> => {
    emit({ type: "question", question })
    const allowed =
      ask !== undefined && (await untilAborted(Promise.resolve(ask(question)), signal).catch(() => false)) === true
    emit({ type: "answer", questionId: question.id, allowed })
    if (!allowed) throw new Error("blocked: the person did not allow it")
  }

  const execute = async (call: ToolCall): Promise<ToolResultMessage> => {
    const tool = registry.definition(call.name)
    if (tool === undefined) throw new Error(`unknown tool "${call.name}"`)
    emit({ type: "tool_call", call: toCallBlock(call) })
    const tell = (type: "allow" | "block", reason = ""): void =>
      emit({ type: "tool_decision", toolCallId: call.id, decision: type === "allow" ? { type } : { type, reason } })
    const onRewrite = (input: Record<string, string>): void =>
      emit({ type: "tool_decision", toolCallId: call.id, decision: { type: "rewrite", input } })
    // No waiting in here: another call could come between the look and the run. What was shown is what runs.
    const perform = (decided: ToolCall, shown: Question | undefined): ToolResultMessage => {
      if (signal.aborted) throw new Error("cancelled")
      const now = questionFor(decided, tool, "")
      if (now?.text !== shown?.text || now?.diff !== shown?.diff)
        throw new Error("blocked: what it would do has changed since the person was asked")
      tell("allow")
      const text = registry.run(decided)
      if (registry.succeeded) tracker.succeed(call.id)
      return toolResult(call, text)
    }
    try {
      const { call: decided, block } = await untilAborted(decide(rules, call, tool, onRewrite), signal)
      if (block !== undefined) throw new Error(`blocked: ${block}`)
      if (questionFor(decided, tool, "") === undefined) return perform(decided, undefined)
      return await inTurn(async () => {
        if (signal.aborted) throw new Error("cancelled")
        const question = questionFor(decided, tool, `question_${++questions}`)
        if (question !== undefined) await askPerson(question)
        return perform(decided, question)
      })
    } catch (error) {
      const reason = describeError(signal.aborted ? new Error("cancelled") : error)
      tell("block", reason)
      throw new Error(reason)
    }
  }

  const options: TurnOptions = { provider, output: silent, registry, execute, loader, trust }
  if (maxTurns !== undefined) options.maxTurns = maxTurns
  if (extensions !== undefined) options.extensions = extensions
  if (context.mode !== undefined) options.mode = context.mode

  const before = tree.allEntries().length
  emit({ type: "run_start", prompt: prompt ?? "" })
  let message = prompt === undefined ? await goOn(state, options) : await runOneTurn(state, prompt, options)
  for (let left = context.retries ?? 1; left > 0 && brokeOff(message, signal); left--) {
    emit({ type: "notice", text: "the answer broke off and is asked for again" })
    message = await goOn(state, options)
  }
  emit({ type: "run_done", stopReason: message.stopReason, text: message.content })
  const newMessages = tree
    .allEntries()
    .slice(before)
    .map(({ id, parentId, ...kept }) => kept as AgentMessage)
  return { newMessages, events, message }
}

/** The loop without new words of the person. */
async function goOn(state: AgentState, options: TurnOptions): Promise<AssistantMessage> {
  const release = state.messages.acquire()
  return await runEventedToolLoop(state, options).finally(release)
}

function treeOf(messages: readonly AgentMessage[]): SessionTree {
  const tree = new SessionTree()
  for (const message of messages) tree.append(message)
  return tree
}
