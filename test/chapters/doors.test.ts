/**
 * The doors of the core: what comes from outside is checked where it enters, while the program runs. Each kind of fault is tried on every chapter
 * from the first on in which it can happen. What an error says is free; that it names what was wrong is not.
 */
import { describe, expect, test } from "vitest"
import {
  ask,
  call,
  cut,
  type Driver,
  type Message,
  type ProviderEvent,
  recordOutput,
  result,
  say,
  settle,
  type ToolCall,
  tool,
} from "../support/driver.ts"
import { edit } from "../support/judge.ts"
import { ownPart, part } from "../support/ladder.ts"

type Extension = Parameters<InstanceType<Driver["core"]["ExtensionRuntime"]>["use"]>[0]

/** Half of a character, as a text has it that was cut in the wrong place. */
const HALF = "\ud83d"

/** Everything that no terminal may get to see: controls but tabs and line ends, and what turns the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/** A text that would drive a terminal. */
const NASTY = "\u001b[31m \u0007 \u009b2J \u202e \u0085 \u2028 \u0000 \u061c"

/** The results of a transcript, in order. */
function results(history: Message[]): Message[] {
  return history.filter((message) => message.role === "toolResult")
}

/** A turn in which the model makes these calls; what ran, and what came of it. */
async function turnWith(chapter: Driver, calls: unknown[], options: object = {}) {
  const ran: unknown[] = []
  const recorder = tool("echo", (input) => {
    ran.push(input)
    return "ran"
  })
  const replies = [ask(...(calls as ToolCall[])), say("done")]
  const { history, requests } = await chapter.run({ tools: [recorder], replies, ...options })
  expect(() => chapter.core.assertPairedToolCalls(history)).not.toThrow()
  return { ran, history, requests }
}

/** A runtime for extensions, and what it reports. */
function runtimeOf(chapter: Driver) {
  const registry = chapter.registry(tool("taken"))
  const output = recordOutput()
  const runtime = new chapter.core.ExtensionRuntime(registry, output)
  const names = () => registry.getSpecs().map((spec) => spec.name)
  return { registry, runtime, reports: output.lines, names }
}

/** An extension under a name. */
function named(name: string, setup: (...args: never[]) => unknown): Extension {
  return Object.defineProperty(setup, "name", { value: name }) as Extension
}

const INPUTS: [string, unknown][] = [
  ["a JSON text that was cut", '{"path":"a.md","con'],
  ["a JSON text", '{"text":"a"}'],
  ["an empty text", ""],
  ["a list", ["a"]],
  ["an empty list", []],
  ["a number", 7],
  ["zero", 0],
  ["true", true],
  ["a map", new Map([["text", "a"]])],
  ["a date", new Date(0)],
  ["a function", () => "a"],
  ["a text object", new String("a")],
  ["an argument that is a number", { text: 7 }],
  ["an argument that is null", { text: null }],
  ["an argument that is nothing", { text: undefined }],
  ["an argument that is a list", { text: ["a"] }],
  ["an argument that is an object", { text: { text: "a" } }],
]

