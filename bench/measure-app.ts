import { appendFileSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Agent } from "../app/agent/agent.ts"
import { mockSlot } from "../app/choose-model.ts"
import { createAgentServer, listen } from "../app/server.ts"
import { JsonlSessionStore } from "../app/session/session-store.ts"
import type { AgentMessage, ProviderEvent } from "../s12_packages/code.ts"

/**
 * One measurement of the app, for a process of its own: `node measure-app.mjs KIND NAME SIZE [MODULE]`. It prints a number: microseconds for an entry,
 * milliseconds for a file, for a prompt, for a run.
 */

const messageOf = (index: number): AgentMessage => {
  const content = `message number ${index} with some forty characters`
  return index % 2 === 0 ? { role: "user", content } : { role: "assistant", content, stopReason: "stop" }
}

type Timed = (folder: string, size: number, module: string) => number | Promise<number>

/** The floor of a session file: a line an entry, and a map to find parents in. */
function appendFloor(folder: string, size: number): number {
  const fd = openSync(join(folder, "floor.jsonl"), "a")
  const byId = new Map<string, unknown>()
  const start = performance.now()
  let parentId: string | null = null
  for (let index = 0; index < size; index++) {
    const { role, content } = messageOf(index)
    const entry: { id: string; parentId: string | null; message: unknown } = {
      id: `entry_${index}`,
      parentId,
      message: { role, content: [{ type: "text", text: content }] },
    }
    byId.set(entry.id, entry)
    parentId = entry.id
    appendFileSync(fd, `${JSON.stringify(entry)}\n`)
  }
  return ((performance.now() - start) * 1000) / size
}

function appendApp(folder: string, size: number): number {
  const store = JsonlSessionStore.open(join(folder, "session.jsonl"))
  const start = performance.now()
  for (let index = 0; index < size; index++) store.appendMessage(messageOf(index))
  const time = performance.now() - start
  store.close()
  return (time * 1000) / size
}

function openApp(folder: string, size: number): number {
  appendApp(folder, size)
  globalThis.gc?.()
  const start = performance.now()
  const store = JsonlSessionStore.open(join(folder, "session.jsonl"))
  const time = performance.now() - start
  if (store.entries().length !== size) throw new Error("entries are missing")
  store.close()
  return time
}

function openLines(folder: string, size: number): number {
  appendApp(folder, size)
  globalThis.gc?.()
  const start = performance.now()
  const lines = readFileSync(join(folder, "session.jsonl"), "utf8").split("\n")
  const records = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as unknown)
  const time = performance.now() - start
  if (records.length !== size + 1) throw new Error("lines are missing")
  return time
}

type Peer = {
  onDisk(folder: string): Promise<{ append(message: { role: string; text: string }): unknown; file(): string }>
  reopen(file: string): Promise<unknown>
}

async function openPeer(folder: string, size: number, module: string): Promise<number> {
  const peer = (await import(pathToFileURL(module).href)) as Peer
  const session = await peer.onDisk(folder)
  for (let index = 0; index < size; index++) {
    const { role, content } = messageOf(index)
    await session.append({ role, text: content })
  }
  globalThis.gc?.()
  const start = performance.now()
  await peer.reopen(session.file())
  return performance.now() - start
}

const openAgent = (folder: string): Promise<Agent> =>
  Agent.open({ project: folder, home: join(folder, "home"), model: mockSlot(0) })
const PROMPT = "list files"

async function promptInProcess(folder: string, size: number): Promise<number> {
  const agent = await openAgent(folder)
  const start = performance.now()
  for (let index = 0; index < size; index++) {
    agent.branch(null)
    await agent.start(PROMPT).done
  }
  const time = performance.now() - start
  await agent.close()
  return time / size
}

function post(url: string, body: unknown): Promise<void> {
  const data = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(data) }
    const request = http.request(url, { method: "POST", headers }, (response) => {
      response.resume()
      response.on("end", () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
      )
    })
    request.on("error", reject)
    request.end(data)
  })
}

async function promptOverHttp(folder: string, size: number): Promise<number> {
  const agent = await openAgent(folder)
  const { server, close } = createAgentServer({ agent })
  const url = await listen(server, 0)
  const start = performance.now()
  for (let index = 0; index < size; index++) {
    agent.branch(null)
    await post(`${url}/api/prompt`, { prompt: PROMPT })
  }
  const time = performance.now() - start
  await close()
  return time / size
}

/** A run of `size` pieces of text, told to so many listeners, until the last of them has heard its end. */
const runWithListeners =
  (listeners: number): Timed =>
  async (folder, size) => {
    const open: { resolve?: () => void } = {}
    const gate = new Promise<void>((resolve) => {
      open.resolve = resolve
    })
    async function* stream(): AsyncGenerator<ProviderEvent> {
      await gate
      for (let index = 0; index < size; index++) yield { type: "text_delta", text: `piece ${index} ` }
      yield { type: "message_end", stopReason: "stop" }
    }
    const agent = await openAgent(folder)
    agent.model = { name: "scripted", connect: () => ({ stream }) }
    const { server, close } = createAgentServer({ agent })
    const url = await listen(server, 0)
    const { runId } = (await (
      await fetch(`${url}/api/runs`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"prompt":"go"}',
      })
    ).json()) as { runId: string }
    const heard = Array.from({ length: listeners }, () => {
      return new Promise<void>((resolve, reject) => {
        http
          .get(`${url}/api/runs/${runId}/events`, { agent: false }, (response) => {
            response.resume()
            response.on("end", resolve)
          })
          .on("error", reject)
      })
    })
    const start = performance.now()
    open.resolve?.()
    await Promise.all(heard)
    const time = performance.now() - start
    await close()
    return time
  }

const KINDS: Readonly<Record<string, Readonly<Record<string, Timed>>>> = {
  append: { app: appendApp, floor: appendFloor },
  open: { app: openApp, "lines only": openLines, pi081: openPeer },
  prompt: { "over HTTP": promptOverHttp, "in process": promptInProcess },
  events: { "100 listeners": runWithListeners(100), "1 listener": runWithListeners(1) },
}

async function main([kind = "", name = "", size = "", module = ""]: string[]): Promise<void> {
  const timed = KINDS[kind]?.[name]
  if (timed === undefined) throw new Error(`there is no measurement ${kind} ${name}`)
  const folder = mkdtempSync(join(tmpdir(), "bench-app-"))
  try {
    console.log(await timed(folder, Number(size), module))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
