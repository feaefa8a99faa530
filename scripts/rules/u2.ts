/** U2: a name has one meaning in the whole course. */
import ts from "typescript"
import { CHAPTERS } from "../manifest.ts"
import { type Declaration, withoutStyle } from "../surface.ts"
import { spotAt } from "./r7.ts"
import { type Fault, placeOf, type Rule } from "./rule.ts"

/** Every name that a core of the course exports. */
const COURSE = CHAPTERS.flatMap((chapter) => chapter.parts)

/** Whether a node gives a name to something. */
function isNaming(node: ts.Node): node is ts.NamedDeclaration {
  return (
    ts.isTypeParameterDeclaration(node) ||
    ts.isImportClause(node) ||
    ts.isImportSpecifier(node) ||
    ts.isNamespaceImport(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isBindingElement(node) ||
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
  return ts.isVariableDeclaration(node) ? node.parent.parent : node
}

/** What others see of a declaration: fields, union members, public members, the types of parameters and of what is returned. */
function shapeOf({ node, members }: Declaration): string[] {
  if (ts.isFunctionDeclaration(node)) return [signatureOf(node)]
  return members.flatMap((member) => {
    const { node: part } = member
    const hidden = ts.isClassElement(part) && (member.name.startsWith("#") || isPrivate(part))
    if (hidden) return []
    const shown = ts.isFunctionLike(part) ? `${member.name}${signatureOf(part)}` : withoutStyle(part)
    return member.fields.length > 0
      ? member.fields.map((field) => `${member.name}: ${withoutStyle(field.node)}`)
      : [shown]
  })
}

function signatureOf({ parameters, type }: ts.SignatureDeclaration): string {
  const types = parameters.map((parameter) => {
    const mark = parameter.questionToken || parameter.initializer ? "?" : ""
    return `${mark}${parameter.type === undefined ? "?" : withoutStyle(parameter.type)}`
  })
  return `(${types.join(", ")}) => ${type === undefined ? "" : withoutStyle(type)}`
}

function isPrivate(node: ts.Node): boolean {
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
}

export const U2: Rule[] = [
  {
    id: "U2-SECOND-MEANING",
    article: "U2",
    sentence:
      "A name that a core exports is declared once and means the same in every chapter; nothing else is called by it.",
    sentenceZh: "核心导出的名字只声明一次，在每一章里都是同一个意思；别的东西不叫这个名字。",
    fix: "Choose another name for the second thing; a part of a chapter stands in its core, above the banner of the demo.",
    scope: "chapter",
    lifted: "nothing",
    find: ({ next }) => {
      const dictionary = new Set([...COURSE, ...next.core.map((declaration) => declaration.name)])
      const inCore = (name: string): boolean => next.core.some((declaration) => declaration.name === name)
      const faults: Fault[] = []
      const seen = new Set<string>()
      const visit = (node: ts.Node): void => {
        const name = isNaming(node) ? node.name?.getText() : undefined
        if (name !== undefined && dictionary.has(name)) {
          const first =
            !seen.has(name) &&
            next.core.some((declaration) => declaration.name === name && declaration.node === statementOf(node))
          if (!first)
            faults.push({
              symbol: name,
              message: inCore(name)
                ? `${name} is declared a second time, with a meaning of its own`
                : `${name} is declared outside of the core, and the course has this name for a part of it`,
              next: spotAt(next, node),
            })
          seen.add(name)
        }
        ts.forEachChild(node, visit)
      }
      ts.forEachChild(next.source, visit)
      return faults
    },
  },
  {
    id: "U2-OTHER-SHAPE",
    article: "U2",
    sentence: "What stands for a chapter gives the chapter's own names the shape that they have in the course.",
    sentenceZh: "自己写的一章里，这一章的名字和课程里的形状一样：字段、成员、参数和返回值。",
    fix: "Give it the shape that it has in the course; npm run diff -- sNN shows it.",
    scope: "course",
    lifted: "nothing",
    find: ({ chapter, next, course }) =>
      next.core.flatMap((declaration): Fault[] => {
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
