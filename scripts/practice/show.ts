/** What practice shows: never more than a screenful, whatever a reader's program does. */
import path from "node:path"
import type { ChalkInstance } from "chalk"
import stringWidth from "string-width"
import wrapAnsi from "wrap-ansi"
import { visible } from "../cli/terminal.ts"
import type { Language, Text } from "../course/language.ts"
import type { Chapter } from "../course/manifest.ts"
import { type Failure, lineIn } from "./judge.ts"
import type { Look } from "./look.ts"

/** How a page is made: for whom, how wide, in which colors. */
export type Page = {
  language: Language
  width: number
  paint: ChalkInstance
}

/** The lines of a page. */
export const HEIGHT = 23

/** So much of what was expected, and of what came, is shown, in lines. */
const MOST_LINES = 4

/** One of two texts. */
export function pick({ language }: Pick<Page, "language">, text: Text): string {
  return text[language]
}

/** A text as lines that fit, set in below its first words, with nothing in it that drives a terminal. At most `most` lines; the last says so where more would come. */
export function fold(text: string, { width }: Pick<Page, "width">, lead = "", most: number = MOST_LINES): string[] {
  const indent = " ".repeat(stringWidth(lead))
  const lines = visible(text)
    .split("\n")
    .flatMap((line) =>
      wrapAnsi(line, Math.max(20, width - indent.length), { hard: true, trim: !/^\s/.test(line) }).split("\n"),
    )
  const shown = lines.length > most ? [...lines.slice(0, most - 1), "…"] : lines
  return shown.map((line, index) => `${index === 0 ? lead : indent}${line}`.trimEnd())
}

/** How far a chapter is, as boxes. */
export function showBar(done: number, all: number, paint: ChalkInstance): string {
  return `${paint.green("■".repeat(done))}${"□".repeat(Math.max(0, all - done))}`
}

/** The names of a test without its part, for people. */
export function nameOf({ path: names }: Pick<Failure, "path">): string {
  return names.slice(1).join(": ")
}

/** A line that fits, with a mark where it was cut. */
export function cutLine(text: string, { width }: Pick<Page, "width">): string {
  const shown = visible(text)
  if (stringWidth(shown) <= width) return shown
  const [first = ""] = wrapAnsi(shown, width - 1, { hard: true, wordWrap: false, trim: false }).split("\n")
  return `${first}…`
}

/** Braces of what stands on one line already, so that what is around it can follow. */
const FOLDED = { "{": "\uE000", "}": "\uE001", "[": "\uE002", "]": "\uE003" } as const

/** A value that stands on many lines, with each part of it on one line that fits there. */
export function compact(text: string, width: number): string {
  const part = /([{[])\n((?:[^\n{}[\]]*\n)+?) *([}\]])/g
  const empty = text.replaceAll("{}", `${FOLDED["{"]}${FOLDED["}"]}`).replaceAll("[]", `${FOLDED["["]}${FOLDED["]"]}`)
  let [before, now] = ["", empty.replaceAll(/^( *)"(\w+)": /gm, "$1$2: ")]
  while (before !== now) {
    before = now
    now = now.replaceAll(part, (whole, open: keyof typeof FOLDED, body: string, close: keyof typeof FOLDED) => {
      const inner = body
        .trim()
        .replaceAll(/,?\n */g, ", ")
        .replace(/,$/, "")
      return inner.length + 4 > width ? whole : `${FOLDED[open]} ${inner} ${FOLDED[close]}`
    })
  }
  const back = new Map(Object.entries(FOLDED).map(([brace, folded]) => [folded as string, brace]))
  return now.replaceAll(/[\uE000-\uE003]/g, (folded) => back.get(folded) ?? "")
}

/** The lines in which two values differ first, with the line before as a bearing. */
export function firstDifference(expected: string, actual: string, width: number): [string, string] {
  const [left, right] = [expected, actual].map((text) => compact(text, width).split("\n")) as [string[], string[]]
  let index = 0
  while (index < left.length && index < right.length && left[index] === right[index]) index++
  const cut = (lines: string[]): string => lines.slice(Math.max(0, index - 1), index + MOST_LINES - 1).join("\n")
  return [cut(left), cut(right)]
}

/** A value as a test describes it, without what only its library knows. */
export function withoutInsides(text: string): string {
  return text
    .replaceAll(/toSatisfy<\[Function \w*\], "(.*?)">/g, "<$1>")
    .replaceAll(/\b(?:String|Object|Array)(?:Matching|Containing)\b ?/g, "")
}

