/** R8: every chapter is a strict superset of the one before. */
import { type Change, findGains, type Gain } from "../chapter/compare.ts"
import { type Declaration, declaredNames } from "../chapter/surface.ts"
import {
  declaredUpgrade,
  declaresWeld,
  firstDifference,
  GAINS,
  isU1,
  placeOf,
  type Rule,
  type Step,
  spotAt,
  TEXT,
  type Violation,
  violationsOf,
} from "./rule.ts"

const SENTENCE =
  "Each declaration of the chapter before is there, in the same order, to the byte, except where a weld or an upgrade is declared."
const SENTENCE_ZH = "上一章的每个声明都在，顺序不变，一个字节都不差；列明的接入点和升级除外。"
const BOTH_WAYS = "What a chapter announces and what really changed are the same, in both directions."
const BOTH_WAYS_ZH = "清单上列的和实际变的完全一致，两个方向都是。"
const CARRY = "If the new text is the better one, bring it into all later chapters: npm run carry -- sNN."

/** Whether a chapter declares a weld of this function. Nothing else at the top level can be one. */
function weldsFunction(step: Step, name: string): boolean {
  const isFunction = step.next.core.some((declaration) => declaration.name === name && declaration.kind === "function")
  return isFunction && declaresWeld(step, name)
}

/** Where something stands that the manifest names: a declaration, or a member of one. */
function findPlace({ next }: Step, name: string): Violation["next"] {
  const [first, ...rest] = name.split(".")
  const declaration = next.core.find((candidate) => candidate.name === first)
  const members = declaration?.members.flatMap((member) => [member, ...member.fields])
  const member = members?.find((candidate) => candidate.name === rest.join("."))
  return declaration && placeOf(next, member ?? declaration)
}

/** What old declarations gain in this chapter, but for the new form of what is upgraded. */
function findOwnGains({ chapter, old, next }: Step): Gain[] {
  const isUpgrade = ({ name, text }: Gain): boolean =>
    chapter.upgrades.some((upgrade) => upgrade.name.startsWith(`${name}.`) && upgrade.to === text)
  return old === undefined ? [] : findGains(old, next).filter((gain) => !isUpgrade(gain))
}

/**
 * Whether something of the same declaration is missing or changed, other than by a declared upgrade: then that is what has to be said, and the
 * gain may be its new form.
 */
function isReplacement(step: Step, { name }: Gain): boolean {
  const lost = ({ kind }: Change): boolean => /^(field|class-member)-(gone|changed)$/.test(kind)
  return step.changes.some((change) => change.name === name && lost(change) && !declaredUpgrade(step, change))
}

/** The declarations that the chapter before does not have. */
function findAdded({ next, changes, old }: Step): Declaration[] {
  const added = new Set(changes.filter(({ kind }) => kind === "added").map(({ name }) => name))
  return next.core.filter(({ name }) => old === undefined || added.has(name))
}

/** The declarations that say nothing and should: new ones, and those whose comment a weld or an upgrade has taken away. */
function findSilent(step: Step): Declaration[] {
  const { welds, upgrades } = step.chapter
  const changed = [...welds, ...upgrades].map(({ name }) => name.split(".")[0])
  const due = new Set([
    ...findAdded(step).map(({ name }) => name),
    ...(step.old?.core ?? [])
      .filter(({ name, documented }) => documented && changed.includes(name))
      .map(({ name }) => name),
  ])
  return step.next.core.filter(({ name, names, documented }) => names.length > 0 && !documented && due.has(name))
}

/** What stands in a list for the second time. */
function findTwice(list: readonly string[]): string[] {
  return list.filter((entry, index) => list.indexOf(entry) < index)
}

function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text)
}

