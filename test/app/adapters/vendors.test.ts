/** What only one of the services does. */
import { describe, expect, test } from "vitest"
import type { ProviderEvent } from "../../support/driver.ts"
import { callsOf, expectPlain, expectRefused, listen, runTurn, textOf } from "./conformance.ts"
import { dialect, encode } from "./dialects.ts"
import { Service } from "./service.ts"

const service = new Service()

/** What a service's events, given as plain objects, amount to. */
async function hear(
  name: "anthropic" | "openai" | "google",
  ...data: object[]
): Promise<{ events: ProviderEvent[]; error: unknown }> {
  const frames = data.map((event: { type?: string }) => ({
    data: JSON.stringify(event),
    ...(event.type && { event: event.type }),
  }))
  service.plan({ pieces: [encode(frames)] })
  return listen(dialect(name).create({ model: "m", key: "k", baseUrl: service.url }))
}

/** The calls in short; undefined where the answer was an error. */
async function callsIn(...given: Parameters<typeof hear>): Promise<unknown> {
  const { events, error } = await hear(...given)
  if (error !== undefined) expectPlain(error)
  return error === undefined ? callsOf(events).map(({ id, name, input }) => [id, name, input]) : undefined
}

describe("OpenAI and compatible servers", () => {
  type Piece = { index?: number | null; id?: string | null; name?: string | null; args?: string | null }
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    choices: [{ index: 0, delta, finish_reason }],
  })
  const pieces = (...all: Piece[]): object[] => [
    ...all.map(({ index, id, name, args }) =>
      chunk({
        tool_calls: [
          {
            ...(index !== undefined && { index }),
            ...(id !== undefined && { id }),
            ...((name !== undefined || args !== undefined) && { function: { name, arguments: args } }),
          },
        ],
      }),
    ),
    chunk({}, "tool_calls"),
  ]

  test.each<[string, Piece[], unknown]>([
    [
      "B16: the tail of a second call under an index of its own",
      [
        { index: 0, id: "A", name: "f", args: "{" },
        { index: 0, args: "}" },
        { index: 0, id: "B", name: "g", args: '{"p":' },
        { index: 1, args: '"x"}' },
      ],
      [
        ["A", "f", {}],
        ["B", "g", { p: "x" }],
      ],
    ],
    [
      "pieces of two calls by turns, by index",
      [
        { index: 0, id: "A", name: "f", args: '{"p":' },
        { index: 1, id: "B", name: "g", args: '{"p":' },
        { index: 0, args: '"a"}' },
        { index: 1, args: '"b"}' },
      ],
      [
        ["A", "f", { p: "a" }],
        ["B", "g", { p: "b" }],
      ],
    ],
    [
      "pieces of two calls by turns, by id alone",
      [
        { id: "A", name: "f", args: '{"p":' },
        { id: "B", name: "g", args: '{"p":' },
        { id: "A", args: '"a"}' },
        { id: "B", args: '"b"}' },
      ],
      [
        ["A", "f", { p: "a" }],
        ["B", "g", { p: "b" }],
      ],
    ],
    [
      "B16: a known id wins over the index",
      [
        { index: 0, id: "A", name: "f", args: '{"p":' },
        { index: 1, id: "B", name: "g", args: '{"p":' },
        { index: 1, id: "A", args: '"a"}' },
        { index: 0, id: "B", args: '"b"}' },
      ],
      [
        ["A", "f", { p: "a" }],
        ["B", "g", { p: "b" }],
      ],
    ],
    [
      "id and name in every piece",
      [
        { index: 0, id: "A", name: "f", args: '{"p":' },
        { index: 0, id: "A", name: "f", args: '"a"}' },
        { index: 0, id: "A", name: "f", args: "" },
      ],
      [["A", "f", { p: "a" }]],
    ],
    [
      "B13: one id for two calls",
      [
        { index: 0, id: "x", name: "f", args: '{"p":"a"}' },
        { index: 1, id: "x", name: "f", args: '{"p":"b"}' },
        { index: 1, id: "x", name: "f", args: '{"p":"c"}' },
      ],
      [
        ["x", "f", { p: "a" }],
        ["x_2", "f", { p: "b" }],
        ["x_3", "f", { p: "c" }],
      ],
    ],
    [
      "whole calls without an index",
      [
        { id: "A", name: "f", args: '{"p":"a"}' },
        { id: "B", name: "f", args: '{"p":"b"}' },
      ],
      [
        ["A", "f", { p: "a" }],
        ["B", "f", { p: "b" }],
      ],
    ],
    [
      "calls without an id",
      [
        { index: 0, id: null, name: "f", args: '{"p":' },
        { index: 0, name: null, args: '"a"}' },
        { index: 1, id: "", name: "f", args: "" },
        { index: 1, args: "" },
      ],
      [
        ["call00001", "f", { p: "a" }],
        ["call00002", "f", {}],
      ],
    ],
    [
      "calls without an id under one index",
      [
        { index: 0, name: "f", args: '{"p":"a"}' },
        { index: 0, name: "f", args: '{"p":"b"}' },
      ],
      [
        ["call00001", "f", { p: "a" }],
        ["call00002", "f", { p: "b" }],
      ],
    ],
    [
      "neither index nor id, and one call open",
      [{ name: "f", args: '{"p":' }, { index: null, args: '"a"}' }, { name: "g", args: '{"p":' }, { args: '"b"}' }],
      [
        ["call00001", "f", { p: "a" }],
        ["call00002", "g", { p: "b" }],
      ],
    ],
    ["B21: arguments that are null or missing", [{ index: 0, id: "A", name: "f", args: null }], [["A", "f", {}]]],
    [
      "the name behind the id",
      [
        { index: 0, id: "A" },
        { index: 0, name: "f", args: "{}" },
      ],
      [["A", "f", {}]],
    ],
    [
      "B16: a piece that fits two open calls",
      [
        { index: 0, id: "A", name: "f", args: '{"p":' },
        { index: 1, id: "B", name: "g", args: '{"p":' },
        { index: 2, args: '"a"}' },
      ],
      undefined,
    ],
    ["a piece that fits no call", [{ index: 0, args: "{}" }], undefined],
    [
      "a piece behind complete arguments",
      [
        { index: 0, id: "A", name: "f", args: "{}" },
        { index: 0, args: "{}" },
      ],
      undefined,
    ],
    ["a call without a name", [{ index: 0, id: "A", args: "{}" }], undefined],
    [
      "a call that changes its name",
      [
        { index: 0, id: "A", name: "f" },
        { index: 0, name: "g", args: "{}" },
      ],
      undefined,
    ],
  ])("%s", async (_what, given, expected) => {
    expect(await callsIn("openai", ...pieces(...given))).toEqual(expected)
  })

  test("announced calls that do not come are an error", async () => {
    expectPlain(
      (await hear("openai", chunk({ content: "a" }), chunk({}, "tool_calls"))).error,
      /announced calls and sent none/,
    )
  })

  test("a refusal is an error with the words of the model", async () => {
    const { error } = await hear("openai", chunk({ refusal: "I will not." }), chunk({}, "stop"))
    expectPlain(error, /refused: I will not\.$/)
  })

  test("a problem is not undone by a second end", async () => {
    expectPlain((await hear("openai", chunk({ content: "a" }, "length"), chunk({}, "stop"))).error, /cut/)
  })

  test("a server without a key gets none of ours, and the vendor's own address is not asked", async () => {
    service.plan({ pieces: [encode(dialect("openai").frames({ texts: ["a"] }))] })
    const { error } = await listen(dialect("openai").create({ model: "m", key: "", baseUrl: `${service.url}/v1` }))
    expect(error).toBeUndefined()
    expect(service.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: "Bearer none" },
    })
  })
})

