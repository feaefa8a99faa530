import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { CHAPTERS, type ChapterId, findChapter } from "../../scripts/course/manifest.ts"
import { finish, type Run, runScript, startScript } from "../support/commands.ts"
import { part, ROOT } from "../support/ladder.ts"
import { ends } from "../support/tier.ts"

/** Starts a chapter as a reader would, in some other folder, and waits for its end. */
function start(
  id: string,
  args: string[] = [],
  { file, preload }: { file?: string; preload?: string } = {},
): Promise<Run> {
  const script = file ?? path.join(ROOT, findChapter(id).folder, "code.ts")
  return runScript(script, args, preload === undefined ? {} : { preload })
}

/** What each demo must show: the one thing that the chapter before could not do. */
const SHOWN: Record<ChapterId, readonly RegExp[]> = {
  s01: [/You are Ada: message 3 of 5 says so/, /error: no connection to the model/],
  s02: [/I was told of no tool/, /I was told of read_file\(path\)/, /tool "read_file" is already registered/],
  s03: [/text_delta","text":"two, "/, /error: the line broke/],
  s04: [/MIT License/, /error: nothing.txt does not exist/],
  s05: [/error: blocked: secrets are not read/, /MIT License/],
  s06: [/error: unknown tool "shout"/, /HELLO!/],
  s07: [/move {3}back to entry_4/, /\* {3}entry_13 assistant/],
  s08: [/I was given 0 texts/, /# agents: AGENTS.md\n {2}Answer in one line/],
  s09: [/words: 3/, /messages so far: 4/, /extension "impostor" failed/],
  s10: [/core {3}\\u\{1b\}\[31mit/, /core {3}\{"type":"done"\}/],
  s11: [/trust {2}untrusted\nyou/, /trust {2}trusted\nfetch {2}wordCounter\n[\s\S]*I was given 2 texts/],
  s12: Array.from({ length: 12 }, (_, index) => new RegExp(`^s${String(index + 1).padStart(2, "0")} {2}\\S`, "m")),
}

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "demos-"))
const runs = new Map<string, Run>()

beforeAll(async () => {
  const queue = CHAPTERS.map((chapter) => chapter.id)
  const work = async (): Promise<void> => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) runs.set(id, await start(id))
  }
  await Promise.all([work(), work()])
}, 60_000)

afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

part("s01", "demo", (chapter) => {
  test("runs without a word on standard error and shows what is new", () => {
    const run = runs.get(chapter.id)
    expect(run).toMatchObject({ code: 0, stderr: "" })
    for (const shown of SHOWN[findChapter(chapter.id).id]) expect(run?.stdout).toMatch(shown)
    expect(run?.stdout).not.toContain(ROOT)
    expect(run?.stdout.split("\n").length).toBeLessThan(40)
  })
})