/** What is wrong with a chapter's entry in the manifest by itself. */
function findManifestViolations(step: Step): Violation[] {
  const { chapter } = step
  const { id, parts, welds, upgrades, gains } = chapter
  const violation = (symbol: string, message: string): Violation => ({ symbol, message, next: findPlace(step, symbol) })
  const twice = (list: readonly string[], what: string): Violation[] =>
    findTwice(list).map((name) => violation(name, `the manifest lists ${name} twice as ${what} of ${id}`))
  const source = findAdded(step).flatMap(({ names }) => names)
  const listed = [...new Set(parts)].filter((name) => source.includes(name))
  const sorted = source.filter((name) => listed.includes(name))
  const out = listed.find((name, index) => name !== sorted[index])
  const lists = Object.entries(gains ?? {})
  const entries = [...welds, ...upgrades]
  return [
    ...(chapter.title.trim() === "" || !isChinese(chapter.titleZh) || isChinese(chapter.title)
      ? [violation(id, `the manifest gives no title, in both languages, for ${id}`)]
      : []),
    ...(gains === undefined ? [violation(id, `the manifest does not say what old declarations gain in ${id}`)] : []),
    ...twice(parts, "a part"),
    ...(out === undefined
      ? []
      : [violation(out, `the manifest lists ${out} in another place than the source of ${id}`)]),
    ...welds.flatMap(({ name, requires = [] }) =>
      findTwice(requires).map((text) =>
        violation(name, `the manifest lists \`${text}\` twice as required by ${name} in ${id}`),
      ),
    ),
    ...twice(
      welds.map(({ name }) => name),
      "a weld",
    ),
    ...twice(
      upgrades.map(({ name }) => name),
      "an upgrade",
    ),
    ...entries
      .filter(({ reason, reasonZh }) => reason.trim() === "" || reasonZh.trim() === "")
      .map(({ name }) => violation(name, `the manifest gives no reason, in both languages, for ${name} in ${id}`)),
    ...entries
      .filter(({ reason, reasonZh }) => isChinese(reason) || (reasonZh.trim() !== "" && !isChinese(reasonZh)))
      .map(({ name }) =>
        violation(name, `the manifest gives one reason in the language of the other, for ${name} in ${id}`),
      ),
    ...lists
      .filter(([, texts]) => texts.length === 0)
      .map(([name]) => violation(name, `the manifest has an empty list of gains of ${name} in ${id}`)),
    ...lists.flatMap(([name, texts]) =>
      findTwice(texts).map((text) =>
        violation(name, `the manifest lists \`${text}\` twice as a gain of ${name} in ${id}`),
      ),
    ),
  ]
}

