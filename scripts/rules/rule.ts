/** What a rule is: a row with a sentence of the constitution, a way to find what breaks it, and a way to fix that. */

import type { Change, Spot } from "../chapter/compare.ts"
import type { Declaration, Surface } from "../chapter/surface.ts"
import { same, type Text } from "../course/language.ts"
import type { Chapter, Upgrade } from "../course/manifest.ts"
import ts from "../course/typescript.js"

/** A part of the constitution that can be checked on the text of the chapters. */
export type Article = "R1" | "R2" | "R3" | "R7" | "R8" | "U2" | "I1"

/** Something that breaks a rule. */
export type Finding = {
  /** Id of the rule. */
  rule: string
  /** Id of the chapter in which it was found. */
  chapter: string
  /** What it is about: `name` or `name.member`. */
  symbol: string
  message: Text
  old?: Spot
  next?: Spot
  fix: Text
  /** What is simply not written yet, in words for whoever is writing the chapter. */
  lacks?: Text
  /** What it is in a file of a reader's own, who knows of no manifest. */
  forReader?: Text
}

/** What a rule looks at: a chapter, the one before it where there is one, and what changed between them. */
export type Step = {
  chapter: Chapter
  old: Surface | undefined
  next: Surface
  changes: readonly Change[]
  /** The chapter as the course has it, where a reader's own file stands in its place. */
  course?: Surface | undefined
}

/** A violation as a rule finds it; what all violations of a rule share is added later. */
export type Violation = Pick<Finding, "symbol" | "message" | "lacks" | "forReader"> & {
  old?: Spot | undefined
  next?: Spot | undefined
  /** How to mend it, where the rule's own way would say too little. */
  fix?: Text
}

/** A row of the constitution. */
export type Rule = {
  id: string
  article: Article
  sentence: Text
  fix: Text
  /** The same for a file of a reader's own, where `fix` would speak of the course's manifest. */
  fixForReader?: Text
  /** What may allow it after all: an upgrade under U1, a weld, or nothing. */
  lifted: "U1" | "weld" | "nothing"
  /** Whether it looks at one chapter alone, also at the one before, or at a reader's file and the chapter that it stands for. */
  scope: "chapter" | "pair" | "course"
  /** What it compares: the old text with the new one, or the manifest with what has happened. */
  about?: "text" | "manifest"
  /** The rules whose findings it explains, so that they are left out: they are what this violation looks like from another side. */
  explains?: {
    /** About the same name. */
    symbol?: readonly string[]
    /** About the same name, or about the type or class whose member this finding is about. */
    member?: readonly string[]
    /** About a declaration in whose lines this finding stands. */
    lines?: readonly string[]
  }
  find(step: Step): Violation[]
}

/** What finds that the text of a declaration is another one, or does not belong there. */
export const TEXT: readonly string[] = [
  "R8-REWRITTEN",
  "R8-REFORMATTED",
  "R8-PLACE",
  "R8-UNLISTED",
  "R2-MEMBER-CHANGED",
  "R1-FIELD-CHANGED",
]

/** What finds that something was gained that should not be. */
export const GAINS: readonly string[] = ["R1-GAIN", "R2-GAIN"]

/** The upgrade that a chapter declares for a changed or vanished member, when it says exactly what happened. */
export function declaredUpgrade({ chapter }: Step, change: Change): Upgrade | undefined {
  const wasThis = ({ from }: Upgrade): boolean => change.from === from || change.from?.startsWith(`${from} {`) === true
  return chapter.upgrades.find((upgrade) => upgrade.name === change.symbol && wasThis(upgrade))
}

