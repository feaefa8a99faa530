/**
 * The fault lab: break an invariant, see how far from the cause the damage shows, install the guard, and see it fail at the first deviation.
 *
 *   npm run lab                      lists the experiments
 *   npm run lab -- card              the six invariants on one card
 *   npm run lab -- i4                runs one
 *   npm run lab -- i4 --runs 20 --seed 3 --chapter s04
 *   npm run lab -- i4 --json         for programs; --save FOLDER keeps the message arrays
 *   npm run lab -- i4 --change       shows the edit alone, to make it by hand
 *   npm run lab -- i4 --guess        hides what happened until you have found the first line that goes wrong
 *   npm run lab -- i4 --as s04 my/code.ts [--before my/whole.ts]    plays the same on a file of yours
 *
 * Exit code 0: the experiment ran; 2: it could not.
 */
import fs from "node:fs"
import path from "node:path"
import type { ChalkInstance } from "chalk"
import { InputError } from "../course/input-error.ts"
import { chooseLanguage, sayIn, type Text } from "../course/language.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { chapterFile, readSource } from "../course/source.ts"
import { type CardRow, makeCard } from "../lab/card.ts"
import { type Change, type ChangedLine, changeOf } from "../lab/change.ts"
import { EXPERIMENTS, type Experiment } from "../lab/experiments.ts"
import { type OwnReport, runOnOwnFile } from "../lab/own.ts"
import { checkStart, type LabReport, runExperiment, type Trial } from "../lab/run.ts"
import type { Line, Transcript } from "../lab/session.ts"
import { readOptions } from "./options.ts"
import {
  type Command,
  count,
  MAX_WIDTH,
  readWholeNumber,
  showFile,
  type Terminal,
  toJson,
  visible,
} from "./terminal.ts"

/** How a report is printed: how wide, in which colors, in which language. */
export type Style = {
  width: number
  paint: ChalkInstance
  /** One of two texts. */
  say(en: string, zh: string): string
  pick(text: Text): string
}

/** The narrowest that a column of a transcript gets, in characters. */
const LEAST_COLUMN = 12

/** How the two columns of a comparison are called. */
export type Heads = { left: string; right: string }

/** Two transcripts side by side, with the first deviation marked. */
export function showSideBySide(
  baseline: Transcript,
  run: Pick<Trial, "deviation" | "transcript"> | undefined,
  heads: Heads,
  style: Pick<Style, "width" | "paint">,
): string {
  const { paint } = style
  const half = Math.max(LEAST_COLUMN, Math.floor((style.width - 8) / 2))
  const cell = (text: string): string => (text.length > half ? `${text.slice(0, half - 1)}…` : text.padEnd(half))
  const show = (line: Line | undefined): string =>
    cell(line === undefined ? "" : `${line.kind === "request" ? "→ " : "  "}${visible(line.text)}`)
  const length = Math.max(baseline.lines.length, run?.transcript.lines.length ?? 0)
  const rows = Array.from({ length }, (_, index) => {
    const left = `${String(index).padStart(3)} ${show(baseline.lines[index])}`
    if (run === undefined) return left.trimEnd()
    const mark = index === run.deviation ? "▶" : index === run.transcript.visible?.line ? "✗" : " "
    const differs = baseline.lines[index]?.text !== run.transcript.lines[index]?.text
    const right = show(run.transcript.lines[index])
    return `${left} ${mark}${differs ? paint.yellow(right) : right}`.trimEnd()
  })
  const head = run === undefined ? `    ${heads.left}` : `    ${cell(heads.left)}  ${cell(heads.right)}`
  return [paint.bold(head.trimEnd()), ...rows].join("\n")
}

