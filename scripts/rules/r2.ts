/** R2: class members only grow. */
import { findRetypingGains } from "./gains.ts"
import { declaresWeld, GAINS, type Rule, violationsOf } from "./rule.ts"

export const R2: Rule[] = [
  {
    id: "R2-MEMBER-GONE",
    article: "R2",
    sentence: {
      en: "Classes only grow: a member that was introduced is there in every later chapter.",
      zh: "类只增不减：引入过的成员，后面每一章都在。",
    },
    fix: {
      en: "Put the member back. A class may get more members and never fewer.",
      zh: "把成员放回去。类的成员只会多，不会少。",
    },
    scope: "pair",
    lifted: "U1",
    explains: { member: [...GAINS, "R8-REFORMATTED"] },
    find: (step) =>
      violationsOf(step, "class-member-gone", ({ symbol }) => ({
        en: `the member ${symbol} is gone`,
        zh: `成员 ${symbol} 不见了`,
      })),
  },
  {
    id: "R2-MEMBER-CHANGED",
    article: "R2",
    sentence: {
      en: "A member of a class keeps its text, unless a weld in it is declared.",
      zh: "类的成员一字不改，除非列明了其中有接入点。",
    },
    fixForReader: {
      en: "Give the member its old text again; what the chapter adds to it, if anything, is in the chapter's book.",
      zh: "把成员改回原样；这一章要往里加什么，书里写着。",
    },
    fix: {
      en: "Give the member its old text again, or declare it as a weld in scripts/course/manifest.ts, with the reason.",
      zh: "把成员改回原样，或者在 scripts/course/manifest.ts 里列为接入点，写上理由。",
    },
    scope: "pair",
    lifted: "weld",
    about: "text",
    explains: { member: GAINS },
    find: (step) =>
      violationsOf(step, "class-member-changed", ({ symbol }) => ({
        en: `the member ${symbol} has another text`,
        zh: `成员 ${symbol} 的写法变了`,
      })).filter(({ symbol }) => !declaresWeld(step, symbol)),
  },
  {
    id: "R2-SIGNATURE",
    article: "R2",
    sentence: {
      en: "A welded member keeps its name, its parameters and what it returns.",
      zh: "被接入的成员，名字、参数和返回类型都不变。",
    },
    fix: {
      en: "Give the member its old signature again; only an upgrade under U1 may change one.",
      zh: "把签名改回原样；只有 U1 的升级能改签名。",
    },
    scope: "pair",
    lifted: "U1",
    about: "text",
    find: (step) =>
      violationsOf(step, "class-member-changed", ({ symbol }) => ({
        en: `${symbol} has another signature`,
        zh: `${symbol} 的签名变了`,
      })).filter(
        ({ symbol }) =>
          declaresWeld(step, symbol) &&
          step.changes.some((change) => change.symbol === symbol && change.breaks !== undefined),
      ),
  },
  {
    id: "R2-GAIN",
    article: "R2",
    sentence: {
      en: "What a class gains leaves alone what it had: no second member of that name, and it is made as before.",
      zh: "类新增的东西不动原有的：不再来一个同名成员，创建的方式也不变。",
    },
    fix: {
      en: "Give the new member a name of its own; what a constructor takes besides is optional.",
      zh: "给新成员起一个自己的名字；构造函数多收的参数必须可以不给。",
    },
    scope: "pair",
    lifted: "nothing",
    explains: { member: ["R8-REFORMATTED"] },
    find: (step) => findRetypingGains(step, "class"),
  },
]
