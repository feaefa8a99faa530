/** R2: class members only grow. */
import { findRetypingGains } from "./gains.ts"
import { declaresWeld, GAINS, type Rule, violationsOf } from "./rule.ts"

const SENTENCE = "A class keeps its members; later chapters add to them."
const SENTENCE_ZH = "类的成员都留着；后面的章节只往里加。"

export const R2: Rule[] = [
  {
    id: "R2-MEMBER-GONE",
    article: "R2",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Put the member back. A class may get more members and never fewer.",
    scope: "pair",
    lifted: "U1",
    explains: { member: [...GAINS, "R8-REFORMATTED"] },
    find: (step) => violationsOf(step, "class-member-gone", ({ symbol }) => `the member ${symbol} is gone`),
  },
  {
    id: "R2-MEMBER-CHANGED",
    article: "R2",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fixForReader:
      "Give the member its old text again; what the chapter adds to it, if anything, is in the chapter's book.",
    fix: "Give the member its old text again, or declare it as a weld in scripts/course/manifest.ts, with the reason.",
    scope: "pair",
    lifted: "weld",
    about: "text",
    explains: { member: GAINS },
    find: (step) =>
      violationsOf(step, "class-member-changed", ({ symbol }) => `the member ${symbol} has another text`).filter(
        ({ symbol }) => !declaresWeld(step, symbol),
      ),
  },
  {
    id: "R2-SIGNATURE",
    article: "R2",
    sentence: "A welded member keeps its name, its parameters and what it returns.",
    sentenceZh: "被接入的成员，名字、参数和返回类型都不变。",
    fix: "Give the member its old signature again; only an upgrade under U1 may change one.",
    scope: "pair",
    lifted: "U1",
    about: "text",
    find: (step) =>
      violationsOf(step, "class-member-changed", ({ symbol }) => `the weld ${symbol} has another signature`).filter(
        ({ symbol }) =>
          declaresWeld(step, symbol) &&
          step.changes.some((change) => change.symbol === symbol && change.breaks !== undefined),
      ),
  },
  {
    id: "R2-GAIN",
    article: "R2",
    sentence: "What a class gains leaves alone what it had: no second member of that name, and it is made as before.",
    sentenceZh: "类新增的东西不动原有的：不再来一个同名成员，创建的方式也不变。",
    fix: "Give the new member a name of its own; what a constructor takes besides is optional.",
    scope: "pair",
    lifted: "nothing",
    explains: { member: ["R8-REFORMATTED"] },
    find: (step) => findRetypingGains(step, "class"),
  },
]
