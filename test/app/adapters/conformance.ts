/** What holds for every model, whoever serves it: one suite for the scripted model and for all adapters. */
import { describe, expect, test } from "vitest"
import type { VendorModel } from "../../../app/adapters/choose.ts"
import * as core from "../../../s12_packages/code.ts"
import {
  Driver,
  type Message,
  type ProviderEvent,
  type ProviderInput,
  say,
  type Tool,
  type ToolCall,
  tool,
} from "../../support/driver.ts"
import type { Answer, SentCall } from "./dialects.ts"

export const s12: Driver = new Driver(12, "s12", core)

/** A model under test. */
export type Subject = {
  name: string
  /** The model, giving these answers, one for each request. */
  model(...answers: Answer[]): VendorModel
  /** Whether the arguments of a call can be cut on the way. */
  sendsText: boolean
  /** Whether every call has an id of the service. */
  sendsIds: boolean
}

/** The request with which a model is asked on its own. */
export const INPUT: ProviderInput = {
  systemPrompt: "Be brief.",
  messages: [{ role: "user", content: "go" }],
  tools: ["echo", "list_files", "read_file", "write_note"].map((name) => tool(name).spec),
}

/** What a provider says to one request, up to the error that it throws. */
export async function listen(
  model: VendorModel,
  { input = INPUT, signal }: { input?: ProviderInput; signal?: AbortSignal } = {},
): Promise<{ events: ProviderEvent[]; error: unknown }> {
  const events: ProviderEvent[] = []
  try {
    for await (const event of model.connect(signal).stream(input)) events.push(event)
    return { events, error: undefined }
  } catch (error) {
    return { events, error }
  }
}

/** The texts of events in one. */
export function textOf(events: readonly ProviderEvent[]): string {
  return events.map((event) => (event.type === "text_delta" ? event.text : "")).join("")
}

/** The calls in events. */
export function callsOf(events: readonly ProviderEvent[]): ToolCall[] {
  return events.flatMap((event) => (event.type === "tool_call" ? [event.call] : []))
}

/** One turn of the core on a model: the history, and the calls that ran. */
export async function runTurn(
  model: VendorModel,
  state: core.AgentState = s12.state(),
): Promise<{ history: Message[]; ran: [name: string, input: Record<string, string>][] }> {
  const ran: [string, Record<string, string>][] = []
  const watched = (name: string): Tool =>
    tool(name, (input) => {
      ran.push([name, input])
      return "ok"
    })
  const tools = INPUT.tools.map(({ name }) => watched(name))
  const { history } = await s12.run({ provider: model.connect(), state, prompt: "go", tools })
  return { history, ran }
}

