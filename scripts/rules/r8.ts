/** R8: every chapter is a strict superset of the one before. */
import { type Change, findGains, type Gain } from "../chapter/compare.ts"
import { type Declaration, declaredNames } from "../chapter/surface.ts"
import type { Text } from "../course/language.ts"
import {
  declaredUpgrade,
  declaresWeld,
  firstDifference,
  GAINS,
  isU1,
  onOneLine,
  placeOf,
  type Rule,
  type Step,
  spotAt,
  TEXT,
  type Violation,
  violationsOf,
} from "./rule.ts"

const CARRY = {
  en: "If the new text is the better one, bring it into all later chapters: npm run carry -- sNN.",
  zh: "新写法更好的话，把它带到后面所有的章：npm run carry -- sNN。",
}

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
  const violation = (symbol: string, message: Text): Violation => ({ symbol, message, next: findPlace(step, symbol) })
  const twice = (list: readonly string[], what: Text): Violation[] =>
    findTwice(list).map((name) =>
      violation(name, {
        en: `the manifest lists ${name} twice as ${what.en} of ${id}`,
        zh: `清单把 ${name} 两次列为 ${id} 的${what.zh}`,
      }),
    )
  const source = findAdded(step).flatMap(({ names }) => names)
  const listed = [...new Set(parts)].filter((name) => source.includes(name))
  const sorted = source.filter((name) => listed.includes(name))
  const out = listed.find((name, index) => name !== sorted[index])
  const lists = Object.entries(gains ?? {})
  const entries = [...welds, ...upgrades]
  return [
    ...(chapter.title.trim() === "" || !isChinese(chapter.titleZh) || isChinese(chapter.title)
      ? [
          violation(id, {
            en: `the manifest gives no title, in both languages, for ${id}`,
            zh: `清单里 ${id} 没有两种语言的标题`,
          }),
        ]
      : []),
    ...(gains === undefined
      ? [
          violation(id, {
            en: `the manifest does not say what old declarations gain in ${id}`,
            zh: `清单没有说旧声明在 ${id} 多了什么`,
          }),
        ]
      : []),
    ...twice(parts, { en: "a part", zh: "零件" }),
    ...(out === undefined
      ? []
      : [
          violation(out, {
            en: `the manifest lists ${out} in another place than the source of ${id}`,
            zh: `清单里 ${out} 的位置和 ${id} 源码里的不一样`,
          }),
        ]),
    ...welds.flatMap(({ name, requires = [] }) =>
      findTwice(requires).map((text) =>
        violation(name, {
          en: `the manifest lists \`${text}\` twice as required by ${name} in ${id}`,
          zh: `清单里 ${id} 的 ${name} 两次列了所需的 \`${text}\``,
        }),
      ),
    ),
    ...twice(
      welds.map(({ name }) => name),
      { en: "a weld", zh: "接入点" },
    ),
    ...twice(
      upgrades.map(({ name }) => name),
      { en: "an upgrade", zh: "升级" },
    ),
    ...entries
      .filter(({ reason, reasonZh }) => reason.trim() === "" || reasonZh.trim() === "")
      .map(({ name }) =>
        violation(name, {
          en: `the manifest gives no reason, in both languages, for ${name} in ${id}`,
          zh: `清单里 ${id} 的 ${name} 没有两种语言的理由`,
        }),
      ),
    ...entries
      .filter(({ reason, reasonZh }) => isChinese(reason) || (reasonZh.trim() !== "" && !isChinese(reasonZh)))
      .map(({ name }) =>
        violation(name, {
          en: `the manifest gives one reason in the language of the other, for ${name} in ${id}`,
          zh: `清单里 ${id} 的 ${name}，两种语言的理由写反了一种`,
        }),
      ),
    ...lists
      .filter(([, texts]) => texts.length === 0)
      .map(([name]) =>
        violation(name, {
          en: `the manifest has an empty list of gains of ${name} in ${id}`,
          zh: `清单里 ${id} 的 ${name} 增长列表是空的`,
        }),
      ),
    ...lists.flatMap(([name, texts]) =>
      findTwice(texts).map((text) =>
        violation(name, {
          en: `the manifest lists \`${text}\` twice as a gain of ${name} in ${id}`,
          zh: `清单里 ${id} 的 ${name} 两次列了 \`${text}\``,
        }),
      ),
    ),
  ]
}

