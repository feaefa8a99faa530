/** A reader at work on one chapter: what is shown after each save and after each key. */
import fs from "node:fs"
import path from "node:path"
import { createTwoFilesPatch } from "diff"
import { showSideBySide } from "../cli/lab.ts"
import { showFile, type Terminal } from "../cli/terminal.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import { chapterFile } from "../course/source.ts"
import { firstDeviation, type Transcript } from "../lab/session.ts"
import type { Judge, Played } from "./judge.ts"
import { declarationsIn, type Look, leftIn, lookAt, placeInBook } from "./look.ts"
import { type Progress, writeFile } from "./progress.ts"
import { cutLine, firstDifference, fitPage, fold, HEIGHT, nameOf, type Page, pick, showLook } from "./show.ts"
import { beginChapter } from "./start.ts"

/** The widest that a page gets, in columns. */
const WIDEST = 100

/** A page for this terminal. */
export function pageFor(language: Page["language"], { columns, paint }: Terminal): Page {
  return { language, width: Math.min(columns ?? 80, WIDEST), paint }
}

/** Makes the reader's file of a chapter where there is none, and says what it was made from; nothing where there is one. */
export function openChapter(
  chapter: Chapter,
  blank: boolean,
  progress: Progress,
  page: Page,
  terminal: Terminal,
): string | undefined {
  const file = progress.fileOf(chapter)
  if (fs.existsSync(file)) return undefined
  const own = progress.ownBefore(chapter)
  const { text, origin } = beginChapter(chapter, own?.text, blank)
  writeFile(file, text)
  progress.keep(chapter, { best: 0, passed: false, fromOwn: origin === "own" })
  const shown = showFile(file, terminal)
  const before = CHAPTERS[CHAPTERS.indexOf(chapter) - 1]?.id ?? ""
  if (origin === "own")
    return pick(page, {
      en: `${shown} was made from your own ${before}.`,
      zh: `${shown} 从你自己的 ${before} 做出来了。`,
    })
  if (origin === "conflict")
    return pick(page, {
      en: `${shown} was made from the course's ${before}: yours has other lines where ${chapter.id} changes something.`,
      zh: `${shown} 从课程的 ${before} 做出来了：${chapter.id} 要改的地方，你写的和课程不一样。`,
    })
  return pick(page, { en: `${shown} was made.`, zh: `${shown} 做好了。` })
}

/** What a key does to the session as a whole. */
export type Outcome = "stay" | "next" | "quit"

export class Session {
  readonly chapter: Chapter
  readonly #judge: Judge
  readonly #progress: Progress
  readonly #page: Page
  readonly #terminal: Terminal
  #look: Look | undefined
  #hints = 0
  #wantsSolution = false
  #note: string | undefined

  constructor(chapter: Chapter, judge: Judge, progress: Progress, page: Page, terminal: Terminal) {
    this.chapter = chapter
    this.#judge = judge
    this.#progress = progress
    this.#page = page
    this.#terminal = terminal
  }

  /** Whether nothing is left to do. */
  get isDone(): boolean {
    return this.#look !== undefined && this.#look.open === this.#look.steps.length
  }

  /** Says something on the next page. */
  note(text: string | undefined): void {
    this.#note = text
  }

  /** Looks at the file, and gives the page to show. */
  async look(): Promise<string[]> {
    const before = this.#look?.open
    this.#look = await lookAt(this.chapter, this.#judge, this.#progress, this.#terminal)
    if (before !== this.#look.open) this.#hints = 0
    this.#wantsSolution = false
    const page = this.#showStep()
    this.#note = undefined
    return page
  }

  #say(en: string, zh: string): string {
    return pick(this.#page, { en, zh })
  }

  #tell(en: string, zh: string): string[] {
    return fold(this.#say(en, zh), this.#page)
  }

  get #file(): string {
    return this.#progress.fileOf(this.chapter)
  }

