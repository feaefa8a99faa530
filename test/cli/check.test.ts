import fs from "node:fs"
import path from "node:path"
import { stripVTControlCharacters } from "node:util"
import { afterAll, describe, expect, test } from "vitest"
import { readSurface } from "../../scripts/chapter/surface.ts"
import { command } from "../../scripts/cli/check.ts"
import type { CheckReport } from "../../scripts/cli/report.ts"
import { runCommand } from "../../scripts/cli/terminal.ts"
import { CHAPTERS, type Chapter, type ChapterId, findChapter } from "../../scripts/course/manifest.ts"
import { chapterFile } from "../../scripts/course/source.ts"
import { RULES } from "../../scripts/rules/index.ts"
import { assertWhole, checkSteps, pairChapters, readChapters } from "../../scripts/rules/judge.ts"
import type { Finding, Step } from "../../scripts/rules/rule.ts"
import {
  BROKEN,
  Copy,
  declarationIn,
  doBeforeAll,
  expectRefusal,
  finish,
  here,
  makeTemporaryFolder,
  type Run,
  recordTerminal,
  replaceOnce,
} from "../support/commands.ts"

const IDS = CHAPTERS.map(({ id }) => id)
/** Edits that several tests make: a field that all chapters have, and what a function of s02 says. */
const FIELD = "  output: Output\n"
const KIND = 'refuse(value, source, "a string")'
const OTHER_KIND = 'refuse(value, source, "a text")'

const ARTICLES = ["R1", "R2", "R3", "R7", "R8", "U2", "I1"]

const temporary = makeTemporaryFolder()

afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

