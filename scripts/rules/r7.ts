/** R7: the core writes only through `Output` and `RuntimeMode`, and reaches nothing else either. */
import ts from "typescript"
import type { Surface } from "../surface.ts"
import type { Fault, Rule } from "./rule.ts"

/** Ways out of a program, by the name under which JavaScript offers them: to other code, to people, to the network, to storage, to the clock. */
const WAYS_OUT = new Set(
  `console process globalThis global window self document navigator require module exports importScripts __dirname __filename
  eval Function WebAssembly Deno Bun Buffer alert confirm prompt reportError postMessage dispatchEvent addEventListener
  fetch WebSocket EventSource XMLHttpRequest BroadcastChannel MessageChannel Worker SharedWorker
  localStorage sessionStorage indexedDB caches crypto
  Date Intl performance setTimeout setInterval setImmediate queueMicrotask requestAnimationFrame`.split(/\s+/),
)

/** What a node reaches for outside of the program, if it does, by the text to show. */
function wayOut(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node)) {
    // Of Math all may be used by name but chance.
    const { parent } = node
    const isHarmless =
      ts.isPropertyAccessExpression(parent) && parent.expression === node && parent.name.text !== "random"
    const isWay = node.text === "Math" ? !isHarmless : WAYS_OUT.has(node.text)
    return isWay && isUse(node) ? (node.text === "Math" ? "Math, and so for chance" : node.text) : undefined
  }
  if (ts.isMetaProperty(node) || node.kind === ts.SyntaxKind.DebuggerStatement) return node.getText()
  const member = ts.isPropertyAccessExpression(node)
    ? node.name.text
    : ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)
      ? node.argumentExpression.text
      : undefined
  // A function's constructor makes functions from text.
  const bound = ts.isBindingElement(node) ? (node.propertyName ?? node.name).getText() : undefined
  if (member === "constructor" || bound === "constructor") return "a constructor"
  return undefined
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
    visit(declaration.node)
  }
}

/** The line of a node, as a place. */
export function spotAt(surface: Surface, node: ts.Node): { file: string; line: number; end: number } {
  const line = surface.source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  return { file: surface.file, line, end: line }
}

/** The names that a statement declares. */
export function declaredNames(statement: ts.Statement): string[] {
  const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
  const namesIn = (name: ts.Node | undefined): string[] => {
    if (name === undefined) return []
    if (!ts.isObjectBindingPattern(name) && !ts.isArrayBindingPattern(name)) return [name.getText()]
    return name.elements.flatMap((element) => (ts.isBindingElement(element) ? namesIn(element.name) : []))
  }
  return declared.flatMap((node) => namesIn((node as ts.NamedDeclaration).name))
}

/** The local names that an import brings in. */
function namesOf(declaration: ts.ImportDeclaration): string[] {
  const names: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && !(ts.isImportSpecifier(node.parent) && node.parent.propertyName === node))
      names.push(node.text)
    ts.forEachChild(node, visit)
  }
  if (declaration.importClause !== undefined) visit(declaration.importClause)
  return names
}

