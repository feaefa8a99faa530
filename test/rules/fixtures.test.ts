/**
 * Two small chapters per fixture, and everything that the rules find in the second. A file is cut into sections at lines that start with
 * `//===`: `what` in a clause, `old` (not for a first chapter), `new`, the `course`'s own form where `new` is a reader's, what the `manifest` says of the new chapter, and the findings to
 * `expect`, all of them, in order. `line` is the text of the line that a finding points at, in `new` or, for what is gone, in `old`; it is
 * null for what stands in the manifest only. `was` is the line in `old` of a finding that points at both, and `says` a part of its message. Each
 * fixture meets every rule.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"
import { describe, expect, test } from "vitest"
import { findGains, type Spot } from "../../scripts/chapter/compare.ts"
import { readSurface, type Surface } from "../../scripts/chapter/surface.ts"
import type { Text } from "../../scripts/course/language.ts"
import { CHAPTERS, type Chapter, findChapter } from "../../scripts/course/manifest.ts"
import { RULES } from "../../scripts/rules/index.ts"
import { checkSteps, pairChapters } from "../../scripts/rules/judge.ts"
import type { Finding, Step } from "../../scripts/rules/rule.ts"

type Expectation = {
  rule: string
  symbol: string
  was?: string
  line: string | null
  /** A part of the message, or of what to do, where the fixture is about that. */
  says?: string
  fix?: string
}

type Fixture = {
  rule: string
  name: string
  what: string
  old: string | undefined
  next: string
  /** The chapter as the course has it, for rules about a reader's own file. */
  course: string | undefined
  /** Its gains stand here only if the fixture says so; `null` is for an entry that has none. */
  chapter: Omit<Chapter, "gains"> & { gains?: Chapter["gains"] | null }
  expected: Expectation[]
}

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "fixtures")
const folders = readdirSync(folder)
const fixtures = folders.flatMap((rule) => readdirSync(path.join(folder, rule)).map((name) => readFixture(rule, name)))

function readFixture(rule: string, name: string): Fixture {
  const text = readFileSync(path.join(folder, rule, name), "utf8").replaceAll("\r\n", "\n")
  const [, ...pieces] = text.split(/^\/\/=== (.*)\n/m)
  const sections = new Map(
    pieces.flatMap((piece, index) => (index % 2 === 0 ? [[piece, pieces[index + 1] ?? ""]] : [])),
  )
  const section = (title: string): string => {
    const found = sections.get(title)?.trim()
    if (found === undefined || found === "") throw new Error(`${rule}/${name}: expected a section "${title}"`)
    return found
  }
  const { chapter: id, ...entries } = JSON.parse(section("manifest")) as { chapter: string } & Partial<
    Fixture["chapter"]
  >
  const { gains: _, ...chapter } = findChapter(id)
  // A reason in one language does, unless the fixture is about it.
  const inBoth = <T extends { reason: string }>(list: readonly T[] = []): T[] =>
    list.map((entry) => ({ reasonZh: "理由", ...entry }))
  return {
    rule,
    name,
    what: section("what"),
    old: sections.has("old") ? `${section("old")}\n` : undefined,
    next: `${section("new")}\n`,
    course: sections.has("course") ? `${section("course")}\n` : undefined,
    chapter: { ...chapter, parts: [], ...entries, welds: inBoth(entries.welds), upgrades: inBoth(entries.upgrades) },
    expected: JSON.parse(section("expect")) as Expectation[],
  }
}

/** What was gained, as a list of it would have it, so that a fixture need not list what it is not about. */
function gainsOf({ chapter }: Fixture, old: Surface | undefined, next: Surface): Chapter["gains"] {
  const gains = old === undefined ? [] : findGains(old, next)
  const others = gains.filter(({ text }) => chapter.upgrades.every(({ to }) => to !== text))
  const names = [...new Set(others.map(({ name }) => name))]
  const textsOf = (name: string): string[] => others.filter((gain) => gain.name === name).map(({ text }) => text)
  return Object.fromEntries(names.map((name) => [name, [...new Set(textsOf(name))]]))
}

