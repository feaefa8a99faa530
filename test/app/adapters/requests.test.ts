/** What the services are sent: one conversation in three formats, in a form that each of them accepts. */
import { describe, expect, test } from "vitest"
import type { VendorModel } from "../../../app/adapters/choose.ts"
import { CallMemory, Conversation, Names } from "../../../app/adapters/conversation.ts"
import type { Message, ProviderInput, ToolCall } from "../../support/driver.ts"
import { callsOf, INPUT, listen, runTurn, s12 } from "./conformance.ts"
import { type Answer, DIALECTS, type Dialect, dialect, encode, type Frame } from "./dialects.ts"
import { Service } from "./service.ts"

const service = new Service()

/** All that services refuse somewhere: strange names and ids, blank texts, the same role twice, half a character. */
const LONG: ProviderInput = {
  systemPrompt: "Be brief.",
  messages: [
    { role: "user", content: "go" },
    {
      role: "assistant",
      content: "I look.",
      toolCalls: [
        { id: "c1", name: "echo", input: { text: "a" } },
        { id: "no id!", name: "读 文件", input: { "文件 名": "b", extra: "1" } },
      ],
    },
    { role: "toolResult", toolCallId: "c1", content: "ok" },
    { role: "toolResult", toolCallId: "no id!", content: "error: no such file" },
    { role: "assistant", content: " \n" },
    { role: "user", content: "" },
    { role: "user", content: "again" },
    { role: "assistant", content: "error: cut" },
    { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "gone", input: {} }] },
    { role: "toolResult", toolCallId: "c1", content: "" },
    { role: "user", content: "half \ud800" },
  ],
  tools: [
    { name: "echo", description: "Says it again.", input: { text: "any text" } },
    { name: "读 文件", description: " ", input: { "文件 名": "which" } },
    { name: "list", description: "Lists.", input: {} },
  ],
}

const schemas = [
  { type: "object", properties: { text: { type: "string", description: "any text" } } },
  { type: "object", properties: { ____: { type: "string", description: "which" } } },
  { type: "object", properties: {} },
]

function connect({ create }: Dialect, model = "m"): VendorModel {
  return create({ model, key: "k", baseUrl: service.url })
}

/** The body that a request becomes. */
async function bodyOf(target: Dialect, input: ProviderInput, model = connect(target)): Promise<unknown> {
  service.plan({ pieces: [encode(target.frames({ texts: ["x"] }))] })
  expect((await listen(model, { input })).error).toBeUndefined()
  return service.requests.at(-1)?.body
}

function plan(target: Dialect, ...answers: Answer[]): void {
  service.plan(...answers.map((answer) => ({ pieces: [encode(target.frames(answer))] })))
}