describe("the chapters", () => {
  const surfaces = readChapters(CHAPTERS)
  const steps = pairChapters(surfaces)

  /** All twelve steps, with one chapter read from another text or under another entry of the manifest. */
  function stepsWith(id: ChapterId, text: string, chapter: Chapter): Step[] {
    const index = IDS.indexOf(id)
    const next = surfaces[index + 1]
    const edited = [readSurface(chapter, chapterFile(chapter), text), ...(next === undefined ? [] : [next])]
    return steps.toSpliced(index, edited.length, ...pairChapters(edited, surfaces[index - 1]))
  }

  test("are twelve: a manifest that has lost the last is no smaller course", () => {
    expect(() => assertWhole(CHAPTERS.slice(0, 11))).toThrow("lists 11 chapters, expected 12")
    expect(() => assertWhole(CHAPTERS)).not.toThrow()
  })

  test("hold against the constitution", () => {
    expect(checkSteps(steps)).toEqual([])
  })

  type Edit = {
    says: string
    chapter: ChapterId
    /** What is edited in the source, if anything, and into what. */
    from?: string
    to?: string
    /** What is edited in the chapter's entry of the manifest, if anything. */
    manifest?: (chapter: Chapter) => Partial<Chapter>
    rule: string
    symbol: string
    /** What stands in the line that the finding points at: in the edited chapter, or, for what is gone, in the one before. */
    at: string
  }

  const [EXECUTOR, LIMIT, TOOL] = [
    declarationIn("s07", "ToolExecutor"),
    declarationIn("s07", "DEFAULT_MAX_TURNS"),
    declarationIn("s03", "Tool"),
  ]

  const NO_REASON = { reason: "none", reasonZh: "无" }

  const EDITS: Edit[] = [
    {
      says: "a field is taken out of s02",
      chapter: "s02",
      from: "  output: Output\n",
      to: "",
      rule: "R1-FIELD-GONE",
      symbol: "TurnOptions.output",
      at: "export type TurnOptions = {",
    },
    {
      says: "a field of s06 is no longer optional",
      chapter: "s06",
      from: "  maxTurns?: number\n",
      to: "  maxTurns: number\n",
      rule: "R1-FIELD-CHANGED",
      symbol: "TurnOptions.maxTurns",
      at: "  maxTurns: number",
    },
    {
      says: "a union of s09 has lost a member",
      chapter: "s09",
      from: '  | "error"\n',
      to: "",
      rule: "R1-MEMBER-GONE",
      symbol: 'StopReason."error"',
      at: "export type StopReason =",
    },
    {
      says: "a type of s10 is any",
      chapter: "s10",
      from: "  run: () => string\n",
      to: "  run: () => any\n",
      rule: "R1-ANY",
      symbol: "Command",
      at: "  run: () => any",
    },
    {
      says: "a class of s06 has lost a method",
      chapter: "s06",
      from: "  getSpecs(): ToolSpec[] { return [...this.#tools.values()].map((tool) => tool.spec) }\n",
      to: "",
      rule: "R2-MEMBER-GONE",
      symbol: "ToolRegistry.getSpecs",
      at: "export class ToolRegistry {",
    },
    {
      says: "a method of s08 does something else",
      chapter: "s08",
      from: "{ return this.#pathTo(this.#leaf) }\n",
      to: "{ return this.#pathTo(this.#leaf).reverse() }\n",
      rule: "R2-MEMBER-CHANGED",
      symbol: "SessionTree.currentPath",
      at: "{ return this.#pathTo(this.#leaf).reverse() }",
    },
    {
      says: "a welded method of s04 returns something else",
      chapter: "s04",
      from: "  getSpecs(): ToolSpec[] {",
      to: "  getSpecs(): readonly ToolSpec[] {",
      manifest: ({ welds }) => ({ welds: [...welds, { name: "ToolRegistry.getSpecs", ...NO_REASON }] }),
      rule: "R2-SIGNATURE",
      symbol: "ToolRegistry.getSpecs",
      at: "  getSpecs(): readonly ToolSpec[] {",
    },
    {
      says: "the upgrade of s03 is not declared",
      chapter: "s03",
      manifest: () => ({ upgrades: [] }),
      rule: "R3-SILENT",
      symbol: "Provider.complete",
      at: "export interface Provider {",
    },
    {
      says: "s05 declares an upgrade of its own",
      chapter: "s05",
      manifest: () => ({
        upgrades: [
          { rule: "U1", name: "Output.log", from: "log(line: string): void", to: "log(): void", ...NO_REASON },
        ],
      }),
      rule: "R3-FOREIGN",
      symbol: "Output.log",
      at: "export type Output = ",
    },
    {
      says: "the upgrade of s11 did not happen as declared",
      chapter: "s11",
      manifest: ({ upgrades }) => ({
        upgrades: upgrades.map((upgrade) => ({ ...upgrade, to: "load(trust?: ProjectTrust): string[]" })),
      }),
      rule: "R3-UNUSED",
      symbol: "ResourceLoader.load",
      at: "export class ResourceLoader {",
    },
    {
      says: "the core of s04 writes to the console",
      chapter: "s04",
      from: "  const { stopReason, ...sent } = message\n",
      to: "  const { stopReason, ...sent } = message\n  console.log(sent)\n",
      rule: "R7-CONSOLE",
      symbol: "toProviderMessage",
      at: "  console.log(sent)",
    },
    {
      says: "s12 imports another chapter",
      chapter: "s12",
      from: 'import fs from "node:fs"\n',
      to: 'import fs from "node:fs"\nimport { describeError as other } from "../s01_state/code.ts"\n',
      rule: "R7-IMPORT",
      symbol: "../s01_state/code.ts",
      at: 'import { describeError as other } from "../s01_state/code.ts"',
    },
    {
      says: "the core of s07 reads a file",
      chapter: "s07",
      from: "  checkMaxTurns(options.maxTurns)\n",
      to: '  checkMaxTurns(Number(fs.readFileSync("limit")))\n',
      rule: "R7-IMPORT",
      symbol: "runOneTurn",
      at: '  checkMaxTurns(Number(fs.readFileSync("limit")))',
    },
    {
      says: "a function of s05 is gone",
      chapter: "s05",
      from: `${declarationIn("s05", "assertUnique")}\n\n`,
      to: "",
      rule: "R8-GONE",
      symbol: "assertUnique",
      at: "export function assertUnique(",
    },
    {
      says: "two declarations of s07 have changed places",
      chapter: "s07",
      from: `${EXECUTOR}\n\n${LIMIT}`,
      to: `${LIMIT}\n\n${EXECUTOR}`,
      rule: "R8-MOVED",
      symbol: "DEFAULT_MAX_TURNS",
      at: "export const DEFAULT_MAX_TURNS = 8",
    },
    {
      says: "a type of s11 has become an interface",
      chapter: "s11",
      from: "export type RuntimeMode = { render(events: RuntimeEvent[]): void }",
      to: "export interface RuntimeMode { render(events: RuntimeEvent[]): void }",
      rule: "R8-KIND",
      symbol: "RuntimeMode",
      at: "export interface RuntimeMode {",
    },
    {
      says: "a function of s10 says something else",
      chapter: "s10",
      from: KIND,
      to: OTHER_KIND,
      rule: "R8-REWRITTEN",
      symbol: "expectString",
      at: OTHER_KIND,
    },
    {
      says: "an old line of s07 ends with a semicolon",
      chapter: "s07",
      from: '  const texts = sealTexts({ id, name }, "a call")\n',
      to: '  const texts = sealTexts({ id, name }, "a call");\n',
      rule: "R8-REFORMATTED",
      symbol: "sealToolCall",
      at: '  const texts = sealTexts({ id, name }, "a call");',
    },
    {
      says: "an old comment of s03 is worded anew",
      chapter: "s03",
      from: TOOL,
      to: TOOL.replace("/** ", "/** Also: "),
      rule: "R8-REFORMATTED",
      symbol: "Tool",
      at: "/** Also: ",
    },
    {
      says: "an old banner of s12 is worded anew",
      chapter: "s12",
      from: "// ── s08 Resources ── ",
      to: "// ── s08 Resources ── also: ",
      rule: "R8-REFORMATTED",
      symbol: "ContextResource",
      at: "// ── s08 Resources ── also: ",
    },
    {
      says: "an old line of s02 is indented otherwise",
      chapter: "s02",
      from: "  const { stopReason, ...sent } = message\n",
      to: "    const { stopReason, ...sent } = message\n",
      rule: "R8-REFORMATTED",
      symbol: "toProviderMessage",
      at: "    const { stopReason, ...sent } = message",
    },
    {
      says: "a weld of s09 takes another parameter",
      chapter: "s09",
      from: "export async function runOneTurn(state: AgentState, prompt: string,",
      to: "export async function runOneTurn(state: AgentState, prompt: unknown,",
      rule: "R8-SIGNATURE",
      symbol: "runOneTurn",
      at: "export async function runOneTurn(state: AgentState, prompt: unknown,",
    },
    {
      says: "s04 lacks a field that the manifest lists, and s05 has it",
      chapter: "s04",
      from: "  execute?: ToolExecutor\n",
      to: "",
      rule: "R8-UNUSED",
      symbol: "TurnOptions",
      at: "export type TurnOptions = {",
    },
    {
      says: "a constant of s04 is not exported",
      chapter: "s04",
      from: "export const DEFAULT_MAX_TURNS = 8\n",
      to: "const DEFAULT_MAX_TURNS = 8\n",
      rule: "R8-EXPORT",
      symbol: "DEFAULT_MAX_TURNS",
      at: "const DEFAULT_MAX_TURNS = 8",
    },
    {
      says: "a new type of s11 has lost its banner",
      chapter: "s11",
      from: "// ── s11 Trust ──",
      to: "// -- s11 Trust --",
      rule: "R8-PLACE",
      symbol: "ProjectTrust",
      at: "export type ProjectTrust =",
    },
    {
      says: "s12 adds a type that is not listed",
      chapter: "s12",
      from: "// ── Demo ──",
      to: "/** Stands here for a while. */\nexport type Guest = string\n\n// ── Demo ──",
      rule: "R8-UNLISTED",
      symbol: "Guest",
      at: "export type Guest = string",
    },
    {
      says: "s06 lists a weld that is none",
      chapter: "s06",
      manifest: ({ welds }) => ({ welds: [...welds, { name: "describeError", ...NO_REASON }] }),
      rule: "R8-UNUSED",
      symbol: "describeError",
      at: "export function describeError(",
    },
    {
      says: "the demo of s02 takes a name of s09",
      chapter: "s02",
      from: "async function main(args: string[]): Promise<void> {\n",
      to: "async function main(args: string[]): Promise<void> {\n  type RuntimeEvent = string\n",
      rule: "U2-SECOND-MEANING",
      symbol: "RuntimeEvent",
      at: "  type RuntimeEvent = string",
    },
    {
      says: "the core of s11 knows a word of a vendor",
      chapter: "s11",
      from: '    if (message.stopReason !== "toolUse") throw new Error(',
      to: '    if (message.stopReason !== "tool_use") throw new Error(',
      rule: "I1-VENDOR",
      symbol: "startToolCalls",
      at: '!== "tool_use")',
    },
  ]

  test.each(CHAPTERS.map((chapter) => [chapter.id, chapter] as const))(
    "%s: the manifest has the parts in the order of the source, and the titles of the banners",
    (id, chapter) => {
      const surface = surfaces[IDS.indexOf(id)]
      const own = surface?.core.filter(({ section }) => section === id).map(({ name }) => name)
      expect(own).toEqual(chapter.parts)
      const banners = surface?.lines.flatMap((line) => /^\/\/ ── (s\d\d .+?) ── \S.* ─+$/.exec(line)?.[1] ?? [])
      expect(banners).toEqual(
        CHAPTERS.slice(0, IDS.indexOf(id) + 1).map(({ id: number, title }) => `${number} ${title}`),
      )
      expect(chapter.gains).toBeDefined()
    },
  )

  for (const { says, chapter: id, from, to, manifest, rule, symbol, at } of EDITS) {
    test(`give one finding, at its place, when ${says}`, () => {
      const chapter = { ...findChapter(id), ...manifest?.(findChapter(id)) }
      const text = from === undefined || to === undefined ? here.read(id) : replaceOnce(here.read(id), from, to)
      const found = checkSteps(stepsWith(id, text, chapter))
      expect(found).toEqual([expect.objectContaining({ rule, chapter: id, symbol })])
      const [{ message, fix, old, next }] = found as [Finding]
      expect(message.en).toContain(symbol.replace('StopReason."error"', "StopReason"))
      expect(fix.en).toMatch(/^[A-Z].{20,}\.$/)
      const before = IDS[IDS.indexOf(id) - 1] ?? id
      const [spot, file, seen] = next === undefined ? [old, before, here.read(before)] : [next, id, text]
      expect(spot?.file).toBe(here.file(file))
      expect(seen.split("\n")[(spot?.line ?? 0) - 1]).toContain(at)
    })
  }

  test("hide no fault behind one of the chapter before", () => {
    const COMMENT = "/** Throws when a name occurs twice. */"
    const RULED = "if (hooks.beforeToolCall === undefined) return"
    const texts = IDS.map((id) => {
      const worded =
        id < "s05" ? here.read(id) : replaceOnce(here.read(id), COMMENT, COMMENT.replace("/**", "/** Also:"))
      return id < "s06" ? worded : replaceOnce(worded, RULED, `${RULED}\n  void 0`)
    })
    const edited = CHAPTERS.map((chapter, index) => readSurface(chapter, chapterFile(chapter), texts[index]))
    const found = checkSteps(pairChapters(edited)).map(({ rule, chapter, symbol }) => [rule, chapter, symbol])
    expect(found).toEqual([
      ["R8-REFORMATTED", "s05", "assertUnique"],
      ["R8-REWRITTEN", "s06", "assertAllowed"],
    ])
  })

  test("hide no undeclared weld behind a fault of the chapter that welded before", () => {
    const ENTRY = "export function describeError("
    const texts = IDS.map((id) => {
      const renamed =
        id === "s09" ? replaceOnce(here.read(id), ENTRY, `${ENTRY.replace("export ", "")}`) : here.read(id)
      return id < "s11"
        ? renamed
        : replaceOnce(
            renamed,
            "  if (options.extensions !== undefined)",
            "  void 0\n  if (options.extensions !== undefined)",
          )
    })
    const edited = CHAPTERS.map((chapter, index) => {
      const text =
        index === 9 ? replaceOnce(texts[index] ?? "", 'source, "a string")', 'source, "a text")') : texts[index]
      return readSurface(chapter, chapterFile(chapter), text)
    })
    const found = checkSteps(pairChapters(edited)).map(({ rule, chapter, symbol }) => [rule, chapter, symbol])
    expect(found).toEqual([
      ["R8-EXPORT", "s09", "describeError"],
      ["R8-REWRITTEN", "s10", "expectString"],
      ["R8-REWRITTEN", "s11", "publish"],
    ])
  })

  test("were edited against each article of the constitution, and each chapter was", () => {
    expect([...new Set(EDITS.map(({ rule }) => rule.slice(0, 2)))].sort()).toEqual([...ARTICLES].sort())
    expect([...new Set(EDITS.map(({ chapter }) => chapter))].sort()).toEqual(IDS.slice(1))
  })
})