/** The change that somebody made, with the guard that had to go first. */
function showChange({ guard, fault }: Change, experiment: Experiment, { paint, say, pick }: Style): string[] {
  const line = ({ sign, line, text }: ChangedLine): string =>
    (sign === "-" ? paint.red : paint.green)(`  ${String(line).padStart(4)} ${sign} ${text.trimEnd()}`)
  const around = experiment.around
  return [
    ...(guard.length === 0 ? [] : [say("First the guard was taken out:", "先拆掉守卫："), ...guard.map(line)]),
    ...(fault.length === 0 ? [] : [say("The change:", "改动："), ...fault.map(line)]),
    ...(around === undefined
      ? []
      : [
          say("The change, in the program around the chapter:", "改动（在用这一章的程序里）："),
          paint.red(`       - ${around.right}`),
          paint.green(`       + ${around.wrong}`),
        ]),
    say(`The excuse: "${pick(experiment.excuse)}"`, `当时的理由：“${pick(experiment.excuse)}”`),
  ]
}

/** Where the service's complaint comes out of the program, and how far that is from the change. */
function showComplaint({ complaint, change }: LabReport, experiment: Experiment, { say }: Style): string[] {
  const cause = change.fault.at(-1)?.line
  if (complaint === undefined || cause === undefined) return []
  const far = Math.abs(cause - complaint)
  return [
    say(
      `  In the code: it comes out of ${experiment.complaint}, line ${complaint}; the change is at line ${cause}, ${far} lines away.`,
      `  在代码里：报错出自 ${experiment.complaint}，第 ${complaint} 行；改动在第 ${cause} 行，隔了 ${far} 行。`,
    ),
  ]
}

function showRun(run: Trial, { say, pick }: Style): string {
  const { visible: seen } = run.transcript
  if (run.deviation < 0) return say("no deviation", "没有偏离")
  const where = say(`first deviation at line ${run.deviation}`, `第一处偏离在第 ${run.deviation} 行`)
  if (seen === undefined || run.distance === undefined)
    return say(`${where}, and nobody noticed`, `${where}，没有谁发现`)
  const { messages, requests } = run.distance
  const far = say(
    `${count(messages, "message")} and ${count(requests, "request")} later`,
    `隔了 ${messages} 条消息、${requests} 次请求`,
  )
  const place =
    seen.line === run.deviation
      ? say("visible right there", "当场就能看出来")
      : say(`visible at line ${seen.line}, ${far}`, `到第 ${seen.line} 行才能看出来，${far}`)
  return say(`${where}; ${place}: ${visible(pick(seen.what))}`, `${where}；${place}：${visible(pick(seen.what))}`)
}

/** How many runs went which way. */
function showCounts(runs: readonly Trial[], { say }: Style): string {
  const kinds = new Set(runs.map((run) => JSON.stringify(run.transcript.messages))).size
  const deviating = runs.filter((run) => run.deviation >= 0).length
  const noticed = runs.filter((run) => run.transcript.visible !== undefined).length
  return say(
    `${count(runs.length, "run")}: ${count(kinds, "different transcript")}, ${deviating} deviated, ${noticed} could be noticed`,
    `${runs.length} 次运行：${kinds} 份不同的记录，${deviating} 次有偏离，${noticed} 次能被发现`,
  )
}

/** The run to look at: the first that deviates. */
function chooseRun(runs: readonly Trial[]): Trial {
  return runs.find((run) => run.deviation >= 0) ?? (runs[0] as Trial)
}

/** Why the run that is shown is not the first. */
function showSkipped(runs: readonly Trial[], { say }: Style): string[] {
  const [first, shown] = [runs[0] as Trial, chooseRun(runs)]
  if (shown === first) return []
  const last = shown.seed - 1
  const skipped = first.seed === last ? `${last}` : `${first.seed}-${last}`
  return [
    say(
      `With seed ${skipped} the fault changed nothing, so seed ${shown.seed} is shown.`,
      `种子 ${skipped} 下故障什么也没改变，所以这里看的是种子 ${shown.seed}。`,
    ),
  ]
}

function showHead({ id, title, invariant }: Experiment, chapter: string, { paint, say, pick }: Style): string {
  return `${paint.bold(`${id}  ${pick(title)}`)}${say(`  (${invariant}, on ${chapter})`, `（${invariant}，${chapter}）`)}`
}

