import { expect, test } from "vitest"
import { say, tool } from "../support/driver.ts"
import { complaintOf, edit } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

part("s02", "Tools", (chapter) => {
  exportsItsParts("s02", chapter)

  test("tells the model of every tool, in the order of registration", async () => {
    const { requests } = await chapter.run({ tools: [tool("zebra"), tool("ant")] })
    expect(requests[0]?.tools).toEqual([tool("zebra").spec, tool("ant").spec])
  })

  test("sends an empty list where there is no registry", async () => {
    const { requests } = await chapter.run()
    expect(requests[0]?.tools).toEqual([])
  })

  test("shows a tool that came between two turns in the second one", async () => {
    const registry = chapter.registry(tool("a"))
    const provider = chapter.provider(say("1"), say("2"))
    const state = chapter.state()
    await chapter.core.runOneTurn(state, "first", chapter.options({ provider, registry }))
    registry.register(tool("b"))
    await chapter.core.runOneTurn(state, "second", chapter.options({ provider, registry }))
    expect(provider.requests.map((request) => request.tools.map((spec) => spec.name))).toEqual([["a"], ["a", "b"]])
  })

  test("B74, B78: a second registration of a name throws and changes nothing", () => {
    const registry = chapter.registry(tool("read_file"))
    const impostor = { ...tool("read_file"), spec: { ...tool("read_file").spec, description: "not what you think" } }
    expect(complaintOf(() => registry.register(impostor))).toContain("read_file")
    expect(registry.getSpecs()).toEqual([tool("read_file").spec])
  })

  const { spec } = tool("odd_7")
  test.each<[string, unknown, string?]>([
    ["nothing", undefined],
    ["no spec", {}],
    ["a name that is no text", { ...tool(), spec: { ...spec, name: 7 } }],
    ["no description", { ...tool(), spec: { name: "odd_7", input: {} } }],
    ["an input that is a list", { ...tool(), spec: { ...spec, input: ["text"] } }, spec.name],
    ["an input with something else than texts", { ...tool(), spec: { ...spec, input: { n: 1 } } }, spec.name],
    ["no handler", { spec }, spec.name],
    ["a handler that cannot be called", { spec, handler: "run" }, spec.name],
  ])("refuses a tool that has %s, and says which", (_name, broken, which = "") => {
    const registry = chapter.registry()
    expect(complaintOf(() => registry.register(broken as never))).toContain(which)
    expect(registry.getSpecs()).toEqual([])
  })

  test("B76: any string is a safe name", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "", "a b", "读"]
    const registry = chapter.registry(...names.map((name) => tool(name)))
    expect(registry.getSpecs().map((spec) => spec.name)).toEqual(names)
  })

  test("keeps a copy that its owner cannot change", () => {
    const owned = tool("a")
    const registry = chapter.registry(owned)
    owned.spec.name = "b"
    owned.spec.input.more = "later"
    edit(registry.getSpecs())
    expect(registry.getSpecs()).toEqual([tool("a").spec])
  })
})
