/**
 * Runs the tests of the chapters on one file, in a process that may be ended from outside at any moment: nothing that a reader has written is
 * trusted to end. It is started ahead, loads what every run needs, and waits for its job.
 */
import { once } from "node:events"
import { inspect } from "node:util"
import { type File, startTests, type Task, type Test, type VitestRunner } from "@vitest/runner"
import type { Text } from "../../../scripts/course/language.ts"
import { describeMessage } from "../../../scripts/lab/session.ts"
import type { Failure, Job, Played, Report } from "../../../scripts/practice/judge.ts"
import { Driver, type ProviderEvent, type Reply } from "../driver.ts"

/** No more of a text is told, in characters. */
const MOST = 2000

const send = (report: Report): void => void process.send?.(report)

let current = ""
let written = 0
let played: Played[] = []
let stray: unknown[] = []

for (const method of ["log", "info", "warn", "error", "debug"] as const) console[method] = () => void written++

const show = (value: unknown): string =>
  inspect(value, { depth: 6, breakLength: 72, maxStringLength: 200 }).slice(0, MOST)

/** Where a test belongs, from the outside in: the part, its groups, its own name. */
function pathOf(task: Task): string[] {
  const names = [task.name]
  for (let suite = task.suite; suite !== undefined && suite !== task.file; suite = suite.suite)
    names.unshift(suite.name)
  return [(names[0] ?? "").replace(/ on s\d\d$/, ""), ...names.slice(1)]
}

function testsIn(task: Task): Test[] {
  return task.type === "test" ? [task] : task.tasks.flatMap(testsIn)
}

/** A piece of what the scripted model says, in a few words; nothing for what begins a message. */
function describeEvent(event: ProviderEvent): Text[] {
  if (event?.type === "message_start") return []
  if (event?.type === "text_delta") {
    const words = JSON.stringify(event.text)
    return [{ en: `says ${words}`, zh: `说 ${words}` }]
  }
  if (event?.type === "tool_call") {
    const { id, name, input } = event.call ?? {}
    const isRecord = typeof input === "object" && !Array.isArray(input)
    const words = isRecord
      ? Object.values(input ?? {})
          .map(String)
          .join(", ")
      : JSON.stringify(input)
    const call = `${String(name)}(${words})`
    return [{ en: `calls ${call} as ${JSON.stringify(id)}`, zh: `调用 ${call}，id 是 ${JSON.stringify(id)}` }]
  }
  if (event?.type === "message_end") {
    const reason = JSON.stringify(event.stopReason)
    return [{ en: `ends with ${reason}`, zh: `以 ${reason} 结束` }]
  }
  return [{ en: `sends ${show(event)}`, zh: `发来 ${show(event)}` }]
}

function describeReply(reply: Reply): Text {
  if (reply instanceof Error) return { en: `fails: ${reply.message}`, zh: `失败：${reply.message}` }
  if (!Array.isArray(reply)) return { en: "does what the test works out", zh: "由测试现算出来" }
  const events = reply.flatMap(describeEvent)
  return { en: events.map(({ en }) => en).join(", "), zh: events.map(({ zh }) => zh).join("，") }
}

/** Keeps what goes into each turn of a test and what comes of it. */
function listen(): void {
  const run = Driver.prototype.run
  Driver.prototype.run = async function (this: Driver, options = {}) {
    const { state = this.state(), prompt = "go", replies = [] } = options
    const turn: Played = { prompt, replies: replies.map(describeReply), lines: [] }
    played.push(turn)
    try {
      return await run.call(this, { ...options, state })
    } finally {
      turn.lines = readHistory(this, state)
    }
  }
}

function readHistory(driver: Driver, state: Parameters<Driver["history"]>[0]): string[] {
  try {
    return driver.history(state).map((message) => describeMessage(message).slice(0, 200))
  } catch (error) {
    return [`the history cannot be read: ${show(error)}`]
  }
}

/** What an assertion has to say, without the words that a runner puts around it. */
function readFailure(test: Test): Failure {
  const [error] = test.result?.errors ?? []
  const has = error !== undefined && "expected" in error && error.showDiff !== false
  return {
    path: pathOf(test),
    message: String(error?.message ?? "it failed without a word").slice(0, MOST),
    stack: String(error?.stack ?? "").slice(0, MOST),
    ...(has && { expected: String(error.expected).slice(0, MOST), actual: String(error.actual).slice(0, MOST) }),
    played,
  }
}

