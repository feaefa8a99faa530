/** R7: the core writes only through `Output` and `RuntimeMode`, and reaches nothing else either. */
import ts from "typescript"
import { findOuterUses, type Use } from "../chapter/scopes.ts"
import type { Surface } from "../chapter/surface.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import { LANGUAGE, WAYS_BY_MEMBER } from "./language.ts"
import { type Rule, TEXT, type Violation } from "./rule.ts"

/** The name of a member that a node reads: behind a dot, in brackets, or taken out of an object by a pattern. */
function memberRead(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.name.text
  if (ts.isStringLiteralLike(node)) return node.text === "constructor" ? node.text : undefined
  if (ts.isElementAccessExpression(node)) return textIn(node.argumentExpression)
  if (ts.isBindingElement(node))
    return ts.isObjectBindingPattern(node.parent) ? textIn(node.propertyName ?? node.name) : undefined
  const isTaken = ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)
  return isTaken && isTarget(node.parent) ? textIn(node.name) : undefined
}

/** The text of a name: plain, in quotes, or in brackets with quotes. */
function textIn(node: ts.Node): string | undefined {
  if (ts.isComputedPropertyName(node)) return textIn(node.expression)
  return ts.isIdentifier(node) || ts.isStringLiteralLike(node) ? node.text : undefined
}

/** Whether an object literal stands where something is assigned to, so that it takes another object apart. */
function isTarget(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isBinaryExpression(parent))
    return parent.left === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
  if (ts.isForOfStatement(parent)) return parent.initializer === node
  const isInner =
    ts.isParenthesizedExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isObjectLiteralExpression(parent)
  return isInner && isTarget(parent)
}

/** What a node reaches for outside of the program without a name from outside, by the text to show. */
function wayOut(node: ts.Node, own: ReadonlySet<string>): string | undefined {
  if (node.kind === ts.SyntaxKind.DebuggerStatement) return "a debugger"
  if (ts.isMetaProperty(node)) return node.keywordToken === ts.SyntaxKind.ImportKeyword ? node.getText() : undefined
  const isAmbient =
    ts.isStatement(node) &&
    ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)
  if (isAmbient) return "something that it only declares"
  const member = memberRead(node)
  if (member === undefined) return undefined
  return WAYS_BY_MEMBER.find((way) => way.member.test(member) && !(way.unlessOwn && own.has(member)))?.what
}

/** What a free name reaches for, if it is no plain part of the language. A part of the course that is missing is for R8 to name. */
function freeWay({ node, declarations }: Use, chapter: Chapter): string | undefined {
  const isPart = CHAPTERS.some(({ id, parts }) => id <= chapter.id && parts.includes(node.text))
  if (declarations.length > 0 || isPart) return undefined
  if (!LANGUAGE.has(node.text)) return `${node.text}, which is declared nowhere and no part of the language`
  const { parent } = node
  const isPlain = ts.isPropertyAccessExpression(parent) && parent.expression === node && parent.name.text !== "random"
  if (node.text === "Math" && !isPlain) return "Math, and so for chance"
  return isChanged(node) ? `${node.text}, to change it for all code` : undefined
}

/** Whether something is assigned to a member of this, or put onto it by way of `Object`. */
function isChanged(node: ts.Node): boolean {
  const { parent } = node
  if ((ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) && parent.expression === node)
    return isChanged(parent)
  if (ts.isBinaryExpression(parent)) {
    const { kind } = parent.operatorToken
    const isAssignment = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
    return parent.left === node && isAssignment
  }
  if (ts.isDeleteExpression(parent)) return true
  const isPut =
    ts.isCallExpression(parent) && /^Object\.(assign|define\w+|setPrototypeOf)$/.test(parent.expression.getText())
  return isPut && parent.arguments[0] === node
}

/** The packages that a core may import, and from which chapter on. */
const ALLOWED = new Map([
  ["chalk", "s10"],
  ["zod", "s12"],
])

/** Calls `see` for every node of the core, with the declaration that it is in. */
export function walkCore(surface: Surface, see: (node: ts.Node, symbol: string) => void): void {
  for (const declaration of surface.core) {
    const visit = (node: ts.Node): void => {
      see(node, declaration.name)
      ts.forEachChild(node, visit)
    }
    for (const node of declaration.nodes) visit(node)
  }
}

/** The line of a node, as a place. */
export function spotAt(surface: Surface, node: ts.Node): { file: string; line: number; end: number } {
  const line = surface.source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  return { file: surface.file, line, end: line }
}

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
      const violations = findOuterUses(next).flatMap((use): Violation[] => {
        const way = freeWay(use, chapter)
        return way === undefined ? [] : [reaching(next, use.symbol, way, use.node)]
      })
      walkCore(next, (node, symbol) => {
        const way = wayOut(node, own)
        if (way !== undefined) violations.push(reaching(next, symbol, way, node))
      })
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
        if ((ALLOWED.get(specifier) ?? "s99") <= chapter.id) return []
        const isFrom = (node: ts.Node): boolean =>
          ts.findAncestor(node, (around) => around === declaration) !== undefined
        const use = findOuterUses(next).find(({ declarations }) => declarations.some(isFrom))
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

function reaching(surface: Surface, symbol: string, way: string, node: ts.Node): Violation {
  return { symbol, message: `${symbol} reaches for ${way}`, next: spotAt(surface, node) }
}

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
    const specifier = ts.isStringLiteralLike(given) ? given.text : given.getText()
    const spot = spotAt(surface, node)
    if (symbol === undefined) {
      const message = `${surface.chapter.id} imports ${specifier}`
      if (NEIGHBOUR.test(specifier)) violations.push({ symbol: specifier, message, next: spot })
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
