/** The programs of the repository, started as a reader starts them: here or in a copy that a test may damage. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Chalk } from "chalk"
import { beforeAll, expect } from "vitest"
import { replaceOnly } from "../../scripts/chapter/replace.ts"
import { COMMANDS, type CommandName } from "../../scripts/cli/commands.ts"
import { runCommand, type Terminal } from "../../scripts/cli/terminal.ts"
import { CHAPTERS, findChapter } from "../../scripts/course/manifest.ts"
import { ROOT } from "../../scripts/course/source.ts"
import { readChapters } from "../../scripts/rules/judge.ts"
import type { Job } from "./demo-server.ts"
import { DEEP } from "./tier.ts"

/** How a process ended, and all that it wrote. */
export type Run = {
  code: number | null
  stdout: string
  stderr: string
}

/** Where and with what a script starts. */
export type StartOptions = {
  cwd?: string
  /** Added to the environment; `undefined` takes a variable out. */
  env?: Record<string, string | undefined>
  /** The address of a module to load before the script. */
  preload?: string
  /** Whether to open a channel for messages. */
  channel?: boolean
  /** What a person answers when a command asks, in this order. */
  answers?: readonly string[]
}

/** The environment, without what a terminal, a build server, a git hook or the run of the tests has put there, and in no language of its own. */
function plainEnvironment(): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(GIT_|GITHUB_|VITEST|TEST_|INVARIANT_|FORCE_COLOR$|INIT_CWD$)/.test(name),
  )
  return { ...Object.fromEntries(kept), LC_ALL: "C" }
}

/** Starts a TypeScript file, without colors unless `env` asks for them. */
export function startScript(
  file: string,
  args: readonly string[] = [],
  { cwd = os.tmpdir(), env = {}, preload, channel = false, answers }: StartOptions = {},
): ChildProcess {
  const modules = [import.meta.resolve("tsx"), ...(preload === undefined ? [] : [preload])]
  const child = spawn(process.execPath, [...modules.flatMap((module) => ["--import", module]), file, ...args], {
    cwd,
    env: { ...plainEnvironment(), NO_COLOR: "1", ...env },
    stdio: [answers === undefined ? "ignore" : "pipe", "pipe", "pipe", ...(channel ? (["ipc"] as const) : [])],
  })
  child.stdin?.end((answers ?? []).map((answer) => `${answer}\n`).join(""))
  return child
}

/** Waits until a process has ended and its output is complete. */
export function finish(child: ChildProcess): Promise<Run> {
  const run: Run = { code: null, stdout: "", stderr: "" }
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (run.stdout += text))
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (run.stderr += text))
  return new Promise((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code) => resolve({ ...run, code }))
  })
}

/** Does jobs before the first test of a suite, two at a time, so that its tests can share the results. */
export function doBeforeAll<Jobs extends Readonly<Record<string, () => Promise<unknown>>>>(
  jobs: Jobs,
): { readonly [Name in keyof Jobs]: Awaited<ReturnType<Jobs[Name]>> } {
  const results: Record<string, unknown> = {}
  beforeAll(async () => {
    const queue = Object.entries(jobs)
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) results[next[0]] = await next[1]()
    }
    await Promise.all([work(), work()])
  }, 600_000)
  return results as ReturnType<typeof doBeforeAll<Jobs>>
}

let server: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/** Runs a demo in a process that has loaded what it needs already: one process for all test files of a worker, one demo at a time. */
function serveDemo(job: Job): Promise<Run> {
  const run = last.then(() => sendJob(job))
  last = run.catch(() => {})
  return run
}

function sendJob(job: Job): Promise<Run> {
  server ??= startScript(fileURLToPath(new URL("demo-server.ts", import.meta.url)), [], { channel: true })
  const child = server
  return new Promise((resolve, reject) => {
    const lose = (code: number | null): void => {
      server = undefined
      reject(new Error(`the server of demos ended with ${code} in ${job.script} ${job.args.join(" ")}`))
    }
    child.once("exit", lose)
    child.once("message", (run) => {
      child.off("exit", lose)
      resolve(run as Run)
    })
    child.send(job)
  })
}

/**
 * Runs a chapter to its end. In the deep tier it is a process of its own; in the fast one it is served, except where a module is to be loaded
 * before it.
 */
export function runScript(
  script: string,
  args: readonly string[] = [],
  options: Pick<StartOptions, "preload"> = {},
): Promise<Run> {
  const alone = DEEP || options.preload !== undefined
  return alone ? finish(startScript(script, args, options)) : serveDemo({ script, args })
}

