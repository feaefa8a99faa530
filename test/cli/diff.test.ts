import fs from "node:fs"
import { stripVTControlCharacters } from "node:util"
import { applyPatch, parsePatch } from "diff"
import { afterAll, describe, expect, test } from "vitest"
import { readSurface } from "../../scripts/chapter/surface.ts"
import { CHAPTERS, findChapter } from "../../scripts/course/manifest.ts"
import {
  BROKEN,
  Copy,
  declarationIn,
  doBeforeAll,
  expectRefusal,
  here,
  makeTemporaryFolder,
  type Run,
} from "../support/commands.ts"
import { ends } from "../support/tier.ts"

const PIPE = { env: { NO_COLOR: undefined } }
const COLORS = { env: { NO_COLOR: undefined, FORCE_COLOR: "1" } }

const TITLES = { added: "Added", grown: "Grown", welded: "Welded", upgraded: "Upgraded (U1)", violation: "Not allowed" }

/** What `--json` prints. */
type Comparison = {
  from: string
  to: string
  entries: {
    group: keyof typeof TITLES
    symbol: string
    reason?: string
    old?: { file: string; line: number }
    next?: { file: string; line: number }
    from?: string
    to?: string
  }[]
}

/** A name in a printed comparison, with the lines below it. */
type Shown = {
  group: string
  symbol: string
  place: string
  lines: string[]
}

/** Reads what was printed for people: headings at the margin, names below them, and below each name what is told about it. */
function readShown(stdout: string): Shown[] {
  const shown: Shown[] = []
  let group = ""
  for (const line of stdout.split("\n")) {
    const [, symbol, place] = /^ {2}(\S+) {2}(\S+:\d+)$/.exec(line) ?? []
    if (Object.values(TITLES).includes(line)) group = line
    else if (symbol !== undefined && place !== undefined) shown.push({ group, symbol, place, lines: [] })
    else if (line.startsWith("    ")) shown.at(-1)?.lines.push(line.slice(4))
  }
  return shown
}

/** The old and the new text that rows with signs stand for. */
function textsOf(rows: readonly string[]): { old: string; next: string } {
  const side = (sign: string): string[] => rows.filter((row) => !row.startsWith(sign)).map((row) => row.slice(2))
  return { old: side("+").join("\n"), next: side("-").join("\n") }
}

function parse(run: Run): Comparison {
  expect(run).toMatchObject({ code: 0, stderr: "" })
  return JSON.parse(run.stdout) as Comparison
}

function symbols({ entries }: Comparison, group: string): string[] {
  return entries.filter((entry) => entry.group === group).map(({ symbol }) => symbol)
}

/** The text of a chapter in front of its demo. */
function coreOf(id: string): string {
  const text = here.read(id)
  return text.slice(0, text.indexOf("// ── Demo ──"))
}

const temporary = makeTemporaryFolder()

afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

describe("npm run diff in Chinese", () => {
  test("says what became of each name, and why, in the reader's language; programs read English", async () => {
    const chinese = (await here.run("diff", ["s07", "--names", "--lang", "zh"])).stdout
    expect(chinese).toMatch(/^s06 快照 → s07 会话树\n\n新增\n/)
    expect(chinese).toMatch(/\n接入\n[\s\S]*一轮[\s\S]*\n升级（U1）\n/)
    expect(chinese).not.toMatch(/^(Added|Grown|Welded)/m)
    for (const form of ["--json", "--markdown"]) {
      const [one, other] = await Promise.all(
        ["zh", "en"].map((lang) => here.run("diff", ["s07", form, "--lang", lang])),
      )
      expect(one).toEqual(other)
    }
  })
})