function showReport(experiment: Experiment, report: LabReport, style: Style): string {
  const { paint, say, pick } = style
  const { baseline, runs, guarded, chapter } = report
  const shown = chooseRun(runs)
  const heads = {
    left: say("as it is", "原样"),
    right: say(`with the fault, seed ${shown.seed}`, `带故障，种子 ${shown.seed}`),
  }
  const guard = pick(experiment.guard)
  return [
    showHead(experiment, chapter, style),
    "",
    ...showChange(report.change, experiment, style),
    "",
    ...showSkipped(runs, style),
    showSideBySide(baseline, shown, heads, style),
    "",
    `▶ ${showRun(shown, style)}`,
    ...showComplaint(report, experiment, style),
    showCounts(runs, style),
    "",
    `${paint.bold(say("With the guard", "装上守卫"))}${say(` (${guard}), seed ${guarded.seed}:`, `（${guard}），种子 ${guarded.seed}：`)}`,
    guarded.deviation < 0
      ? say("  the transcript is the baseline: the fault cannot happen", "  记录和基线一样：这个故障发生不了")
      : `  ${showRun(guarded, style)}`,
    "",
    `${paint.bold(say("Question", "问题"))}  ${pick(experiment.question)}`,
    `  ${paint.cyan(nextCommand(experiment, chapter))}`,
  ].join("\n")
}

function showOwn(experiment: Experiment, report: OwnReport, names: Heads, style: Style): string {
  const { baseline, runs, chapter } = report
  const shown = chooseRun(runs)
  const heads = {
    left: names.left,
    right: style.say(`${names.right}, seed ${shown.seed}`, `${names.right}，种子 ${shown.seed}`),
  }
  return [
    showHead(experiment, chapter, style),
    "",
    ...showSkipped(runs, style),
    showSideBySide(baseline, shown, heads, style),
    "",
    `▶ ${showRun(shown, style)}`,
    showCounts(runs, style),
  ].join("\n")
}

/** Shows the left column alone and asks which line will be the first to go wrong. Says how good the answer was. */
async function askForGuess(
  { baseline, runs }: { baseline: Transcript; runs: readonly Trial[] },
  left: string,
  { out, ask }: Terminal,
  style: Style,
): Promise<void> {
  const { say } = style
  const shown = chooseRun(runs)
  out(`${showSideBySide(baseline, undefined, { left, right: "" }, style)}\n`)
  const last = baseline.lines.length
  let tries = 0
  const answer = await ask(
    say(
      `Which line is the first that goes wrong? A number, "none", or nothing to see it: `,
      `第一处出错的是哪一行？填行号，没有就填 none，直接回车看答案：`,
    ),
    (given) => {
      const words = given.trim()
      if (words === "") return undefined
      const line = /^(none|无)$/i.test(words) ? -1 : /^\d+$/.test(words) ? Number(words) : Number.NaN
      if (!(line <= last))
        return say(`A number from 0 to ${last}, or "none": `, `请填 0 到 ${last} 的行号，或者 none：`)
      tries++
      if (line === shown.deviation) return undefined
      if (shown.deviation < 0) return say("No, none of these. Again: ", "不对，都不是。再来：")
      return line >= 0 && line < shown.deviation
        ? say("No, later. Again: ", "不对，还在后面。再来：")
        : say("No, earlier. Again: ", "不对，还在前面。再来：")
    },
  )
  const found = answer !== undefined && answer.trim() !== ""
  out(
    found
      ? say(`\nFound, after ${tries === 1 ? "1 try" : `${tries} tries`}.\n`, `\n找到了，猜了 ${tries} 次。\n`)
      : say("\nNot found; here it is.\n", "\n没找到，答案在这里。\n"),
  )
}

/** The command that answers the question, on the chapter at hand. */
function nextCommand({ next }: Experiment, chapter: string): string {
  return next.startsWith("npm run lab") && chapter !== CHAPTERS.at(-1)?.id ? `${next} --chapter ${chapter}` : next
}