function fail(test: Test, message: string): void {
  if (test.result === undefined || test.result.state === "fail") return
  test.result.state = "fail"
  test.result.errors = [{ name: "Error", message, stack: "" } as never]
}

/** A runner that picks tests, tells of each, and stops at the first that fails where that is asked for. */
function makeRunner(job: Job, load: () => Promise<unknown>): VitestRunner {
  const wanted = job.tests === undefined ? undefined : new Set(job.tests)
  let left = job.failures
  let isOwnWrong = false
  const isOwn = (task: Task): boolean => (pathOf(task)[0] ?? "").startsWith(`${job.chapter} `)
  return {
    config: {
      root: process.cwd(),
      setupFiles: [],
      name: undefined,
      passWithNoTests: true,
      testNamePattern: undefined,
      allowOnly: false,
      sequence: { seed: 1, hooks: "stack", setupFiles: "list" },
      chaiConfig: undefined,
      maxConcurrency: 1,
      // A test that waits for ever is found when nothing is left to do, and a loop by the process that looks on.
      testTimeout: 0,
      hookTimeout: 0,
      retry: 0,
      includeTaskLocation: false,
      tags: [],
      tagsFilter: undefined,
      strictTags: false,
    },
    importFile: load,
    onCollected(files: File[]) {
      const tests = files.flatMap(testsIn)
      const broken = files.flatMap((file) => file.result?.errors ?? [])[0]
      if (broken !== undefined) throw broken
      send({
        type: "collected",
        tests: tests.filter((test) => test.mode === "run").map((test) => pathOf(test).join(" > ")),
      })
      if (job.ownFirst)
        for (const file of files) file.tasks.sort((one, other) => Number(isOwn(other)) - Number(isOwn(one)))
      if (wanted !== undefined) for (const test of tests) if (!wanted.has(pathOf(test).join(" > "))) test.mode = "skip"
    },
    onBeforeRunTask(test: Test) {
      if (left === 0 || (job.ownFirst && isOwnWrong && !isOwn(test))) {
        test.mode = "skip"
        return
      }
      current = pathOf(test).join(" > ")
      played = []
      stray = []
      written = 0
      send({ type: "starts", test: current })
    },
    async onAfterRunTask(test: Test) {
      if (test.result?.state === undefined || test.mode === "skip") return
      // A rejection that nobody catches is known when the process has had a moment.
      await new Promise((resolve) => setImmediate(resolve))
      if (written > 0) fail(test, "the core wrote to the console: it may write through an Output only")
      if (stray.length > 0) fail(test, `a promise was rejected and nobody caught it: ${show(stray[0])}`)
      if (test.result.state === "fail") {
        left--
        isOwnWrong ||= isOwn(test)
        send({ type: "failed", failure: readFailure(test) })
      } else if (test.result.state === "pass") send({ type: "passed", test: current, ...(job.play && { played }) })
    },
  } as VitestRunner
}

process.on("unhandledRejection", (error) => void stray.push(error))
function tellBreak(error: unknown): void {
  const { message = String(error), stack = "" } = (error ?? {}) as Partial<Error>
  send({ type: "broke", message: String(message).slice(0, MOST), stack: String(stack).slice(0, MOST) })
}

process.on("uncaughtException", (error) => {
  tellBreak(error)
  process.disconnect()
})
send({ type: "ready" })
const [job] = (await once(process, "message")) as [Job]
process.env.LADDER_ONLY = job.chapter
process.env.LADDER_FILE = job.program
let ended = false
process.once("beforeExit", () => {
  if (!ended) send({ type: "waits", test: current })
})
// Nothing but the program of the reader keeps this process alive: when that has nothing left to do, it waits for ever.
process.channel?.unref()
try {
  listen()
  await startTests(
    ["chapters"],
    makeRunner(job, () => import("./chapter-tests.ts")),
  )
  // What was left for later may still throw.
  await new Promise((resolve) => setTimeout(resolve, 2))
  send({ type: "ended" })
} catch (error) {
  tellBreak(error)
}
ended = true
process.disconnect()
