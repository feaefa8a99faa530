import fs from "node:fs"
import http from "node:http"
import net from "node:net"
import path from "node:path"
import { setImmediate as nextRound } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { AgentEvent, ApiError } from "../../../app/protocol.ts"
import { hostsOf } from "../../../app/server.ts"
import type { Provider, ProviderEvent } from "../../../s12_packages/code.ts"
import { ask, call, say } from "../../support/driver.ts"
import { DEEP } from "../../support/tier.ts"
import { TestServer } from "./client.ts"

let server: TestServer
beforeEach(async () => {
  server = await TestServer.start()
})
afterEach(() => server.end())

/** Another server in the place of the one that each test has. */
async function restart(options: Parameters<typeof TestServer.start>[0]): Promise<void> {
  await server.end()
  server = await TestServer.start(options)
}

const never = new Promise<never>(() => {})
const rolesOf = async (): Promise<string[]> =>
  (await server.get("/api/session")).body.messages.map(({ message }) => message.role)

/** A provider whose first answer waits until somebody opens the gate. */
function gated(answer: () => Iterable<ProviderEvent> = () => say("done")): { provider: Provider; open: () => void } {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const provider: Provider = {
    async *stream() {
      yield { type: "message_start" }
      yield { type: "text_delta", text: "so " }
      await gate
      yield* answer()
    },
  }
  return { provider, open: () => open() }
}

describe("the routes", () => {
  test("a prompt is answered with the new state; the session can be looked at, branched and begun anew", async () => {
    const empty = (await server.get("/api/session")).body
    expect(empty).toMatchObject({ messages: [], tree: [], leafId: null, runId: null, model: "mock", events: [] })
    expect(empty.tools.map(({ name, readOnly }) => [name, readOnly])).toEqual([
      ["list_files", true],
      ["read_file", true],
      ["write_note", false],
    ])
    const { status, body } = await server.post("/api/prompt", {
      prompt: "list files, read todo.md and write a note ideas.md: tea",
    })
    expect(status).toBe(200)
    expect(body.messages.map(({ message }) => message.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "toolResult",
      "assistant",
    ])
    expect(body.events.at(-1)).toMatchObject({ type: "run_done", stopReason: "stop" })
    expect(fs.readFileSync(path.join(server.folder, "project/workspace/notes/ideas.md"), "utf8")).toBe("tea")
    const branched = (await server.post("/api/branch", { entryId: null })).body
    expect([branched.leafId, branched.messages, branched.tree.length]).toEqual([null, [], 6])
    const other = (await server.post("/api/prompt", { prompt: "hello" })).body
    expect([
      other.messages.length,
      other.tree.length,
      other.tree.filter(({ parentId }) => parentId === null).length,
    ]).toEqual([2, 8, 2])
    const fresh = (await server.post("/api/reset")).body
    expect([fresh.messages, fresh.tree, fresh.events, fresh.id === other.id]).toEqual([[], [], [], false])
    expect(fs.readdirSync(path.dirname(server.agent.file)).filter((name) => name.endsWith(".jsonl"))).toHaveLength(2)
  })

  test("a run tells what happens, from its first event on, and ends with run_done", async () => {
    const { events, ids } = await server.listen(await server.start("read todo.md"))
    expect(ids).toEqual(ids.map((_id, index) => index + 1))
    const kinds = events.map(({ type }) => type).filter((kind) => kind !== "text_delta")
    expect(kinds).toEqual([
      "run_start",
      "message",
      "message_start",
      "message",
      "tool_call",
      "tool_decision",
      "message",
      "message_start",
      "message",
      "run_done",
    ])
    const told = events.flatMap((event) => (event.type === "message" ? [event.record] : []))
    expect((await server.get("/api/session")).body.messages).toEqual(told)
  })

  test("B55: what was said on a branch that was left is in no request of another", async () => {
    const requests: string[] = []
    const provider: Provider = {
      async *stream(input) {
        requests.push(JSON.stringify(input))
        yield* say("the token is 7f3a")
      },
    }
    await restart({ provider })
    await server.post("/api/prompt", { prompt: "one" })
    await server.post("/api/branch", { entryId: null })
    await server.post("/api/prompt", { prompt: "two" })
    expect(requests[1]).toContain("two")
    expect(requests[1]).not.toMatch(/7f3a|one/)
  })

  test("B54: three prompts are written once each", async () => {
    for (const prompt of ["one", "two", "three"]) await server.post("/api/prompt", { prompt })
    const lines = fs
      .readFileSync(server.agent.file, "utf8")
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line))
    expect(lines.map(({ id }) => id)).toEqual(lines.map((_line, index) => `entry_${index + 1}`))
    expect(
      lines.filter(({ message }) => message.role === "user").map(({ message }) => message.content[0].text),
    ).toEqual(["one", "two", "three"])
  })

  test("B57: a place in the middle of results is refused by one rule, and nothing moves", async () => {
    await server.post("/api/prompt", { prompt: "list files and read todo.md" })
    const { leafId } = (await server.get("/api/session")).body
    for (const entryId of ["entry_2", "entry_3"]) {
      const { status, body } = await server.post<unknown>("/api/branch", { entryId })
      expect([status, (body as ApiError).error.code]).toEqual([409, "cannot_move"])
    }
    expect((await server.get("/api/session")).body.leafId).toBe(leafId)
    expect((await server.post("/api/branch", { entryId: "entry_4" })).status).toBe(200)
  })

  test("a session is there after a restart, where it stood", async () => {
    await server.post("/api/prompt", { prompt: "hello" })
    const { body } = await server.post("/api/branch", { entryId: "entry_1" })
    await server.stop()
    server = await TestServer.start({ folder: server.folder })
    const again = (await server.get("/api/session")).body
    expect([again.id, again.leafId, again.tree]).toEqual([body.id, "entry_1", body.tree])
  })
})

