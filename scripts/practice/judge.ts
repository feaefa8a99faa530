/** Judges a file of a reader's own by the tests of the chapters, fast, and without trust that what it does comes to an end. */
import { type ChildProcess, fork } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type BuildFailure, build, type Plugin } from "esbuild"
import type { Text } from "../course/language.ts"
import type { ChapterId } from "../course/manifest.ts"
import { ROOT } from "../course/source.ts"

/** What a process is told to do: run these tests (all without the list), and stop after so many failures. */
export type Job = {
  chapter: ChapterId
  /** The file as plain JavaScript. */
  program: string
  tests?: string[]
  failures: number
  /** Whether the chapter's own parts come first, and the others only when all of those have passed. */
  ownFirst?: boolean
  /** Whether to tell what was played in tests that pass, too. */
  play?: boolean
}

/** A turn of a test: what went in, and the history behind it. */
export type Played = {
  prompt: string
  /** What the scripted model does, an entry for each request. */
  replies: Text[]
  lines: string[]
}

/** A test that failed. */
export type Failure = {
  /** The part, the groups and the name of the test, from the outside in. */
  path: string[]
  message: string
  stack: string
  expected?: string
  actual?: string
  played: Played[]
}

/** What a process tells while it works. */
export type Report =
  | { type: "ready" }
  | { type: "collected"; tests: string[] }
  | { type: "starts"; test: string }
  | { type: "passed"; test: string; played?: Played[] }
  | { type: "failed"; failure: Failure }
  /** Nothing is left to do, and the test has not ended. */
  | { type: "waits"; test: string }
  | { type: "broke"; message: string; stack: string }
  | { type: "ended" }

/** What came of it. `trouble` is one sentence about a file that let the tests not come to their end. */
export type Verdict = {
  /** Every test that there is for the chapter. */
  tests: string[]
  passed: string[]
  failures: Failure[]
  trouble?: Text
  /** What was played in tests that passed, where that was asked for. */
  played: Map<string, Played[]>
}

/** A test that is silent for so long does not end, in milliseconds. */
export const PATIENCE = 10_000

const MOST_PRINTED = 2000

/** Where the tests are, and the process that runs them. */
const SUPPORT = new URL("../../test/support/practice/", import.meta.url)

/** Writes out where a file lies: in a bundle it would lie elsewhere. */
const keepPlaces: Plugin = {
  name: "keep-places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
      const text = fs.readFileSync(file, "utf8")
      return { contents: text.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href)), loader: "ts" }
    })
  },
}

/** Runs tests on files, one after the other. It keeps a process in readiness, so that an answer does not wait for one to start. */
export class Judge {
  #folder: string
  #bundle: Promise<string> | undefined
  #spare: Promise<ChildProcess> | undefined
  #running: ChildProcess | undefined
  #count = 0
  #closed = false
  readonly #patience: number

  constructor(patience: number = PATIENCE) {
    this.#patience = patience
    const cache = path.join(ROOT, "node_modules", ".cache", "learn-pi-agent")
    fs.mkdirSync(cache, { recursive: true })
    this.#folder = fs.mkdtempSync(path.join(cache, "practice-"))
  }

  /** Starts what the first answer needs. */
  async prepare(): Promise<void> {
    await this.#prepareSpare()
  }

