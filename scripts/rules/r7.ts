/** R7: the core writes only through `Output` and `RuntimeMode`, and reaches nothing else either. */

import { findOuterUses, type OuterUse, type Use } from "../chapter/scopes.ts"
import type { Surface } from "../chapter/surface.ts"
import { foldText, isAccess, memberOf, nameText, rootOf, writesOf } from "../chapter/syntax.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import ts from "../course/typescript.js"
import { isListed, isShared, LANGUAGE, WAYS_BY_MEMBER, type Way, ZOD } from "./language.ts"
import { BY_NAME, memberTaken } from "./replaced.ts"
import { type Rule, spotAt, TEXT, type Violation, walkCore } from "./rule.ts"

/** The name of a member that a node reads, or by which one could be read: behind a dot, in brackets, in a pattern, as a key. */
function memberNamed(node: ts.Node): string | undefined {
  if (isAccess(node)) return memberOf(node)
  if (ts.isBindingElement(node))
    return ts.isObjectBindingPattern(node.parent) ? nameText(node.propertyName ?? node.name) : undefined
  if (!ts.isObjectLiteralElement(node) || !node.name) return undefined
  const name = nameText(node.name)
  // In a literal, this gives the new object its own prototype and reads nothing.
  return name === "__proto__" && ts.isPropertyAssignment(node) ? undefined : name
}

/** A text that stands by itself, and not for something to compare with: whoever has it may use it as a key. */
function textGiven(node: ts.Node): string | undefined {
  const { parent } = node
  const isPart = ts.isExpression(parent) && foldText(parent) !== undefined
  if (!ts.isExpression(node) || isPart || ts.isLiteralTypeNode(parent) || ts.isCaseClause(parent)) return undefined
  const isName = ts.isPropertyName(node) || ts.isElementAccessExpression(parent) || ts.isComputedPropertyName(parent)
  const isCompared = ts.isBinaryExpression(parent) && /^[!=]==?$/.test(parent.operatorToken.getText())
  const isList = ts.isArrayLiteralExpression(parent) && ts.isPropertyAccessExpression(parent.parent)
  const isAsked = isList && /^(includes|indexOf)$/.test((parent.parent as ts.PropertyAccessExpression).name.text)
  return (isName && parent && "name" in parent && parent.name === node) || isCompared || isAsked
    ? undefined
    : foldText(node)
}

/** Something that leads out of the program, by the text to show, and what to do about it if that is not the same for all. */
type Reach = { what: string; fix?: string }

/** What a node reaches for outside of the program without a name from outside. */
function wayOut(node: ts.Node, own: ReadonlySet<string>): Reach | undefined {
  if (node.kind === ts.SyntaxKind.DebuggerStatement) return { what: "a debugger" }
  if (ts.isMetaProperty(node))
    return node.keywordToken === ts.SyntaxKind.ImportKeyword ? { what: node.getText() } : undefined
  const isAmbient =
    ts.isStatement(node) &&
    ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)
  if (isAmbient) return { what: "something that it only declares", fix: AMBIENT }
  if (isAccess(node) && memberOf(node) === "getPrototypeOf" && !isPrototypeCopied(node.parent))
    return { what: "a prototype", fix: "Only `Object.create` may have it, for an object of the same kind." }
  const find = (name: string | undefined): Way | undefined =>
    WAYS_BY_MEMBER.find((way) => name !== undefined && way.member.test(name) && !(way.unlessOwn && own.has(name)))
  const text = textGiven(node)
  const [way, key] = [find(memberNamed(node)), find(text)]
  if (way === undefined && key !== undefined)
    return { what: `${key.what} by a text: as a key, "${text}" leads there`, fix: KEY }
  return way
}

const AMBIENT =
  "Write what it does, or take it as a parameter; a type or an interface is declared without the word `declare`."
const KEY =
  'To refuse a name, compare with it, as in `name === "constructor"` or `["constructor"].includes(name)`; take what is needed by its name.'

/** Whether what stands here is asked for a prototype that is compared, or goes straight into a new object. */
function isPrototypeCopied(call: ts.Node): boolean {
  if (!ts.isCallExpression(call)) return false
  const { parent } = call
  const isCreate = ts.isCallExpression(parent) && parent.expression.getText() === "Object.create"
  return isCreate || (ts.isBinaryExpression(parent) && /^[!=]==?$/.test(parent.operatorToken.getText()))
}

