/**
 * Holds the chapters against the constitution.
 *
 *   npm run check                          all chapters
 *   npm run check -- --upto s06            the chapters up to s06
 *   npm run check -- --only s04            s04 against s03
 *   npm run check -- --as s04 my/code.ts   your file in the place of s04; says where it first deviates
 *   npm run check -- --lang zh             in Chinese; without it, in the language of the environment
 *
 * Exit code 0: everything holds; 1: something was found; 2: the check could not be made.
 */
import fs from "node:fs"
import path from "node:path"
import { readSurface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { chooseLanguage, type Language, sayIn } from "../course/language.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile, chapterFiles } from "../course/source.ts"
import { RULES } from "../rules/index.ts"
import { assertWhole, checkSteps, pairChapters, readChapters } from "../rules/judge.ts"
import type { Finding, Step } from "../rules/rule.ts"
import { readOptions } from "./options.ts"
import { findTypeFaults, forReader, readOwn, showLacks, showTypeFault } from "./own-file.ts"
import { describeFinding, githubAnnotation, jsonReport, tableReport } from "./report.ts"
import { type Command, count, describeError, showFile, type Terminal, toJson, visible } from "./terminal.ts"

type Selection = {
  steps: () => Step[]
  /** The file that stands in for a chapter, with `--as`. */
  file?: string
}

/** How the findings are to be shown. */
type Form = { json: boolean; github: boolean; language: Language }

/** One chapter, or the file that stands in for it, against the chapter before it. */
function singleStep(chapter: Chapter, root: string, file?: string): Step[] {
  const previous = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]
  const read = (one: Chapter, place: string = chapterFile(one, root)) => readSurface(one, place)
  const old = previous && read(previous)
  if (file === undefined) return pairChapters([read(chapter)], old)
  return pairChapters([readOwn(chapter, file)], old).map((step) => ({ ...step, course: read(chapter) }))
}

function select(
  values: { upto?: string; only?: string; as?: string },
  positionals: string[],
  { root, directory }: Terminal,
): Selection {
  assertWhole(CHAPTERS)
  const given = [values.upto, values.only, values.as].filter((value) => value !== undefined)
  if (given.length > 1) throw new InputError("--upto, --only and --as exclude each other")
  if (values.as !== undefined) {
    const chapter = findChapter(values.as)
    const [name, ...more] = positionals
    if (name === undefined || more.length > 0)
      throw new InputError(`--as ${chapter.id} expects one file, got ${positionals.length}`)
    const file = path.resolve(directory, name)
    return { file, steps: () => singleStep(chapter, root, file) }
  }
  if (positionals.length > 0)
    throw new InputError(
      `unexpected "${positionals.join(" ")}": to check a file of your own, say which chapter it is with --as`,
    )
  if (values.only !== undefined) {
    const chapter = findChapter(values.only)
    return { steps: () => singleStep(chapter, root) }
  }
  const last = values.upto === undefined ? CHAPTERS.length : CHAPTERS.indexOf(findChapter(values.upto)) + 1
  return { steps: () => pairChapters(readChapters(CHAPTERS.slice(0, last), chapterFiles(root))) }
}

/** What a reader's file is like, in plain words: it holds, it is not finished, or this is where it first deviates. */
function judgeFile(
  findings: readonly Finding[],
  faults: number,
  file: string,
  chapter: string,
  language: Language,
  terminal: Terminal,
): string {
  const { paint } = terminal
  const say = sayIn(language)
  const first = findings.find(({ lacks }) => lacks === undefined)
  if (first !== undefined) {
    const line = first.next?.line
    const [where, ort] = line === undefined ? ["", ""] : [` at line ${line}`, `在第 ${line} 行`]
    const message = visible(first.message[language])
    return paint.bold(
      say(`Your ${chapter} first deviates${where}: ${message}.`, `你的 ${chapter} ${ort}第一次偏离：${message}。`),
    )
  }
  if (faults > 0)
    return paint.bold(
      say(`Your ${chapter} has ${count(faults, "type error")}.`, `你的 ${chapter} 有 ${faults} 处类型错误。`),
    )
  if (findings.length > 0)
    return paint.bold(
      say(`Your ${chapter} is not finished; what is there holds.`, `你的 ${chapter} 还没写完；已经写的都对。`),
    )
  const name = showFile(file, terminal)
  return paint.green(
    say(
      `${name} holds as ${chapter}: it keeps all that was there and adds what ${chapter} adds.`,
      `${name} 当作 ${chapter} 成立：原有的都在，${chapter} 该加的都加了。`,
    ),
  )
}