/** What the table looks like for some chapters: a dot where an article holds, else a count. */
function table(ids: readonly string[], counts: Record<string, number> = {}): string {
  const rows = ids.map((id) => {
    const cells = ARTICLES.map((article) => String(counts[`${id} ${article}`] ?? "·").padStart(4))
    return `${id} ${findChapter(id).title.padEnd(11)}${cells.join("")}\n`
  })
  return `${" ".repeat(15)}${ARTICLES.map((article) => article.padStart(4)).join("")}\n${rows.join("")}\n`
}

const RULE_COUNT = `${RULES.length} rules`
const PIPE = { env: { NO_COLOR: undefined } }
const COLORS = { env: { NO_COLOR: undefined, FORCE_COLOR: "1" } }

/** Writes a file of a reader's own, and gives its path. */
function writeFile(name: string, text: string): string {
  const file = path.join(temporary, name, "code.ts")
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, text)
  return file
}

describe("npm run check", () => {
  const good = writeFile("good", here.read("s05"))
  const damaged = writeFile("damaged", replaceOnce(here.read("s05"), FIELD, ""))
  const twice = writeFile("twice", replaceOnce(replaceOnce(here.read("s05"), FIELD, ""), KIND, OTHER_KIND))
  const copy = new Copy(temporary)
  copy.edit("s05", FIELD, "")
  copy.edit("s05", KIND, OTHER_KIND)
  copy.edit("s09", '  | "error"\n', '  | "error" // or worse, 100 % of it\n')

  const runs = doBeforeAll({
    all: () => here.run("check", [], PIPE),
    nothing: () => here.run("check", ["--as", "s05", "nowhere.ts"]),
    json: () => here.run("check", ["--json"], COLORS),
    upto: () => here.call("check", "--upto", "3"),
    only: () => here.call("check", "--only", "s04_toolloop"),
    good: () => here.call("check", "--as", "s05", good),
    damaged: () => here.run("check", ["--as", "s05", "code.ts"], { cwd: path.dirname(damaged) }),
    twice: () => here.run("check", ["--as", "s05", twice], { env: { FORCE_COLOR: "1" } }),
    colored: () => here.run("check", ["--as", "s05", twice], COLORS),
    copy: () => copy.call("check", "--github"),
    copyJson: () => copy.call("check", "--json"),
    actions: () => copy.run("check", ["--only", "s09"], { env: { GITHUB_ACTIONS: "true" } }),
    closed: () => copy.runUnread("check", ["--only", "s05"]),
  })

  test("is what package.json calls check", () => {
    expect(here.scriptOf("check")).toBe("node --import tsx/esm scripts/cli/main.ts check")
  })

  test("prints a table in which all holds, and ends with 0", () => {
    const stdout = `${table(IDS)}The constitution holds: 12 chapters, ${RULE_COUNT}, nothing found.\n`
    expect(runs.all).toEqual({ code: 0, stdout, stderr: "" })
  })

  test("prints one clear line when it cannot check, and ends with 2", () => {
    expect(expectRefusal(runs.nothing, "check")).toBe("nowhere.ts does not exist")
  })

  test("--json prints the report for programs", () => {
    const { code, stdout, stderr } = runs.json
    const report: CheckReport = { holds: true, chapters: IDS, rules: RULES.map(({ id }) => id), findings: [] }
    expect([code, JSON.parse(stdout), stderr]).toEqual([0, report, ""])
  })

  test("--upto checks the chapters up to one, and --only checks one", () => {
    const first = `${table(["s01", "s02", "s03"])}The constitution holds: 3 chapters, ${RULE_COUNT}, nothing found.\n`
    expect(runs.upto).toEqual({ code: 0, stdout: first, stderr: "" })
    const one = `${table(["s04"])}The constitution holds: 1 chapter, ${RULE_COUNT}, nothing found.\n`
    expect(runs.only).toEqual({ code: 0, stdout: one, stderr: "" })
  })

  test("--as says that a good file holds", () => {
    const { code, stdout, stderr } = runs.good
    expect([code, stderr]).toEqual([0, ""])
    expect(stdout).toMatch(/code\.ts holds as s05: it keeps all that was there and adds what s05 adds\.\n/)
  })

  test("speaks Chinese to whoever wants it, and English to programs", async () => {
    const copy = new Copy(temporary)
    copy.edit("s05", FIELD, "")
    const { stdout, code } = await copy.call("check", "--only", "s05", "--lang", "zh")
    expect(code).toBe(1)
    expect(stdout).toMatch(/\nR1-FIELD-GONE {2}s05 {2}字段 TurnOptions\.output 不见了\n {2}类型只增不减：/)
    expect(stdout).toMatch(/\n {2}改法 把字段放回去。/)
    expect(stdout).toMatch(/1 章，\d+ 条规则：发现 1 处。\n$/)
    const own = await copy.call("check", "--as", "s05", copy.file("s05"), "--lang", "zh")
    expect(own.stdout).toMatch(/你的 s05 在第 \d+ 行第一次偏离：字段 TurnOptions\.output 不见了。/)
    const json = JSON.parse((await copy.call("check", "--only", "s05", "--json", "--lang", "zh")).stdout) as CheckReport
    expect(json.findings[0]?.message).toBe("the field TurnOptions.output is gone")
  })

  test("--as names the first deviation of a damaged file: the line, what it is, the rule and how to fix it", () => {
    const { code, stdout, stderr } = runs.damaged
    expect([code, stderr]).toEqual([1, ""])
    expect(stdout.startsWith(table(["s05"], { "s05 R1": 1 }))).toBe(true)
    const line = fs.readFileSync(damaged, "utf8").split("\n").indexOf("export type TurnOptions = {") + 1
    expect(stdout).toContain(`\nYour s05 first deviates at line ${line}: the field TurnOptions.output is gone.\n`)
    const was = here.read("s04").split("\n").indexOf(FIELD.trimEnd()) + 1
    expect(stdout).toMatch(/\nR1-FIELD-GONE {2}s05 {2}the field TurnOptions\.output is gone\n {2}Types only grow: /)
    expect(stdout).toMatch(
      new RegExp(`\n {2}was \\S*s04_toolloop/code\\.ts:${was}\n(.*\n)*.*> +${was} \\| +output: Output\n`),
    )
    expect(stdout).toMatch(
      new RegExp(`\n {2}is code\\.ts:${line}\n(.*\n)*.*> +${line} \\| export type TurnOptions = {\n`),
    )
    expect(stdout).toContain("\n  fix Put the field back.")
    // Whoever used the field misses it: the compiler is asked as well.
    expect(stdout).toMatch(
      /\nTYPE {2}TS2339 {2}Property 'output' does not exist on type 'TurnOptions'\.\n {2}is code\.ts:\d+\n/,
    )
    expect(stdout).toMatch(new RegExp(`\\n1 chapter, ${RULE_COUNT}: 1 found, \\d+ type errors?\\.\\n$`))
  })

  test("--as names the first of two deviations, and lists both", () => {
    const { code, stdout } = runs.twice
    expect(code).toBe(1)
    expect(stdout).toMatch(/\nYour s05 first deviates at line \d+: the field TurnOptions\.output is gone\.\n/)
    expect(stdout.match(/^R\d-[A-Z-]+/gm)).toEqual(["R1-FIELD-GONE", "R8-REWRITTEN"])
  })

  test("counts in its table what each chapter breaks, and ends with 1", () => {
    const { code, stdout, stderr } = runs.copy
    expect([code, stderr]).toEqual([1, ""])
    expect(stdout.startsWith(table(IDS, { "s05 R1": 1, "s05 R8": 1, "s09 R8": 1 }))).toBe(true)
    expect(stdout.endsWith(`\n12 chapters, ${RULE_COUNT}: 3 found.\n`)).toBe(true)
  })

  test("--json prints every finding, with files as the reader calls them", () => {
    const { code, stdout, stderr } = runs.copyJson
    expect([code, stderr]).toEqual([1, ""])
    const { findings, ...rest } = JSON.parse(stdout) as CheckReport
    expect(rest).toEqual({ holds: false, chapters: IDS, rules: RULES.map(({ id }) => id) })
    const line = copy.read("s05").split("\n").indexOf("export type TurnOptions = {") + 1
    const was = here.read("s04").split("\n").indexOf(FIELD.trimEnd()) + 1
    expect(findings[0]).toEqual({
      rule: "R1-FIELD-GONE",
      chapter: "s05",
      symbol: "TurnOptions.output",
      message: "the field TurnOptions.output is gone",
      fix: expect.stringMatching(/^Put the field back\./),
      old: { file: "s04_toolloop/code.ts", line: was, end: was },
      next: { file: "s05_hooks/code.ts", line, end: expect.any(Number) },
    })
    expect(findings.map(({ rule, chapter, symbol }) => [rule, chapter, symbol])).toEqual([
      ["R1-FIELD-GONE", "s05", "TurnOptions.output"],
      ["R8-REWRITTEN", "s05", "expectString"],
      ["R8-REFORMATTED", "s09", "StopReason"],
    ])
  })

  test("--github adds a line for each finding that GitHub shows beside the code, and so does a run on GitHub", () => {
    const annotations = runs.copy.stdout.match(/^::error .*$/gm) ?? []
    const { findings } = JSON.parse(runs.copyJson.stdout) as CheckReport
    const expected = findings.map(({ rule, message, fix, next }) => {
      const place = `file=${next?.file},line=${next?.line},endLine=${next?.end}`
      return `::error ${place},title=${rule}::${`${message}. ${fix}`.replaceAll("%", "%25")}`
    })
    expect(annotations).toEqual(expected)
    expect(runs.actions.stdout.match(/^::error .*$/gm)).toEqual(expected.slice(2))
  })

  test("paints for those who want it, and only for them", () => {
    expect(runs.colored.stdout).not.toBe(runs.twice.stdout)
    expect(stripVTControlCharacters(runs.colored.stdout)).toBe(runs.twice.stdout)
    for (const { stdout } of [runs.all, runs.twice, runs.json]) expect(stripVTControlCharacters(stdout)).toBe(stdout)
  })

  test("ends quietly when the reader closes the pipe", () => {
    expect(runs.closed.stderr).toBe("")
    // What was found decides, whoever reads along.
    expect(runs.closed.code).toBe(1)
  })
})

