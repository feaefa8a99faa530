import { describe, expect, test } from "vitest"
import { ending, type Message, type ProviderEvent, type Reply, recordOutput, say } from "../support/driver.ts"
import { brokenOff, edit, failure } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

/** Things that can be thrown. What is harder to describe comes with other people's code, in s04. */
const THROWN: [string, unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["a string", "plain words"],
  ["an empty string", ""],
  ["an object without a message", { code: 7 }],
  ["an error with an empty message", new Error("")],
]

part("s01", "State", (chapter) => {
  exportsItsParts("s01", chapter)

  test("keeps the person's words and the model's answer, in this order", async () => {
    const { history, last } = await chapter.run({ prompt: "Hello", replies: [say("Good day")] })
    expect(history).toEqual([
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Good day", stopReason: "stop" },
    ])
    expect(last).toEqual(history[1])
  })

  test("sends the whole history with every request, without our stop reasons", async () => {
    const state = chapter.state()
    const provider = chapter.provider(say("one"), say("two"))
    const options = chapter.options({ provider })
    await chapter.core.runOneTurn(state, "first", options)
    await chapter.core.runOneTurn(state, "second", options)
    expect(provider.requests.map((request) => request.messages)).toEqual([
      [{ role: "user", content: "first" }],
      [
        { role: "user", content: "first" },
        { role: "assistant", content: "one" },
        { role: "user", content: "second" },
      ],
    ])
  })

  test("shows what the turn produced, and not the person's own words", async () => {
    const output = recordOutput()
    await chapter.run({ prompt: "Hello", replies: [say("Good day")], output })
    expect(output.lines).toEqual(["Good day"])
  })

  test("stores a failing provider as a readable message and goes on", async () => {
    const state = chapter.state()
    const { last } = await chapter.run({ state, replies: [new Error("no line")] })
    expect(last).toEqual({ role: "assistant", content: failure("no line"), stopReason: "error" })
    const { history } = await chapter.run({ state, prompt: "again", replies: [say("back")] })
    expect(history.map((message) => message.content)).toEqual(["go", failure("no line"), "again", "back"])
  })

  test.each(THROWN)("survives a provider that throws %s", async (_name, thrown) => {
    const reply = (): never => {
      throw thrown
    }
    const { last } = await chapter.run({ replies: [reply] })
    expect(last).toEqual({ role: "assistant", content: failure(), stopReason: "error" })
  })

  test("B35: an error that a provider gives with a text keeps the text and says that it is an error", async () => {
    const { last } = await chapter.run({ replies: [ending("error", say("queue full"))] })
    expect(last).toEqual({ role: "assistant", content: brokenOff("queue full"), stopReason: "error" })
  })

  test.each(["max_tokens", "", undefined, null])(
    "I3: a message that ends with %j is an error that says so",
    async (reason) => {
      const { last } = await chapter.run({ replies: [ending(reason as never, say("half"))] })
      expect(last).toEqual({ role: "assistant", content: brokenOff("half", reason || ""), stopReason: "error" })
    },
  )

  test("B35: an error without a word gets words", async () => {
    const { last } = await chapter.run({ replies: [ending("error", say())] })
    expect(last).toEqual({ role: "assistant", content: failure(), stopReason: "error" })
  })

  describe("B122: a turn without text leaves nothing behind that a provider would refuse", () => {
    test.each([
      ["throws before the first word", new Error("early")],
      ["ends with empty text", say()],
      ["ends with blank text", say(" \n")],
    ])("%s", async (_name, reply) => {
      const state = chapter.state()
      const provider = chapter.provider(reply, say("a"), say("b"), say("c"))
      for (const prompt of ["0", "1", "2", "3"])
        await chapter.core.runOneTurn(state, prompt, chapter.options({ provider }))
      expect(chapter.history(state).map((message) => message.content)).toEqual([
        "0",
        failure(),
        "1",
        "a",
        "2",
        "b",
        "3",
        "c",
      ])
      const sent = provider.requests.flatMap((request) => request.messages)
      expect(sent.filter((message) => message.content.trim() === "")).toEqual([])
    })
  })

  test.each<[string, Reply]>([
    ["an answer", say("true")],
    ["an error", new Error("no line")],
  ])("hands out %s that cannot be edited into the history", async (_name, reply) => {
    const state = chapter.state()
    const last = await chapter.core.runOneTurn(state, "go", chapter.options({ provider: chapter.provider(reply) }))
    const before = chapter.history(state)
    edit(last)
    expect(chapter.history(state)).toEqual(before)
  })

  test("what is in the history cannot be edited by whoever reads it", async () => {
    const state = chapter.state()
    await chapter.run({ state, replies: [say("fixed")] })
    const before = chapter.history(state)
    for (const message of chapter.stored(state)) edit(message)
    expect(chapter.history(state)).toEqual(before)
  })

  test("B36, B38: nothing that a vendor adds gets into the history", async () => {
    const events = say("plain").map((event) => ({ ...event, signature: "x", usage: { tokens: 3 } })) as ProviderEvent[]
    const complete = async () => ({ role: "assistant", content: "plain", stopReason: "stop", signature: "x", usage: 3 })
    const provider = chapter.number < 3 ? { complete } : chapter.provider(events)
    const { history } = await chapter.run({ provider: provider as never })
    expect(history.at(-1)).toEqual({ role: "assistant", content: "plain", stopReason: "stop" })
  })

  test("only ever adds to the history", async () => {
    const state = chapter.state()
    const replies = [say("1"), new Error("2"), say(""), say("4")]
    let before: Message[] = []
    for (const reply of replies) {
      const { history } = await chapter.run({ state, replies: [reply] })
      expect(history.slice(0, before.length)).toEqual(before)
      expect(history.length).toBe(before.length + 2)
      before = history
    }
  })
})