part("s03", "the stream's door", (chapter) => {
  test.each<[string, unknown]>([
    ["no text", { type: "text_delta" }],
    ["a text that is null", { type: "text_delta", text: null }],
    ["a text that is a number", { type: "text_delta", text: 7 }],
    ["a text that is an object", { type: "text_delta", text: { text: "a" } }],
    ["a text that is a list", { type: "text_delta", text: ["a"] }],
  ])("a text_delta with %s is an error, and what was said before it stays", async (_name, event) => {
    const events = [...say("half ").slice(0, 2), event as ProviderEvent, ...say("more").slice(1)]
    const { last } = await chapter.run({ replies: [events] })
    expect(last).toEqual({
      role: "assistant",
      content: expect.stringMatching(/^half \nerror: \S/),
      stopReason: "error",
    })
    expect(last.content).not.toMatch(/^half (undefined|null|7|\[object)/)
  })
})

part("s03", "what a refusal says", (chapter) => {
  const unknown = (type: string) => chapter.run({ replies: [[{ type } as never, ...say("x")]] })

  test("names the text that was refused", async () => {
    expect((await unknown("textDelta")).last.content).toContain("textDelta")
  })

  test("but not all of a text that never ends", async () => {
    expect((await unknown("x".repeat(100_000))).last.content.length).toBeLessThan(1000)
  })
})

part("s03", "a provider that is asynchronous before it streams", (chapter) => {
  test("fails with its own reason, and with no unhandled rejection", async () => {
    const unhandled: unknown[] = []
    const listen = (error: unknown): void => void unhandled.push(error)
    process.on("unhandledRejection", listen)
    const stream = async () => {
      await settle()
      throw new Error("401 no key")
    }
    const { last } = await chapter.run({ provider: { stream } as never })
    await settle()
    process.off("unhandledRejection", listen)
    expect(last).toMatchObject({ stopReason: "error", content: expect.stringContaining("401 no key") })
    expect(unhandled).toEqual([])
  })

  test.each([undefined, null, 7, "text", {}, { type: "textDelta", text: "NOT " }, { type: "constructor" }])(
    "an event that is none (%j) is an error, and what was said before it stays",
    async (event) => {
      const { last } = await chapter.run({
        replies: [[...say("Delete it").slice(0, 2), event, ...say("").slice(1)] as never],
      })
      expect(last).toMatchObject({ stopReason: "error", content: expect.stringMatching(/^Delete it\nerror: \S/) })
    },
  )
})

part("s04", "the doors of the tool loop", (chapter) => {
  describe("a call whose input is no texts by name", () => {
    test.each(INPUTS)("%s: an error result, and nothing runs", async (_name, input) => {
      const { ran, history, requests } = await turnWith(chapter, [call("a"), { ...call("b"), input }, call("c")])
      expect(ran).toEqual([])
      expect(requests.length).toBe(1)
      expect(history[1]).toMatchObject({ stopReason: "error", content: expect.stringMatching(/^error: .*"b"/) })
      expect(results(history).map((message) => message.role === "toolResult" && message.toolCallId)).toEqual(["a", "b"])
      for (const { content } of results(history)) expect(content).toMatch(/^error: \S/)
    })

    test.each([
      ["null", null],
      ["undefined", undefined],
    ])("%s means no arguments", async (_name, input) => {
      const { ran, history } = await turnWith(chapter, [{ ...call("a"), input }])
      expect(ran).toEqual([{}])
      expect(results(history)).toEqual([result("a", "ran")])
    })

    test("the registry by itself runs nothing either, and never throws", () => {
      let runs = 0
      const registry = chapter.registry(tool("echo", () => `run ${++runs}`))
      for (const [, input] of INPUTS) expect(registry.run({ ...call("a"), input } as never)).toMatch(/^error: \S/)
      for (const odd of [undefined, null, 7, "call", {}, { ...call("a"), name: Symbol("x") }])
        expect(registry.run(odd as never)).toMatch(/^error: \S/)
      expect(runs).toBe(0)
      expect(registry.run(call("a"))).toBe("run 1")
    })
  })

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "call"],
    ["no id", { name: "echo", input: {} }],
    ["an id that is a number", { ...call("x"), id: 7 }],
    ["a name that is a list", { ...call("x"), name: ["echo"] }],
    ["a name that is a symbol", { ...call("x"), name: Symbol("echo") }],
  ])("a call that is %s breaks the message off; those before it are answered", async (_name, odd) => {
    const { ran, history } = await turnWith(chapter, [call("a"), odd])
    expect(ran).toEqual([])
    expect(history[1]).toMatchObject({ stopReason: "error", toolCalls: [call("a")] })
    expect(results(history)).toEqual([result("a", expect.stringMatching(/^error: \S/) as never)])
  })

  describe("the reason is not lost", () => {
    test.each<[string, ProviderEvent[] | Iterable<ProviderEvent>, RegExp]>([
      ["of a stream that throws", cut(ask(call("a")), new Error("overloaded, try in 5 s")), /overloaded, try in 5 s/],
      [
        "of a vendor's word",
        [...ask(call("a")).slice(0, 2), { type: "message_end", stopReason: "length" as never }],
        /length/,
      ],
      ["of an id that repeats", ask(call("a"), call("a")), /"a"/],
      ["of a reason with several lines", cut(ask(call("a")), new Error("line one\nline two")), /line one\nline two/],
      [
        "of a reason that quotes errors",
        cut(ask(call("a")), new Error("gave up:\nerror: overloaded")),
        /gave up:\nerror: overloaded/,
      ],
    ])("%s: the result of the call carries it", async (_name, reply, reason) => {
      const { history } = await chapter.run({ tools: [tool()], replies: [reply] })
      expect(history[1]?.content).toMatch(reason)
      expect(results(history)).toEqual([result("a", expect.stringMatching(reason) as never)])
    })

    test("and not the text that came before it", async () => {
      const events = [...say("I say so\nmyself").slice(0, 2), ...ask(call("a")).slice(1)]
      const { history } = await chapter.run({ tools: [tool()], replies: [cut(events, new Error("line broke"))] })
      expect(results(history)[0]?.content).toMatch(/^error: (?!.*I say so).*line broke$/)
    })

    test("nor what came behind words that only look like an error", async () => {
      const events = [...say("I saw an error: try again").slice(0, 2), ...ask(call("a")).slice(1)]
      const { history } = await chapter.run({ tools: [tool()], replies: [cut(events, new Error("line broke"))] })
      expect(results(history)[0]?.content).toMatch(/^error: (?!.*try again).*line broke$/s)
    })
  })

  test("a promise that is refused and rejects later is nobody's unhandled rejection", async () => {
    const unhandled: unknown[] = []
    const listen = (error: unknown): void => void unhandled.push(error)
    // What an earlier test has left behind is not counted here.
    await settle()
    process.on("unhandledRejection", listen)
    const late = () => Promise.reject(new Error("late"))
    await turnWith(chapter, [call("a", "late")], { tools: [tool("late", late)] })
    await turnWith(chapter, [call("a")], { execute: (item: ToolCall) => ({ ...result(item.id), content: late() }) })
    await turnWith(chapter, [call("a")], { execute: () => ({ ...result("zzz"), content: late() }) })
    if (chapter.number >= 5) {
      await turnWith(chapter, [call("a")], { hooks: { beforeToolCall: late } })
      await turnWith(chapter, [call("a")], { hooks: { afterToolCall: late } })
    }
    if (chapter.number >= 9) runtimeOf(chapter).runtime.use(late as never)
    await settle()
    process.off("unhandledRejection", listen)
    expect(unhandled).toEqual([])
  })

  describe("a turn that is refused changes nothing", () => {
    const due: Message = { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("lost")] }

    test.each<[string, (state: ReturnType<Driver["state"]>) => Promise<unknown>]>([
      ["where results are due", (state) => chapter.run({ state, prompt: "again" })],
      ["with a limit that is none", (state) => chapter.run({ state, prompt: "again", maxTurns: 0 })],
      ["without a prompt", (state) => chapter.run({ state, prompt: undefined as never, replies: [] })],
      ["with a registry that is none", (state) => chapter.run({ state, prompt: "again", registry: {} as never })],
    ])("%s, however often it is tried", async (name, run) => {
      const state = name.startsWith("where") ? chapter.state({ role: "user", content: "go" }, due) : chapter.state()
      const before = chapter.history(state)
      const attempt = name.startsWith("without")
        ? () => chapter.core.runOneTurn(state, undefined as never, chapter.options({}))
        : () => run(state)
      for (let tries = 0; tries < 3; tries++) await expect(attempt()).rejects.toThrow()
      expect(chapter.history(state)).toEqual(before)
    })

    test.each([undefined, null, 7, ["a"], { content: "a" }])(
      "a prompt that is %j is refused, and the session is free",
      async (prompt) => {
        const state = chapter.state()
        const turn = () => chapter.core.runOneTurn(state, prompt as never, chapter.options({}))
        await expect(turn()).rejects.toThrow(/prompt/)
        expect(chapter.history(state)).toEqual([])
        await expect(chapter.run({ state })).resolves.toHaveProperty("last.content", "done")
      },
    )
  })

  // From s06 on a request is built from what the turn itself has recorded; the faults of the invariants show that the guard sees it there.
  test.runIf(chapter.number < 6)("what is recorded twice is seen before the next request", async () => {
    const state = chapter.state()
    const twice = tool("echo", () => {
      chapter.append(state, result("a"))
      return "ok: a"
    })
    await expect(chapter.run({ state, tools: [twice], replies: [ask(call("a"))] })).rejects.toThrow()
  })
})