function readStep(fixture: Fixture): Step[] {
  const { chapter, course } = fixture
  const before = CHAPTERS.find((_, index) => CHAPTERS[index + 1]?.id === chapter.id)
  if ((fixture.old === undefined) !== (before === undefined))
    throw new Error(`${chapter.id} is compared with ${before?.id ?? "nothing"}, got another old text`)
  const old = before && readSurface(before, "old.ts", fixture.old)
  const empty = { ...chapter, gains: {} }
  const gains =
    chapter.gains === undefined ? gainsOf(fixture, old, readSurface(empty, "new.ts", fixture.next)) : chapter.gains
  const entry = { ...chapter, gains: gains ?? undefined } as Chapter
  const steps = pairChapters([readSurface(entry, "new.ts", fixture.next)], old)
  if (course === undefined) return steps
  return steps.map((step) => ({ ...step, course: readSurface(empty, "course.ts", course) }))
}

/** The text of the line that a finding points at. Where it stands on several lines it proves nothing, and says so. */
function lineAt(surface: Surface | undefined, { file, line, end }: Spot): string {
  const lines = (surface?.lines ?? []).map((candidate) => candidate.trim())
  const text = lines[line - 1]
  if (surface?.file !== file || text === undefined || end < line || end > lines.length)
    return `no such place: ${file}, lines ${line} to ${end}`
  const count = lines.filter((candidate) => candidate === text).length
  return count === 1 ? text : `line ${line}, one of ${count} that read "${text}"`
}

function describeFinding({ rule, symbol, old, next }: Finding, step: Step | undefined): Expectation {
  const was = old && lineAt(step?.old, old)
  const is = next && lineAt(step?.next, next)
  return { rule, symbol, ...(was !== undefined && is !== undefined && { was }), line: is ?? was ?? null }
}

const EXPECT = "\n//=== expect\n"

/** A fixture's text with other expectations. What it expects of a message stays where the finding is still there. */
function withExpectations(text: string, expected: readonly Expectation[], found: readonly Expectation[]): string {
  const list = found.map((finding) => {
    const { says, fix } = expected.find(({ rule, symbol }) => rule === finding.rule && symbol === finding.symbol) ?? {}
    return { ...finding, says, fix }
  })
  const start = text.indexOf(EXPECT) + EXPECT.length
  const end = text.indexOf("\n//=== ", start)
  return `${text.slice(0, start)}${JSON.stringify(list, null, 2)}\n${end === -1 ? "" : text.slice(end)}`
}

/** The rules about the manifest itself: what they find is told to nobody else. */
const MAINTAINED = ["R8-MANIFEST", "R3-FOREIGN"]

/** Expects a text to be Chinese in Chinese, and to be something else in English. */
function expectBoth(text: Text | undefined): void {
  if (text === undefined) return
  expect(text.zh).toMatch(/\p{Script=Han}/u)
  expect(text.en).toMatch(/[a-z]/)
  expect(text.en).not.toBe(text.zh)
}

/** Whether a message names what its finding is about, in both languages: the declaration, and the member where it is about one. */
function namesSymbol({ symbol, message }: Finding): boolean {
  const dot = symbol.indexOf(".", 1)
  const names = [symbol.slice(0, dot === -1 ? undefined : dot), symbol.slice(dot + 1)]
  return names.every((name) => message.en.includes(name) && message.zh.includes(name))
}

describe("the fixtures", () => {
  test("stand in folders that are called by the ids of rules", () => {
    const ids = RULES.map(({ id }) => id)
    expect(folders.filter((name) => !ids.includes(name))).toEqual([])
  })

  test("give every rule something to find and something to pass over", () => {
    const lacking = RULES.flatMap(({ id }) =>
      ["fails-", "passes-"]
        .filter((start) => !fixtures.some(({ rule, name }) => rule === id && name.startsWith(start)))
        .map((start) => `${id}/${start}`),
    )
    expect(lacking).toEqual([])
  })

  test("say by their names whether the rule of their folder fires or none does", () => {
    const wrong = fixtures.filter(({ rule, name, expected }) =>
      expected.length === 0
        ? !/^passes-[a-z0-9-]+\.ts$/.test(name)
        : !/^fails-[a-z0-9-]+\.ts$/.test(name) || expected.every((finding) => finding.rule !== rule),
    )
    expect(wrong.map(({ rule, name }) => `${rule}/${name}`)).toEqual([])
  })

  test("differ in what they are about", () => {
    const whats = fixtures.map(({ rule, what }) => `${rule}: ${what}`)
    expect(whats.filter((what, index) => whats.indexOf(what) < index)).toEqual([])
  })
})