  #makeBundle(): Promise<string> {
    this.#bundle ??= build({
      entryPoints: [fileURLToPath(new URL("process.ts", SUPPORT))],
      outdir: path.join(this.#folder, "tests"),
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      packages: "external",
      alias: { vitest: fileURLToPath(new URL("test-api.ts", SUPPORT)) },
      plugins: [keepPlaces],
      logLevel: "silent",
    }).then(() => path.join(this.#folder, "tests", "process.mjs"))
    return this.#bundle
  }

  #prepareSpare(): Promise<ChildProcess> {
    this.#spare ??= this.#makeBundle().then((bundle) => {
      const child = fork(bundle, {
        cwd: this.#folder,
        execArgv: ["--enable-source-maps"],
        serialization: "advanced",
        silent: true,
        env: { ...process.env, NO_COLOR: "1" },
      })
      if (this.#closed) child.kill("SIGKILL")
      return new Promise((resolve, reject) => {
        child.once("message", () => resolve(child))
        child.once("error", reject)
        child.once("exit", (code) => reject(new Error(`the process for the tests ended with ${code}`)))
      })
    })
    return this.#spare
  }

  /** Makes a program of a file, with whatever files of the reader's own it imports. */
  async #compile(file: string): Promise<string | Text> {
    const program = path.join(this.#folder, `program-${++this.#count}.mjs`)
    try {
      await build({
        entryPoints: [file],
        outfile: program,
        bundle: true,
        format: "esm",
        platform: "node",
        target: "node20",
        packages: "external",
        sourcemap: "inline",
        define: { "import.meta.url": JSON.stringify(pathToFileURL(file).href) },
        tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
        logLevel: "silent",
      })
      return program
    } catch (error) {
      const [first] = (error as BuildFailure).errors ?? []
      if (first === undefined) throw error
      const place = first.location === null ? "" : `:${first.location.line}:${first.location.column + 1}`
      const name = `${path.basename(first.location?.file ?? file)}${place}`
      return { en: `${name} cannot be read as a program: ${first.text}`, zh: `${name} 读不成程序：${first.text}` }
    }
  }

  /** Runs tests on a file that is to be this chapter. Without `tests` all of them; stops after `failures` of them. */
  async run(file: string, job: Omit<Job, "program">): Promise<Verdict> {
    const verdict: Verdict = { tests: [], passed: [], failures: [], played: new Map() }
    if (!fs.existsSync(file)) {
      const name = path.basename(file)
      return {
        ...verdict,
        trouble: { en: `${name} is gone: put it back, and this goes on`, zh: `${name} 不见了：放回去就接着来` },
      }
    }
    const [program, child] = await Promise.all([this.#compile(file), this.#prepareSpare()])
    if (typeof program !== "string") return { ...verdict, trouble: program }
    this.#spare = undefined
    this.#running = child
    child.removeAllListeners("exit")
    let printed = ""
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => (printed = `${printed}${chunk}`.slice(-MOST_PRINTED)))
    let last = ""
    let isOver = false
    const trouble = await new Promise<Text | undefined>((resolve) => {
      const end = (): void => {
        child.kill("SIGKILL")
        resolve(sayEndless(last, this.#patience))
      }
      let timer = setTimeout(end, this.#patience)
      child.on("message", (report: Report) => {
        clearTimeout(timer)
        timer = setTimeout(end, this.#patience)
        if (report.type === "collected") verdict.tests = report.tests
        if (report.type === "starts") last = report.test
        if (report.type === "failed") verdict.failures.push(report.failure)
        if (report.type === "passed") {
          verdict.passed.push(report.test)
          if (report.played !== undefined) verdict.played.set(report.test, report.played)
        }
        if (report.type === "waits") resolve(sayWaiting(report.test))
        if (report.type === "broke") resolve(sayBroken(report.message, lineIn(report.stack, file)))
        isOver = report.type === "ended"
        if (isOver) resolve(undefined)
      })
      child.on("exit", (code, signal) => {
        clearTimeout(timer)
        if (!isOver) resolve(sayEnded(last, signal ?? code, printed))
      })
      child.send({ ...job, program } satisfies Job)
    })
    child.kill("SIGKILL")
    this.#running = undefined
    fs.rmSync(program, { force: true })
    if (!this.#closed) void this.#prepareSpare().catch(() => {})
    return trouble === undefined ? verdict : { ...verdict, trouble }
  }

  /** Ends the run that goes on, if one does: its file has changed meanwhile. */
  cancel(): void {
    this.#running?.kill("SIGKILL")
  }

  /** Ends every process, and takes away what was made. */
  async close(): Promise<void> {
    this.#closed = true
    this.#running?.kill("SIGKILL")
    const spare = await this.#spare?.catch(() => undefined)
    spare?.removeAllListeners("exit")
    spare?.kill("SIGKILL")
    await this.#bundle?.catch(() => undefined)
    fs.rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The name of a test without the part that it belongs to. */
export function shortName(test: string): string {
  return test.split(" > ").slice(1).join(": ")
}

function inTest(test: string): Text {
  const name = shortName(test)
  return name === "" ? { en: "while it was loaded", zh: "加载时" } : { en: `in "${name}"`, zh: `在“${name}”里` }
}

function sayEndless(test: string, patience: number): Text {
  const [place, seconds] = [inTest(test), patience / 1000]
  return {
    en: `no end after ${seconds} seconds, ${place.en}: look for a loop that never ends`,
    zh: `${place.zh}跑了 ${seconds} 秒还没结束：找一找停不下来的循环`,
  }
}

function sayWaiting(test: string): Text {
  const place = inTest(test)
  return {
    en: `it waits for something that never comes, ${place.en}: look for a promise that nobody resolves`,
    zh: `${place.zh}等的东西永远不来：找一找没人 resolve 的 promise`,
  }
}

/** The first line of a file that a stack names. */
export function lineIn(stack: string, file: string): number | undefined {
  const places = [file, pathToFileURL(file).href].flatMap((name) => {
    const at = stack.indexOf(`${name}:`)
    return at === -1 ? [] : [Number.parseInt(stack.slice(at + name.length + 1), 10)]
  })
  return places.find((line) => Number.isInteger(line))
}

function sayBroken(message: string, line: number | undefined): Text {
  const [first = ""] = message.split("\n")
  const place = line === undefined ? { en: "", zh: "" } : { en: `, line ${line}`, zh: `，第 ${line} 行` }
  return { en: `your program broke off${place.en}: ${first}`, zh: `你的程序中断了${place.zh}：${first}` }
}

function sayEnded(test: string, how: string | number | null, printed: string): Text {
  const place = inTest(test)
  const line = /^\w*Error\b.*: .*/m.exec(printed)?.[0] ?? ""
  const more = line === "" ? "" : ` (${line})`
  return {
    en: `your program ended the process, ${place.en}, with ${String(how)}${more}: look for process.exit`,
    zh: `${place.zh}程序把进程结束了（${String(how)}）${more}：找一找 process.exit`,
  }
}
