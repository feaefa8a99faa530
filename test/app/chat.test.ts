import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { PassThrough } from "node:stream"
import { setImmediate as nextRound } from "node:timers/promises"
import { Chalk } from "chalk"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Agent } from "../../app/agent/agent.ts"
import { sessionsFolder } from "../../app/agent/project.ts"
import { Chat, drawTree } from "../../app/chat.ts"
import { mockSlot } from "../../app/choose-model.ts"
import { JsonlSessionStore } from "../../app/session/session-store.ts"
import type { Provider } from "../../s12_packages/code.ts"
import { ask, call, say } from "../support/driver.ts"
import { ROOT } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"

let folder = ""
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "chat 聊天-"))
  fs.mkdirSync(path.join(folder, "project", "workspace"), { recursive: true })
  fs.writeFileSync(path.join(folder, "project", "workspace", "todo.md"), "buy milk\n")
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

const project = (): string => path.join(folder, "project")

/** A conversation of these lines. `provider` answers in the place of the scripted model; `onStart` is told how to press Ctrl-C. */
async function talk(
  lines: readonly string[],
  options: { isTerminal?: boolean; provider?: Provider; onStart?: (interrupt: () => void) => void } = {},
) {
  const { isTerminal = false, provider, onStart } = options
  const model = provider ? { name: "test", summarizes: false, connect: () => provider } : mockSlot(0)
  const agent = await Agent.open({ project: project(), home: path.join(folder, "home"), model })
  const input = new PassThrough()
  const typed = lines.map((line) => `${line}\n`)
  let output = ""
  const chat = new Chat(
    agent,
    {
      input,
      write: (text) => {
        output += text
        if (!isTerminal || !/(› |\[y\/N\] )$/.test(text)) return
        // A person types when it is their turn, and has read what is asked.
        const line = typed.shift()
        void nextRound().then(() => (line === undefined ? input.end() : input.write(line)))
      },
      isTerminal,
      paint: new Chalk({ level: 0 }),
      onInterrupt: (handler) => onStart?.(handler),
    },
    async (name) => {
      if (name !== "mock") throw new Error(`no model ${name}`)
      return mockSlot(0)
    },
  )
  const done = chat.talk()
  if (!isTerminal) input.end(typed.join(""))
  const code = await done
  await agent.close()
  return { code, output }
}

