/** R7: the core writes only through `Output` and `RuntimeMode`, and reaches nothing else either. */

import { findOuterUses, type OuterUse, type Use } from "../chapter/scopes.ts"
import type { Surface } from "../chapter/surface.ts"
import { foldText, isAccess, memberOf, nameText, rootOf, writesOf } from "../chapter/syntax.ts"
import { same, type Text } from "../course/language.ts"
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
type Reach = { what: Text; fix?: Text }

/** What a node reaches for outside of the program without a name from outside. */
function wayOut(node: ts.Node, own: ReadonlySet<string>): Reach | undefined {
  if (node.kind === ts.SyntaxKind.DebuggerStatement) return { what: { en: "a debugger", zh: "调试器" } }
  if (ts.isMetaProperty(node))
    return node.keywordToken === ts.SyntaxKind.ImportKeyword ? { what: same(node.getText()) } : undefined
  const isAmbient =
    ts.isStatement(node) &&
    ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)
  if (isAmbient) return { what: { en: "something that it only declares", zh: "只声明、没有定义的东西" }, fix: AMBIENT }
  if (isAccess(node) && memberOf(node) === "getPrototypeOf" && !isPrototypeCopied(node.parent))
    return {
      what: { en: "a prototype", zh: "原型" },
      fix: {
        en: "Only `Object.create` may have it, for an object of the same kind.",
        zh: "只有 `Object.create` 可以拿它去造同一种对象。",
      },
    }
  const find = (name: string | undefined): Way | undefined =>
    WAYS_BY_MEMBER.find((way) => name !== undefined && way.member.test(name) && !(way.unlessOwn && own.has(name)))
  const text = textGiven(node)
  const [way, key] = [find(memberNamed(node)), find(text)]
  if (way === undefined && key !== undefined)
    return {
      what: {
        en: `${key.what.en} by a text: as a key, "${text}" leads there`,
        zh: `${key.what.zh}，用的是一段文本：拿 "${text}" 当键就能到那里`,
      },
      fix: KEY,
    }
  return way
}

const AMBIENT: Text = {
  en: "Write what it does, or take it as a parameter; a type or an interface is declared without the word `declare`.",
  zh: "写出它做什么，或者当参数收进来；类型和接口的声明不用写 `declare`。",
}
const KEY: Text = {
  en: 'To refuse a name, compare with it, as in `name === "constructor"` or `["constructor"].includes(name)`; take what is needed by its name.',
  zh: '要拒绝某个名字，就和它比较，例如 `name === "constructor"` 或 `["constructor"].includes(name)`；需要什么就按名字取什么。',
}

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
    const what = {
      en: `${node.text}, which is declared nowhere and not on the list in scripts/rules/language.ts`,
      zh: `${node.text}，它没有在任何地方声明，也不在 scripts/rules/language.ts 的名单上`,
    }
    const fix = { en: "Write `Object.hasOwn(value, name)`.", zh: "写成 `Object.hasOwn(value, name)`。" }
    return node.text === "hasOwnProperty" ? { what, fix } : { what }
  }
  if (!isShared(node.text)) return undefined
  const member = memberTaken(node)
  if (member === "" || (member !== undefined && isListed(node.text, member))) return undefined
  if (member === undefined) return { what: { en: `all of ${node.text}`, zh: `整个 ${node.text}` }, fix: BY_NAME }
  return {
    what: {
      en: `${node.text}.${member}, which is not on the list in scripts/rules/language.ts`,
      zh: `${node.text}.${member}，它不在 scripts/rules/language.ts 的名单上`,
    },
  }
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
    sentence: {
      en: "The core writes through Output and RuntimeMode. Of what it does not declare it uses the language alone: no console, no process, neither clock nor chance.",
      zh: "核心只通过 Output 和 RuntimeMode 输出。不是自己声明的，只用语言本身：不碰 console，不碰 process，也不看时钟、不用随机数。",
    },
    fix: {
      en: "Write to the Output that the caller gave, take what is needed as a parameter, or move the line into the demo. What counts as the language stands in scripts/rules/language.ts.",
      zh: "写给调用者给的 Output，把需要的东西当参数收进来，或者把这一行挪到演示里。哪些算语言本身，见 scripts/rules/language.ts。",
    },
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
        const change = changed && {
          en: `${changed.getText()}, to change it for all code`,
          zh: `${changed.getText()}，而且替所有代码改了它`,
        }
        const way = change ? { what: change } : wayOut(node, own)
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
    sentence: { en: "The core uses nothing that the demo declares.", zh: "核心不用演示里声明的任何东西。" },
    fix: {
      en: "Take what the core needs as a parameter, or move the declaration into the core.",
      zh: "核心需要的，当参数收进来；或者把声明挪进核心。",
    },
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
          message: { en: `${symbol} uses ${node.text} of the demo`, zh: `${symbol} 用了演示里的 ${node.text}` },
          next: spotAt(next, node),
        }))
    },
  },
  {
    id: "R7-IMPORT",
    article: "R7",
    sentence: {
      en: "The core imports nothing; from s10 on it may use chalk, from s12 on zod. No chapter imports another.",
      zh: "核心不导入任何东西；s10 起可以用 chalk，s12 起可以用 zod。章与章之间不互相导入。",
    },
    fix: {
      en: "Take what the core needs as a parameter, and import it in the demo only.",
      zh: "核心需要的，当参数收进来；只在演示里导入。",
    },
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT },
    find: ({ next, chapter }) => [
      ...findReferences(next),
      ...findInnerImports(next),
      ...next.imports.flatMap((declaration): Violation[] => {
        const specifier = (declaration.moduleSpecifier as ts.StringLiteral).text
        const spot = spotAt(next, declaration)
        if (NEIGHBOUR.test(specifier)) return [{ symbol: specifier, message: imports(chapter, specifier), next: spot }]
        if (HIDDEN_WAYS.test(specifier))
          return [
            {
              symbol: specifier,
              message: {
                en: `${chapter.id} imports ${specifier}, which loads what no rule can see`,
                zh: `${chapter.id} 导入了 ${specifier}，它加载的东西没有规则看得见`,
              },
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
          const message = {
            en: `${use.symbol} uses ${use.node.text} from ${specifier}`,
            zh: `${use.symbol} 用了 ${specifier} 的 ${use.node.text}`,
          }
          return [{ symbol: use.symbol, message, next: spotAt(next, use.node) }]
        }
        if (specifier.startsWith("node:")) return []
        return [{ symbol: specifier, message: imports(chapter, specifier), next: spot }]
      }),
    ],
  },
]

