import { getEventListeners } from "node:events"
import { setImmediate as nextRound } from "node:timers/promises"
import { applyPatch } from "diff"
import { describe, expect, test, vi } from "vitest"
import { AppRegistry, CallTracker, type RunContext, runAgentLoop } from "../../../app/agent/loop.ts"
import { MockModel } from "../../../app/agent/mock-model.ts"
import { createProvider } from "../../../app/agent/model.ts"
import { decide, defaultPolicy, questionFor, showChange, soundsSecret } from "../../../app/agent/tool-policy.ts"
import type { Preview, ToolDefinition } from "../../../app/agent/tools.ts"
import type { AgentEvent, Question } from "../../../app/protocol.ts"
import {
  type AgentMessage,
  assertPairedToolCalls,
  ExtensionRuntime,
  type Provider,
  type ProviderInput,
  ResourceLoader,
  SessionTree,
  toProviderMessage,
} from "../../../s12_packages/code.ts"
import { ask as asks, call, cut, type ProviderEvent, say } from "../../support/driver.ts"

const tool = (
  name: string,
  handler: ToolDefinition["handler"],
  more: Partial<ToolDefinition> = {},
): ToolDefinition => ({
  spec: { name, description: name, input: { text: "any" } },
  handler,
  source: "built-in",
  readOnly: true,
  ...more,
})

/** A provider that plays one list of events for each request, and then says "done". */
function playing(
  ...replies: (Iterable<ProviderEvent> | (() => AsyncGenerator<ProviderEvent>))[]
): Provider & { requests: number } {
  const provider = {
    requests: 0,
    async *stream() {
      const reply = replies[provider.requests++] ?? say("done")
      yield* typeof reply === "function" ? reply() : reply
    },
  }
  return provider
}

const never = new Promise<never>(() => {})

async function runWith(context: Partial<RunContext> & Pick<RunContext, "model">) {
  const tree = new SessionTree()
  const result = await runAgentLoop({ prompt: "go", messages: tree, tools: [], retries: 0, ...context })
  assertPairedToolCalls(tree.currentPath().map(toProviderMessage))
  // The next turn can begin.
  tree.acquire()()
  return { ...result, tree }
}

const kinds = (events: readonly AgentEvent[]): string[] => events.map(({ type }) => type)
const results = (messages: readonly AgentMessage[]): string[] =>
  messages.flatMap((message) => (message.role === "toolResult" ? [`${message.toolCallId} ${message.content}`] : []))