/** What a free name reaches for, if it is no plain part of the language. A part of the course that is missing is for R8 to name. */
function freeWay({ node }: Use, chapter: Chapter): Reach | undefined {
  const isPart = CHAPTERS.some(({ id, parts }) => id <= chapter.id && parts.includes(node.text))
  if (isPart) return undefined
  if (!LANGUAGE.has(node.text)) {
    const what = `${node.text}, which is declared nowhere and not on the list in scripts/rules/language.ts`
    return node.text === "hasOwnProperty" ? { what, fix: "Write `Object.hasOwn(value, name)`." } : { what }
  }
  if (!isShared(node.text)) return undefined
  const member = memberTaken(node)
  if (member === "" || (member !== undefined && isListed(node.text, member))) return undefined
  if (member === undefined) return { what: `all of ${node.text}`, fix: BY_NAME }
  return { what: `${node.text}.${member}, which is not on the list in scripts/rules/language.ts` }
}

/** The packages that a core may import, and from which chapter on. */
const ALLOWED = new Map([
  ["chalk", "s10"],
  ["zod", "s12"],
])

export const R7: Rule[] = [
  {
    id: "R7-CONSOLE",
    article: "R7",
    sentence:
      "The core writes through Output and RuntimeMode. Of what it does not declare it uses the language alone: no console, no process, neither clock nor chance.",
    sentenceZh:
      "核心只通过 Output 和 RuntimeMode 输出。不是自己声明的，只用语言本身：不碰 console，不碰 process，也不看时钟、不用随机数。",
    fix: "Write to the Output that the caller gave, take what is needed as a parameter, or move the line into the demo. What counts as the language stands in scripts/rules/language.ts.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next, chapter }) => {
      const own = new Set(
        next.core.flatMap(({ members }) => members.flatMap((one) => [one, ...one.fields])).map(({ name }) => name),
      )
      const free = findOuterUses(next).filter(({ declarations }) => declarations.length === 0)
      const shared = new Set<ts.Node>(free.map(({ node }) => node))
      const violations: Violation[] = []
      walkCore(next, (node, symbol) => {
        const roots = writesOf(node).map(({ object }) => rootOf(object))
        const changed = roots.find((root) => shared.has(root))
        const way = changed ? { what: `${changed.getText()}, to change it for all code` } : wayOut(node, own)
        if (way !== undefined) violations.push(reaching(next, symbol, way, node))
      })
      for (const use of free) {
        const way = freeWay(use, chapter)
        if (way !== undefined) violations.push(reaching(next, use.symbol, way, use.node))
      }
      return violations
    },
  },
  {
    id: "R7-DEMO",
    article: "R7",
    sentence: "The core uses nothing that the demo declares.",
    sentenceZh: "核心不用演示里声明的任何东西。",
    fix: "Take what the core needs as a parameter, or move the declaration into the core.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next }) => {
      const isDemo = (declaration: ts.Node): boolean =>
        next.demo.some((statement) => declaration.pos >= statement.pos && declaration.end <= statement.end)
      return findOuterUses(next)
        .filter(({ declarations }) => declarations.some(isDemo))
        .map(({ node, symbol }) => ({
          symbol,
          message: `${symbol} uses ${node.text} of the demo`,
          next: spotAt(next, node),
        }))
    },
  },
  {
    id: "R7-IMPORT",
    article: "R7",
    sentence: "The core imports nothing; from s10 on it may use chalk, from s12 on zod. No chapter imports another.",
    sentenceZh: "核心不导入任何东西；s10 起可以用 chalk，s12 起可以用 zod。章与章之间不互相导入。",
    fix: "Take what the core needs as a parameter, and import it in the demo only.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next, chapter }) => [
      ...findReferences(next),
      ...findInnerImports(next),
      ...next.imports.flatMap((declaration): Violation[] => {
        const specifier = (declaration.moduleSpecifier as ts.StringLiteral).text
        const spot = spotAt(next, declaration)
        if (NEIGHBOUR.test(specifier))
          return [{ symbol: specifier, message: `${chapter.id} imports ${specifier}`, next: spot }]
        if (HIDDEN_WAYS.test(specifier))
          return [
            {
              symbol: specifier,
              message: `${chapter.id} imports ${specifier}, which loads what no rule can see`,
              next: spot,
            },
          ]
        const isFrom = (node: ts.Node): boolean =>
          ts.findAncestor(node, (around) => around === declaration) !== undefined
        const uses = findOuterUses(next).filter(({ declarations }) => declarations.some(isFrom))
        if ((ALLOWED.get(specifier) ?? "s99") <= chapter.id)
          return specifier === "zod" ? uses.flatMap((use) => findUnlisted(next, use)) : []
        const [use] = uses
        if (use !== undefined) {
          const message = `${use.symbol} uses ${use.node.text} from ${specifier}`
          return [{ symbol: use.symbol, message, next: spotAt(next, use.node) }]
        }
        if (specifier.startsWith("node:")) return []
        return [{ symbol: specifier, message: `${chapter.id} imports ${specifier}`, next: spot }]
      }),
    ],
  },
]