export const R7: Rule[] = [
  {
    id: "R7-CONSOLE",
    article: "R7",
    sentence:
      "The core writes through Output and RuntimeMode. It touches no console and no process, and asks neither clock nor chance.",
    sentenceZh: "核心只通过 Output 和 RuntimeMode 输出，不碰 console，不碰 process，也不看时钟、不用随机数。",
    fix: "Write to the Output that the caller gave, take what is needed as a parameter, or move the line into the demo.",
    scope: "chapter",
    lifted: "nothing",
    find: ({ next }) => {
      const faults: Fault[] = []
      walkCore(next, (node, symbol) => {
        const way = wayOut(node)
        if (way !== undefined)
          faults.push({ symbol, message: `${symbol} reaches for ${way}`, next: spotAt(next, node) })
      })
      return faults
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
    find: ({ next }) => {
      const names = new Set(next.demo.flatMap(declaredNames))
      for (const { name } of next.core) names.delete(name)
      const faults: Fault[] = []
      walkCore(next, (node, symbol) => {
        if (ts.isIdentifier(node) && names.has(node.text) && isUse(node))
          faults.push({ symbol, message: `${symbol} uses ${node.text} of the demo`, next: spotAt(next, node) })
      })
      return faults
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
    find: ({ next, chapter }) => [
      ...findInnerImports(next),
      ...next.imports.flatMap((declaration): Fault[] => {
        const specifier = (declaration.moduleSpecifier as ts.StringLiteral).text
        const spot = spotAt(next, declaration)
        if (specifier.startsWith("."))
          return [{ symbol: specifier, message: `${chapter.id} imports ${specifier}`, next: spot }]
        if ((ALLOWED.get(specifier) ?? "s99") <= chapter.id) return []
        const names = new Set(namesOf(declaration))
        const faults: Fault[] = []
        walkCore(next, (node, symbol) => {
          const used = ts.isIdentifier(node) && names.has(node.text) && isUse(node)
          if (used && faults.length === 0)
            faults.push({
              symbol,
              message: `${symbol} uses ${node.getText()} from ${specifier}`,
              next: spotAt(next, node),
            })
        })
        const builtin = specifier.startsWith("node:")
        if (!builtin && faults.length === 0)
          faults.push({ symbol: specifier, message: `${chapter.id} imports ${specifier}`, next: spot })
        return faults
      }),
    ],
  },
]

/** What the core fetches from a module without an import at the top: by a call, in a type, or to pass it on. */
function findInnerImports(surface: Surface): Fault[] {
  const faults: Fault[] = []
  walkCore(surface, (node, symbol) => {
    const isCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
    if (isCall || ts.isImportTypeNode(node))
      faults.push({ symbol, message: `${symbol} imports a module by itself`, next: spotAt(surface, node) })
    if (!ts.isExportDeclaration(node) || node.moduleSpecifier === undefined) return
    const specifier = (node.moduleSpecifier as ts.StringLiteral).text
    faults.push({ symbol: specifier, message: `the core passes on ${specifier}`, next: spotAt(surface, node) })
  })
  return faults
}

/** Whether an identifier is the name of a member: behind a dot, in a type, in a class or in an object. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isBindingElement(parent)) return parent.propertyName === node
  if (ts.isQualifiedName(parent)) return parent.right === node
  const hasMemberName =
    ts.isPropertyAccessExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isTypeElement(parent) ||
    ts.isClassElement(parent)
  return hasMemberName && parent.name === node
}

/** Whether an identifier uses a name from outside: it is no member's name, and no local of that name is seen where it stands. */
function isUse(node: ts.Identifier): boolean {
  if (isMemberName(node) || ts.isNamedTupleMember(node.parent) || ts.isLabeledStatement(node.parent)) return false
  if (ts.isBreakOrContinueStatement(node.parent)) return false
  let around: ts.Node = node
  while (!ts.isSourceFile(around.parent)) around = around.parent
  let local = false
  const visit = (inner: ts.Node): void => {
    const binds = ts.isVariableDeclaration(inner) || ts.isParameter(inner) || ts.isBindingElement(inner)
    if (binds && inner.name.getText() === node.text && isInside(node, ts.findAncestor(inner, isScope))) local = true
    // A function or a class inside of another is seen there, and by itself.
    const nested =
      inner !== around && (ts.isFunctionLike(inner) || ts.isClassLike(inner)) && inner.name?.getText() === node.text
    if (nested && isInside(node, ts.findAncestor(inner.parent, isScope))) local = true
    ts.forEachChild(inner, visit)
  }
  visit(around)
  return !local
}

function isScope(node: ts.Node): boolean {
  return ts.isFunctionLike(node) || ts.isBlock(node) || ts.isCatchClause(node) || ts.isIterationStatement(node, false)
}

function isInside(node: ts.Node, around: ts.Node | undefined): boolean {
  return around !== undefined && node.pos >= around.pos && node.end <= around.end
}