export const R8: Rule[] = [
  {
    id: "R8-GONE",
    article: "R8",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Put the declaration back, under its old name.",
    scope: "pair",
    lifted: "nothing",
    explains: { member: [...GAINS, "R8-REFORMATTED"], symbol: ["U2-SECOND-MEANING"] },
    find: (step) => violationsOf(step, "gone", ({ name }) => `${name} is gone`),
  },
  {
    id: "R8-MOVED",
    article: "R8",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Move it back to where it stood; new declarations go to the end of the core.",
    scope: "pair",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: (step) => violationsOf(step, "moved", ({ name }) => `${name} stands in another place`),
  },
  {
    id: "R8-KIND",
    article: "R8",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Declare it the way it was declared before: a type stays a type, an interface an interface.",
    scope: "pair",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: (step) => violationsOf(step, "kind", ({ name }) => `${name} is another kind of declaration`),
  },
  {
    id: "R8-REWRITTEN",
    article: "R8",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fixForReader:
      "Give it its old text again. Where the chapter joins something into an old function, its book says so.",
    fix: `Give it its old text again, or declare it as a weld in scripts/course/manifest.ts, with the reason. ${CARRY}`,
    scope: "pair",
    lifted: "weld",
    about: "text",
    find: (step) =>
      violationsOf(step, "rewritten", ({ name }) => `${name} has another text, and is no declared weld`).filter(
        ({ symbol }) => !weldsFunction(step, symbol),
      ),
  },
  {
    id: "R8-REFORMATTED",
    article: "R8",
    sentence: "A change of style alone is a change: it hides what a chapter really adds.",
    sentenceZh: "只改排版也是改动：它会盖住这一章真正加了什么。",
    fixForReader: "Give the lines their old form again, comments and blank lines included.",
    fix: `Give the lines their old form again, comments and blank lines included. ${CARRY}`,
    scope: "pair",
    lifted: "nothing",
    about: "text",
    find: (step) =>
      violationsOf(step, "reformatted", ({ name, how }) =>
        how === "order"
          ? `the members of ${name} stand in another order`
          : how === "joined"
            ? `${name} gains something on an old line, so that the line is not as it was`
            : `${name} or the lines around it look different and mean the same`,
      ),
  },
  {
    id: "R8-SIGNATURE",
    article: "R8",
    sentence:
      "A welded function keeps its name and its parameters, new ones are appended, and optional unless they are listed; its return type only grows.",
    sentenceZh: "被接入的函数，名字和原有参数都不变，新参数只加在后面，没有列明就必须可以不给；返回类型只增不减。",
    fixForReader:
      "Put the old parameters first and unchanged, make new ones optional, and put the old return type back.",
    fix: "Put the old parameters first and unchanged, make new ones optional, and put the old return type back. A parameter that a weld cannot do without is listed with the weld, as `requires`.",
    scope: "pair",
    lifted: "nothing",
    about: "text",
    find: (step) =>
      step.changes
        .filter(({ kind, name }) => kind === "rewritten" && weldsFunction(step, name))
        .flatMap((change) => {
          const weld = step.chapter.welds.find(({ name }) => name === change.name)
          const needs = change.requires?.find((parameter) => !weld?.requires?.includes(parameter))
          const reason = change.breaks ?? (needs && `the new parameter \`${needs}\` has to be given`)
          const message = `the weld ${change.symbol} breaks old calls: ${reason?.replaceAll(/\s+/g, " ")}`
          return reason === undefined ? [] : [{ symbol: change.symbol, message, ...firstDifference(step, change) }]
        }),
  },
  {
    id: "R8-PLACE",
    article: "R8",
    sentence: "A chapter appends its own section; what it adds stands under its own banner.",
    sentenceZh: "每章在末尾接上自己的一节；新增的东西都在自己的横幅下面。",
    fixForReader:
      "Move it to the end of the core, under a line of its own: `// ── sNN ──`; what belongs to a later chapter does not stand here yet.",
    fix: "Move the declaration to the end of the core, under the banner of its chapter.",
    scope: "pair",
    lifted: "nothing",
    explains: { symbol: ["R8-UNLISTED"] },
    find: ({ chapter, next, changes, old }) => {
      const called = (kind: Change["kind"]): Set<string> =>
        new Set(changes.filter((change) => change.kind === kind).map(({ name }) => name))
      const [added, moved] = [called("added"), called("moved")]
      const isNew = ({ name }: Declaration): boolean => old === undefined || added.has(name)
      const last = next.core.findLastIndex((declaration) => !isNew(declaration) && !moved.has(declaration.name))
      return next.core.flatMap((declaration, index): Violation[] => {
        const { name, section } = declaration
        if (!isNew(declaration) || (section === chapter.id && index > last)) return []
        const place =
          section === chapter.id ? "in front of old ones" : section === "" ? "no banner" : `the banner of ${section}`
        const message = `${name} is new in ${chapter.id} and stands ${section === chapter.id ? "" : "under "}${place}`
        return [{ symbol: name, message, next: placeOf(next, declaration) }]
      })
    },
  },
  {
    id: "R8-EXPORT",
    article: "R8",
    sentence: "All of the core is exported: a later chapter or a test may need it.",
    sentenceZh: "核心里的声明全部导出：后面的章节或测试可能要用。",
    fix: "Write export in front of it, or move it into the demo.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next }) =>
      next.core
        .filter((declaration) => !declaration.exported)
        .map((declaration): Violation => {
          const { name, names } = declaration
          const spot = placeOf(next, declaration)
          if (names.length > 0) return { symbol: name, message: `${name} is not exported`, next: spot }
          const message = `\`${name}\` declares nothing, and the core holds declarations alone`
          return { symbol: name, message, next: spot, fix: "Take it out, or move it into the demo." }
        }),
  },
  {
    id: "R8-DOC",
    article: "R8",
    sentence: "A comment right above each declaration of the core says what it promises.",
    sentenceZh: "核心的每个声明，紧挨着它的上面都有一句注释，说它保证什么。",
    fix: "Write a sentence right above it: /** … */; a name, a tag or a TODO says nothing. What old declarations say is compared to the byte.",
    scope: "pair",
    lifted: "nothing",
    find: (step) =>
      step.course === undefined
        ? findSilent(step).map((declaration) => ({
            symbol: declaration.name,
            message: `${declaration.name} has no comment that says what it promises`,
            next: placeOf(step.next, declaration),
          }))
        : [],
  },
  {
    id: "R8-MANIFEST",
    article: "R8",
    sentence: "A chapter's entry in the manifest is complete, in the order of the source, and says nothing twice.",
    sentenceZh: "清单里一章的条目写全了，按源码的顺序，不说两遍。",
    fixForReader: "This is a mistake of the course, not of yours.",
    fix: "Put the entry in scripts/course/manifest.ts right.",
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: findManifestViolations,
  },
  {
    id: "R8-UNLISTED",
    article: "R8",
    sentence: BOTH_WAYS,
    sentenceZh: BOTH_WAYS_ZH,
    fixForReader: "Give it a name that the chapter adds, or move it into the demo.",
    fix: "Add it to the parts or to the gains of the chapter in scripts/course/manifest.ts, in the order of the source.",
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: (step) => {
      const { chapter, next } = step
      const parts = findAdded(step)
        .filter(({ exported }) => exported)
        .flatMap((declaration) =>
          (declaration.names.length > 0 ? declaration.names : [declaration.name])
            .filter((name) => !chapter.parts.includes(name))
            .map((name) => ({ ...declaration, name })),
        )
      const listed = chapter.gains
      const gains = findOwnGains(step).filter(
        (gain) => listed && !listed[gain.name]?.includes(gain.text) && !isReplacement(step, gain),
      )
      return [
        ...parts.map((declaration) => ({
          symbol: declaration.name,
          message: `${chapter.id} adds ${declaration.name}, which the manifest does not list`,
          next: placeOf(next, declaration),
        })),
        ...gains.map(({ name, symbol, text, spot }) => ({
          symbol,
          message: `${chapter.id} adds \`${text}\` to ${name}, which the manifest does not list`,
          next: spot,
        })),
      ]
    },
  },
  {
    id: "R8-UNUSED",
    article: "R8",
    sentence: BOTH_WAYS,
    sentenceZh: BOTH_WAYS_ZH,
    fixForReader:
      "Make the change that the chapter announces. What is new is exported, under its banner, above the demo.",
    fix: "Take the entry out of scripts/course/manifest.ts, or make the change that it announces, above the banner of the demo.",
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: (step) => {
      const { chapter, next, changes } = step
      const added = new Set(findAdded(step).flatMap(({ names }) => names))
      const parts = chapter.parts.filter((name) => !added.has(name))
      // An upgrade is declared as one; that it happened is no reason to call it a weld as well.
      const happened = new Set(
        changes
          .filter((change) => !isU1(step, change) && !/^(identical|grown|added|field-)/.test(change.kind))
          .map((change) => change.symbol),
      )
      const welds = chapter.welds.filter(({ name }) => !happened.has(name))
      const required = chapter.welds.flatMap(({ name, requires = [] }) => {
        const change = changes.find(({ kind, symbol }) => kind === "rewritten" && symbol === name)
        return requires.filter((text) => !change?.requires?.includes(text)).map((text) => [name, text] as const)
      })
      const gained = findOwnGains(step).map(({ name, text }) => `${name} ${text}`)
      const gains = Object.entries(chapter.gains ?? {}).flatMap(([name, texts]) =>
        texts.filter((text) => !gained.includes(`${name} ${text}`)).map((text) => [name, text] as const),
      )
      return [
        ...parts.map((symbol) => {
          const demo = next.demo.find((statement) => declaredNames(statement).includes(symbol))
          const where = demo === undefined ? "does not add it" : "declares it in its demo, below the core"
          return {
            symbol,
            message: `the manifest lists ${symbol} as a part of ${chapter.id}, and ${chapter.id} ${where}`,
            next: demo === undefined ? findPlace(step, symbol) : spotAt(next, demo),
            ...(demo === undefined && { lacks: symbol }),
          }
        }),
        ...gains.map(([name, text]) => ({
          symbol: name,
          message: `the manifest lists \`${text}\` as a gain of ${name}, and ${chapter.id} does not add it`,
          next: findPlace(step, name),
          lacks: `${text} in ${name}`,
        })),
        ...required.map(([name, text]) => ({
          symbol: name,
          message: `the manifest lists \`${text}\` as required by the weld ${name}, and ${chapter.id} does not add it`,
          next: findPlace(step, name),
        })),
        ...welds.map(({ name }) => ({
          symbol: name,
          message: `the manifest lists ${name} as a weld of ${chapter.id}, and its text has not changed`,
          next: findPlace(step, name),
          lacks: `what ${chapter.id} joins into ${name}`,
        })),
      ]
    },
  },
]