/** Expects an error that is plain and can be read. */
export function expectPlain(error: unknown, says: RegExp = /\w/): void {
  expect(error).toBeInstanceOf(Error)
  expect(Object.getPrototypeOf(error)).toBe(Error.prototype)
  expect(Object.getOwnPropertyNames(error).sort()).toEqual(["message", "stack"])
  const { message } = error as Error
  expect(message).toMatch(says)
  expect(message).not.toMatch(/\[object|undefined|\bat .*:\d+:\d+/)
  expect(message.length).toBeLessThan(500)
}

/** Expects a turn that ended with an error: nothing ran, and each call has one error result. */
export function expectRefused(history: readonly Message[], ran: readonly unknown[], calls: readonly string[]): void {
  expect(ran).toEqual([])
  const [, answer, ...results] = history
  expect(answer).toMatchObject({ role: "assistant", stopReason: "error", content: expect.stringMatching(/error: \S/) })
  const toolCalls = answer?.role === "assistant" ? (answer.toolCalls ?? []) : []
  expect(toolCalls.map((call) => call.name)).toEqual(calls)
  expect(results).toEqual(
    toolCalls.map(({ id }) => ({ role: "toolResult", toolCallId: id, content: expect.stringMatching(/^error: \S/) })),
  )
}

const echo = (json: string, id = "c1"): SentCall[] => [{ id, name: "echo", json }]

/** Defines the suite for one model. */
export function conforms(subject: Subject): void {
  const { model } = subject

  describe(`a model of ${subject.name}`, () => {
    test("B23: gives its text piece by piece, whatever is in it", async () => {
      const texts = ["你好，", "世界 🌍 ", "e\u0301 👩‍👩‍👧", '\u2028 \n\t"\\ {} data: x']
      expect(await listen(model({ texts }))).toEqual({ events: say(...texts), error: undefined })
    })

    test("B23: never parts a character that comes in two pieces", async () => {
      const { events } = await listen(model({ texts: ["a\ud83d", "\ude00b", "c\ud83d"] }))
      expect(textOf(events)).toBe("a😀bc\ud83d")
      expect(events.slice(1, -2).every((event) => event.type === "text_delta" && event.text.isWellFormed())).toBe(true)
    })

    test("asks for tools, gets the results, and answers", async () => {
      const calls = [
        { id: "c1", name: "echo", json: '{"text":"一"}' },
        { id: "c2", name: "read_file", json: '{"text":"b"}' },
      ]
      const { history, ran } = await runTurn(model({ texts: ["I look."], calls }, { texts: ["Done."] }))
      expect(ran).toEqual([
        ["echo", { text: "一" }],
        ["read_file", { text: "b" }],
      ])
      const sent = history[1]?.role === "assistant" ? (history[1].toolCalls ?? []) : []
      if (subject.sendsIds) expect(sent.map((call) => call.id)).toEqual(["c1", "c2"])
      expect(history).toEqual([
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: "I look.",
          stopReason: "toolUse",
          toolCalls: [
            { id: sent[0]?.id, name: "echo", input: { text: "一" } },
            { id: sent[1]?.id, name: "read_file", input: { text: "b" } },
          ],
        },
        { role: "toolResult", toolCallId: sent[0]?.id, content: "ok" },
        { role: "toolResult", toolCallId: sent[1]?.id, content: "ok" },
        { role: "assistant", content: "Done.", stopReason: "stop" },
      ])
    })

    test("B31: a complete call counts where the service says stop", async () => {
      const { history, ran } = await runTurn(model({ calls: echo('{"text":"a"}'), end: "stop" }, { texts: ["Done."] }))
      expect(ran).toEqual([["echo", { text: "a" }]])
      expect(history.at(-1)).toEqual({ role: "assistant", content: "Done.", stopReason: "stop" })
    })

    test.each(["limit", "refusal", "unknown", "missing"] as const)(
      "B09, B12: the end %s is an error, the text is kept, and a complete call does not run",
      async (end) => {
        const { history, ran } = await runTurn(model({ texts: ["Half"], calls: echo('{"text":"a"}'), end }))
        expectRefused(history, ran, ["echo"])
        expect(history[1]?.content).toMatch(/^Half\nerror: \S/)
        expectPlain((await listen(model({ texts: ["Half"], end }))).error)
      },
    )

    test("B09: where the limit cut the answer, the results say so", async () => {
      const { history } = await runTurn(model({ calls: echo('{"text":"a"}'), end: "limit" }))
      expect(history[2]?.content).toMatch(/cut/)
    })

    test.runIf(subject.sendsText)(
      "B08, B09: arguments that were cut never run, whatever the end is called",
      async () => {
        const json = '{"path":"a.md","content":"line 1\\nli'
        for (const end of ["stop", "calls", "limit", "missing"] as const) {
          const calls = [{ id: "c1", name: "write_note", json }]
          const { history, ran } = await runTurn(model({ calls, end }))
          expectRefused(history, ran, ["write_note"])
          expect(history[1]).toMatchObject({ toolCalls: [{ input: {} }] })
        }
        const calls = [{ id: "c1", name: "write_note", json: '{"path":"a.md"' }]
        expectRefused(...values(await runTurn(model({ calls, end: "limit" }))), ["write_note"])
      },
    )

    test.runIf(subject.sendsText)(
      "I3: a call without complete arguments keeps the others of its message from running",
      async () => {
        const calls = [
          { id: "c1", name: "echo", json: '{"text":"a"}' },
          { id: "c2", name: "echo", json: '{"text":"b"' },
          { id: "c3", name: "read_file", json: '{"text":"c"}' },
        ]
        expectRefused(...values(await runTurn(model({ calls }))), ["echo", "echo", "read_file"])
      },
    )

    test
      .runIf(subject.sendsText)
      .each([
        "{'text':'a'}",
        '{"text":"a",}',
        '{"text":"a"} {"text":"b"}',
        '{"text":"a"}}',
        "```json\n{}\n```",
        "{text:1}",
        '{"text":NaN}',
        "<x>",
      ])("B08: %j is no strict JSON and is not repaired", async (json) => {
      expectRefused(...values(await runTurn(model({ calls: echo(json) }))), ["echo"])
    })

    test.each(subject.sendsText ? ["", "  ", "null", "{}", " {} \n"] : ["", "null", "{}"])(
      "B21: %j as arguments means none",
      async (json) => {
        const { ran } = await runTurn(model({ calls: [{ id: "c1", name: "list_files", json }] }, { texts: ["Done."] }))
        expect(ran).toEqual([["list_files", {}]])
      },
    )

    test.each(["[]", "[1]", "3", '"text"', "true"])(
      "B21: %j as arguments is an error result and no crash",
      async (json) => {
        const { history, ran } = await runTurn(model({ calls: echo(json) }))
        expectRefused(history, ran, ["echo"])
        expect(history[2]?.content).toMatch(/must be an object/)
      },
    )

    test("B21: a value that is no string is its JSON text", async () => {
      const json = '{"a":1,"b":true,"c":null,"d":[1,"x"],"e":{"f":"g"},"h":"7","i":""}'
      const { ran } = await runTurn(model({ calls: echo(json) }, { texts: ["Done."] }))
      const input = { a: "1", b: "true", c: "null", d: '[1,"x"]', e: '{"f":"g"}', h: "7", i: "" }
      expect(ran).toEqual([["echo", input]])
    })

    test("B13: ids that repeat within a message and across turns are made unique", async () => {
      const twice = [
        { id: "x", name: "echo", json: '{"text":"1"}' },
        { id: "x", name: "echo", json: '{"text":"2"}' },
      ]
      const { history, ran } = await runTurn(model({ calls: twice }, { calls: twice }, { texts: ["Done."] }))
      expect(ran.map(([, { text }]) => text)).toEqual(["1", "2", "1", "2"])
      const ids = history.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
      expect(new Set(ids.map((call) => call.id)).size).toBe(4)
      expect(history.filter((message) => message.role === "toolResult").length).toBe(4)
    })

    test("B15: calls without ids get their own, in the order of arrival", async () => {
      const calls = ["a", "b", "a"].map((text) => ({ name: "read_file", json: JSON.stringify({ text }) }))
      const { history, ran } = await runTurn(model({ calls }, { texts: ["Done."] }))
      expect(ran.map(([, { text }]) => text)).toEqual(["a", "b", "a"])
      expect(new Set(callsIn(history).map((call) => call.id)).size).toBe(3)
    })

    test("B118: an unknown tool is an error result, and the others run", async () => {
      const calls = ["Echo", "echo", "no such tool"].map((name, index) => ({ id: `c${index}`, name, json: "{}" }))
      const { history, ran } = await runTurn(model({ calls }, { texts: ["Done."] }))
      expect(ran).toEqual([["echo", {}]])
      const contents = history.slice(2, 5).map((message) => message.content)
      expect(contents).toEqual([expect.stringMatching(/^error: /), "ok", expect.stringMatching(/^error: /)])
    })

    test("B122: an answer without text is an error, and the next requests go well", async () => {
      const state = s12.state()
      const provider = model({}, { texts: [" "] }, { texts: ["a"] })
      for (let turn = 0; turn < 3; turn++) await runTurn(provider, state)
      expect(s12.history(state).map((message) => message.content)).toEqual([
        "go",
        expect.stringMatching(/^error: \S/),
        "go",
        expect.stringMatching(/^ ?\n?error: \S/),
        "go",
        "a",
      ])
    })

    test("B36: a message holds our fields only", async () => {
      const { history } = await runTurn(model({ texts: ["t"], calls: echo('{"text":"a"}') }, { texts: ["Done."] }))
      const fields = history.map((message) => Object.keys(message).sort().join(" "))
      expect(fields).toEqual([
        "content role",
        "content role stopReason toolCalls",
        "content role toolCallId",
        "content role stopReason",
      ])
      expect(callsIn(history).map((call) => Object.keys(call).sort())).toEqual([["id", "input", "name"]])
    })

    test("a run that was cancelled before it began asks nobody", async () => {
      const { events, error } = await listen(model({ texts: ["never"] }), { signal: AbortSignal.abort() })
      expect(textOf(events)).toBe("")
      expectPlain(error, /cancelled/)
    })
  })
}

function callsIn(history: readonly Message[]): ToolCall[] {
  return history.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
}

function values({ history, ran }: Awaited<ReturnType<typeof runTurn>>): [Message[], unknown[]] {
  return [history, ran]
}
