/** U2: a name has one meaning in the whole course. */
import ts from "typescript"
import { CHAPTERS } from "../manifest.ts"
import { spotAt } from "./r7.ts"
import type { Fault, Rule } from "./rule.ts"

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
]