  /** The names that the step at hand is about; behind the last step all of the chapter's. */
  get #names(): string[] {
    const steps = this.#look?.steps ?? []
    const names = steps[this.#look?.open ?? 0]?.names ?? []
    return [...(names.length > 0 ? names : new Set(steps.flatMap((step) => step.names)))]
  }

  #showStep(): string[] {
    const look = this.#look
    if (look === undefined) return []
    const { language } = this.#page
    const names = look.steps[look.open]?.names ?? []
    // What is still to be written is what a reader looks for in the book.
    const left = leftIn(this.chapter, this.#file, names).map(({ name }) => name)
    const book = placeInBook(this.chapter, [...left, ...names], language)
    const place = { file: this.#file, shown: showFile(this.#file, this.#terminal), book }
    const lines = showLook(look, this.chapter, place, this.#page)
    const hints = this.#showHints()
    const note = this.#note === undefined ? [] : fold(this.#note, this.#page, "", 3)
    return this.#fit([...note, ...lines], hints)
  }

  #fit(lines: readonly string[], more: readonly string[] = []): string[] {
    const keys = this.#terminal.screen === undefined ? [] : ["", this.#page.paint.dim(this.#showKeys())]
    const foot = more.length === 0 ? keys : ["", ...more, ...keys]
    return fitPage(lines, foot)
  }

  #showKeys(): string {
    return this.isDone
      ? this.#say("n next chapter · d compare with the course · q quit", "n 下一章 · d 和课程对照 · q 退出")
      : this.#say(
          "h hint · e explain · d compare with the course · q quit; saving looks again",
          "h 提示 · e 解释 · d 和课程对照 · q 退出；保存就重新看",
        )
  }

  #showHints(): string[] {
    const step = this.#look?.steps[this.#look.open]
    if (step === undefined) return []
    const [left] = leftIn(this.chapter, this.#file, step.names)
    const names = left?.name ?? step.names.join(", ")
    const nextThing =
      left === undefined
        ? { en: "All of it is written; the mistake is in one of", zh: "都写了，问题出在其中一个：" }
        : left.isNew
          ? { en: "Write this one next:", zh: "接着写这一个：" }
          : { en: "Change this one next:", zh: "接着改这一个：" }
    const hints = [
      pick(this.#page, step.promise),
      names === ""
        ? this.#say(
            "It is in a function of an earlier chapter; the test's name says which promise.",
            "在前面某一章的函数里；测试的名字说了是哪条保证。",
          )
        : this.#say(`${nextThing.en} ${names}.`, `${nextThing.zh} ${names}。`),
      pick(this.#page, step.idea),
    ]
    const { cyan } = this.#page.paint
    return hints.slice(0, this.#hints).flatMap((hint, index) => fold(hint, this.#page, cyan(`${index + 1}. `), 3))
  }

  /** Does what a key asks for, and gives the page to show. */
  async press(key: string): Promise<{ outcome: Outcome; lines?: string[] }> {
    if (key === "q") return { outcome: "quit" }
    if (this.#look === undefined) return { outcome: "stay" }
    if (key === "d") return { outcome: "stay", lines: this.#compare() }
    this.#wantsSolution = false
    if (key === "n") {
      if (this.isDone) return { outcome: "next" }
      this.#note = this.#say(
        "This chapter has a step left; n goes on when it has none.",
        "这一章还有没做完的步骤，做完了按 n 继续。",
      )
      const lines = this.#showStep()
      this.#note = undefined
      return { outcome: "stay", lines }
    }
    if (key === "h") this.#hints = Math.min(3, this.#hints + 1)
    if (key === "e") return { outcome: "stay", lines: await this.#explain() }
    return { outcome: "stay", lines: this.#showStep() }
  }

  /** The failing test on the course's chapter and on the reader's, side by side. */
  async #explain(): Promise<string[]> {
    const failure = this.#look?.failure
    if (failure === undefined) {
      const trouble = this.#look?.trouble ?? { en: "Nothing fails.", zh: "没有失败的测试。" }
      return this.#fit(fold(pick(this.#page, trouble), this.#page))
    }
    const test = failure.path.join(" > ")
    const { chapter, root } = { chapter: this.chapter, root: this.#terminal.root }
    const job = { chapter: chapter.id, tests: [test], failures: 1, play: true }
    const course = await this.#judge.run(chapterFile(chapter, root), job)
    const [left, right] = [toTranscript(course.played.get(test) ?? []), toTranscript(failure.played)]
    const name = fold(nameOf(failure), this.#page, "", 3)
    if (left.lines.length === 0) {
      const { expected = "", actual = failure.message } = failure
      const [wanted, came] = firstDifference(expected, actual, this.#page.width - 16)
      return this.#fit([
        ...name,
        "",
        ...fold(
          this.#say(
            "This test calls your function itself: there is no course of events to compare, only what came of it.",
            "这个测试直接调用你的函数：没有过程可比，只看结果。",
          ),
          this.#page,
        ),
        ...(expected === "" ? [] : fold(wanted, this.#page, this.#say("the course  ", "课程  "), 6)),
        ...fold(came, this.#page, this.#say("yours       ", "你的  "), 6),
      ])
    }
    const deviation = firstDeviation(left, right)
    const heads = { left: this.#say("the course", "课程"), right: this.#say("yours", "你的") }
    const rows = showSideBySide(left, { deviation, transcript: right }, heads, this.#page).split("\n")
    // The first deviation is always to be seen.
    const room = HEIGHT - name.length - 5
    const from = Math.max(1, Math.min(deviation - room + 4, rows.length - room))
    const words =
      deviation < 0
        ? this.#tell(
            "The histories are alike; the difference is in what the test looks at besides.",
            "历史是一样的；差别在测试另外看的地方。",
          )
        : this.#tell(`▶ the first deviation, at line ${deviation}`, `▶ 第一处偏离，第 ${deviation} 行`)
    return this.#fit([...name, "", ...rows.slice(0, 1), ...rows.slice(from, from + room), ...words])
  }

  /** The reader's declarations beside the course's. Asks before it shows a solution. */
  #compare(): string[] {
    if (!this.isDone && !this.#wantsSolution) {
      this.#wantsSolution = true
      return this.#fit(
        this.#tell(
          "This shows how the course does this step. d again shows it; any other key goes back.",
          "这会显示课程是怎么写这一步的。再按一次 d 就显示，按别的键返回。",
        ),
      )
    }
    this.#wantsSolution = false
    const names = this.#names
    const course = declarationsIn(this.chapter, chapterFile(this.chapter, this.#terminal.root), names)
    const own = declarationsIn(this.chapter, this.#file, names)
    const lines = names.flatMap((name) => {
      const [mine = "", theirs = ""] = [own.get(name), course.get(name)]
      if (mine === theirs) return []
      const patch = createTwoFilesPatch("", "", `${mine}\n`, `${theirs}\n`, "", "", { context: 1 })
      return [
        `  ${name}`,
        ...patch
          .split("\n")
          .slice(4)
          .filter((line) => /^[-+ ]/.test(line)),
      ]
    })
    if (lines.length === 0) return this.#fit(this.#tell("Yours reads as the course's does.", "你写的和课程一样。"))
    const { paint } = this.#page
    const colored = lines.map((line) => {
      const shown = cutLine(line, this.#page)
      return line.startsWith("+") ? paint.green(shown) : line.startsWith("-") ? paint.red(shown) : shown
    })
    const room = HEIGHT - 5
    const more = colored.length - room
    const where = path.posix.join(this.chapter.folder, "code.ts")
    return this.#fit([
      this.#say("- yours, + the course's", "- 你的，+ 课程的"),
      ...colored.slice(0, room),
      ...(more > 0 ? [this.#say(`and ${more} lines more: see ${where}`, `还有 ${more} 行：见 ${where}`)] : []),
    ])
  }
}

function toTranscript(played: readonly Played[]): Transcript {
  const lines = played.flatMap((turn) => turn.lines).map((text) => ({ kind: "message" as const, text }))
  return { lines, messages: [] }
}
