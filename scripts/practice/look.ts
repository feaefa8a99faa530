/** One look at a reader's chapter: how far it is, and what is the first thing that is not right yet. */
import fs from "node:fs"
import path from "node:path"
import { type Declaration, readSurface } from "../chapter/surface.ts"
import { findTypeFaults, forReader, readOwn } from "../cli/own-file.ts"
import type { Terminal } from "../cli/terminal.ts"
import { InputError } from "../course/input-error.ts"
import type { Language, Text } from "../course/language.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import { chapterFile, ROOT } from "../course/source.ts"
import { checkSteps, pairChapters } from "../rules/judge.ts"
import type { Failure, Judge } from "./judge.ts"
import { type Progress, readPlain } from "./progress.ts"
import { firstOpenStep, type Step, stepsOf, testsOf } from "./steps.ts"

/** What a look has found. */
export type Look = {
  /** The step to do, from 0 on; as many as there are steps when nothing is left to do. */
  open: number
  steps: readonly Step[]
  /** The first test of the step that failed, and how many of it did. */
  failure?: Failure
  failed: number
  /** One sentence about what kept the tests from ending, or what is wrong though they all pass. */
  trouble?: Text
  /** The step that had passed before and does so no more. */
  lost?: number
}

/** Looks at the reader's file of a chapter, and keeps the progress. */
export async function lookAt(chapter: Chapter, judge: Judge, progress: Progress, terminal: Terminal): Promise<Look> {
  const file = progress.fileOf(chapter)
  const steps = stepsOf(chapter)
  const job = { chapter: chapter.id, failures: Number.POSITIVE_INFINITY, ownFirst: true }
  const verdict = await judge.run(file, job)
  const mark = progress.markOf(chapter)
  const { tests, trouble } = verdict
  const passed = new Set(verdict.passed)
  let open = tests.length === 0 ? Math.min(mark.best, steps.length - 1) : firstOpenStep(chapter, tests, passed)
  // What was not run because another test did not end is not yet known to be wrong.
  if (trouble !== undefined && tests.length > 0) open = firstUnsure(chapter, tests, passed, verdict.failures, open)
  // Tests may pass though something is not written yet, and a later step would fail because of it.
  const left = trouble === undefined ? findUnwritten(chapter, steps.slice(0, open), file) : undefined
  if (left !== undefined) open = left.step
  const failures = inStep(steps[open], chapter, tests, verdict.failures)
  const found = { open, steps, failed: failures.length, ...(failures[0] && { failure: failures[0] }) }
  const lost = open < mark.best ? { lost: open } : {}
  if (trouble !== undefined) return { ...found, ...lost, trouble }
  if (open < steps.length) {
    progress.keep(chapter, { ...mark, best: Math.max(mark.best, open), passed: mark.passed })
    return { ...found, ...lost, ...(left && { trouble: left.trouble }) }
  }
  const wrong = await findWrong(chapter, progress, terminal)
  const last = steps.length - 1
  if (wrong !== undefined) {
    progress.keep(chapter, { ...mark, best: Math.max(mark.best, last) })
    return { ...found, open: last, trouble: wrong, ...(mark.best > last && { lost: last }) }
  }
  progress.keep(chapter, { ...mark, best: steps.length, passed: true })
  return found
}

/** What of some names is left as the start of the chapter had it: not written, or marked and not looked at. In the order of the names. */
export function leftIn(chapter: Chapter, file: string, names: readonly string[]): { name: string; isNew: boolean }[] {
  const mark = new RegExp(`^\\s*// ${chapter.id} changes this: `, "m")
  return [...declarationsIn(chapter, file, names)].flatMap(([name, text]) => {
    const isNew = text.includes(`"not written yet: ${name}"`)
    return isNew || mark.test(text) ? [{ name, isNew }] : []
  })
}

/** The first of some steps in which something is left as it began, and what that is. */
function findUnwritten(
  chapter: Chapter,
  steps: readonly Step[],
  file: string,
): { step: number; trouble: Text } | undefined {
  for (const [step, { names }] of steps.entries()) {
    const [left] = leftIn(chapter, file, names)
    if (left === undefined) continue
    const { name, isNew } = left
    const trouble = isNew
      ? {
          en: `the tests of this step pass; ${name} is not written yet`,
          zh: `这一步的测试通过了，${name} 还没写`,
        }
      : {
          en: `the tests of this step pass; ${name} still has the mark that it changes: take it out when you have looked at it`,
          zh: `这一步的测试通过了，${name} 还留着“要改”的标记：看过之后把标记删掉`,
        }
    return { step, trouble }
  }
  return undefined
}

