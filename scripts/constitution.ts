/** Holds chapters against the rules. */
import { type Change, compareSurfaces } from "./compare.ts"
import { CHAPTERS, type Chapter } from "./manifest.ts"
import { RULES } from "./rules/index.ts"
import type { Finding, Rule } from "./rules/rule.ts"
import { chapterFile, readSurface, type Surface } from "./surface.ts"

/** A chapter, the chapter it is compared with, and what differs. */
export type Step = {
  chapter: Chapter
  old: Surface | undefined
  next: Surface
  changes: Change[]
}

/** Reads chapters; `files` names other places for some of them, by id. Throws an `InputError` for what cannot be read. */
export function readChapters(chapters: readonly Chapter[], files: Readonly<Record<string, string>> = {}): Surface[] {
  return chapters.map((chapter) => readSurface(chapter, files[chapter.id] ?? chapterFile(chapter)))
}

/** Pairs each chapter with the one before it. `first` is what the first is compared with; without it, with nothing. */
export function pairChapters(surfaces: readonly Surface[], first?: Surface): Step[] {
  return surfaces.map((next, index) => {
    const old = surfaces[index - 1] ?? first
    return { chapter: next.chapter, old, next, changes: old === undefined ? [] : compareSurfaces(old, next) }
  })
}

/** Every fault in these steps, in the order of the chapters and of the source; a fault and its echo in the next chapter count once. */
export function checkSteps(steps: readonly Step[], rules: readonly Rule[] = RULES): Finding[] {
  const dictionary = new Map<string, string>(
    CHAPTERS.flatMap((chapter) => chapter.parts.map((name) => [name, chapter.id] as const)),
  )
  for (const { next } of steps)
    for (const { name, section } of next.core) if (!dictionary.has(name)) dictionary.set(name, section)
  const found = steps.map((step) => {
    const findings = rules.flatMap((rule) => {
      const faults = rule.find({ ...step, dictionary })
      return faults.map((fault): Finding => {
        const { symbol, message, old, next } = fault
        return {
          rule: rule.id,
          chapter: step.chapter.id,
          symbol,
          message,
          ...(old && { old }),
          ...(next && { next }),
          mend: rule.mend,
        }
      })
    })
    return withoutConsequences(findings, step)
  })
  return found.flatMap((findings, index) => findings.filter((finding) => !isEcho(finding, index, steps, found)))
}

/** A line that breaks a rule of its own also changes the text of its declaration. The rule of its own is the cause; the text is left out. */
function withoutConsequences(findings: Finding[], { next }: Step): Finding[] {
  const causes = findings.filter(({ rule }) => /^(R7|I1|U2|R1-ANY|R8-MOVED|R8-KIND)/.test(rule))
  const covers = (finding: Finding): boolean => {
    const name = finding.symbol.split(".")[0]
    const declaration = next.core.find((candidate) => candidate.name === name)
    return causes.some(
      ({ next: spot, symbol }) =>
        symbol === name ||
        (spot !== undefined &&
          declaration !== undefined &&
          spot.line >= declaration.start &&
          spot.line <= declaration.end),
    )
  }
  const once = findings.filter(
    (finding, index) =>
      findings.findIndex((other) => other.rule === finding.rule && other.symbol === finding.symbol) === index,
  )
  return once
    .filter(
      (finding) =>
        causes.includes(finding) ||
        !/REWRITTEN|REFORMATTED|MEMBER-CHANGED|FIELD-CHANGED|PLACE|UNLISTED|EXPORT/.test(finding.rule) ||
        !covers(finding),
    )
    .sort((a, b) => (a.next?.line ?? 0) - (b.next?.line ?? 0))
}

/** Whether a finding only says that a chapter does not share the fault of the chapter before it: the two around that one agree. */
function isEcho(finding: Finding, index: number, steps: readonly Step[], found: readonly Finding[][]): boolean {
  const name = finding.symbol.split(".")[0]
  const before = steps[index - 1]
  if (before?.old === undefined || found[index - 1]?.every((other) => other.symbol.split(".")[0] !== name) !== false)
    return false
  const text = (surface: Surface | undefined): string | undefined =>
    surface?.core.find((candidate) => candidate.name === name)?.text
  const now = text(steps[index]?.next)
  return now !== undefined && now === text(before.old)
}