describe("the whole request", () => {
  test("of Anthropic", async () => {
    expect(await bodyOf(dialect("anthropic"), LONG)).toEqual({
      model: "m",
      max_tokens: 8192,
      stream: true,
      system: "Be brief.",
      messages: [
        { role: "user", content: [{ type: "text", text: "go" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "I look." },
            { type: "tool_use", id: "c1", name: "echo", input: { text: "a" } },
            { type: "tool_use", id: "call00002", name: "____", input: { ____: "b", extra: "1" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "ok" },
            { type: "tool_result", tool_use_id: "call00002", content: "error: no such file", is_error: true },
            { type: "text", text: "again" },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "error: cut" },
            { type: "tool_use", id: "call00003", name: "gone", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call00003" },
            { type: "text", text: "half \ufffd" },
          ],
        },
      ],
      tools: [
        { name: "echo", description: "Says it again.", input_schema: schemas[0] },
        { name: "____", description: "读 文件", input_schema: schemas[1] },
        { name: "list", description: "Lists.", input_schema: schemas[2] },
      ],
    })
    expect(service.requests[0]?.path).toBe("/v1/messages")
  })

  test("of OpenAI and compatible servers", async () => {
    const asks = (id: string, name: string, input: string): unknown => ({
      id,
      type: "function",
      function: { name, arguments: input },
    })
    expect(await bodyOf(dialect("openai"), LONG)).toEqual({
      model: "m",
      stream: true,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: "I look.",
          tool_calls: [asks("c1", "echo", '{"text":"a"}'), asks("call00002", "____", '{"____":"b","extra":"1"}')],
        },
        { role: "tool", tool_call_id: "c1", content: "ok" },
        { role: "tool", tool_call_id: "call00002", content: "error: no such file" },
        { role: "user", content: "again" },
        { role: "assistant", content: "error: cut", tool_calls: [asks("call00003", "gone", "{}")] },
        { role: "tool", tool_call_id: "call00003", content: "" },
        { role: "user", content: "half \ufffd" },
      ],
      tools: [
        { type: "function", function: { name: "echo", description: "Says it again.", parameters: schemas[0] } },
        { type: "function", function: { name: "____", description: "读 文件", parameters: schemas[1] } },
        { type: "function", function: { name: "list", description: "Lists.", parameters: schemas[2] } },
      ],
    })
    expect(service.requests[0]).toMatchObject({ path: "/chat/completions", headers: { authorization: "Bearer k" } })
  })

  test("of Gemini", async () => {
    const thoughtSignature = "skip_thought_signature_validator"
    expect(await bodyOf(dialect("google"), LONG)).toEqual({
      systemInstruction: { role: "user", parts: [{ text: "Be brief." }] },
      contents: [
        { role: "user", parts: [{ text: "go" }] },
        {
          role: "model",
          parts: [
            { text: "I look." },
            { functionCall: { name: "echo", args: { text: "a" } }, thoughtSignature },
            { functionCall: { name: "____", args: { ____: "b", extra: "1" } } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "echo", response: { output: "ok" } } },
            { functionResponse: { name: "____", response: { error: "error: no such file" } } },
            { text: "again" },
          ],
        },
        {
          role: "model",
          parts: [{ text: "error: cut" }, { functionCall: { name: "gone", args: {} }, thoughtSignature }],
        },
        {
          role: "user",
          parts: [{ functionResponse: { name: "gone", response: { output: "" } } }, { text: "half \ufffd" }],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: "echo", description: "Says it again.", parametersJsonSchema: schemas[0] },
            { name: "____", description: "读 文件", parametersJsonSchema: schemas[1] },
            { name: "list", description: "Lists." },
          ],
        },
      ],
      generationConfig: {},
    })
    expect(service.requests[0]).toMatchObject({
      path: "/v1beta/models/m:streamGenerateContent?alt=sse",
      headers: { "x-goog-api-key": "k" },
    })
  })

  test.each(DIALECTS)("of $name has no empty system prompt and no empty list of tools", async (target) => {
    const body = await bodyOf(target, { systemPrompt: " ", tools: [], messages: [{ role: "user", content: "hi" }] })
    expect(JSON.stringify(body)).not.toMatch(/system|tools/)
  })

  test.each(DIALECTS)(
    "of $name starts with the person, and says something where the person does not",
    async (target) => {
      const starts = { ...INPUT, messages: [{ role: "assistant" as const, content: "Hello." }] }
      expect(JSON.stringify(await bodyOf(target, starts))).toContain(
        "(the beginning of this conversation is not shown)",
      )
      const blank = { ...INPUT, messages: [{ role: "user" as const, content: " \n" }] }
      expect(JSON.stringify(await bodyOf(target, blank))).toContain('"(no text)"')
    },
  )

  test.each(DIALECTS)("B120: of $name holds no half of a character, wherever ours hold one", async (target) => {
    const half = "half \ud83d"
    const calls = [{ id: half, name: half, input: { [half]: half } }]
    const input: ProviderInput = {
      systemPrompt: half,
      messages: [
        { role: "user", content: half },
        { role: "assistant", content: half, toolCalls: calls },
        { role: "toolResult", toolCallId: half, content: half },
      ],
      tools: [{ name: half, description: half, input: { [half]: half } }],
    }
    const body = JSON.stringify(await bodyOf(target, input))
    expect(body).not.toMatch(/\\ud[89a-f]/i)
    expect(body.split("half \ufffd").length - 1).toBe(7)
  })

  test("of Anthropic declares the tools of the past where there are none now, and forbids them", async () => {
    const body = await bodyOf(dialect("anthropic"), { ...LONG, tools: [] })
    expect(body).toMatchObject({ tool_choice: { type: "none" }, tools: [{ name: "echo" }, {}, { name: "gone" }] })
    expect(await bodyOf(dialect("anthropic"), LONG)).not.toHaveProperty("tool_choice")
  })

  test("carries the limit of tokens under the name that the service knows", async () => {
    const limits = []
    for (const target of DIALECTS) {
      const model = target.create({ model: "m", key: "k", baseUrl: service.url, maxTokens: 77 })
      limits.push(JSON.stringify(await bodyOf(target, INPUT, model)).match(/"\w+":77/)?.[0])
    }
    expect(limits).toEqual(['"max_tokens":77', '"max_tokens":77', '"maxOutputTokens":77'])
  })

  test("a signature that is missing is made up for the models that ask for one, and for no other", async () => {
    const has = async (model: string): Promise<boolean> =>
      JSON.stringify(await bodyOf(dialect("google"), LONG, connect(dialect("google"), model))).includes("Signature")
    expect(await has("gemini-3-pro-preview")).toBe(true)
    expect(await has("gemini-flash-latest")).toBe(true)
    expect(await has("gemini-2.5-flash")).toBe(false)
    expect(await has("models/gemini-1.5-pro")).toBe(false)
  })
})