describe("Anthropic", () => {
  const start = { type: "message_start", message: { content: [] } }
  const stop = [{ type: "message_delta", delta: { stop_reason: "tool_use" } }, { type: "message_stop" }]
  const open = (index: number, block: object): object => ({ type: "content_block_start", index, content_block: block })
  const json = (index: number, partial_json: string): object => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json },
  })
  const close = (index: number): object => ({ type: "content_block_stop", index })
  const use = (id: string, input: unknown = {}): object => ({ type: "tool_use", id, name: "echo", input })

  test("blocks that are open at the same time are told apart", async () => {
    const events = [open(0, use("a")), open(1, use("b")), json(1, '{"p":"b"'), json(0, '{"p":"a"}'), json(1, "}")]
    expect(await callsIn("anthropic", start, ...events, close(1), close(0), ...stop)).toEqual([
      ["a", "echo", { p: "a" }],
      ["b", "echo", { p: "b" }],
    ])
  })

  test("arguments that come at once, with the beginning of the block", async () => {
    const events = [open(0, use("a", { p: "a", n: 1 })), close(0), ...stop]
    expect(await callsIn("anthropic", start, ...events)).toEqual([["a", "echo", { p: "a", n: "1" }]])
  })

  test.each([
    ["B33: a block that is never closed", [open(0, use("a")), json(0, "{}")]],
    ["arguments behind the end of their block", [open(0, use("a")), json(0, "{}"), close(0), json(0, " ")]],
    ["arguments without a block", [json(0, "{}")]],
  ])("%s is an error", async (_what, events) => {
    expect(await callsIn("anthropic", start, ...events, ...stop)).toBeUndefined()
  })

  test("tools that the service runs by itself are none of ours", async () => {
    const events = [open(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }), close(0)]
    const text = [open(1, { type: "text", text: "found" }), close(1)]
    const end = [{ type: "message_delta", delta: { stop_reason: "end_turn" } }, { type: "message_stop" }]
    const heard = await hear("anthropic", start, ...events, ...text, ...end)
    expect([heard.error, textOf(heard.events), callsOf(heard.events)]).toEqual([undefined, "found", []])
  })

  test.each(["model_context_window_exceeded", "pause_turn", "refusal"])(
    "the end %s is an error",
    async (stop_reason) => {
      const end = [{ type: "message_delta", delta: { stop_reason } }, { type: "message_stop" }]
      const { error } = await hear("anthropic", start, open(0, { type: "text", text: "x" }), close(0), ...end)
      expectPlain(error, /too long|no normal end|refused/)
    },
  )
})