/** All that is not frozen of a value, the functions left out. */
function softParts(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return []
  return [...(Object.isFrozen(value) ? [] : [value]), ...Object.values(value).flatMap(softParts)]
}

ownPart("s02", "a tool that was taken in", (chapter) => {
  test("is a frozen copy, all of it", () => {
    expect(softParts(chapter.core.sealTool(tool()))).toEqual([])
    expect(softParts(chapter.registry(tool()).getSpecs()[0])).toEqual([])
  })
})

ownPart("s04", "calls and results that were taken in", (chapter) => {
  test("are frozen copies, all of them, whichever way they came", () => {
    const calls: ToolCall[] = []
    chapter.core.addToolCall(calls, call("a"))
    expect(softParts(calls[0])).toEqual([])
    expect(() => chapter.core.addToolCall(calls, { ...call("b"), input: 7 as never })).toThrow()
    expect([calls[1], softParts(calls[1])]).toEqual([{ ...call("b"), input: {} }, []])
    expect(softParts(chapter.core.sealToolCall(call("a")))).toEqual([])
    expect(softParts(chapter.core.addCalls(chapter.core.finishMessage("x", "toolUse", calls), calls))).toEqual([])
    expect(softParts(chapter.core.toolResult(call("a"), "x"))).toEqual([])
    expect(softParts(chapter.core.errorResult(call("a"), "x"))).toEqual([])
  })
})

part("s04", "a call without arguments", (chapter) => {
  test.each([undefined, null])("(%j) runs with none, with a loop and without one", async (input) => {
    const bare = { ...call("a"), input: input as never }
    const { ran } = await turnWith(chapter, [bare])
    expect(ran).toEqual([{}])
    const registry = chapter.registry(tool("echo", (given) => JSON.stringify(given)))
    expect(registry.run(bare)).toBe("{}")
  })
})

part("s04", "the loop by itself", (chapter) => {
  const asks: Message = { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("a")] }
  const go: Message = { role: "user", content: "go" }

  test.each<[string, Message[]]>([
    ["begins with calls that nobody answered", [asks, go]],
    ["ends with calls that nobody answered", [go, asks]],
  ])("sends no request for a history that %s", async (_name, messages) => {
    const provider = chapter.provider()
    const turn = chapter.core.runEventedToolLoop(chapter.state(...messages), chapter.options({ provider }))
    await expect(turn).rejects.toThrow('"a"')
    expect(provider.requests).toEqual([])
  })
})

part("s07", "a message that was appended", (chapter) => {
  const plain: Message[] = [
    { role: "user", content: "go" },
    { role: "assistant", content: "I ask", stopReason: "toolUse", toolCalls: [call("a")] },
    result("a"),
    { role: "assistant", content: "done", stopReason: "stop" },
  ]

  test("has our fields only, whoever said it", () => {
    const { messages: tree } = chapter.state()
    for (const message of plain) tree.append({ ...message, vendor: 1, parentId: "nobody" } as never)
    expect(tree.currentPath()).toEqual(plain)
    const ids = tree.allEntries().map(({ id }) => id)
    const places = ids.map((id, index) => ({ id, parentId: ids[index - 1] ?? null }))
    expect(tree.allEntries()).toEqual(plain.map((message, index) => ({ ...places[index], ...message })))
  })

  test("is a copy that nobody can change, all of it", () => {
    const { messages: tree } = chapter.state()
    for (const message of plain) {
      const owned = structuredClone(message)
      const entry = tree.append(owned)
      edit(owned)
      edit(entry)
    }
    edit(tree.currentPath())
    expect(tree.currentPath()).toEqual(plain)
  })
})

ownPart("s08", "a resource that was taken in", (chapter) => {
  test("is a frozen copy with our fields only", () => {
    const resource = { kind: "skill" as const, name: "n", content: "c" }
    const sealed = chapter.core.sealResource({ ...resource, vendor: 1 } as never)
    expect([sealed, softParts(sealed)]).toEqual([resource, []])
  })
})

ownPart("s09", "a command that was taken in", (chapter) => {
  test("is a frozen copy", () => {
    expect(Object.isFrozen(chapter.core.sealCommand({ name: "c", run: () => "" }))).toBe(true)
  })
})

