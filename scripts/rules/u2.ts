/** U2: a name has one meaning in the whole course. */
import ts from "typescript"
import { type Declaration, type Surface, withoutStyle } from "../chapter/surface.ts"
import { CHAPTERS } from "../course/manifest.ts"
import { LANGUAGE } from "./language.ts"
import { spotAt } from "./r7.ts"
import { placeOf, type Rule, TEXT, type Violation } from "./rule.ts"

/** Every name that a core of the course exports, with the chapter that brings it. */
const COURSE = new Map(CHAPTERS.flatMap((chapter) => chapter.parts.map((part) => [part, chapter.id] as const)))

/** The name that a node gives to something, if it does: in its own file, or for those who import it. */
function nameGiven(node: ts.Node): string | undefined {
  const isAlias = ts.isExportSpecifier(node) && node.propertyName !== undefined
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

/** The chapter in whose section a node of the core stands. The demo is behind all of them. */
function sectionAt({ core }: Surface, node: ts.Node): string {
  const around = core.find(({ nodes }) =>
    nodes.some((statement) => node.pos >= statement.pos && node.end <= statement.end),
  )
  return around?.section ?? "s99"
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
    find: ({ next, chapter }) => {
      const violations: Violation[] = []
      const visit = (node: ts.Node): void => {
        const name = nameGiven(node)
        const own = next.core.find(({ names }) => name !== undefined && names.includes(name))
        const message = name === undefined ? undefined : secondMeaning(name, own)
        const isFirst = own?.nodes.some((statement) => statement === statementOf(node)) && !LANGUAGE.has(name ?? "")
        // Of a new part and an old name, the part is the newcomer.
        const isOld = own?.section === chapter.id && sectionAt(next, node) < chapter.id
        const spot = isOld && own !== undefined ? spotAt(next, own.node) : spotAt(next, node)
        if (name !== undefined && message !== undefined && !isFirst)
          violations.push({ symbol: name, message, next: spot })
        ts.forEachChild(node, visit)
      }
      ts.forEachChild(next.source, visit)
      return violations
    },
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
