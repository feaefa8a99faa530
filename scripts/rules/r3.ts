/** R3 and U1: three upgrades may break, each in its chapter, and each is declared. */

import type { Surface } from "../chapter/surface.ts"
import type { Upgrade } from "../course/manifest.ts"
import ts from "../course/typescript.js"
import { declaredUpgrade, isU1, type Rule, type Step, spotAt, U1, type Violation } from "./rule.ts"

const SENTENCE = "Only the three upgrades of U1 may break what was there, in s03, s07 and s11, and each is declared."
const SENTENCE_ZH = "只有 U1 的三处升级可以破坏已有的东西，分别在 s03、s07、s11，而且都要列明。"

function manifestFault(upgrade: Upgrade, message: string, { next }: Step): Violation {
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
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fixForReader:
      "Give it its old form again; the three changes that break something are in the books of s03, s07 and s11.",
    fix: "Declare the upgrade in scripts/course/manifest.ts, with its old and new form and the reason.",
    scope: "pair",
    lifted: "nothing",
    about: "manifest",
    find: (step) =>
      step.changes
        .filter((change) => change.from !== undefined && isU1(step, change))
        .filter(({ symbol }) => !step.chapter.upgrades.some(({ name }) => name === symbol))
        .map(({ symbol, old, next }) => ({ symbol, message: `the upgrade of ${symbol} is not declared`, old, next })),
  },
  {
    id: "R3-FOREIGN",
    article: "R3",
    sentence: SENTENCE,
    sentenceZh: SENTENCE_ZH,
    fix: "Make it an addition: a new name beside the old one. The constitution allows no fourth upgrade.",
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
            `${step.chapter.id} declares an upgrade of ${upgrade.name}, which U1 does not know`,
            step,
          ),
        ),
  },
  {
    id: "R3-UNUSED",
    article: "R3",
    sentence: "A declared upgrade has happened, exactly as declared.",
    sentenceZh: "列明的升级确实发生了，而且和列明的一模一样。",
    fixForReader: "Make the change that the book of this chapter announces.",
    fix: "Take the upgrade out of scripts/course/manifest.ts, or write there what really changed.",
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
              manifestFault(upgrade, `the declared upgrade of ${upgrade.name} did not happen as declared`, step),
            ),
  },
  {
    id: "R3-BODY",
    article: "R3",
    sentence: "An upgrade changes the form of a method: each statement of the old body is still there, in its order.",
    sentenceZh: "升级改的是方法的形式：旧方法体里的每条语句都还在，顺序不变。",
    fixForReader: "Put the old statements of the body back; what the chapter adds stands in front of them.",
    fix: "Put the old statements back, to the byte; what the upgrade adds is statements of its own.",
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
  const message = `the upgrade of ${name} has lost a statement of the old body: \`${lost.getText().replaceAll(/\s+/g, " ")}\``
  return [{ symbol: name, message, old: spotAt(old, lost), ...(first && { next: spotAt(next, first) }) }]
}
