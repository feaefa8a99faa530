/** U2: a name has one meaning in the whole course. */

import { coreOf } from "../chapter/scopes.ts"
import type { Declaration, Surface } from "../chapter/surface.ts"
import { CHAPTERS } from "../course/manifest.ts"
import ts from "../course/typescript.js"
import { LANGUAGE } from "./language.ts"
import { findReplaced } from "./replaced.ts"
import { placeOf, type Rule, spotAt, TEXT, type Violation } from "./rule.ts"
import { memberOf, signatureOf, typeOf } from "./types.ts"

/** Every name that a core of the course exports, with the chapter that brings it. */
const COURSE = new Map(CHAPTERS.flatMap((chapter) => chapter.parts.map((part) => [part, chapter.id] as const)))

/** The name that a node gives to something, if it does: in its own file, or for those who import it. */
function nameGiven(node: ts.Node): string | undefined {
  const isAlias = ts.isExportSpecifier(node) && node.propertyName !== undefined
  if (ts.isLabeledStatement(node)) return node.label.text
  if (!isAlias && !ts.isNamespaceExport(node) && !isNaming(node)) return undefined
  const { name } = node
  if (name === undefined || ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name)) return undefined
  return ts.isIdentifier(name) || ts.isStringLiteral(name) ? name.text : name.getText()
}

/** Whether a node declares a name. */
function isNaming(node: ts.Node): node is ts.NamedDeclaration {
  return (
    ts.isImportEqualsDeclaration(node) ||
    ts.isNamespaceExportDeclaration(node) ||
    ts.isTypeParameterDeclaration(node) ||
    ts.isImportClause(node) ||
    ts.isImportSpecifier(node) ||
    ts.isNamespaceImport(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isBindingElement(node) ||
    ts.isNamedTupleMember(node) ||
    ts.isClassExpression(node) ||
    ts.isFunctionExpression(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isEnumDeclaration(node) ||
    ts.isModuleDeclaration(node)
  )
}

/** A declaration itself, or the statement that a constant is declared in. */
function statementOf(node: ts.Node): ts.Node {
  const isPart =
    ts.isVariableDeclaration(node) ||
    ts.isVariableDeclarationList(node) ||
    ts.isBindingElement(node) ||
    ts.isObjectBindingPattern(node) ||
    ts.isArrayBindingPattern(node)
  return isPart ? statementOf(node.parent) : node
}

/** What others see of a declaration: fields, union members, public members, the types of parameters and of what is returned. */
function shapeOf({ node }: Declaration): string[] {
  if (ts.isFunctionDeclaration(node)) return [`${node.asteriskToken ? "*" : ""}${signatureOf(node)}`]
  if (ts.isTypeAliasDeclaration(node)) {
    const members = ts.isUnionTypeNode(node.type) ? [...node.type.types] : [node.type]
    return members.flatMap((type) =>
      ts.isTypeLiteralNode(type) && members.length === 1 ? type.members.map(memberOf) : typeOf(type),
    )
  }
  if (ts.isInterfaceDeclaration(node)) return node.members.map(memberOf)
  if (!ts.isClassDeclaration(node)) return []
  const isHidden = (member: ts.ClassElement): boolean =>
    member.name?.getText().startsWith("#") === true || isPrivate(member)
  return node.members.filter((member) => !isHidden(member)).map(memberOf)
}

function isPrivate(node: ts.Node): boolean {
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
}

/** What is wrong with giving this name to something else, if anything is. */
function secondMeaning(name: string, own: Declaration | undefined): string | undefined {
  const chapter = COURSE.get(name)
  if (LANGUAGE.has(name))
    return `${name} is a name of the language, which the core relies on, and is declared to mean something else`
  if (own !== undefined)
    return `${name} is a part of ${own.section || "the core"}, and is declared a second time to mean something else`
  return chapter && `${name} is declared outside of the core, and ${chapter} claims this name for a part of it`
}

/** A second meaning of a name, at the newcomer of the two: of a new part and a name in old code, the part is the newcomer. */
function findSecondMeaning(next: Surface, node: ts.Node, name: string, isCourse: boolean): Violation[] {
  const own = next.core.find(({ names }) => names.includes(name))
  const around = coreOf(next, node)
  if (own?.nodes.some((statement) => statement === statementOf(node)) && !LANGUAGE.has(name)) return []
  const isOld = around !== undefined && own !== undefined && around.section < own.section
  if (isOld && own.section === next.chapter.id) {
    const line = next.source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    const message = `the part ${name} of ${own.section} is called like a local name in ${around.name} of ${around.section}, at line ${line}`
    return [{ symbol: name, message, next: spotAt(next, own.node) }]
  }
  // What old code calls its own is found once, in the chapter whose part takes the name.
  const isClaimed = own === undefined && around !== undefined && (COURSE.get(name) ?? "") > next.chapter.id
  const message = isCourse && isClaimed && !LANGUAGE.has(name) ? undefined : secondMeaning(name, own)
  return message === undefined ? [] : [{ symbol: name, message, next: spotAt(next, node) }]
}

export const U2: Rule[] = [
  {
    id: "U2-SECOND-MEANING",
    article: "U2",
    sentence:
      "A name that a core exports, or uses of the language, means the same in every chapter; nothing else is called by it.",
    sentenceZh: "核心导出的名字、核心用到的语言自带的名字，在每一章里都是同一个意思；别的东西不叫这个名字。",
    fix: "Choose another name for the newcomer of the two; a part of a chapter stands in its core, above the banner of the demo.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next, course }) => {
      const violations: Violation[] = []
      const visit = (node: ts.Node): void => {
        const name = nameGiven(node)
        if (name !== undefined) violations.push(...findSecondMeaning(next, node, name, course === undefined))
        ts.forEachChild(node, visit)
      }
      ts.forEachChild(next.source, visit)
      return violations
    },
  },
  {
    id: "U2-REPLACED",
    article: "U2",
    sentence:
      "A name means the same at any moment: nothing is put in the place of what the core declares or what all code shares, by the core or by the demo.",
    sentenceZh: "一个名字在任何时刻都是同一个意思：核心声明的、所有代码共用的东西，核心和演示都不在运行时替换。",
    fix: "Make something new beside it, and hand that on: an object of one's own, an option, a class that holds the old one.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next }) => findReplaced(next),
  },
  {
    id: "U2-OTHER-SHAPE",
    article: "U2",
    sentence: "What stands for a chapter gives the chapter's own names the shape that they have in the course.",
    sentenceZh: "自己写的一章里，这一章的名字和课程里的形状一样：字段、成员、参数和返回值。",
    fixForReader: "Give it the shape that the chapter's book shows.",
    fix: "Give it the shape that it has in the course; npm run diff -- sNN shows it.",
    scope: "course",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ chapter, next, course }) =>
      next.core.flatMap((declaration): Violation[] => {
        const { name } = declaration
        const model = chapter.parts.includes(name) ? course?.core.find((other) => other.name === name) : undefined
        if (model === undefined) return []
        const [is, should] = [shapeOf(declaration), shapeOf(model)]
        const lacks = should.find((part) => !is.includes(part))
        const extra = is.find((part) => !should.includes(part))
        if (model.kind === declaration.kind && lacks === undefined && extra === undefined) return []
        const kinds = model.kind === declaration.kind ? undefined : `a ${model.kind}, got a ${declaration.kind}`
        const message = `${name} has another shape than in the course: expected ${kinds ?? `${lacks ?? "no more"}, got ${extra ?? "less"}`}`
        return [{ symbol: name, message, next: placeOf(next, declaration) }]
      }),
  },
]
