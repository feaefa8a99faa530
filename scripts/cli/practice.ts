/**
 * Write every chapter yourself, one failing step at a time.
 *
 *   npm run practice                 the twelve chapters, and how far you are
 *   npm run practice -- s04          makes my/s04/code.ts, looks at it whenever it is saved, and shows one step
 *   npm run practice -- s04 --blank  the file begins as the chapter before, with nothing in it of s04
 *
 * Without a terminal it looks once. Exit code 0: the chapter is written; 1: there is a step left; 2: it could not look.
 */
import fs from "node:fs"
import path from "node:path"
import { watch } from "chokidar"
import stringWidth from "string-width"
import { InputError } from "../course/input-error.ts"
import { chooseLanguage } from "../course/language.ts"
import { CHAPTERS, type Chapter, findChapter } from "../course/manifest.ts"
import { Judge } from "../practice/judge.ts"
import { Progress } from "../practice/progress.ts"
import { openChapter, pageFor, Session } from "../practice/session.ts"
import { type Page, pick, showBar } from "../practice/show.ts"
import { stepsOf } from "../practice/steps.ts"
import { readOptions } from "./options.ts"
import { type Command, type Screen, showFile, type Terminal } from "./terminal.ts"

/** An editor may save in several moves; so long it is left alone, in milliseconds. */
const SETTLE = 30

/** The twelve chapters with the reader's progress, and what to do next. */
function showOverview(progress: Progress, page: Page, given?: string): string {
  const { paint } = page
  const say = (en: string, zh: string): string => pick(page, { en, zh })
  const rows = CHAPTERS.map((chapter) => {
    const { best, passed } = progress.markOf(chapter)
    const all = stepsOf(chapter).length
    const done = passed ? all : Math.min(best, all)
    const title = say(chapter.title, chapter.titleZh)
    const isHere = fs.existsSync(progress.fileOf(chapter))
    const state = passed
      ? say("written", "写好了")
      : isHere
        ? say(`step ${done + 1} of ${all}`, `第 ${done + 1} 步，共 ${all} 步`)
        : ""
    const name = `${chapter.id} ${title}${" ".repeat(Math.max(1, 12 - stringWidth(title)))}`
    return `${name}${showBar(done, all, paint)}${" ".repeat(13 - all)}${state}`.trimEnd()
  })
  const isOpen = (chapter: Chapter): boolean => !progress.markOf(chapter).passed
  const last = CHAPTERS.findLastIndex((chapter) => fs.existsSync(progress.fileOf(chapter)))
  const next = CHAPTERS.slice(Math.max(0, last)).find(isOpen) ?? CHAPTERS.find(isOpen)
  const lang = given === undefined ? "" : ` --lang ${given}`
  const advice =
    next === undefined
      ? say("All twelve are written.", "十二章都写好了。")
      : say(`Next: npm run practice -- ${next.id}${lang}`, `接下来：npm run practice -- ${next.id}${lang}`)
  return [...rows, "", paint.bold(advice)].join("\n")
}

/** Looks at a chapter on every save, and does what keys ask for, until the reader leaves. */
async function work(
  session: Session,
  judge: Judge,
  progress: Progress,
  screen: Screen,
  terminal: Terminal,
): Promise<"next" | "quit"> {
  const file = progress.fileOf(session.chapter)
  const show = (lines: readonly string[]): void => {
    screen.clear()
    terminal.out(lines.join("\n"))
  }
  // The folder above is watched: editors save by renaming, and the file or its folder may go and come back.
  const watcher = watch(progress.folder, { ignoreInitial: true, depth: 1 })
  return new Promise((resolve, reject) => {
    let due = Promise.resolve()
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    // A page about what the file was before the last save is of no use.
    let version = 0
    const leave = (how: "next" | "quit"): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      stopKeys()
      judge.cancel()
      void watcher.close().then(() => resolve(how), reject)
    }
    const then = (action: () => Promise<void>): void => {
      due = due.then(() => (isOver ? undefined : action())).catch(reject)
    }
    const look = (): void =>
      then(async () => {
        const seen = version
        const lines = await session.look()
        if (!isOver && seen === version) show(lines)
      })
    watcher.on("all", (_event, changed) => {
      if (path.resolve(changed) !== file && path.resolve(changed) !== path.dirname(file)) return
      clearTimeout(timer)
      version++
      // A run on what the file was is of no use any more; most of all one that does not end.
      judge.cancel()
      timer = setTimeout(look, SETTLE)
    })
    watcher.on("error", (error) =>
      reject(new InputError(`${showFile(file, terminal)} cannot be watched: ${String(error)}`)),
    )
    const stopKeys = screen.listen((key) => {
      if (key === "q") return leave("quit")
      then(async () => {
        const seen = version
        const { outcome, lines } = await session.press(key)
        if (outcome !== "stay") leave(outcome)
        else if (lines !== undefined && seen === version) show(lines)
      })
    })
    terminal.closed.addEventListener("abort", () => leave("quit"))
    // What is saved from here on is seen.
    watcher.once("ready", look)
  })
}

async function practice(first: Chapter, blank: boolean, page: Page, terminal: Terminal): Promise<number> {
  const progress = new Progress(terminal.root)
  const judge = new Judge()
  try {
    for (
      let chapter: Chapter | undefined = first;
      chapter !== undefined;
      chapter = CHAPTERS[CHAPTERS.indexOf(chapter) + 1]
    ) {
      const session = new Session(chapter, judge, progress, page, terminal)
      session.note(openChapter(chapter, blank, progress, page, terminal))
      const { screen } = terminal
      if (screen === undefined) {
        terminal.out((await session.look()).join("\n"))
        return session.isDone ? 0 : 1
      }
      if ((await work(session, judge, progress, screen, terminal)) === "quit") return 0
    }
    terminal.out(showOverview(progress, page))
    return 0
  } finally {
    await judge.close()
  }
}

/** npm run practice */
export const command: Command = {
  usage: "usage: npm run practice -- [sNN] [--blank] [--lang zh|en]",
  run(args, terminal) {
    const { values, positionals } = readOptions({
      args,
      allowPositionals: true,
      options: { blank: { type: "boolean", default: false }, lang: { type: "string" } },
    })
    const page = pageFor(chooseLanguage(values.lang, terminal.env), terminal)
    const [name, ...more] = positionals
    if (more.length > 0) throw new InputError(`expected one chapter, got "${positionals.join(" ")}"`)
    if (name === undefined) {
      if (values.blank) throw new InputError("--blank says how a file begins: name its chapter")
      terminal.out(showOverview(new Progress(terminal.root), page, values.lang))
      return 0
    }
    const chapter = findChapter(name)
    if (values.blank && chapter === CHAPTERS[0])
      throw new InputError(`there is no chapter before ${chapter.id}: leave --blank away`)
    return practice(chapter, values.blank, page, terminal)
  },
}
