import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  ask,
  call,
  cut,
  ending,
  type Message,
  type ProviderEvent,
  type Reply,
  result,
  say,
  settle,
  type ToolCall,
  tool,
} from "../support/driver.ts"
import { complaintOf, edit, failure, says } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"
import { ODD } from "../support/odd.ts"

/** The results of a transcript, in order. */
function results(history: Message[]): Message[] {
  return history.filter((message) => message.role === "toolResult")
}

part("s04", "Tool loop", (chapter) => {
  exportsItsParts("s04", chapter)

  test.each(ODD)("survives a provider that throws %s", async (_name, thrown) => {
    const reply = (): never => {
      throw thrown
    }
    const { last } = await chapter.run({ replies: [reply] })
    expect(last).toMatchObject({ role: "assistant", stopReason: "error" })
    expect(last.content).toMatch(/^error: \S/)
  })

  test.each<[string, () => unknown]>([
    ["throws", () => JSON.parse("{")],
    ["rejects", () => Promise.reject(new Error("closed"))],
  ])("an output that %s costs nothing: calls have their results, and the turn its end", async (_name, log) => {
    const output = { log: log as () => void }
    const { history } = await chapter.run({ output, tools: [tool()], replies: [ask(call("a")), say("fine")] })
    expect(history.slice(2)).toEqual([result("a"), { role: "assistant", content: "fine", stopReason: "stop" }])
    await settle()
  })

  test("records the message with its calls, then one result per call, then the answer", async () => {
    const { history } = await chapter.run({
      tools: [tool()],
      replies: [ask(call("a"), call("b")), say("both done")],
    })
    expect(history).toEqual([
      { role: "user", content: "go" },
      { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("a"), call("b")] },
      result("a"),
      result("b"),
      { role: "assistant", content: "both done", stopReason: "stop" },
    ])
  })

  test("sends calls and results back to the model", async () => {
    const { requests } = await chapter.run({ tools: [tool()], replies: [ask(call("a")), say("done")] })
    expect(requests.map((request) => request.messages)).toEqual([
      [{ role: "user", content: "go" }],
      [{ role: "user", content: "go" }, { role: "assistant", content: "", toolCalls: [call("a")] }, result("a")],
    ])
  })

  test("gives a message without calls no field for them", async () => {
    const { last } = await chapter.run({ replies: [say("no calls")] })
    expect(Object.keys(last)).not.toContain("toolCalls")
  })

  test("runs nothing before the message is complete", async () => {
    const seen: string[] = []
    async function* stream({ messages }: { messages: unknown[] }): AsyncGenerator<ProviderEvent> {
      if (messages.length > 1) return yield* say("done")
      yield { type: "tool_call", call: call("a") }
      await settle()
      seen.push("message ends")
      yield { type: "message_end", stopReason: "toolUse" }
    }
    const handler = () => {
      seen.push("tool runs")
      return "ok"
    }
    await chapter.run({ provider: { stream }, tools: [tool("echo", handler)] })
    expect(seen).toEqual(["message ends", "tool runs"])
  })

  test("keeps our fields of a call and no others", async () => {
    const foreign = { ...call("a"), signature: "x", index: 0 }
    const { history } = await chapter.run({ tools: [tool()], replies: [ask(foreign), say("done")] })
    expect(history[1]).toHaveProperty("toolCalls", [call("a")])
  })

  test("gives a tool a copy of its input: what it does to it changes no history", async () => {
    const handler = (input: Record<string, string>) => {
      input.text = "changed"
      return "ok"
    }
    const { history } = await chapter.run({ tools: [tool("echo", handler)], replies: [ask(call("a")), say("done")] })
    expect(history[1]).toHaveProperty("toolCalls", [call("a")])
    expect(history[2]).toEqual(result("a", "ok"))
  })

  test("B21: an empty input reaches the tool as an empty object", async () => {
    const { history } = await chapter.run({
      tools: [tool("echo", (input) => JSON.stringify(input))],
      replies: [ask(call("a", "echo", {}), call("b", "echo", null as never)), say("done")],
    })
    expect(results(history)).toEqual([result("a", "{}"), result("b", "{}")])
  })

  describe("tool results are total", () => {
    test("B118: an unknown name gives one error in its place, and the others run", async () => {
      const names = ["unknown", "Echo", " echo ", "echo"]
      const { history } = await chapter.run({
        tools: [tool()],
        replies: [ask(...names.map((name, index) => call(`${index}`, name))), say("done")],
      })
      expect(results(history)).toEqual([
        result("0", failure("unknown")),
        result("1", failure("Echo")),
        result("2", failure(" echo ")),
        result("3"),
      ])
    })

    test("B76: a name that objects inherit is as unknown as any other", async () => {
      const names = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf", ""]
      const { history } = await chapter.run({
        tools: [tool()],
        replies: [ask(...names.map((name) => call(name, name))), say("done")],
      })
      expect(results(history)).toEqual(names.map((name) => result(name, failure(name))))
    })

    test("B76: a tool with such a name runs", async () => {
      const { history } = await chapter.run({
        tools: [tool("__proto__"), tool("constructor")],
        replies: [ask(call("a", "__proto__"), call("b", "constructor"), call("c", "name")), say("done")],
      })
      expect(results(history)).toEqual([result("a"), result("b"), result("c", failure("name"))])
    })

    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    test.each<[string, unknown]>([
      ["undefined", undefined],
      ["null", null],
      ["a number", 7],
      ["an object", { a: 1 }],
      ["a cyclic object", cycle],
      ["a BigInt", 10n],
      ["a promise that rejects", "reject"],
      ["a promise that resolves", "resolve"],
    ])("B119: a tool that returns %s gives one error, which names the tool", async (_name, value) => {
      const handler = () =>
        value === "reject" ? Promise.reject(new Error("x")) : value === "resolve" ? Promise.resolve("x") : value
      const { history } = await chapter.run({ tools: [tool("echo", handler)], replies: [ask(call("a")), say("done")] })
      expect(results(history)).toEqual([result("a", expect.stringMatching(/^error: .*echo/) as never)])
      await settle()
    })

    test.each<[string, unknown, RegExp]>([
      ["an error", new Error("no such file"), /^error: no such file$/],
      ["an error with an empty message", new Error(""), /^error: \w/],
      ["undefined", undefined, /^error: \w/],
      ["a string", "plain", /^error: plain$/],
      ["an object without a message", {}, /^error: (?!\[object)\w/],
    ])("B119: a tool that throws %s gives one error", async (_name, thrown, text) => {
      const handler = () => {
        throw thrown
      }
      const { history, last } = await chapter.run({
        tools: [tool("echo", handler)],
        replies: [ask(call("a")), say("done")],
      })
      expect(results(history)).toEqual([result("a", expect.stringMatching(text) as never)])
      expect(last.content).toBe("done")
    })

    test("an empty result is a result", async () => {
      const { history } = await chapter.run({ tools: [tool("echo", () => "")], replies: [ask(call("a")), say("done")] })
      expect(results(history)).toEqual([result("a", "")])
    })

    test("the registry by itself never throws", () => {
      const registry = chapter.registry(tool("bad", () => JSON.parse("{")))
      expect(registry.run(call("a", "bad"))).toMatch(/^error: \S/)
      expect(registry.run(call("a", "absent"))).toEqual(failure("absent"))
    })
  })

  describe("calls of an incomplete message are answered and not run", () => {
    const calls = [call("a"), call("b")]
    const ran: string[] = []
    const recorder = tool("echo", ({ text }) => {
      ran.push(`${text}`)
      return "ran"
    })

    async function play(reply: Reply): Promise<{ history: Message[]; requests: number }> {
      ran.length = 0
      const { history, requests } = await chapter.run({ tools: [recorder], replies: [reply, say("not reached")] })
      return { history, requests: requests.length }
    }

    test.each<[string, () => Reply]>([
      ["B08, B09: the adapter calls the end an error", () => ending("error", ask(...calls))],
      ["B31: the adapter says stop", () => ending("stop", ask(...calls))],
      ["B33: the stream just ends", () => cut(ask(...calls))],
      ["the stream throws behind the calls", () => cut(ask(...calls), new Error("broke"))],
    ])("%s", async (_name, reply) => {
      const { history, requests } = await play(reply())
      expect(ran).toEqual([])
      expect(requests).toBe(1)
      expect(history[1]).toMatchObject({ role: "assistant", stopReason: "error", toolCalls: calls })
      expect(history[1]?.content).toMatch(/^error: \S/)
      const content = expect.stringMatching(/^error: \S/) as never
      expect(history.slice(2)).toEqual([result("a", content), result("b", content)])
    })

    test.each([1, 2])("B31: the adapter says stop behind a text and calls (%i)", async (count) => {
      const asked = ask(...calls.slice(0, count)).slice(1)
      const { history, requests } = await play(ending("stop", [...say("text").slice(0, 2), ...asked]))
      expect([ran, requests]).toEqual([[], 1])
      expect(history[1]).toMatchObject({ content: expect.stringMatching(/^text\nerror: \S/), stopReason: "error" })
      expect(results(history).length).toBe(count)
    })

    test("B33: wherever the stream is cut, each call that arrived has one error result", async () => {
      const events = [...say("text").slice(0, 2), ...ask(...calls).slice(1)]
      for (let length = 0; length < events.length; length++) {
        const arrived = events.slice(0, length).filter((event) => event.type === "tool_call").length
        const { history } = await play(events.slice(0, length))
        expect(ran).toEqual([])
        expect(results(history).length).toBe(arrived)
        expect(history[1]?.content).toMatch(length > 1 ? /^text\nerror: \S/ : /^error: \S/)
      }
    })

    test("B12: a malformed call that still arrived is not run", async () => {
      const { history } = await play(ending("error", [...say("MALFORMED").slice(0, 2), ...ask(call("a")).slice(1)]))
      expect(ran).toEqual([])
      expect(history.length).toBe(3)
      expect(history[1]?.content).toMatch(/^MALFORMED\nerror: \S/)
    })

    test("a message that announces calls and brings none is an error", async () => {
      const { history, requests } = await play(ending("toolUse", say("wait")))
      expect(requests).toBe(1)
      expect(history[1]).toEqual({
        role: "assistant",
        content: expect.stringMatching(/^wait\nerror: \S/),
        stopReason: "error",
      })
    })

    test("B13: an id that comes a second time breaks the message off; what had arrived is kept and answered", async () => {
      const first = call("x", "echo", { text: "1" })
      const events = ask(call("w"), first, call("x", "echo", { text: "2" }), call("y"))
      const { history, requests } = await play([...say("I look. ").slice(0, 2), ...events.slice(1)])
      expect(ran).toEqual([])
      expect(requests).toBe(1)
      expect(history.slice(1)).toEqual([
        {
          role: "assistant",
          content: expect.stringMatching(/^I look. \nerror: .*"x"/),
          stopReason: "error",
          toolCalls: [call("w"), first],
        },
        result("w", expect.stringMatching(/^error: .*"x"/) as never),
        result("x", expect.stringMatching(/^error: .*"x"/) as never),
      ])
      expect(() => chapter.core.assertPairedToolCalls(history)).not.toThrow()
    })

    test.each<[string, unknown]>([
      ["an id", { ...call("a"), id: undefined }],
      ["a name", { ...call("a"), name: 7 }],
    ])("a call with %s that is no text breaks the message off, and nothing runs", async (_what, odd) => {
      const { history, requests } = await play(ask(call("b"), odd as ToolCall))
      expect(ran).toEqual([])
      expect(requests).toBe(1)
      expect(history[1]).toMatchObject({ stopReason: "error", toolCalls: [call("b")] })
      expect(history[1]?.content).toMatch(/^error: \S/)
      expect(results(history)).toEqual([expect.objectContaining({ toolCallId: "b" })])
    })

    test("the person can go on after it", async () => {
      const state = chapter.state()
      await chapter.run({ state, tools: [tool()], replies: [cut(ask(...calls))] })
      const { last } = await chapter.run({ state, tools: [tool()], replies: [say("better")] })
      expect(last.content).toBe("better")
    })
  })

  test("B13: an id may come back in a later message", async () => {
    const { history } = await chapter.run({
      tools: [tool()],
      replies: [ask(call("x", "echo", { text: "1" })), ask(call("x", "echo", { text: "2" })), say("done")],
    })
    expect(results(history)).toEqual([result("x", "ok: 1"), result("x", "ok: 2")])
  })

  describe("the guard", () => {
    const user: Message = { role: "user", content: "go" }
    const asks = (...calls: ToolCall[]): Message => ({
      role: "assistant",
      content: "",
      stopReason: "toolUse",
      toolCalls: calls,
    })
    const done: Message = { role: "assistant", content: "done", stopReason: "stop" }

    test.each<[string, Message[]]>([
      ["nothing", []],
      ["a plain exchange", [user, done, user, done]],
      ["calls with their results", [user, asks(call("a"), call("b")), result("a"), result("b"), done]],
      ["an id that comes back later", [user, asks(call("a")), result("a"), asks(call("a")), result("a"), done]],
      ["a last message that is a result", [user, asks(call("a")), result("a")]],
      ["two messages of the person in a row", [user, user, done]],
    ])("accepts %s", (_name, messages) => {
      expect(() => chapter.core.assertPairedToolCalls(messages)).not.toThrow()
    })

    test.each<[string, Message[], string[]]>([
      ["B06: a last call without a result", [user, asks(call("c9"))], ["2", "c9"]],
      ["a call before the person's next word", [user, asks(call("a")), user], ["2", "a"]],
      ["the first of two results gone", [user, asks(call("a"), call("b")), result("b"), done], ["2", "a", "b"]],
      ["the last of two results gone", [user, asks(call("a"), call("b")), result("a"), done], ["3", "b"]],
      ["B01: a result whose call is gone", [user, result("c1"), done], ["1", "c1"]],
      ["a result as the first message", [result("c1")], ["0", "c1"]],
      [
        "a result of another message's call",
        [user, asks(call("a")), result("a"), asks(call("b")), result("a")],
        ["4", "b", "a"],
      ],
      ["a result twice", [user, asks(call("a")), result("a"), result("a")], ["3", "a"]],
      ["results in completion order", [user, asks(call("a"), call("b")), result("b"), result("a")], ["2", "a", "b"]],
      ["a result behind the person's next word", [user, asks(call("a")), user, result("a")], ["2", "a"]],
      ["an id twice in one message", [user, asks(call("a"), call("a")), result("a"), result("a")], ["1", "a"]],
    ])("rejects %s, and says at which message and which ids", (_name, messages, words) => {
      const complaint = complaintOf(() => chapter.core.assertPairedToolCalls(messages)) ?? ""
      expect(words.filter((word) => !says(complaint, word))).toEqual([])
    })

    test("stops a broken history before the request, as the caller's mistake", async () => {
      const state = chapter.state(user, asks(call("lost")), user)
      const provider = chapter.provider()
      await expect(chapter.core.runOneTurn(state, "go", chapter.options({ provider }))).rejects.toThrow("lost")
      expect(provider.requests).toEqual([])
    })

    test("B03: a history that broke off in the middle of its calls is named; with its results added, it goes on", async () => {
      const state = chapter.state(user, asks(call("c1"), call("c2")))
      await expect(chapter.run({ state, prompt: "again" })).rejects.toThrow("c1")
      expect(chapter.history(state).length).toBe(2)
      const fixed = chapter.state(user, asks(call("c1"), call("c2")))
      for (const id of ["c1", "c2"]) chapter.append(fixed, result(id, "error: interrupted; it may have taken effect"))
      const { last, requests } = await chapter.run({ state: fixed, prompt: "again", replies: [say("I go on.")] })
      expect(last.content).toBe("I go on.")
      expect(requests[0]?.messages.slice(2, 4)).toEqual(
        ["c1", "c2"].map((id) => result(id, "error: interrupted; it may have taken effect")),
      )
    })

    test("looks before every request of a turn, not only the first", async () => {
      const state = chapter.state()
      const handler = () => {
        if (chapter.number < 6) chapter.append(state, result("stray"))
        return "ok"
      }
      const turn = chapter.run({ state, tools: [tool("echo", handler)], replies: [ask(call("a")), say("done")] })
      if (chapter.number < 6) await expect(turn).rejects.toThrow("stray")
      else await expect(turn).resolves.toHaveProperty("last.content", "done")
    })
  })

  describe("the limit", () => {
    test("B100: three requests, three runs, one closing message", async () => {
      let runs = 0
      const again = tool("echo", () => `run ${++runs}`)
      const { history, last, requests } = await chapter.run({
        maxTurns: 3,
        tools: [again],
        replies: ["1", "2", "3", "4"].map((id) => ask(call(id))),
      })
      expect([requests.length, runs]).toEqual([3, 3])
      expect(last).toEqual({ role: "assistant", content: "max turns reached", stopReason: "stop" })
      expect(history.at(-1)).toEqual(last)
      expect(() => chapter.core.assertPairedToolCalls(history)).not.toThrow()
    })

    test("B102: what the person sees last is the closing message", async () => {
      const lines: string[] = []
      await chapter.run({
        maxTurns: 2,
        tools: [tool()],
        output: { log: (line) => void lines.push(line) },
        replies: [ask(call("1")), ask(call("2"))],
      })
      expect(lines.at(-1)).toBe("max turns reached")
    })

    test("is eight unless told otherwise", async () => {
      const { requests } = await chapter.run({
        tools: [tool()],
        replies: Array.from({ length: 20 }, (_, index) => ask(call(`${index}`))),
      })
      expect(requests.length).toBe(8)
    })

    test("is not reached by a turn that ends in its last request", async () => {
      const { last } = await chapter.run({
        maxTurns: 2,
        tools: [tool()],
        replies: [ask(call("1")), say("just in time")],
      })
      expect(last.content).toBe("just in time")
    })

    test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "3" as never])(
      "B100: %s is refused and changes nothing",
      async (maxTurns) => {
        const state = chapter.state()
        await expect(chapter.run({ state, maxTurns })).rejects.toThrow("maxTurns")
        expect(chapter.history(state)).toEqual([])
        await expect(chapter.run({ state })).resolves.toHaveProperty("last.content", "done")
      },
    )
  })

  test("a tool may be an object with a state of its own", async () => {
    class Counter {
      #count = 0
      spec = tool("count").spec
      handler() {
        return `count: ${++this.#count}`
      }
    }
    const replies = [ask(call("a", "count")), ask(call("b", "count")), say("done")]
    const { history } = await chapter.run({ tools: [new Counter()], replies })
    expect(results(history)).toEqual([result("a", "count: 1"), result("b", "count: 2")])
  })

  test("nothing that the model is sent can be edited into the history, or into the next request", async () => {
    const replies = [ask(call("a")), ask(call("b")), say("done")]
    const editing =
      (events: Reply): Reply =>
      (input) => {
        edit(input)
        return events
      }
    const untouched = await chapter.run({ tools: [tool()], replies })
    const edited = await chapter.run({ tools: [tool()], replies: replies.map(editing) })
    expect(edited.history).toEqual(untouched.history)
    expect(edited.requests).toEqual(untouched.requests)
  })

  describe("an executor from outside", () => {
    const calls = [call("a"), call("b"), call("c")]
    const run = (execute: (call: ToolCall) => unknown) =>
      chapter.run({ tools: [tool()], execute: execute as never, replies: [ask(...calls), say("done")] })
    const later = (ms: number, value: unknown) => new Promise((resolve) => setTimeout(() => resolve(value), ms))

    test("B04: a slow first call does not cost a fast second one its result, or its place", async () => {
      const { history } = await run(({ id }) => later(id === "a" ? 10 : 0, result(id)))
      expect(results(history)).toEqual([result("a"), result("b"), result("c")])
    })

    test("starts the calls together", async () => {
      const started: string[] = []
      const release: (() => void)[] = []
      const turn = run(({ id }) => {
        started.push(id)
        return new Promise((resolve) => release.push(() => resolve(result(id))))
      })
      await settle()
      expect(started).toEqual(["a", "b", "c"])
      for (const open of release.reverse()) open()
      expect(results((await turn).history)).toEqual([result("a"), result("b"), result("c")])
    })

    test("B20: twenty runs with random delays give the same bytes", async () => {
      const runs = Array.from({ length: 20 }, () => run(({ id }) => later(Math.random() * 5, result(id))))
      const bytes = (await Promise.all(runs)).map(({ history, requests }) => JSON.stringify([history, requests]))
      expect(new Set(bytes).size).toBe(1)
    })

    test.each<[string, () => unknown, RegExp]>([
      ["throws", () => JSON.parse("{"), /^error: \S/],
      ["rejects", () => Promise.reject(new Error("gone")), /^error: gone$/],
      ["returns nothing", () => undefined, /^error: \S/],
      ["returns null", () => null, /^error: \S/],
      ["resolves with a string", () => Promise.resolve("text"), /^error: \S/],
      ["returns a content that is no text", () => ({ role: "toolResult", toolCallId: "b", content: 7 }), /^error: \S/],
      ["B20: answers another call", () => result("zzz"), /^error: .*zzz/],
      [
        "answers another call with a promise that rejects",
        () => ({ ...result("zzz"), content: Promise.reject(new Error("late")) }),
        /^error: \S/,
      ],
      ["adds fields", () => ({ ...result("b"), vendor: 1 }), /^ok: b$/],
    ])("one that %s costs one call its result and no more", async (_name, odd, content) => {
      const { history, last } = await run((item) => (item.id === "b" ? odd() : result(item.id)))
      expect(results(history)).toEqual([result("a"), result("b", expect.stringMatching(content) as never), result("c")])
      expect(last.content).toBe("done")
    })

    test("a provider has no say in which tools may run, whatever it does to its request", async () => {
      const late = tool("late")
      const registry = chapter.registry(tool())
      const reply = (input: { tools: unknown[] }) => {
        input.tools.length = 0
        registry.register(late)
        input.tools.push(late.spec)
        return ask(call("a"), call("b", "late"))
      }
      const { history } = await chapter.run({ registry, replies: [reply as never, say("done")] })
      expect(results(history)).toEqual([result("a"), result("b", failure("late"))])
    })

    test("is not asked about a tool that the model was not shown", async () => {
      const asked: string[] = []
      const { history } = await chapter.run({
        tools: [tool()],
        execute: (item) => {
          asked.push(item.name)
          return result(item.id)
        },
        replies: [ask(call("a", "hidden"), call("b")), say("done")],
      })
      expect(asked).toEqual(["echo"])
      expect(results(history)).toEqual([result("a", failure("hidden")), result("b")])
    })
  })

  test("I2, I3, I4: any script leaves a history in which every call has its one result, in order", async () => {
    const handlers = [
      tool("good"),
      tool("bad", () => JSON.parse("{")),
      tool("odd", () => 7),
      tool("late", () => Promise.reject(new Error("late"))),
    ]
    const anyCall = fc.record({
      id: fc.constantFrom("a", "b", "c", "d"),
      name: fc.constantFrom("good", "bad", "odd", "late", "unknown"),
      input: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
    })
    const anyEnd = fc.constantFrom("stop", "error", "toolUse", "toolUse", "toolUse", "none", "throw")
    const anyReply = fc.record({
      text: fc.string({ maxLength: 4 }),
      calls: fc.array(anyCall, { maxLength: 4 }),
      end: anyEnd,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyReply, { maxLength: 6 }),
        fc.integer({ min: 1, max: 4 }),
        async (script, maxTurns) => {
          const replies = script.map(({ text, calls, end }): Reply => {
            const events = [...say(text).slice(0, 2), ...ask(...calls).slice(1)]
            if (end === "none") return cut(events)
            return end === "throw" ? cut(events, new Error("broke")) : ending(end as "stop", events)
          })
          const { history, requests } = await chapter.run({ tools: handlers, maxTurns, replies })
          chapter.core.assertPairedToolCalls(history)
          expect(requests.length).toBeLessThanOrEqual(maxTurns)
          for (const [index, message] of history.entries()) {
            if (message.role !== "assistant" || message.toolCalls === undefined || message.stopReason === "toolUse")
              continue
            const answers = history.slice(index + 1, index + 1 + message.toolCalls.length)
            expect(answers.every((answer) => answer.content.startsWith("error: "))).toBe(true)
          }
        },
      ),
      { numRuns: 200 },
    )
  })
})
