/**
 * Shows what a chapter adds.
 *
 *   npm run diff -- s04              s04 against s03
 *   npm run diff -- s03 s07          any two; also 3 7, or s03_stream s07_session
 *
 * New code is shown whole. --names prints the names and what their comments promise, --stat counts only; --unified prints a plain patch of the cores; --json and --markdown are for programs and documents. On a wide terminal
 * changes stand side by side; --width N decides instead of the terminal.
 */
import type { ChalkInstance } from "chalk"
import { createTwoFilesPatch, diffArrays } from "diff"
import { type Change, compareSurfaces } from "../chapter/compare.ts"
import { readSurface, type Surface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { chooseLanguage, type Language, type Text } from "../course/language.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile } from "../course/source.ts"
import { readOptions } from "./options.ts"
import {
  type Command,
  MAX_WIDTH,
  padWide,
  readWholeNumber,
  showFile,
  type Terminal,
  toJson,
  visible,
} from "./terminal.ts"

/** From this width on, changes stand side by side. */
const WIDE = 150

/** The room for the output: what goes into a file or a pipe is not wrapped. And its colors. */
type Room = { language: Language; width: number; sideBySide: boolean; paint: ChalkInstance }

/** What became of a declaration. */
type Group = "added" | "grown" | "welded" | "upgraded" | "violation"

/** A row of the comparison, and what `--json` prints of it. */
type Entry = {
  group: Group
  symbol: string
  /** From the manifest, for welds and upgrades. */
  reason?: string
  old?: { file: string; line: number }
  next?: { file: string; line: number }
  from?: string
  to?: string
}

const TITLES: Readonly<Record<Group, Text>> = {
  added: { en: "Added", zh: "新增" },
  grown: { en: "Grown", zh: "增长" },
  welded: { en: "Welded", zh: "接入" },
  upgraded: { en: "Upgraded (U1)", zh: "升级（U1）" },
  violation: { en: "Not allowed", zh: "不允许" },
}

/** The welds and upgrades on the way from one chapter to another. */
function declared(from: Chapter, to: Chapter, language: Language): Map<string, { group: Group; reason: string }> {
  const found = new Map<string, { group: Group; reason: string }>()
  const note = (name: string, group: Group, reason: string): void => {
    const known = found.get(name)
    found.set(name, {
      group: known?.group === "upgraded" ? "upgraded" : group,
      reason: known === undefined ? reason : `${known.reason}${language === "zh" ? "" : " "}${reason}`,
    })
  }
  for (const chapter of CHAPTERS.slice(CHAPTERS.indexOf(from) + 1, CHAPTERS.indexOf(to) + 1)) {
    for (const { name, reason, reasonZh } of chapter.welds) note(name, "welded", language === "zh" ? reasonZh : reason)
    for (const { name, reason, reasonZh } of chapter.upgrades)
      note(name, "upgraded", language === "zh" ? reasonZh : reason)
  }
  return found
}

function toEntry(change: Change, known: ReturnType<typeof declared>, terminal: Terminal): Entry[] {
  if (change.kind === "identical") return []
  const declaration = known.get(change.symbol)
  const group = change.kind === "added" || change.kind === "grown" ? change.kind : (declaration?.group ?? "violation")
  const place = (spot: Change["old"]): { file: string; line: number } | undefined =>
    spot && { file: showFile(spot.file, terminal), line: spot.line }
  const old = place(change.old)
  const next = place(change.next)
  return [
    {
      group,
      symbol: change.symbol,
      ...(declaration && group !== "grown" && { reason: declaration.reason }),
      ...(old && { old }),
      ...(next && { next }),
      ...(change.from !== undefined && { from: change.from }),
      ...(change.to !== undefined && { to: change.to }),
    },
  ]
}

/** The member that took the place of an upgraded one, where the old text is all that the comparison has. */
function withUpgrade(entry: Entry, from: Chapter, to: Chapter): Entry {
  const upgrades = CHAPTERS.slice(CHAPTERS.indexOf(from) + 1, CHAPTERS.indexOf(to) + 1).flatMap(
    (chapter) => chapter.upgrades,
  )
  const upgrade = upgrades.find((candidate) => candidate.name === entry.symbol)
  return upgrade === undefined || entry.to !== undefined ? entry : { ...entry, to: upgrade.to }
}

type Row = { sign: " " | "-" | "+"; left: string; right: string }

function pairLines(from: string, to: string): Row[] {
  return diffArrays(from.split("\n"), to.split("\n")).flatMap(({ value, added, removed }) => {
    return value.map((line): Row => {
      if (added) return { sign: "+", left: "", right: line }
      return removed ? { sign: "-", left: line, right: "" } : { sign: " ", left: line, right: line }
    })
  })
}

/** Puts a removed line beside the added line that follows it. */
function besideEachOther(rows: Row[]): Row[] {
  const out: Row[] = []
  for (const row of rows) {
    const gap =
      row.sign === "+"
        ? out.find(
            (other, index) =>
              other.sign === "-" && other.right === "" && out.slice(index).every(({ sign }) => sign !== " "),
          )
        : undefined
    if (gap === undefined) out.push({ ...row })
    else gap.right = row.right
  }
  return out
}

/** One row below the other, each with its sign. */
function showRows(rows: readonly Row[], { width, paint }: Room): string[] {
  const colors = { "+": paint.green, "-": paint.red, " ": paint.dim }
  return rows.flatMap(({ sign, left, right }) => {
    const pieces = wrap(sign === "+" ? right : left, width - 6)
    return pieces.map((piece, index) => colors[sign](`    ${index === 0 ? sign : " "} ${piece}`))
  })
}

function showChange(from: string, to: string, room: Room): string[] {
  const { width, sideBySide, paint } = room
  const rows = pairLines(from, to)
  if (!sideBySide) return showRows(rows, room)
  const half = Math.floor((width - 9) / 2)
  return besideEachOther(rows).flatMap(({ sign, left, right }) => {
    const old = wrap(left, half)
    const next = wrap(right, half)
    return Array.from({ length: Math.max(old.length, next.length) }, (_, index) => {
      const before = (old[index] ?? "").padEnd(half)
      const after = next[index] ?? ""
      const cells = [
        sign === "-" ? paint.red(before) : paint.dim(before),
        sign === " " ? paint.dim(after) : paint.green(after),
      ]
      return `    ${cells.join(" │ ")}`.trimEnd()
    })
  })
}

/** A line in pieces of the given width; the pieces after the first are indented like the line and a little more. */
function wrap(line: string, width: number): string[] {
  const indent = " ".repeat(Math.min(line.search(/\S|$/) + 4, Math.floor(width / 2)))
  const pieces: string[] = []
  let rest = line
  while (rest.length > width) {
    const blank = rest.lastIndexOf(" ", width)
    const cut = blank > indent.length ? blank : width
    pieces.push(rest.slice(0, cut))
    rest = indent + rest.slice(cut).trimStart()
  }
  return [...pieces, rest]
}

/** The whole doc comment in front of a declaration, without its marks. */
function commentOf(text: string): string[] {
  const [comment = ""] = /^\/\*\*[\s\S]*?\*\//.exec(text) ?? []
  return comment
    .split("\n")
    .map((line) => line.replace(/^\s*\/?\*+\/? ?/, "").replace(/ ?\*\/$/, ""))
    .filter((line) => line !== "")
}

/** What stands below a name: only words, or the code too. */
function showBody({ group, from = "", to = "" }: Entry, room: Room, namesOnly: boolean): string[] {
  const { width, paint } = room
  if (namesOnly)
    return commentOf(to || from)
      .flatMap((line) => wrap(`    ${line}`, width))
      .map((line) => paint.dim(line))
  if (group !== "added") return showChange(from, to, room)
  return showRows(
    to.split("\n").map((line): Row => ({ sign: "+", left: "", right: line })),
    room,
  )
}

function showEntry(entry: Entry, room: Room, namesOnly: boolean): string {
  const { width, paint } = room
  const spot = entry.next ?? entry.old
  const place = spot === undefined ? "" : `${spot.file}:${spot.line}`
  const fits = entry.symbol.length + place.length + 4 <= width
  const head = fits
    ? [`  ${paint.bold(entry.symbol)}${place === "" ? "" : paint.dim(`  ${place}`)}`]
    : [
        ...wrap(`  ${entry.symbol}`, width).map((line) => paint.bold(line)),
        ...wrap(`    ${place}`, width).map((line) => paint.dim(line)),
      ]
  const reason = entry.reason === undefined ? [] : wrap(`    ${entry.reason}`, width).map((line) => paint.cyan(line))
  return [...head, ...reason, ...showBody(entry, room, namesOnly)].join("\n")
}

function countLines(entries: readonly Entry[]): { plus: number; minus: number } {
  const rows = entries.flatMap(({ from, to = "" }) =>
    from === undefined ? to.split("\n").map((): Row => ({ sign: "+", left: "", right: "" })) : pairLines(from, to),
  )
  return {
    plus: rows.filter(({ sign }) => sign === "+").length,
    minus: rows.filter(({ sign }) => sign === "-").length,
  }
}

function title(old: Surface, next: Surface, language: Language): string {
  const name = ({ chapter }: Surface): string => `${chapter.id} ${language === "zh" ? chapter.titleZh : chapter.title}`
  return `${name(old)} → ${name(next)}`
}

function groupsOf(entries: readonly Entry[]): [Group, Entry[]][] {
  const groups = Object.keys(TITLES) as Group[]
  return groups
    .map((group): [Group, Entry[]] => [group, entries.filter((entry) => entry.group === group)])
    .filter(([, found]) => found.length > 0)
}

function showText(old: Surface, next: Surface, entries: readonly Entry[], room: Room, namesOnly: boolean): string {
  const { paint } = room
  const groups = groupsOf(entries).map(([group, found]) => {
    const words = TITLES[group][room.language]
    const heading = group === "violation" ? paint.red.bold(words) : paint.bold.underline(words)
    return [heading, ...found.map((entry) => showEntry(entry, room, namesOnly))].join("\n")
  })
  const heading = wrap(title(old, next, room.language), room.width).map((line) => paint.bold(line))
  return [heading.join("\n"), ...groups, showStat(entries, room)].join("\n\n")
}

function showStat(entries: readonly Entry[], { width, paint, language }: Room): string {
  const rows = groupsOf(entries).flatMap(([group, found]) => {
    const { plus, minus } = countLines(found)
    const count = `${padWide(TITLES[group][language], 14)}${String(found.length).padStart(3)}  `
    const [more, less] = [`+${plus}`.padStart(5), `-${minus}`.padStart(4)]
    const names = found.map((entry) => entry.symbol).join(", ")
    const margin = count.length + more.length + less.length + 3
    if (width < 2 * margin)
      return [
        ...wrap(`${TITLES[group][language]}: ${found.length}, +${plus} -${minus}`, width),
        ...wrap(`    ${names}`, width),
      ]
    const [first = "", ...others] = wrap(names, width - margin)
    return [
      `${count}${paint.green(more)} ${paint.red(less)}  ${first}`,
      ...others.map((line) => `${" ".repeat(margin)}${line.trimStart()}`),
    ]
  })
  return rows.join("\n")
}

function showMarkdown(old: Surface, next: Surface, entries: readonly Entry[]): string {
  const rows = entries.map(
    ({ group, symbol, reason }) => `| ${TITLES[group].en} | \`${symbol.replaceAll("|", "\\|")}\` | ${reason ?? ""} |`,
  )
  return [`### ${title(old, next, "en")}`, "", "| What | Name | Why |", "| --- | --- | --- |", ...rows].join("\n")
}

function patch(old: Surface, next: Surface, terminal: Terminal): string {
  const show = ({ file }: Surface): string => showFile(file, terminal)
  const core = ({ lines, demoLine }: Surface): string => `${lines.slice(0, demoLine - 1).join("\n")}\n`
  return createTwoFilesPatch(show(old), show(next), core(old), core(next), "", "", { context: 3 })
}

function readPair(positionals: string[]): [Chapter, Chapter] {
  const [first, second, ...more] = positionals.map(findChapter)
  if (first === undefined || more.length > 0)
    throw new InputError(`expected one chapter or two, got ${positionals.length}`)
  if (second !== undefined && first === second) throw new InputError(`${first.id} and ${first.id} are the same chapter`)
  const previous = CHAPTERS[CHAPTERS.indexOf(first) - 1]
  if (second === undefined && previous === undefined)
    throw new InputError(`${first.id} is the first chapter: there is nothing before it to compare it with`)
  const pair = second === undefined ? [previous as Chapter, first] : [first, second]
  return pair.sort((a, b) => CHAPTERS.indexOf(a) - CHAPTERS.indexOf(b)) as [Chapter, Chapter]
}

function readRoom(given: string | undefined, { columns, paint }: Terminal): Omit<Room, "language"> {
  if (given === undefined && columns === undefined) return { width: Number.POSITIVE_INFINITY, sideBySide: false, paint }
  const width = readWholeNumber("width", given, { fallback: columns ?? MAX_WIDTH, least: 20, most: MAX_WIDTH })
  return { width, sideBySide: width >= WIDE, paint }
}

/** npm run diff */
export const command: Command = {
  usage:
    "usage: npm run diff -- sNN [sNN] [--names | --stat | --unified | --json | --markdown] [--width N] [--lang zh|en]",
  run(args, terminal) {
    const { out } = terminal
    const { values, positionals } = readOptions({
      args,
      allowPositionals: true,
      options: {
        names: { type: "boolean", default: false },
        stat: { type: "boolean", default: false },
        unified: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        markdown: { type: "boolean", default: false },
        width: { type: "string" },
        lang: { type: "string" },
      },
    })
    const forms = [values.names, values.stat, values.unified, values.json, values.markdown].filter(Boolean)
    if (forms.length > 1) throw new InputError("--names, --stat, --unified, --json and --markdown exclude each other")
    const forPrograms = values.json || values.markdown
    const language = forPrograms ? "en" : chooseLanguage(values.lang, terminal.env)
    const room = { ...readRoom(values.width, terminal), language }
    const [from, to] = readPair(positionals)
    const [old, next] = [from, to].map((chapter) => readSurface(chapter, chapterFile(chapter, terminal.root))) as [
      Surface,
      Surface,
    ]
    const known = declared(from, to, language)
    const entries = compareSurfaces(old, next)
      .flatMap((change) => toEntry(change, known, terminal))
      .map((entry) => withUpgrade(entry, from, to))
    const shown = entries.map(
      (entry): Entry => ({
        ...entry,
        symbol: visible(entry.symbol),
        ...(entry.from !== undefined && { from: visible(entry.from) }),
        ...(entry.to !== undefined && { to: visible(entry.to) }),
      }),
    )
    if (values.unified) out(visible(patch(old, next, terminal)))
    else if (values.json) out(toJson({ from: from.id, to: to.id, entries }))
    else if (values.markdown) out(showMarkdown(old, next, shown))
    else if (values.stat) out(showStat(shown, room))
    else out(showText(old, next, shown, room, values.names))
    return 0
  },
}
