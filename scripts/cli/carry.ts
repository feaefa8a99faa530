/**
 * Brings an edit of one chapter's core into every later chapter, by three-way merge.
 *
 *   npm run carry -- s02              shows the plan: what would change, chapter by chapter
 *   npm run carry -- s02 --write      does it, up to the first conflict, and checks the constitution; of the chapter in conflict it
 *                                     writes what is clear
 *   npm run carry -- s02 --base REV   compares with REV instead of the last commit
 *   npm run carry -- s02 --force      also into chapters that have uncommitted changes of their own
 *
 * Doing it again changes nothing. Exit code 0: done, or nothing to do; 1: a conflict, or the check found something; 2: could not run.
 */
import { execFileSync } from "node:child_process"
import fs from "node:fs"
import { parseArgs } from "node:util"
import chalk from "chalk"
import { structuredPatch } from "diff"
import { type Conflict, mergeTexts } from "../chapter/merge.ts"
import { readSurface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile, decodeText, ROOT, readSource } from "../course/source.ts"
import { checkSteps, pairChapters, readChapters } from "../rules/judge.ts"
import { describeFinding, showFile } from "./report.ts"
import { runCommand, visible } from "./terminal.ts"

const USAGE = "usage: npm run carry -- sNN [--write] [--base REV] [--force]"

/** A chapter's text in two parts: the core with its imports, and the demo. Only the first is carried. */
type Split = {
  core: string
  demo: string
  /** How many lines of the file stand in front of the core. */
  offset: number
}

/** What carrying would do to one chapter. */
type Plan =
  | { type: "unchanged"; chapter: Chapter }
  | { type: "changed"; chapter: Chapter; before: string; after: string }
  | { type: "conflict"; chapter: Chapter; conflicts: Conflict[]; before: string; after: string }

function split(chapter: Chapter, text: string): Split {
  const { demoLine, lines, imports, source } = readSurface(chapter, chapterFile(chapter), text)
  // Imports belong to the demo as much as to the core; they are left alone.
  const last = imports.at(-1)
  const start = last === undefined ? 0 : source.getLineAndCharacterOfPosition(last.end).line + 1
  return {
    core: lines.slice(start, demoLine - 1).join("\n"),
    demo: [...lines.slice(0, start), "\u0000", ...lines.slice(demoLine - 1)].join("\n"),
    offset: start,
  }
}

function join({ core, demo }: Split): string {
  return demo.replace("\u0000", () => core)
}

const commits = new Map<string, Map<string, Buffer>>()

/** Runs git. Throws an `InputError` with what git says. */
function git(args: string[], what: string, input: string = ""): Buffer {
  try {
    return execFileSync("git", args, { cwd: ROOT, input, stdio: "pipe", maxBuffer: 1 << 26 })
  } catch (error) {
    const [reason = ""] = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message).split("\n")
    throw new InputError(`${what}: ${reason}`)
  }
}

/** The text of a chapter at a commit. */
function committed(chapter: Chapter, base: string): string {
  const file = `${chapter.folder}/code.ts`
  const what = `cannot read ${file} at ${base}`
  const texts = commits.get(base) ?? readCommit(base, what)
  commits.set(base, texts)
  const bytes = texts.get(file)
  if (bytes === undefined) throw new InputError(`${what}: git has none there`)
  return decodeText(bytes, `${file} at ${base}`)
}

/** The chapters at a commit, by file, read with one process of git. A chapter that the commit does not have is left out. */
function readCommit(base: string, what: string): Map<string, Buffer> {
  const revision = ["rev-parse", "--verify", "--end-of-options", `${base}^{commit}`]
  const commit = git(revision, `${what}, expected a commit`).toString().trim()
  const files = CHAPTERS.map(({ folder }) => `${folder}/code.ts`)
  const out = git(["cat-file", "--batch"], what, files.map((file) => `${commit}:${file}\n`).join(""))
  const texts = new Map<string, Buffer>()
  let at = 0
  for (const file of files) {
    const body = out.indexOf("\n", at) + 1
    const size = / blob (\d+)$/.exec(out.toString("utf8", at, body - 1))?.[1]
    at = body
    if (size === undefined) continue
    texts.set(file, out.subarray(body, body + Number(size)))
    at = body + Number(size) + 1
  }
  return texts
}

/** Plans from chapter to chapter: the edit that arrived in one is what the next one gets. */
function makePlans(first: Chapter, base: string, force: boolean): Plan[] {
  const plans: Plan[] = []
  let previous = {
    base: split(first, committed(first, base)).core,
    now: split(first, readSource(chapterFile(first))).core,
  }
  for (const chapter of CHAPTERS.slice(CHAPTERS.indexOf(first) + 1)) {
    const before = readSource(chapterFile(chapter))
    const now = split(chapter, before)
    const was = committed(chapter, base)
    const original = was === before ? now.core : split(chapter, was).core
    const merge = mergeTexts(original, previous.base, previous.now)
    const carried = merge.text === now.core
    if (original !== now.core && !carried && !force) {
      throw new InputError(
        `${chapter.id} has uncommitted changes of its own: commit them first, or say --force to merge into them`,
      )
    }
    const result = carried || original === now.core ? merge : mergeTexts(now.core, previous.base, previous.now)
    if (result.type === "conflict") {
      const conflicts = result.conflicts.map((conflict) => ({
        ...conflict,
        line: conflict.line + now.offset,
        mergedLine: conflict.mergedLine + now.offset,
      }))
      return [...plans, { type: "conflict", chapter, conflicts, before, after: join({ ...now, core: result.text }) }]
    }
    const after = join({ ...now, core: result.text })
    plans.push(after === before ? { type: "unchanged", chapter } : { type: "changed", chapter, before, after })
    previous = { base: original, now: result.text }
  }
  return plans
}