/** The three upgrades, as the constitution names them: chapter, old member, what stands there afterwards. */
export const U1: readonly { chapter: string; name: string; to: RegExp }[] = [
  { chapter: "s03", name: "Provider.complete", to: /^stream\(/ },
  { chapter: "s07", name: "AgentState.messages", to: /^messages: SessionTree$/ },
  { chapter: "s11", name: "ResourceLoader.load", to: /^load\(trust\?: ProjectTrust\)/ },
]

/** Whether a change is one of the three upgrades, in the chapter where it belongs. */
export function isU1({ chapter }: Step, change: Change): boolean {
  return U1.some((row) => row.chapter === chapter.id && row.name === change.symbol)
}

/** Whether a chapter declares a weld of this name. */
export function declaresWeld({ chapter }: Step, name: string): boolean {
  return chapter.welds.some((weld) => weld.name === name)
}

/** The changes of one kind, as violations; those that U1 names are left to R3. */
export function violationsOf(step: Step, kind: Change["kind"], say: (change: Change) => Text): Violation[] {
  return step.changes
    .filter((change) => change.kind === kind && !isU1(step, change))
    .map((change) => {
      const isText = TEXTS.includes(kind) && change.exact !== true
      const spots = isText ? firstDifference(step, change) : { old: change.old, next: change.next }
      const hidden = nameInvisible(step, change, spots)
      const message = onOneLine(say(change))
      return {
        symbol: change.symbol,
        message: { en: `${message.en}${hidden.en}`, zh: `${message.zh}${hidden.zh}` },
        ...spots,
      }
    })
}

/** A text without its line ends. */
export function onOneLine({ en, zh }: Text): Text {
  return { en: en.replaceAll(/\s+/g, " "), zh: zh.replaceAll(/\s+/g, " ") }
}

/** What differs where nothing seems to: the character and its column. Empty where the difference can be seen. */
function nameInvisible(step: Step, change: Change, { old, next }: Pick<Violation, "old" | "next">): Text {
  const [olds, nexts] = [step.old?.lines ?? [], step.next.lines]
  let [before, after] = [(old?.line ?? 0) - 1, (next?.line ?? 0) - 1]
  // A finding points at a line with something on it; what differs may be a blank one above.
  while (before > 0 && after > 0 && olds[before] === nexts[after] && olds[before - 1]?.trim() === "") {
    before--
    after--
  }
  const isField = change.kind === "field-changed"
  const [was, is] = isField ? [change.from, change.to] : [olds[before], nexts[after]]
  if (was === undefined || is === undefined || was === is) return same("")
  const bare = (line: string): string =>
    line
      .replaceAll(/\p{Cf}/gu, "")
      .replaceAll(/[\t\v\f\u0085\p{Z}]+/gu, " ")
      .trim()
  if (bare(was) !== bare(is)) return same("")
  let column = 0
  while (was[column] === is[column]) column++
  const [lost, got] = [was.at(column), is.at(column)].map((char) =>
    char === undefined ? undefined : nameCharacter(char),
  )
  const isMore = was.slice(column) === is.slice(column + 1)
  const end = { en: "its end", zh: "结尾" }
  const what = isMore
    ? { en: `${got?.en} too many`, zh: `多了${got?.zh}` }
    : { en: `${(got ?? end).en} instead of ${(lost ?? end).en}`, zh: `是${(got ?? end).zh}，不是${(lost ?? end).zh}` }
  const line = isField ? same("") : { en: `line ${after + 1}, `, zh: `第 ${after + 1} 行` }
  return {
    en: `; only what cannot be seen differs: ${line.en}column ${column + 1} has ${what.en}`,
    zh: `；只有看不见的地方不同：${line.zh}第 ${column + 1} 列${what.zh}`,
  }
}

function nameCharacter(char: string): Text {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
  const { en, zh } = INVISIBLE_NAMES[char] ?? same(`"${char}"`)
  return { en: `${en} (U+${code})`, zh: `${zh}（U+${code}）` }
}

const INVISIBLE_NAMES: Readonly<Record<string, Text>> = {
  " ": { en: "a space", zh: "空格" },
  "\t": { en: "a tab", zh: "制表符" },
  "\u00ad": { en: "a soft hyphen", zh: "软连字符" },
  "\u00a0": { en: "a no-break space", zh: "不换行空格" },
  "\u200b": { en: "a zero-width space", zh: "零宽空格" },
  "\u200c": { en: "a zero-width non-joiner", zh: "零宽不连字符" },
  "\u200d": { en: "a zero-width joiner", zh: "零宽连字符" },
  "\u202f": { en: "a narrow no-break space", zh: "窄不换行空格" },
  "\u2060": { en: "a word joiner", zh: "词连接符" },
  "\u3000": { en: "an ideographic space", zh: "全角空格" },
  "\ufeff": { en: "a byte order mark", zh: "字节顺序标记" },
}

/** Changes of a text of several lines. */
const TEXTS: readonly Change["kind"][] = ["rewritten", "reformatted", "class-member-changed"]

/** Where two texts first differ. Blank lines are passed over, and so is what a type or a class has gained, if there is more to see. */
export function firstDifference(step: Step, change: Change): Pick<Violation, "old" | "next"> {
  const cut = (surface: Surface | undefined, spot: Spot | undefined): string[] =>
    surface?.lines.slice((spot?.line ?? 1) - 1, spot?.end) ?? []
  const bare = (line = ""): string => line.replaceAll(/[;,'"]|(?<=\S)\s+/g, "")
  const old = cut(step.old, change.old)
  const next = cut(step.next, change.next)
  let [before, after] = [0, 0]
  while (before < old.length && after < next.length) {
    const [was, is] = [bare(old[before]), bare(next[after])]
    const gained = was !== is && !old.slice(before).map(bare).includes(is) && next.slice(after).map(bare).includes(was)
    if (old[before] === next[after]) before++
    else if (change.kind !== "reformatted" || !gained) break
    after++
  }
  if (before === old.length) before = after = next.findIndex((line, index) => line !== old[index])
  const at = (lines: string[], index: number, spot: Spot | undefined): Spot | undefined => {
    const filled = lines.findIndex((line, place) => place >= index && line.trim() !== "")
    return spot && { ...spot, line: spot.line + (filled === -1 ? lines.length - 1 : filled) }
  }
  return { old: at(old, before, change.old), next: at(next, after, change.next) }
}

/** Where a declaration stands. */
export function placeOf(surface: Surface, { line, end }: Pick<Declaration, "line" | "end">): Spot {
  return { file: surface.file, line, end }
}

/** Calls `see` for every node of the core, with the declaration that it is in. */
export function walkCore(surface: Surface, see: (node: ts.Node, symbol: string) => void): void {
  for (const declaration of surface.core) {
    const visit = (node: ts.Node): void => {
      see(node, declaration.name)
      ts.forEachChild(node, visit)
    }
    for (const node of declaration.nodes) visit(node)
  }
}

/** The line of a node, as a place. */
export function spotAt(surface: Surface, node: ts.Node): Spot {
  const line = surface.source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  return { file: surface.file, line, end: line }
}
