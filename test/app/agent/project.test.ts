/** What a project may bring along, and what not: nothing before it is trusted, and never a history or a way out of it. */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { setImmediate as nextRound } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { Agent } from "../../../app/agent/agent.ts"
import { mockSlot } from "../../../app/choose-model.ts"
import { JsonlSessionStore } from "../../../app/session/session-store.ts"
import { say } from "../../support/driver.ts"

let folder = ""
let project = ""
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "project 项目-"))
  project = path.join(folder, "project")
  fs.mkdirSync(path.join(project, ".pi"), { recursive: true })
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

const open = (home = "home"): Promise<Agent> =>
  Agent.open({ project, home: path.join(folder, home), model: mockSlot(0) })

function write(name: string, text: string): void {
  const file = path.join(project, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

const SESSION = [
  { type: "session", version: 1, id: "x", time: "2026-07-01T12:00:00.000Z" },
  {
    type: "message",
    id: "entry_1",
    parentId: null,
    message: { role: "user", content: [{ type: "text", text: "sentinel-41c" }] },
  },
]

describe("a project", () => {
  test("B86: brings no history along: a session that lies in it is none of this person's", async () => {
    for (const place of [".pi/sessions/9.jsonl", "sessions/9.jsonl", "9.jsonl"])
      write(place, SESSION.map((record) => `${JSON.stringify(record)}\n`).join(""))
    const agent = await open()
    const requests: string[] = []
    async function* stream(input: object) {
      requests.push(JSON.stringify(input))
      yield* say("ok")
    }
    agent.model = { name: "test", summarizes: false, connect: () => ({ stream }) }
    await agent.start("hello").done
    expect(requests).toHaveLength(1)
    expect(JSON.stringify([requests, agent.state()])).not.toContain("sentinel-41c")
    expect(path.relative(agent.project, agent.file).split(path.sep)[0]).toBe("..")
    await agent.close()
  })

  test("goes on with its own last session, by whatever path it is opened, and with no other project's", async () => {
    const first = await open()
    await first.start("hello").done
    const { id } = first.state()
    await first.close()
    const real = project
    fs.symlinkSync(real, path.join(folder, "link"), "junction")
    project = path.join(folder, "link")
    const again = await open()
    expect([again.state().id, again.state().messages.length]).toEqual([id, 2])
    await again.close()
    project = path.join(folder, "other", "project")
    fs.mkdirSync(project, { recursive: true })
    const other = await open()
    expect(other.state().messages).toEqual([])
    await other.close()
  })

  test("whose workspace is a link is refused, wherever that leads", async () => {
    fs.mkdirSync(path.join(folder, "private"))
    fs.writeFileSync(path.join(folder, "private", "key.txt"), "a key")
    for (const target of [path.join(folder, "private"), project, path.join(folder, "nowhere")]) {
      fs.symlinkSync(target, path.join(project, "workspace"), "junction")
      await expect(open()).rejects.toThrow(/workspace is a link: put a folder in its place/)
      fs.unlinkSync(path.join(project, "workspace"))
    }
    expect(fs.readdirSync(path.join(folder, "private"))).toEqual(["key.txt"])
    fs.writeFileSync(path.join(project, "workspace"), "")
    await expect(open()).rejects.toThrow(/workspace is no folder/)
    fs.rmSync(path.join(project, "workspace"))
    await (await open()).close()
  })

  test("with folders where files should be, and files where folders should be, opens all the same", async () => {
    fs.mkdirSync(path.join(project, "AGENTS.md"))
    fs.mkdirSync(path.join(project, ".pi/skills/folder.md"), { recursive: true })
    write(".pi/skills/polite.md", "Say please.")
    write(".pi/extensions", "no folder")
    const agent = await open()
    expect(agent.state().project).toMatchObject({ trust: "undecided", brings: true })
    await agent.setTrust("trusted")
    expect(agent.state().damage).toEqual([])
    await agent.close()
    fs.rmSync(path.join(project, ".pi"), { recursive: true })
    write(".pi", "no folder")
    const bare = await open()
    expect(bare.state().project.brings).toBe(false)
    await bare.close()
  })
})

describe("trust", () => {
  test("that is withdrawn while the code is still being fetched lets nothing in", async () => {
    const gate = globalThis as { openGate?: () => void; gate?: Promise<void> }
    gate.gate = new Promise((resolve) => {
      gate.openGate = resolve
    })
    write(
      ".pi/extensions/slow.mjs",
      `await globalThis.gate
       export default (api) => {
         api.registerTool({ spec: { name: "shout", description: "", input: {} }, handler: () => "x" })
         api.registerCommand({ name: "loud", run: () => "x" })
       }`,
    )
    const agent = await open()
    const trusting = agent.setTrust("trusted")
    for (let round = 0; round < 20; round++) await nextRound()
    await agent.setTrust("untrusted")
    gate.openGate?.()
    await trusting
    expect(agent.state().project.trust).toBe("untrusted")
    expect(agent.tools().map(({ name }) => name)).toEqual(["list_files", "read_file", "write_note"])
    expect(agent.commands()).toEqual([])
    await agent.setTrust("trusted")
    expect([agent.tools().at(-1)?.name, agent.commands()]).toEqual(["shout", ["loud"]])
    await agent.close()
  })
})

test("a reset that finds no place for a new session leaves the old one open", async () => {
  const agent = await open()
  const { id } = agent.state()
  await agent.start("hello").done
  vi.spyOn(JsonlSessionStore, "open").mockImplementationOnce(() => {
    throw new Error("no place")
  })
  await expect(agent.reset()).rejects.toThrow("no place")
  await agent.start("again").done
  expect([agent.state().id, agent.state().messages.length]).toEqual([id, 4])
  await agent.close()
})