function listExperiments({ paint, say, pick }: Style): string {
  const rows = EXPERIMENTS.map(
    ({ id, invariant, title, first }) =>
      `  ${id.padEnd(8)} ${invariant.padEnd(8)} ${say(`from ${first}`, `${first} 起`)}  ${pick(title)}`,
  )
  return [
    paint.bold(say("Experiments", "实验")),
    ...rows,
    "",
    say(
      "Run one: npm run lab -- i4. Run it on a file of yours: npm run lab -- i4 --as s04 my/code.ts",
      "跑一个：npm run lab -- i4。在自己的文件上跑：npm run lab -- i4 --as s04 my/code.ts",
    ),
  ].join("\n")
}

/** The card of the six invariants. */
function showCard(rows: readonly CardRow[], { paint, say, pick }: Style): string {
  const line = (en: string, zh: string, text: string): string => `    ${say(en.padEnd(9), zh)}  ${text}`
  return rows
    .map(({ id, sentence, symptom, guard, chapter, experiment, far }) =>
      [
        `${paint.bold(id)}  ${paint.bold(pick(sentence))}`,
        line("broken", "破了会", pick(symptom)),
        line(
          "shows",
          "离多远",
          far.messages + far.requests === 0
            ? say("at once, where somebody looks", "当场就能看出来，只要有人看")
            : say(
                `${count(far.messages, "message")} and ${count(far.requests, "request")} later`,
                `隔了 ${far.messages} 条消息、${far.requests} 次请求`,
              ),
        ),
        line("guard", "守卫是", pick(guard)),
        line("read", "读哪章", chapter.folder),
        line("try", "试一试", `npm run lab -- ${experiment.id}`),
      ].join("\n"),
    )
    .join("\n\n")
}

/** Makes the folder for transcripts. Throws an `InputError` where there can be none. */
function prepareFolder(folder: string, directory: string): void {
  const place = path.resolve(directory, folder)
  try {
    if (folder === "") throw new Error("it has no name")
    fs.mkdirSync(place, { recursive: true })
    fs.accessSync(place, fs.constants.W_OK)
  } catch (error) {
    throw new InputError(`--save expects a folder that can be written to, got "${folder}": ${(error as Error).message}`)
  }
}

/** Keeps the message arrays, whole, one file for each run. */
function save(folder: string, directory: string, arrays: Readonly<Record<string, Transcript>>): string[] {
  return Object.entries(arrays).map(([name, transcript]) => {
    const file = path.join(folder, `${name}.json`)
    fs.writeFileSync(path.resolve(directory, file), `${toJson(transcript.messages)}\n`)
    return file
  })
}

/** The arrays of a report by the names of their files. */
function arraysOf({ baseline, runs }: { baseline: Transcript; runs: readonly Trial[] }): Record<string, Transcript> {
  return { baseline, ...Object.fromEntries(runs.map((run) => [`seed-${run.seed}`, run.transcript])) }
}

/** So many transcripts are kept in memory; each run takes a few milliseconds. */
const MAX_RUNS = 10_000

