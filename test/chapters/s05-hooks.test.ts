import { describe, expect, test } from "vitest"
import { ask, call, result, say, settle, tool } from "../support/driver.ts"
import { failure } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

part("s05", "Hooks", (chapter) => {
  exportsItsParts("s05", chapter)

  test("asks before, runs, asks after, in this order and about the same call", async () => {
    const seen: unknown[] = []
    const handler = () => {
      seen.push("run")
      return "raw"
    }
    const { history } = await chapter.run({
      tools: [tool("echo", handler)],
      hooks: {
        beforeToolCall: (item) => {
          seen.push(["before", { ...item }])
          return { type: "allow" }
        },
        afterToolCall: (item, text) => {
          seen.push(["after", { ...item }, text])
          return `${text} and checked`
        },
      },
      replies: [ask(call("a")), say("done")],
    })
    expect(seen).toEqual([["before", call("a")], "run", ["after", call("a"), "raw"]])
    expect(history[2]).toEqual(result("a", "raw and checked"))
  })

  test("a blocked call is answered with the reason and not run, and the loop goes on", async () => {
    const seen: string[] = []
    const handler = ({ text }: Record<string, string>) => {
      seen.push(`${text}`)
      return "ran"
    }
    const { history, last } = await chapter.run({
      tools: [tool("echo", handler)],
      hooks: {
        beforeToolCall: ({ id }) => (id === "a" ? { type: "block", reason: "not today" } : { type: "allow" }),
        afterToolCall: (item, text) => {
          seen.push(`after ${item.id}`)
          return text
        },
      },
      replies: [ask(call("a"), call("b")), say("done")],
    })
    expect(history.slice(2, 4)).toEqual([result("a", "error: blocked: not today"), result("b", "ran")])
    expect(seen).toEqual(["b", "after b"])
    expect(last.content).toBe("done")
  })

  describe("B80: a before-hook that fails to decide blocks", () => {
    test.each<[string, () => unknown]>([
      ["throws an error", () => JSON.parse("{")],
      [
        "throws undefined",
        () => {
          throw undefined
        },
      ],
      ["rejects", () => Promise.reject(new Error("async"))],
      ["resolves with allow", () => Promise.resolve({ type: "allow" })],
      ["returns nothing", () => undefined],
      ["returns null", () => null],
      ["returns true", () => true],
      ["returns another type", () => ({ type: "maybe" })],
    ])("it %s", async (_name, beforeToolCall) => {
      let runs = 0
      const { history, last } = await chapter.run({
        tools: [tool("echo", () => `run ${++runs}`)],
        hooks: { beforeToolCall: beforeToolCall as never },
        replies: [ask(call("a")), say("done")],
      })
      expect(runs).toBe(0)
      expect(history.length).toBe(4)
      expect(history[2]?.content).toMatch(/^error: \S/)
      expect(last.content).toBe("done")
      await settle()
    })

    test.each([undefined, null, true, { type: "maybe" }])(
      "an answer that decides nothing (%j) is laid to it",
      async (odd) => {
        const hooks = { beforeToolCall: (() => odd) as never }
        const { history } = await chapter.run({ tools: [tool()], hooks, replies: [ask(call("a"))] })
        expect(history[2]?.content).toContain("beforeToolCall")
      },
    )

    test.each([undefined, ""])("a block whose reason is %j is a block in words", async (reason) => {
      const hooks = { beforeToolCall: () => ({ type: "block", reason }) as never }
      const { history } = await chapter.run({ tools: [tool()], hooks, replies: [ask(call("a"))] })
      expect(history[2]?.content).toMatch(/^error: blocked: (?!undefined)\S/)
    })
  })

  describe("B85: an error stays an error, and the call keeps its id", () => {
    const cases: [string, () => unknown, string][] = [
      ["rewrites", () => "all fine", "error: all fine"],
      ["rewrites to another error", () => "error: nicer", "error: nicer"],
      ["returns an empty string", () => "", "error: broken"],
      ["returns blanks", () => " \n", "error: broken"],
      ["returns nothing", () => undefined, "error: broken"],
    ]
    test.each(cases)("when the after-hook %s", async (_name, afterToolCall, expected) => {
      const handler = () => {
        throw new Error("broken")
      }
      const { history } = await chapter.run({
        tools: [tool("echo", handler)],
        hooks: { afterToolCall: afterToolCall as never },
        replies: [ask(call("a")), say("done")],
      })
      expect(history[2]).toEqual(result("a", expected))
    })

    test.each<[string, () => unknown]>([
      ["throws", () => JSON.parse("{")],
      ["returns a number", () => 7],
      ["rejects", () => Promise.reject(new Error("async"))],
    ])("an after-hook that %s gives one error result", async (_name, afterToolCall) => {
      const { history } = await chapter.run({
        tools: [tool()],
        hooks: { afterToolCall: afterToolCall as never },
        replies: [ask(call("a")), say("done")],
      })
      expect(history.length).toBe(4)
      expect(history[2]).toMatchObject({ toolCallId: "a", content: expect.stringMatching(/^error: \S/) })
      await settle()
    })

    test("an after-hook that gives no text is named", async () => {
      const hooks = { afterToolCall: (() => 7) as never }
      const { history } = await chapter.run({ tools: [tool()], hooks, replies: [ask(call("a"))] })
      expect(history[2]?.content).toContain("afterToolCall")
    })

    test("of a good result, nothing means unchanged and an empty string is a change", async () => {
      const answers: (string | undefined)[] = [undefined, ""]
      const { history } = await chapter.run({
        tools: [tool()],
        hooks: { afterToolCall: (() => answers.shift()) as never },
        replies: [ask(call("a"), call("b")), say("done")],
      })
      expect(history.slice(2, 4)).toEqual([result("a"), result("b", "")])
    })
  })

  test("B82: an after-hook made of two gives the changes of both, in either order", async () => {
    const redact = (text: string) => text.replace("secret", "***")
    const sign = (text: string) => `${text} [checked]`
    for (const steps of [
      [redact, sign],
      [sign, redact],
    ]) {
      const { history } = await chapter.run({
        tools: [tool("echo", () => "a secret")],
        hooks: { afterToolCall: (_item, text) => steps.reduce((sofar, step) => step(sofar), text) },
        replies: [ask(call("a")), say("done")],
      })
      expect(history[2]).toEqual(result("a", "a *** [checked]"))
    }
  })

  test("B84: the hook decides on exactly the arguments that run; it cannot change them", async () => {
    const inputs: string[] = []
    const { history } = await chapter.run({
      tools: [
        tool("echo", (input) => {
          inputs.push(JSON.stringify(input))
          return "ran"
        }),
      ],
      hooks: {
        beforeToolCall: (item) => {
          if (item.id === "a") item.input.text = "changed"
          return { type: "allow" }
        },
      },
      replies: [ask(call("a"), call("b")), say("done")],
    })
    // The edit may fail, and then the call is not run; or it changes a copy, and the call runs as it was decided on.
    expect(inputs.filter((input) => input !== '{"text":"a"}')).toEqual(['{"text":"b"}'])
    expect(history[2]).toEqual(inputs.length === 2 ? result("a", "ran") : result("a", failure()))
    expect(history[1]).toHaveProperty("toolCalls", [call("a"), call("b")])
  })

  test("B18: a call that is blocked at once stands behind a slow one that came first", async () => {
    const registry = chapter.registry(tool())
    const hooks = {
      beforeToolCall: ({ id }: { id: string }) =>
        id === "c2" ? ({ type: "block", reason: "no" } as const) : ({ type: "allow" } as const),
    }
    const { history, requests } = await chapter.run({
      registry,
      execute: async (item) => {
        if (item.id === "c1") await new Promise((resolve) => setTimeout(resolve, 10))
        return chapter.core.executeToolCall(registry, hooks, item)
      },
      replies: [ask(call("c1"), call("c2")), say("done")],
    })
    expect(history.slice(2, 4)).toEqual([result("c1"), result("c2", "error: blocked: no")])
    expect(requests[1]?.messages.slice(2)).toEqual(history.slice(2, 4))
  })

  test("a call that is executed by itself goes through both hooks", () => {
    const registry = chapter.registry(tool())
    const hooks = {
      beforeToolCall: ({ id }: { id: string }) =>
        id === "a" ? ({ type: "allow" } as const) : ({ type: "block", reason: "no" } as const),
      afterToolCall: (item: { id: string }, text: string) => `${text} (${item.id} checked)`,
    }
    expect(chapter.core.executeToolCall(registry, hooks, call("a"))).toEqual(result("a", "ok: a (a checked)"))
    expect(chapter.core.executeToolCall(registry, hooks, call("b"))).toEqual(result("b", "error: blocked: no"))
  })

  test("executes a call by itself and never throws", () => {
    const registry = chapter.registry(tool())
    expect(chapter.core.executeToolCall(registry, {}, call("a"))).toEqual(result("a"))
    expect(chapter.core.executeToolCall(registry, {}, call("a", "absent"))).toEqual(result("a", failure("absent")))
  })
})
