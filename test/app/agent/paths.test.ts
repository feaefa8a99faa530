import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { splitPath } from "../../../app/agent/paths.ts"
import { defaultPolicy } from "../../../app/agent/tool-policy.ts"
import { createTools, type ToolDefinition } from "../../../app/agent/tools.ts"

let folder = ""
let workspace = ""
let tools: ToolDefinition[] = []
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "工作 space-"))
  workspace = path.join(folder, "workspace")
  fs.mkdirSync(path.join(workspace, "docs"), { recursive: true })
  fs.writeFileSync(path.join(folder, "outside.txt"), "outside")
  fs.writeFileSync(path.join(workspace, "a.md"), "inside")
  tools = createTools(workspace)
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

const run = (name: string, input: Record<string, string>): string => {
  const tool = tools.find(({ spec }) => spec.name === name)
  if (tool === undefined) throw new Error(`no tool ${name}`)
  return tool.handler(input)
}

/** Paths that lead elsewhere, on some system. */
const ESCAPES = [
  "../outside.txt",
  "docs/../../outside.txt",
  "..\\outside.txt",
  "docs\\..\\..\\outside.txt",
  "./../outside.txt",
  "/etc/passwd",
  "notes/../../.pi/sessions/x.jsonl",
  "../.pi/extensions/x.ts",
  "\\windows\\win.ini",
  "\\\\server\\share\\x",
  "C:\\x",
  "c:x",
  "C:/x",
  "~/x",
  "a.md\0.txt",
  "a.md:stream",
  "con",
  "docs/NUL.txt",
  "com1.md",
  "aux",
  "prn.tar.gz",
  "COM\u00b9",
  "com\u00b2.txt",
  "lpt9",
  "lpt\u00b3.md",
  "a*b",
  'a"b',
  "a<b",
  "a>b",
  "a|b",
  "a\u007fb",
  "a\nb",
  "docs/.. /x",
  "a.md.",
  "a.md ",
  "what?.md",
  `${"x/".repeat(400)}y`,
]

describe("a path of the model", () => {
  test.each(ESCAPES)("B91: %j is refused by every tool, and nothing is written", (name) => {
    const before = fs.readdirSync(folder, { recursive: true }).sort()
    expect(() => run("read_file", { path: name })).toThrow(/the path .* (is|goes|holds|ends|has)/)
    expect(() => run("list_files", { path: name })).toThrow(/the path/)
    expect(() => run("write_note", { name, text: "x" })).toThrow(/the path/)
    expect(fs.readdirSync(folder, { recursive: true }).sort()).toEqual(before)
  })

  test("is taken with slashes of both kinds, with dots and blanks inside, and in any script", () => {
    expect(splitPath("./docs//x y.tar.gz")).toEqual(["docs", "x y.tar.gz"])
    expect(splitPath("docs\\笔记.md")).toEqual(["docs", "笔记.md"])
    expect([splitPath(""), splitPath("."), splitPath("./")]).toEqual([[], [], []])
    expect(splitPath("...x/.hidden")).toEqual(["...x", ".hidden"])
    for (const name of ["icon", "console.md", "falcon.txt", "null", "com", "lpt10", "a~b"])
      expect(splitPath(name)).toEqual([name])
  })
})

