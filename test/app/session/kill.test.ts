/** Kills a real process in the middle of writing, again and again, and looks at what it left. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import path from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { build } from "esbuild"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fromStored } from "../../../app/session/convert.ts"
import { lockOf } from "../../../app/session/lock.ts"
import { JsonlSessionStore } from "../../../app/session/session-store.ts"
import { assertPairedToolCalls, toProviderMessage } from "../../../s12_packages/code.ts"
import { ROOT } from "../../support/ladder.ts"
import { DEEP } from "../../support/tier.ts"

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
  const cache = path.join(ROOT, "node_modules", ".cache", "learn-pi-agent")
  fs.mkdirSync(cache, { recursive: true })
  folder = fs.mkdtempSync(path.join(cache, "kill-"))
  writer = path.join(folder, "writer.mjs")
  const stdin = { contents: WRITER, resolveDir: ROOT, loader: "ts" as const }
  await build({
    stdin,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["zod"],
    outfile: writer,
    logLevel: "error",
  })
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

/** Opens what a killed process left: every turn is there in its order, and what broke off is answered. */
function checkWhatIsLeft(file: string, before: Buffer): void {
  expect(fs.existsSync(lockOf(file))).toBe(true)
  const store = JsonlSessionStore.open(file)
  try {
    const messages = store.path().map(({ message }) => fromStored(message))
    assertPairedToolCalls(messages.map(toProviderMessage))
    const prompts = messages.filter(({ role }) => role === "user").map(({ content }) => content)
    expect(prompts).toEqual(prompts.map((_content, index) => `turn ${index}`))
    expect(store.path()).toHaveLength(store.entries().length)
    for (const entry of store.damage) expect(entry).toMatch(/breaks off|is no record|had no result|holds several/)
    expect(fs.readFileSync(file).subarray(0, before.length).equals(before)).toBe(true)
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
        await writeAndKill(file, Math.floor(Math.random() * 40_000))
        checkWhatIsLeft(file, before)
      }
    }
    await Promise.all([lane("first", KILLS / 2), lane("second", KILLS / 2)])
  })
})