describe("names", () => {
  const form = { accepted: /^[A-Za-z_][\w-]{0,63}$/, foreign: /[^\w-]/gu }

  test("that are accepted stay, others get one that is free, and all find back", () => {
    const all = [
      "a_b",
      "a b",
      "a.b",
      "",
      "1",
      "-x",
      "__proto__",
      "constructor",
      "x".repeat(70),
      "x".repeat(64),
      "😀",
      "e\u0301",
    ]
    for (const order of [all, all.toReversed()]) {
      const names = new Names(order, form)
      const sent = order.map((name) => names.toTheirs(name))
      expect(new Set(sent).size).toBe(order.length)
      for (const name of sent) expect(name).toMatch(form.accepted)
      expect(sent.map((name) => names.toOurs(name))).toEqual(order)
      for (const name of ["a_b", "__proto__", "constructor", "x".repeat(64)]) expect(names.toTheirs(name)).toBe(name)
    }
    expect(new Names(all, form).toOurs("never sent")).toBe("never sent")
  })

  test.each(DIALECTS)("of tools and arguments are ours again in a call of $name", async (target) => {
    plan(target, { calls: [{ id: "n1", name: "____", json: '{"____":"b","other":"c"}' }] })
    const { events } = await listen(connect(target), { input: LONG })
    expect(callsOf(events)).toMatchObject([{ name: "读 文件", input: { "文件 名": "b", other: "c" } }])
  })
})

describe("ids", () => {
  const input = (...calls: ToolCall[]): ProviderInput => ({
    ...INPUT,
    messages: [
      { role: "user", content: "go" },
      { role: "assistant", content: "", toolCalls: calls },
      ...calls.map(({ id }) => ({ role: "toolResult" as const, toolCallId: id, content: "ok" })),
    ],
  })

  test("B13: that repeat on a path are sent once each, the results with them", () => {
    const twice = [
      ...input({ id: "x", name: "echo", input: {} }).messages,
      ...input({ id: "x", name: "echo", input: {} }).messages,
    ]
    const { turns } = new Conversation({ ...INPUT, messages: twice }, new CallMemory(), /^\w{1,9}$/)
    const calls = turns.flatMap((turn) => (turn.role === "assistant" ? turn.calls : []))
    const results = turns.flatMap((turn) => (turn.role === "user" ? turn.results : []))
    expect(calls.map((call) => call.id)).toEqual(["x", "call00002"])
    expect(results.map((result) => result.id)).toEqual(["x", "call00002"])
  })

  test("of another service are replaced where this one would refuse them", async () => {
    const id = "x".repeat(50)
    const body = await bodyOf(dialect("openai"), input({ id, name: "echo", input: {} }))
    expect(JSON.stringify(body)).not.toContain(id)
    expect(JSON.stringify(await bodyOf(dialect("anthropic"), input({ id, name: "echo", input: {} })))).toContain(id)
  })

  test.each(DIALECTS)("B15: that $name gave go back to it, also those that cannot be ours", async (target) => {
    const strange = `a|b/${"é".repeat(200)}`
    for (const id of ["plain_1", strange]) {
      const model = connect(target)
      plan(target, { calls: [{ id, name: "echo", json: '{"text":"a"}' }] }, { texts: ["Done."] })
      const { history } = await runTurn(model)
      const [call] = history[1]?.role === "assistant" ? (history[1].toolCalls ?? []) : []
      expect(call?.id).toBe(id === strange ? "call00001" : "plain_1")
      const again = JSON.stringify(service.requests.at(-1)?.body)
      expect(again.split(JSON.stringify(id)).length - 1).toBe(2)
    }
  })

  test("that Gemini does not give are not sent to it", async () => {
    const target = dialect("google")
    plan(target, { calls: [{ name: "echo", json: "{}" }] }, { texts: ["Done."] })
    await runTurn(connect(target))
    expect(JSON.stringify(service.requests.at(-1)?.body)).not.toContain('"id"')
  })
})