describe("npm run check -- --as finds what a file lacks of its chapter, or has too much", () => {
  const LACKS: [says: string, id: ChapterId, from: string, to: string, rule: string][] = [
    ["a member of a union", "s04", '\n  | { type: "tool_call"; call: ToolCall }', "", "lacks"],
    [
      "a method under its name",
      "s04",
      "  run(call: ToolCall): string {",
      "  execute(call: ToolCall): string {",
      "lacks",
    ],
    ["a field of an old type", "s11", "  trust?: ProjectTrust\n", "", "lacks"],
    [
      "a method of an old class",
      "s12",
      "  add(resources: ContextResource[]): void {",
      "  put(resources: ContextResource[]): void {",
      "lacks",
    ],
    ["a field that nobody knows", "s12", "  model: string\n}", "  model: string\n  mood?: string\n}", "R8-UNLISTED"],
    [
      "another way to call a function",
      "s12",
      "pick(contents: Record<string, string>, names: string[])",
      "pick(contents: Record<string, string>, names: number)",
      "U2-OTHER-SHAPE",
    ],
    ["another field in a type of its own", "s12", "  commands: string[]\n", "  orders: string[]\n", "U2-OTHER-SHAPE"],
    ["a part in the demo", "s04", "export const DEFAULT_MAX_TURNS = 8\n", "", "R8-UNUSED"],
  ]
  const runs = doBeforeAll(
    Object.fromEntries(
      LACKS.map(([says, id, from, to]) => {
        const text = replaceOnce(here.read(id), from, to)
        const moved = says === "a part in the demo" ? `${text}\n${from}` : text
        const file = writeFile(`lacks ${says}`, moved)
        return [says, () => here.call("check", "--as", id, file)]
      }),
    ),
  )
  for (const [says, id, , , rule] of LACKS) {
    test(says, () => {
      const run = runs[says]
      expect(run?.code).toBe(1)
      if (rule === "lacks") expect(run?.stdout).toMatch(new RegExp(`^${id} still lacks: .+\\.$`, "m"))
      else expect(run?.stdout).toContain(`Your ${id} first deviates at line `)
      if (rule !== "lacks") expect(run?.stdout).toMatch(new RegExp(`^${rule} {2}${id} `, "m"))
      // Neither the code that is shown nor what the compiler says of it.
      const words = run?.stdout.split("\n").filter((line) => !/^ {4,}>? *\d* \||^TYPE /.test(line)) ?? []
      expect(words.join("\n")).not.toMatch(/\bmanifest|\bweld|\bgain|sNN/)
    })
  }

  test("a chapter of the course holds as itself", async () => {
    const run = await here.call("check", "--as", "s12", here.file("s12"))
    expect(run.code).toBe(0)
  })
})