describe("Gemini", () => {
  const chunk = (parts: object[], finishReason?: string): object => ({
    candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
  })

  test("B12: a malformed call is an error, and a call next to it does not run", async () => {
    expectPlain(
      (await hear("google", { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }] })).error,
      /no valid call/,
    )
    const part = { functionCall: { name: "echo", args: { text: "a" } } }
    service.plan({ pieces: [encode([{ data: JSON.stringify(chunk([part], "MALFORMED_FUNCTION_CALL")) }])] })
    const { history, ran } = await runTurn(dialect("google").create({ model: "m", key: "k", baseUrl: service.url }))
    expectRefused(history, ran, ["echo"])
  })

  test("B15: several calls in one chunk and over chunks", async () => {
    const call = (p: string): object => ({ functionCall: { name: "echo", args: { p } } })
    const given = [chunk([call("a"), { text: "and" }, call("b")]), chunk([call("a")]), chunk([], "STOP")]
    expect(await callsIn("google", ...given)).toEqual([
      ["call00001", "echo", { p: "a" }],
      ["call00002", "echo", { p: "b" }],
      ["call00003", "echo", { p: "a" }],
    ])
  })

  test("a call that is to be continued is not complete", async () => {
    const part = { functionCall: { name: "echo", args: {}, willContinue: true } }
    expect(await callsIn("google", chunk([part], "STOP"))).toBeUndefined()
  })

  test("a prompt that is refused is an error", async () => {
    expectPlain(
      (await hear("google", { promptFeedback: { blockReason: "SAFETY" } })).error,
      /refused the prompt: SAFETY/,
    )
  })

  test.each(["SAFETY", "RECITATION", "OTHER", "FINISH_REASON_UNSPECIFIED", "TOMORROW", "STOP "])(
    "the end %j is an error",
    async (reason) => {
      expectPlain((await hear("google", chunk([{ text: "a" }], reason))).error, /no normal end/)
    },
  )
})