function reaching(surface: Surface, symbol: string, { what, fix }: Reach, node: ts.Node): Violation {
  return { symbol, message: `${symbol} reaches for ${what}`, next: spotAt(surface, node), ...(fix && { fix }) }
}

/** What is used of zod and not on the list: a member of the whole, or something imported by itself. */
function findUnlisted(surface: Surface, { node, symbol, declarations: [declaration] }: OuterUse): Violation[] {
  const imported =
    declaration && ts.isImportSpecifier(declaration) ? (declaration.propertyName ?? declaration.name).text : "z"
  const isWhole = imported === "z" || imported === "default"
  const member = isWhole ? (ts.isQualifiedName(node.parent) ? node.parent.right.text : memberTaken(node)) : imported
  if (member !== undefined && ZOD.has(member)) return []
  const message = `${symbol} uses ${member ? `${member} of zod, which is not on the list in scripts/rules/language.ts` : "all of zod"}`
  return [
    { symbol, message, next: spotAt(surface, node), fix: "Use what the list has, each by its name: `z.string()`." },
  ]
}

/** Modules of Node that load others by a text, or run one. */
const HIDDEN_WAYS = /^(node:)?(module|vm|worker_threads)$/

/** A module that is named by its place, and not as a package. */
const NEIGHBOUR = /^(\.|\/|file:)/

/** What a file brings in by comments for the compiler. */
function findReferences({ source, file, chapter }: Surface): Violation[] {
  const { referencedFiles, typeReferenceDirectives, libReferenceDirectives } = source
  return [...referencedFiles, ...typeReferenceDirectives, ...libReferenceDirectives].map(({ fileName, pos }) => {
    const line = source.getLineAndCharacterOfPosition(pos).line + 1
    return { symbol: fileName, message: `${chapter.id} refers to ${fileName}`, next: { file, line, end: line } }
  })
}

/** What a chapter fetches from a module without an import at the top: by a call, in a type, or to pass it on. The demo may, but not from a neighbour. */
function findInnerImports(surface: Surface): Violation[] {
  const violations: Violation[] = []
  const see = (node: ts.Node, symbol?: string): void => {
    const given =
      ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
        ? node.arguments[0]
        : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
          ? node.argument.literal
          : ts.isExportDeclaration(node)
            ? node.moduleSpecifier
            : ts.isExternalModuleReference(node)
              ? node.expression
              : undefined
    if (given === undefined) return
    const text = foldText(given)
    const specifier = text ?? given.getText()
    const spot = spotAt(surface, node)
    if (symbol === undefined) {
      const what = text === undefined ? `by \`${specifier}\`, which may be another chapter` : specifier
      const message = `${surface.chapter.id} imports ${what}`
      if (text === undefined || NEIGHBOUR.test(text)) violations.push({ symbol: specifier, message, next: spot })
    } else if (ts.isExportDeclaration(node)) {
      violations.push({ symbol: specifier, message: `the core passes on ${specifier}`, next: spot })
    } else violations.push({ symbol, message: `${symbol} imports a module by itself`, next: spot })
  }
  walkCore(surface, see)
  const visit = (node: ts.Node): void => {
    see(node)
    ts.forEachChild(node, visit)
  }
  for (const statement of surface.demo) visit(statement)
  return violations
}
