/** Kills a real process in the middle of writing, again and again, and looks at what it left. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fromStored } from "../../../app/session/convert.ts"
import { findLocks } from "../../../app/session/lock.ts"
import { JsonlSessionStore } from "../../../app/session/session-store.ts"
import { assertPairedToolCalls, toProviderMessage } from "../../../s12_packages/code.ts"
import { DEEP } from "../../support/tier.ts"
import { bundle } from "./bundle.ts"

/** How many processes are killed. */
const KILLS = DEEP ? 1000 : 6

/** When a file has become so long, in bytes, a new one is begun. */
const LONG = 500_000

/** Writes turns of rising numbers until somebody ends it, or, should nobody find the time, some dozen. Every third message is longer than a page of memory. */
const WRITER = `
import { JsonlSessionStore } from "./app/session/session-store.ts"
const store = JsonlSessionStore.open(process.argv[2])
const first = store.entries().filter(({ message }) => message.role === "user").length
setInterval(() => {}, 1000)
for (let turn = first; turn < first + 60; turn++) {
  store.appendMessage({ role: "user", content: "turn " + turn })
  const toolCalls = ["a", "b"].map((id) => ({ id, name: "read_file", input: { path: "x".repeat((turn % 3) * 5000) } }))
  store.appendMessage({ role: "assistant", content: "", stopReason: "toolUse", toolCalls })
  for (const { id } of toolCalls) store.appendMessage({ role: "toolResult", toolCallId: id, content: "y".repeat((turn % 3) * 9000) })
  store.appendMessage({ role: "assistant", content: "done " + turn, stopReason: "stop" })
}
`

let folder = ""
let writer = ""
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "kill-"))
  writer = await bundle(WRITER)
})
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Lets a process write until the file has grown by so many bytes, and kills it. */
async function writeAndKill(file: string, bytes: number): Promise<void> {
  const target = sizeOf(file) + bytes
  const child = spawn(process.execPath, [writer, file], { stdio: ["ignore", "ignore", "pipe"] })
  let complaint = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text))
  const closed = once(child, "close")
  while (sizeOf(file) < target && child.exitCode === null) await pause(1)
  child.kill("SIGKILL")
  await closed
  if (child.exitCode !== null) throw new Error(`the writer ended by itself: ${complaint}`)
}

/** The messages whose lines were written whole, by their ids. */
function readWholeLines(bytes: Buffer): Map<string, unknown> {
  const lines = bytes.toString().split("\n").slice(0, -1)
  const records = lines.flatMap((line) => (line.endsWith("}") ? [JSON.parse(line)] : []))
  return new Map(records.flatMap(({ type, id, message }) => (type === "message" ? [[id, message]] : [])))
}

/** Opens what a killed process left: what was written is there as it was, every turn in its order, and what broke off is answered. */
function checkWhatIsLeft(file: string, before: Buffer): void {
  expect(findLocks(file)).toHaveLength(1)
  const left = fs.readFileSync(file)
  expect(left.subarray(0, before.length).equals(before)).toBe(true)
  const whole = readWholeLines(left)
  const store = JsonlSessionStore.open(file)
  try {
    const entries = store.entries()
    const messages = store.path().map(({ message }) => fromStored(message))
    assertPairedToolCalls(messages.map(toProviderMessage))
    const prompts = messages.filter(({ role }) => role === "user").map(({ content }) => content)
    expect(prompts).toEqual(prompts.map((_content, index) => `turn ${index}`))
    expect(messages).toHaveLength(entries.length)
    expect(entries.slice(0, whole.size).map(({ id, message }) => [id, message])).toEqual([...whole])
    for (const { message } of entries.slice(whole.size))
      expect(message).toMatchObject({ role: "toolResult", isError: true })
    for (const sentence of store.damage) expect(sentence).toMatch(/breaks off|is no record|had no result|holds several/)
    expect(fs.readFileSync(file).subarray(0, left.length).equals(left)).toBe(true)
  } finally {
    store.close()
  }
}

describe("a process that is killed in the middle of writing", () => {
  test(`leaves a session that goes on, ${KILLS} times`, async () => {
    const lane = async (name: string, kills: number): Promise<void> => {
      for (let kill = 0, part = 0; kill < kills; kill++) {
        if (sizeOf(path.join(folder, `${name}-${part}.jsonl`)) > LONG) part++
        const file = path.join(folder, `${name}-${part}.jsonl`)
        const before = sizeOf(file) === 0 ? Buffer.alloc(0) : fs.readFileSync(file)
        await writeAndKill(file, 1 + Math.floor(Math.random() * 40_000))
        checkWhatIsLeft(file, before)
      }
    }
    await Promise.all([lane("first", KILLS / 2), lane("second", KILLS / 2)])
  })
})
