import fs from "node:fs"
import path from "node:path"
import stringWidth from "string-width"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { command } from "../../scripts/cli/practice.ts"
import { runCommand, type Terminal } from "../../scripts/cli/terminal.ts"
import { CHAPTERS, findChapter } from "../../scripts/course/manifest.ts"
import { HEIGHT } from "../../scripts/practice/show.ts"
import { makeStart, namesToWrite } from "../../scripts/practice/start.ts"
import { Copy, here, makeTemporaryFolder, type Run, recordTerminal, replaceOnce } from "../support/commands.ts"
import { DEEP, ends } from "../support/tier.ts"

const folder = makeTemporaryFolder()
let copy: Copy
beforeAll(() => {
  copy = new Copy(folder)
})
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

const fileOf = (id: string): string => path.join(copy.root, "my", id, "code.ts")

function write(id: string, text: string): void {
  fs.mkdirSync(path.dirname(fileOf(id)), { recursive: true })
  fs.writeFileSync(fileOf(id), text)
}

const read = (id: string): string => fs.readFileSync(fileOf(id), "utf8")

/** Practice without a terminal. */
function practice(...args: string[]): Promise<Run> {
  return copy.call("practice", ...args)
}

/** A step that is written: the start with the names of this step and those before it. */
const started = (id: string, ...names: string[]): string => makeStart(findChapter(id), new Set(names))

/** A page that fits into 80 columns and a screenful. */
function expectPage(text: string): void {
  const lines = text.trimEnd().split("\n")
  expect(lines.length).toBeLessThanOrEqual(HEIGHT)
  expect(lines.filter((line) => stringWidth(line) > 80)).toEqual([])
}