part("s01", "half characters", (chapter) => {
  const whole = (value: unknown): boolean => JSON.stringify(value)?.match(/\\ud[89a-f]/i) === null

  test("a prompt and an answer are made well-formed", async () => {
    const { history, requests } = await chapter.run({ prompt: `a${HALF}b`, replies: [say(`c${HALF}`), say("d")] })
    expect(history.map((message) => message.content)).toEqual(["a\ufffdb", "c\ufffd"])
    expect(whole([history, requests])).toBe(true)
  })

  test("an answer that fails is made well-formed", async () => {
    const { history } = await chapter.run({ replies: [new Error(`cut ${HALF}`)] })
    expect(whole(history)).toBe(true)
  })

  test("a character that arrives in two pieces stays whole", async () => {
    const { last } = await chapter.run({ replies: [say("\ud83d", "\ude00")] })
    expect(last.content).toBe("😀")
  })

  test.runIf(chapter.number >= 3)("a stream that breaks inside a character leaves no half of it", async () => {
    const { last } = await chapter.run({ replies: [cut(say(`a${HALF}`), new Error("broke"))] })
    expect(last.content).toBe("a\ufffd\nerror: broke")
  })

  test.runIf(chapter.number >= 2)("a tool's name and descriptions are made well-formed", async () => {
    const spec = { name: `n${HALF}`, description: `d${HALF}`, input: { [`i${HALF}`]: `t${HALF}` } }
    const { requests } = await chapter.run({ tools: [{ spec, handler: () => "" }] })
    expect(requests[0]?.tools).toEqual([{ name: "n\ufffd", description: "d\ufffd", input: { "i\ufffd": "t\ufffd" } }])
  })

  test.runIf(chapter.number >= 4)("calls, arguments, results and failures are made well-formed", async () => {
    const inputs: unknown[] = []
    const odd = tool("echo", (input) => {
      inputs.push(input)
      if (input.text?.startsWith("fail")) throw new Error(`f${HALF}`)
      return `r${HALF}`
    })
    const calls = [
      { id: `x${HALF}`, name: "echo", input: { text: `t${HALF}`, [`k${HALF}`]: "v" } },
      { id: "y", name: "echo", input: { text: "fail" } },
      { id: "z", name: `none${HALF}`, input: {} },
    ]
    const events = [...say(`I call ${HALF}`).slice(0, 2), ...ask(...calls).slice(1)]
    const { history, requests } = await chapter.run({ tools: [odd], replies: [events, say("done")] })
    expect(inputs[0]).toEqual({ text: "t\ufffd", "k\ufffd": "v" })
    expect(history[2]).toEqual(result("x\ufffd", "r\ufffd"))
    expect(whole([history, requests])).toBe(true)
  })

  test.runIf(chapter.number >= 4)("results of an executor from outside are made well-formed", async () => {
    const execute = ({ id }: ToolCall) => result(id, `e${HALF}`)
    const { history } = await chapter.run({ tools: [tool()], execute, replies: [ask(call("a")), say("done")] })
    expect(history[2]).toEqual(result("a", "e\ufffd"))
  })

  test.runIf(chapter.number >= 5)("what hooks make of a result is made well-formed", async () => {
    const hooks = {
      beforeToolCall: ({ id }: ToolCall) =>
        id === "b" ? ({ type: "block", reason: `b${HALF}` } as const) : ({ type: "allow" } as const),
      afterToolCall: () => `h${HALF}`,
    }
    const { history } = await chapter.run({ tools: [tool()], hooks, replies: [ask(call("a"), call("b")), say("done")] })
    expect(history[2]).toEqual(result("a", "h\ufffd"))
    expect(whole(history)).toBe(true)
  })

  test.runIf(chapter.number >= 7)("a message that is appended by hand is made well-formed", () => {
    const tree = new chapter.core.SessionTree()
    tree.append({ role: "user", content: `u${HALF}` })
    tree.append({
      role: "assistant",
      content: `a${HALF}`,
      stopReason: "toolUse",
      toolCalls: [call(`i${HALF}`, `n${HALF}`, { t: HALF })],
    })
    tree.append(result(`i${HALF}`, `r${HALF}`))
    expect(whole([tree.currentPath(), tree.allEntries()])).toBe(true)
  })

  test.runIf(chapter.number >= 8)("resources are made well-formed", async () => {
    const loader = new chapter.core.ResourceLoader([{ kind: "skill", name: `n${HALF}`, content: `c${HALF}` }])
    const { requests } = await chapter.run({ loader, ...(chapter.number >= 11 && { trust: "trusted" as const }) })
    expect(requests[0]?.systemPrompt).toContain("c\ufffd")
    expect(whole(requests)).toBe(true)
  })

  test.runIf(chapter.number >= 9)("the names of commands are made well-formed", () => {
    const { runtime } = runtimeOf(chapter)
    expect(runtime.use((api) => api.registerCommand({ name: `n${HALF}`, run: () => "" }))).toBe(true)
    expect(whole(runtime.getCommands())).toBe(true)
  })

  test.runIf(chapter.number >= 12)("the texts of a package are made well-formed", () => {
    const manifest = { name: "p", tools: ["t"], commands: ["c"], resources: ["r"] }
    const contents = { t: HALF, c: HALF, r: HALF }
    expect(whole(chapter.core.loadPackage({ manifest, contents }))).toBe(true)
  })
})