describe("runAgentLoop", () => {
  test("gives the new messages, not the whole conversation, and tells what happens in its order", async () => {
    const tree = new SessionTree()
    tree.append({ role: "user", content: "before" })
    tree.append({ role: "assistant", content: "yes", stopReason: "stop" })
    const { newMessages, events, message } = await runAgentLoop({
      prompt: "go",
      messages: tree,
      tools: [tool("echo", ({ text = "" }) => text)],
      model: playing(asks(call("a"))),
    })
    expect(newMessages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"])
    expect(kinds(events)).toEqual([
      "run_start",
      "message_start",
      "tool_call",
      "tool_decision",
      "message_start",
      "text_delta",
      "run_done",
    ])
    expect(message.content).toBe("done")
    expect(events.at(-1)).toEqual({ type: "run_done", stopReason: "stop", text: "done" })
  })

  test("goes on from a list of messages whose last is the person's, without a tree", async () => {
    const messages: AgentMessage[] = [
      { role: "user", content: "hello" },
      { role: "assistant", content: "yes?", stopReason: "stop" },
      { role: "user", content: "go" },
    ]
    const sent: string[][] = []
    async function* stream(input: ProviderInput) {
      sent.push(input.messages.map(({ content }) => content))
      yield* say("done")
    }
    const { newMessages, events } = await runAgentLoop({ messages, tools: [], model: { stream } })
    expect(newMessages).toEqual([{ role: "assistant", content: "done", stopReason: "stop" }])
    expect(sent).toEqual([["hello", "yes?", "go"]])
    expect(events[0]).toEqual({ type: "run_start", prompt: "" })
  })

  test("takes a model that only knows complete", async () => {
    const model = {
      complete: async () => ({
        role: "assistant" as const,
        content: [{ type: "text" as const, text: "whole answer" }],
        stopReason: "stop" as const,
      }),
    }
    const { message, events } = await runWith({ model })
    expect(message.content).toBe("whole answer")
    expect(kinds(events).filter((kind) => kind === "text_delta").length).toBeGreaterThan(1)
  })

  test("tells the model the system prompt", async () => {
    const seen: string[] = []
    await runWith({
      systemPrompt: "Be brief.",
      model: {
        async *stream({ systemPrompt }) {
          seen.push(systemPrompt)
          yield* say("ok")
        },
      },
    })
    expect(seen[0]).toContain("Be brief.")
  })

  test("hands the core what belongs to it: the limit, the texts, the trust, the extensions, the mode", async () => {
    const heard: string[] = []
    const shown: string[] = []
    const prompts: string[] = []
    const registry = new AppRegistry([tool("echo", () => "fine")])
    const extensions = new ExtensionRuntime(registry, { log: (line) => heard.push(`problem: ${line}`) })
    extensions.use((api) => api.on("message", (event) => heard.push(event.type === "message" ? event.content : "")))
    const loader = new ResourceLoader([{ kind: "agents", name: "AGENTS.md", content: "Say please." }])
    const run = (trust: "trusted" | "untrusted") =>
      runWith({
        tools: registry,
        model: {
          async *stream({ systemPrompt }) {
            prompts.push(systemPrompt)
            yield* asks(call("a"))
          },
        },
        maxTurns: 2,
        mode: { render: (events) => void shown.push(...events.map(({ type }) => type)) },
        extensions,
        loader,
        systemPrompt: "not this",
        trust,
      })
    const { message } = await run("trusted")
    expect(message.content).toBe("max turns reached")
    expect(prompts).toHaveLength(2)
    expect(prompts[0]).toBe("# agents: AGENTS.md\n  Say please.")
    expect(heard.filter((text) => text === "fine")).toHaveLength(2)
    expect(shown.at(-1)).toBe("done")
    await run("untrusted")
    expect(prompts.at(-1)).toBe("")
  })

  test("rejects, and records nothing, where the core refuses the turn", async () => {
    const tree = new SessionTree()
    const release = tree.acquire()
    await expect(runAgentLoop({ prompt: "go", messages: tree, tools: [], model: playing() })).rejects.toThrow(
      "already running",
    )
    release()
    expect(tree.allEntries()).toEqual([])
  })

  test("says what is wrong with a stream that ends before its message does", async () => {
    const { message } = await runWith({ model: playing([{ type: "text_delta", text: "half" }]) })
    expect(message).toMatchObject({
      content: "half\nerror: the stream ended before its message did",
      stopReason: "error",
    })
  })

  test("asks once more for an answer that broke off, and no more often", async () => {
    const provider = playing(cut(say("half an ans")), say("whole"))
    const { newMessages, events } = await runWith({ model: provider, retries: 1 })
    expect(newMessages.map((message) => [message.role, message.content.split("\n")[0]])).toEqual([
      ["user", "go"],
      ["assistant", "half an ans"],
      ["assistant", "whole"],
    ])
    expect(kinds(events)).toContain("notice")
    expect(events).toContainEqual({ type: "notice", text: expect.stringContaining("asked for again") })
    for (const [retries, requests] of [
      [undefined, 2],
      [0, 1],
      [3, 4],
    ]) {
      const always = playing(...Array.from({ length: 9 }, () => cut(say("half"))))
      const context: RunContext = { prompt: "go", messages: new SessionTree(), tools: [], model: always }
      if (retries !== undefined) context.retries = retries
      expect((await runAgentLoop(context)).message.stopReason).toBe("error")
      expect(always.requests).toBe(requests)
    }
  })
})

describe("what is known of a call", () => {
  test("B85, B118, B119: is what happened, and not how its text begins", async () => {
    const tracker = new CallTracker()
    const tools = [
      tool("lies", () => "error: this is only the text of a file"),
      tool("fails", () => {
        throw new Error("no such file")
      }),
      tool("odd", (() => 7) as never),
    ]
    await runAgentLoop(
      {
        prompt: "go",
        messages: new SessionTree(),
        tools,
        model: playing(asks(call("a", "lies"), call("b", "fails"), call("c", "odd"), call("d", "unknown"))),
      },
      tracker,
    )
    expect(["a", "b", "c", "d"].map((id) => tracker.isError(id))).toEqual([false, true, true, true])
  })

  test("is of this call, and not of another one of the same name in an earlier message", async () => {
    const tracker = new CallTracker()
    const known: boolean[] = []
    await runAgentLoop(
      {
        prompt: "go",
        messages: new SessionTree(),
        tools: [tool("echo", () => "fine")],
        model: playing(asks(call("a")), asks(call("a"))),
        beforeToolCall: () => {
          known.push(tracker.isError("a"))
          return known.length === 1 ? { type: "allow" } : { type: "block", reason: "no" }
        },
      },
      tracker,
    )
    expect([known, tracker.isError("a")]).toEqual([[true, true], true])
  })
})

describe("a policy", () => {
  const echo = tool("echo", ({ text = "" }) => text)

  test("blocks with a reason, and what is blocked is an error and does not run", async () => {
    const handler = vi.fn(() => "ran")
    const { newMessages, events } = await runWith({
      tools: [tool("echo", handler)],
      model: playing(asks(call("a"))),
      beforeToolCall: () => ({ type: "block", reason: "not today" }),
    })
    expect(results(newMessages)).toEqual(["a error: blocked: not today"])
    expect(events).toContainEqual({
      type: "tool_decision",
      toolCallId: "a",
      decision: { type: "block", reason: "blocked: not today" },
    })
    expect(handler).not.toHaveBeenCalled()
  })

  test("B84: rewrites, and what runs is what was decided on last", async () => {
    const { newMessages } = await runWith({
      tools: [echo],
      model: playing(asks(call("a", "echo", { text: "one" }))),
      beforeToolCall: [
        ({ input }) => (input.text === "one" ? { type: "rewrite", input: { text: "two" } } : { type: "allow" }),
        ({ input }) => (input.text === "two" ? { type: "rewrite", input: { text: "three" } } : { type: "allow" }),
        ({ input }) => (input.text === "one" ? { type: "block", reason: "one" } : { type: "allow" }),
      ],
    })
    expect(results(newMessages)).toEqual(["a three"])
    // The history holds what the model asked for.
    expect(newMessages[1]).toMatchObject({ toolCalls: [{ input: { text: "one" } }] })
  })

  test("B84: tells each rewrite, and what a rule does to its own object afterwards changes nothing", async () => {
    const mine = { text: "two" }
    const { newMessages, events } = await runWith({
      tools: [echo],
      model: playing(asks(call("a", "echo", { text: "one" }))),
      beforeToolCall: [
        ({ input }) => (input.text === "one" ? { type: "rewrite", input: mine } : { type: "allow" }),
        ({ input }) => {
          mine.text = "three"
          expect(Object.isFrozen(input) || input.text === "one").toBe(true)
          return { type: "allow" }
        },
      ],
    })
    expect(results(newMessages)).toEqual(["a two"])
    expect(events.flatMap((event) => (event.type === "tool_decision" ? [event.decision] : []))).toEqual([
      { type: "rewrite", input: { text: "two" } },
      { type: "allow" },
    ])
  })

  test("that is the default one lists the workspace where no folder is named, and judges notes only", async () => {
    const decisionOn = (name: string, input: Record<string, string>, target?: ToolDefinition["target"]) =>
      defaultPolicy(
        call("a", name, input),
        tool(name, () => "", target && { target }),
      )
    const rewrite = { type: "rewrite", input: { path: ".", deep: "yes" } }
    for (const input of [{ deep: "yes" }, { deep: "yes", path: "" }, { deep: "yes", path: " \t" }])
      expect(decisionOn("list_files", input)).toEqual(rewrite)
    for (const [name, input] of [
      ["list_files", { path: "docs" }],
      ["read_file", {}],
      ["read_file", { name: "secret.md", path: "secret.md" }],
      ["write_note", { name: "todo.md", text: "secret" }],
      ["write_note", {}],
    ] as const)
      expect([name, input, decisionOn(name, input)]).toEqual([name, input, { type: "allow" }])
    const block = { type: "block", reason: expect.stringContaining("secret") }
    expect(decisionOn("write_note", { name: "secret.md" })).toEqual(block)
    expect(decisionOn("write_note", { name: "a.md" }, () => "notes/secret.md")).toEqual(block)
    expect(decisionOn("write_note", { name: "a.md" }, () => "notes/a.md")).toEqual({ type: "allow" })
  })

  test("B84: blocks what a later rule rewrote into something forbidden, and rules that rewrite without end", async () => {
    const forbid = decide(
      [
        ({ input }) => (input.text === "bad" ? { type: "block", reason: "bad" } : { type: "allow" }),
        ({ input }) => (input.text === "bad" ? { type: "allow" } : { type: "rewrite", input: { text: "bad" } }),
      ],
      call("a"),
      echo,
    )
    expect(await forbid).toMatchObject({ block: "bad" })
    const endless = decide([({ input }) => ({ type: "rewrite", input: { text: `${input.text}x` } })], call("a"), echo)
    expect(await endless).toMatchObject({ block: expect.stringContaining("without end") })
  })

  test("B80: that throws, rejects or gives no decision blocks", async () => {
    for (const rule of [
      () => {
        throw new Error("boom")
      },
      () => Promise.reject(new Error("later")),
      () => undefined,
      () => ({ type: "maybe" }),
    ]) {
      const { newMessages } = await runWith({
        tools: [echo],
        model: playing(asks(call("a"))),
        beforeToolCall: rule as never,
      })
      expect(results(newMessages)[0]).toMatch(/^a error: /)
    }
  })

  test.each([
    "secret.md",
    "SECRET",
    "my-Secret-plan.md",
    "ｓｅｃｒｅｔ",
    "s\u200becret",
    "sécrét",
    "s.e.c.r.e.t",
    "ѕесrеt",
    "秘密.md",
    "秘\u200b密",
    "祕密",
    "s\u0454cret",
    "s\u03b5cret",
    "se\u03f2ret",
    "sec\u0433et",
    "secre\u0442",
    "secre\u03c4",
  ])("knows %j for secret", (name) => expect(soundsSecret(name)).toBe(true))

  test.each(["sector.md", "recipes", "secre", "秘书.md"])("does not take %j for secret", (name) =>
    expect(soundsSecret(name)).toBe(false),
  )
})

describe("a question", () => {
  const damaging = (handler: ToolDefinition["handler"]): ToolDefinition =>
    tool("danger", handler, { readOnly: false, source: "extension" })

  test("is asked before a tool that does not say that it only reads, and shows the call", async () => {
    const asked: Question[] = []
    const { newMessages, events } = await runWith({
      tools: [damaging(() => "done it")],
      model: playing(asks(call("a", "danger", { text: "x" }))),
      ask: async (question) => {
        asked.push(question)
        return true
      },
    })
    expect(asked).toEqual([
      expect.objectContaining({ toolCallId: "a", text: 'runs danger, a tool of an extension, with text = "x"' }),
    ])
    expect(results(newMessages)).toEqual(["a done it"])
    const [question] = asked
    expect(events.filter(({ type }) => /tool|question|answer/.test(type))).toEqual([
      { type: "tool_call", call: { type: "toolCall", id: "a", name: "danger", input: { text: "x" } } },
      { type: "question", question },
      { type: "answer", questionId: question?.id, allowed: true },
      { type: "tool_decision", toolCallId: "a", decision: { type: "allow" } },
    ])
    expect(question?.id).toMatch(/^question_\d+$/)
  })

  test.each<[string, RunContext["ask"]]>([
    ["no", async () => false],
    ["nobody to ask", undefined],
    ["a failure", () => Promise.reject(new Error("gone"))],
    ["something else than true", async () => "yes" as never],
  ])("that gets %s lets nothing run", async (_name, ask) => {
    const handler = vi.fn(() => "ran")
    const { newMessages } = await runWith({
      tools: [damaging(handler)],
      model: playing(asks(call("a", "danger"))),
      ...(ask && { ask }),
    })
    expect(results(newMessages)).toEqual(["a error: blocked: the person did not allow it"])
    expect(handler).not.toHaveBeenCalled()
  })

  test("says whose tool will run, and with what", () => {
    const textOf = (source: ToolDefinition["source"], input: Record<string, string>) =>
      questionFor(
        call("a", "danger", input),
        tool("danger", () => "", { readOnly: false, source }),
        "q",
      )
    expect(textOf("package", {})).toEqual({
      id: "q",
      toolCallId: "a",
      name: "danger",
      text: "runs danger, a tool of a package, with no arguments",
    })
    expect(textOf("extension", { a: "1", b: 'x "y"' })?.text).toBe(
      'runs danger, a tool of an extension, with a = "1", b = "x \\"y\\""',
    )
    const plain = tool("danger", () => "", { readOnly: false, preview: () => ({ text: "does it", before: "old" }) })
    expect(questionFor(call("a", "danger"), plain, "q")).toEqual({
      id: "q",
      toolCallId: "a",
      name: "danger",
      text: "does it",
    })
  })

  test("shows nothing that could turn its words around, neither in the call nor in the change", async () => {
    const asked: Question[] = []
    const ask: RunContext["ask"] = async (question) => asked.push(question) < 0
    const nasty = "\u202egnp.exe\u001b[2K"
    const preview = (): Preview => ({ text: `replaces ${nasty}`, before: "old", after: nasty, file: nasty })
    await runWith({
      tools: [damaging(() => "ran"), tool("write", () => "ran", { readOnly: false, preview })],
      model: playing(asks(call("a", "danger", { text: nasty }), call("b", "write"))),
      ask,
    })
    expect(asked).toHaveLength(2)
    for (const { text, diff = "" } of asked) expect(text + diff).not.toMatch(/\p{Bidi_C}|(?![\t\n])\p{Cc}/u)
    expect(asked[1]?.diff).toContain("+\\u{202e}gnp.exe\\u{1b}[2K")
  })

  test("shows a change as the shortest diff, and of texts with little in common the whole of both", () => {
    const lines = (letter: string): string =>
      Array.from({ length: 1_500 }, (_, line) => `${letter}${line}\nsame\n`).join("")
    expect(showChange("n.md", "a\nb\nc\n", "a\nB\nc\n")).toContain("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
    const [old, fresh] = [lines("a"), `${lines("b")}no line end`]
    const whole = showChange("n.md", old, fresh)
    expect(whole).toContain("@@ -1,3000 +1,3001 @@\n-a0\n-same\n")
    expect(applyPatch(old, whole)).toBe(fresh)
    expect(applyPatch("", showChange("n.md", "", old))).toBe(old)
    expect(applyPatch(fresh, showChange("n.md", fresh, ""))).toBe("")
  })

  test.each<[string, (state: string) => Preview | undefined]>([
    ["another change", (state) => ({ text: "replaces n", before: state, after: "new", file: "n" })],
    ["another place", (state) => ({ text: `replaces ${state}`, before: "old", after: "new", file: "n" })],
    ["other words", (state) => ({ text: `removes ${state}` })],
    ["nothing any more", (state) => (state === "one" ? { text: "removes n" } : undefined)],
  ])("that would show %s when it is answered lets nothing run", async (_name, preview) => {
    let state = "one"
    const handler = vi.fn(() => "ran")
    const writer = tool("write", handler, { readOnly: false, preview: () => preview(state) })
    const { newMessages } = await runWith({
      tools: [writer],
      model: playing(asks(call("a", "write"))),
      ask: async () => {
        state = "two"
        return true
      },
    })
    expect(results(newMessages)).toEqual(["a error: blocked: what it would do has changed since the person was asked"])
    expect(handler).not.toHaveBeenCalled()
  })

  test("comes after the one before it, and shows what has become of that", async () => {
    let note = "zero"
    const replace = ({ text = "" }): string => {
      const old = note
      note = text
      return `was ${old}, is ${note}`
    }
    const preview = ({ text = "" }): Preview => ({ text: "replaces n", before: note, after: text, file: "n" })
    const writer = tool("write", replace, { readOnly: false, preview })
    const open: string[] = []
    const seen: string[] = []
    const { newMessages } = await runWith({
      tools: [writer],
      model: playing(asks(...["one", "two", "three"].map((text) => call(text, "write", { text })))),
      ask: async ({ id, diff = "", toolCallId }) => {
        open.push(id)
        for (let round = 0; round < 5; round++) await nextRound()
        seen.push(`${open.length} open: ${diff.match(/^[-+]\w+$/gm)}`)
        open.pop()
        return toolCallId !== "two"
      },
    })
    expect(seen).toEqual(["1 open: -zero,+one", "1 open: -one,+two", "1 open: -one,+three"])
    expect(results(newMessages)).toEqual([
      "one was zero, is one",
      "two error: blocked: the person did not allow it",
      "three was one, is three",
    ])
  })

  test("is asked before a call does damage to what another call of the same message has just made", async () => {
    let note: string | undefined
    const writer = tool(
      "write",
      ({ text = "" }) => {
        note = text
        return "written"
      },
      {
        readOnly: false,
        preview: ({ text = "" }) =>
          note === undefined ? undefined : { text: "replaces n", before: note, after: text, file: "n" },
      },
    )
    const asked: Question[] = []
    const { newMessages } = await runWith({
      tools: [writer],
      model: playing(asks(call("a", "write", { text: "one" }), call("b", "write", { text: "two" }))),
      ask: async (question) => {
        asked.push(question)
        return false
      },
    })
    expect(results(newMessages)).toEqual(["a written", "b error: blocked: the person did not allow it"])
    expect(asked).toMatchObject([{ toolCallId: "b", diff: expect.stringMatching(/-one[\s\S]*\+two/) }])
    expect(note).toBe("one")
  })
})

describe("cancelling", () => {
  const soon = async <Value>(promise: Promise<Value>): Promise<Value> => {
    const rounds = async (): Promise<never> => {
      for (let round = 0; round < 300; round++) await nextRound()
      throw new Error("it hangs")
    }
    return Promise.race([promise, rounds()])
  }

  test.each<[string, Partial<RunContext> & Pick<RunContext, "model">, string[]]>([
    [
      "a provider that never answers",
      {
        model: playing(async function* () {
          await never
          yield* [] as ProviderEvent[]
        }),
      },
      [],
    ],
    [
      "a provider that hangs in the middle of an answer",
      {
        model: playing(async function* () {
          yield { type: "text_delta", text: "so far" } as const
          yield { type: "tool_call", call: call("a") } as const
          await never
        }),
      },
      ["a"],
    ],
    [
      "a rule that never decides",
      { model: playing(asks(call("a"), call("b"))), tools: [tool("echo", () => "ran")], beforeToolCall: () => never },
      ["a", "b"],
    ],
    [
      "a person who never answers",
      {
        model: playing(asks(call("a", "danger"))),
        tools: [tool("danger", () => "ran", { readOnly: false })],
        ask: () => never,
      },
      ["a"],
    ],
  ])("ends %s, and every call has its result", async (_name, context, ids) => {
    const cancel = new AbortController()
    const run = runWith({ ...context, signal: cancel.signal, retries: 1 })
    for (let round = 0; round < 20; round++) await nextRound()
    cancel.abort()
    const { message, newMessages, events } = await soon(run)
    expect(kinds(events)).not.toContain("notice")
    expect(message).toMatchObject({ role: "assistant", stopReason: "error" })
    expect(message.content).toContain("cancelled")
    expect(results(newMessages).map((text) => text.split(" ")[0])).toEqual(ids)
    for (const text of results(newMessages)) expect(text).toMatch(/ error: /)
  })

  test("B04: keeps the true result of a call that was done, and gives an error to the one that was not", async () => {
    const cancel = new AbortController()
    const tools = [tool("echo", ({ text = "" }) => text), tool("danger", () => "ran", { readOnly: false })]
    const run = runWith({
      tools,
      model: playing(asks(call("c1", "danger"), call("c2", "echo", { text: "done" }))),
      ask: () => never,
      signal: cancel.signal,
    })
    for (let round = 0; round < 20; round++) await nextRound()
    cancel.abort()
    const { newMessages } = await soon(run)
    expect(results(newMessages)).toEqual(["c1 error: cancelled", "c2 done"])
  })

  test("in the moment of a yes lets nothing run, and what has not been asked yet is asked no more", async () => {
    const cancel = new AbortController()
    const handler = vi.fn(() => "ran")
    const { newMessages, events } = await runWith({
      tools: [tool("danger", handler, { readOnly: false })],
      model: playing(asks(call("a", "danger"), call("b", "danger"))),
      ask: async () => true,
      signal: cancel.signal,
      onEvent: ({ type }) => type === "answer" && cancel.abort(),
    })
    expect(kinds(events).filter((kind) => kind === "question")).toHaveLength(1)
    expect(results(newMessages)).toEqual(["a error: cancelled", "b error: cancelled"])
    expect(handler).not.toHaveBeenCalled()
  })

  test("costs nothing where it does not happen: nobody listens for it when the run is over", async () => {
    const { signal } = new AbortController()
    await runWith({
      tools: [tool("danger", () => "ran", { readOnly: false })],
      model: playing(asks(call("a", "danger"))),
      beforeToolCall: () => ({ type: "allow" }),
      ask: async () => true,
      signal,
    })
    await nextRound()
    expect(getEventListeners(signal, "abort")).toEqual([])
  })

  test("before the start sends nothing", async () => {
    const cancel = new AbortController()
    cancel.abort()
    const provider = playing()
    expect((await runWith({ model: provider, signal: cancel.signal })).message.content).toContain("cancelled")
  })

  test("closes a stream that fails at its end, and nobody has to hear of that", async () => {
    const cancel = new AbortController()
    let failed = false
    const run = runWith({
      signal: cancel.signal,
      model: playing(async function* () {
        try {
          for (;;) {
            yield { type: "text_delta", text: "." } as const
            await nextRound()
          }
        } finally {
          failed = true
          // biome-ignore lint/correctness/noUnsafeFinally: it is what a bad provider does
          throw new Error("the line is gone")
        }
      }),
    })
    for (let round = 0; round < 20; round++) await nextRound()
    cancel.abort()
    expect((await soon(run)).message.content).toContain("cancelled")
    for (let round = 0; round < 20; round++) await nextRound()
    expect(failed).toBe(true)
  })

  test("closes the stream", async () => {
    let closed = false
    const cancel = new AbortController()
    const run = runWith({
      signal: cancel.signal,
      model: playing(async function* () {
        try {
          for (;;) {
            yield { type: "text_delta", text: "." } as const
            await nextRound()
          }
        } finally {
          closed = true
        }
      }),
    })
    for (let round = 0; round < 20; round++) await nextRound()
    cancel.abort()
    await soon(run)
    for (let round = 0; round < 20; round++) await nextRound()
    expect(closed).toBe(true)
  })
})

describe("the app has no mechanism of its own", () => {
  test("the loop, the registry, the tree and the hooks that run are those of s12", async () => {
    const core = await import("../../../s12_packages/code.ts")
    const run = vi.spyOn(core.ToolRegistry.prototype, "run").mockReturnValue("spied")
    const spies = (["append", "acquire", "currentPath"] as const).map((name) =>
      vi.spyOn(core.SessionTree.prototype, name),
    )
    try {
      const { newMessages } = await runWith({ tools: [tool("echo", () => "own")], model: playing(asks(call("a"))) })
      expect(results(newMessages)).toEqual(["a spied"])
      for (const spy of [run, ...spies]) expect(spy).toHaveBeenCalled()
    } finally {
      for (const spy of [run, ...spies]) spy.mockRestore()
    }
  })
})

describe("the scripted model", () => {
  const specs = ["list_files", "read_file", "write_note", "greet"].map((name) => ({
    name,
    description: "",
    input: name === "greet" ? {} : { text: "" },
  }))
  const ask = async (prompt: string) => {
    const { content } = await new MockModel().complete({
      messages: [{ role: "user", content: prompt }],
      tools: specs,
      systemPrompt: "",
    })
    return content.flatMap((block) =>
      block.type === "toolCall" ? [`${block.name} ${Object.values(block.input).join("|")}`.trim()] : [],
    )
  }

  test.each<[string, string[]]>([
    ["list files", ["list_files"]],
    ["Please list the files in docs", ["list_files docs"]],
    ["read todo.md and read docs/about.md", ["read_file todo.md", "read_file docs/about.md"]],
    ["list files, then read todo.md", ["list_files", "read_file todo.md"]],
    ["write a note ideas.md: buy milk", ["write_note ideas.md|buy milk"]],
    ["列出文件", ["list_files"]],
    ["列出 docs 里的文件，再读取 todo.md", ["list_files docs", "read_file todo.md"]],
    ["写笔记 ideas.md：买牛奶", ["write_note ideas.md|买牛奶"]],
    ["use greet", ["greet"]],
    ["hello", []],
  ])("understands %j", async (prompt, calls) => {
    expect(await ask(prompt)).toEqual(calls)
  })

  test("answers in the person's language, and the same every time", async () => {
    const model = createProvider(new MockModel())
    const answer = async (prompt: string): Promise<string> =>
      (await runWith({ prompt, model, tools: [tool("list_files", () => "a.md")] })).message.content
    expect(await answer("列出文件")).toBe("做完了。\n\nlist_files()：\na.md")
    expect(await answer("list files")).toBe("Done.\n\nlist_files():\na.md")
    expect(await answer("hello")).toBe(await answer("hello"))
    expect(await answer("你好")).toMatch(/我是照脚本回答的模型/)
  })
})

test("a registry tells where a tool comes from, and what says nothing of itself counts as damaging", () => {
  const registry = new AppRegistry([tool("own", () => "")])
  const bare = (name: string) => ({ spec: { name, description: "", input: {} }, handler: () => "" })
  registry.registerFor("extension", ["reads"], () => {
    registry.register(bare("reads"))
    registry.register(bare("writes"))
  })
  registry.registerFor("package", [], () => registry.register(bare("packed")))
  expect(registry.definitions().map(({ spec, source, readOnly }) => [spec.name, source, readOnly])).toEqual([
    ["own", "built-in", true],
    ["reads", "extension", true],
    ["writes", "extension", false],
    ["packed", "package", false],
  ])
  const failing = (): never => {
    throw new Error("no")
  }
  expect(() => registry.registerFor("extension", ["later"], failing)).toThrow("no")
  registry.register(bare("later"))
  expect(registry.definition("later")).toMatchObject({ source: "built-in", readOnly: false })
  expect(() => registry.register(bare("own"))).toThrow("already registered")
  expect(registry.definition("own")?.readOnly).toBe(true)
})