describe("npm run diff", () => {
  const copy = new Copy(temporary)
  copy.edit("s05", "  output: Output\n", "")
  copy.edit("s05", 'refuse(value, source, "a string")', 'refuse(value, source, "a text")')
  copy.edit("s05", `${declarationIn("s05", "assertUnique")}\n\n`, "")

  const runs = doBeforeAll({
    text: () => here.run("diff", ["s11"], PIPE),
    colored: () => here.run("diff", ["s11"], COLORS),
    names: () => here.call("diff", "s11", "--names"),
    narrow: () => here.call("diff", "s04", "--width", "20"),
    narrowStat: () => here.call("diff", "s01", "s12", "--stat", "--width", "20"),
    terminalStat: () => here.call("diff", "s01", "s12", "--stat", "--width", "80"),
    unwrapped: () => here.call("diff", "s04"),
    unwrappedStat: () => here.call("diff", "s01", "s12", "--stat"),
    json: () => here.run("diff", ["10", "11", "--json"], COLORS),
    far: () => here.call("diff", "s03", "s07", "--json"),
    back: () => here.call("diff", "s07_session", "s03_stream", "--json"),
    stat: () => here.call("diff", "s11", "--stat"),
    markdown: () => here.run("diff", ["s11", "--markdown"], COLORS),
    patch: () => here.run("diff", ["s04", "--unified"], COLORS),
    farPatch: () => here.call("diff", "s01", "s12", "--unified"),
    wide: () => here.call("diff", "s11", "--width", "160"),
    damaged: () => copy.call("diff", "s05"),
    damagedJson: () => copy.call("diff", "s05", "--json"),
    nothing: () => here.run("diff", ["s01"]),
    closed: () => here.runUnread("diff", ["s12"]),
  })

  test("is what package.json calls diff", () => {
    expect(here.scriptOf("diff")).toBe("node --import tsx/esm scripts/cli/main.ts diff")
  })

  test("prints one clear line when it cannot compare, and ends with 2", () => {
    expect(expectRefusal(runs.nothing, "diff")).toMatch(/^s01 is the first chapter: there is nothing before it/)
  })

  test("shows what s11 adds to s10, in groups: what is new, grown, welded and upgraded", () => {
    const { parts, welds, upgrades } = findChapter("s11")
    expect(runs.text).toMatchObject({ code: 0, stderr: "" })
    expect(runs.text.stdout).toMatch(/^s10 Modes → s11 Trust\n/)
    const shown = readShown(runs.text.stdout).map(({ group, symbol }) => [group, symbol])
    expect(shown).toEqual([
      ...parts.map((name) => ["Added", name]),
      ...["TurnOptions", "ExtensionRuntime"].map((name) => ["Grown", name]),
      ...welds.map(({ name }) => ["Welded", name]),
      ...upgrades.map(({ name }) => ["Upgraded (U1)", name]),
    ])
  })

  test("gives the manifest's reason for every weld and upgrade", () => {
    const { welds, upgrades } = findChapter("s11")
    const shown = readShown(runs.text.stdout).filter(({ group }) => /Welded|Upgraded/.test(group))
    expect(shown.map(({ symbol, lines }) => [symbol, lines[0]])).toEqual(
      [...welds, ...upgrades].map(({ name, reason }) => [name, reason]),
    )
  })

  test("shows the old and the new lines of what has changed, and says where it stands", () => {
    const [old, next] = [readSurface(findChapter("s10")), readSurface(findChapter("s11"))]
    const shown = readShown(runs.text.stdout)
    for (const name of ["TurnOptions", "ExtensionRuntime", "buildProviderInput"]) {
      const { group, lines, place } = shown.find(({ symbol }) => symbol === name) as Shown
      const [was, is] = [old, next].map(({ core }) => core.find((declaration) => declaration.name === name))
      expect(textsOf(group === "Welded" ? lines.slice(1) : lines)).toEqual({ old: was?.text, next: is?.text })
      expect(place).toMatch(/^s11_trust\/code\.ts:/)
      const line = Number(place.split(":")[1])
      expect(line >= (is?.start ?? 0) && line <= (is?.end ?? 0)).toBe(true)
    }
    const { lines } = shown.find(({ symbol }) => symbol === "ResourceLoader.load") as Shown
    const member = (surface: typeof old): string | undefined =>
      surface.core.find(({ name }) => name === "ResourceLoader")?.members.find(({ name }) => name === "load")?.text
    expect(textsOf(lines.slice(1))).toEqual({ old: member(old), next: member(next) })
  })

  test("shows new code whole, to the last line", () => {
    const next = readSurface(findChapter("s11"))
    const added = readShown(runs.text.stdout).filter(({ group }) => group === "Added")
    expect(added.map(({ symbol, lines }) => [symbol, textsOf(lines)])).toEqual(
      findChapter("s11").parts.map((name) => {
        const text = next.core.find((declaration) => declaration.name === name)?.text
        return [name, { old: "", next: text }]
      }),
    )
  })

  test("--names prints the same names with whole comments and reasons, and no code", () => {
    expect(runs.names).toMatchObject({ code: 0, stderr: "" })
    const [shown, long] = [runs.names, runs.text].map(({ stdout }) => readShown(stdout)) as [Shown[], Shown[]]
    expect(shown.map(({ group, symbol, place }) => [group, symbol, place])).toEqual(
      long.map(({ group, symbol, place }) => [group, symbol, place]),
    )
    const next = readSurface(findChapter("s11"))
    for (const { symbol, group, lines } of shown.filter((entry) => entry.group === "Added")) {
      const text = next.core.find(({ name }) => name === symbol)?.text ?? ""
      const comment = text.startsWith("/**") ? text.slice(0, text.indexOf("*/")) : ""
      const words = comment.split(/\s+/).filter((word) => /[^/*]/.test(word))
      expect([group, lines.join(" ").split(/\s+/).filter(Boolean)]).toEqual(["Added", words])
    }
    expect(runs.names.stdout).not.toMatch(/^ {4}[+-] /m)
  })

  test("--json prints the same for programs, with the manifest's reasons", () => {
    const comparison = parse(runs.json)
    expect([comparison.from, comparison.to]).toEqual(["s10", "s11"])
    const shown = readShown(runs.text.stdout)
    for (const [group, title] of Object.entries(TITLES))
      expect(symbols(comparison, group)).toEqual(
        shown.filter((entry) => entry.group === title).map(({ symbol }) => symbol),
      )
    const [weld] = findChapter("s11").welds
    const [old, next] = [readSurface(findChapter("s10")), readSurface(findChapter("s11"))].map(({ core }) =>
      core.find(({ name }) => name === weld?.name),
    )
    expect(comparison.entries.find(({ symbol }) => symbol === weld?.name)).toEqual({
      group: "welded",
      symbol: weld?.name,
      reason: weld?.reason,
      old: { file: "s10_modes/code.ts", line: expect.any(Number) },
      next: { file: "s11_trust/code.ts", line: expect.any(Number) },
      from: old?.text,
      to: next?.text,
    })
  })

  test("compares any two chapters, whatever they are called and in whatever order", () => {
    expect(runs.back).toEqual(runs.far)
    const comparison = parse(runs.far)
    expect([comparison.from, comparison.to]).toEqual(["s03", "s07"])
    const between = CHAPTERS.filter(({ id }) => id > "s03" && id <= "s07")
    expect(symbols(comparison, "added")).toEqual(between.flatMap(({ parts }) => parts))
    const old = new Set(readSurface(findChapter("s03")).core.map(({ name }) => name))
    const welds = between.flatMap((chapter) => chapter.welds).filter(({ name }) => old.has(name))
    expect(symbols(comparison, "welded").sort()).toEqual([...new Set(welds.map(({ name }) => name))].sort())
    expect(symbols(comparison, "upgraded")).toEqual(["AgentState.messages"])
    expect(symbols(comparison, "violation")).toEqual([])
    for (const { symbol, reason } of comparison.entries.filter(({ group }) => group === "welded")) {
      const reasons = welds.filter(({ name }) => name === symbol).map((weld) => weld.reason)
      expect(reason).toBe(reasons.join(" "))
    }
  })

  test("--stat counts, group by group", () => {
    const comparison = parse(runs.json)
    const rows = runs.stat.stdout.trimEnd().split("\n")
    expect(runs.stat).toMatchObject({ code: 0, stderr: "" })
    const groups = ["added", "grown", "welded", "upgraded"] as const
    expect(rows).toHaveLength(groups.length)
    for (const [index, group] of groups.entries()) {
      const names = symbols(comparison, group)
      const row = new RegExp(`^(.*?) +${names.length} +\\+\\d+ +-\\d+ {2}(.*)$`).exec(rows[index] ?? "")
      expect(row?.slice(1)).toEqual([TITLES[group], names.join(", ")])
    }
    expect(rows[1]).toMatch(/ -0 /)
    expect(rows[2]).toMatch(/\+1 +-1 /)
  })

  test("--markdown prints a table for a document", () => {
    const { entries } = parse(runs.json)
    const rows = entries.map(({ group, symbol, reason = "" }) => `| ${TITLES[group]} | \`${symbol}\` | ${reason} |\n`)
    const stdout = `### s10 Modes → s11 Trust\n\n| What | Name | Why |\n| --- | --- | --- |\n${rows.join("")}`
    expect(runs.markdown).toEqual({ code: 0, stdout, stderr: "" })
  })

  test("--unified prints a patch that makes the new core of the old one", () => {
    for (const [run, from, to] of [
      [runs.patch, "s03", "s04"],
      [runs.farPatch, "s01", "s12"],
    ] as const) {
      expect(run).toMatchObject({ code: 0, stderr: "" })
      const [patch, ...more] = parsePatch(run.stdout)
      expect(more).toEqual([])
      const names = [from, to].map((id) => `${findChapter(id).folder}/code.ts`)
      expect([patch?.oldFileName, patch?.newFileName]).toEqual(names)
      expect(applyPatch(coreOf(from), run.stdout)).toBe(coreOf(to))
    }
  })

  test("puts old and new side by side where there is room, and nowhere else", () => {
    const rows = runs.wide.stdout.split("\n").filter((line) => line.includes(" │"))
    expect(rows.length).toBeGreaterThan(20)
    expect(Math.max(...runs.wide.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(160)
    expect(runs.text.stdout).not.toContain("│")
    const sides = rows.map((row) => row.split(" │").map((side) => side.trim()))
    expect(sides).toContainEqual(["maxTurns?: number", "maxTurns?: number"])
    expect(sides).toContainEqual(["", "trust?: ProjectTrust"])
    expect(sides).toContainEqual(["load(): ContextResource[] {", "load(trust?: ProjectTrust): ContextResource[] {"])
  })

  test("wraps what is longer than the terminal is wide, and loses nothing", () => {
    const longest = (run: Run): number => Math.max(...run.stdout.split("\n").map((line) => line.length))
    expect(longest(runs.narrow)).toBeLessThanOrEqual(20)
    expect(longest(runs.narrowStat)).toBeLessThanOrEqual(20)
    expect(longest(runs.terminalStat)).toBeLessThanOrEqual(80)
    expect(longest(runs.unwrapped)).toBeGreaterThan(150)
    const letters = (run: Run): string => run.stdout.replaceAll(/\s/g, "")
    expect(letters(runs.terminalStat)).toBe(letters(runs.unwrappedStat))
    const [changes] = runs.narrow.stdout.split(/^Added: /m)
    const [whole] = runs.unwrapped.stdout.split(/^Added {9}/m)
    expect(changes?.replaceAll(/\s/g, "")).toBe(whole?.replaceAll(/\s/g, ""))
  })

  test("has a group of its own for what is not allowed", () => {
    const names = ["TurnOptions.output", "expectString", "assertUnique"]
    const shown = readShown(runs.damaged.stdout).filter(({ group }) => group === "Not allowed")
    expect(runs.damaged.stderr).toBe("")
    expect(shown.map(({ symbol }) => symbol)).toEqual(names)
    expect(shown.find(({ symbol }) => symbol === "assertUnique")?.place).toMatch(/^s04_toolloop\/code\.ts:\d+$/)
    const { entries } = JSON.parse(runs.damagedJson.stdout) as Comparison
    const violations = entries.filter(({ group }) => group === "violation")
    expect(violations.map(({ symbol, reason }) => [symbol, reason])).toEqual(names.map((name) => [name, undefined]))
    expect(violations[0]).toMatchObject({ from: "output: Output" })
    expect(violations[0]).not.toHaveProperty("to")
  })

  test("paints for those who want it, and never what programs read", () => {
    expect(runs.colored.stdout).not.toBe(runs.text.stdout)
    expect(stripVTControlCharacters(runs.colored.stdout)).toBe(runs.text.stdout)
    for (const { stdout } of [runs.text, runs.json, runs.markdown, runs.patch])
      expect(stripVTControlCharacters(stdout)).toBe(stdout)
  })

  test("ends quietly when the reader closes the pipe", () => {
    expect(runs.closed).toMatchObject({ code: 0, stderr: "" })
  })
})

describe("npm run diff refuses", () => {
  const MISUSES: [args: string[], says: RegExp][] = [
    [[], /^expected one chapter or two, got 0$/],
    [["s01", "s02", "s03"], /^expected one chapter or two, got 3$/],
    [["s04", "4"], /^s04 and s04 are the same chapter$/],
    [["s03", "chapter"], /^unknown chapter "chapter": expected one of s01, s02, .*, s12$/],
    [["s04", "--width", "x"], /^--width expects a whole number from 20 to 1000, got "x"$/],
    [["s04", "--width", "1e9"], /^--width expects a whole number from 20 to 1000, got "1e9"$/],
    [["s04", "--width", "19"], /^--width expects a whole number from 20 to 1000, got "19"$/],
    [["s04", "--stat", "--json"], /^--names, --stat, --unified, --json and --markdown exclude each other$/],
    [["s04", "--names", "--stat"], /^--names, --stat, --unified, --json and --markdown exclude each other$/],
    [["s04", "--side-by-side"], /^unknown option "--side-by-side": expected --/],
  ]
  const runs = doBeforeAll({
    ...Object.fromEntries(MISUSES.map(([args]) => [args.join(" "), () => here.call("diff", ...args)])),
    ...Object.fromEntries(
      ends(BROKEN).map(({ what, damage }, index) => {
        const copy = new Copy(temporary)
        damage(copy.file(index % 2 === 0 ? "s04" : "s05"))
        return [what, () => copy.call("diff", "s04", "s05")]
      }),
    ),
  })

  for (const { what, says } of ends(BROKEN)) {
    test(`a chapter that ${what}, with one clear line and exit code 2`, () => {
      expect(expectRefusal(runs[what] as Run, "diff")).toMatch(says)
    })
  }

  for (const [args, says] of MISUSES) {
    test(`the arguments ${JSON.stringify(args)}`, () => {
      expect(expectRefusal(runs[args.join(" ")] as Run, "diff")).toMatch(says)
    })
  }
})
