/** The agent as its clients know it: a project, its session, a model, and one run at a time. The server and the terminal are clients of it. */
import { randomUUID } from "node:crypto"
import fs from "node:fs"
import path from "node:path"
import {
  type AssistantMessage,
  buildSystemPrompt,
  ExtensionRuntime,
  type ProjectTrust,
  type ResourceLoader,
  type RuntimeMode,
  requestMessage,
  toProviderMessage,
} from "../../s12_packages/code.ts"
import type { AgentEvent, MessageRecord, SessionState, StoredMessage, ToolView, TreeEntry } from "../protocol.ts"
import { type CompactionResult, compact, estimateTokens, outline } from "../session/compaction.ts"
import { JsonlSessionStore } from "../session/session-store.ts"
import { AppRegistry, CallTracker, runAgentLoop, untilAborted } from "./loop.ts"
import type { ModelSlot } from "./model.ts"
import { bringsAnything, homeFolder, loadCode, loadTexts, sessionsFolder, TrustStore, workspaceOf } from "./project.ts"
import { type Ask, type BeforeToolCall, defaultPolicy } from "./tool-policy.ts"
import { createTools, type ToolDefinition } from "./tools.ts"

/** How an agent is opened. */
export type AgentOptions = {
  /** The folder of the project. Its `workspace/` is what the tools reach. */
  project: string
  model: ModelSlot
  /** Where sessions and decisions on trust are kept. */
  home?: string
  /** Other tools in the place of the three, on the folder that they may reach. */
  tools?: (workspace: string) => readonly ToolDefinition[]
  /** Other rules in the place of the default ones. */
  rules?: readonly BeforeToolCall[]
  /** What a request may cost before the session is compacted, in tokens. */
  budget?: number
}

/** What a client wants of a run. */
export type StartOptions = {
  /** Asks the person before damage. Without it the answer is no. */
  ask?: Ask
  onEvent?: (event: AgentEvent) => void
  /** How the core shows its own events (s10). */
  mode?: RuntimeMode
}

/** A run that is going on. */
export type Run = {
  id: string
  /** Resolves when the run is over, however it ended. Rejects where it could not begin. */
  done: Promise<AssistantMessage>
  /** Ends the run. Every call gets its result, and the last message says that it was cancelled. */
  cancel(): void
}

/** Why something cannot be done now. `busy` while a run goes on. */
export class AgentError extends Error {
  readonly code: "busy" | "unknown entry" | "cannot move" | "disk"

  constructor(code: AgentError["code"], message: string) {
    super(message)
    this.name = "AgentError"
    this.code = code
  }
}

/** What a request may cost unless told otherwise, in tokens. */
const DEFAULT_BUDGET = 100_000

/** What is kept free of a request for the answer, in tokens. */
const ROOM_FOR_ANSWER = 4_000

/** How much of the budget the messages may take that a compaction keeps: there has to be room for the next ones, or it would be done at each prompt. */
const KEPT_PART = 1 / 2

/** How much of a message the tree shows, in characters. */
const MAX_PREVIEW = 80

const SUMMARY_PROMPT =
  "Summarize the conversation so far for yourself: what the person wants, what was done, with which files and results, and what is open. Facts only, in short lines."

/** An open agent. */
export class Agent {
  readonly project: string
  model: ModelSlot
  #options: AgentOptions
  #trust: TrustStore
  #sessions: string
  /** How often the project was loaded, or begun to be. */
  #loads = 0
  #store!: JsonlSessionStore
  #tracker = new CallTracker()
  #registry = new AppRegistry()
  #extensions!: ExtensionRuntime
  #loader!: ResourceLoader
  #problems: string[] = []
  #events: AgentEvent[] = []
  #run: Run | undefined
  #listener: ((event: AgentEvent) => void) | undefined

