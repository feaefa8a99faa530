/** R1: fields and union members only grow. */

import type { Declaration, Surface } from "../chapter/surface.ts"
import ts from "../course/typescript.js"
import { findRetypingGains } from "./gains.ts"
import { GAINS, type Rule, TEXT, type Violation, violationsOf } from "./rule.ts"

const SENTENCE = "Once introduced, a field or a union member stays as it is; types only grow."
const SENTENCE_ZH = "字段和联合成员一旦引入就保持原样；类型只增不减。"

/** What the parser has noticed of comments that switch checks off for a line. */
type Directives = { commentDirectives?: readonly { range: ts.TextRange }[] }

/** Comments inside or above a declaration that switch the compiler's checks off. */
function findSilencers(next: Surface, { name, start, end }: Declaration): Violation[] {
  const previous = next.core.findLast((declaration) => declaration.end < start)
  const { commentDirectives = [] } = next.source as unknown as Directives
  const lines = commentDirectives.map(({ range }) => next.source.getLineAndCharacterOfPosition(range.end).line + 1)
  const whole = next.lines.findIndex((text) => /^\s*\/\/+\s*@ts-nocheck\b/i.test(text)) + 1
  return [...lines, whole]
    .filter((line) => line > (previous?.end ?? 0) && line <= end)
    .map((line) => {
      const word = /@ts-[\w-]+/i.exec(next.lines[line - 1] ?? "")?.[0] ?? "a comment that silences the compiler"
      return { symbol: name, message: `${name} says ${word}`, next: { file: next.file, line, end: line } }
    })
}

export const R1: Rule[] = [
  {
    id: "R1-FIELD-GONE",
    article: "R1",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Put the field back. A later chapter may add fields; only the three upgrades of U1 take one away.",
    scope: "pair",
    lifted: "U1",
    explains: { member: [...GAINS, "R8-REFORMATTED"] },
    find: (step) => violationsOf(step, "field-gone", ({ symbol }) => `the field ${symbol} is gone`),
  },
  {
    id: "R1-FIELD-CHANGED",
    article: "R1",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Give the field its old text again: same type, not optional, not readonly unless it was. Add a new field for something new.",
    scope: "pair",
    lifted: "U1",
    about: "text",
    explains: { member: GAINS },
    find: (step) =>
      violationsOf(step, "field-changed", ({ symbol, name, from, to }) => {
        return `the ${symbol === name ? "type" : "field"} ${symbol} was "${from}" and is "${to}"`
      }),
  },
  {
    id: "R1-MEMBER-GONE",
    article: "R1",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Put the member back into the union; whoever handles it relies on it.",
    scope: "pair",
    lifted: "nothing",
    explains: { member: [...GAINS, "R8-REFORMATTED"] },
    find: (step) =>
      violationsOf(step, "union-member-gone", ({ name, from }) => `the union ${name} has lost its member ${from}`),
  },
  {
    id: "R1-GAIN",
    article: "R1",
    sentence:
      "What a type gains leaves alone what it had: no second field or tag of that name, nothing that holds for all of its fields.",
    sentenceZh: "类型新增的东西不动原有的：不再来一个同名字段或标签，也不来管住所有字段的东西。",
    fix: "Give the new field or member a name of its own; a new overload stands behind the old ones.",
    scope: "pair",
    lifted: "nothing",
    explains: { member: ["R8-REFORMATTED"] },
    find: (step) => findRetypingGains(step, "type"),
  },
  {
    id: "R1-ANY",
    article: "R1",
    sentence:
      "No type of the core is `any`, and no comment silences the compiler: either accepts whatever the other rules forbid.",
    sentenceZh: "核心里没有 `any`，也没有让编译器闭嘴的注释：它们会放过其他规则禁止的一切。",
    fix: "Write the type, or `unknown` and a check; take the comment out.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next }) =>
      next.core.flatMap((declaration): Violation[] => {
        const violations = findSilencers(next, declaration)
        const visit = (node: ts.Node): void => {
          if (node.kind === ts.SyntaxKind.AnyKeyword) {
            const line = next.source.getLineAndCharacterOfPosition(node.getStart()).line + 1
            violations.push({
              symbol: declaration.name,
              message: `${declaration.name} says any`,
              next: { file: next.file, line, end: line },
            })
          }
          ts.forEachChild(node, visit)
        }
        for (const node of declaration.nodes) visit(node)
        return violations
      }),
  },
]