/** What would change, or has: `written` says which, since lines move by it. */
function showPlan(plan: Plan, written: boolean): string {
  if (plan.type === "unchanged") return `${plan.chapter.id}  nothing to do`
  if (plan.type === "changed") {
    const { count, lines } = showPlaces(plan)
    return `${chalk.bold(plan.chapter.id)}  ${count}\n${lines.join("\n")}`
  }
  const conflicts = plan.conflicts.map(({ line, mergedLine, ours, base, theirs }) => {
    const block = (title: string, text: string[]): string =>
      [`    ${title}`, ...text.map((row) => `      ${visible(row)}`)].join("\n")
    return [
      `  at line ${written ? mergedLine : line}`,
      block(`${plan.chapter.id} has`, ours),
      block("the edit changes", base),
      block("into", theirs),
    ].join("\n")
  })
  const clear = plan.before === plan.after ? undefined : showPlaces(plan)
  return [
    `${chalk.red.bold(plan.chapter.id)}  conflict: both sides changed these lines`,
    ...conflicts,
    ...(clear === undefined ? [] : [`  and ${clear.count} without a conflict`, ...clear.lines]),
  ].join("\n")
}

/** What would change in a chapter, place by place. */
function showPlaces({ before, after }: { before: string; after: string }): { count: string; lines: string[] } {
  const { hunks } = structuredPatch("", "", before, after, "", "", { context: 0 })
  const lines = hunks.flatMap((hunk) => [
    `  @@ line ${hunk.newStart}`,
    ...hunk.lines.map(visible).map((line) => `  ${line.startsWith("-") ? chalk.red(line) : chalk.green(line)}`),
  ])
  return { count: `${hunks.length} ${hunks.length === 1 ? "place" : "places"}`, lines }
}

function write(plans: readonly Plan[]): void {
  for (const plan of plans)
    if (plan.type !== "unchanged" && plan.after !== plan.before) fs.writeFileSync(chapterFile(plan.chapter), plan.after)
}

function check(): number {
  const steps = pairChapters(readChapters(CHAPTERS))
  const findings = checkSteps(steps)
  for (const finding of findings) console.log(`\n${describeFinding(finding, steps)}`)
  console.log(findings.length === 0 ? chalk.green("The constitution holds.") : chalk.red(`${findings.length} found.`))
  return findings.length === 0 ? 0 : 1
}

await runCommand(USAGE, (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      write: { type: "boolean", default: false },
      base: { type: "string", default: "HEAD" },
      force: { type: "boolean", default: false },
    },
  })
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0)
    throw new InputError(
      `expected one chapter, got ${positionals.length === 0 ? "none" : `"${positionals.join(" ")}"`}`,
    )
  const first = findChapter(name)
  if (values.base.trim() === "")
    throw new InputError("--base expects a commit, got nothing: say HEAD~1, a branch or a tag")
  if (split(first, committed(first, values.base)).core === split(first, readSource(chapterFile(first))).core) {
    console.log(
      `The core of ${first.id} is as it was at ${values.base}: nothing to carry. Demos are not carried; if the edit is committed already, name the commit before it: --base HEAD~1.`,
    )
    return 0
  }
  const plans = makePlans(first, values.base, values.force)
  for (const plan of plans) console.log(showPlan(plan, values.write))
  const conflict = plans.find((plan) => plan.type === "conflict")
  const changed = plans.filter((plan) => plan.type === "changed")
  if (!values.write) {
    console.log(
      `\n${changed.length} ${changed.length === 1 ? "chapter" : "chapters"} would change${conflict === undefined ? "" : `, up to the conflict in ${conflict.chapter.id}`}. Say --write to do it.`,
    )
    return conflict === undefined ? 0 : 1
  }
  write(plans)
  const partly = conflict !== undefined && conflict.after !== conflict.before ? [conflict] : []
  const written = [...changed, ...partly].map(({ chapter }) => showFile(chapterFile(chapter))).join(", ")
  console.log(`\nWritten: ${written || "nothing"}.`)
  if (conflict === undefined) return check()
  console.log(
    chalk.red(
      `Stopped at ${conflict.chapter.id}. Make the edit at line ${conflict.conflicts.map(({ mergedLine }) => mergedLine).join(", ")} there by hand, then: npm run carry -- ${conflict.chapter.id} --write`,
    ),
  )
  return 1
})