part("s04", "control characters", (chapter) => {
  /** The lines of the output of a turn. */
  async function shown(options: object): Promise<string[]> {
    const output = recordOutput()
    await chapter.run({ output, ...options })
    return output.lines
  }

  test("nothing that a model or a tool says reaches the output raw", async () => {
    const tools = [tool("echo", () => NASTY)]
    const lines = await shown({ tools, replies: [[...say(NASTY).slice(0, 2), ...ask(call("a")).slice(1)], say(NASTY)] })
    expect(lines.length).toBeGreaterThanOrEqual(3)
    expect(lines.join("\n")).not.toMatch(RAW)
    expect(lines.join("\n")).toContain("[31m")
  })

  test("nor does a failure", async () => {
    expect((await shown({ replies: [new Error(NASTY)] })).join("\n")).not.toMatch(RAW)
    const replies = [ask(call(NASTY, NASTY)), say("done")]
    expect((await shown({ tools: [tool()], replies })).join("\n")).not.toMatch(RAW)
  })

  test("tabs, line ends and other languages stay as they are", async () => {
    expect((await shown({ replies: [say("a\tb\n读 👩‍💻")] })).join("\n")).toBe("a\tb\n读 👩‍💻")
  })

  test.runIf(chapter.number >= 9)(
    "what extensions are called, and how they fail, does not reach the output raw",
    async () => {
      const { runtime, reports } = runtimeOf(chapter)
      const fails: Extension[] = [
        named(NASTY, () => {
          throw new Error(NASTY)
        }),
        named("clash", (api: { registerTool(item: unknown): void }) => {
          for (let times = 0; times < 2; times++) api.registerTool(tool(NASTY))
        }),
        named("command", (api: { registerCommand(item: unknown): void }) => {
          for (let times = 0; times < 2; times++) api.registerCommand({ name: NASTY, run: () => "" })
        }),
      ]
      for (const extension of fails) expect(runtime.use(extension)).toBe(false)
      runtime.use(
        named(NASTY, (api: { on(type: string, handler: () => void): void }) =>
          api.on("message", () => {
            throw new Error(NASTY)
          }),
        ),
      )
      runtime.use(
        named("late", (api: { on(type: string, handler: () => unknown): void }) =>
          api.on("message", () => Promise.reject(new Error(NASTY))),
        ),
      )
      runtime.emit({ type: "message", content: "x" })
      await settle()
      expect(reports.length).toBe(5)
      expect(reports.join("\n")).not.toMatch(RAW)
    },
  )

  test.runIf(chapter.number >= 10)("JSON lines hold none, and the true text comes out of them", async () => {
    const lines = await shown({ mode: undefined })
    expect(lines).toEqual(["done"])
    const output = recordOutput()
    const mode = new chapter.core.JsonMode(output)
    await chapter.run({ mode, replies: [say(NASTY)] })
    expect(output.lines.join("\n")).not.toMatch(RAW)
    expect(JSON.parse(output.lines[0] ?? "").content).toBe(NASTY)
  })

  test.runIf(chapter.number >= 11)("nor does the failure of a project's code", async () => {
    const { runtime, reports } = runtimeOf(chapter)
    expect(await runtime.useProject(() => Promise.reject(new Error(NASTY)), "trusted")).toBe(false)
    expect(reports.join("\n")).not.toMatch(RAW)
  })

  test.runIf(chapter.number >= 12)("the reasons why a package is refused hold none", () => {
    const manifest = { name: NASTY, tools: [NASTY], commands: [], resources: [], [NASTY]: 1 }
    const load = (pkg: unknown): string => {
      try {
        chapter.core.loadPackage(pkg as never)
      } catch (error) {
        return (error as Error).message
      }
      return ""
    }
    for (const pkg of [
      { manifest, contents: { [NASTY]: "x" } },
      { manifest: { ...manifest, name: "p" }, contents: { [NASTY]: 7 } },
    ]) {
      expect(load(pkg)).toMatch(/\S/)
      expect(load(pkg)).not.toMatch(RAW)
    }
  })
})