describe("npm run check -- --as of a file that is not finished", () => {
  const start = writeFile("a start", here.read("s03"))
  const strange = writeFile("strange types", `${here.read("s04")}\nconst seven: number = "seven"\nconsole.log(seven)\n`)
  const runs = doBeforeAll({
    start: () => here.call("check", "--as", "s04", start),
    types: () => here.call("check", "--as", "s04", strange),
    json: () => here.call("check", "--as", "s04", strange, "--json"),
    whole: () => here.call("check", "--as", "s04", here.file("s04")),
  })

  test("says in one line what is not written yet, and nothing else", () => {
    const { code, stdout } = runs.start
    expect(code).toBe(1)
    expect(stdout).toContain("Your s04 is not finished; what is there holds.\n")
    const [line = ""] = stdout.split("\n").filter((text) => text.startsWith("s04 still lacks: "))
    for (const part of [
      "ToolCall,",
      "runEventedToolLoop",
      "maxTurns?: number in TurnOptions",
      "what s04 joins into runOneTurn",
    ])
      expect(line).toContain(part)
    expect(stdout.split("\n").length).toBeLessThan(12)
  })

  test("shows an error of a type like a finding, to people and to programs", () => {
    const { code, stdout } = runs.types
    expect(code).toBe(1)
    expect(stdout).toContain("Your s04 has 1 type error.\n")
    expect(stdout).toMatch(
      /\nTYPE {2}TS2322 {2}Type 'string' is not assignable to type 'number'\.\n {2}is \S.*code\.ts:\d+\n.*\n +> \d+ \| const seven/,
    )
    const { types, findings } = JSON.parse(runs.json.stdout)
    expect([runs.json.code, findings, types]).toEqual([
      1,
      [],
      [
        {
          code: "TS2322",
          line: expect.any(Number),
          column: 7,
          message: "Type 'string' is not assignable to type 'number'.",
        },
      ],
    ])
    expect(runs.whole).toMatchObject({ code: 0, stderr: "" })
  })
})

