/** What the names in a chapter stand for, asked of the compiler's own scopes: the file alone, no library, no other module, no types compared. */
import ts from "../course/typescript.js"
import type { Declaration, Surface } from "./surface.ts"

/** A name that is used and stands for something at the top level of the file, or for something from outside. */
export type Use = {
  node: ts.Identifier
  /** The declaration of the core that it stands in; undefined in the demo. */
  symbol: string | undefined
  /** Where the name is declared in this file; nowhere for what comes from outside. */
  declarations: readonly ts.Declaration[]
}

const known = new WeakMap<Surface, Use[]>()

/** Every use in a chapter of a name that its function or block does not declare by itself. */
export function findUses(surface: Surface): Use[] {
  const uses = known.get(surface) ?? readUses(surface)
  known.set(surface, uses)
  return uses
}

/** A name in the core that is not declared inside of it. */
export type OuterUse = Use & { symbol: string }

/** Every use of a name in the core that is not declared inside of it: what the demo declares, what is imported, and what is free. */
export function findOuterUses(surface: Surface): OuterUse[] {
  return findUses(surface).filter(
    (use): use is OuterUse =>
      use.symbol !== undefined && !use.declarations.some((declaration) => coreOf(surface, declaration)),
  )
}

/** The declaration of the core in which a node stands, if it is in the core. */
export function coreOf({ core }: Surface, node: ts.Node): Declaration | undefined {
  return core.find(({ nodes }) => nodes.some(({ pos, end }) => node.pos >= pos && node.end <= end))
}

function readUses({ source, core, demo }: Surface): Use[] {
  const host: ts.CompilerHost = {
    getSourceFile: (name) => (name === source.fileName ? source : undefined),
    getDefaultLibFileName: () => "",
    writeFile: () => {},
    getCurrentDirectory: () => "",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    fileExists: (name) => name === source.fileName,
    readFile: () => undefined,
  }
  const options: ts.CompilerOptions = { noLib: true, noResolve: true, types: [], target: ts.ScriptTarget.ES2023 }
  const checker = ts.createProgram([source.fileName], options, host).getTypeChecker()
  const isTop = (declaration: ts.Node): boolean => {
    const scope = ts.findAncestor(
      declaration.parent,
      (node) => ts.isBlock(node) || ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isModuleBlock(node),
    )
    return scope === undefined
  }
  const uses: Use[] = []
  const visit = (node: ts.Node, symbol: string | undefined): void => {
    if (ts.isIdentifier(node) && isReference(node)) {
      const declarations = symbolOf(checker, node)?.declarations ?? []
      const isName = declarations.some((declaration) => (declaration as ts.NamedDeclaration).name === node)
      if (!isName && declarations.every(isTop)) uses.push({ node, symbol, declarations })
    }
    ts.forEachChild(node, (child) => visit(child, symbol))
  }
  for (const { name, nodes } of core) for (const node of nodes) visit(node, name)
  for (const node of demo) visit(node, undefined)
  return uses
}

function symbolOf(checker: ts.TypeChecker, node: ts.Identifier): ts.Symbol | undefined {
  const { parent } = node
  if (ts.isShorthandPropertyAssignment(parent) && parent.name === node)
    return checker.getShorthandAssignmentValueSymbol(parent)
  if (ts.isExportSpecifier(parent)) return checker.getExportSpecifierLocalTargetSymbol(parent)
  return checker.getSymbolAtLocation(node)
}

/** Whether an identifier stands for something by itself: it is no member's name, no label, and no part of a keyword. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isBindingElement(parent)) return parent.propertyName !== node
  if (ts.isQualifiedName(parent)) return parent.right !== node
  if (ts.isExportSpecifier(parent)) return (parent.propertyName ?? parent.name) === node
  if (ts.isConstTypeReference(parent)) return false
  if (ts.isImportTypeNode(parent) || ts.isMetaProperty(parent) || ts.isNamedTupleMember(parent)) return false
  if (ts.isLabeledStatement(parent) || ts.isBreakOrContinueStatement(parent)) return false
  const isMember =
    ts.isPropertyAccessExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isObjectLiteralElement(parent) ||
    ts.isTypeElement(parent) ||
    ts.isClassElement(parent) ||
    ts.isEnumMember(parent)
  return !(isMember && parent.name === node && !ts.isShorthandPropertyAssignment(parent))
}