describe("a whole path", () => {
  test("B65: is taken when it leads into the workspace, and refused for a neighbour whose name begins alike", () => {
    expect(run("read_file", { path: path.join(workspace, "a.md") })).toBe("inside")
    fs.mkdirSync(`${workspace}-other`)
    fs.writeFileSync(path.join(`${workspace}-other`, "a.txt"), "outside")
    for (const name of ["../workspace-other/a.txt", path.join(`${workspace}-other`, "a.txt")])
      expect(() => run("read_file", { path: name })).toThrow(/goes up|leads outside|is absolute/)
    expect(run("write_note", { name: "..a", text: "x" })).toContain("notes/..a")
  })

  test.each([
    ["c:\\ws\\a.txt", ["a.txt"]],
    ["C:/WS/docs/a.txt", ["docs", "a.txt"]],
    ["C:\\Ws\\", []],
    ["docs\\a.txt", ["docs", "a.txt"]],
  ])("B71: %j is inside of C:\\Ws, in any spelling", (name, parts) => {
    expect(splitPath(name, "C:\\Ws", path.win32)).toEqual(parts)
  })

  test.each([
    "D:\\x",
    "C:x",
    "\\\\srv\\s\\x",
    "\\\\?\\C:\\x",
    "C:/ws/../x",
    "ws\\..\\..\\x",
    "C:\\Ws-other\\a",
    "C:\\Ws\\NUL",
    "C:\\Ws\\a.txt:s",
  ])("B70, B71: %j is not, with the paths of Windows", (name) => {
    expect(() => splitPath(name, "C:\\Ws", path.win32)).toThrow(/the path/)
  })
})

describe("links", () => {
  test("B67: that lead outside are not followed, as a file, as a folder, or on the way", () => {
    fs.symlinkSync(folder, path.join(workspace, "up"), "junction")
    fs.symlinkSync(path.join(folder, "outside.txt"), path.join(workspace, "out.txt"))
    for (const name of ["up", "up/outside.txt", "up/workspace/../outside.txt", "out.txt"])
      expect(() => run("read_file", { path: name })).toThrow(/leads outside|goes up/)
    expect(() => run("list_files", { path: "up" })).toThrow("leads outside")
  })

  test("that lead nowhere are not written through", () => {
    fs.symlinkSync(path.join(folder, "new.txt"), path.join(workspace, "notes", "n.md"))
    expect(() => run("write_note", { name: "n.md", text: "x" })).toThrow("a link that leads nowhere")
    expect(fs.existsSync(path.join(folder, "new.txt"))).toBe(false)
  })

  test("in the place of the folder for notes are not written through", () => {
    fs.rmdirSync(path.join(workspace, "notes"))
    fs.mkdirSync(path.join(folder, "elsewhere"))
    fs.symlinkSync(path.join(folder, "elsewhere"), path.join(workspace, "notes"), "junction")
    expect(() => run("write_note", { name: "n.md", text: "x" })).toThrow()
    expect(fs.readdirSync(path.join(folder, "elsewhere"))).toEqual([])
  })

  test("of the other kind, a second name of a file, are not written through either", () => {
    fs.linkSync(path.join(folder, "outside.txt"), path.join(workspace, "notes", "n.md"))
    expect(() => run("write_note", { name: "n.md", text: "x" })).toThrow("second name")
    expect(fs.readFileSync(path.join(folder, "outside.txt"), "utf8")).toBe("outside")
  })

  test("B67: a workspace that is itself reached through a link works", () => {
    fs.symlinkSync(workspace, path.join(folder, "link"), "junction")
    tools = createTools(path.join(folder, "link"))
    expect(run("read_file", { path: "a.md" })).toBe("inside")
    expect(run("write_note", { name: "n.md", text: "x" })).toContain("notes/n.md")
    expect(() => run("read_file", { path: "../outside.txt" })).toThrow("goes up")
  })

  test("B72: to a secret note is secret, whatever it is called", () => {
    fs.writeFileSync(path.join(workspace, "notes", "secret.md"), "x")
    fs.symlinkSync(path.join(workspace, "notes", "secret.md"), path.join(workspace, "notes", "ok.md"))
    const tool = tools.find(({ spec }) => spec.name === "write_note") as ToolDefinition
    const decide = (name: string) => defaultPolicy({ id: "a", name: "write_note", input: { name, text: "y" } }, tool)
    expect(decide("ok.md")).toMatchObject({ type: "block" })
    for (const name of ["Secret.md", "SECRET/x.md", "my-sEcReT.txt"])
      expect(decide(name)).toMatchObject({ type: "block" })
    expect(() => decide("./notes/../notes/secret.md")).toThrow("goes up")
    expect(decide("fine.md")).toEqual({ type: "allow" })
  })

  test("inside of the workspace are followed", () => {
    fs.symlinkSync(path.join(workspace, "a.md"), path.join(workspace, "b.md"))
    expect(run("read_file", { path: "b.md" })).toBe("inside")
  })
})

