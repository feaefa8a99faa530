import { describe, expect, test } from "vitest"
import { ask, call, type Driver, recordOutput, result, say, settle, tool } from "../support/driver.ts"
import { failure, says } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

type Extension = Parameters<InstanceType<Driver["core"]["ExtensionRuntime"]>["use"]>[0]

/** A runtime over a registry with one built-in tool, and what it reports. */
function runtimeOf(chapter: Driver) {
  const registry = chapter.registry(tool("read_file"))
  const output = recordOutput()
  return { registry, reports: output.lines, runtime: new chapter.core.ExtensionRuntime(registry, output) }
}

/** Expects one line for each, in which these words stand. */
function expectReports(reports: readonly string[], ...expected: string[][]): void {
  expect(reports.length).toBe(expected.length)
  for (const [index, words] of expected.entries()) {
    expect(reports[index]).not.toMatch(/[\r\n]/)
    expect(words.filter((word) => !says(reports[index] ?? "", word))).toEqual([])
  }
}

/** An extension with a name, which is the name of its function. */
function named(name: string, setup: Extension): Extension {
  return Object.defineProperty(setup, "name", { value: name })
}

part("s09", "Extensions", (chapter) => {
  exportsItsParts("s09", chapter)

  test("brings a tool that the model is shown and that runs through the hooks", async () => {
    const { registry, runtime, reports } = runtimeOf(chapter)
    expect(runtime.use((api) => api.registerTool(tool("echo")))).toBe(true)
    const { history, requests } = await chapter.run({
      registry,
      extensions: runtime,
      hooks: { beforeToolCall: ({ id }) => (id === "b" ? { type: "block", reason: "no" } : { type: "allow" }) },
      replies: [ask(call("a"), call("b")), say("done")],
    })
    expect(requests[0]?.tools.map((spec) => spec.name)).toEqual(["read_file", "echo"])
    expect(history.slice(2, 4)).toEqual([result("a"), result("b", "error: blocked: no")])
    expect(reports).toEqual([])
  })

  test("brings commands; a command that fails gives a text", () => {
    const { runtime } = runtimeOf(chapter)
    runtime.use((api) => {
      api.registerCommand({ name: "hello", run: () => "hi" })
      api.registerCommand({ name: "bad", run: () => JSON.parse("{") })
      api.registerCommand({ name: "odd", run: () => 7 as never })
    })
    expect(runtime.getCommands()).toEqual(["hello", "bad", "odd"])
    expect(runtime.runCommand("hello")).toBe("hi")
    expect(runtime.runCommand("bad")).toMatch(/^error: \S/)
    expect(runtime.runCommand("odd")).toMatch(/^error: .*odd/)
    expect(runtime.runCommand("constructor")).toEqual(failure("constructor"))
  })

  test("hears what really happens in the loop, in order, and the end once", async () => {
    const { registry, runtime } = runtimeOf(chapter)
    const heard: unknown[] = []
    runtime.use((api) => {
      api.registerTool(tool("echo"))
      api.on("message", (event) => heard.push({ ...event }))
      api.on("done", (event) => heard.push({ ...event }))
    })
    await chapter.run({ registry, extensions: runtime, replies: [ask(call("a")), say("finished")] })
    expect(heard).toEqual([
      { type: "message", content: "" },
      { type: "message", content: "ok: a" },
      { type: "message", content: "finished" },
      { type: "done" },
    ])
  })

  test("a failing turn and a reached limit are heard as well", async () => {
    const { registry, runtime } = runtimeOf(chapter)
    const heard: string[] = []
    runtime.use((api) => {
      api.registerTool(tool("echo"))
      api.on("message", (event) => heard.push(event.type === "message" ? event.content : ""))
      api.on("done", () => heard.push("done!"))
    })
    await chapter.run({ registry, extensions: runtime, replies: [new Error("no line")] })
    await chapter.run({ registry, extensions: runtime, maxTurns: 1, replies: [ask(call("a"))] })
    expect(heard).toEqual(["error: no line", "done!", "", "ok: a", "max turns reached", "done!"])
  })

  test("calls handlers in the order of registration; one that fails is reported and harms nobody", async () => {
    const { runtime, reports } = runtimeOf(chapter)
    const heard: string[] = []
    const listen = (name: string, fail?: () => unknown) =>
      runtime.use(
        named(name, (api) =>
          api.on("message", () => {
            heard.push(name)
            return fail?.() as undefined
          }),
        ),
      )
    listen("a", () => JSON.parse("{"))
    listen("b", () => Promise.reject(new Error("late")))
    listen("c")
    const { last } = await chapter.run({ extensions: runtime, replies: [say("fine")] })
    await settle()
    expect(heard).toEqual(["a", "b", "c"])
    expectReports(reports, ["a"], ["b", "late"])
    expect(last.content).toBe("fine")
  })

  test("no handler can change what the others hear", async () => {
    const { runtime } = runtimeOf(chapter)
    const heard: string[] = []
    runtime.use((api) =>
      api.on("message", (event) => {
        ;(event as { content: string }).content = "changed"
      }),
    )
    runtime.use((api) => api.on("message", (event) => heard.push(event.type === "message" ? event.content : "")))
    await chapter.run({ extensions: runtime, replies: [say("true")] })
    expect(heard).toEqual(["true"])
  })

  describe("use is all or nothing", () => {
    const everything: Extension = (api) => {
      api.registerTool(tool("new"))
      api.registerCommand({ name: "new", run: () => "" })
      api.on("message", () => {
        throw new Error("should not be heard")
      })
    }

    test.each<[string, Extension, string]>([
      [
        "throws at the end of its setup",
        (api) => {
          everything(api)
          throw new Error("half way")
        },
        "half way",
      ],
      [
        "B74: takes the name of a tool",
        (api) => {
          everything(api)
          api.registerTool(tool("read_file"))
        },
        "read_file",
      ],
      [
        "takes the name of a command",
        (api) => {
          everything(api)
          api.registerCommand({ name: "new", run: () => "" })
        },
        "new",
      ],
      [
        "brings a tool that is none",
        (api) => {
          everything(api)
          api.registerTool({} as never)
        },
        "",
      ],
      [
        "is asynchronous",
        (async (api: never) => (everything as (api: never) => void)(api)) as unknown as Extension,
        "",
      ],
      [
        "rejects",
        (async () => {
          throw new Error("late")
        }) as unknown as Extension,
        "",
      ],
    ])("one that %s adds nothing and is reported by name", async (_name, setup, reason) => {
      const { registry, runtime, reports } = runtimeOf(chapter)
      expect(runtime.use(named("culprit", setup))).toBe(false)
      expect(reports).toEqual([expect.stringMatching(new RegExp(`culprit.*${reason}`))])
      expect(registry.getSpecs().map((spec) => spec.name)).toEqual(["read_file"])
      expect(runtime.getCommands()).toEqual([])
      runtime.emit({ type: "message", content: "x" })
      await settle()
      expect(reports.length).toBe(1)
      expect(runtime.use(named("next", (api) => api.registerTool(tool("new"))))).toBe(true)
    })
  })

  test.each([[["a", "b"]], [["b", "a"]]])(
    "B75: of two with the same names, the first stays, whichever it is (%s)",
    (order) => {
      const { registry, runtime, reports } = runtimeOf(chapter)
      for (const name of order) {
        runtime.use(
          named(name, (api) => {
            api.registerTool(tool("t", () => `tool of ${name}`))
            api.registerCommand({ name: "c", run: () => `command of ${name}` })
          }),
        )
      }
      expect(registry.run(call("1", "t"))).toBe(`tool of ${order[0]}`)
      expect(runtime.runCommand("c")).toBe(`command of ${order[0]}`)
      expectReports(reports, [order[1] ?? "", "t"])
    },
  )

  test("a clash of commands says that it is one, and which", () => {
    const { runtime, reports } = runtimeOf(chapter)
    for (const name of ["first", "second"])
      runtime.use(named(name, (api) => api.registerCommand({ name: "c", run: () => name })))
    expect(runtime.runCommand("c")).toBe("first")
    expectReports(reports, ["second", "c"])
  })

  test("one without a name, or that is no function at all, is reported as anonymous", () => {
    const { runtime, reports } = runtimeOf(chapter)
    expect(runtime.use(undefined as never)).toBe(false)
    expect(
      runtime.use(() => {
        throw new Error("half way")
      }),
    ).toBe(false)
    expectReports(reports, ["anonymous"], ["anonymous", "half way"])
  })

  test("an API that was kept registers nothing later, whether its extension was added or not", () => {
    for (const fails of [false, true]) {
      const { registry, runtime } = runtimeOf(chapter)
      let kept: Parameters<Extension>[0] | undefined
      runtime.use((api) => {
        kept = api
        if (fails) throw new Error("no")
      })
      expect(() => kept?.registerTool(tool("late"))).toThrow()
      expect(() => kept?.registerCommand({ name: "late", run: () => "" })).toThrow()
      expect(() => kept?.on("done", () => {})).toThrow()
      expect(registry.getSpecs().length).toBe(1)
    }
  })

  test("a tool, a command and a handler that belong to an object keep it", async () => {
    const { registry, runtime } = runtimeOf(chapter)
    class Counter {
      count = 0
      spec = tool("count").spec
      name = "counted"
      handler(): string {
        return `${++this.count}`
      }
      run(): string {
        return `so far: ${this.count}`
      }
    }
    const counter = new Counter()
    runtime.use((api) => {
      api.registerTool(counter)
      api.registerCommand(counter)
    })
    const replies = [ask(call("a", "count")), ask(call("b", "count")), say("done")]
    const { history } = await chapter.run({ registry, extensions: runtime, replies })
    expect(history.filter(({ role }) => role === "toolResult")).toEqual([result("a", "1"), result("b", "2")])
    expect(runtime.runCommand("counted")).toBe("so far: 2")
  })

  test("a broken place for reports harms nobody", () => {
    const log = () => {
      throw new Error("closed")
    }
    const runtime = new chapter.core.ExtensionRuntime(chapter.registry(), { log })
    expect(runtime.use(() => JSON.parse("{"))).toBe(false)
  })
})