part("s05", "hooks and executors", (chapter) => {
  test("hooks that are given are asked, whoever executes", async () => {
    const ran: string[] = []
    const seen: string[] = []
    const { history } = await turnWith(chapter, [call("a"), call("b")], {
      execute: async ({ id }: ToolCall) => {
        ran.push(id)
        return result(id, `outside: ${id}`)
      },
      hooks: {
        beforeToolCall: ({ id }: ToolCall) => (id === "a" ? { type: "block", reason: "not this" } : { type: "allow" }),
        afterToolCall: ({ id }: ToolCall, text: string) => {
          seen.push(id)
          return `${text}, read`
        },
      },
    })
    expect(ran).toEqual(["b"])
    expect(seen).toEqual(["b"])
    expect(results(history)).toEqual([
      result("a", expect.stringMatching(/^error: .*not this/) as never),
      result("b", "outside: b, read"),
    ])
  })

  test("the after-hook reads what an executor failed with, too", async () => {
    const { history } = await turnWith(chapter, [call("a"), call("b")], {
      execute: ({ id }: ToolCall) => (id === "a" ? Promise.reject(new Error("key-123")) : JSON.parse("{")),
      hooks: { afterToolCall: (_call: ToolCall, text: string) => text.replace("key-123", "***") },
    })
    expect(JSON.stringify(history)).not.toContain("key-123")
    for (const { content } of results(history)) expect(content).toMatch(/^error: \S/)
  })

  test.each<[string, unknown]>([
    ["throws", () => JSON.parse("{")],
    ["gives no decision", () => undefined],
    ["resolves with allow", () => Promise.resolve({ type: "allow" })],
    ["cannot be called", "allow"],
  ])("a before-hook that %s blocks an executor from outside", async (_name, beforeToolCall) => {
    const ran: string[] = []
    const { history } = await turnWith(chapter, [call("a")], {
      execute: ({ id }: ToolCall) => {
        ran.push(id)
        return result(id)
      },
      hooks: { beforeToolCall },
    })
    expect(ran).toEqual([])
    expect(results(history)).toEqual([result("a", expect.stringMatching(/^error: \S/) as never)])
  })

  test.each<[string, () => unknown]>([
    ["a promise", () => Promise.resolve({ beforeToolCall: () => ({ type: "allow" }) })],
    ["a function", () => () => ({ type: "block", reason: "no" })],
    ["a text", () => "block"],
    ["a number", () => 7],
    ["yes or no", () => true],
    ["null", () => null],
  ])("hooks that are %s block every call", async (_name, make) => {
    const { ran, history } = await turnWith(chapter, [call("a")], { hooks: make() })
    expect(ran).toEqual([])
    expect(results(history)).toEqual([result("a", expect.stringMatching(/^error: \S/) as never)])
  })

  test.runIf(chapter.number >= 7)("options that cannot be read refuse the turn, and the session is free", async () => {
    const state = chapter.state()
    const options = Object.defineProperty(chapter.options({}), "hooks", {
      enumerable: true,
      get: () => JSON.parse("{"),
    })
    await expect(chapter.core.runOneTurn(state, "go", options)).rejects.toThrow()
    expect(chapter.history(state)).toEqual([])
    await expect(chapter.run({ state })).resolves.toHaveProperty("last.content", "done")
  })

  test.runIf(chapter.number >= 7)("a state of a class keeps its session", async () => {
    const { messages } = chapter.state()
    class Owner {
      model = "test"
      get messages() {
        return messages
      }
    }
    const { last } = await chapter.run({ state: new Owner() as never, replies: [say("kept")] })
    expect(last.content).toBe("kept")
    expect(messages.currentPath().length).toBe(2)
  })

  test("a thing that is refused and only looks like a promise is not started", async () => {
    let started = 0
    // biome-ignore lint/suspicious/noThenProperty: a query that runs when it is awaited
    const query = { then: () => void started++ }
    await turnWith(chapter, [call("a", "query")], { tools: [tool("query", () => query)] })
    await settle()
    expect(started).toBe(0)
  })

  test("options of a class keep their hooks and their executor", async () => {
    const ran: string[] = []
    class Settings {
      provider = chapter.provider(ask(call("a"), call("b")), say("done"))
      output = recordOutput()
      registry = chapter.registry(tool())
      get hooks() {
        const judge = ({ id }: ToolCall) =>
          id === "a" ? ({ type: "block", reason: "no" } as const) : ({ type: "allow" } as const)
        return { beforeToolCall: judge }
      }
      execute({ id }: ToolCall) {
        ran.push(id)
        return result(id, "sandboxed")
      }
    }
    const state = chapter.state()
    await chapter.core.runOneTurn(state, "go", new Settings())
    expect(ran).toEqual(["b"])
    expect(results(chapter.history(state))).toEqual([
      result("a", expect.stringMatching(/^error: .*no/) as never),
      result("b", "sandboxed"),
    ])
  })

  describe("a call executed without a loop never throws", () => {
    const hostile = {
      get id(): string {
        throw new Error("no id for you")
      },
      name: "echo",
      input: {},
    }
    test.each<[string, unknown]>([
      ["nothing", undefined],
      ["null", null],
      ["a text", "call"],
      ["no id", { name: "echo", input: {} }],
      ["an id that is a symbol", { ...call("a"), id: Symbol("a") }],
      ["an id without words", { ...call("a"), id: Object.create(null) }],
      ["a name that is a number", { ...call("a"), name: 7 }],
      ["an id that cannot be read", hostile],
      ...INPUTS.map(([name, input]): [string, unknown] => [name, { ...call("a"), input }]),
    ])("%s", (_name, odd) => {
      let runs = 0
      const registry = chapter.registry(tool("echo", () => `run ${++runs}`))
      const answer = chapter.core.executeToolCall(registry, {}, odd as ToolCall)
      expect(answer).toEqual({
        role: "toolResult",
        toolCallId: expect.any(String),
        content: expect.stringMatching(/^error: \S/),
      })
      expect(runs).toBe(0)
      const id = typeof odd === "object" && odd !== null && odd !== hostile ? (odd as ToolCall).id : ""
      if (typeof id === "string") expect(answer.toolCallId).toBe(id)
    })

    test("nor with hooks or a registry that are none", () => {
      for (const odd of [undefined, null, 7]) {
        expect(chapter.core.executeToolCall(odd as never, {}, call("a")).content).toMatch(/^error: \S/)
        expect(chapter.core.executeToolCall(chapter.registry(tool()), odd as never, call("a")).toolCallId).toBe("a")
      }
    })

    test("a call that its owner has not frozen is decided on and run as one", () => {
      const ran: unknown[] = []
      const registry = chapter.registry(tool("echo", (input) => `${ran.push(input)}`))
      const owned = call("a")
      const hooks = {
        beforeToolCall: (seen: ToolCall) => {
          edit(seen)
          owned.input.text = "changed"
          return { type: "allow" } as const
        },
      }
      expect(chapter.core.executeToolCall(registry, hooks, owned).content).toBe("1")
      expect(ran).toEqual([{ text: "a" }])
    })
  })
})

part("s07", "the session's door", (chapter) => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["an unknown role", { role: "system", content: "obey" }],
    ["an unknown role that looks like an answer", { role: "system", content: "obey", stopReason: "stop" }],
    ["an unknown role that looks like a result", { role: "tool", content: "x", toolCallId: "a", stopReason: "stop" }],
    ["a role that objects inherit", { role: "constructor", content: "x" }],
    ["no role", { content: "x" }],
    ["no content", { role: "user" }],
    ["a content that is a list", { role: "user", content: [{ type: "text", text: "x" }] }],
    ["no stop reason", { role: "assistant", content: "x" }],
    ["a vendor's stop reason", { role: "assistant", content: "x", stopReason: "end_turn" }],
    [
      "a call with a JSON text",
      { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [{ ...call("a"), input: "{}" }] },
    ],
    ["a call that is none", { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [null] }],
    ["calls that are no list", { role: "assistant", content: "", stopReason: "toolUse", toolCalls: { a: 1 } }],
    ["a result without an id", { role: "toolResult", content: "x" }],
    ["a result without a content", { role: "toolResult", toolCallId: "a" }],
  ])("refuses a message with %s, and nothing is half added", (_name, odd) => {
    const { messages: tree } = chapter.state({ role: "user", content: "first" })
    const before = [tree.leafId, tree.allEntries(), tree.currentPath()]
    expect(() => tree.append(odd as never)).toThrow(Error)
    expect([tree.leafId, tree.allEntries(), tree.currentPath()]).toEqual(before)
  })

  test("an old release, called again, frees no other turn", async () => {
    const state = chapter.state()
    const first = state.messages.acquire()
    first()
    const second = state.messages.acquire()
    first()
    expect(() => state.messages.acquire()).toThrow()
    expect(() => state.messages.moveTo(null)).toThrow()
    second()
    second()
    await expect(chapter.run({ state })).resolves.toHaveProperty("last.content", "done")
  })

  test("a refused acquire leaves the tree free", () => {
    const asks: Message = { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("a")] }
    const { messages: tree } = chapter.state({ role: "user", content: "go" }, asks)
    expect(() => tree.acquire()).toThrow('"a"')
    tree.append(result("a"))
    tree.acquire()()
    tree.moveTo(null)
  })
})

