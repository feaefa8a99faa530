/** What a type can be, form by form, as far as the text of a chapter says it: named types of the core are looked up, and nothing else is. */

import type { Declaration } from "../chapter/surface.ts"
import { nameText } from "../chapter/syntax.ts"
import type { Text } from "../course/language.ts"
import ts from "../course/typescript.js"
import { typeOf } from "./types.ts"

/** One form of a type. */
export type Form = {
  /** The same for two forms that are the same. */
  key: string
  /** A record has fields; a word is one value; wide takes in many; other is a function or a list; hidden is what the text does not say. */
  kind: "record" | "word" | "wide" | "other" | "hidden"
  fields: ReadonlyMap<string, ts.TypeNode | undefined>
}

/** The types of a core, by their names. */
export type Types = ReadonlyMap<string, Declaration>

const NONE: Form["fields"] = new Map()

/** The forms of a type: of a union one for each member, of `never` none. */
export function formsOf(node: ts.TypeNode, types: Types, around: readonly string[] = []): Form[] {
  const form = (kind: Form["kind"], fields = NONE): Form[] => [{ key: typeOf(node), kind, fields }]
  const inner = (type: ts.TypeNode): Form[] => formsOf(type, types, around)
  if (ts.isParenthesizedTypeNode(node)) return inner(node.type)
  if (ts.isUnionTypeNode(node)) return node.types.flatMap(inner)
  if (ts.isIntersectionTypeNode(node)) return node.types.map(inner).reduce(joinForms)
  if (ts.isTypeLiteralNode(node)) return form(node.members.length === 0 ? "wide" : "record", fieldsOf(node.members))
  if (ts.isTypeReferenceNode(node))
    return formsOfName(node.typeName, node.typeArguments, types, around) ?? form("hidden")
  if (ts.isExpressionWithTypeArguments(node))
    return formsOfName(node.expression, node.typeArguments, types, around) ?? form("hidden")
  const { kind } = node
  if (kind === ts.SyntaxKind.NeverKeyword) return []
  if (kind === ts.SyntaxKind.BooleanKeyword)
    return ["false", "true"].map((key) => ({ key, kind: "word", fields: NONE }))
  if (WIDE.has(kind)) return form("wide")
  if (HIDDEN.has(kind)) return form("hidden")
  const isWord = ts.isLiteralTypeNode(node) || kind === ts.SyntaxKind.UndefinedKeyword
  return form(isWord ? "word" : "other")
}

const WIDE: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AnyKeyword,
  ts.SyntaxKind.BigIntKeyword,
  ts.SyntaxKind.NumberKeyword,
  ts.SyntaxKind.ObjectKeyword,
  ts.SyntaxKind.StringKeyword,
  ts.SyntaxKind.SymbolKeyword,
  ts.SyntaxKind.TemplateLiteralType,
  ts.SyntaxKind.UnknownKeyword,
])

/** Types that are worked out of others. */
const HIDDEN: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.ConditionalType,
  ts.SyntaxKind.ImportType,
  ts.SyntaxKind.IndexedAccessType,
  ts.SyntaxKind.InferType,
  ts.SyntaxKind.MappedType,
  ts.SyntaxKind.TypeOperator,
  ts.SyntaxKind.TypeQuery,
])

function fieldsOf(members: readonly (ts.TypeElement | ts.ClassElement)[]): Form["fields"] {
  return new Map(
    members.flatMap((member) => {
      const name = nameText(member.name)
      return name === undefined ? [] : [[name, ts.isPropertySignature(member) ? member.type : undefined] as const]
    }),
  )
}

/** The forms of a type of the core; `Readonly` has those of what it is put around. Nothing for a name from elsewhere, or one that is being looked up. */
function formsOfName(
  named: ts.Node,
  given: readonly ts.TypeNode[] | undefined,
  types: Types,
  around: readonly string[],
): Form[] | undefined {
  const name = named.getText()
  if (name === "Readonly" && given?.[0] !== undefined) return formsOf(given[0], types, around)
  const found = types.get(name)?.node
  if (found === undefined || around.includes(name)) return undefined
  const inner = [...around, name]
  if (ts.isTypeAliasDeclaration(found))
    return found.typeParameters === undefined ? formsOf(found.type, types, inner) : undefined
  if (!ts.isInterfaceDeclaration(found) && !ts.isClassDeclaration(found)) return undefined
  const extended = (found.heritageClauses ?? []).flatMap((clause) =>
    clause.types.flatMap((type) => formsOf(type, types, inner)),
  )
  const fields = new Map([...extended.flatMap((form) => [...form.fields]), ...fieldsOf([...found.members])])
  return [{ key: name, kind: "record", fields }]
}