/** The failures that belong to a step, in the order in which the step names its tests. */
function inStep(step: Step | undefined, chapter: Chapter, tests: readonly string[], failures: Failure[]): Failure[] {
  if (step === undefined) return []
  const byTest = new Map(failures.map((failure) => [failure.path.join(" > "), failure]))
  return testsOf(step, chapter, tests).flatMap((test) => byTest.get(test) ?? [])
}

/** The first step with a test that has failed; where none has, the first with one that did not come to its turn. */
function firstUnsure(
  chapter: Chapter,
  tests: readonly string[],
  passed: ReadonlySet<string>,
  failures: readonly Failure[],
  open: number,
): number {
  const failed = new Set(failures.map((failure) => failure.path.join(" > ")))
  const unsure = new Set(tests.filter((test) => passed.has(test) || !failed.has(test)))
  const wrong = firstOpenStep(chapter, tests, unsure)
  return wrong < stepsOf(chapter).length ? wrong : open
}

/** What is wrong with a file that passes every test: a rule, or a type. */
async function findWrong(chapter: Chapter, progress: Progress, terminal: Terminal): Promise<Text | undefined> {
  const file = progress.fileOf(chapter)
  const before = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
  try {
    const surface = readOwn(chapter, file, readPlain(file))
    const own = progress.markOf(chapter).fromOwn ? progress.ownBefore(chapter) : undefined
    const old =
      before &&
      (own === undefined
        ? readSurface(before, chapterFile(before, terminal.root))
        : readOwn(before, own.file, own.text))
    const steps = pairChapters([surface], old).map((step) => ({ ...step, course: readSurface(chapter) }))
    const [finding] = forReader(checkSteps(steps)).filter(({ lacks }) => lacks === undefined)
    if (finding !== undefined) {
      const line = finding.next?.line
      const place = line === undefined ? { en: "", zh: "" } : { en: `line ${line}: `, zh: `第 ${line} 行：` }
      return {
        en: `every test passes; one rule does not hold: ${place.en}${finding.message.en}`,
        zh: `测试都通过了，有一条规则不成立：${place.zh}${finding.message.zh}`,
      }
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    return { en: `every test passes, but ${error.message}`, zh: `测试都通过了，但是 ${error.message}` }
  }
  const [fault] = await findTypeFaults(file, terminal)
  if (fault === undefined) return undefined
  const { line, code, message } = fault
  return {
    en: `every test passes; one type is wrong: line ${line}: ${code} ${message}`,
    zh: `测试都通过了，有一处类型不对：第 ${line} 行：${code} ${message}`,
  }
}

/** Where the book shows a name: its file, the line and the heading above it. */
export function placeInBook(
  chapter: Chapter,
  names: readonly string[],
  language: Language,
): { file: string; line: number; heading: string } {
  const file = `${chapter.folder}/README${language === "zh" ? "" : ".en"}.md`
  const lines = fs.readFileSync(path.join(ROOT, file), "utf8").split(/\r?\n/)
  const marks = lines.map((line) => /^<!-- \w+: (.+?) -->$/.exec(line)?.[1]?.split(/,\s*/) ?? [])
  const place = names
    .map((name) => marks.findIndex((shown) => shown.some((one) => one === name || one === name.split(".")[0])))
    .find((index) => index >= 0)
  const first = lines.findIndex((line) => /^## /.test(line))
  const at = place ?? first
  const heading = lines.slice(0, at + 1).findLast((line) => /^##+ /.test(line)) ?? lines[first] ?? ""
  return { file, line: at + 1, heading: heading.replace(/^#+ /, "") }
}

/** A declaration that a step is about, in a file that may be no chapter at all any more; nothing where it is not there. */
export function declarationsIn(chapter: Chapter, file: string, names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>()
  let core: Declaration[]
  try {
    core = readOwn(chapter, file, readPlain(file)).core
  } catch {
    return found
  }
  for (const name of names) {
    const [first, member] = name.split(".")
    const declaration = core.find((one) => one.name === first)
    const text =
      member === undefined ? declaration?.text : declaration?.members.find((one) => one.name === member)?.text
    if (text !== undefined) found.set(name, text)
  }
  return found
}