/** npm run lab */
export const command: Command = {
  usage: `usage: npm run lab -- [EXPERIMENT] [--runs N] [--seed N] [--chapter sNN] [--change] [--guess] [--json] [--save FOLDER] [--width N] [--lang zh|en]
       npm run lab -- card [--lang zh|en]
       npm run lab -- EXPERIMENT --as sNN FILE [--before FILE] [the same]`,
  async run(args, terminal) {
    const { out, err, progress, columns, paint, directory, root, env } = terminal
    const { values, positionals } = readOptions({
      args,
      allowPositionals: true,
      options: {
        as: { type: "string" },
        before: { type: "string" },
        runs: { type: "string" },
        seed: { type: "string" },
        chapter: { type: "string" },
        guess: { type: "boolean", default: false },
        change: { type: "boolean", default: false },
        width: { type: "string" },
        save: { type: "string" },
        lang: { type: "string" },
        json: { type: "boolean", default: false },
      },
    })
    const language = chooseLanguage(values.lang, env)
    const style: Style = {
      width: readWholeNumber("width", values.width, { fallback: columns ?? 120, least: 40, most: MAX_WIDTH }),
      paint,
      say: sayIn(language),
      pick: (text) => text[language],
    }
    const [name, file, ...more] = positionals
    const expected = values.as === undefined ? "one experiment" : "one experiment and one file"
    if (more.length > 0 || (name !== undefined && (file === undefined) !== (values.as === undefined)))
      throw new InputError(`expected ${expected}, got "${positionals.join(" ")}"`)
    if (name === undefined) {
      const list = EXPERIMENTS.map(({ id, invariant, title, first }) => ({ id, invariant, title, first }))
      out(values.json ? toJson(list) : listExperiments(style))
      return 0
    }
    if (name === "card" && file === undefined) {
      const rows = await makeCard(root)
      out(
        values.json
          ? toJson(
              rows.map(({ experiment, chapter, ...row }) => ({
                ...row,
                chapter: chapter.id,
                experiment: experiment.id,
              })),
            )
          : showCard(rows, style),
      )
      return 0
    }
    const experiment = EXPERIMENTS.find(({ id }) => id === name.toLowerCase())
    if (experiment === undefined)
      throw new InputError(
        `unknown experiment "${name}": expected one of ${EXPERIMENTS.map(({ id }) => id).join(", ")}`,
      )
    if (values.as !== undefined && values.chapter !== undefined)
      throw new InputError("--as says which chapter the file is to be: leave --chapter away")
    if (values.before !== undefined && values.as === undefined)
      throw new InputError("--before is your file as it was before the cut: it goes with --as")
    const runs = readWholeNumber("runs", values.runs, { fallback: 5, least: 1, most: MAX_RUNS })
    const most = Number.MAX_SAFE_INTEGER - MAX_RUNS
    const seed = readWholeNumber("seed", values.seed, { fallback: 1, least: 0, most })
    if (values.save !== undefined) prepareFolder(values.save, directory)
    const keep = (arrays: Readonly<Record<string, Transcript>>): void => {
      if (values.save === undefined) return
      for (const saved of save(values.save, directory, arrays)) err(`saved ${visible(saved.split(path.sep).join("/"))}`)
    }

    if (values.as !== undefined && file !== undefined) {
      const chapter = findChapter(values.as)
      const resolve = (given: string): string => path.resolve(directory, given)
      const before = values.before && resolve(values.before)
      const own = { file: resolve(file), ...(before && { before }), seed, runs, root }
      const report = await runOnOwnFile(experiment, chapter, own)
      const left = before ? showFile(before, terminal) : style.say(`${chapter.id} as it is`, `${chapter.id} 原样`)
      if (values.guess) await askForGuess(report, left, terminal, style)
      const heads = { left, right: showFile(own.file, terminal) }
      out(values.json ? toJson(report) : showOwn(experiment, report, heads, style))
      keep(arraysOf(report))
      return 0
    }

    const chapter = values.chapter === undefined ? (CHAPTERS.at(-1) as Chapter) : findChapter(values.chapter)
    if (values.change) {
      checkStart(experiment, chapter)
      out(showChange(changeOf(experiment, readSource(chapterFile(chapter, root))), experiment, style).join("\n"))
      return 0
    }
    const tell = runs > 100 ? progress : undefined
    const show = (done: number): void => {
      if (done % 50 === 0) tell?.(`\r${done} of ${runs} runs`)
    }
    const report = await runExperiment(experiment, chapter, seed, runs, show, root)
    tell?.("\r\n")
    if (values.guess) await askForGuess(report, style.say("as it is", "原样"), terminal, style)
    out(values.json ? toJson(report) : showReport(experiment, report, style))
    keep({ ...arraysOf(report), [`guarded-${report.guarded.seed}`]: report.guarded.transcript })
    return 0
  },
}
