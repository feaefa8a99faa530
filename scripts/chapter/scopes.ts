/** What the names in a chapter stand for, asked of the compiler's own scopes: the file alone, no library, no other module, no types compared. */
import ts from "typescript"
import type { Surface } from "./surface.ts"

/** A name that is used in the core. */
export type Use = {
  node: ts.Identifier
  /** The declaration of the core that it stands in. */
  symbol: string
  /** Where the name is declared in this file; nowhere for what comes from outside. */
  declarations: readonly ts.Declaration[]
}

const known = new WeakMap<Surface, Use[]>()

/** Every use of a name in the core that is not declared inside of it: what the demo declares, what is imported, and what is free. */
export function findOuterUses(surface: Surface): Use[] {
  const uses = known.get(surface) ?? readUses(surface)
  known.set(surface, uses)
  return uses
}

function readUses({ source, core }: Surface): Use[] {
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
  const inCore = (declaration: ts.Node): boolean =>
    core.some(({ nodes }) => nodes.some((node) => declaration.pos >= node.pos && declaration.end <= node.end))
  return core.flatMap(({ name, nodes }) => {
    const uses: Use[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node) && isReference(node)) {
        const declarations = symbolOf(checker, node)?.declarations ?? []
        if (!declarations.some(inCore)) uses.push({ node, symbol: name, declarations })
      }
      ts.forEachChild(node, visit)
    }
    for (const node of nodes) visit(node)
    return uses
  })
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
