import { expect, test } from "vitest"
import { ask, call, recordOutput, result, say, tool } from "../support/driver.ts"
import { says } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

const SENTINEL = "sentinel-5c1"
const KINDS = ["agents", "skill", "prompt"] as const
const resources = KINDS.map((kind) => ({ kind, name: `${SENTINEL} name`, content: `${SENTINEL} content` }))

part("s11", "Trust", (chapter) => {
  exportsItsParts("s11", chapter)

  test("loads from a trusted project, and from no other", () => {
    const loader = new chapter.core.ResourceLoader(resources)
    expect(loader.load("trusted")).toEqual(resources)
    for (const trust of [undefined, "untrusted", "Trusted", "", true]) expect(loader.load(trust as never)).toEqual([])
  })

  test.each([undefined, "untrusted"] as const)(
    "B86: a project that is %s contributes nothing, anywhere",
    async (trust) => {
      const shown = recordOutput()
      const { history, requests } = await chapter.run({
        loader: new chapter.core.ResourceLoader(resources),
        mode: new chapter.core.JsonMode(shown),
        ...(trust !== undefined && { trust }),
        tools: [tool()],
        replies: [ask(call("a")), say("done")],
      })
      expect(JSON.stringify([history, requests, shown.lines])).not.toContain(SENTINEL)
      expect(requests.map((request) => request.systemPrompt)).toEqual(["", ""])
    },
  )

  test("B86: a decision that changes during a turn holds from the next one on", async () => {
    const loader = new chapter.core.ResourceLoader(resources)
    const options = chapter.options({ loader, trust: "untrusted" })
    const decide = tool("decide", () => {
      options.trust = "trusted"
      return "decided"
    })
    const provider = chapter.provider(ask(call("a", "decide")), say("1"), say("2"))
    Object.assign(options, { provider, registry: chapter.registry(decide) })
    const state = chapter.state()
    await chapter.core.runOneTurn(state, "first", options)
    await chapter.core.runOneTurn(state, "second", options)
    expect(provider.requests.map((request) => request.systemPrompt.includes(SENTINEL))).toEqual([false, false, true])
  })

  test.each([undefined, "untrusted"] as const)(
    "B88: code of a project that is %s is not even fetched",
    async (trust) => {
      const marks: string[] = []
      const registry = chapter.registry()
      const runtime = new chapter.core.ExtensionRuntime(registry, recordOutput())
      const added = await runtime.useProject(() => {
        marks.push("module body")
        return () => void marks.push("setup")
      }, trust)
      expect([added, marks, registry.getSpecs()]).toEqual([false, [], []])
    },
  )

  test("code of a trusted project comes in through the same checks as any extension", async () => {
    const registry = chapter.registry(tool("taken"))
    const output = recordOutput()
    const runtime = new chapter.core.ExtensionRuntime(registry, output)
    expect(await runtime.useProject(async () => (api) => api.registerTool(tool("echo")), "trusted")).toBe(true)
    expect(
      await runtime.useProject(
        () =>
          function clash(api) {
            api.registerTool(tool("taken"))
          },
        "trusted",
      ),
    ).toBe(false)
    expect(await runtime.useProject(() => Promise.reject(new Error("no such file")), "trusted")).toBe(false)
    expect(await runtime.useProject(() => JSON.parse("{"), "trusted")).toBe(false)
    expect(registry.run(call("a"))).toBe(result("a").content)
    const expected = [["clash", "taken"], ["project", "no such file"], ["project"]]
    expect(output.lines.length).toBe(expected.length)
    for (const [index, words] of expected.entries())
      expect(words.filter((word) => !says(output.lines[index] ?? "", word))).toEqual([])
  })

  test("trust rules what is loaded, not what is run: tools of the program still work", async () => {
    const { history } = await chapter.run({
      trust: "untrusted",
      tools: [tool()],
      replies: [ask(call("a")), say("done")],
    })
    expect(history[2]).toEqual(result("a"))
  })
})