export const R8: Rule[] = [
  {
    id: "R8-GONE",
    article: "R8",
    sentence: {
      en: "Each declaration of the chapter before is there, under its name.",
      zh: "上一章的每个声明都在，名字不变。",
    },
    fix: {
      en: "Put the declaration back, under its old name.",
      zh: "把声明放回去，用原来的名字。",
    },
    scope: "pair",
    lifted: "nothing",
    explains: { member: [...GAINS, "R8-REFORMATTED"], symbol: ["U2-SECOND-MEANING"] },
    find: (step) => violationsOf(step, "gone", ({ name }) => ({ en: `${name} is gone`, zh: `${name} 不见了` })),
  },
  {
    id: "R8-MOVED",
    article: "R8",
    sentence: {
      en: "The declarations of the chapter before stand in the same order.",
      zh: "上一章的声明，先后顺序不变。",
    },
    fix: {
      en: "Move it back to where it stood; new declarations go to the end of the core.",
      zh: "挪回原来的位置；新声明放在核心的末尾。",
    },
    scope: "pair",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: (step) =>
      violationsOf(step, "moved", ({ name }) => ({ en: `${name} stands in another place`, zh: `${name} 换了地方` })),
  },
  {
    id: "R8-KIND",
    article: "R8",
    sentence: {
      en: "A declaration stays what it is: a type, an interface, a class, a function, a constant.",
      zh: "声明的种类不变：类型、接口、类、函数、常量，原来是什么还是什么。",
    },
    fix: {
      en: "Declare it the way it was declared before: a type stays a type, an interface an interface.",
      zh: "照原来的种类声明：类型还是类型，接口还是接口。",
    },
    scope: "pair",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: (step) =>
      violationsOf(step, "kind", ({ name }) => ({
        en: `${name} is another kind of declaration`,
        zh: `${name} 换了一种声明`,
      })),
  },
  {
    id: "R8-REWRITTEN",
    article: "R8",
    sentence: {
      en: "Each declaration of the chapter before is as it was, to the byte, except where a weld or an upgrade is declared.",
      zh: "上一章的每个声明一个字节都不差；列明的接入点和升级除外。",
    },
    fixForReader: {
      en: "Give it its old text again. Where the chapter joins something into an old function, its book says so.",
      zh: "改回原样。这一章要往哪个旧函数里接东西，书里写着。",
    },
    fix: {
      en: `Give it its old text again, or declare it as a weld in scripts/course/manifest.ts, with the reason. ${CARRY.en}`,
      zh: `改回原样，或者在 scripts/course/manifest.ts 里列为接入点，写上理由。${CARRY.zh}`,
    },
    scope: "pair",
    lifted: "weld",
    about: "text",
    find: (step) =>
      violationsOf(step, "rewritten", ({ name }) => ({
        en: `${name} has another text, and is not announced to change`,
        zh: `${name} 的写法变了，而这一章没有说要改它`,
      })).filter(({ symbol }) => !weldsFunction(step, symbol)),
  },
  {
    id: "R8-REFORMATTED",
    article: "R8",
    sentence: {
      en: "A change of style alone is a change: it hides what a chapter really adds.",
      zh: "只改排版也是改动：它会盖住这一章真正加了什么。",
    },
    fixForReader: {
      en: "Give the lines their old form again, comments and blank lines included.",
      zh: "把这些行改回原样，注释和空行也算。",
    },
    fix: {
      en: `Give the lines their old form again, comments and blank lines included. ${CARRY.en}`,
      zh: `把这些行改回原样，注释和空行也算。${CARRY.zh}`,
    },
    scope: "pair",
    lifted: "nothing",
    about: "text",
    find: (step) =>
      violationsOf(step, "reformatted", ({ name, how }) =>
        how === "order"
          ? { en: `the members of ${name} stand in another order`, zh: `${name} 的成员换了顺序` }
          : how === "joined"
            ? {
                en: `${name} gets something new on an old line, so that the line is not as it was`,
                zh: `${name} 新增的东西写在旧的行里，那一行就和原来不一样了`,
              }
            : {
                en: `${name} or the lines around it look different and mean the same`,
                zh: `${name} 或它周围的行只是写法变了，意思没变`,
              },
      ),
  },
  {
    id: "R8-SIGNATURE",
    article: "R8",
    sentence: {
      en: "A welded function keeps its name and its parameters, new ones are appended, and optional unless they are listed; its return type only grows.",
      zh: "被接入的函数，名字和原有参数都不变，新参数只加在后面，没有列明就必须可以不给；返回类型只增不减。",
    },
    fixForReader: {
      en: "Put the old parameters first and unchanged, make new ones optional, and put the old return type back.",
      zh: "原来的参数放在前面、保持不变，新参数可以不给，返回类型改回去。",
    },
    fix: {
      en: "Put the old parameters first and unchanged, make new ones optional, and put the old return type back. A parameter that a weld cannot do without is listed with the weld, as `requires`.",
      zh: "原来的参数放在前面、保持不变，新参数可以不给，返回类型改回去。接入点少不了的参数，在清单里列进它的 `requires`。",
    },
    scope: "pair",
    lifted: "nothing",
    about: "text",
    find: (step) =>
      step.changes
        .filter(({ kind, name }) => kind === "rewritten" && weldsFunction(step, name))
        .flatMap((change) => {
          const weld = step.chapter.welds.find(({ name }) => name === change.name)
          const needs = change.requires?.find((parameter) => !weld?.requires?.includes(parameter))
          const missing = needs && {
            en: `the new parameter \`${needs}\` has to be given`,
            zh: `新参数 \`${needs}\` 非给不可`,
          }
          const reason = change.breaks ?? missing
          if (!reason) return []
          const message = onOneLine({
            en: `the change of ${change.symbol} breaks old calls: ${reason.en}`,
            zh: `${change.symbol} 这样改，旧调用就失效了：${reason.zh}`,
          })
          return [{ symbol: change.symbol, message, ...firstDifference(step, change) }]
        }),
  },
  {
    id: "R8-PLACE",
    article: "R8",
    sentence: {
      en: "A chapter appends its own section; what it adds stands under its own banner.",
      zh: "每章在末尾接上自己的一节；新增的东西都在自己的横幅下面。",
    },
    fixForReader: {
      en: "Move it to the end of the core, under a line of its own: `// ── sNN ──`; what belongs to a later chapter does not stand here yet.",
      zh: "挪到核心末尾，单独一行横幅 `// ── sNN ──` 下面；属于后面章节的，这里还不能有。",
    },
    fix: {
      en: "Move the declaration to the end of the core, under the banner of its chapter.",
      zh: "把声明挪到核心末尾，放在自己那一章的横幅下面。",
    },
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
          section === chapter.id
            ? { en: "in front of old ones", zh: "在旧声明前面" }
            : section === ""
              ? { en: "under no banner", zh: "上面没有横幅" }
              : { en: `under the banner of ${section}`, zh: `在 ${section} 的横幅下面` }
        const message = {
          en: `${name} is new in ${chapter.id} and stands ${place.en}`,
          zh: `${name} 是 ${chapter.id} 新增的，却${place.zh}`,
        }
        return [{ symbol: name, message, next: placeOf(next, declaration) }]
      })
    },
  },
  {
    id: "R8-EXPORT",
    article: "R8",
    sentence: {
      en: "All of the core is exported: a later chapter or a test may need it.",
      zh: "核心里的声明全部导出：后面的章节或测试可能要用。",
    },
    fix: {
      en: "Write export in front of it, or move it into the demo.",
      zh: "前面加上 export，或者挪到演示里。",
    },
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next }) =>
      next.core
        .filter((declaration) => !declaration.exported)
        .map((declaration): Violation => {
          const { name, names } = declaration
          const spot = placeOf(next, declaration)
          if (names.length > 0)
            return { symbol: name, message: { en: `${name} is not exported`, zh: `${name} 没有导出` }, next: spot }
          const message = {
            en: `\`${name}\` declares nothing, and the core holds declarations alone`,
            zh: `\`${name}\` 什么也没声明，核心里只放声明`,
          }
          const fix = { en: "Take it out, or move it into the demo.", zh: "删掉它，或者挪到演示里。" }
          return { symbol: name, message, next: spot, fix }
        }),
  },
  {
    id: "R8-DOC",
    article: "R8",
    sentence: {
      en: "A comment right above each declaration of the core says what it promises.",
      zh: "核心的每个声明，紧挨着它的上面都有一句注释，说它保证什么。",
    },
    fix: {
      en: "Write a sentence right above it: /** … */; a name, a tag or a TODO says nothing. What old declarations say is compared to the byte.",
      zh: "紧挨着它的上面写一句 /** … */；只写名字、标签或 TODO 不算。旧声明的注释一个字节都不能变。",
    },
    scope: "pair",
    lifted: "nothing",
    find: (step) =>
      step.course === undefined
        ? findSilent(step).map((declaration) => ({
            symbol: declaration.name,
            message: {
              en: `${declaration.name} has no comment that says what it promises`,
              zh: `${declaration.name} 没有一句注释说它保证什么`,
            },
            next: placeOf(step.next, declaration),
          }))
        : [],
  },
  {
    id: "R8-MANIFEST",
    article: "R8",
    sentence: {
      en: "A chapter's entry in the manifest is complete, in the order of the source, and says nothing twice.",
      zh: "清单里一章的条目写全了，按源码的顺序，不说两遍。",
    },
    fixForReader: {
      en: "This is a mistake of the course, not of yours.",
      zh: "这是课程的错，不是你的。",
    },
    fix: {
      en: "Put the entry in scripts/course/manifest.ts right.",
      zh: "把 scripts/course/manifest.ts 里的这一条改对。",
    },
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: findManifestViolations,
  },
  {
    id: "R8-UNLISTED",
    article: "R8",
    sentence: {
      en: "What really changed is what the chapter announces: nothing comes beside it.",
      zh: "实际变的，都是这一章列明的，没有别的。",
    },
    fixForReader: {
      en: "Give it a name that the chapter adds, or move it into the demo.",
      zh: "改用这一章新增的名字，或者挪到演示里。",
    },
    fix: {
      en: "Add it to the parts or to the gains of the chapter in scripts/course/manifest.ts, in the order of the source.",
      zh: "在 scripts/course/manifest.ts 里，按源码的顺序把它加进这一章的 parts 或 gains。",
    },
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
          message: {
            en: `${chapter.id} adds ${declaration.name}, which the manifest does not list`,
            zh: `${chapter.id} 加了 ${declaration.name}，清单上没有列`,
          },
          forReader: {
            en: `${declaration.name} is not among what ${chapter.id} adds`,
            zh: `${chapter.id} 新增的东西里没有 ${declaration.name}`,
          },
          next: placeOf(next, declaration),
        })),
        ...gains.map(({ name, symbol, text, spot }) => ({
          symbol,
          message: {
            en: `${chapter.id} adds \`${text}\` to ${name}, which the manifest does not list`,
            zh: `${chapter.id} 给 ${name} 加了 \`${text}\`，清单上没有列`,
          },
          forReader: {
            en: `\`${text}\` in ${name} is not among what ${chapter.id} adds`,
            zh: `${chapter.id} 给 ${name} 加的东西里没有 \`${text}\``,
          },
          next: spot,
        })),
      ]
    },
  },
  {
    id: "R8-UNUSED",
    article: "R8",
    sentence: {
      en: "What a chapter announces has really changed, all of it.",
      zh: "这一章列明的，都真的变了。",
    },
    fixForReader: {
      en: "Make the change that the chapter announces. What is new is exported, under its banner, above the demo.",
      zh: "按这一章说的改。新增的要导出，放在自己的横幅下面、演示上面。",
    },
    fix: {
      en: "Take the entry out of scripts/course/manifest.ts, or make the change that it announces, above the banner of the demo.",
      zh: "从 scripts/course/manifest.ts 里去掉这一条，或者在演示的横幅上面做出它说的改动。",
    },
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
          const where =
            demo === undefined
              ? { en: "does not add it", zh: "没有加它" }
              : { en: "declares it in its demo, below the core", zh: "把它声明在演示里，在核心下面" }
          return {
            symbol,
            message: {
              en: `the manifest lists ${symbol} as a part of ${chapter.id}, and ${chapter.id} ${where.en}`,
              zh: `清单说 ${symbol} 是 ${chapter.id} 的零件，${chapter.id} 却${where.zh}`,
            },
            forReader: {
              en: `${symbol} is a part of ${chapter.id}, and your ${chapter.id} ${where.en}`,
              zh: `${symbol} 是 ${chapter.id} 的零件，你的 ${chapter.id} 却${where.zh}`,
            },
            next: demo === undefined ? findPlace(step, symbol) : spotAt(next, demo),
            ...(demo === undefined && { lacks: { en: symbol, zh: symbol } }),
          }
        }),
        ...gains.map(([name, text]) => ({
          symbol: name,
          message: {
            en: `the manifest lists \`${text}\` as a gain of ${name}, and ${chapter.id} does not add it`,
            zh: `清单说 ${name} 多了 \`${text}\`，${chapter.id} 却没有加`,
          },
          forReader: {
            en: `${name} grows by \`${text}\` in ${chapter.id}, and your ${chapter.id} does not add it`,
            zh: `${name} 在 ${chapter.id} 要多一个 \`${text}\`，你的 ${chapter.id} 没有加`,
          },
          next: findPlace(step, name),
          lacks: { en: `${text} in ${name}`, zh: `${name} 里的 ${text}` },
        })),
        ...required.map(([name, text]) => ({
          symbol: name,
          message: {
            en: `the manifest lists \`${text}\` as required by the weld ${name}, and ${chapter.id} does not add it`,
            zh: `清单说接入点 ${name} 需要 \`${text}\`，${chapter.id} 却没有加`,
          },
          forReader: {
            en: `${name} takes \`${text}\` in ${chapter.id}, and your ${chapter.id} does not add it`,
            zh: `${name} 在 ${chapter.id} 要多收一个 \`${text}\`，你的 ${chapter.id} 没有加`,
          },
          next: findPlace(step, name),
        })),
        ...welds.map(({ name }) => ({
          symbol: name,
          message: {
            en: `the manifest lists ${name} as a weld of ${chapter.id}, and its text has not changed`,
            zh: `清单说 ${name} 是 ${chapter.id} 的接入点，它却没有变`,
          },
          forReader: {
            en: `${chapter.id} joins something into ${name}, and your ${name} is as it was`,
            zh: `${chapter.id} 要往 ${name} 里接东西，你的 ${name} 还是原样`,
          },
          next: findPlace(step, name),
          lacks: { en: `what ${chapter.id} joins into ${name}`, zh: `${chapter.id} 往 ${name} 里接的部分` },
        })),
      ]
    },
  },
]
