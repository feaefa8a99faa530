/**
 * A conversation in the terminal: `npm run chat`. `/help` says what else can be typed. `--print` and `--json` answer one prompt in a mode of s10;
 * a pipe works too (`echo "list files" | npm run chat`), and where nobody can be asked the answer to every question is no.
 */
import { readFileSync } from "node:fs"
import path from "node:path"
import { createInterface, type Interface } from "node:readline"
import { parseArgs } from "node:util"
import chalk, { Chalk, type ChalkInstance } from "chalk"
import { describeError, escapeControls, JsonMode, type Output, PrintMode } from "../s12_packages/code.ts"
import { Agent, type Run } from "./agent/agent.ts"
import type { ModelSlot } from "./agent/model.ts"
import { chooseModel } from "./choose-model.ts"
import type { AgentEvent, Question, TreeEntry } from "./protocol.ts"

/** What a conversation is held on. */
export type Console = {
  input: NodeJS.ReadableStream
  /** Writes text as it is. */
  write(text: string): void
  /** Whether a person sits there, who can be asked. */
  isTerminal: boolean
  paint: ChalkInstance
  /** Calls back when the person presses Ctrl-C. */
  onInterrupt?(handler: () => void): void
}

const HELP = `Type what you want, or
  /tree        the session: every message of every branch; * is where you are
  /tree ID     go there, and go on from it; /tree - is before the first message
  /new         begin a new session; the old one stays in its file
  /compact     let the model have a summary of all but the end of the conversation
  /tools       the tools, and which of them ask before they run
  /commands    what extensions and packages let you run; /run NAME runs one
  /model       which model answers; /model mock and /model SERVICE/NAME choose one
  /trust       whether this project is trusted; /trust yes and /trust no decide
  /help        this
  /exit        the end. Ctrl-C cancels what is going on and loses nothing.`

/** How small a context `/compact` asks for, as a part of what it is. */
const COMPACT_TO = 0.25

/** A conversation of a person with an agent. */
export class Chat {
  #agent: Agent
  #console: Console
  #lines: Interface
  #waiting: ((line: string | undefined) => void) | undefined
  #queue: string[] = []
  #ended = false
  #run: Run | undefined
  /** Whether the cursor stands behind text of an answer. */
  #inText = false
  /** The end of a piece that waits for the next one. */
  #held = ""
  #choose: (name: string) => Promise<ModelSlot>

  constructor(agent: Agent, console: Console, choose: (name: string) => Promise<ModelSlot>) {
    this.#agent = agent
    this.#console = console
    this.#choose = choose
    this.#lines = createInterface({ input: console.input, terminal: false })
    this.#lines.on("line", (line) => this.#take(line))
    this.#lines.on("close", () => this.#take(undefined))
    console.onInterrupt?.(() => this.#interrupt())
  }

  /** Talks until the input ends or the person leaves. Gives the exit code: 1 where the last answer was an error. */
  async talk(): Promise<number> {
    const { isTerminal } = this.#console
    if (isTerminal) this.#greet()
    let failed = false
    for (;;) {
      if (isTerminal) this.#console.write(this.#console.paint.bold("› "))
      const line = await this.#nextLine()
      if (line === undefined) break
      const words = line.trim()
      if (words === "") continue
      if (words === "/exit" || words === "/quit") break
      if (words.startsWith("/")) await this.#obey(words)
      else failed = !(await this.#answer(words))
    }
    this.#lines.close()
    return failed && !isTerminal ? 1 : 0
  }

  #greet(): void {
    const { messages, model, project, damage } = this.#agent.state()
    this.#say(`${model} in ${project.folder}; /help says what can be done.`)
    if (messages.length > 0) this.#say(`The session goes on: ${messages.length} messages so far.`)
    for (const sentence of damage) this.#say(this.#console.paint.yellow(sentence))
    if (this.#agent.needsTrust)
      this.#say(
        "This project brings texts or code along. Until you decide (/trust yes, /trust no), nothing of it is loaded.",
      )
  }

  /** Writes a line, on a line of its own. Nothing from outside gets to the terminal as it is. */
  #say(text: string): void {
    if (this.#inText) this.#console.write(`${escapeControls(this.#held)}\n`)
    this.#inText = false
    this.#held = ""
    this.#console.write(`${text}\n`)
  }

  #take(line: string | undefined): void {
    if (line === undefined) this.#ended = true
    else if (this.#waiting === undefined) this.#queue.push(line)
    const waiting = this.#waiting
    if (waiting === undefined) return
    this.#waiting = undefined
    waiting(line)
  }

  #nextLine(): Promise<string | undefined> {
    const line = this.#queue.shift()
    return line === undefined ? this.#freshLine() : Promise.resolve(line)
  }