describe("starting a chapter", () => {
  test("gives the same output every time", async () => {
    for (const id of ["s04", "s12"]) expect(await start(id)).toEqual(runs.get(id))
  })

  test.each(["s04", "s06", "s08", "s10", "s12"])("%s reads a file when it is asked to", async (id) => {
    const { code, stdout } = await start(id, ["read package.json"])
    expect(code).toBe(0)
    expect(stdout).toContain("you    read package.json")
    expect(stdout).toContain("I call read_file(package.json).")
    expect(stdout).toContain("Done. package.json: {")
  })

  test("says what it understands when it does not", async () => {
    const { code, stdout } = await start("s12", ["sing a song"])
    expect(code).toBe(0)
    expect(stdout).toContain('I understand "read PATH", "list PATH"')
  })

  test("answers a path that leads out of the project with an error result", async () => {
    for (const name of ["../x", "..", "/etc/hosts"]) {
      const { code, stdout } = await start("s12", [`read ${name}`])
      expect([code, stdout]).toEqual([0, expect.stringContaining(`error: ${name} is outside of this project`)])
    }
  })

  test.each<[string, string[]]>([
    ["s01", ["hello"]],
    ["s04", ["two", "prompts"]],
    ["s09", ["--json"]],
    ["s12", ["--verbose"]],
  ])("%s %j ends with one clear line and exit code 1", async (id, args) => {
    const { code, stdout, stderr } = await start(id, args)
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toMatch(/^error: .*got: .+\n$/)
  })

  describe("a turn that did not end well ends the program with exit code 1, and shows what it always shows", () => {
    const LONG = Array(9).fill("read LICENSE").join(" then ")

    test.each<[string, string[]]>([
      ["s04", []],
      ["s07", []],
      ["s10", []],
      ["s12", []],
      ["s10", ["--json"]],
      ["s11", ["--json"]],
      ["s12", ["--json"]],
    ])("%s %j at the limit of requests", async (id, args) => {
      const { code, stdout, stderr } = await start(id, [...args, LONG])
      expect([code, stderr]).toEqual([1, ""])
      expect(stdout).toContain("max turns reached")
    })

    test.each<[string, string[]]>([
      ["s04", []],
      ["s08", []],
      ["s12", []],
      ["s10", ["--json"]],
      ["s12", ["--json"]],
    ])("%s %j where the model fails", async (id, args) => {
      const broken = path.join(temporary, "broken.mjs")
      fs.writeFileSync(
        broken,
        `const split = String.prototype.split
         String.prototype.split = function (...args) {
           if (args[0] instanceof RegExp && String(args[0]).includes("then")) throw new Error("no connection")
           return split.apply(this, args)
         }`,
      )
      const { code, stdout } = await start(id, [...args, "read LICENSE"], { preload: pathToFileURL(broken).href })
      expect(code).toBe(1)
      expect(stdout).toContain("error: no connection")
    })
  })

  test("nothing from the command line reaches the terminal as it came", async () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    const raw = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/
    const nasty = "read \u001b[31m\u009b2J\u202e\u0007"
    for (const [id, args] of [
      ["s01", [nasty]],
      ["s04", [nasty]],
      ["s04", [nasty, nasty]],
      ["s12", [nasty]],
      ["s12", ["--json", nasty]],
      ["s12", [`--${nasty}`]],
    ] as const) {
      const { stdout, stderr } = await start(id, [...args])
      expect(stdout + stderr).toMatch(/\S/)
      expect(stdout + stderr).not.toMatch(raw)
    }
  })

  test.each(CHAPTERS.filter((chapter) => chapter.id >= "s04").map((chapter) => chapter.id))(
    "%s: whoever records results as they come in sees it in the demo",
    async (id) => {
      const folder = CHAPTERS.find((chapter) => chapter.id === id)?.folder ?? ""
      const text = fs.readFileSync(path.join(ROOT, folder, "code.ts"), "utf8")
      const loop = /for \(const pending of (startToolCalls\(message, \w+\.tools, options\))\) record\(await pending\)/
      expect(text).toMatch(loop)
      const broken = text.replace(loop, "await Promise.all($1.map(async (result) => record(await result)))")
      // A copy beside the chapters, so that it finds the packages and the files that its tools read.
      const copy = path.join(ROOT, "node_modules", ".cache", `order-${process.pid}-${id}`, "code.ts")
      fs.mkdirSync(path.dirname(copy), { recursive: true })
      fs.writeFileSync(
        copy,
        broken
          .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path.join(ROOT, folder, "code.ts")).href))
          .replace("if (startedDirectly())", "if (true)"),
      )
      const run = await start(id, [], { file: copy })
      fs.rmSync(path.dirname(copy), { recursive: true, force: true })
      expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/expected the result of/)])
    },
  )

  test("works through a link", async () => {
    const link = path.join(temporary, "linked")
    fs.symlinkSync(path.join(ROOT, "s01_state"), link, "junction")
    expect(await start("s01", [], { file: path.join(link, "code.ts") })).toEqual(runs.get("s01"))
  })

  test("ends quietly when the reader closes the pipe", async () => {
    const code = path.join(ROOT, "s12_packages", "code.ts")
    const child = startScript(code)
    child.stdout?.once("data", () => child.stdout?.destroy())
    const run = await finish(child)
    expect([run.code, run.stderr]).toEqual([0, ""])
  })

  test("imports without a word", async () => {
    const all = path.join(temporary, "all.mjs")
    const files = CHAPTERS.map(({ folder }) => pathToFileURL(path.join(ROOT, folder, "code.ts")).href)
    fs.writeFileSync(all, files.map((file) => `await import(${JSON.stringify(file)})\n`).join(""))
    expect(await start("s01", [], { file: all })).toEqual({ code: 0, stdout: "", stderr: "" })
  })
})

describe("JSON mode on the command line", () => {
  test.each(ends(["s10", "s11", "s12"]))(
    "B93: %s keeps standard output for events, whoever else prints",
    async (id) => {
      const stray = path.join(temporary, "stray.mjs")
      const noisy = "console.log('stray'); process.stdout.write('stray without an end');"
      // A promise and a tool both print in the middle of the turn: `split` is called by the scripted provider and by the hooks.
      fs.writeFileSync(
        stray,
        `const split = String.prototype.split
       String.prototype.split = function (...args) {
         if (process.argv.includes("--json") && args[0] instanceof RegExp && String(args[0]).includes("then")) { ${noisy} }
         return split.apply(this, args)
       }`,
      )
      const run = await start(id, ["--json", "read LICENSE"], { preload: pathToFileURL(stray).href })
      expect(run.code).toBe(0)
      expect(run.stderr).toContain("stray without an end")
      const events = run.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { type: string })
      expect(events.map((event) => event.type)).toEqual(["message", "message", "message", "done"])
    },
  )
})