/** Which of two kinds what is joined of both has: the first of these. */
const JOINED: readonly Form["kind"][] = ["word", "record", "hidden", "wide"]

/** What is both: each form of one with each of the other. */
function joinForms(forms: readonly Form[], others: readonly Form[]): Form[] {
  return forms.flatMap((one) =>
    others.map((other): Form => {
      const kinds = [one.kind, other.kind]
      const kind = JOINED.find((candidate) => kinds.includes(candidate)) ?? "other"
      return { key: `${one.key} & ${other.key}`, kind, fields: new Map([...one.fields, ...other.fields]) }
    }),
  )
}

/** Why new forms do not stand beside the old ones by themselves, if they do not: somebody who tells the old ones apart has to be able to go on. */
export function whyNoFormOfItsOwn(forms: readonly Form[], olds: readonly Form[], types: Types): Text | undefined {
  if (forms.length === 0) return { en: "it is never there", zh: "它永远不会出现" }
  for (const form of forms) {
    const reason = whyNotApart(form, olds, types)
    if (reason !== undefined) return reason
  }
  return undefined
}

const TAKES_IN: Text = { en: "it takes in the other members", zh: "它把别的成员都包进去了" }

function whyNotApart(form: Form, olds: readonly Form[], types: Types): Text | undefined {
  if (olds.some(({ key }) => key === form.key)) return { en: "it is there already", zh: "已经有它了" }
  const records = olds.filter(({ kind }) => kind === "record")
  const isToldApart = olds.some(({ kind }) => kind === "word") || records.length > 0
  if (form.kind === "wide") return isToldApart || form.key === "unknown" ? TAKES_IN : undefined
  const tags = tagsOf(records, types)
  if (form.kind === "hidden")
    return isToldApart && (olds.length > records.length || tags.length > 0)
      ? { en: "the text does not say what it can be", zh: "从文本看不出它能是什么" }
      : undefined
  if (form.kind !== "record" || tags.length === 0) return undefined
  const own = tags.map((tag) => ({ tag, words: wordsOf(form.fields.get(tag), types) }))
  const clash = records.find((old) =>
    own.every(({ tag, words }) => {
      const known = wordsOf(old.fields.get(tag), types)
      return words.length === 0 || words.some((word) => known.includes(word))
    }),
  )
  if (clash === undefined) return undefined
  const { tag, words } = own.find((one) => one.words.length > 0) ?? { tag: tags[0], words: [] }
  if (words.length > 0)
    return {
      en: `a second member with ${tag}: ${words.join(" | ")}`,
      zh: `第二个 ${tag} 为 ${words.join(" | ")} 的成员`,
    }
  if (form.fields.has(tag ?? "")) return TAKES_IN
  return records.length > 1
    ? { en: `it has no ${tag}, by which the others are told apart`, zh: `它没有 ${tag}，而别的成员靠它区分` }
    : undefined
}

/** The fields by which records are told apart: those that are words in all of them. */
function tagsOf(records: readonly Form[], types: Types): string[] {
  const [first, ...others] = records
  const isTag = (form: Form, name: string): boolean => wordsOf(form.fields.get(name), types).length > 0
  return [...(first?.fields.keys() ?? [])].filter(
    (name) => records.length > 0 && [first as Form, ...others].every((form) => isTag(form, name)),
  )
}

/** By what records are told apart, each as often as there are forms that have it. */
export function taggedWords(forms: readonly Form[], types: Types): string[] {
  const records = forms.filter(({ kind }) => kind === "record")
  return tagsOf(records, types).flatMap((tag) =>
    records.flatMap(({ fields }) => wordsOf(fields.get(tag), types).map((word) => `${tag}: ${word}`)),
  )
}

/** The words that a field can be, if it can be nothing else. */
function wordsOf(type: ts.TypeNode | undefined, types: Types): string[] {
  const forms = type === undefined ? [] : formsOf(type, types)
  return forms.every(({ kind }) => kind === "word") ? forms.map(({ key }) => key) : []
}
