/** Holds chapters against the rules. */
import { compareSurfaces } from "../chapter/compare.ts"
import { readSurface, type Surface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import type { Chapter } from "../course/manifest.ts"
import { chapterFile, readSource } from "../course/source.ts"
import { RULES } from "./index.ts"
import type { Finding, Rule, Step, Violation } from "./rule.ts"

/** Throws an `InputError` unless the manifest's chapters are s01, s02 and so on, each in a folder of its number. */
export function assertOrder(chapters: readonly Chapter[]): void {
  for (const [index, { id, folder }] of chapters.entries()) {
    const expected = `s${String(index + 1).padStart(2, "0")}`
    if (id !== expected)
      throw new InputError(
        `chapter ${index + 1} in scripts/course/manifest.ts has the id "${id}", expected ${expected}: put it right`,
      )
    if (!folder.startsWith(`${id}_`))
      throw new InputError(
        `${id} in scripts/course/manifest.ts has the folder "${folder}", expected one that starts with ${id}_`,
      )
  }
}

/** How many chapters the course has: with one fewer in the manifest, it would hold as well, and nobody would look at the last. */
const COUNT = 12

/** Throws an `InputError` for a manifest that does not list all chapters, in their order. */
export function assertWhole(chapters: readonly Chapter[]): void {
  assertOrder(chapters)
  if (chapters.length !== COUNT)
    throw new InputError(`scripts/course/manifest.ts lists ${chapters.length} chapters, expected ${COUNT}: s01 to s12`)
}

/** Reads chapters; `files` names other places for some of them, by id. Throws an `InputError` for what cannot be read. */
export function readChapters(chapters: readonly Chapter[], files: Readonly<Record<string, string>> = {}): Surface[] {
  assertOrder(chapters)
  return chapters.map((chapter) => readOnce(chapter, files[chapter.id] ?? chapterFile(chapter)))
}

/** The last surface of each file. Who checks again and again, as `--watch` and the tests do, parses only what has changed. */
const lastRead = new Map<string, Surface>()

function readOnce(chapter: Chapter, file: string): Surface {
  const text = readSource(file)
  const last = lastRead.get(file)
  if (last?.text === text && last.chapter === chapter) return last
  const surface = readSurface(chapter, file, text)
  lastRead.set(file, surface)
  return surface
}

/** Pairs each chapter with the one before it. `first` is what the first is compared with; without it, with nothing. */
export function pairChapters(surfaces: readonly Surface[], first?: Surface): Step[] {
  return surfaces.map((next, index) => {
    const old = surfaces[index - 1] ?? first
    return { chapter: next.chapter, old, next, changes: old === undefined ? [] : compareSurfaces(old, next) }
  })
}

/** Every violation in these steps, in the order of the chapters and of the source; a violation and its echo in the next chapter count once. */
export function checkSteps(steps: readonly Step[], rules: readonly Rule[] = RULES): Finding[] {
  const found: Finding[][] = []
  for (const [index, step] of steps.entries()) {
    const findings = checkStep(step, rules)
    const [before, violations = []] = [steps[index - 1], found[index - 1]]
    const echoes = before === undefined ? [] : findings.filter((finding) => canEcho(finding, violations, before, rules))
    // Where the chapter before has a violation of its own, the way back from it is none: compare past it.
    const past = before === undefined || echoes.length === 0 ? [] : checkStep(bridge(before, step), rules)
    found.push(findings.filter((finding) => !echoes.includes(finding) || isAlsoIn(past)(finding)))
  }
  return found.flat()
}

/** Whether a finding may be nothing but the way back from a violation of the chapter before: only where that violation is about the same declaration. */
function canEcho(
  { rule, symbol }: Finding,
  violations: readonly Finding[],
  before: Step,
  rules: readonly Rule[],
): boolean {
  if (before.old === undefined) return false
  if (rule === "R8-MOVED") return violations.some((violation) => violation.rule === rule)
  const about = (id: string): Rule["about"] => rules.find((candidate) => candidate.id === id)?.about
  const name = symbol.split(".")[0] ?? symbol
  return violations.some((violation) => {
    // An entry in the manifest that is wrong has changed no text.
    if (about(rule) === "text" && about(violation.rule) === "manifest") return false
    const { next } = violation
    const around = before.next.core.find(({ start, end }) => next && next.line >= start && next.line <= end)
    return violation.symbol.split(".")[0] === name || around?.name === name
  })
}

function checkStep(step: Step, rules: readonly Rule[]): Finding[] {
  const findings = rules.flatMap((rule) => {
    return findViolations(rule, step).map(
      ({ symbol, message, old, next, lacks, forReader, fix = rule.fix }): Finding => {
        return {
          rule: rule.id,
          chapter: step.chapter.id,
          symbol,
          message,
          ...(old && { old }),
          ...(next && { next }),
          ...(lacks && { lacks }),
          ...(forReader && { forReader }),
          fix,
        }
      },
    )
  })
  return withoutConsequences(findings, step, rules)
}

/** What the rules about single chapters said to a chapter. They say the same each time. */
const said = new WeakMap<Surface, Map<Rule, Violation[]>>()

function findViolations(rule: Rule, step: Step): Violation[] {
  if (rule.scope !== "chapter") return rule.find(step)
  const known = said.get(step.next) ?? new Map<Rule, Violation[]>()
  said.set(step.next, known)
  const violations = known.get(rule) ?? rule.find(step)
  known.set(rule, violations)
  return violations
}

/** The step from the chapter before the last one to this one, with the manifests of both. */
function bridge(before: Step, { chapter, next }: Step): Step {
  const { parts, welds, upgrades, gains } = before.chapter
  const names = [...new Set([...Object.keys(gains ?? {}), ...Object.keys(chapter.gains ?? {})])]
  const both = {
    ...chapter,
    parts: [...parts, ...chapter.parts],
    welds: [...welds, ...chapter.welds],
    upgrades: [...upgrades, ...chapter.upgrades],
    gains: Object.fromEntries(
      names.map((name) => [name, [...(gains?.[name] ?? []), ...(chapter.gains?.[name] ?? [])]]),
    ),
  }
  return {
    chapter: both,
    old: before.old,
    next,
    changes: before.old === undefined ? [] : compareSurfaces(before.old, next),
  }
}

function isAlsoIn(others: readonly Finding[]): (finding: Finding) => boolean {
  return ({ rule, symbol }) => others.some((other) => other.rule === rule && other.symbol === symbol)
}

/** A violation is found once, by the rule that is closest to its cause: a line that breaks a rule of its own also changes the text around it. */
function withoutConsequences(findings: readonly Finding[], { next }: Step, rules: readonly Rule[]): Finding[] {
  const place = ({ rule, symbol, next: spot }: Finding): string => `${rule} ${symbol} ${spot?.line}`
  const once = findings.filter(
    (finding, index) => findings.findIndex((other) => place(other) === place(finding)) === index,
  )
  const standsIn = (cause: Finding, { symbol, next: spot }: Finding): boolean => {
    const declaration = next.core.find(({ name }) => name === symbol)
    const [start, end] = declaration ? [declaration.start, declaration.end] : [spot?.line ?? 0, spot?.end ?? 0]
    return cause.next !== undefined && cause.next.line >= start && cause.next.line <= end
  }
  const explains = (cause: Finding, finding: Finding): boolean => {
    const { symbol, member, lines } = rules.find(({ id }) => id === cause.rule)?.explains ?? {}
    return (
      (symbol?.includes(finding.rule) && cause.symbol === finding.symbol) ||
      (member?.includes(finding.rule) && `${cause.symbol}.`.startsWith(`${finding.symbol}.`)) ||
      (lines?.includes(finding.rule) && standsIn(cause, finding)) ||
      false
    )
  }
  return once
    .filter((finding) => !once.some((cause) => explains(cause, finding)))
    .sort((a, b) => (a.next?.line ?? 0) - (b.next?.line ?? 0))
}