/** A terminal that keeps what a command prints. It has colors where `env` asks for them. */
export function recordTerminal(
  root: string,
  { cwd = root, env = {}, answers = [] }: StartOptions = {},
): {
  terminal: Terminal
  run: Run
  /** Closes the terminal: nobody reads along any more. */
  close(): void
} {
  const run: Run = { code: null, stdout: "", stderr: "" }
  const closed = new AbortController()
  const { NO_COLOR, FORCE_COLOR } = { NO_COLOR: "1", FORCE_COLOR: "0", ...env }
  const terminal: Terminal = {
    out(text) {
      run.stdout += `${text}\n`
    },
    err(text) {
      run.stderr += `${text}\n`
    },
    async ask(question, judge) {
      run.stderr += question
      for (const answer of answers) {
        const again = judge(answer)
        if (again === undefined) return answer
        run.stderr += again
      }
      return undefined
    },
    columns: undefined,
    paint: new Chalk({ level: !NO_COLOR && FORCE_COLOR === "1" ? 1 : 0 }),
    directory: cwd,
    root,
    env: { ...plainEnvironment(), ...env },
    closed: closed.signal,
  }
  return { terminal, run, close: () => closed.abort() }
}

/** Replaces a text that must stand there exactly once. */
export function replaceOnce(text: string, from: string, to: string): string {
  const replaced = replaceOnly(text, from, to)
  if (replaced === undefined) throw new Error(`expected one place that reads ${JSON.stringify(from)}`)
  return replaced
}

async function callCommand(
  root: string,
  name: CommandName,
  args: readonly string[],
  options?: StartOptions,
): Promise<Run> {
  const { terminal, run } = recordTerminal(root, options)
  const { command } = await COMMANDS[name]()
  run.code = await runCommand(command, [...args], terminal)
  return run
}

/** The chapters and the commands in some folder. */
export class Checkout {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  /** Starts a command in the root of the checkout, with the programs that stand there. */
  start(command: CommandName, args: readonly string[] = [], options: StartOptions = {}): ChildProcess {
    const main = path.join(this.root, "scripts", "cli", "main.ts")
    return startScript(main, [command, ...args], { cwd: this.root, ...options })
  }

  /** Runs a command in the root of the checkout to its end: in the deep tier as a process, in the fast one as a function. */
  run(command: CommandName, args: readonly string[] = [], options: StartOptions = {}): Promise<Run> {
    return DEEP ? finish(this.start(command, args, options)) : callCommand(this.root, command, args, options)
  }

  /** Calls the function of a command, in both tiers. */
  call(command: CommandName, ...args: string[]): Promise<Run> {
    return callCommand(this.root, command, args)
  }

  /** Runs a command whose reader closes the pipe at once. */
  runUnread(command: CommandName, args: readonly string[] = []): Promise<Run> {
    const child = this.start(command, args)
    const run = finish(child)
    child.stdout?.destroy()
    return run
  }

  /** What package.json runs under the name of a command. */
  scriptOf(command: CommandName | "test:deep"): string | undefined {
    const { scripts } = JSON.parse(fs.readFileSync(path.join(this.root, "package.json"), "utf8")) as {
      scripts: Record<string, string>
    }
    return scripts[command]
  }

  /** The file of a chapter. */
  file(id: string): string {
    return path.join(this.root, findChapter(id).folder, "code.ts")
  }

  read(id: string): string {
    return fs.readFileSync(this.file(id), "utf8")
  }
}

/** This repository. */
export const here: Checkout = new Checkout(ROOT)

/** A declaration of a chapter, as it stands there, with its comment. */
export function declarationIn(id: string, name: string): string {
  const surface = readChapters(CHAPTERS).find(({ chapter }) => chapter.id === id)
  const declaration = surface?.core.find((candidate) => candidate.name === name)
  if (declaration === undefined) throw new Error(`${id} has no ${name}`)
  return declaration.text
}

/** A checkout that belongs to a test. */
export class Copy extends Checkout {
  #original = new Map<string, string>()

  /** Copies the chapters and the commands into a new folder below `parent`. */
  constructor(parent: string) {
    super(fs.mkdtempSync(path.join(parent, "copy-")))
    for (const name of ["scripts", "package.json", "tsconfig.json"])
      fs.cpSync(path.join(ROOT, name), path.join(this.root, name), { recursive: true })
    for (const { id, folder } of CHAPTERS) {
      fs.mkdirSync(path.join(this.root, folder))
      this.write(id, here.read(id))
      this.#original.set(id, this.read(id))
    }
    fs.symlinkSync(path.join(ROOT, "node_modules"), path.join(this.root, "node_modules"), "junction")
  }