part("s07", "what a turn is given", (chapter) => {
  test("options that are changed during a turn hold from the next one on", async () => {
    const state = chapter.state()
    const other = chapter.provider(say("from the other"))
    const options = chapter.options({})
    const swap = tool("swap", () => {
      options.provider = other
      options.maxTurns = 1
      return "swapped"
    })
    const provider = chapter.provider(ask(call("a", "swap")), ask(call("b", "swap")), say("from the first"))
    Object.assign(options, { provider, registry: chapter.registry(swap) })
    expect((await chapter.core.runOneTurn(state, "one", options)).content).toBe("from the first")
    expect((await chapter.core.runOneTurn(state, "two", options)).content).toBe("from the other")
  })
})

part("s08", "the loader's door", (chapter) => {
  const good = { kind: "skill" as const, name: "good", content: "text" }

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no content", { kind: "skill", name: "broken" }],
    ["a content that is null", { kind: "skill", name: "broken", content: null }],
    ["a content that is a list", { kind: "skill", name: "broken", content: ["text"] }],
    ["no name", { kind: "skill", content: "text" }],
    ["an unknown kind", { kind: "secret", name: "broken", content: "text" }],
    ["no kind", { name: "broken", content: "text" }],
  ])("refuses a resource with %s where it enters", (_name, odd) => {
    expect(() => new chapter.core.ResourceLoader([good, odd as never])).toThrow(Error)
    if (chapter.number < 12) return
    const loader = new chapter.core.ResourceLoader([good])
    expect(() => loader.add([good, odd as never])).toThrow(Error)
    expect(loader.load("trusted")).toEqual([good])
  })

  test("keeps copies: neither the list nor its texts belong to the caller any more", () => {
    const owned = { ...good, vendor: 1 }
    const list = [owned]
    const loader = new chapter.core.ResourceLoader(list)
    list.push({ ...owned, name: "late" })
    owned.content = "changed"
    expect(loader.load(chapter.number >= 11 ? "trusted" : undefined)).toEqual([good])
  })
})

part("s09", "the extension's door", (chapter) => {
  type API = {
    on: (...args: unknown[]) => void
    registerCommand(item: unknown): void
    registerTool(item: unknown): void
  }

  test.each<[string, (api: API) => void, string?]>([
    ["a handler that cannot be called", (api) => api.on("message", 7)],
    ["no handler", (api) => api.on("done")],
    ["an event that does not exist", (api) => api.on("mesage", () => {})],
    ["an event that objects inherit", (api) => api.on("constructor", () => {})],
    ["a command without a name", (api) => api.registerCommand({ run: () => "" })],
    ["a command with an empty name", (api) => api.registerCommand({ name: "", run: () => "" })],
    ["a command whose name is a number", (api) => api.registerCommand({ name: 7, run: () => "" })],
    ["a command without a run", (api) => api.registerCommand({ name: "deploy" }), "deploy"],
    ["a command whose run is a text", (api) => api.registerCommand({ name: "deploy", run: "rm" }), "deploy"],
    ["a command that is nothing", (api) => api.registerCommand(undefined)],
    ["a tool that is nothing", (api) => api.registerTool(undefined)],
    ["a tool without a handler", (api) => api.registerTool({ spec: tool("x").spec })],
  ])("refuses an extension with %s by name, and nothing is half added", async (_name, odd, which = "") => {
    const { runtime, reports, names } = runtimeOf(chapter)
    const heard: string[] = []
    const extension = named("culprit", (api: API) => {
      api.registerTool(tool("new"))
      api.registerCommand({ name: "new", run: () => "" })
      api.on("message", () => heard.push("heard"))
      odd(api)
    })
    expect(runtime.use(extension)).toBe(false)
    expect(reports).toEqual([expect.stringMatching(new RegExp(`culprit.*${which}`))])
    runtime.emit({ type: "message", content: "x" })
    expect([names(), runtime.getCommands(), heard]).toEqual([["taken"], [], []])
  })

  test("a command may be an object with a state of its own", () => {
    class Counter {
      #count = 0
      name = "count"
      run() {
        return `count: ${++this.#count}`
      }
    }
    const { runtime } = runtimeOf(chapter)
    runtime.use((api) => api.registerCommand(new Counter()))
    expect([runtime.runCommand("count"), runtime.runCommand("count")]).toEqual(["count: 1", "count: 2"])
  })

  test("the same extension a second time is refused and said", () => {
    const { runtime, reports } = runtimeOf(chapter)
    let heard = 0
    const listener = named("listener", (api: API) => api.on("message", () => heard++))
    expect([runtime.use(listener), runtime.use(listener)]).toEqual([true, false])
    expect(reports).toEqual([expect.stringContaining("listener")])
    runtime.emit({ type: "message", content: "x" })
    expect(heard).toBe(1)
  })

  test("under another owner it is still the same", () => {
    const { runtime } = runtimeOf(chapter)
    const extension = () => {}
    expect([runtime.use(extension), runtime.use(extension, "a"), runtime.use(() => {}, "b")]).toEqual([
      true,
      false,
      true,
    ])
    expect(runtime.use(() => {}, "b")).toBe(false)
  })

  test("one that uses itself during its setup is added once", () => {
    const { runtime } = runtimeOf(chapter)
    const heard: string[] = []
    const again = named("again", (api: API) => {
      runtime.use(again)
      api.on("message", () => heard.push("heard"))
    })
    expect(runtime.use(again)).toBe(true)
    runtime.emit({ type: "message", content: "x" })
    expect(heard).toEqual(["heard"])
  })

  test("a place for extensions that is none harms no turn", async () => {
    const { history } = await turnWith(chapter, [call("a")], { extensions: [() => {}] })
    expect(results(history)).toEqual([result("a", "ran")])
  })

  test("done goes to those who were there when the turn began", async () => {
    const { runtime } = runtimeOf(chapter)
    const other = runtimeOf(chapter).runtime
    const heard: string[] = []
    runtime.use((api) => api.on("done", () => heard.push("first")))
    other.use((api) => api.on("done", () => heard.push("second")))
    const options = chapter.options({ extensions: runtime })
    const swap = tool("swap", () => {
      options.extensions = other
      return "swapped"
    })
    Object.assign(options, { provider: chapter.provider(ask(call("a", "swap"))), registry: chapter.registry(swap) })
    await chapter.core.runOneTurn(chapter.state(), "go", options)
    expect(heard).toEqual(["first"])
  })

  test("an extension that failed may try again", () => {
    const { runtime, names } = runtimeOf(chapter)
    let tries = 0
    const extension = named("flaky", (api: API) => {
      if (++tries === 1) throw new Error("not yet")
      api.registerTool(tool("new"))
    })
    expect([runtime.use(extension), runtime.use(extension)]).toEqual([false, true])
    expect(names()).toEqual(["taken", "new"])
  })

  test("two extensions without a name, or of one name, are two", () => {
    const { runtime } = runtimeOf(chapter)
    expect([runtime.use(() => {}), runtime.use(() => {})]).toEqual([true, true])
    expect([runtime.use(named("default", () => {})), runtime.use(named("default", () => {}))]).toEqual([true, true])
  })

  test("a dispatch goes to those who listened when it began", () => {
    const { runtime } = runtimeOf(chapter)
    const heard: string[] = []
    let copies = 0
    const grow = (api: API): void =>
      api.on("message", () => {
        heard.push(`copy ${++copies}`)
        if (copies < 50) runtime.use(((inner: API) => grow(inner)) as never)
      })
    runtime.use(grow as never)
    runtime.emit({ type: "message", content: "one" })
    expect(heard).toEqual(["copy 1"])
    runtime.emit({ type: "message", content: "two" })
    expect(heard).toEqual(["copy 1", "copy 2", "copy 3"])
  })

  test("done is told when the session is free again", async () => {
    const { runtime } = runtimeOf(chapter)
    const state = chapter.state()
    const moved: unknown[] = []
    runtime.use((api) =>
      api.on("done", () => {
        state.messages.moveTo(null)
        moved.push(state.messages.leafId)
      }),
    )
    await chapter.run({ state, extensions: runtime })
    expect(moved).toEqual([null])
  })
})

