import { expect, test } from "vitest"
import { cut, ending, type ProviderEvent, say } from "../support/driver.ts"
import { brokenOff, failure } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

part("s03", "Stream", (chapter) => {
  exportsItsParts("s03", chapter)

  test("joins the pieces of a message", async () => {
    const { last } = await chapter.run({ replies: [say("one ", "", "two ", "三 👩‍💻")] })
    expect(last).toEqual({ role: "assistant", content: "one two 三 👩‍💻", stopReason: "stop" })
  })

  test("keeps the text of a stream that throws, with the reason behind it", async () => {
    const { last } = await chapter.run({ replies: [cut(say("half a "), new Error("line broke"))] })
    expect(last).toEqual({ role: "assistant", content: brokenOff("half a", "line broke"), stopReason: "error" })
  })

  test("B33: takes a stream that just ends for an error, wherever it ends", async () => {
    const events = say("a", "b")
    for (let length = 0; length < events.length; length++) {
      const { last } = await chapter.run({ replies: [events.slice(0, length)] })
      const text = ["", "", "a", "ab"][length] ?? ""
      expect(last).toEqual({ role: "assistant", content: brokenOff(text), stopReason: "error" })
    }
  })

  test("B12: an end that the adapter calls an error is never an empty success", async () => {
    const { last } = await chapter.run({ replies: [ending("error", say())] })
    expect(last).toEqual({ role: "assistant", content: failure(), stopReason: "error" })
  })

  test("survives a provider that fails before there is a stream", async () => {
    const stream = (): never => {
      throw new Error("no stream")
    }
    const { last } = await chapter.run({ provider: { stream } })
    expect(last.content).toEqual(failure("no stream"))
  })

  test("stops reading at the end of the message and closes the stream", async () => {
    const seen: string[] = []
    async function* stream(): AsyncGenerator<ProviderEvent> {
      try {
        yield* say("done")
        seen.push("read on")
        yield { type: "text_delta", text: " and more" }
      } finally {
        seen.push("closed")
      }
    }
    const { last } = await chapter.run({ provider: { stream } })
    expect(last.content).toBe("done")
    expect(seen).toEqual(["closed"])
  })

  test("collects a stream by itself and never rejects", async () => {
    async function* events(): AsyncGenerator<ProviderEvent> {
      yield* cut(say("x"), undefined)
      throw null
    }
    await expect(chapter.core.collectAssistantMessage(events())).resolves.toEqual({
      role: "assistant",
      content: brokenOff("x"),
      stopReason: "error",
    })
  })

  test("turns an event that is not one into an error message", async () => {
    const { last } = await chapter.run({ replies: [[null as unknown as ProviderEvent]] })
    expect(last.role === "assistant" && last.stopReason).toBe("error")
  })
})