describe("npm run practice", () => {
  test("shows the twelve chapters and what to do next, in either language", async () => {
    fs.rmSync(path.join(copy.root, "my"), { recursive: true, force: true })
    const { code, stdout } = await practice("--lang", "en")
    expect(code).toBe(0)
    expectPage(stdout)
    expect(stdout.match(/^s\d\d /gm)).toHaveLength(12)
    expect(stdout).toContain("Next: npm run practice -- s01")
    expect((await practice("--lang", "zh")).stdout).toContain("接下来：npm run practice -- s01")
  })

  test("makes a file, shows one step, and says by its exit code that there is one left", async () => {
    const { code, stdout } = await practice("s02", "--lang", "en")
    expect(code).toBe(1)
    expectPage(stdout)
    expect(stdout).toMatch(/^my\/s02\/code\.ts was made\.\ns02 Tools {2}□□□ {2}step 1 of 3/)
    expect(stdout).toContain("Write: refuse, expectString, sealTexts, sealTool, ToolRegistry.register")
    expect(stdout).toContain("The book: s02_tools/README.en.md:")
    expect(stdout).toMatch(/not written yet: ToolRegistry\.register \(code\.ts, line \d+\)/)
    expect(stdout.match(/✗/g)).toHaveLength(1)
    expect(await practice("s02", "--lang", "zh")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("第 1 步，共 3 步"),
    })
  })

  test("keeps the progress, and says so when it goes back", async () => {
    const registry = [
      "refuse",
      "expectString",
      "sealTexts",
      "sealTool",
      "ToolRegistry.register",
      "ToolRegistry.getSpecs",
    ]
    write("s02", started("s02", ...registry))
    expect((await practice("s02")).stdout).toContain("step 2 of 3")
    expect((await practice()).stdout).toMatch(/^s02 Tools +■□□ +step 2 of 3$/m)
    write("s02", started("s02"))
    const { stdout } = await practice("s02")
    expect(stdout).toContain("Step 1 had passed before and does so no more.")
    expect((await practice()).stdout).toMatch(/^s02 Tools +■□□ +step 2 of 3$/m)
  })

  test("ticks no step while something that it names is left as it began, whatever its tests say", async () => {
    const names = namesToWrite(findChapter("s04"))
    const page = async (left: string): Promise<string> => {
      write("s04", started("s04", ...names.filter((name) => name !== left)))
      return (await practice("s04", "--lang", "en")).stdout
    }
    expect(await page("guard")).toMatch(/step 1 of \d+/)
    expect(await page("DEFAULT_MAX_TURNS")).not.toMatch(/step 1 of \d+/)
    expect(await page("refuse")).toMatch(/step 1 of \d+[\s\S]*✗ the tests of this step pass; refuse still has the mark/)
    fs.rmSync(path.dirname(fileOf("s04")), { recursive: true })
  })

  test.runIf(DEEP)("ends with exit code 0 where the chapter is written, whatever its line ends are", async () => {
    write(
      "s02",
      started(
        "s02",
        "buildProviderInput",
        "runOneTurn",
        "refuse",
        "expectString",
        "sealTexts",
        "sealTool",
        "ToolRegistry.register",
        "ToolRegistry.getSpecs",
      ).replaceAll("\n", "\r\n"),
    )
    const { code, stdout } = await practice("s02")
    expect(stdout).toContain("✓ The chapter is written")
    expect(code).toBe(0)
    expect((await practice()).stdout).toMatch(/^s02 Tools +■■■ +written$/m)
  })

  test("begins in the reader's own chapter before, once that is written", async () => {
    const own = here
      .read("s02")
      .replace(
        'return typeof value === "string" ? value : refuse',
        'return typeof value === "string" ? (value as string) : refuse',
      )
    write("s02", own)
    expect(await practice("s02")).toMatchObject({ code: 0 })
    const { stdout } = await practice("s03")
    expect(stdout).toContain("my/s03/code.ts was made from your own s02.")
    expect(read("s03")).toContain("(value as string)")
    expect(read("s03")).toContain('throw new Error("not written yet: collectAssistantMessage")')
    expect(read("s03")).toContain("// s03 changes this: The answer is collected from a stream")
  })

  test.runIf(DEEP)("and in the course's where the reader's has other lines in the places that change", async () => {
    const HEAD = "input: ProviderInput): Promise<AssistantMessage> {\n"
    const answer = (id: string): string => replaceOnce(here.read(id), HEAD, `${HEAD}  // A line of the reader's.\n`)
    write("s01", answer("s01"))
    expect(await practice("s01")).toMatchObject({ code: 0 })
    fs.rmSync(fileOf("s02"))
    expect((await practice("s02")).stdout).toContain("my/s02/code.ts was made from your own s01.")
    write("s02", answer("s02"))
    expect(await practice("s02")).toMatchObject({ code: 0 })
    fs.rmSync(fileOf("s03"))
    expect((await practice("s03")).stdout).toContain("my/s03/code.ts was made from the course's s02: yours has")
    expect(read("s03")).toBe(started("s03"))
  })

  test("--blank begins with the chapter before and nothing else", async () => {
    await practice("s06", "--blank")
    expect(read("s06")).toBe(
      here
        .read("s05")
        .replace(
          "path.dirname(path.dirname(fileURLToPath(import.meta.url)))",
          "path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))))",
        ),
    )
  })

  test.runIf(DEEP)("looks at the rules and the types when every test passes", async () => {
    fs.rmSync(path.join(copy.root, "my"), { recursive: true, force: true })
    write("s02", here.read("s02").replace("/** A readable text for", "/** A good text for"))
    expect((await practice("s02")).stdout).toMatch(/one rule does not hold: line \d+: /)
    write("s02", `${here.read("s02")}\nconst seven: number = "seven"\nvoid seven\n`)
    expect((await practice("s02")).stdout).toMatch(/one type is wrong: line \d+: TS2322/)
    expect((await practice("s02")).code).toBe(1)
  })

  test.each(ends(CHAPTERS.map(({ id }) => id)))(
    "%s begins with a file that can be started, and with pages that fit",
    async (id) => {
      fs.rmSync(path.join(copy.root, "my"), { recursive: true, force: true })
      for (const language of ["en", "zh"]) {
        const { stdout, code } = await practice(id, "--lang", language)
        expectPage(stdout)
        expect(code).toBe(1)
      }
    },
  )

  test.each<[string[], string]>([
    [["s13"], 'unknown chapter "s13"'],
    [["s01", "s02"], 'expected one chapter, got "s01 s02"'],
    [["--blank"], "--blank says how a file begins: name its chapter"],
    [["s01", "--blank"], "there is no chapter before s01: leave --blank away"],
    [["--lang", "fr"], '--lang expects zh or en, got "fr"'],
  ])("refuses %j", async (args, reason) => {
    const run = await practice(...args)
    expect(run).toMatchObject({ code: 2, stdout: "" })
    expect(run.stderr).toContain(`error: ${reason}`)
  })
})

