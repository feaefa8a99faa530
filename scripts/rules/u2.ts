/** U2: a name has one meaning in the whole course. */

import { coreOf } from "../chapter/scopes.ts"
import type { Declaration, Surface } from "../chapter/surface.ts"
import { same, type Text } from "../course/language.ts"
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
function secondMeaning(name: string, own: Declaration | undefined): Text | undefined {
  const chapter = COURSE.get(name)
  if (LANGUAGE.has(name))
    return {
      en: `${name} is a name of the language, which the core relies on, and is declared to mean something else`,
      zh: `${name} 是语言自带的名字，核心要用它，这里却声明成了别的东西`,
    }
  if (own !== undefined)
    return {
      en: `${name} is a part of ${own.section || "the core"}, and is declared a second time to mean something else`,
      zh: `${name} 是${own.section ? ` ${own.section} ` : "核心"}的零件，这里又声明成了别的东西`,
    }
  return (
    chapter && {
      en: `${name} is declared outside of the core, and ${chapter} claims this name for a part of it`,
      zh: `${name} 声明在核心之外，而 ${chapter} 的核心里有个零件叫这个名字`,
    }
  )
}

/** A second meaning of a name, at the newcomer of the two: of a new part and a name in old code, the part is the newcomer. */
function findSecondMeaning(next: Surface, node: ts.Node, name: string, isCourse: boolean): Violation[] {
  const own = next.core.find(({ names }) => names.includes(name))
  const around = coreOf(next, node)
  if (own?.nodes.some((statement) => statement === statementOf(node)) && !LANGUAGE.has(name)) return []
  const isOld = around !== undefined && own !== undefined && around.section < own.section
  if (isOld && own.section === next.chapter.id) {
    const line = next.source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    const message = {
      en: `the part ${name} of ${own.section} is called like a local name in ${around.name} of ${around.section}, at line ${line}`,
      zh: `${own.section} 的零件 ${name}，和 ${around.section} 的 ${around.name} 第 ${line} 行的局部名字相同`,
    }
    return [{ symbol: name, message, next: spotAt(next, own.node) }]
  }
  // What old code calls its own is found once, in the chapter whose part takes the name.
  const isClaimed = own === undefined && around !== undefined && (COURSE.get(name) ?? "") > next.chapter.id
  const message = isCourse && isClaimed && !LANGUAGE.has(name) ? undefined : secondMeaning(name, own)
  return message === undefined ? [] : [{ symbol: name, message, next: spotAt(next, node) }]
}

const NO_MORE: Text = { en: "no more", zh: "没有更多" }
const LESS: Text = { en: "less", zh: "少了" }

export const U2: Rule[] = [
  {
    id: "U2-SECOND-MEANING",
    article: "U2",
    sentence: {
      en: "A name that a core exports, or uses of the language, means the same in every chapter; nothing else is called by it.",
      zh: "核心导出的名字、核心用到的语言自带的名字，在每一章里都是同一个意思；别的东西不叫这个名字。",
    },
    fix: {
      en: "Choose another name for the newcomer of the two; a part of a chapter stands in its core, above the banner of the demo.",
      zh: "两个里后来的那个换个名字；一章的零件放在核心里，演示的横幅上面。",
    },
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
    sentence: {
      en: "A name means the same at any moment: nothing is put in the place of what the core declares or what all code shares, by the core or by the demo.",
      zh: "一个名字在任何时刻都是同一个意思：核心声明的、所有代码共用的东西，核心和演示都不在运行时替换。",
    },
    fix: {
      en: "Make something new beside it, and hand that on: an object of one's own, an option, a class that holds the old one.",
      zh: "在旁边造一个新的，再把它交出去：自己的对象、一个选项、一个包着旧东西的类。",
    },
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next }) => findReplaced(next),
  },
  {
    id: "U2-OTHER-SHAPE",
    article: "U2",
    sentence: {
      en: "What stands for a chapter gives the chapter's own names the shape that they have in the course.",
      zh: "自己写的一章里，这一章的名字和课程里的形状一样：字段、成员、参数和返回值。",
    },
    fixForReader: {
      en: "Give it the shape that the chapter's book shows.",
      zh: "写成这一章的书里给出的形状。",
    },
    fix: {
      en: "Give it the shape that it has in the course; npm run diff -- sNN shows it.",
      zh: "写成课程里的形状；npm run diff -- sNN 可以看到。",
    },
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
        const [expected, got] =
          model.kind === declaration.kind
            ? [lacks === undefined ? NO_MORE : same(lacks), extra === undefined ? LESS : same(extra)]
            : [same(`a ${model.kind}`), same(`a ${declaration.kind}`)]
        const message = {
          en: `${name} has another shape than in the course: expected ${expected.en}, got ${got.en}`,
          zh: `${name} 的形状和课程里不一样：应该是 ${expected.zh}，实际是 ${got.zh}`,
        }
        return [{ symbol: name, message, next: placeOf(next, declaration) }]
      }),
  },
]