/** A failing test in words: what went in, what should have come, what came. */
export function showFailure(failure: Failure, file: string, page: Page): string[] {
  const { paint } = page
  const say = (en: string, zh: string): string => pick(page, { en, zh })
  const line = lineIn(failure.stack, file)
  const place =
    line === undefined ? "" : say(` (${path.basename(file)}, line ${line})`, `（${path.basename(file)} 第 ${line} 行）`)
  const lead = (en: string, zh: string): string => {
    const word = say(en, zh)
    return `  ${word}${" ".repeat(Math.max(1, 10 - stringWidth(word)))}`
  }
  const [message = ""] = failure.message.split("\n")
  const turn = failure.played.at(-1)
  const fed =
    turn === undefined
      ? []
      : fold(
          [
            say(`the person: ${JSON.stringify(turn.prompt)}`, `人：${JSON.stringify(turn.prompt)}`),
            ...turn.replies.map((reply) => say(`the model: ${reply.en}`, `模型：${reply.zh}`)),
          ].join("\n"),
          page,
          lead("fed in", "输入"),
        )
  // Where nothing was expected, the message says more than "undefined".
  if (failure.expected === undefined || failure.actual === undefined || failure.expected === "undefined")
    return [
      ...fold(nameOf(failure), page, `${paint.red("✗")} `, 3),
      ...fed,
      ...fold(`${message}${place}`, page, lead("came", "得到")),
    ]
  const isNot = /\bnot to (match|contain|include|be|equal)\b/.test(message)
  const [wanted, word] = /instead of rejecting|expected .*to throw/.test(message)
    ? [say("an exception", "抛出异常"), lead("expected", "应该")]
    : [withoutInsides(failure.expected), isNot ? lead("not wanted", "不该有") : lead("expected", "应该")]
  const [expected, actual] = firstDifference(wanted, failure.actual, page.width - 14)
  return [
    ...fold(nameOf(failure), page, `${paint.red("✗")} `, 3),
    ...fed,
    ...fold(expected, page, word),
    ...fold(actual, page, lead("came", "得到")),
  ]
}

/** The page of a chapter: one step, and nothing that comes after it. */
export function showLook(
  look: Look,
  chapter: Chapter,
  place: { file: string; shown: string; book: { file: string; line: number; heading: string } },
  page: Page,
): string[] {
  const { paint } = page
  const say = (en: string, zh: string): string => pick(page, { en, zh })
  const { open, steps } = look
  const all = steps.length
  const title = paint.bold(`${chapter.id} ${say(chapter.title, chapter.titleZh)}`)
  const step = steps[open]
  if (step === undefined)
    return [
      `${title}  ${showBar(all, all, paint)}  ${place.shown}`,
      "",
      ...fold(
        say(
          "The chapter is written: every test passes, the rules hold, the types are right.",
          "这一章写好了：测试全部通过，规则成立，类型正确。",
        ),
        page,
        `${paint.green("✓")} `,
      ),
    ]
  const { book } = place
  const names = step.names.join(", ")
  const others = look.failed - 1
  return [
    `${title}  ${showBar(open, all, paint)}  ${say(`step ${open + 1} of ${all}`, `第 ${open + 1} 步，共 ${all} 步`)}  ${paint.dim(place.shown)}`,
    "",
    ...fold(pick(page, step.task), page, "", 3).map((line) => paint.bold(line)),
    ...(names === "" ? [] : fold(names, page, say("Write: ", "要写："), 3)),
    ...(names === ""
      ? []
      : fold(
          `${book.file}:${book.line} ${say(`"${book.heading}"`, `“${book.heading}”`)}`,
          page,
          say("The book: ", "书："),
        )),
    ...(look.lost === undefined
      ? []
      : fold(
          say(
            `Step ${look.lost + 1} had passed before and does so no more.`,
            `第 ${look.lost + 1} 步以前通过了，现在不通过。`,
          ),
          page,
          `${paint.yellow("!")} `,
        )),
    "",
    ...(look.trouble === undefined ? [] : fold(pick(page, look.trouble), page, `${paint.red("✗")} `)),
    ...(look.failure === undefined || look.trouble !== undefined ? [] : showFailure(look.failure, place.file, page)),
    ...(others > 0 && look.trouble === undefined
      ? [paint.dim(say(`  and ${others} more of this step`, `  这一步还有 ${others} 个没通过`))]
      : []),
  ]
}

/** What a page has room for: the head as it is, and of the rest what fits. */
export function fitPage(lines: readonly string[], foot: readonly string[]): string[] {
  const room = HEIGHT - foot.length
  const body = lines.length > room ? [...lines.slice(0, room - 1), "  …"] : lines
  return [...body, ...foot]
}
