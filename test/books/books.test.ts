import fs from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { type Book, findBookProblems, findDifferences, readBook } from "../../scripts/books/books.ts"
import { argumentsOf, DOCUMENTS, findStale, renderDocument, runDocumented } from "../../scripts/books/docs.ts"
import type { CommandName } from "../../scripts/cli/commands.ts"
import { CHAPTERS, findChapter } from "../../scripts/course/manifest.ts"
import { readChapters } from "../../scripts/rules/judge.ts"
import { here, runScript } from "../support/commands.ts"
import { ROOT } from "../support/ladder.ts"
import { DEEP } from "../support/tier.ts"

const outputs = new Map<string, Promise<string>>()

/** What a command of a book prints. Each is run once: in the deep tier as a process of its own, in the fast one served. */
function run(command: string): Promise<string> {
  const known = outputs.get(command) ?? (DEEP ? runDocumented(command) : runServed(command))
  outputs.set(command, known)
  return known
}

async function runServed(command: string): Promise<string> {
  const [, , script = "", ...args] = argumentsOf(command)
  const [name, ...rest] = args
  const isCommand = script === "scripts/cli/main.ts"
  const { stdout, stderr } = await (isCommand
    ? here.call(name as CommandName, ...rest)
    : runScript(path.join(ROOT, script), args))
  return `${stdout}${stderr}`.trimEnd()
}

const LANGUAGES = ["zh", "en"] as const
const BOOKS = CHAPTERS.flatMap((chapter) =>
  LANGUAGES.map((language) => [`${chapter.folder}, ${language}`, chapter, language] as const),
)

const show = (problems: readonly { file: string; line: number; message: string }[]): string[] =>
  problems.map(({ file, line, message }) => `${file}:${line}: ${message}`)