async function runOnce({ steps: readSteps, file }: Selection, form: Form, terminal: Terminal): Promise<number> {
  const { json, github, language } = form
  const say = sayIn(language)
  const { out, paint } = terminal
  const steps = readSteps()
  if (file !== undefined) return judgeOwnFile(steps, file, form, terminal)
  const findings = checkSteps(steps)
  const exitCode = findings.length === 0 ? 0 : 1
  if (json) {
    out(toJson(jsonReport(steps, findings, terminal)))
    return exitCode
  }
  out(`${tableReport(steps, findings, terminal, language)}\n`)
  for (const finding of findings) out(`${describeFinding(finding, steps, terminal, language)}\n`)
  if (github) for (const finding of findings) out(githubAnnotation(finding, terminal))
  const what = say(
    `${count(steps.length, "chapter")}, ${RULES.length} rules`,
    `${steps.length} 章，${RULES.length} 条规则`,
  )
  const [well, bad] = [
    say(`The constitution holds: ${what}, nothing found.`, `宪法成立：${what}，没有发现问题。`),
    say(`${what}: ${findings.length} found.`, `${what}：发现 ${findings.length} 处。`),
  ]
  out(findings.length === 0 ? paint.green(well) : paint.red(bad))
  return exitCode
}

/** A reader's file: what it does wrong, the errors of its types, and, in one line, what is not written yet. */
async function judgeOwnFile(steps: Step[], file: string, form: Form, terminal: Terminal): Promise<number> {
  const { json, github, language } = form
  const { out, paint } = terminal
  const say = sayIn(language)
  const findings = forReader(checkSteps(steps))
  const faults = await findTypeFaults(file, terminal)
  const exitCode = findings.length + faults.length === 0 ? 0 : 1
  if (json) {
    out(toJson({ ...jsonReport(steps, findings, terminal), types: faults }))
    return exitCode
  }
  const chapter = steps[0]?.chapter.id ?? ""
  const mistakes = findings.filter(({ lacks }) => lacks === undefined)
  out(`${tableReport(steps, findings, terminal, language)}\n`)
  out(`${judgeFile(findings, faults.length, file, chapter, language, terminal)}\n`)
  for (const finding of mistakes) out(`${describeFinding(finding, steps, terminal, language)}\n`)
  if (github) for (const finding of mistakes) out(githubAnnotation(finding, terminal))
  for (const fault of faults) out(`${showTypeFault(fault, file, terminal)}\n`)
  const lacks = showLacks(findings, chapter, language)
  if (lacks !== "") out(`${visible(lacks)}\n`)
  const what = say(
    `${count(steps.length, "chapter")}, ${RULES.length} rules`,
    `${steps.length} 章，${RULES.length} 条规则`,
  )
  const types =
    faults.length === 0 ? "" : say(`, ${count(faults.length, "type error")}`, `，${faults.length} 处类型错误`)
  const [well, bad] = [
    say(`The constitution holds: ${what}, nothing found.`, `宪法成立：${what}，没有发现问题。`),
    say(`${what}: ${findings.length} found${types}.`, `${what}：发现 ${findings.length} 处${types}。`),
  ]
  out(exitCode === 0 ? paint.green(well) : paint.red(bad))
  return exitCode
}

/** Checks again whenever a file that was read changes, until nobody reads along. With `--json`, standard output has reports only. */
async function watch(selection: Selection, form: Form, terminal: Terminal): Promise<number> {
  const { closed, err, out, paint, root } = terminal
  const again = async (): Promise<void> => {
    try {
      await runOnce(selection, form, terminal)
    } catch (error) {
      err(`error: ${visible(describeError(error as Error, terminal))}`)
    }
    const print = form.json ? err : out
    print(paint.dim(sayIn(form.language)("Watching; Ctrl+C ends.", "看着文件，按 Ctrl+C 结束。")))
  }
  const files = [...Object.values(chapterFiles(root)), ...(selection.file === undefined ? [] : [selection.file])]
  const folders = [...new Set(files.map((file) => path.dirname(file)))].filter((folder) => fs.existsSync(folder))
  const { watch: watchFolders } = await import("chokidar")
  const watcher = watchFolders(folders, { ignoreInitial: true, depth: 0 })
  let timer: NodeJS.Timeout | undefined
  watcher.on("all", () => {
    clearTimeout(timer)
    timer = setTimeout(() => void again(), 50)
  })
  await new Promise<void>((resolve, reject) => {
    watcher.once("ready", resolve)
    watcher.on("error", (error) => reject(new InputError(`the files cannot be watched: ${String(error)}`)))
  })
  await again()
  return new Promise((resolve, reject) =>
    closed.addEventListener("abort", () => {
      clearTimeout(timer)
      watcher.close().then(() => resolve(0), reject)
    }),
  )
}

/** npm run check */
export const command: Command = {
  usage:
    "usage: npm run check -- [--upto sNN] [--only sNN] [--as sNN FILE] [--json] [--github] [--watch] [--lang zh|en]",
  run(args, terminal) {
    const { values, positionals } = readOptions({
      args,
      allowPositionals: true,
      options: {
        upto: { type: "string" },
        only: { type: "string" },
        as: { type: "string" },
        json: { type: "boolean", default: false },
        github: { type: "boolean", default: terminal.env.GITHUB_ACTIONS === "true" },
        watch: { type: "boolean", default: false },
        lang: { type: "string" },
      },
    })
    const selection = select(values, positionals, terminal)
    const form = { ...values, language: chooseLanguage(values.lang, terminal.env) }
    return values.watch ? watch(selection, form, terminal) : runOnce(selection, form, terminal)
  },
}