  /** The next line that is typed from now on. What was typed before stays where it is. */
  #freshLine(): Promise<string | undefined> {
    if (this.#ended) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  #interrupt(): void {
    if (this.#run !== undefined) {
      this.#run.cancel()
      return
    }
    this.#say("(/exit, or Ctrl-D, ends the conversation)")
    this.#console.write(this.#console.paint.bold("› "))
  }

  /** Lets the agent answer. Says whether it did. */
  async #answer(prompt: string): Promise<boolean> {
    try {
      this.#run = this.#agent.start(prompt, {
        ask: (question) => this.#ask(question),
        onEvent: (event) => this.#show(event),
      })
      const { stopReason } = await this.#run.done
      return stopReason !== "error"
    } catch (error) {
      this.#say(this.#console.paint.red(escapeControls(`error: ${describeError(error)}`)))
      return false
    } finally {
      this.#run = undefined
      if (this.#inText) this.#say("")
    }
  }

  #show(event: AgentEvent): void {
    const { paint } = this.#console
    if (event.type === "text_delta") {
      // A carriage return at the end of a piece may be half a line end; the next piece tells.
      const text = this.#held + event.text
      this.#held = text.endsWith("\r") ? "\r" : ""
      this.#console.write(escapeControls(text.slice(0, text.length - this.#held.length)))
      this.#inText = true
    } else if (event.type === "tool_call") {
      const input = Object.entries(event.call.input).map(([name, value]) => `${name}: ${shorten(value)}`)
      this.#say(paint.cyan(escapeControls(`→ ${event.call.name}(${input.join(", ")})`)))
    } else if (event.type === "tool_decision" && event.decision.type === "block")
      this.#say(paint.red(escapeControls(`  not run: ${event.decision.reason}`)))
    else if (event.type === "notice") this.#say(paint.yellow(escapeControls(event.text)))
    else if (event.type === "message" && event.record.message.role === "toolResult") {
      const [block] = event.record.message.content
      this.#say(paint.dim(escapeControls(`  ${shorten(block?.text ?? "")}`)))
    } else if (event.type === "run_done" && event.stopReason === "error")
      this.#say(paint.red(escapeControls(event.text.split("\n").at(-1) ?? "error")))
  }

  /**
   * Asks before damage. Anything but a clear yes is no, and so is a run that was cancelled meanwhile. What was typed before the question was read is no
   * answer to it.
   */
  async #ask({ text, diff }: Question): Promise<boolean> {
    const { paint, isTerminal } = this.#console
    this.#say(paint.yellow(escapeControls(`  ${text}`)))
    if (diff !== undefined) this.#say(escapeControls(diff.trimEnd()))
    if (!isTerminal) return false
    this.#console.write("  Allow it? [y/N] ")
    const answer = await this.#freshLine()
    return /^\s*(y|yes|j|ja|是|好)\s*$/i.test(answer ?? "")
  }

  /** Does what a command says. What cannot be done is told in a sentence. */
  async #obey(words: string): Promise<void> {
    const [command = "", ...rest] = words.slice(1).split(/\s+/)
    const given = rest.join(" ")
    const commands: Readonly<Record<string, (given: string) => void | Promise<void>>> = {
      help: () => this.#say(HELP),
      tree: (id) => this.#tree(id),
      new: () => this.#agent.reset(),
      compact: () => this.#compact(),
      tools: () => this.#tools(),
      commands: () => this.#say(this.#agent.commands().join("\n") || "(none)"),
      run: (name) => this.#say(escapeControls(this.#agent.runCommand(name))),
      model: (name) => this.#model(name),
      trust: (word) => this.#decideTrust(word),
    }
    const obey = Object.hasOwn(commands, command) ? commands[command] : undefined
    if (obey === undefined) return this.#say(`unknown command ${escapeControls(words)}: /help shows all`)
    try {
      await obey(given)
    } catch (error) {
      this.#say(this.#console.paint.red(escapeControls(`error: ${describeError(error)}`)))
    }
  }

  #tree(id: string): void {
    if (id !== "") this.#agent.branch(id === "-" ? null : id)
    const { tree, leafId } = this.#agent.state()
    this.#say(escapeControls(drawTree(tree, leafId)) || "(empty)")
  }

  async #compact(): Promise<void> {
    const size = JSON.stringify(this.#agent.state().messages).length / 4
    const result = await this.#agent.compact(Math.ceil(size * COMPACT_TO))
    const why = result.done ? "" : result.reason === "no summary" ? `no summary: ${result.why}` : result.reason
    this.#say(
      result.done
        ? `Compacted. The model gets this in place of the beginning:\n${escapeControls(result.record.summary)}`
        : `Not compacted: ${escapeControls(why)}.`,
    )
  }

  #tools(): void {
    const rows = this.#agent.tools().map(({ name, description, source, readOnly }) => {
      const origin = source === "built-in" ? "" : `, of ${source === "package" ? "a package" : "an extension"}`
      return `  ${name.padEnd(14)} ${description}${origin}${readOnly ? "" : " (asks before it does damage)"}`
    })
    this.#say(escapeControls(rows.join("\n")))
  }

  async #model(name: string): Promise<void> {
    if (name !== "") this.#agent.model = await this.#choose(name)
    this.#say(escapeControls(this.#agent.model.name))
  }

  async #decideTrust(word: string): Promise<void> {
    if (word === "yes" || word === "no") await this.#agent.setTrust(word === "yes" ? "trusted" : "untrusted")
    else if (word !== "") throw new Error(`expected /trust yes or /trust no, got "${word}"`)
    const { project, damage } = this.#agent.state()
    this.#say(escapeControls([`${project.folder}: ${project.trust}`, ...damage].join("\n")))
  }
}

