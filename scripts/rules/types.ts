/** Types and signatures as others see them, in one spelling. */

import { withoutStyle } from "../chapter/surface.ts"
import { nameText } from "../chapter/syntax.ts"
import ts from "../course/typescript.js"

/** A member as others see it: its kind, name and type. */
export function memberOf(node: ts.TypeElement | ts.ClassElement): string {
  const name = ts.isConstructorDeclaration(node) ? "constructor" : (nameText(node.name) ?? node.name?.getText() ?? "")
  const isStatic =
    ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
  const kind = `${isStatic ? "static " : ""}${ts.isGetAccessor(node) ? "get " : ts.isSetAccessor(node) ? "set " : ""}`
  if (ts.isFunctionLike(node)) return `${kind}${name}${signatureOf(node)}`
  const { type, questionToken } = node as ts.PropertySignature
  return `${kind}${name}${questionToken ? "?" : ""}: ${typeOf(type)}`
}

/** A type without what makes no difference: comments, the order of fields and alternatives, the names of parameters. */
export function typeOf(node: ts.TypeNode | undefined): string {
  if (node === undefined) return ""
  if (ts.isLiteralTypeNode(node) && ts.isStringLiteralLike(node.literal)) return JSON.stringify(node.literal.text)
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

/** A signature as a caller sees it: the names of parameters make no difference. */
export function signatureOf({ parameters, type }: ts.SignatureDeclaration): string {
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
