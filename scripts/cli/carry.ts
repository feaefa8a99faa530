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
import type { ChalkInstance } from "chalk"
import { structuredPatch } from "diff"
import { type Conflict, mergeTexts } from "../chapter/merge.ts"
import { readSurface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile, chapterFiles, decodeText, readSource } from "../course/source.ts"
import { checkSteps, pairChapters, readChapters } from "../rules/judge.ts"
import { readOptions } from "./options.ts"
import { describeFinding } from "./report.ts"
import { type Command, count, showFile, type Terminal, visible } from "./terminal.ts"

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

/** The chapters at a commit, as bytes by file, and where that is. */
type Past = {
  root: string
  base: string
  texts: Map<string, Buffer>
}

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

/** Runs git. Throws an `InputError` with what git says. */
function git({ root, env }: Terminal, args: string[], what: string, input: string = ""): Buffer {
  try {
    return execFileSync("git", args, { cwd: root, env, input, stdio: "pipe", maxBuffer: 1 << 26 })
  } catch (error) {
    const [reason = ""] = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message).split("\n")
    throw new InputError(`${what}: ${reason}`)
  }
}

/** The text of a chapter at a commit. */
function committed({ folder }: Chapter, { base, texts }: Past): string {
  const file = `${folder}/code.ts`
  const bytes = texts.get(file)
  if (bytes === undefined) throw new InputError(`cannot read ${file} at ${base}: git has none there`)
  return decodeText(bytes, `${file} at ${base}`)
}

/** Reads the chapters at a commit with one process of git. A chapter that the commit does not have is left out. */
function readPast(terminal: Terminal, base: string, first: Chapter): Past {
  const what = `cannot read ${first.folder}/code.ts at ${base}`
  const revision = ["rev-parse", "--verify", "--end-of-options", `${base}^{commit}`]
  const commit = git(terminal, revision, `${what}, expected a commit`).toString().trim()
  const files = CHAPTERS.map(({ folder }) => `${folder}/code.ts`)
  const out = git(terminal, ["cat-file", "--batch"], what, files.map((file) => `${commit}:${file}\n`).join(""))
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
  return { root: terminal.root, base, texts }
}

/** Plans from chapter to chapter: the edit that arrived in one is what the next one gets. */
function makePlans(first: Chapter, past: Past, force: boolean): Plan[] {
  const now = (chapter: Chapter): string => readSource(chapterFile(chapter, past.root))
  const plans: Plan[] = []
  let previous = {
    base: split(first, committed(first, past)).core,
    now: split(first, now(first)).core,
  }
  for (const chapter of CHAPTERS.slice(CHAPTERS.indexOf(first) + 1)) {
    const before = now(chapter)
    const is = split(chapter, before)
    const was = committed(chapter, past)
    const original = was === before ? is.core : split(chapter, was).core
    const merge = mergeTexts(original, previous.base, previous.now)
    const carried = merge.text === is.core
    if (original !== is.core && !carried && !force) {
      throw new InputError(
        `${chapter.id} has uncommitted changes of its own: commit them first, or say --force to merge into them`,
      )
    }
    const result = carried || original === is.core ? merge : mergeTexts(is.core, previous.base, previous.now)
    if (result.type === "conflict") {
      const conflicts = result.conflicts.map((conflict) => ({
        ...conflict,
        line: conflict.line + is.offset,
        mergedLine: conflict.mergedLine + is.offset,
      }))
      return [...plans, { type: "conflict", chapter, conflicts, before, after: join({ ...is, core: result.text }) }]
    }
    const after = join({ ...is, core: result.text })
    plans.push(after === before ? { type: "unchanged", chapter } : { type: "changed", chapter, before, after })
    previous = { base: original, now: result.text }
  }
  return plans
}

/** What would change, or has: `written` says which, since lines move by it. */
function showPlan(plan: Plan, written: boolean, paint: ChalkInstance): string {
  if (plan.type === "unchanged") return `${plan.chapter.id}  nothing to do`
  if (plan.type === "changed") {
    const { places, lines } = showPlaces(plan, paint)
    return `${paint.bold(plan.chapter.id)}  ${places}\n${lines.join("\n")}`
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
  const clear = plan.before === plan.after ? undefined : showPlaces(plan, paint)
  return [
    `${paint.red.bold(plan.chapter.id)}  conflict: both sides changed these lines`,
    ...conflicts,
    ...(clear === undefined ? [] : [`  and ${clear.places} without a conflict`, ...clear.lines]),
  ].join("\n")
}

/** What would change in a chapter, place by place. */
function showPlaces(
  { before, after }: { before: string; after: string },
  paint: ChalkInstance,
): { places: string; lines: string[] } {
  const { hunks } = structuredPatch("", "", before, after, "", "", { context: 0 })
  const lines = hunks.flatMap((hunk) => [
    `  @@ line ${hunk.newStart}`,
    ...hunk.lines.map(visible).map((line) => `  ${line.startsWith("-") ? paint.red(line) : paint.green(line)}`),
  ])
  return { places: count(hunks.length, "place"), lines }
}

function write(plans: readonly Plan[], root: string): void {
  for (const plan of plans)
    if (plan.type !== "unchanged" && plan.after !== plan.before)
      fs.writeFileSync(chapterFile(plan.chapter, root), plan.after)
}

function check(terminal: Terminal): number {
  const { out, paint, root } = terminal
  const steps = pairChapters(readChapters(CHAPTERS, chapterFiles(root)))
  const findings = checkSteps(steps)
  for (const finding of findings) out(`\n${describeFinding(finding, steps, terminal, "en")}`)
  out(findings.length === 0 ? paint.green("The constitution holds.") : paint.red(`${findings.length} found.`))
  return findings.length === 0 ? 0 : 1
}

/** npm run carry */
export const command: Command = {
  usage: "usage: npm run carry -- sNN [--write] [--base REV] [--force]",
  run(args, terminal) {
    const { out, paint, root } = terminal
    const { values, positionals } = readOptions({
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
    const past = readPast(terminal, values.base, first)
    if (split(first, committed(first, past)).core === split(first, readSource(chapterFile(first, root))).core) {
      out(
        `The core of ${first.id} is as it was at ${values.base}: nothing to carry. Demos are not carried; if the edit is committed already, name the commit before it: --base HEAD~1.`,
      )
      return 0
    }
    const plans = makePlans(first, past, values.force)
    for (const plan of plans) out(showPlan(plan, values.write, paint))
    const conflict = plans.find((plan) => plan.type === "conflict")
    const changed = plans.filter((plan) => plan.type === "changed")
    if (!values.write) {
      out(
        `\n${count(changed.length, "chapter")} would change${conflict === undefined ? "" : `, up to the conflict in ${conflict.chapter.id}`}. Say --write to do it.`,
      )
      return conflict === undefined ? 0 : 1
    }
    write(plans, root)
    const partly = conflict !== undefined && conflict.after !== conflict.before ? [conflict] : []
    const written = [...changed, ...partly]
      .map(({ chapter }) => showFile(chapterFile(chapter, root), terminal))
      .join(", ")
    out(`\nWritten: ${written || "nothing"}.`)
    if (conflict === undefined) return check(terminal)
    out(
      paint.red(
        `Stopped at ${conflict.chapter.id}. Make the edit at line ${conflict.conflicts.map(({ mergedLine }) => mergedLine).join(", ")} there by hand, then: npm run carry -- ${conflict.chapter.id} --write`,
      ),
    )
    return 1
  },
}
