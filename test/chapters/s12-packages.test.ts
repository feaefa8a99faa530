import { describe, expect, test } from "vitest"
import { call, type Driver, recordOutput, tool } from "../support/driver.ts"
import { complaintOf, says } from "../support/judge.ts"
import { exportsItsParts, part } from "../support/ladder.ts"

const greetings = () => ({
  manifest: { name: "greetings", tools: ["greet"], commands: ["motto"], resources: ["style", "tone"] },
  contents: { greet: "hello", motto: "small parts", style: "be brief", tone: "be kind" } as Record<string, string>,
})

/** All that an installation can change. */
function placeFor(chapter: Driver) {
  const registry = chapter.registry(tool("read_file"))
  const output = recordOutput()
  const loader = new chapter.core.ResourceLoader([])
  const runtime = new chapter.core.ExtensionRuntime(registry, output)
  const seen = () => [registry.getSpecs().map((spec) => spec.name), runtime.getCommands(), loader.load("trusted")]
  return { registry, loader, runtime, seen, reports: output.lines }
}

part("s12", "Packages", (chapter) => {
  exportsItsParts("s12", chapter)

  test("sorts the contents by the manifest", () => {
    expect(chapter.core.loadPackage(greetings())).toEqual({
      name: "greetings",
      tools: { greet: "hello" },
      commands: { motto: "small parts" },
      resources: { style: "be brief", tone: "be kind" },
    })
  })

  test("an empty package is a package", () => {
    const empty = { manifest: { name: "empty", tools: [], commands: [], resources: [] }, contents: {} }
    expect(chapter.core.loadPackage(empty)).toEqual({ name: "empty", tools: {}, commands: {}, resources: {} })
  })

  describe("B124: a name that is no plain name refuses the whole package", () => {
    const bad = [
      "../up",
      "/etc/x",
      "a/b",
      "a\\b",
      "..",
      ".",
      "a..b",
      "%2e%2e",
      "a\u0000b",
      "",
      " ",
      "a b",
      "C:x",
      "x".repeat(300),
      "__proto__",
      ".hidden",
      "a\n",
      "-rf",
      "10",
      "2nd",
    ]
    test.each(bad)("%j as the name of the package", (name) => {
      const pkg = greetings()
      pkg.manifest.name = name
      expect(() => chapter.core.loadPackage(pkg)).toThrow(Error)
    })

    test.each(bad)("%j in a list of the manifest and among the contents", (name) => {
      for (const list of ["tools", "commands", "resources"] as const) {
        const pkg = greetings()
        pkg.manifest[list].push(name)
        Object.defineProperty(pkg.contents, name, { value: "text", enumerable: true })
        expect(() => chapter.core.loadPackage(pkg)).toThrow(Error)
      }
    })

    test("a plain name has at most 64 characters", () => {
      const named = (length: number) => {
        const pkg = greetings()
        pkg.manifest.name = "n".repeat(length)
        return chapter.core.loadPackage(pkg).name.length
      }
      expect(named(64)).toBe(64)
      expect(() => named(65)).toThrow(Error)
    })

    test.each(["constructor", "toString", "v1.2", "a_b-c", "X"])("%j is a plain name", (name) => {
      const pkg = greetings()
      pkg.manifest.tools.push(name)
      pkg.contents[name] = "text"
      expect(chapter.core.loadPackage(pkg).tools).toEqual({ greet: "hello", [name]: "text" })
    })
  })

  test.each<[string, (pkg: ReturnType<typeof greetings>) => void, string[]]>([
    [
      "a listed text is not there",
      (pkg) => {
        delete pkg.contents.greet
      },
      ["greet"],
    ],
    [
      "an inherited name is listed",
      (pkg) => {
        pkg.manifest.tools.push("constructor")
      },
      ["constructor"],
    ],
    [
      "a text is not listed",
      (pkg) => {
        pkg.contents.extra = "x"
      },
      ["extra"],
    ],
    [
      "a name is listed twice",
      (pkg) => {
        pkg.manifest.tools.push("greet")
      },
      ["greet"],
    ],
    [
      "a name is listed under two kinds",
      (pkg) => {
        pkg.manifest.commands.push("greet")
      },
      ["greet"],
    ],
    [
      "a text is no text",
      (pkg) => {
        pkg.contents.greet = 7 as never
      },
      ["greet"],
    ],
    [
      "a text hides behind __proto__",
      (pkg) => {
        Object.defineProperty(pkg.contents, "__proto__", { value: "text", enumerable: true })
      },
      ["__proto__"],
    ],
    [
      "a text is no text and another is not there",
      (pkg) => {
        pkg.contents.extra = 7 as never
        delete pkg.contents.greet
      },
      ["extra", "greet"],
    ],
    [
      "the contents are none",
      (pkg) => {
        pkg.contents = "greet" as never
      },
      ["contents"],
    ],
    [
      "the manifest has an unknown field",
      (pkg) => {
        Object.assign(pkg.manifest, { scripts: [] })
      },
      ["scripts"],
    ],
    [
      "an unknown field stands beside the manifest",
      (pkg) => {
        Object.assign(pkg, { postinstall: "x" })
      },
      ["postinstall"],
    ],
    [
      "the manifest is gone",
      (pkg) => {
        Reflect.deleteProperty(pkg, "manifest")
      },
      ["manifest"],
    ],
    [
      "several things at once",
      (pkg) => {
        delete pkg.contents.greet
        pkg.contents.extra = "x"
      },
      ["greet", "extra"],
    ],
    [
      "several wrong names at once",
      (pkg) => {
        pkg.manifest.name = "../x"
        pkg.manifest.tools = ["/y"]
      },
      ["name", "tools"],
    ],
  ])("refuses a package in which %s, with every reason", (_name, damage, reasons) => {
    const pkg = greetings()
    damage(pkg)
    const complaint = complaintOf(() => chapter.core.loadPackage(pkg)) ?? ""
    expect(reasons.filter((reason) => !says(complaint, reason))).toEqual([])
  })

  test("an empty package whose contents are null is refused", () => {
    const empty = { manifest: { name: "empty", tools: [], commands: [], resources: [] }, contents: null as never }
    expect(() => chapter.core.loadPackage(empty)).toThrow(Error)
  })

  test("a name that is not plain does not hide that a text is missing", () => {
    const pkg = greetings()
    pkg.manifest.tools.push("../up")
    delete pkg.contents.greet
    pkg.contents["a/b"] = "text"
    const load = () => chapter.core.loadPackage(pkg)
    const complaint = complaintOf(load) ?? ""
    expect(["greet", "a/b"].filter((name) => !says(complaint, name))).toEqual([])
  })

  test.each([null, undefined, 7, "package", [], {}])("refuses %j", (pkg) => {
    expect(() => chapter.core.loadPackage(pkg as never)).toThrow(Error)
  })

  test("installs tools, commands and texts where the program already looks for them", () => {
    const place = placeFor(chapter)
    const loaded = chapter.core.loadPackage(greetings())
    expect(chapter.core.installLoadedPackage(loaded, place.runtime, place.loader, "trusted")).toBe(true)
    expect(place.seen()).toEqual([
      ["read_file", "greet"],
      ["motto"],
      [
        { kind: "skill", name: "style", content: "be brief" },
        { kind: "skill", name: "tone", content: "be kind" },
      ],
    ])
    expect(place.registry.run(call("a", "greet"))).toBe("hello")
    expect(place.runtime.runCommand("motto")).toBe("small parts")
  })

  test.each([undefined, "untrusted"] as const)("B88: a project that is %s installs nothing", (trust) => {
    const place = placeFor(chapter)
    const before = place.seen()
    const loaded = chapter.core.loadPackage(greetings())
    expect(chapter.core.installLoadedPackage(loaded, place.runtime, place.loader, trust)).toBe(false)
    expect(place.seen()).toEqual(before)
  })

  test("a clash installs nothing, the texts included, and is reported under the name of the package", () => {
    const place = placeFor(chapter)
    const before = place.seen()
    const loaded = { ...chapter.core.loadPackage(greetings()), tools: { read_file: "mine now" } }
    expect(chapter.core.installLoadedPackage(loaded, place.runtime, place.loader, "trusted")).toBe(false)
    expect(place.seen()).toEqual(before)
    expect(place.reports.length).toBe(1)
    expect(["greetings", "read_file"].filter((name) => !says(place.reports[0] ?? "", name))).toEqual([])
  })

  test("a package that clashed may be installed when it does so no more", () => {
    const place = placeFor(chapter)
    const loaded = chapter.core.loadPackage(greetings())
    const install = (tools: Record<string, string>) =>
      chapter.core.installLoadedPackage({ ...loaded, tools }, place.runtime, place.loader, "trusted")
    expect([install({ read_file: "mine now" }), install(loaded.tools), install(loaded.tools)]).toEqual([
      false,
      true,
      false,
    ])
  })

  test("contents are handed out and never evaluated", () => {
    const place = placeFor(chapter)
    const code = `globalThis.ranFromPackage = true; \${globalThis.ranFromPackage = true}`
    const pkg = greetings()
    for (const name of Object.keys(pkg.contents)) pkg.contents[name] = code
    chapter.core.installLoadedPackage(chapter.core.loadPackage(pkg), place.runtime, place.loader, "trusted")
    expect(place.registry.run(call("a", "greet"))).toBe(code)
    expect(place.runtime.runCommand("motto")).toBe(code)
    expect((globalThis as { ranFromPackage?: boolean }).ranFromPackage).toBeUndefined()
  })

  test("a loader that was added to has copies, with our fields only", () => {
    const loader = new chapter.core.ResourceLoader([])
    const given = { kind: "agents" as const, name: "mine", content: "x", vendor: 1 }
    loader.add([given])
    given.content = "y"
    expect(loader.load("trusted")).toEqual([{ kind: "agents", name: "mine", content: "x" }])
  })

  test("a loader that was added to keeps what it had, in front", () => {
    const mine = { kind: "agents" as const, name: "mine", content: "x" }
    const given = [mine]
    const loader = new chapter.core.ResourceLoader(given)
    loader.add([{ ...mine, name: "more" }])
    expect(loader.load("trusted").map((resource) => resource.name)).toEqual(["mine", "more"])
    expect(given.length).toBe(1)
  })
})