describe("npm run check refuses", () => {
  const runs = doBeforeAll(
    Object.fromEntries(
      BROKEN.map(({ what, damage }) => {
        const file = writeFile(what, here.read("s04"))
        damage(file)
        return [what, () => here.call("check", "--as", "s04", file)]
      }),
    ),
  )

  for (const { what, says } of BROKEN) {
    test(`a file that ${what}, with one clear line and exit code 2`, () => {
      expect(expectRefusal(runs[what] as Run, "check")).toMatch(says)
    })

    test(`a chapter that ${what}`, () => {
      const file = writeFile(`chapter ${what}`, here.read("s07"))
      damage(what, file)
      expect(() => readChapters(CHAPTERS, { s07: file })).toThrow(says)
    })
  }

  function damage(what: string, file: string): void {
    const kind = BROKEN.find((candidate) => candidate.what === what)
    if (kind === undefined) throw new Error(`nothing that is broken "${what}"`)
    kind.damage(file)
  }

  const here04 = Buffer.from(here.read("s04"))
  const UNREADABLE: [what: string, bytes: Uint8Array, says: RegExp][] = [
    [
      "is saved as GBK",
      Buffer.concat([here04, Buffer.from([0x2f, 0x2f, 0xd6, 0xd0, 0xce, 0xc4])]),
      /is not UTF-8, first at line \d+: ./,
    ],
    ["is saved as UTF-16", Buffer.from(`\uFEFF${here.read("s04")}`, "utf16le"), /is UTF-16, expected UTF-8: ./],
    [
      "has a line end that only TypeScript counts",
      Buffer.from(replaceOnce(here.read("s04"), "/** What the person said. */", "/** What\u2028the person said. */")),
      /code\.ts:\d+:9 has the invisible line end U\+2028, .*: ./,
    ],
    ["is nested too deeply to be parsed", Buffer.from("[".repeat(2500)), /nested too deeply|is not valid TypeScript/],
    [
      "is nested too deeply",
      Buffer.from(`${here.read("s04")}void ${"[".repeat(400)}${"]".repeat(400)}\n`),
      /code\.ts:\d+ is nested \d+ levels deep, expected at most 300: ./,
    ],
  ]
  const unreadable = doBeforeAll(
    Object.fromEntries(
      UNREADABLE.map(([what, bytes]) => {
        const file = writeFile(what, "")
        fs.writeFileSync(file, bytes)
        return [what, () => here.call("check", "--as", "s04", file)]
      }),
    ),
  )

  test.each(UNREADABLE)("a file that %s, with one clear line and exit code 2", (what, _bytes, says) => {
    expect(expectRefusal(unreadable[what] as Run, "check")).toMatch(says)
  })

  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/
  const nasty = "\u001b]0;title\u0007 \u009b2J \u202e"
  const painted = writeFile(
    "painted",
    replaceOnce(here.read("s04"), "/** What the person said. */", `/** What the person said ${nasty}. */`),
  )
  const shows = doBeforeAll({
    people: () => here.call("check", "--as", "s04", painted),
    programs: () => here.call("check", "--as", "s04", painted, "--json"),
    github: () => here.call("check", "--as", "s04", painted, "--github"),
    path: () => here.call("check", "--as", "s04", `${painted}${nasty}`),
  })

  test.each(["people", "programs", "github", "path"] as const)("to pass on what drives a terminal, to %s", (who) => {
    const { stdout, stderr } = shows[who] as Run
    expect(stdout + stderr).toContain(who === "programs" ? '"holds": false' : "title")
    expect(stdout + stderr).not.toMatch(RAW)
  })

  test.each<[string, (chapter: Chapter) => Chapter, string]>([
    [
      "an id",
      (chapter) => ({ ...chapter, id: "s5" as ChapterId }),
      'chapter 5 in scripts/course/manifest.ts has the id "s5", expected s05',
    ],
    [
      "a folder",
      (chapter) => ({ ...chapter, folder: "hooks" }),
      's05 in scripts/course/manifest.ts has the folder "hooks", expected',
    ],
  ])("a manifest with %s that is mistyped, in one sentence", (_what, change, says) => {
    expect(() => readChapters(CHAPTERS.map((one) => (one.id === "s05" ? change(one) : one)))).toThrow(says)
  })

  const MISUSES: [args: string[], says: RegExp][] = [
    [["--upto", "s99"], /^unknown chapter "s99": expected one of s01, s02, .*, s12$/],
    [["--only", ""], /^unknown chapter ""/],
    [["--upto"], /--upto/],
    [["--everything"], /^unknown option "--everything": expected --/],
    [["--upto", "s0\n4"], /^unknown chapter "s0\\n4"/],
    [["--upto", "s03", "--only", "s03"], /exclude each other$/],
    [["s04"], /^unexpected "s04": .* --as$/],
    [["--as", "s04"], /^--as s04 expects one file, got 0$/],
  ]
  const misuses = doBeforeAll(
    Object.fromEntries(MISUSES.map(([args]) => [args.join(" "), () => here.call("check", ...args)])),
  )

  for (const [args, says] of MISUSES) {
    test(`the arguments ${JSON.stringify(args)}`, () => {
      expect(expectRefusal(misuses[args.join(" ")] as Run, "check")).toMatch(says)
    })
  }
})

