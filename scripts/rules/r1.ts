/** R1: fields and union members only grow. */

import type { Declaration, Surface } from "../chapter/surface.ts"
import ts from "../course/typescript.js"
import { findRetypingGains } from "./gains.ts"
import { GAINS, type Rule, TEXT, type Violation, violationsOf } from "./rule.ts"

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
      const word = /@ts-[\w-]+/i.exec(next.lines[line - 1] ?? "")?.[0]
      const message = {
        en: `${name} says ${word ?? "what silences the compiler"}`,
        zh: `${name} 里有 ${word ?? "让编译器闭嘴的注释"}`,
      }
      return { symbol: name, message, next: { file: next.file, line, end: line } }
    })
}

export const R1: Rule[] = [
  {
    id: "R1-FIELD-GONE",
    article: "R1",
    sentence: {
      en: "Types only grow: a field that was introduced is there, under its name, in every later chapter.",
      zh: "类型只增不减：引入过的字段，后面每一章都在，名字不变。",
    },
    fix: {
      en: "Put the field back. A later chapter may add fields; only the three upgrades of U1 take one away.",
      zh: "把字段放回去。后面的章节可以加字段，只有 U1 的三处升级能拿掉。",
    },
    scope: "pair",
    lifted: "U1",
    explains: { member: [...GAINS, "R8-REFORMATTED"] },
    find: (step) =>
      violationsOf(step, "field-gone", ({ symbol }) => ({
        en: `the field ${symbol} is gone`,
        zh: `字段 ${symbol} 不见了`,
      })),
  },
  {
    id: "R1-FIELD-CHANGED",
    article: "R1",
    sentence: {
      en: "A field that was introduced keeps its text: its type, and whether it is optional or readonly.",
      zh: "引入过的字段一字不改：类型不变，可不可选、只不只读也不变。",
    },
    fix: {
      en: "Give the field its old text again: same type, not optional, not readonly unless it was. Add a new field for something new.",
      zh: "把字段改回原来的写法：类型不变，原来没有的 `?` 和 `readonly` 不加。要新东西，就加新字段。",
    },
    scope: "pair",
    lifted: "U1",
    about: "text",
    explains: { member: GAINS },
    find: (step) =>
      violationsOf(step, "field-changed", ({ symbol, name, from, to }) => ({
        en: `the ${symbol === name ? "type" : "field"} ${symbol} was "${from}" and is "${to}"`,
        zh: `${symbol === name ? "类型" : "字段"} ${symbol} 原来是 "${from}"，现在是 "${to}"`,
      })),
  },
  {
    id: "R1-MEMBER-GONE",
    article: "R1",
    sentence: {
      en: "Unions only grow: a member that was introduced is there, as it was, in every later chapter.",
      zh: "联合类型只增不减：引入过的成员，后面每一章都在，写法不变。",
    },
    fix: {
      en: "Put the member back into the union; whoever handles it relies on it.",
      zh: "把这个成员放回联合类型；处理它的代码都指望它在。",
    },
    scope: "pair",
    lifted: "nothing",
    explains: { member: [...GAINS, "R8-REFORMATTED"] },
    find: (step) =>
      violationsOf(step, "union-member-gone", ({ name, from }) => ({
        en: `the union ${name} has lost its member ${from}`,
        zh: `联合类型 ${name} 少了成员 ${from}`,
      })),
  },
  {
    id: "R1-GAIN",
    article: "R1",
    sentence: {
      en: "What a type gains leaves alone what it had: no second field or tag of that name, nothing that holds for all of its fields.",
      zh: "类型新增的东西不动原有的：不再来一个同名字段或标签，也不来管住所有字段的东西。",
    },
    fix: {
      en: "Give the new field or member a name of its own; a new overload stands behind the old ones.",
      zh: "给新字段或新成员起一个自己的名字；新的重载放在旧的后面。",
    },
    scope: "pair",
    lifted: "nothing",
    explains: { member: ["R8-REFORMATTED"] },
    find: (step) => findRetypingGains(step, "type"),
  },
  {
    id: "R1-ANY",
    article: "R1",
    sentence: {
      en: "No type of the core is `any`, and no comment silences the compiler: either accepts whatever the other rules forbid.",
      zh: "核心里没有 `any`，也没有让编译器闭嘴的注释：它们会放过其他规则禁止的一切。",
    },
    fix: {
      en: "Write the type, or `unknown` and a check; take the comment out.",
      zh: "写出类型，或者用 `unknown` 再加检查；删掉那句注释。",
    },
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
              message: { en: `${declaration.name} says any`, zh: `${declaration.name} 里写了 any` },
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
