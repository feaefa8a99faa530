import { expect, test } from "vitest"
import { ask, call, result, say, tool } from "../support/driver.ts"
import { failure } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

part("s06", "Snapshot", (chapter) => {
  exportsItsParts("s06", chapter)

  test("B116: what a tool changes during a turn holds from the next turn on", async () => {
    const state = chapter.state()
    const registry = chapter.registry()
    registry.register(
      tool("learn", () => {
        registry.register(tool("learned"))
        state.model = "another"
        return "learned"
      }),
    )
    const provider = chapter.provider(
      ask(call("1", "learn")),
      ask(call("2", "learned")),
      say("done"),
      ask(call("3", "learned")),
      say("done"),
    )
    const options = chapter.options({ provider, registry })
    await chapter.core.runOneTurn(state, "first", options)
    await chapter.core.runOneTurn(state, "second", options)
    expect(chapter.history(state).filter((message) => message.role === "toolResult")).toEqual([
      result("1", "learned"),
      result("2", failure("learned")),
      result("3"),
    ])
    const offered = provider.requests.map((request) => request.tools.map((spec) => spec.name).join())
    expect(offered).toEqual(["learn", "learn", "learn", "learn,learned", "learn,learned"])
    expect(state.model).toBe("another")
  })

  test("a request never names the model", async () => {
    const { requests } = await chapter.run()
    expect(JSON.stringify(requests)).not.toContain("model")
  })

  test("each request of a turn is the one before it and what was said since", async () => {
    const { requests, history } = await chapter.run({
      tools: [tool()],
      replies: [ask(call("a")), ask(call("b"), call("c")), say("done")],
    })
    const sent = requests.map((request) => request.messages)
    expect(sent.map((messages) => messages.length)).toEqual([1, 3, 6])
    expect(sent[1]?.slice(0, 1)).toEqual(sent[0])
    expect(sent[2]?.slice(0, 3)).toEqual(sent[1])
    expect(sent[2]?.map((message) => message.content)).toEqual(history.slice(0, 6).map((message) => message.content))
  })

  test("a provider that edits its request changes no later request and no history", async () => {
    const replies = [ask(call("a")), ask(call("b")), say("done")].map(
      (events) => (input: { messages: unknown[]; tools: unknown[] }) => {
        input.messages.length = 0
        input.tools.length = 0
        return events
      },
    )
    const { requests, history } = await chapter.run({ tools: [tool()], replies })
    expect(requests.map((request) => [request.messages.length, request.tools.length])).toEqual([
      [1, 1],
      [3, 1],
      [5, 1],
    ])
    expect(history.length).toBe(6)
  })

  test.each([0, 1, 2])("a provider that edits message %i of its request edits no history", async (index) => {
    const reply = ({ messages }: { messages: { content: string }[] }) => {
      const message = messages[index]
      if (message !== undefined) message.content = "edited"
      return say("done")
    }
    const state = chapter.state()
    await chapter.run({ state, replies: [say("one")] })
    const { history } = await chapter.run({ state, replies: [reply] })
    expect(history.slice(0, 3).map((message) => message.content)).toEqual(["go", "one", "go"])
  })

  test("a snapshot stays as it was taken", () => {
    const state = chapter.state({ role: "user", content: "early" })
    const registry = chapter.registry(tool("a"))
    const snapshot = chapter.core.createTurnSnapshot(state, chapter.options({ registry }))
    const before = structuredClone(snapshot)
    chapter.append(state, { role: "user", content: "late" })
    registry.register(tool("b"))
    expect(snapshot).toEqual(before)
  })
})
