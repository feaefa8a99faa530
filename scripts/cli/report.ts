/** Findings, for people, for GitHub and for programs. */
import { codeFrameColumns } from "@babel/code-frame"
import type { ChalkInstance } from "chalk"
import type { Spot } from "../chapter/compare.ts"
import type { Surface } from "../chapter/surface.ts"
import type { Language, Text } from "../course/language.ts"
import { RULES } from "../rules/index.ts"
import type { Finding, Step } from "../rules/rule.ts"
import { padWide, showFile, type Terminal, visible } from "./terminal.ts"

/** What `check --json` prints. */
export type CheckReport = {
  holds: boolean
  chapters: string[]
  rules: string[]
  findings: ReportedFinding[]
}

/** A finding in English. */
export type ReportedFinding = Omit<Finding, "message" | "fix" | "lacks" | "forReader"> & {
  message: string
  fix: string
  lacks?: string
}

/** The report for programs. Files are called as `showFile` calls them. */
export function jsonReport(steps: readonly Step[], findings: readonly Finding[], terminal: Terminal): CheckReport {
  const relative = (spot: Spot): Spot => ({ ...spot, file: showFile(spot.file, terminal) })
  return {
    holds: findings.length === 0,
    chapters: steps.map((step) => step.chapter.id),
    rules: RULES.map((rule) => rule.id),
    findings: findings.map(({ old, next, message, fix, lacks, forReader: _, ...rest }) => ({
      ...rest,
      message: message.en,
      fix: fix.en,
      ...(lacks && { lacks: lacks.en }),
      ...(old && { old: relative(old) }),
      ...(next && { next: relative(next) }),
    })),
  }
}

/** A table, chapters × articles of the constitution: a dot where it holds, a count where it does not. */
export function tableReport(
  steps: readonly Step[],
  findings: readonly Finding[],
  { paint }: Terminal,
  language: Language,
): string {
  const articles = [...new Set(RULES.map((rule) => rule.article))]
  const rows = steps.map(({ chapter }) => {
    const cells = articles.map((article) => {
      const count = findings.filter(
        (finding) => finding.chapter === chapter.id && finding.rule.startsWith(`${article}-`),
      ).length
      return count === 0 ? paint.green("·".padStart(4)) : paint.red(String(count).padStart(4))
    })
    return `${chapter.id} ${language === "zh" ? padWide(chapter.titleZh, 11) : chapter.title.padEnd(11)}${cells.join("")}`
  })
  return [paint.bold(`${"".padEnd(15)}${articles.map((article) => article.padStart(4)).join("")}`), ...rows].join("\n")
}

const WORDS = {
  was: { en: "was", zh: "原来" },
  is: { en: "is", zh: "现在" },
  fix: { en: "fix", zh: "改法" },
} satisfies Record<string, Text>

/** One finding with its rule, the code before and after, and how to fix it. */
export function describeFinding(
  finding: Finding,
  steps: readonly Step[],
  terminal: Terminal,
  language: Language,
): string {
  const { paint } = terminal
  const rule = RULES.find((candidate) => candidate.id === finding.rule)
  const frames = [
    finding.old && [WORDS.was[language], finding.old],
    finding.next && [WORDS.is[language], finding.next],
  ].flatMap((entry) => {
    if (entry === undefined) return []
    const [word, spot] = entry as [string, Spot]
    return [`  ${word} ${showFile(spot.file, terminal)}:${spot.line}`, indent(frame(spot, steps, paint))]
  })
  return [
    `${paint.red.bold(finding.rule)}  ${paint.bold(finding.chapter)}  ${visible(finding.message[language])}`,
    paint.dim(`  ${rule?.sentence[language] ?? ""}`),
    ...frames,
    `  ${paint.cyan(WORDS.fix[language])} ${visible(finding.fix[language])}`,
  ].join("\n")
}

/** A finding as GitHub shows it beside the line. */
export function githubAnnotation({ rule, message, fix, next, old }: Finding, terminal: Terminal): string {
  const spot = next ?? old
  const place = spot === undefined ? "" : `file=${showFile(spot.file, terminal)},line=${spot.line},endLine=${spot.end},`
  return `::error ${place}title=${rule}::${visible(`${message.en}. ${fix.en}`).replaceAll("%", "%25").replaceAll("\n", "%0A")}`
}

function frame(spot: Spot, steps: readonly Step[], { level }: ChalkInstance): string {
  const surfaces = steps
    .flatMap(({ old, next }) => [old, next])
    .filter((surface): surface is Surface => surface !== undefined)
  const text = surfaces.find((surface) => surface.file === spot.file)?.text ?? ""
  const end = Math.min(spot.end, spot.line + 5)
  const place = { start: { line: spot.line }, ...(end > spot.line && { end: { line: end } }) }
  return codeFrameColumns(visible(text), place, { linesAbove: 1, linesBelow: 1, forceColor: level > 0 })
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "    ")
}