describe("npm run chat", () => {
  test("lists, reads and writes", async () => {
    const { code, output } = await talk(["list files", "read todo.md", "write a note n.md: tea"])
    expect(code).toBe(0)
    expect(output).toContain("→ list_files()")
    expect(output).toContain("buy milk")
    expect(fs.readFileSync(path.join(project(), "workspace/notes/n.md"), "utf8")).toBe("tea")
    expect(output).not.toContain("›")
  })

  test("goes on where it stood, branches and begins anew", async () => {
    await talk(["hello"])
    const { output } = await talk(["/tree -", "list files", "/tree", "/new", "/tree"], { isTerminal: true })
    expect(output).toContain("The session goes on: 2 messages so far.")
    const marked = output.split("\n").filter((line) => /^[* ] {1,3}entry_\d/.test(line))
    expect(marked.at(-1)).toMatch(/^\* .*entry_6 assistant/)
    expect(output.trimEnd()).toMatch(/\(empty\)\n› $|\(empty\)\n›$/)
  })

  test("asks a person before a note is replaced, and takes only a clear yes for one", async () => {
    const note = path.join(project(), "workspace/notes/n.md")
    await talk(["write a note n.md: one"])
    for (const [answer, text] of [
      ["n", "one"],
      ["", "one"],
      ["maybe", "one"],
      ["y", "two"],
    ] as const) {
      const { output } = await talk(["write a note n.md: two", answer], { isTerminal: true })
      expect(output).toMatch(/replaces the note[\s\S]*-one[\s\S]*\+two[\s\S]*Allow it\? \[y\/N\]/)
      expect(fs.readFileSync(note, "utf8")).toBe(text)
    }
  })

  test("takes nothing for an answer that was typed before the question was put", async () => {
    const note = path.join(project(), "workspace/notes/n.md")
    await talk(["write a note n.md: one"])
    const heard: string[] = []
    const provider: Provider = {
      async *stream({ messages }) {
        const last = messages.at(-1)
        if (last?.role === "user") heard.push(last.content)
        yield { type: "text_delta", text: "Do you like tea? [y/N] " }
        // Whoever answers these words answers them, and not the question that comes next.
        for (let round = 0; round < 10; round++) await nextRound()
        yield* last?.content === "go" ? ask(call("a", "write_note", { name: "n.md", text: "two" })) : say("I see.")
      },
    }
    const { output } = await talk(["go", "yes"], { provider, isTerminal: true })
    expect(output).toContain("Allow it? [y/N]")
    expect(heard).toEqual(["go", "yes"])
    expect(fs.readFileSync(note, "utf8")).toBe("one")
  })

  test("in a pipe the answer is no, and the exit code tells how the last answer ended", async () => {
    await talk(["write a note n.md: one"])
    const { output } = await talk(["write a note n.md: two", "y"])
    expect(output).not.toContain("[y/N]")
    expect(fs.readFileSync(path.join(project(), "workspace/notes/n.md"), "utf8")).toBe("one")
    const failing: Provider = {
      stream() {
        throw new Error("no connection")
      },
    }
    expect(await talk(["hello"], { provider: failing })).toMatchObject({
      code: 1,
      output: expect.stringContaining("error: no connection"),
    })
  })

  test("Ctrl-C cancels what is going on and loses nothing", async () => {
    let interrupt = (): void => {}
    let asked = 0
    const provider: Provider = {
      async *stream() {
        yield { type: "text_delta", text: "so far" }
        if (asked++ === 0) {
          void nextRound().then(interrupt)
          await new Promise(() => {})
        }
        yield { type: "message_end", stopReason: "stop" }
      },
    }
    const { output } = await talk(["go", "again"], {
      provider,
      isTerminal: true,
      onStart: (handler) => {
        interrupt = handler
      },
    })
    expect(output).toContain("cancelled")
    const sessions = sessionsFolder(path.join(folder, "home"), project())
    const file = fs.readdirSync(sessions).find((name) => name.endsWith(".jsonl")) ?? ""
    const store = JsonlSessionStore.open(path.join(sessions, file), { readOnly: true })
    expect(store.path().map(({ message }) => message.role)).toEqual(["user", "assistant", "user", "assistant"])
  })

  test("its commands say what they did, and what cannot be done", async () => {
    const { output } = await talk([
      "/help",
      "/tools",
      "/model",
      "/model mock",
      "/model x",
      "/trust",
      "/trust maybe",
      "/commands",
      "/run x",
      "/tree entry_9",
      "/compact",
      "/bogus",
      "/__proto__",
    ])
    for (const part of [
      "/tree ID",
      "write_note",
      "mock",
      "error: no model x",
      "undecided",
      'error: expected /trust yes or /trust no, got "maybe"',
      "(none)",
      'unknown command "x"',
      'no entry has the id "entry_9"',
      "Not compacted",
      "unknown command /bogus",
      "unknown command /__proto__",
    ])
      expect(output).toContain(part)
  })

  test("compacts, and the session keeps everything", async () => {
    const { output } = await talk(["read todo.md", "list files", "hello", "/compact", "/tree"])
    expect(output).toMatch(/Compacted[\s\S]*- asked: read todo.md/)
    expect(output).toContain("entry_1 user: read todo.md")
  })

  test("nothing of a model or a file reaches the terminal raw", async () => {
    fs.writeFileSync(path.join(project(), "workspace/evil.md"), "\u001b[31mred\u202e\u0007")
    const provider: Provider = {
      async *stream({ messages }) {
        if (messages.at(-1)?.role === "user") {
          yield { type: "text_delta", text: "\u001b]0;title\u0007" }
          yield { type: "tool_call", call: { id: "a", name: "read_file", input: { path: "evil.md" } } }
          yield { type: "message_end", stopReason: "toolUse" }
        } else {
          yield { type: "text_delta", text: "\u009b2J" }
          yield { type: "message_end", stopReason: "stop" }
        }
      },
    }
    const { output } = await talk(["go\u0007", "/tree"], { provider })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(output).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
    expect(output).toContain("\\u{1b}[31mred")
  })

  test("a line end that arrives in two pieces is one, and a carriage return by itself is shown", async () => {
    const provider: Provider = {
      async *stream() {
        for (const text of ["one\r", "\ntwo\r", "three\r"]) yield { type: "text_delta", text }
        yield { type: "message_end", stopReason: "stop" }
      },
    }
    const { output } = await talk(["go"], { provider })
    expect(output).toContain("one\r\ntwo\\u{d}three\\u{d}\n")
  })

  test("a tree shows its branches a step in", () => {
    const entry = (id: string, parentId: string | null) => ({ id, parentId, role: "user" as const, preview: id })
    expect(drawTree([entry("a", null), entry("b", "a"), entry("c", "a"), entry("d", "b")], "d")).toBe(
      ["  a user: a", "    b user: b", "*   d user: d", "    c user: c"].join("\n"),
    )
  })
})

describe("the program", () => {
  const start = (...args: string[]): ChildProcess =>
    spawn(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), path.join(ROOT, "app/chat.ts"), "--project", project(), ...args],
      {
        env: { ...process.env, LEARN_PI_AGENT_HOME: path.join(folder, "home"), NO_COLOR: "1", PI_MODEL: "mock" },
        stdio: ["pipe", "pipe", "pipe"],
      },
    )
  const finish = async (
    child: ChildProcess,
    input = "",
  ): Promise<{ code: number | null; out: string; err: string }> => {
    let [out, err] = ["", ""]
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text))
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text))
    child.stdin?.end(input)
    const [code] = await once(child, "close")
    return { code: code as number | null, out, err }
  }

  test("prints JSON only with --json, as s10 does", async () => {
    const { code, out, err } = await finish(start("--json", "list files"))
    expect([code, err]).toEqual([0, ""])
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).type),
    ).toEqual(["message", "message", "message", "done"])
  })

  test.runIf(DEEP)(
    "works in a pipe, with --print, and tells a missing key and strange words in a sentence",
    async () => {
      expect(await finish(start(), "list files\n")).toMatchObject({
        code: 0,
        err: "",
        out: expect.stringContaining("todo.md"),
      })
      expect(await finish(start("--print"), "read todo.md")).toMatchObject({
        code: 0,
        out: expect.stringContaining("buy milk"),
      })
      expect(await finish(start("words"))).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringMatching(/^error: expected no words without --print/),
      })
      expect(await finish(start("--project", path.join(folder, "nowhere"), "--print", "x"))).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^error: the project .*nowhere is no folder/),
      })
      expect(await finish(start("--nonsense"))).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringMatching(/^error: /),
      })
    },
  )

  test.runIf(DEEP)("resumes after kill -9, with every call answered", async () => {
    const child = start()
    const closed = once(child, "close")
    child.stdin?.write("list files\n")
    await new Promise<void>((resolve) =>
      child.stdout?.on("data", (data: Buffer) => data.includes("→ list_files") && resolve()),
    )
    child.kill("SIGKILL")
    await closed
    const { code, out } = await finish(start(), "/tree\n")
    expect(code).toBe(0)
    expect(out).toContain("entry_1 user: list files")
  })
})
