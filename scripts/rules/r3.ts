/** R3 and U1: three upgrades may break, each in its chapter, and each is declared. */

import type { Surface } from "../chapter/surface.ts"
import type { Text } from "../course/language.ts"
import type { Upgrade } from "../course/manifest.ts"
import ts from "../course/typescript.js"
import { declaredUpgrade, isU1, type Rule, type Step, spotAt, U1, type Violation } from "./rule.ts"

function manifestFault(upgrade: Upgrade, message: Text, { next }: Step): Violation {
  const declaration = next.core.find((candidate) => candidate.name === upgrade.name.split(".")[0])
  const spot = declaration === undefined ? undefined : { file: next.file, line: declaration.line, end: declaration.end }
  return { symbol: upgrade.name, message, next: spot }
}

/** Whether the member that the upgrade promises stands in the new chapter. */
function arrived(upgrade: Upgrade, { next }: Step): boolean {
  const members = next.core.find((declaration) => declaration.name === upgrade.name.split(".")[0])?.members ?? []
  return members
    .flatMap((member) => [member, ...member.fields])
    .some((member) => (member.signature || member.text) === upgrade.to)
}

function happened(upgrade: Upgrade, step: Step): boolean {
  const broke = step.changes.some((change) => declaredUpgrade(step, change) === upgrade)
  return broke && arrived(upgrade, step)
}

export const R3: Rule[] = [
  {
    id: "R3-SILENT",
    article: "R3",
    sentence: {
      en: "An upgrade that has happened is declared, in the chapter that U1 names.",
      zh: "发生了的升级都要列明，列在 U1 指定的那一章。",
    },
    fixForReader: {
      en: "Give it its old form again; the three changes that break something are in the books of s03, s07 and s11.",
      zh: "改回原来的形式；会破坏旧代码的改动只有三处，分别在 s03、s07、s11 的书里。",
    },
    fix: {
      en: "Declare the upgrade in scripts/course/manifest.ts, with its old and new form and the reason.",
      zh: "在 scripts/course/manifest.ts 里列明这处升级：旧形式、新形式、理由。",
    },
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: (step) =>
      step.changes
        .filter((change) => change.from !== undefined && isU1(step, change))
        .filter(({ symbol }) => !step.chapter.upgrades.some(({ name }) => name === symbol))
        .map(({ symbol, old, next }) => ({
          symbol,
          message: { en: `the upgrade of ${symbol} is not declared`, zh: `${symbol} 升级了，却没有列明` },
          old,
          next,
        })),
  },
  {
    id: "R3-FOREIGN",
    article: "R3",
    sentence: {
      en: "Only the three upgrades of U1 may break what was there, in s03, s07 and s11; there is no fourth.",
      zh: "只有 U1 的三处升级可以破坏已有的东西，分别在 s03、s07、s11；没有第四处。",
    },
    fix: {
      en: "Make it an addition: a new name beside the old one. The constitution allows no fourth upgrade.",
      zh: "改成新增：在旧名字旁边加一个新名字。宪法不允许第四处升级。",
    },
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    explains: { symbol: ["R3-UNUSED"] },
    find: (step) =>
      step.chapter.upgrades
        .filter(
          ({ name, to }) => !U1.some((row) => row.chapter === step.chapter.id && row.name === name && row.to.test(to)),
        )
        .map((upgrade) =>
          manifestFault(
            upgrade,
            {
              en: `${step.chapter.id} declares an upgrade of ${upgrade.name}, which U1 does not know`,
              zh: `${step.chapter.id} 列了 ${upgrade.name} 的升级，U1 里没有这一处`,
            },
            step,
          ),
        ),
  },
  {
    id: "R3-UNUSED",
    article: "R3",
    sentence: {
      en: "A declared upgrade has happened, exactly as declared.",
      zh: "列明的升级确实发生了，而且和列明的一模一样。",
    },
    fixForReader: {
      en: "Make the change that the book of this chapter announces.",
      zh: "按这一章的书，把该改的改掉。",
    },
    fix: {
      en: "Take the upgrade out of scripts/course/manifest.ts, or write there what really changed.",
      zh: "从 scripts/course/manifest.ts 里去掉这处升级，或者写上实际改了什么。",
    },
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: (step) =>
      step.old === undefined
        ? []
        : step.chapter.upgrades
            // What is declared twice has happened once; that is for the manifest's own rule.
            .filter(({ name }, index, all) => all.findIndex((other) => other.name === name) === index)
            .filter((upgrade) => !happened(upgrade, step))
            .map((upgrade) =>
              manifestFault(
                upgrade,
                {
                  en: `the declared upgrade of ${upgrade.name} did not happen as declared`,
                  zh: `列明的 ${upgrade.name} 升级，没有照列明的样子发生`,
                },
                step,
              ),
            ),
  },
  {
    id: "R3-BODY",
    article: "R3",
    sentence: {
      en: "An upgrade changes the form of a method: each statement of the old body is still there, in its order.",
      zh: "升级改的是方法的形式：旧方法体里的每条语句都还在，顺序不变。",
    },
    fixForReader: {
      en: "Put the old statements of the body back; what the chapter adds stands in front of them.",
      zh: "把方法体里原来的语句放回去；这一章加的放在它们前面。",
    },
    fix: {
      en: "Put the old statements back, to the byte; what the upgrade adds is statements of its own.",
      zh: "把原来的语句一字不差地放回去；升级加的是另外的语句。",
    },
    scope: "pair",
    lifted: "nothing",
    about: "text",
    find: (step) => step.chapter.upgrades.flatMap((upgrade) => findLostStatements(upgrade, step)),
  },
]

/** The first statement of the old body of an upgraded method that its new body does not have. */
function findLostStatements({ name }: Upgrade, { old, next }: Step): Violation[] {
  const [owner, member] = name.split(".")
  const bodyIn = (surface: Surface | undefined): readonly ts.Statement[] | undefined => {
    const members = surface?.core.find((declaration) => declaration.name === owner)?.members ?? []
    const found = members.find((candidate) => candidate.name === member)?.node
    return found !== undefined && ts.isMethodDeclaration(found) ? found.body?.statements : undefined
  }
  const [was, is] = [bodyIn(old), bodyIn(next)]
  if (old === undefined || was === undefined || is === undefined) return []
  const left = is.map((statement) => statement.getText())
  const lost = was.find((statement) => {
    const place = left.indexOf(statement.getText())
    left.splice(0, place + 1)
    return place === -1
  })
  if (lost === undefined) return []
  const [first] = is
  const statement = lost.getText().replaceAll(/\s+/g, " ")
  const message = {
    en: `the upgrade of ${name} has lost a statement of the old body: \`${statement}\``,
    zh: `${name} 升级时丢了旧方法体里的一条语句：\`${statement}\``,
  }
  return [{ symbol: name, message, old: spotAt(old, lost), ...(first && { next: spotAt(next, first) }) }]
}