describe("a fixture that is accepted", () => {
  const before =
    '//=== what\nx\n\n//=== expect\n[{ "rule": "R8-DOC", "symbol": "a", "line": null, "says": "no comment" }]\n'
  const expected: Expectation[] = [{ rule: "R8-DOC", symbol: "a", line: null, says: "no comment" }]

  test("expects what is found, and of the messages what it expected before", () => {
    const found = [
      { rule: "R8-DOC", symbol: "a", line: "const a" },
      { rule: "R8-KIND", symbol: "b", was: "type b", line: null },
    ]
    const after = withExpectations(before, expected, found)
    expect(after.startsWith("//=== what\nx\n\n//=== expect\n[\n  {")).toBe(true)
    expect(JSON.parse(after.split("expect\n")[1] ?? "")).toEqual([{ ...found[0], says: "no comment" }, found[1]])
    expect(withExpectations(after, expected, [])).toBe("//=== what\nx\n\n//=== expect\n[]\n")
  })
})

describe("the rules", () => {
  test("say what they demand, and what to do, in both languages", () => {
    for (const { sentence, fix, fixForReader } of RULES)
      for (const text of [sentence, fix, fixForReader]) expectBoth(text)
  })

  test("demand each something of its own", () => {
    const sentences = RULES.flatMap(({ sentence }) => [sentence.en, sentence.zh])
    expect(sentences.filter((sentence, index) => sentences.indexOf(sentence) < index)).toEqual([])
  })

  test("have ids that start with their article", () => {
    expect(RULES.filter(({ id, article }) => !id.startsWith(`${article}-`))).toEqual([])
  })

  const ids = RULES.map(({ id }) => id)

  test("explain the findings of other rules that there are", () => {
    const explained = RULES.flatMap(({ id, explains = {} }) =>
      Object.values(explains).flatMap((others) => others.map((other) => ({ id, other }))),
    )
    expect(explained.length).toBeGreaterThan(0)
    expect(explained.filter(({ id, other }) => other === id || !ids.includes(other))).toEqual([])
  })

  test("have ids of their own", () => {
    expect(ids.filter((id, index) => ids.indexOf(id) < index)).toEqual([])
  })
})

for (const { id } of RULES) {
  describe(id, () => {
    for (const fixture of fixtures.filter(({ rule }) => rule === id)) {
      const { what, chapter, expected } = fixture
      const title = expected.length === 0 ? `and all other rules are silent when ${what}` : `fires when ${what}`

      test(title, () => {
        const steps = readStep(fixture)
        const findings = checkSteps(steps)
        const spots = expected.map(({ says: _, fix: __, ...rest }) => rest)
        const found = findings.map((finding) => describeFinding(finding, steps[0]))
        if (process.env.TEST_ACCEPT === "1" && !isDeepStrictEqual(found, spots)) {
          const file = path.join(folder, id, fixture.name)
          writeFileSync(file, withExpectations(readFileSync(file, "utf8"), expected, found))
          return
        }
        expect(found).toEqual(spots)
        for (const [index, { says = "", fix = "" }] of expected.entries()) {
          expect(findings[index]?.message.en).toContain(says)
          expect(findings[index]?.fix.en).toContain(fix)
        }
        for (const finding of findings) {
          expect(finding.chapter).toBe(chapter.id)
          expect(finding.fix.en).toMatch(/^[A-Z].*\.$/)
          expect(finding.fix.zh).toMatch(/。$/)
          expect(namesSymbol(finding)).toBe(true)
          expect(finding.message.en).not.toContain("\n")
          for (const text of [finding.message, finding.fix, finding.forReader]) expectBoth(text)
          const forReader = finding.forReader ?? finding.message
          if (MAINTAINED.includes(id)) continue
          expect(forReader.en).not.toMatch(/manifest|\b(welds?|gains?)\b/)
          expect(forReader.zh).not.toMatch(/清单|接入点/)
        }
      })
    }
  })
}
