/**
 * I1 for the app: what a vendor knows stays in `app/adapters`. npm puts the SDKs where every file of the repository could import them, so the
 * rule is held on the syntax tree: of all files but the adapters and their tests, none names an SDK, and none reaches behind the door of the
 * adapters, `choose.ts`.
 */
import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { ROOT } from "../../../scripts/course/source.ts"
import ts from "../../../scripts/course/typescript.js"
import { findVendor, textOf } from "../../../scripts/rules/i1.ts"

const ADAPTERS = "app/adapters"
const DOOR = `${ADAPTERS}/choose.ts`

type Manifest = { dependencies?: Record<string, string>; devDependencies?: Record<string, string> }

function readManifest(folder: string): Manifest {
  return JSON.parse(fs.readFileSync(path.join(ROOT, folder, "package.json"), "utf8")) as Manifest
}

/** What only the adapters may import: the SDKs, which they declare and nobody else does. */
const SDKS = ["@anthropic-ai/sdk", "@google/genai", "openai"]

/** The files of the repository that are code, but for the adapters and their tests, with "/" in their paths. */
function filesAbove(): string[] {
  const ignored = /(^|\/)(node_modules|fixtures|dist|my|\.git|\.cache)(\/|$)/
  const all = fs.readdirSync(ROOT, { withFileTypes: true }).flatMap((entry): string[] => {
    if (ignored.test(entry.name)) return []
    if (!entry.isDirectory()) return [entry.name]
    const below = fs.readdirSync(path.join(ROOT, entry.name), { recursive: true, encoding: "utf8" })
    return below.map((name) => `${entry.name}/${name.replaceAll("\\", "/")}`)
  })
  const isAdapter = (name: string): boolean => name.startsWith(`${ADAPTERS}/`) || name.startsWith("test/app/adapters/")
  return all.filter((name) => /\.[cm]?[jt]sx?$/.test(name) && !ignored.test(name) && !isAdapter(name))
}

function* nodesOf(file: string, text: string): Generator<ts.Node> {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const queue: ts.Node[] = [source]
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    yield node
    ts.forEachChild(node, (child) => void queue.push(child))
  }
}

/** The texts of a file that lead to an SDK or behind the door, wherever they stand: an import is not the only way to load a module. */
function findReaches(file: string, text: string): string[] {
  if (!/openai|anthropic|genai|adapters/.test(text)) return []
  return [...nodesOf(file, text)].flatMap((node) => {
    if (!ts.isStringLiteralLike(node)) return []
    const name = node.text.replaceAll("\\", "/")
    if (SDKS.some((sdk) => name === sdk || name.startsWith(`${sdk}/`) || name.includes(`node_modules/${sdk}`)))
      return [name]
    if (/^@learn-pi-agent\/adapters./.test(name)) return [name]
    const target = path.posix.join(path.posix.dirname(file), name)
    return /^\.\.?\//.test(name) && target.startsWith(`${ADAPTERS}/`) && target !== DOOR ? [name] : []
  })
}

const above = filesAbove().map((file) => ({ file, text: fs.readFileSync(path.join(ROOT, file), "utf8") }))

describe("what a vendor knows", () => {
  test("the SDKs are declared by the adapters and by nobody else", () => {
    expect(Object.keys(readManifest(ADAPTERS).dependencies ?? {})).toEqual(expect.arrayContaining(SDKS))
    for (const folder of [".", "app", "app/page"]) {
      const { dependencies, devDependencies } = readManifest(folder)
      expect(Object.keys({ ...dependencies, ...devDependencies }).filter((name) => SDKS.includes(name))).toEqual([])
    }
  })

  test("no file above the adapters reaches for an SDK, or behind the adapters' door", () => {
    expect(above.map(({ file }) => file)).toEqual(
      expect.arrayContaining(["app/protocol.ts", "s12_packages/code.ts", "scripts/rules/i1.ts", "vitest.config.ts"]),
    )
    const found = above.flatMap(({ file, text }) => findReaches(file, text).map((name) => `${file}: ${name}`))
    expect(found).toEqual([])
  })

  test.each([
    'import OpenAI from "openai"',
    'import type { Part } from "@google/genai"',
    'export * from "@anthropic-ai/sdk/core/error"',
    'import "openai/shims/node"',
    'type T = import("openai").OpenAI',
    'const m = await import("openai")',
    "const m = await import(`@google/genai`)",
    'const m = require("openai")',
    'import m = require("openai")',
    'const m = createRequire(import.meta.url)("@anthropic-ai/sdk")',
    'const at = import.meta.resolve("openai/core")',
    'const at = require.resolve("openai")',
    'const m = await import("../node_modules/openai/index.mjs")',
    'const name = "openai"; const m = await import(name)',
    'vi.mock("openai")',
    'import { createOpenAI } from "./adapters/openai.ts"',
    'import type { Draft } from "./adapters/answer.ts"',
    'import x from "./session/../adapters/wire.ts"',
    'import x from "@learn-pi-agent/adapters/google.ts"',
  ])("an attempt is found: %s", (attempt) => {
    expect(findReaches("app/server.ts", `${attempt}\n`).length).toBe(1)
  })

  test.each([
    'import { chooseModel } from "./adapters/choose.ts"',
    'import { openSync } from "node:fs"',
    'const text = "openai is a word"',
    'import x from "openaid"',
    'import x from "../adapters/other.ts"',
  ])("what is allowed is not found: %s", (allowed) => {
    expect(findReaches("app/server.ts", `${allowed}\n`)).toEqual([])
  })

  test("B38: no word of a vendor stands in the app above the adapters", () => {
    const words = (file: string, text: string): string[] =>
      [...nodesOf(file, text)].flatMap((node) => findVendor(ts.isJsxText(node) ? node.text : textOf(node)) ?? [])
    expect(words("app/x.tsx", 'const x = <p tool_use_id={"a"}>Claude</p>')).toEqual(["Claude", "tool_use"])
    const found = above.flatMap(({ file, text }) =>
      file.startsWith("app/") ? words(file, text).map((word) => `${file}: ${word}`) : [],
    )
    expect(found).toEqual([])
  })
})
