/**
 * The helpers of the course's own chapters. Whoever writes a chapter in another way has others, so only the course is held to these.
 */
import { expect, test } from "vitest"
import { ask, call, type Message, recordOutput, result, say, settle, tool } from "../support/driver.ts"
import { ownPart } from "../support/ladder.ts"
import { ODD } from "../support/odd.ts"

ownPart("s01", "helpers", (chapter) => {
  test("an error keeps its words where they mention an object that could not be shown", () => {
    expect(chapter.core.describeError(new Error("expected a list, got [object Object]"))).toContain("expected a list")
  })

  test("a message is judged and finished by its text and its end alone", () => {
    expect(chapter.core.findProblem("text", "stop")).toBeUndefined()
    expect(chapter.core.findProblem("text", "error")).toMatch(/\S/)
    expect(chapter.core.finishMessage("text", "stop")).toEqual({
      role: "assistant",
      content: "text",
      stopReason: "stop",
    })
  })

  test("an error behind blanks begins with the error", () => {
    expect(chapter.core.failMessage(" \n\t", new Error("no line")).content).toBe("error: no line")
    expect(chapter.core.failMessage("half ", new Error("no line")).content).toBe("half \nerror: no line")
  })

  test("a request is built from a state alone", () => {
    const said: Message = { role: "user", content: "Hello" }
    expect(chapter.core.buildProviderInput(chapter.state(said)).messages).toEqual([said])
    expect(chapter.core.buildProviderInput(chapter.state(said), chapter.options({})).messages).toEqual([said])
  })

  test("what is stored and what is handed out is frozen", async () => {
    const state = chapter.state()
    const options = chapter.options({ provider: chapter.provider(say("fixed")) })
    const last = await chapter.core.runOneTurn(state, "go", options)
    expect([last, ...chapter.stored(state)].every((message) => Object.isFrozen(message))).toBe(true)
    const failing = chapter.options({ provider: chapter.provider(new Error("no line")) })
    expect(Object.isFrozen(await chapter.core.runOneTurn(state, "again", failing))).toBe(true)
  })
})

ownPart("s02", "helpers", (chapter) => {
  test("says of what is no tool what it should have been; a spec without input has none", () => {
    const registry = chapter.registry()
    expect(() => registry.register({} as never)).toThrow("a tool: expected an object with a spec, got Object")
    const { name, description } = tool().spec
    registry.register({ ...tool(), spec: { name, description } as never })
    expect(registry.getSpecs()).toEqual([{ name, description, input: {} }])
  })
})

ownPart("s04", "helpers", (chapter) => {
  test.each(ODD)("describes %s in words that say something", (_name, thrown) => {
    expect(chapter.core.describeError(thrown)).toMatch(/^(?!\[object)\S/)
  })

  test("records a result as soon as it and those before it are there, and does not wait for the rest", async () => {
    const output = recordOutput()
    const state = chapter.state()
    const options = chapter.options({
      output,
      registry: chapter.registry(tool()),
      provider: chapter.provider(ask(call("a"), call("b")), say("done")),
      execute: ({ id }) => (id === "a" ? result(id) : new Promise(() => {})),
    })
    void chapter.core.runOneTurn(state, "go", options)
    await settle()
    expect(chapter.history(state).at(-1)).toEqual(result("a"))
    expect(output.lines.at(-1)).toBe("ok: a")
  })

  test("says of an unknown tool that it is one, and which", () => {
    expect(chapter.registry().run(call("a", "absent"))).toBe('error: unknown tool "absent"')
  })
})

ownPart("s05", "helpers", (chapter) => {
  test("says of hooks that are none what they should have been", () => {
    const answer = chapter.core.executeToolCall(chapter.registry(tool()), 7 as never, call("a"))
    expect(answer).toEqual(result("a", "error: hooks: expected an object of functions, got Number"))
  })
})

ownPart("s09", "helpers", (chapter) => {
  test("says of a clash what clashes, a tool or a command", () => {
    const output = recordOutput()
    const runtime = new chapter.core.ExtensionRuntime(chapter.registry(tool("t")), output)
    runtime.use((api) => api.registerCommand({ name: "c", run: () => "" }), "first")
    runtime.use((api) => api.registerTool(tool("t")), "second")
    runtime.use((api) => api.registerCommand({ name: "c", run: () => "" }), "third")
    expect(output.lines).toEqual([
      'extension "second" failed: tool "t" is already registered',
      'extension "third" failed: command "c" is already registered',
    ])
  })
})

ownPart("s11", "helpers", (chapter) => {
  test("says that it was the project whose code could not be had, and why", async () => {
    const output = recordOutput()
    const runtime = new chapter.core.ExtensionRuntime(chapter.registry(), output)
    await runtime.useProject(() => Promise.reject(new Error("no such file")), "trusted")
    expect(output.lines).toEqual(['extension "project" failed: no such file'])
  })
})

ownPart("s08", "helpers", (chapter) => {
  test("B120: a cut never parts a character", () => {
    const text = "a😀".repeat(8)
    for (let limit = 1; limit < text.length; limit++) {
      const kept = chapter.core.cutText(text, limit).split("\n[cut: ")[0] ?? ""
      expect(kept.isWellFormed()).toBe(true)
      expect(text.startsWith(kept)).toBe(true)
      expect(kept.length).toBeGreaterThanOrEqual(limit - 1)
      expect(kept.length).toBeLessThanOrEqual(limit)
    }
    expect(chapter.core.cutText(text, text.length)).toBe(text)
  })
})

ownPart("s12", "helpers", (chapter) => {
  test("picks the named contents", () => {
    expect(chapter.core.pick({ a: "1", b: "2", c: "3" }, ["c", "a"])).toEqual({ c: "3", a: "1" })
  })

  test.each([undefined, null, 7])("says of %s that it is refused as a package", (pkg) =>
    expect(() => chapter.core.loadPackage(pkg as never)).toThrow(/^package refused:\n/),
  )

  test("says of contents that are none what they should have been", () => {
    const manifest = { name: "empty", tools: [], commands: [], resources: [] }
    expect(() => chapter.core.loadPackage({ manifest, contents: null as never })).toThrow("expected texts by name")
  })
})
