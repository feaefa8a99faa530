import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ask, call, type Message, result, type State, say, settle, tool } from "../support/driver.ts"
import { complaintOf, edit, failure } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

const user = (content: string): Message => ({ role: "user", content })
const says = (content: string): Message => ({ role: "assistant", content, stopReason: "stop" })

part("s07", "Session", (chapter) => {
  exportsItsParts("s07", chapter)

  test("hangs each message below the one before it", () => {
    const tree = new chapter.core.SessionTree()
    const ids = [user("a"), says("b")].map((message) => tree.append(message).id)
    expect(tree.allEntries()).toEqual([
      { ...user("a"), id: ids[0], parentId: null },
      { ...says("b"), id: ids[1], parentId: ids[0] },
    ])
    expect(tree.leafId).toBe(ids[1])
  })

  test("keeps the whole message: calls, call ids and stop reasons come back from the path", async () => {
    const { history } = await chapter.run({ tools: [tool()], replies: [ask(call("a")), say("done")] })
    expect(history).toEqual([
      user("go"),
      { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("a")] },
      result("a"),
      says("done"),
    ])
  })

  test("grows a second branch from where it is moved to, and keeps the first", () => {
    const tree = new chapter.core.SessionTree()
    const first = tree.append(user("a"))
    const left = tree.append(says("left"))
    tree.moveTo(first.id)
    const right = tree.append(says("right"))
    expect(tree.currentPath()).toEqual([user("a"), says("right")])
    expect(right.parentId).toBe(first.id)
    tree.moveTo(left.id)
    expect(tree.currentPath()).toEqual([user("a"), says("left")])
    expect(tree.allEntries().length).toBe(3)
  })

  test("B57: null stands before the first message", () => {
    const tree = chapter.state(user("a"), says("b")).messages
    tree.moveTo(null)
    expect([tree.leafId, tree.currentPath()]).toEqual([null, []])
    expect(tree.append(user("fresh")).parentId).toBe(null)
    expect(tree.currentPath()).toEqual([user("fresh")])
  })

  test("B57: a message of the person without an answer can be moved to", async () => {
    const state = chapter.state(user("a"), says("b"))
    const id = state.messages.allEntries()[0]?.id ?? ""
    state.messages.moveTo(id)
    const { requests } = await chapter.run({ state, prompt: "again", replies: [say("ok")] })
    expect(requests[0]?.messages).toEqual([user("a"), user("again")])
  })

  test.each(["entry_99", "", "__proto__", "constructor", undefined as never])(
    "B57: moving to the unknown id %s throws and changes nothing",
    (id) => {
      const { messages: tree } = chapter.state(user("a"), says("b"))
      const before = [tree.leafId, tree.allEntries()]
      const complaint = complaintOf(() => tree.moveTo(id)) ?? "nothing was thrown"
      expect(complaint).toContain(String(id))
      expect([tree.leafId, tree.allEntries()]).toEqual(before)
    },
  )

  test("B57: no one can stand between calls and their results", () => {
    const asks: Message = { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("x"), call("y")] }
    const { messages: tree } = chapter.state(user("a"), asks, result("x"), result("y"), says("b"))
    const ids = tree.allEntries().map((entry) => entry.id)
    const leaf = tree.leafId
    expect(() => tree.moveTo(ids[1] ?? "")).toThrow(/\bx\b/)
    expect(() => tree.moveTo(ids[2] ?? "")).toThrow(/\by\b/)
    expect(tree.leafId).toBe(leaf)
    for (const id of [ids[0], ids[3], ids[4]]) {
      tree.moveTo(id ?? "")
      expect(() => chapter.core.assertPairedToolCalls(tree.currentPath())).not.toThrow()
    }
  })

  describe("B55: who leaves a branch leaves what was said there", () => {
    const token = "token-9f3"

    async function visitBranch(): Promise<{ state: State; fork: string | null }> {
      const state = chapter.state(user("start"), says("started"))
      const fork = state.messages.leafId
      await chapter.run({ state, tools: [tool("echo", () => token)], replies: [ask(call("a")), say("seen")] })
      return { state, fork }
    }

    test("no request of the new branch knows it", async () => {
      const { state, fork } = await visitBranch()
      state.messages.moveTo(fork)
      const { requests } = await chapter.run({ state, tools: [tool()], replies: [ask(call("b")), say("clean")] })
      expect(JSON.stringify(requests)).not.toContain(token)
      expect(JSON.stringify(state.messages.allEntries())).toContain(token)
    })

    test("a tool cannot branch during the turn; the model is told so", async () => {
      const { state, fork } = await visitBranch()
      const mover = tool("move", () => {
        state.messages.moveTo(fork)
        return "moved"
      })
      const { history } = await chapter.run({ state, tools: [mover], replies: [ask(call("m", "move")), say("done")] })
      expect(history.slice(-2)).toEqual([result("m", failure()), says("done")])
      expect(state.messages.currentPath().at(-1)?.content).toBe("done")
    })

    test("nor can a hook; its call is not run", async () => {
      const { state, fork } = await visitBranch()
      let runs = 0
      const hooks = {
        beforeToolCall: () => {
          state.messages.moveTo(fork)
          return { type: "allow" } as const
        },
      }
      const { history } = await chapter.run({
        state,
        hooks,
        tools: [tool("echo", () => `${++runs}`)],
        replies: [ask(call("m")), say("done")],
      })
      expect(runs).toBe(0)
      expect(history.at(-2)).toEqual(result("m", failure()))
    })
  })

  test("one turn at a time: a second one is refused from the first moment, and the first is not disturbed", async () => {
    const state = chapter.state()
    const first = chapter.run({ state, prompt: "first", tools: [tool()], replies: [ask(call("a")), say("done")] })
    await expect(chapter.run({ state, prompt: "second" })).rejects.toThrow()
    expect((await first).history).toEqual([
      user("first"),
      { role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("a")] },
      result("a"),
      says("done"),
    ])
    await expect(chapter.run({ state, prompt: "third" })).resolves.toHaveProperty("last.content", "done")
  })

  test("a tool that puts another tree in place does so for the next turn", async () => {
    const state = chapter.state()
    const old = state.messages
    const clear = tool("clear", () => {
      state.messages = new chapter.core.SessionTree()
      return "cleared"
    })
    await chapter.run({ state, tools: [clear], replies: [ask(call("a", "clear")), say("done")] })
    expect(old.currentPath().map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"])
    expect(state.messages.allEntries()).toEqual([])
    await expect(chapter.run({ state })).resolves.toHaveProperty("last.content", "done")
  })

  test("a message without calls has no field for them, whoever appends it", () => {
    const tree = new chapter.core.SessionTree()
    const entry = tree.append({ role: "assistant", content: "x", stopReason: "stop", toolCalls: [] })
    expect("toolCalls" in entry).toBe(false)
  })

  test("a turn that could not run gives the session back", async () => {
    const state = chapter.state(result("orphan"))
    await expect(chapter.run({ state })).rejects.toThrow("orphan")
    state.messages.moveTo(null)
    await expect(chapter.run({ state })).resolves.toHaveProperty("last.content", "done")
  })

  test("a result that is appended brings only our fields", () => {
    const tree = new chapter.core.SessionTree()
    tree.append({ role: "assistant", content: "", stopReason: "toolUse", toolCalls: [call("a")] })
    tree.append(Object.assign(result("a"), { signature: "x" }))
    expect(tree.currentPath().at(-1)).toEqual(result("a"))
  })

  test("B50: an entry that is appended again gets an id of its own and only our fields", () => {
    const tree = new chapter.core.SessionTree()
    const entry = tree.append(says("same"))
    const copies = [1, 2, 3].map(() => tree.append(Object.assign({ signature: "x" }, entry)))
    expect(new Set(tree.allEntries().map(({ id }) => id)).size).toBe(4)
    expect(copies[0]).toEqual({ ...says("same"), id: copies[0]?.id, parentId: entry.id })
    expect(tree.currentPath()).toEqual([1, 2, 3, 4].map(() => says("same")))
  })

  test("B54: three prompts add their own messages, once", async () => {
    const state = chapter.state()
    for (const prompt of ["1", "2", "3"])
      await chapter.run({ state, prompt, tools: [tool()], replies: [ask(call("a")), say("done")] })
    const entries = state.messages.allEntries()
    expect(entries.length).toBe(12)
    expect(new Set(entries.map(({ id }) => id)).size).toBe(12)
    expect(entries.map(({ role }) => role).join()).toBe(Array(3).fill("user,assistant,toolResult,assistant").join())
  })

  test("entries cannot be changed, from the outside or from the inside", () => {
    const owned: Message = { role: "assistant", content: "a", stopReason: "toolUse", toolCalls: [call("x")] }
    const tree = new chapter.core.SessionTree()
    const entry = tree.append(owned)
    owned.content = "b"
    if (owned.toolCalls?.[0] !== undefined) owned.toolCalls[0].input.text = "b"
    tree.allEntries().pop()
    tree.currentPath().pop()
    const { id } = entry
    for (const held of [entry, tree.currentPath(), tree.allEntries()]) edit(held)
    expect(tree.allEntries().map((other) => [other.id, other.content])).toEqual([[id, "a"]])
    expect(tree.currentPath()).toEqual([
      { role: "assistant", content: "a", stopReason: "toolUse", toolCalls: [call("x")] },
    ])
  })

  test("B48: a very long path is walked without a stack", () => {
    const tree = new chapter.core.SessionTree()
    for (let index = 0; index < 20_000; index++) tree.append(user(`${index}`))
    expect(tree.currentPath().map((message) => message.content)).toEqual(
      Array.from({ length: 20_000 }, (_, index) => `${index}`),
    )
  })

  test("I5: any walk of appends and moves agrees with a plain model, and the same walk gives the same bytes", () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant("append" as const), text: fc.string({ maxLength: 3 }) }),
      fc.record({ type: fc.constant("move" as const), to: fc.nat(12) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const trees = [new chapter.core.SessionTree(), new chapter.core.SessionTree()] as const
        const paths: string[][] = [[]]
        let place = 0
        for (const item of steps) {
          if (item.type === "append") {
            for (const tree of trees) tree.append(user(item.text))
            paths.push([...(paths[place] ?? []), item.text])
            place = paths.length - 1
          } else if (item.to < paths.length) {
            place = item.to
            for (const tree of trees) tree.moveTo(item.to === 0 ? null : (tree.allEntries()[item.to - 1]?.id ?? ""))
          }
          expect(trees[0].currentPath().map((message) => message.content)).toEqual(paths[place])
        }
        const bytes = trees.map((tree) => JSON.stringify([tree.allEntries(), tree.currentPath(), tree.leafId]))
        expect(bytes[0]).toBe(bytes[1])
        expect(trees[0].allEntries().length).toBe(paths.length - 1)
      }),
      { numRuns: 200 },
    )
  })

  test("the release of a turn does not depend on timers", async () => {
    const state = chapter.state()
    await chapter.run({ state })
    state.messages.moveTo(null)
    await settle()
    expect(state.messages.leafId).toBe(null)
  })
})
