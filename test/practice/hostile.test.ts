import fs from "node:fs"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findChapter } from "../../scripts/course/manifest.ts"
import { chapterFile } from "../../scripts/course/source.ts"
import { Judge, type Verdict } from "../../scripts/practice/judge.ts"
import { here, makeTemporaryFolder, replaceOnce } from "../support/commands.ts"
import { DEEP } from "../support/tier.ts"

const chapter = findChapter("s01")
const folder = makeTemporaryFolder()
const file = path.join(folder, "code.ts")
const course = here.read("s01")
const HEAD = "export function describeError(error: unknown): string {\n"

let judge: Judge
beforeAll(() => {
  judge = new Judge()
})
afterAll(async () => {
  await judge.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

function judgeText(text: string): Promise<Verdict> {
  fs.writeFileSync(file, text)
  return judge.run(file, { chapter: "s01", failures: Number.POSITIVE_INFINITY })
}

/** The chapter with something in it that is run by the first tests. */
function inside(code: string): string {
  return replaceOnce(course, HEAD, `${HEAD}${code}\n`)
}

/** The chapter with something in it that comes before each request. */
function waiting(code: string): string {
  const request = "    const { content, stopReason } = await provider.complete(input)"
  return replaceOnce(course, request, `    ${code}\n${request}`)
}

const NEXT_LINE = course.slice(0, course.indexOf(HEAD)).split("\n").length + 1

/** What a file may do, and the one sentence that is said of it. */
const HOSTILE: [string, string, RegExp, RegExp][] = [
  [
    "ends the process",
    inside("  process.exit(3)"),
    /ended the process, in ".+", with 3: look for process\.exit/,
    /进程结束了（3）/,
  ],
  [
    "ends the process when it is loaded",
    `process.exit(0)\n${course}`,
    /ended the process, while it was loaded, with 0/,
    /加载时/,
  ],
  [
    "throws when it is loaded",
    `throw new Error("not today")\n${course}`,
    /broke off, line 1: not today$/,
    /中断了，第 1 行：not today$/,
  ],
  [
    "throws where nobody can catch it",
    inside('  setTimeout(() => { throw new Error("later") }, 0)'),
    new RegExp(`broke off, line ${NEXT_LINE}: later$`),
    /later$/,
  ],
  [
    "imports what is not there",
    `import "./nowhere.ts"\n${course}`,
    /^code\.ts:1:8 cannot be read as a program: Could not resolve "\.\/nowhere\.ts"/,
    /读不成程序/,
  ],
  [
    "imports a package that is not there",
    `import "no-such-package-at-all"\n${course}`,
    /broke off.*: Cannot find package 'no-such-package-at-all'/,
    /中断了/,
  ],
  ["is no TypeScript", `const = 1\n${course}`, /^code\.ts:1:7 cannot be read as a program: /, /读不成程序/],
  [
    "waits for ever when it is loaded",
    `await new Promise(() => {})\n${course}`,
    /waits for something that never comes, while it was loaded/,
    /等的东西永远不来/,
  ],
  [
    "hands out a promise that nobody resolves",
    waiting("await new Promise(() => {})"),
    /waits for something that never comes, in ".+": look for a promise/,
    /没人 resolve/,
  ],
]

describe("a file that lets the tests not come to their end gets one sentence:", () => {
  test.each(HOSTILE)("it %s", async (_what, text, en, zh) => {
    const { trouble, failures } = await judgeText(text)
    expect(trouble?.en).toMatch(en)
    expect(trouble?.zh).toMatch(zh)
    expect(trouble?.en).not.toContain("\n")
    expect(failures.length).toBeLessThan(3)
  })

  test.runIf(DEEP).each<[string, string]>([
    ["a loop", inside("  for (;;) {}")],
    ["a loop while it is loaded", `for (;;) {}\n${course}`],
    ["a loop that lets others run", waiting("for (;;) await new Promise((next) => setImmediate(next))")],
  ])("%s that never ends", async (_what, text) => {
    const { trouble } = await judgeText(text)
    expect(trouble?.en).toMatch(/^no end after 10 seconds, .+: look for a loop that never ends$/)
  })

  test("it is gone", async () => {
    const { trouble } = await judge.run(path.join(folder, "gone.ts"), { chapter: "s01", failures: 1 })
    expect(trouble?.en).toBe("gone.ts is gone: put it back, and this goes on")
  })

  test("and the next one is judged as if nothing had been", async () => {
    expect(await judgeText(course)).toMatchObject({ failures: [] })
    expect((await judgeText(course)).trouble).toBeUndefined()
  })
})

describe("a file that misbehaves and lets the tests go on", () => {
  test("prints a megabyte, past the console too, and is judged all the same", async () => {
    const { trouble, failures, passed } = await judgeText(inside('  process.stdout.write("x".repeat(1e6))'))
    expect(trouble).toBeUndefined()
    expect(failures).toEqual([])
    expect(passed.length).toBeGreaterThan(20)
  })

  test("writes to the console, and is told that a core does not", async () => {
    const { failures } = await judgeText(inside('  console.log("x".repeat(1e6))'))
    expect(failures.map(({ message }) => message)).toContain(
      "the core wrote to the console: it may write through an Output only",
    )
  })

  test("rejects a promise that nobody holds, and is told so", async () => {
    const { failures } = await judgeText(inside('  void Promise.reject(new Error("left alone"))'))
    expect(failures[0]?.message).toMatch(/^a promise was rejected and nobody caught it: Error: left alone/)
  })
})

describe("a file is judged", () => {
  test.each<[string, string, string]>([
    ["with the line ends of Windows", "code.ts", course.replaceAll("\n", "\r\n")],
    ["with a byte order mark", "code.ts", `\uFEFF${course}`],
    ["below a folder with spaces and other characters", "我的 files #1%/code.ts", course],
  ])("%s", async (_what, name, text) => {
    const place = path.join(folder, name)
    fs.mkdirSync(path.dirname(place), { recursive: true })
    fs.writeFileSync(place, text)
    const { failures, trouble, passed, tests } = await judge.run(place, { chapter: "s01", failures: 9 })
    expect({ failures, trouble }).toEqual({ failures: [], trouble: undefined })
    expect(passed).toEqual(tests)
  })

  test("with the files that it imports", async () => {
    fs.writeFileSync(path.join(folder, "words.ts"), 'export const UNKNOWN: string = "unknown error"\n')
    const text = `import { UNKNOWN } from "./words.ts"\n${course.replace('"unknown error"', "UNKNOWN")}`
    expect(await judgeText(text)).toMatchObject({ failures: [] })
  })

  test("and a failure names its line", async () => {
    const { failures } = await judgeText(inside('  throw new Error("here")'))
    expect(failures[0]?.stack).toContain(`code.ts:${NEXT_LINE}:`)
  })

  test("while other files were there before: what one has done to its process is gone with it", async () => {
    await judgeText(`Object.freeze = (value) => value\n${course}`)
    expect(await judge.run(chapterFile(chapter), { chapter: "s01", failures: 9 })).toMatchObject({ failures: [] })
  })
})