describe("what a service wants to hear again", () => {
  const signed: Frame[] = [
    { data: '{"candidates":[{"content":{"parts":[{"text":"hidden","thought":true,"thoughtSignature":"sig-0"}]}}]}' },
    {
      data: JSON.stringify({
        candidates: [
          {
            content: {
              parts: [
                { functionCall: { id: "g1", name: "echo", args: { text: "a" } }, thoughtSignature: "sig-1" },
                { functionCall: { id: "g2", name: "echo", args: { text: "b" } } },
              ],
            },
            finishReason: "STOP",
          },
        ],
      }),
    },
  ]

  test("B36: signatures of Gemini go back to Gemini, and nowhere else", async () => {
    const google = dialect("google")
    const state = s12.state()
    service.plan({ pieces: [encode(signed)] })
    plan(google, { texts: ["Done."] })
    const model = connect(google)
    await runTurn(model, state)
    expect(service.requests[1]?.body).toMatchObject({
      contents: [
        {},
        {
          role: "model",
          parts: [
            { functionCall: { id: "g1", name: "echo" }, thoughtSignature: "sig-1" },
            { functionCall: { id: "g2", name: "echo" } },
          ],
        },
        { parts: [{ functionResponse: { id: "g1" } }, { functionResponse: { id: "g2" } }] },
      ],
    })
    expect(JSON.stringify(s12.history(state))).not.toMatch(/sig-|hidden/)
    for (const target of [dialect("anthropic"), dialect("openai")]) {
      plan(target, { texts: ["Hello."] })
      await runTurn(connect(target), state)
      expect(JSON.stringify(service.requests.at(-1)?.body)).not.toMatch(/sig-|hidden|[sS]ignature|functionCall/)
    }
  })

  test("another call under the same id, as on another branch, does not get the signature", async () => {
    const google = dialect("google")
    service.plan({ pieces: [encode(signed)] })
    const model = connect(google)
    await listen(model)
    const calls = [{ id: "g1", name: "echo", input: { text: "other" } }]
    const messages: ProviderInput["messages"] = [
      { role: "user", content: "go" },
      { role: "assistant", content: "", toolCalls: calls },
      { role: "toolResult", toolCallId: "g1", content: "ok" },
    ]
    expect(JSON.stringify(await bodyOf(google, { ...INPUT, messages }, model))).not.toContain("sig-1")
  })

  test("thoughts of Anthropic go back in front of the calls that they led to", async () => {
    const target = dialect("anthropic")
    const thoughts = [
      { type: "content_block_start", index: 9, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", index: 9, delta: { type: "thinking_delta", thinking: "hid" } },
      { type: "content_block_delta", index: 9, delta: { type: "thinking_delta", thinking: "den" } },
      { type: "content_block_delta", index: 9, delta: { type: "signature_delta", signature: "sig-9" } },
      { type: "content_block_stop", index: 9 },
      { type: "content_block_start", index: 10, content_block: { type: "redacted_thinking", data: "zzz" } },
      { type: "content_block_stop", index: 10 },
    ].map((event): Frame => ({ event: event.type, data: JSON.stringify(event) }))
    const [start, ...rest] = target.frames({ texts: ["I look."], calls: [{ id: "c1", name: "echo", json: "{}" }] })
    const state = s12.state()
    service.plan({ pieces: [encode([start as Frame, ...thoughts, ...rest])] })
    plan(target, { texts: ["Done."] })
    await runTurn(connect(target), state)
    expect(service.requests[1]?.body).toMatchObject({
      messages: [
        {},
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hidden", signature: "sig-9" },
            { type: "redacted_thinking", data: "zzz" },
            { type: "text", text: "I look." },
            { type: "tool_use", id: "c1" },
          ],
        },
        {},
      ],
    })
    expect(JSON.stringify(s12.history(state))).not.toMatch(/sig-9|hidden|zzz/)
  })

  test("B38: thoughts of compatible servers, under whatever name, are neither kept nor sent", async () => {
    const target = dialect("openai")
    const names = ["reasoning", "reasoning_content", "reasoning_text", "reasoning_details", "thinking"]
    const thoughts = names.map((name) => ({ data: JSON.stringify({ choices: [{ delta: { [name]: `t-${name}` } }] }) }))
    const state = s12.state()
    service.plan({ pieces: [encode([...thoughts, ...target.frames({ texts: ["plain"] })])] })
    plan(target, { texts: ["Done."] })
    await runTurn(connect(target), state)
    await runTurn(connect(target), state)
    const history: Message[] = s12.history(state)
    expect(history[1]).toEqual({ role: "assistant", content: "plain", stopReason: "stop" })
    expect(JSON.stringify([history, service.requests.map((request) => request.body)])).not.toMatch(
      /t-|reasoning|thinking/,
    )
  })
})