part("s10", "who is told first", (chapter) => {
  test("extensions hear an event before it is shown", async () => {
    const order: string[] = []
    const { runtime } = runtimeOf(chapter)
    runtime.use((api) => api.on("message", () => order.push("heard")))
    const mode = { render: () => void order.push("shown") }
    await chapter.run({ extensions: runtime, mode })
    expect(order).toEqual(["heard", "shown", "shown"])
  })
})

part("s12", "the package's door", (chapter) => {
  const texts = (version: string) =>
    chapter.core.loadPackage({
      manifest: { name: "texts", tools: [], commands: [], resources: ["style"] },
      contents: { style: `be brief ${version}` },
    })

  test("a package is installed once, whatever version comes the second time", () => {
    const { runtime, reports } = runtimeOf(chapter)
    const loader = new chapter.core.ResourceLoader([])
    const install = (version: string) => chapter.core.installLoadedPackage(texts(version), runtime, loader, "trusted")
    expect([install("1"), install("1"), install("2")]).toEqual([true, false, false])
    expect(loader.load("trusted").map((resource) => resource.content)).toEqual(["be brief 1"])
    expect(reports.length).toBe(2)
    for (const report of reports) expect(report).toContain("texts")
  })

  test.each<[string, unknown]>([
    ["a text that is none", { style: 7 }],
    ["no texts at all", undefined],
  ])("with %s nothing is left behind", (_name, resources) => {
    const { runtime, names } = runtimeOf(chapter)
    const loader = new chapter.core.ResourceLoader([])
    const loaded = { name: "half", tools: { t: "x" }, commands: { c: "x" }, resources } as never
    let installed = false
    try {
      installed = chapter.core.installLoadedPackage(loaded, runtime, loader, "trusted")
    } catch {
      // Refused by an exception is refused as well.
    }
    expect([installed, names(), runtime.getCommands(), loader.load("trusted")]).toEqual([false, ["taken"], [], []])
  })

  test("reads each content once: what was checked is what is handed out", () => {
    let reads = 0
    const contents = Object.defineProperty({} as Record<string, string>, "greet", {
      enumerable: true,
      get: () => (++reads === 1 ? "hello" : (7 as never)),
    })
    const manifest = { name: "getter", tools: ["greet"], commands: [], resources: [] }
    expect(chapter.core.loadPackage({ manifest, contents }).tools).toEqual({ greet: "hello" })
    expect(reads).toBe(1)
  })

  test("a text that is only inherited is no text of the package", () => {
    const contents = Object.create({ greet: "inherited" }) as Record<string, string>
    const manifest = { name: "heir", tools: ["greet"], commands: [], resources: [] }
    expect(() => chapter.core.loadPackage({ manifest, contents })).toThrow('"greet"')
  })

  test("what was loaded cannot be changed before it is installed", () => {
    const contents = { style: "be brief" }
    const manifest = { name: "copy", tools: [], commands: [], resources: ["style"] }
    const loaded = chapter.core.loadPackage({ manifest, contents })
    contents.style = "changed"
    manifest.resources.pop()
    expect(loaded.resources).toEqual({ style: "be brief" })
  })
})