/** The beginning of a text, in one line. */
function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > 100 ? `${line.slice(0, 99).toWellFormed()}…` : line
}

/** The tree, an entry a line; what branches off is set in. */
export function drawTree(tree: readonly TreeEntry[], leafId: string | null): string {
  const children = new Map<string | null, TreeEntry[]>()
  for (const entry of tree) children.set(entry.parentId, [...(children.get(entry.parentId) ?? []), entry])
  const lines: string[] = []
  const open: { entry: TreeEntry; depth: number }[] = (children.get(null) ?? [])
    .map((entry) => ({ entry, depth: 0 }))
    .reverse()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { entry, depth } = next
    const mark = entry.id === leafId ? "*" : " "
    lines.push(`${mark} ${"  ".repeat(depth)}${entry.id} ${entry.role}: ${entry.preview}`)
    const below = children.get(entry.id) ?? []
    // A branch goes a step in; where there is only one way on, the depth stays.
    for (const child of below.toReversed()) open.push({ entry: child, depth: below.length > 1 ? depth + 1 : depth })
  }
  return lines.join("\n")
}

/** Answers one prompt in a mode of the core and nothing else. Gives the exit code. */
async function answerOnce(agent: Agent, prompt: string, json: boolean): Promise<number> {
  const output: Output = { log: (line) => void process.stdout.write(`${line}\n`) }
  const { stopReason } = await agent.start(prompt, { mode: json ? new JsonMode(output) : new PrintMode(output) }).done
  return stopReason === "error" ? 1 : 0
}

/** The words of the command line, or of a pipe, as one prompt. */
function readPrompt(words: readonly string[]): string {
  const prompt = words.length > 0 ? words.join(" ") : readFileSync(0, "utf8")
  if (prompt.trim() === "") throw new Error('expected a prompt, such as --print "list files"')
  return prompt.trim()
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      project: { type: "string" },
      print: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  })
  const project = path.resolve(values.project ?? path.join(import.meta.dirname, "example"))
  const { isTTY = false } = process.stdin
  const once = values.print || values.json
  if (!once && positionals.length > 0)
    throw new Error(`expected no words without --print or --json, got "${positionals.join(" ")}"`)
  const prompt = once ? readPrompt(positionals) : ""
  const agent = await Agent.open({ project, model: await chooseModel(process.env, isTTY && !once ? 12 : 0) })
  try {
    if (once) return await answerOnce(agent, prompt, values.json)
    const chat = new Chat(
      agent,
      {
        input: process.stdin,
        write: (text) => void process.stdout.write(text),
        isTerminal: isTTY,
        paint: process.env.NO_COLOR || !process.stdout.isTTY ? new Chalk({ level: 0 }) : chalk,
        onInterrupt: (handler) => void process.on("SIGINT", handler),
      },
      (name) => chooseModel({ ...process.env, PI_MODEL: name }),
    )
    return await chat.talk()
  } finally {
    await agent.close()
  }
}

/** Whether this file was started, and not imported. */
function startedDirectly(): boolean {
  return path.resolve(process.argv[1] ?? "") === import.meta.filename
}

if (startedDirectly()) {
  // A reader that closes the pipe has seen enough.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? undefined : 1))
  main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code
    },
    (error: unknown) => {
      console.error(`error: ${escapeControls(describeError(error))}`)
      process.exitCode = 1
    },
  )
}
