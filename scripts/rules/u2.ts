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

/** A member as others see it: its kind, name and type. */
function memberOf(node: ts.TypeElement | ts.ClassElement): string {
  const name = ts.isConstructorDeclaration(node) ? "constructor" : (node.name?.getText() ?? "")
  const isStatic =
    ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
  const kind = `${isStatic ? "static " : ""}${ts.isGetAccessor(node) ? "get " : ts.isSetAccessor(node) ? "set " : ""}`
  if (ts.isFunctionLike(node)) return `${kind}${name}${signatureOf(node)}`
  const { type, questionToken } = node as ts.PropertySignature
  return `${kind}${name}${questionToken ? "?" : ""}: ${typeOf(type)}`
}

/** A type without what makes no difference: comments, the order of fields and alternatives, the names of parameters. */
function typeOf(node: ts.TypeNode | undefined): string {
  if (node === undefined) return ""
  if (ts.isParenthesizedTypeNode(node)) return typeOf(node.type)
  if (ts.isFunctionTypeNode(node)) return signatureOf(node)
  if (ts.isTypeLiteralNode(node)) return `{ ${node.members.map(memberOf).sort().join("; ")} }`
  if (ts.isUnionTypeNode(node)) return node.types.map(typeOf).sort().join(" | ")
  if (ts.isIntersectionTypeNode(node)) return node.types.map(typeOf).sort().join(" & ")
  if (ts.isArrayTypeNode(node))
    return `${/ /.test(typeOf(node.elementType)) ? `(${typeOf(node.elementType)})` : typeOf(node.elementType)}[]`
  if (ts.isTypeReferenceNode(node) && node.typeArguments !== undefined)
    return `${node.typeName.getText()}<${node.typeArguments.map(typeOf).join(", ")}>`
  return withoutStyle(node)
}

function signatureOf({ parameters, type }: ts.SignatureDeclaration): string {
  const types = parameters.map(({ dotDotDotToken, questionToken, initializer, type: given }) => {
    const known = given === undefined && initializer !== undefined ? literalType(initializer) : typeOf(given)
    return `${dotDotDotToken ? "..." : ""}${known}${questionToken || initializer ? "?" : ""}`
  })
  return `(${types.join(", ")}) => ${typeOf(type)}`
}

/** The type that a parameter without one has by its default. */
function literalType(node: ts.Expression): string {
  if (ts.isNumericLiteral(node)) return "number"
  if (ts.isStringLiteralLike(node)) return "string"
  return /^(true|false)$/.test(node.getText()) ? "boolean" : "a type that is not written"
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