/** Somebody in front of a terminal: presses keys, and waits for pages. */
class Person {
  readonly terminal: Terminal
  readonly pages: string[] = []
  #press: (key: string) => void = () => {}
  #wake: () => void = () => {}

  constructor(language: string) {
    const { terminal } = recordTerminal(copy.root, { env: { LC_ALL: language } })
    this.terminal = {
      ...terminal,
      columns: 80,
      out: (text) => {
        this.pages.push(text)
        this.#wake()
      },
      screen: {
        clear: () => {},
        listen: (hear) => {
          this.#press = hear
          return () => {}
        },
      },
    }
  }

  press(key: string): void {
    this.#press(key)
  }

  /** The first page from here on that says so. */
  async sees(what: RegExp): Promise<string> {
    for (let from = 0; ; ) {
      const page = this.pages.slice(from).find((text) => what.test(text))
      if (page !== undefined) {
        this.pages.length = 0
        expectPage(page)
        return page
      }
      from = this.pages.length
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

describe("npm run practice in a terminal", () => {
  test("looks again at every save, gives hints, explains, compares, goes on to the next chapter and ends", async () => {
    fs.rmSync(path.join(copy.root, "my"), { recursive: true, force: true })
    const person = new Person("en_US.UTF-8")
    const run = runCommand(command, ["s02"], person.terminal)
    await person.sees(/step 1 of 3[\s\S]*h hint/)

    person.press("h")
    await person.sees(/1\. What is registered is sound/)
    person.press("h")
    await person.sees(
      /2\. (Write this one next:|Change this one next:|All of it is written; the mistake is in one of) \S+/,
    )
    person.press("h")
    await person.sees(/3\. Check everything/)
    person.press("e")
    await person.sees(/calls your function itself/)

    person.press("n")
    await person.sees(/has a step left/)
    person.press("d")
    const asked = await person.sees(/d again shows it/)
    expect(asked).not.toContain("#tools")
    person.press("d")
    await person.sees(/- yours, \+ the course's[\s\S]*\+/)

    // An editor that saves by renaming.
    const text = here.read("s02")
    fs.writeFileSync(
      `${fileOf("s02")}.tmp`,
      replaceOnce(text, "tools: options?.registry?.getSpecs() ?? []", "tools: []"),
    )
    fs.renameSync(`${fileOf("s02")}.tmp`, fileOf("s02"))
    await person.sees(/step 2 of 3[\s\S]*fed in[\s\S]*the person/)
    person.press("e")
    await person.sees(/the course +yours[\s\S]*The histories are alike/)

    fs.rmSync(fileOf("s02"))
    await person.sees(/is gone: put it back/)
    write("s02", text.replace("export function describeError(error: unknown): string {", "$&\n  process.exit(1)"))
    await person.sees(/ended the process/)
    write("s02", text)
    await person.sees(/✓ The chapter is written[\s\S]*n next chapter/)
    person.press("d")
    await person.sees(/Yours reads as the course's does/)
    person.press("n")
    await person.sees(/my\/s03\/code\.ts was made from your own s02\.[\s\S]*step 1 of 4/)
    person.press("q")
    expect(await run).toBe(0)
  })

  test.runIf(DEEP)("marks the first deviation, in Chinese too, and ends when nobody reads along", async () => {
    write("s01", replaceOnce(here.read("s01"), "content: prompt.toWellFormed() }", 'content: "" }'))
    const person = new Person("zh_CN.UTF-8")
    const run = runCommand(command, ["s01"], person.terminal)
    await person.sees(/第 1 步，共 4 步[\s\S]*输入 +人：/)
    person.press("e")
    await person.sees(/课程 +你的[\s\S]*▶[\s\S]*第一处偏离，第 0 行/)
    person.press("q")
    expect(await run).toBe(0)
  })
})