describe("what is refused", () => {
  const codeOf = (body: unknown): string => (body as ApiError).error.code

  test.each<[string, string, string, object, number, string]>([
    ["a route that is not there", "GET", "/api/nothing", {}, 404, "unknown_route"],
    ["a body that is no JSON", "POST", "/api/prompt", { raw: "{nope" }, 400, "bad_request"],
    [
      "a body of another type",
      "POST",
      "/api/prompt",
      { raw: "prompt=x", headers: { "Content-Type": "application/x-www-form-urlencoded" } },
      415,
      "unsupported_type",
    ],
    [
      "B106: text in disguise",
      "POST",
      "/api/prompt",
      { raw: '{"prompt":"x"}', headers: { "Content-Type": "text/plain" } },
      415,
      "unsupported_type",
    ],
    ["no body", "POST", "/api/prompt", {}, 400, "bad_request"],
    ["a prompt that is no text", "POST", "/api/prompt", { body: { prompt: 7 } }, 400, "bad_request"],
    ["a prompt of blanks", "POST", "/api/prompt", { body: { prompt: " \n" } }, 400, "bad_request"],
    ["a prompt of null", "POST", "/api/runs", { body: { prompt: null } }, 400, "bad_request"],
    ["a list", "POST", "/api/prompt", { body: ["x"] }, 400, "bad_request"],
    ["a field too many", "POST", "/api/prompt", { body: { prompt: "x", trust: "trusted" } }, 400, "bad_request"],
    ["a prompt that is too long", "POST", "/api/prompt", { body: { prompt: "x".repeat(100_001) } }, 400, "bad_request"],
    ["a body that is too large", "POST", "/api/prompt", { body: { prompt: "x".repeat(400_000) } }, 413, "too_large"],
    ["B57: a branch to nowhere", "POST", "/api/branch", { body: { entryId: "entry_99" } }, 404, "unknown_entry"],
    ["a branch to what is no id", "POST", "/api/branch", { body: { entryId: 7 } }, 400, "bad_request"],
    ["a branch without a place", "POST", "/api/branch", { body: {} }, 400, "bad_request"],
    ["a run that nobody started", "GET", "/api/runs/1/events", {}, 404, "unknown_run"],
    ["B66: a run with dots in its name", "GET", "/api/runs/..%2f..%2fsession/events", {}, 404, "unknown_run"],
    [
      "an answer to no question",
      "POST",
      "/api/runs/x/answers",
      { body: { questionId: "q", allowed: true } },
      404,
      "unknown_run",
    ],
    ["a trust that there is not", "POST", "/api/trust", { body: { trust: "yes" } }, 400, "bad_request"],
    ["a foreign host", "GET", "/api/session", { headers: { Host: "evil.example" } }, 403, "foreign_host"],
    ["a host with another port", "GET", "/api/session", { headers: { Host: "127.0.0.1:1" } }, 403, "foreign_host"],
    [
      "B104: a foreign origin",
      "POST",
      "/api/prompt",
      { body: { prompt: "x" }, headers: { Origin: "http://evil.example" } },
      403,
      "foreign_origin",
    ],
    [
      "the origin null",
      "POST",
      "/api/prompt",
      { body: { prompt: "x" }, headers: { Origin: "null" } },
      403,
      "foreign_origin",
    ],
    [
      "a request from another site",
      "GET",
      "/api/session",
      { headers: { "Sec-Fetch-Site": "cross-site" } },
      403,
      "foreign_origin",
    ],
  ])("%s", async (_name, method, route, options, status, code) => {
    const answer = await server.request(method, route, options)
    expect([answer.status, codeOf(answer.body)]).toEqual([status, code])
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\.ts:|\n +at /)
    expect(await rolesOf()).toEqual([])
  })

  test.each(["__proto__", "constructor", "..\\x", "a/b", ".", "x".repeat(10_000), "entry_1\0"])(
    "B66: the id %j, wherever one can be given",
    async (id) => {
      expect((await server.post("/api/branch", { entryId: id })).status).toBe(404)
      const { status } = await server.get(`/api/runs/${encodeURIComponent(id)}/events`)
      expect(status).toBe(404)
      expect(
        (await server.post(`/api/runs/${encodeURIComponent(id)}/answers`, { questionId: id, allowed: true })).status,
      ).toBe(404)
    },
  )

  test("B104: a preflight of another site gets no leave", async () => {
    for (const route of ["/api/session", "/api/prompt", "/api/runs/x/events"]) {
      const { status, headers } = await server.request("OPTIONS", route, {
        headers: { Origin: "http://evil.example", "Access-Control-Request-Method": "POST" },
      })
      expect([status, headers["access-control-allow-origin"]]).toEqual([403, undefined])
    }
  })

  test("two hosts in one request", async () => {
    const port = Number(new URL(server.url).port)
    const text = await new Promise<string>((resolve, reject) => {
      const socket = net.connect(port, "127.0.0.1", () => {
        socket.write(
          `GET /api/session HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
        )
      })
      let all = ""
      socket
        .on("data", (data) => (all += data))
        .on("end", () => resolve(all))
        .on("error", reject)
    })
    expect(text).toMatch(/^HTTP\/1\.1 40[03]/)
  })

  test("the page's own origin and its other names are taken", async () => {
    const { host, port } = new URL(server.url)
    for (const headers of [
      { Origin: `http://${host}` },
      { Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
      { "Sec-Fetch-Site": "same-origin" },
    ])
      expect((await server.request("GET", "/api/session", { headers: headers as never })).status).toBe(200)
  })

  test("the port that a browser leaves out may be left out, and no other", () => {
    expect(hostsOf(80)).toEqual(expect.arrayContaining(["127.0.0.1", "localhost:80", "[::1]"]))
    expect(hostsOf(3210)).toEqual(["127.0.0.1:3210", "localhost:3210", "[::1]:3210"])
  })

  test("nothing but this machine can reach it", () => {
    expect(new URL(server.url).hostname).toBe("127.0.0.1")
  })

  test("B110: markup and line ends in a model's words stay words, in JSON and in the stream", async () => {
    const nasty = '<script>alert(1)</script>\n\ndata: {"type":"run_done"}\r\rid: 99\u2028'
    await restart({
      provider: {
        async *stream() {
          yield { type: "text_delta", text: nasty }
          yield { type: "message_end", stopReason: "stop" }
        },
      },
    })
    const { events, ids } = await server.listen(await server.start("go"))
    expect(events.filter(({ type }) => type === "run_done")).toHaveLength(1)
    expect(ids).toEqual(ids.map((_id, index) => index + 1))
    expect(events).toContainEqual({ type: "text_delta", text: nasty })
    const answer = await server.get("/api/session")
    expect(answer.headers["content-type"]).toContain("application/json")
    expect(answer.headers["x-content-type-options"]).toBe("nosniff")
    expect(answer.headers["content-security-policy"]).toContain("default-src 'self'")
  })
})

describe("one run at a time", () => {
  test("B115: from the first moment on, for every route that changes something", async () => {
    const { provider, open } = gated()
    await restart({ provider })
    const [first, second] = await Promise.all([
      server.post("/api/runs", { prompt: "one" }),
      server.post("/api/runs", { prompt: "two" }),
    ])
    expect([first?.status, second?.status].sort()).toEqual([202, 409])
    for (const [route, body] of [
      ["/api/prompt", { prompt: "x" }],
      ["/api/branch", { entryId: null }],
      ["/api/trust", { trust: "trusted" }],
    ] as const)
      expect((await server.post(route, body)).status).toBe(409)
    const { runId } = (await server.get("/api/session")).body
    expect(runId).not.toBeNull()
    open()
    await server.listen(runId ?? "")
    expect((await server.post("/api/branch", { entryId: null })).status).toBe(200)
  })

  test("B112: run ids are long and not to be guessed", async () => {
    const ids = new Set<string>()
    for (let number = 0; number < 3; number++) {
      const id = await server.start("hello")
      await server.listen(id)
      ids.add(id)
    }
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/)
    expect(ids.size).toBe(3)
  })

  test("B54: the same request again, by its key, starts nothing anew", async () => {
    const headers = { "Idempotency-Key": "k1" }
    await server.post("/api/prompt", { prompt: "hello" }, headers)
    await server.post("/api/prompt", { prompt: "hello" }, headers)
    expect(await rolesOf()).toEqual(["user", "assistant"])
    await server.post("/api/prompt", { prompt: "hello" }, { "Idempotency-Key": "k2" })
    expect(await rolesOf()).toHaveLength(4)
  })

  test("B122: a failing model is an answer, and the next run works", async () => {
    let fails = true
    await restart({
      provider: {
        async *stream() {
          if (fails) throw new Error("no connection")
          yield* say("here")
        },
      },
    })
    const { body, status } = await server.post("/api/prompt", { prompt: "x" })
    expect([status, body.events.at(-1)]).toEqual([
      200,
      { type: "run_done", stopReason: "error", text: "error: no connection" },
    ])
    fails = false
    expect((await server.post("/api/prompt", { prompt: "y" })).body.events.at(-1)).toMatchObject({ text: "here" })
  })
})

describe("events", () => {
  test("B108: a late listener gets everything from the beginning, one that comes back what is behind its last", async () => {
    const { provider, open } = gated()
    await restart({ provider })
    const id = await server.start("go")
    const first = server.listen(id)
    for (let round = 0; round < 50; round++) await nextRound()
    open()
    const { events, ids } = await first
    expect(await server.listen(id)).toEqual({ events, ids })
    const rest = await server.request<string>("GET", `/api/runs/${id}/events`, { headers: { "Last-Event-ID": "3" } })
    expect(rest.body.match(/^id: \d+$/gm)).toEqual(ids.slice(3).map((number) => `id: ${number}`))
    const nothing = await server.request("GET", `/api/runs/${id}/events`, {
      headers: { "Last-Event-ID": String(ids.at(-1)) },
    })
    expect(nothing.status).toBe(204)
    for (const strange of ["99999", "-1", "x", "1e3", "0x1"])
      expect(
        (await server.request("GET", `/api/runs/${id}/events`, { headers: { "Last-Event-ID": strange } })).status,
      ).toBeLessThan(300)
  })

  test("a listener that goes away does not stop the run", async () => {
    const { provider, open } = gated()
    await restart({ provider })
    const id = await server.start("go")
    await new Promise<void>((resolve) => {
      const request = http.get(`${server.url}/api/runs/${id}/events`, (response) =>
        response.once("data", () => {
          request.destroy()
          resolve()
        }),
      )
      request.on("error", () => {})
    })
    open()
    await server.listen(id)
    expect(await rolesOf()).toEqual(["user", "assistant"])
  })

  test("listeners that read nothing cost no memory of their own, and many hear the same", async () => {
    const pieces = DEEP ? 20_000 : 2_000
    const { provider, open } = gated(() => [
      ...Array.from(
        { length: pieces },
        (_, index): ProviderEvent => ({ type: "text_delta", text: `${index} ${"x".repeat(100)}` }),
      ),
      { type: "message_end", stopReason: "stop" },
    ])
    await restart({ provider })
    const id = await server.start("go")
    const slow = await Promise.all(
      Array.from(
        { length: 20 },
        () =>
          new Promise<http.IncomingMessage>((resolve, reject) => {
            http
              .get(`${server.url}/api/runs/${id}/events`, { agent: false }, (response) => {
                response.pause()
                resolve(response)
              })
              .on("error", reject)
          }),
      ),
    )
    const listeners = Array.from({ length: DEEP ? 100 : 10 }, () => server.listen(id))
    open()
    const heard = await Promise.all(listeners)
    for (const { events } of heard) expect(events.at(-1)?.type).toBe("run_done")
    const { agent } = server
    expect(agent.run).toBeUndefined()
    // The listener that reads nothing gets the rest when it reads.
    let text = ""
    const [patient] = slow
    patient?.setEncoding("utf8").on("data", (part: string) => (text += part))
    patient?.resume()
    await new Promise((resolve) => patient?.on("end", resolve))
    expect(text).toContain('"type":"run_done"')
    for (const response of slow) response.destroy()
  })
})

describe("a question", () => {
  const write = "write a note ideas.md: second"
  const prepare = async (options: Parameters<typeof TestServer.start>[0] = {}): Promise<void> => {
    await restart(options)
    await server.post("/api/prompt", { prompt: "write a note ideas.md: first" })
  }
  const note = (): string => fs.readFileSync(path.join(server.folder, "project/workspace/notes/ideas.md"), "utf8")
  const answering =
    (runId: string, allowed: boolean) =>
    (event: AgentEvent): void => {
      if (event.type === "question")
        void server.post(`/api/runs/${runId}/answers`, { questionId: event.question.id, allowed })
    }

  test.each([
    [true, "second"],
    [false, "first"],
  ])("answered with %s, leaves %j", async (allowed, text) => {
    await prepare()
    const id = await server.start(write)
    const { events } = await server.listen(id, answering(id, allowed))
    expect(note()).toBe(text)
    const question = events.find((event) => event.type === "question")
    expect(question).toMatchObject({
      question: {
        text: expect.stringContaining("replaces the note"),
        diff: expect.stringMatching(/-first[\s\S]*\+second/),
      },
    })
    expect(events).toContainEqual(expect.objectContaining({ type: "answer", allowed }))
    const results = (await server.get("/api/session")).body.messages.flatMap(({ message }) =>
      message.role === "toolResult" ? [message.isError] : [],
    )
    expect(results).toEqual([false, !allowed])
  })

  test("that nobody can see is answered with no: without a page, when it is closed, when nobody answers", async () => {
    await prepare({ grace: 20, patience: 60 })
    await server.post("/api/prompt", { prompt: write })
    expect(note()).toBe("first")
    const id = await server.start(write)
    await server.agent.run?.done
    expect(note()).toBe("first")
    const other = await server.start(write)
    await server.listen(other)
    expect(note()).toBe("first")
    expect(id).not.toBe(other)
  })

  test("B112: is answered by its own run only", async () => {
    await prepare()
    const old = await server.start("hello")
    await server.listen(old)
    const id = await server.start(write)
    const statuses: number[] = []
    await server.listen(id, (event) => {
      if (event.type !== "question") return
      const questionId = event.question.id
      const answer = (runId: string, allowed: boolean) =>
        server.post(`/api/runs/${runId}/answers`, { questionId, allowed }).then(({ status }) => statuses.push(status))
      void answer(old, true).then(() => answer(id, false))
    })
    for (let round = 0; statuses.length < 2 && round < 10_000; round++) await nextRound()
    expect(statuses).toEqual([404, 200])
    expect(note()).toBe("first")
  })

  test("comes after the one before it is answered, so that a page shows them all; once it is closed the rest get no", async () => {
    const writes = ["a.md", "b.md", "c.md"].map((name) => call(name, "write_note", { name, text: "second" }))
    const { provider, open } = gated(() => ask(...writes))
    await restart({ provider, grace: 20 })
    const notes = path.join(server.folder, "project/workspace/notes")
    for (const { id } of writes) fs.writeFileSync(path.join(notes, id), "first")
    const id = await server.start("go")
    const asked: string[] = []
    await new Promise<void>((resolve) => {
      const request = http.get(`${server.url}/api/runs/${id}/events`, (response) =>
        response.setEncoding("utf8").on("data", (text: string) => {
          // Nothing is asked before somebody listens.
          open()
          for (const [, questionId = "", name = ""] of text.matchAll(
            /"id":"(question_\d+)","toolCallId":"(\w\.md)"/g,
          )) {
            asked.push(name)
            if (name === "a.md") void server.post(`/api/runs/${id}/answers`, { questionId, allowed: true })
            else request.destroy()
          }
        }),
      )
      request.on("error", () => {})
      request.on("close", resolve)
    })
    expect(asked).toEqual(["a.md", "b.md"])
    await server.agent.run?.done
    expect(writes.map(({ id }) => fs.readFileSync(path.join(notes, id), "utf8"))).toEqual(["second", "first", "first"])
  })

  test("outlives a page that is loaded again, and not one that stays away", async () => {
    const writes = ["a.md", "b.md"].map((name) => call(name, "write_note", { name, text: "second" }))
    const { provider, open } = gated(() => ask(...writes))
    await restart({ provider, grace: 1_000 })
    const notes = path.join(server.folder, "project/workspace/notes")
    for (const { id } of writes) fs.writeFileSync(path.join(notes, id), "first")
    const id = await server.start("go")
    /** A page that is there until it is closed, and has seen the question on `name`. */
    const visit = (name: string): Promise<{ questionId: string; leave: () => Promise<void> }> =>
      new Promise((resolve) => {
        const request = http.get(`${server.url}/api/runs/${id}/events`, { agent: false }, (response) =>
          response.setEncoding("utf8").on("data", (text: string) => {
            open()
            const [, questionId] = new RegExp(`"id":"(question_\\d+)","toolCallId":"${name}"`).exec(text) ?? []
            if (questionId === undefined) return
            const gone = new Promise<void>((end) => response.on("close", end))
            const leave = (): Promise<void> => {
              request.destroy()
              return gone
            }
            resolve({ questionId, leave })
          }),
        )
        request.on("error", () => {})
      })
    // The clock stands still until it is moved: it is not the machine that decides who was in time.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      const first = await visit("a.md")
      await first.leave()
      const again = await visit("a.md")
      vi.advanceTimersByTime(1_000)
      const allowed = { questionId: again.questionId, allowed: true }
      expect((await server.post(`/api/runs/${id}/answers`, allowed)).status).toBe(200)
      const last = await visit("b.md")
      await Promise.all([again.leave(), last.leave()])
      for (let round = 0; vi.getTimerCount() < 2 && round < 10_000; round++) await nextRound()
      vi.advanceTimersByTime(1_000)
      const late = { questionId: last.questionId, allowed: true }
      expect((await server.post(`/api/runs/${id}/answers`, late)).status).toBe(404)
    } finally {
      vi.useRealTimers()
    }
    await server.request("DELETE", `/api/runs/${id}`)
    expect(writes.map((write) => fs.readFileSync(path.join(notes, write.id), "utf8"))).toEqual(["second", "first"])
  })

  test("is answered once; a second answer is told that nobody asks any more", async () => {
    await prepare()
    const id = await server.start(write)
    const statuses: number[] = []
    await server.listen(id, (event) => {
      if (event.type !== "question") return
      const body = { questionId: event.question.id, allowed: false }
      void server.post(`/api/runs/${id}/answers`, body).then(async ({ status }) => {
        statuses.push(status, (await server.post(`/api/runs/${id}/answers`, { ...body, allowed: true })).status)
      })
    })
    for (let round = 0; statuses.length < 2 && round < 10_000; round++) await nextRound()
    expect(statuses).toEqual([200, 404])
    expect(note()).toBe("first")
  })
})

describe("cancelling", () => {
  const hanging: Provider = {
    async *stream() {
      yield { type: "text_delta", text: "so far" }
      yield { type: "tool_call", call: call("a") }
      await never
    },
  }

  test("a run ends it, and every call has its result", async () => {
    await restart({ provider: hanging })
    const id = await server.start("go")
    const { body } = await server.request("DELETE", `/api/runs/${id}`)
    expect(body.runId).toBeNull()
    expect(body.messages.map(({ message }) => message.role)).toEqual(["user", "assistant", "toolResult"])
    expect(body.messages.at(-1)?.message).toMatchObject({ toolCallId: "a", isError: true })
    expect((await server.request("DELETE", `/api/runs/${id}`)).status).toBe(200)
  })

  test("a run that waits for a summary ends it too, though the model never answers", async () => {
    let summaries = 0
    const provider: Provider = {
      async *stream({ tools }) {
        if (tools.length > 0) return yield* say("long ".repeat(1_000))
        summaries++
        await never
      },
    }
    await restart({ model: { name: "test", connect: () => provider }, budget: 2_000 })
    for (const prompt of ["one", "two"]) {
      const id = await server.start(prompt)
      for (let round = 0; summaries === 0 && server.agent.run && round < 10_000; round++) await nextRound()
      await server.request("DELETE", `/api/runs/${id}`)
    }
    expect(summaries).toBe(1)
    const { body } = await server.get("/api/session")
    expect([body.runId, body.messages.at(-1)?.message]).toMatchObject([null, { stopReason: "error" }])
    expect(body.messages).toHaveLength(4)
    expect(fs.readFileSync(server.agent.file, "utf8")).not.toContain('"compaction"')
  })

  test("B113: by a reset: nothing of the run gets into the new session", async () => {
    await restart({ provider: hanging })
    const id = await server.start("go")
    const { body } = await server.post("/api/reset")
    expect([body.messages, body.runId]).toEqual([[], null])
    await server.listen(id)
    expect((await server.get("/api/session")).body.messages).toEqual([])
  })

  test("by the end of the server: the session file is whole", async () => {
    await restart({ provider: hanging })
    await server.start("go")
    const { file } = server.agent
    await server.stop()
    const lines = fs
      .readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(lines.map(({ type, message }) => message?.role ?? type)).toEqual([
      "session",
      "user",
      "assistant",
      "toolResult",
    ])
    server = await TestServer.start({ folder: server.folder })
    expect((await server.get("/api/session")).body.damage).toEqual([])
  })
})

describe("a disk that takes nothing", () => {
  test("is told with the run, and no other one begins; when it takes again, everything is written", async () => {
    const write = fs.writeSync
    fs.writeSync = () => {
      throw new Error("no space left on device")
    }
    try {
      const { body } = await server.post("/api/prompt", { prompt: "hello" })
      expect(body.messages).toHaveLength(2)
      expect(body.damage).toEqual([expect.stringMatching(/cannot be written: no space left/)])
      const refused: unknown = (await server.post("/api/prompt", { prompt: "again" })).body
      expect((refused as ApiError).error.code).toBe("disk")
    } finally {
      fs.writeSync = write
    }
    await server.post("/api/branch", { entryId: "entry_1" })
    const { body } = await server.post("/api/prompt", { prompt: "again" })
    expect([body.damage, body.messages.length]).toEqual([[], 3])
    const lines = fs.readFileSync(server.agent.file, "utf8").trimEnd().split("\n")
    const types = ["session", "message", "message", "leaf", "message", "message"]
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(types)
  })
})

describe("trust", () => {
  const bring = (): void => {
    const project = path.join(server.folder, "project")
    fs.mkdirSync(path.join(project, ".pi/extensions"), { recursive: true })
    fs.mkdirSync(path.join(project, ".pi/packages"), { recursive: true })
    fs.mkdirSync(path.join(project, ".pi/skills"), { recursive: true })
    fs.writeFileSync(path.join(project, "AGENTS.md"), "\uFEFFAlways say please.\r\n")
    fs.writeFileSync(path.join(project, ".pi/skills/greeting.md"), "Say hello first.")
    fs.writeFileSync(
      path.join(project, ".pi/extensions/evil.mjs"),
      "globalThis.extensionRan = (globalThis.extensionRan ?? 0) + 1\nexport default (api) => api.registerTool({ spec: { name: 'shout', description: 'Shouts.', input: { text: 'any' } }, handler: ({ text }) => text.toUpperCase() })\n",
    )
    fs.writeFileSync(
      path.join(project, ".pi/packages/p.json"),
      JSON.stringify({
        manifest: { name: "p", tools: ["greet"], commands: [], resources: [] },
        contents: { greet: "Hello." },
      }),
    )
    fs.writeFileSync(path.join(project, ".pi/packages/broken.json"), "{")
  }
  const ran = (): number => (globalThis as { extensionRan?: number }).extensionRan ?? 0

  test("B86, B88, B90: is asked for once and remembered outside of the project; before it nothing is loaded, afterwards everything", async () => {
    const requests: string[] = []
    const provider: Provider = {
      async *stream({ systemPrompt }) {
        requests.push(systemPrompt)
        yield* say("ok")
      },
    }
    await restart({ provider })
    bring()
    await server.stop()
    const before = ran()
    server = await TestServer.start({ folder: server.folder, provider })
    expect((await server.get("/api/session")).body).toMatchObject({ project: { trust: "undecided" }, damage: [] })
    await server.post("/api/prompt", { prompt: "hello" })
    expect([requests.at(-1), ran()]).toEqual(["", before])
    const { body } = await server.post("/api/trust", { trust: "trusted" })
    expect(body.tools.map(({ name, source, readOnly }) => [name, source, readOnly]).slice(3)).toEqual([
      ["shout", "extension", false],
      ["greet", "package", false],
    ])
    expect(body.damage).toEqual([expect.stringContaining("broken.json cannot be installed")])
    await server.post("/api/prompt", { prompt: "hello" })
    expect(requests.at(-1)).toMatch(
      /# agents: AGENTS\.md\n {2}Always say please\.\n[\s\S]*# skill: greeting\n {2}Say hello first\./,
    )
    expect(ran()).toBe(before + 1)
    await server.stop()
    server = await TestServer.start({ folder: server.folder, provider })
    expect((await server.get("/api/session")).body.project.trust).toBe("trusted")
    expect(fs.existsSync(path.join(server.folder, "home/trust.json"))).toBe(true)
    const untrusted = (await server.post("/api/trust", { trust: "untrusted" })).body
    expect([untrusted.project.trust, untrusted.tools.length]).toEqual(["untrusted", 3])
  })

  test("a tool of an extension that does not say that it only reads asks first", async () => {
    await restart({
      provider: {
        async *stream({ messages }) {
          yield* messages.at(-1)?.role === "user" ? ask(call("a", "shout", { text: "hey" })) : say("done")
        },
      },
    })
    bring()
    await server.post("/api/trust", { trust: "trusted" })
    const { body } = await server.post("/api/prompt", { prompt: "go" })
    expect(body.messages[2]?.message).toMatchObject({
      isError: true,
      content: [{ text: "error: blocked: the person did not allow it" }],
    })
  })
})