  write(id: string, text: string): void {
    fs.writeFileSync(this.file(id), text)
  }

  /** Replaces a text of a chapter. It must stand there exactly once. */
  edit(id: string, from: string, to: string): void {
    this.write(id, replaceOnce(this.read(id), from, to))
  }

  /** The texts of the chapters as they were copied, by id. */
  original(): Record<string, string> {
    return Object.fromEntries(this.#original)
  }

  /** The texts of those chapters that are not as they were copied, by id. */
  changes(): Record<string, string> {
    const edited = [...this.#original].filter(([id, text]) => this.read(id) !== text)
    return Object.fromEntries(edited.map(([id]) => [id, this.read(id)]))
  }

  /** Makes a git repository of the copy, with a first commit. It is made once for all copies beside this one. */
  init(): void {
    const [own, shared] = [path.join(this.root, ".git"), path.join(path.dirname(this.root), "first-commit.git")]
    if (!fs.existsSync(shared)) {
      this.git("init", "--quiet", "--template=")
      this.commit()
      // One file is copied faster than many.
      this.git("repack", "-a", "-d", "--quiet")
      fs.cpSync(own, shared, { recursive: true })
    } else fs.cpSync(shared, own, { recursive: true })
  }

  /** Commits the chapters as they are. */
  commit(): void {
    this.git("add", "--", ...CHAPTERS.map(({ folder }) => folder))
    this.git("commit", "--quiet", "--message", "As it is")
  }

  /** Runs git in the copy, with settings of our own. */
  git(...args: string[]): string {
    const settings = {
      "user.name": "Somebody",
      "user.email": "somebody@example.com",
      "commit.gpgSign": "false",
      "core.autocrlf": "false",
      "core.hooksPath": "none",
    }
    const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    return execFileSync("git", [...given, ...args], { cwd: this.root, env: plainEnvironment(), encoding: "utf8" })
  }
}

/** A folder for the copies of a test file. Its path is free of links, as the paths are that a process reports. */
export function makeTemporaryFolder(): string {
  return fs.realpathSync.native(fs.mkdtempSync(path.join(os.tmpdir(), "learn 课-")))
}

function rewrite(change: (text: string) => string): (file: string) => void {
  return (file) => fs.writeFileSync(file, change(fs.readFileSync(file, "utf8")))
}

/** Ways in which a file is no chapter, and what a command has to say about it. */
export const BROKEN: readonly { what: string; damage: (file: string) => void; says: RegExp }[] = [
  { what: "is missing", damage: (file) => fs.rmSync(file), says: /code\.ts does not exist$/ },
  {
    what: "is missing with its folder",
    damage: (file) => fs.rmSync(path.dirname(file), { recursive: true }),
    says: /code\.ts does not exist$/,
  },
  {
    what: "is binary",
    damage: (file) => fs.writeFileSync(file, Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 13, 10, 0)),
    says: /code\.ts is no text, expected a TypeScript file$/,
  },
  { what: "is empty", damage: (file) => fs.writeFileSync(file, ""), says: /code\.ts is empty$/ },
  {
    what: "is a folder",
    damage: (file) => {
      fs.rmSync(file)
      fs.mkdirSync(file)
    },
    says: /code\.ts is a folder, expected a TypeScript file$/,
  },
  {
    what: "has CRLF line ends",
    damage: rewrite((text) => text.replaceAll("\n", "\r\n")),
    says: /code\.ts has CR or CRLF line ends, expected LF: ./,
  },
  {
    what: "starts with a byte order mark",
    damage: rewrite((text) => `\uFEFF${text}`),
    says: /code\.ts starts with a byte order mark: ./,
  },
  {
    what: "has a syntax error",
    damage: rewrite((text) => `const = 1\n${text}`),
    says: /code\.ts:1:7 is not valid TypeScript: ./,
  },
  {
    what: "has no demo",
    damage: rewrite((text) => text.slice(0, text.indexOf("// ── Demo ──"))),
    says: /code\.ts has no demo: ./,
  },
]

/** Expects that a command refused its input: one clear line and its usage, no stack, exit code 2. Gives the line. */
export function expectRefusal(run: Run, command: CommandName): string {
  expect(run).toMatchObject({ code: 2, stdout: "" })
  const [line = "", usage, ...more] = run.stderr.trimEnd().split("\n")
  expect(line).toMatch(/^error: ./)
  expect(usage).toContain(`usage: npm run ${command} -- `)
  expect(more).toEqual([])
  return line.slice("error: ".length)
}