describe("the books", () => {
  test("are there, every chapter in both languages", () => {
    expect(DOCUMENTS.filter(({ file }) => !fs.existsSync(path.join(ROOT, file)))).toEqual([])
  })

  test("show the code as it is, the output as it comes, and the tables that the data gives", async () => {
    const stale = await findStale(["README"], ROOT, run)
    const untrue = stale.map(({ file, text }) => {
      const is = fs.readFileSync(path.join(ROOT, file), "utf8").split("\n")
      const line = text.split("\n").findIndex((should, index) => should !== is[index])
      return `${file}:${line + 1}: is "${is[line]}", should be "${text.split("\n")[line]}"`
    })
    expect(untrue).toEqual([])
  })

  test.each(BOOKS)("%s: sections, words, commands, links and symbols are right", (_name, chapter, language) => {
    expect(show(findBookProblems(readBook(chapter, language)))).toEqual([])
  })

  test.each(BOOKS.filter(([, { id }]) => id !== "s01"))(
    "%s: names the command that shows its difference",
    (_name, chapter, language) => {
      const file = path.join(ROOT, chapter.folder, language === "zh" ? "README.md" : "README.en.md")
      const [, section = ""] = fs.readFileSync(file, "utf8").split(/^## (?:接入主线|Where it fits in)$/m)
      expect(section.split(/^## /m)[0]).toContain(`\`npm run diff -- ${chapter.id}\``)
    },
  )

  test.each(CHAPTERS.map((chapter) => [chapter.folder, chapter] as const))(
    "%s: both languages are built alike, with the same code",
    (_name, chapter) => {
      expect(show(findDifferences(readBook(chapter, "zh"), readBook(chapter, "en")))).toEqual([])
    },
  )
})

describe("an untruth that is planted in a book is found", () => {
  const chapter = findChapter("s01")
  const document = { file: `${chapter.folder}/README.md`, language: "zh", chapter } as const
  const book = (change: (text: string) => string): Book => {
    const original = readBook(chapter, "zh")
    const text = change(original.text)
    expect(text).not.toBe(original.text)
    return { ...original, text }
  }

  test.each<[string, (text: string) => string]>([
    ["a changed line of code", (text) => text.replace('  role: "user"', '  role: "person"')],
    ["a digit of an output", (text) => text.replace("message 3 of 5", "message 4 of 5")],
    ["a missing row of a table", (text) => text.replace("| 新增 | `Output` | — | 类型 | — |\n", "")],
  ])("%s", async (_name, change) => {
    const { text } = book(change)
    const rendered = await renderDocument(text, document, readChapters(CHAPTERS), run)
    expect(rendered).toBe(readBook(chapter, "zh").text)
  })

  test.each<[string, RegExp, string]>([
    ["a cell that says what was before", /(\| 接入 \| `startToolCalls` \| `)const/, "$1let"],
    ["a cell that says what is after", /(`const \{ hooks = )\{\}(, registry)/, "$1[]$2"],
    ["a line that a difference takes out", /^-(.*)await execute\(call\)/m, "-$1await run(call)"],
    ["a line that a difference brings", /^\+( +)assertAllowed\(hooks, call\)/m, "+$1assertAllowed(call)"],
    ["a line around a difference", /^ (export function startToolCalls\()/m, " async $1"],
  ])("in s05, %s", async (_name, wrong, instead) => {
    const s05 = findChapter("s05")
    const { text } = readBook(s05, "zh")
    const damaged = text.replace(wrong, instead)
    expect(damaged).not.toBe(text)
    const page = { file: `${s05.folder}/README.md`, language: "zh", chapter: s05 } as const
    expect(await renderDocument(damaged, page, readChapters(CHAPTERS), run)).toBe(text)
  })

  test("a difference of what is new, or without a chapter before", async () => {
    const page = (id: "s01" | "s05") => ({ file: "page.md", language: "en", chapter: findChapter(id) }) as const
    const surfaces = readChapters(CHAPTERS)
    const mark = (name: string): string => `<!-- diff: ${name} -->\n\`\`\`diff\n\n\`\`\`\n`
    await expect(renderDocument(mark("Output"), page("s01"), surfaces)).rejects.toThrow("no chapter is before")
    await expect(renderDocument(mark("ToolHooks"), page("s05"), surfaces)).rejects.toThrow(
      'page.md quotes "s04:ToolHooks", which s04 does not declare',
    )
  })

  test.each<[string, (text: string) => string, string]>([
    [
      "a wrong anchor",
      (text) => text.replace("## 接下来\n", "## 接下来\n\n[上面](#没有这一节)\n"),
      "has no heading #没有这一节",
    ],
    [
      "a link to nowhere",
      (text) => text.replace("## 接下来\n", "## 接下来\n\n[那里](nowhere.md)\n"),
      "the link nowhere.md leads nowhere",
    ],
    [
      "a word of a later chapter",
      (text) => text.replace("## 接下来\n", "## 接下来\n\n以后会有钩子。\n"),
      '"钩子" is a word of s05 and comes too early',
    ],
    [
      "a name of a later chapter",
      (text) => text.replace("## 工作原理\n", "## 工作原理\n\n先不管 `SessionTree`。\n"),
      '"SessionTree" is a word of s07 and comes too early',
    ],
    [
      "a section out of order",
      (text) => text.replace("## 试一下", "## 接下来吧"),
      'expected the section "试一下" here',
    ],
    [
      "a renamed symbol of Pi",
      (text) => text.replace("types.ts#AgentState", "types.ts#AgentStatus"),
      "Pi 0.81.1 has no packages/agent/src/types.ts#AgentStatus",
    ],
    [
      "a script that is not there",
      (text) => text.replace("## 接下来\n", "## 接下来\n\n`npm run dance`\n"),
      'there is no script "dance"',
    ],
    [
      "a file that is not there",
      (text) => text.replace("npx tsx s01_state/code.ts\n```", "npx tsx s01_states/code.ts\n```"),
      "there is no file s01_states/code.ts",
    ],
    [
      "code from nowhere",
      (text) => text.replace("## 接下来\n", "## 接下来\n\n```ts\nconst x = 1\n```\n"),
      "a block of code without a mark",
    ],
    [
      "an error that no chapter gives",
      (text) => text.replace("## 接下来\n", '## 接下来\n\n```text\nerror: the model is "asleep"\n```\n'),
      'no chapter up to s01 gives the error "the model is "asleep""',
    ],
    [
      "no way to the next chapter",
      (text) => text.replace("<!-- end: neighbours -->", ""),
      "expected the links to the neighbours at the end",
    ],
    [
      "a block of a kind that nobody looks at",
      (text) => text.replace("## 接下来\n", "## 接下来\n\n```console\nerror: the moon is full\n```\n"),
      '"```console" opens no block of a book',
    ],
    [
      "an output that no command is made to answer for",
      (text) => text.replace("<!-- output: npx tsx s01_state/code.ts -->\n", ""),
      "a block of output without a mark that says which command prints it",
    ],
    [
      "another title",
      (text) => text.replace("# s01: 状态", "# s01: 记忆"),
      'expected a title that starts with "# s01: 状态',
    ],
  ])("%s", (_name, change, message) => {
    const problems = findBookProblems(book(change))
    expect(problems.map((problem) => problem.message).join("\n")).toContain(message)
    expect(problems.every(({ line, file }) => line > 0 && file === document.file)).toBe(true)
  })

  test("a table that only one language has", () => {
    const longer = book((text) => text.replace("## 接下来\n", "## 接下来\n\n| a | b |\n| --- | --- |\n"))
    expect(findDifferences(longer, readBook(chapter, "en"))[0]?.message).toContain("row of 2")
  })
})