function imports({ id }: Chapter, what: string): Text {
  return { en: `${id} imports ${what}`, zh: `${id} 导入了 ${what}` }
}

function reaching(surface: Surface, symbol: string, { what, fix }: Reach, node: ts.Node): Violation {
  const message = { en: `${symbol} reaches for ${what.en}`, zh: `${symbol} 伸手去拿${what.zh}` }
  return { symbol, message, next: spotAt(surface, node), ...(fix && { fix }) }
}

/** What is used of zod and not on the list: a member of the whole, or something imported by itself. */
function findUnlisted(surface: Surface, { node, symbol, declarations: [declaration] }: OuterUse): Violation[] {
  const imported =
    declaration && ts.isImportSpecifier(declaration) ? (declaration.propertyName ?? declaration.name).text : "z"
  const isWhole = imported === "z" || imported === "default"
  const member = isWhole ? (ts.isQualifiedName(node.parent) ? node.parent.right.text : memberTaken(node)) : imported
  if (member !== undefined && ZOD.has(member)) return []
  const message = member
    ? {
        en: `${symbol} uses ${member} of zod, which is not on the list in scripts/rules/language.ts`,
        zh: `${symbol} 用了 zod 的 ${member}，它不在 scripts/rules/language.ts 的名单上`,
      }
    : { en: `${symbol} uses all of zod`, zh: `${symbol} 用了整个 zod` }
  const fix = {
    en: "Use what the list has, each by its name: `z.string()`.",
    zh: "用名单上有的，按名字一个一个用：`z.string()`。",
  }
  return [{ symbol, message, next: spotAt(surface, node), fix }]
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
    const message = { en: `${chapter.id} refers to ${fileName}`, zh: `${chapter.id} 引用了 ${fileName}` }
    return { symbol: fileName, message, next: { file, line, end: line } }
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
      const { id } = surface.chapter
      const message =
        text === undefined
          ? {
              en: `${id} imports by \`${specifier}\`, which may be another chapter`,
              zh: `${id} 用 \`${specifier}\` 导入，那可能是另一章`,
            }
          : imports(surface.chapter, specifier)
      if (text === undefined || NEIGHBOUR.test(text)) violations.push({ symbol: specifier, message, next: spot })
    } else if (ts.isExportDeclaration(node)) {
      violations.push({
        symbol: specifier,
        message: { en: `the core passes on ${specifier}`, zh: `核心转手导出了 ${specifier}` },
        next: spot,
      })
    } else
      violations.push({
        symbol,
        message: { en: `${symbol} imports a module by itself`, zh: `${symbol} 自己导入了一个模块` },
        next: spot,
      })
  }
  walkCore(surface, see)
  const visit = (node: ts.Node): void => {
    see(node)
    ts.forEachChild(node, visit)
  }
  for (const statement of surface.demo) visit(statement)
  return violations
}