describe("the tools", () => {
  test("list, read and write", () => {
    expect(run("list_files", { path: "." })).toBe("a.md\ndocs/\nnotes/")
    expect(run("list_files", { path: "docs" })).toBe("(empty)")
    expect(run("read_file", { path: "a.md" })).toBe("inside")
    expect(run("write_note", { name: "sub/b.md", text: "文" })).toBe("wrote 1 characters to notes/sub/b.md")
    expect(fs.readFileSync(path.join(workspace, "notes", "sub", "b.md"), "utf8")).toBe("文")
    run("write_note", { name: "sub/c/d.md", text: "deeper" })
    expect(fs.readFileSync(path.join(workspace, "notes", "sub", "c", "d.md"), "utf8")).toBe("deeper")
  })

  test.each<[string, Record<string, string>, string]>([
    ["read_file", {}, "is a folder"],
    ["read_file", { path: "docs" }, "is a folder"],
    ["read_file", { path: "x.md" }, "does not exist"],
    ["list_files", { path: "x" }, "does not exist"],
    ["list_files", { path: "a.md" }, "is a file"],
    ["write_note", { text: "x" }, "needs a name"],
    ["write_note", { name: "big.md", text: "x".repeat(60_000) }, "more than 50000"],
  ])("%s %j says what is wrong", (name, input, reason) => {
    expect(() => run(name, input)).toThrow(reason)
  })

  test("B120: cut what is long on whole characters, and refuse what is no text", () => {
    fs.writeFileSync(path.join(workspace, "faces.md"), `x${"\u{1f600}".repeat(15_000)}`)
    expect(run("read_file", { path: "faces.md" })).toSatisfy(
      (text: string) => text.isWellFormed() && text.includes("[cut:"),
    )
    fs.writeFileSync(path.join(workspace, "latin.md"), Buffer.from([0x66, 0xfc, 0x72]))
    expect(run("read_file", { path: "latin.md" })).toBe("f\ufffdr")
    fs.writeFileSync(path.join(workspace, "long.md"), "x".repeat(30_000))
    expect(run("read_file", { path: "long.md" })).toMatch(/\[cut: 20000 of 30000 characters\]$/)
    fs.writeFileSync(path.join(workspace, "b.bin"), Buffer.from([1, 0, 2]))
    expect(() => run("read_file", { path: "b.bin" })).toThrow("is no text")
  })

  test("ask about no note that is too long to be looked through, be it the new one or the one that is there", () => {
    const preview = tools.find(({ spec }) => spec.name === "write_note")?.preview
    run("write_note", { name: "n.md", text: "old" })
    expect(() => preview?.({ name: "n.md", text: "x".repeat(60_000) })).toThrow("more than 50000")
    fs.writeFileSync(path.join(workspace, "notes", "n.md"), "x".repeat(60_000))
    expect(() => preview?.({ name: "n.md", text: "new" })).toThrow("the note n.md that is there has 60000 characters")
    expect(() => run("write_note", { name: "n.md", text: "new" })).toThrow("more than 50000")
  })

  test("show what a note would replace, and nothing for a new one", () => {
    const preview = tools.find(({ spec }) => spec.name === "write_note")?.preview
    expect(preview?.({ name: "n.md", text: "new" })).toBeUndefined()
    run("write_note", { name: "n.md", text: "old" })
    expect(preview?.({ name: "n.md", text: "old" })).toBeUndefined()
    const place = fs.realpathSync(path.join(workspace, "notes", "n.md"))
    expect(preview?.({ name: "n.md", text: "new" })).toEqual({
      text: `replaces the note ${place}`,
      before: "old",
      after: "new",
      file: place,
    })
  })
})