test("a chapter whose text has changed is read again, and one whose text has not is what it was", () => {
  const file = writeFile("read again", here.read("s05"))
  const read = () => readChapters(CHAPTERS, { s05: file }).find(({ chapter }) => chapter.id === "s05")
  const first = read()
  expect(read()).toBe(first)
  fs.appendFileSync(file, "// One line more.\n")
  expect(read()?.text).toBe(`${first?.text}// One line more.\n`)
})

describe("npm run check --watch", { timeout: 600_000 }, () => {
  test("prints nothing but JSON with --json, and ends when nobody reads along", async () => {
    const { terminal, run, close } = recordTerminal(here.root)
    const end = runCommand(command, ["--watch", "--json", "--only", "s02"], terminal)
    await expect.poll(() => run.stdout).not.toBe("")
    expect(JSON.parse(run.stdout)).toMatchObject({ holds: true, chapters: ["s02"] })
    await expect.poll(() => run.stderr).toBe("Watching; Ctrl+C ends.\n")
    close()
    expect(await end).toBe(0)
  })

  test("checks again whenever the file changes, also after an edit that is not valid TypeScript, until it is ended", async () => {
    const text = here.read("s05")
    const file = writeFile("watched", text)
    const child = here.start("check", ["--watch", "--as", "s05", file])
    const end = finish(child)
    let seen = ""
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (piece: string) => (seen += piece))

    /** Saves the file until the command has said so, since a system may be slow to start watching. */
    const expectAfter = async (edited: string, says: RegExp): Promise<void> => {
      seen = ""
      for (let tick = 0; tick < 2000 && !says.test(seen); tick++) {
        if (tick % 50 === 0) fs.writeFileSync(file, edited)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      expect(seen).toMatch(says)
    }

    try {
      await expectAfter(text, /holds as s05.*Watching; Ctrl\+C ends\./s)
      await expectAfter(replaceOnce(text, FIELD, ""), /the field TurnOptions\.output is gone.*Watching/s)
      await expectAfter("const = 1\n", /error: .+code\.ts:1:7 is not valid TypeScript.*Watching/s)
      await expectAfter(text, /holds as s05.*Watching/s)
    } finally {
      child.kill("SIGINT")
    }
    expect((await end).code).toBeNull()
  })
})