  private constructor(options: AgentOptions) {
    if (!fs.statSync(options.project, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`the project ${options.project} is no folder: make it first, or name another with --project`)
    this.project = fs.realpathSync.native(options.project)
    this.model = options.model
    this.#options = options
    const home = options.home ?? homeFolder()
    this.#trust = new TrustStore(home)
    this.#sessions = sessionsFolder(home, this.project)
  }

  /** Opens a project with its last session, or begins one. Throws where its folder is not there, or another process has the session. */
  static async open(options: AgentOptions): Promise<Agent> {
    const agent = new Agent(options)
    agent.#openSession(agent.#lastSession() ?? agent.#newSession())
    try {
      await agent.#loadProject()
      return agent
    } catch (error) {
      agent.#store.close()
      throw error
    }
  }

  /** All that a client shows. */
  state(): SessionState {
    return {
      id: this.#store.header.id,
      model: this.model.name,
      messages: this.#store.path(),
      events: this.#events,
      tools: this.tools(),
      tree: this.#store.entries().map(toTreeEntry),
      leafId: this.#store.leafId,
      runId: this.#run?.id ?? null,
      project: {
        folder: this.project,
        trust: this.#trust.get(this.project) ?? "undecided",
        brings: bringsAnything(this.project),
      },
      damage: [...this.#store.damage, ...(this.#store.problem ? [this.#store.problem] : []), ...this.#problems],
    }
  }

  /** The file of the session. */
  get file(): string {
    return this.#store.file
  }

  /** The run that is going on, if there is one. */
  get run(): Run | undefined {
    return this.#run
  }

  /** Whether the project brings something along on which the person has not decided yet. */
  get needsTrust(): boolean {
    return this.#trust.get(this.project) === undefined && bringsAnything(this.project)
  }

  /** The tools as clients show them. */
  tools(): ToolView[] {
    return this.#registry.definitions().map(({ spec, source, readOnly }) => ({ ...spec, source, readOnly }))
  }

  /** The commands that extensions and packages have brought. */
  commands(): string[] {
    return this.#extensions.getCommands()
  }

  /** Runs a command of an extension or a package, and gives its text. */
  runCommand(name: string): string {
    return this.#extensions.runCommand(name)
  }

  /** Starts a run. Throws, at once, while another one is going on, and while the disk does not take what happened. */
  start(prompt: string, { ask, onEvent, mode }: StartOptions = {}): Run {
    this.#assertIdle()
    if (this.#store.problem !== undefined) throw new AgentError("disk", this.#store.problem)
    const cancel = new AbortController()
    const [store, id] = [this.#store, randomUUID()]
    this.#events = []
    const emit = (event: AgentEvent): void => {
      if (event.type !== "text_delta") this.#events.push(event)
      onEvent?.(event)
    }
    this.#listener = emit
    const end = (): void => {
      if (this.#run?.id !== id) return
      this.#run = undefined
      this.#listener = undefined
    }
    const work = async (): Promise<AssistantMessage> => {
      await this.#compactIfNeeded(cancel.signal, emit)
      const { message } = await runAgentLoop(
        {
          prompt,
          messages: store.tree,
          tools: this.#registry,
          model: this.model.connect(cancel.signal),
          loader: this.#loader,
          extensions: this.#extensions,
          trust: this.#trust.get(this.project) ?? "untrusted",
          beforeToolCall: this.#options.rules ?? defaultPolicy,
          ...(ask && { ask }),
          ...(mode && { mode }),
          // The last event is for when the run is over, and another one can begin.
          onEvent: (event) => (event.type === "run_done" ? undefined : emit(event)),
          signal: cancel.signal,
        },
        this.#tracker,
      )
      return message
    }
    const done = work().then(
      (message) => {
        end()
        emit({ type: "run_done", stopReason: message.stopReason, text: message.content })
        return message
      },
      (error: unknown) => {
        end()
        throw error
      },
    )
    this.#run = { id, done, cancel: () => cancel.abort() }
    return this.#run
  }

  /** Goes to an entry, or (null) to before the first: the next prompt grows there. Throws while a run is going on, and where that cannot be. */
  branch(entryId: string | null): void {
    this.#assertIdle()
    if (entryId !== null && !this.#store.entries().some(({ id }) => id === entryId))
      throw new AgentError("unknown entry", `no entry has the id "${entryId}"`)
    try {
      this.#store.moveTo(entryId)
    } catch (error) {
      const due = this.#store.entries().some(({ id, message }) => id === entryId && message.role !== "user")
      const hint = due
        ? `${entryId} has results behind it that belong to its calls: choose the last of them, or another entry`
        : ""
      throw new AgentError("cannot move", hint || (error as Error).message)
    }
  }

  /** Begins a new session; the old file stays. A run that is going on is cancelled, and nothing of it gets into the new one. */
  async reset(): Promise<void> {
    await this.#stop()
    const old = this.#store
    this.#openSession(this.#newSession())
    old.close()
    this.#events = []
  }

  /** Compacts the session: `budget` tokens are what a request may cost. */
  async compact(budget: number): Promise<CompactionResult> {
    this.#assertIdle()
    return this.#compact(budget, new AbortController().signal)
  }

  /** Remembers what the person decided on the project, and loads it, or no longer does. */
  async setTrust(trust: ProjectTrust): Promise<void> {
    this.#assertIdle()
    this.#trust.set(this.project, trust)
    await this.#loadProject()
  }

  /** Cancels what is going on and lets go of the session. */
  async close(): Promise<void> {
    await this.#stop()
    this.#store.close()
  }

  #assertIdle(): void {
    if (this.#run !== undefined)
      throw new AgentError("busy", "a run is going on: wait until it has ended, or cancel it")
  }

  async #stop(): Promise<void> {
    const run = this.#run
    run?.cancel()
    await run?.done.catch(() => {})
  }

  #lastSession(): string | undefined {
    if (!fs.existsSync(this.#sessions)) return undefined
    const name = fs
      .readdirSync(this.#sessions)
      .filter((file) => file.endsWith(".jsonl"))
      .sort()
      .at(-1)
    return name === undefined ? undefined : path.join(this.#sessions, name)
  }

  /** A name that sorts behind all that are there. */
  #newSession(): string {
    const last = path.basename(this.#lastSession() ?? "")
    const now = new Date().toISOString().replace(/[:.]/g, "-")
    const time = last > now ? `${last.slice(0, now.length)}_` : now
    return path.join(this.#sessions, `${time}_${randomUUID().slice(0, 8)}.jsonl`)
  }

  #openSession(file: string): void {
    this.#store = JsonlSessionStore.open(file, { isError: (id) => this.#tracker.isError(id) })
    this.#store.onRecord = (record) => this.#listener?.({ type: "message", record })
  }

  async #loadProject(): Promise<void> {
    const load = ++this.#loads
    const trust = this.#trust.get(this.project)
    const problems: string[] = []
    const registry = new AppRegistry((this.#options.tools ?? createTools)(workspaceOf(this.project)))
    const extensions = new ExtensionRuntime(registry, { log: (line) => problems.push(line) })
    const loader = loadTexts(this.project, trust)
    problems.push(...(await loadCode(this.project, trust, { registry, extensions, loader })))
    // Fetching code takes its time. If the person has decided anew meanwhile, that decision holds.
    if (load !== this.#loads) return
    this.#registry = registry
    this.#extensions = extensions
    this.#loader = loader
    this.#problems = problems
  }

  async #compactIfNeeded(signal: AbortSignal, emit: (event: AgentEvent) => void): Promise<void> {
    const budget = this.#options.budget ?? DEFAULT_BUDGET
    const result = await this.#compact(budget, signal, budget * KEPT_PART)
    if (result.done)
      emit({ type: "notice", text: "the session was compacted: the model gets a summary of its beginning" })
    else if (result.reason === "no summary")
      emit({ type: "notice", text: `the session was not compacted: ${result.why}` })
  }

  #compact(budget: number, signal: AbortSignal, keep: number = budget): Promise<CompactionResult> {
    const rules = buildSystemPrompt(this.#loader.load(this.#trust.get(this.project)))
    const fixed = Buffer.byteLength(JSON.stringify([this.#registry.getSpecs(), rules])) / 4 + ROOM_FOR_ANSWER
    return compact(this.#store, {
      budget,
      keep,
      fixedCost: Math.min(fixed, budget / 2),
      countTokens: estimateTokens,
      summarize: (messages) => {
        if (this.model.summarizes === false) return outline(messages)
        const words = { role: "user" as const, content: SUMMARY_PROMPT }
        const sent = [...messages.map(toProviderMessage), words]
        const input = { messages: sent, tools: [], systemPrompt: "" }
        return untilAborted(requestMessage(this.model.connect(signal), input), signal)
      },
    })
  }
}

function textOf({ content }: StoredMessage): string {
  return content
    .map((block) => (block.type === "text" ? block.text : `${block.name}(${Object.values(block.input).join(", ")})`))
    .join(" ")
}

/** An entry in short. */
function toTreeEntry({ id, parentId, message }: MessageRecord): TreeEntry {
  const text = textOf(message).replace(/\s+/g, " ").trim()
  return {
    id,
    parentId,
    role: message.role,
    preview: text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW - 1).toWellFormed()}…` : text,
  }
}
