/** I1, the static part: no word of a vendor's format above the adapters. */

import type { Surface } from "../chapter/surface.ts"
import { foldText } from "../chapter/syntax.ts"
import type { Text } from "../course/language.ts"
import ts from "../course/typescript.js"
import { type Rule, spotAt, TEXT, type Violation, walkCore } from "./rule.ts"

/** Words as alternatives of a pattern. A dot in the middle stands for a blank, a dash or an underscore that may be there. */
function oneOf(words: string): string {
  return words.trim().split(/\s+/).join("|").replaceAll("·", "[ _-]?")
}

/** The same, where they stand as whole words, with a number behind them at most. */
function wholeWords(words: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\d])(?:${oneOf(words)})(?:[ _-]?\\d\\w*)?(?![\\p{L}\\d])`, "iu")
}

/** Names of vendors and of their products, wherever they stand in a word. */
const NAMES = new RegExp(
  oneOf(`
    anthropic claude openai chatcmpl davinci gemini mistral bedrock perplexity ollama open·router hugging·face
    azure·(?:open·)?ai azure·(?:client|cloud|com|endpoint|foundry|provider|service) microsoft·azure
    deep·seek 深度求索 qwen qianwen 千问 tongyi 通义 dash·scope 阿里云 kimi moonshot 月之暗面 doubao 豆包 volc·engine
    volcano·engine 火山引擎 zhipu 智谱 chat·glm bigmodel hunyuan 混元 腾讯云 wenxin 文心 qianfan 千帆 百度 baichuan 百川
    silicon·flow sensenova iflytek xunfei 讯飞
  `),
  "i",
)

/** The same for those that may be a part of other words. */
const WORDS = wholeWords(`
  gpt open·ai llama groq grok x·ai cohere vertex·ai together·ai fireworks·ai glm ernie mini·max stepfun
  yi·(?:large|lightning|vision) o[1-9]·(?:mini|preview|pro)
`)

/** Words that vendors use where the course has its own, or none: parts of a name, whatever is around them, with capitals or with underscores. */
const FIELDS = wholeWords(
  `
    tooluse_id tool_choice parallel_tool_call function_call function_response function_declaration finish_reason
    max_token max_completion_token max_output_token prompt_token completion_token input_token output_token
    cache_read_input_token cache_creation_input_token usage_metadata input_schema response_format generation_config
    system_instruction safety_setting safety_rating generate_content input_json_delta partial_json signature_delta
    inline_data thought_signature reasoning_content reasoning_effort logprob system_fingerprint
    chat\\.completion
  `
    .replaceAll(/_/g, "[_-]?")
    .replaceAll(/(?<=[a-z])(?=\s|$)/g, "s?"),
)

/** The same for words that are ours when they are written with capitals. */
const SNAKES = wholeWords(`
  tool_uses? tool_calls tool_results? tool_call_id tool_use_id stop_reason stop_sequences? end_turn content_block\\w*
  message_(?:delta|stop) output_text cache_control
`)

/** Fields that are a vendor's only together: `choices[0].delta`, `candidates[0].content.parts`. */
const TOGETHER: readonly [string, string][] = [
  ["choices", "delta"],
  ["choices", "message"],
  ["candidates", "parts"],
]

/** A text with a dash where a capital begins the next word of a name. */
function withDashes(text: string): string {
  return text.replaceAll(/(\p{Ll}|\d)(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1$2-")
}

/** What was said of a text. Most names stand in every chapter. */
const known = new Map<string, string | undefined>()

/** The vendor's word in a text, if there is one. */
export function findVendor(text: string): string | undefined {
  if (!known.has(text)) known.set(text, searchVendor(text))
  return known.get(text)
}

function searchVendor(text: string): string | undefined {
  const parts = withDashes(text)
  const words = parts.replaceAll(/[^\p{L}\d]+/gu, " ")
  const found =
    /@google\/[\w-]+/.exec(text) ?? FIELDS.exec(parts) ?? SNAKES.exec(text.replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " "))
  return (found ?? NAMES.exec(words) ?? WORDS.exec(words))?.[0].trim()
}

/** The text of a node in which a vendor's word would count. */
export function textOf(node: ts.Node): string {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isRegularExpressionLiteral(node)) return node.text
  const isPiece = ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)
  return isPiece ? node.text : (foldText(node) ?? "")
}

export const I1: Rule[] = [
  {
    id: "I1-VENDOR",
    article: "I1",
    sentence: {
      en: "A vendor's format stops at the adapter: the core knows no vendor, no vendor's word and no vendor's package.",
      zh: "厂商格式止步于适配层：核心不认识任何厂商，不用厂商的词，也不用厂商的包。",
    },
    fix: {
      en: "Translate it in the adapter, into a field of ours.",
      zh: "在适配层里把它译成我们自己的字段。",
    },
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT, symbol: ["R7-IMPORT"] },
    find: ({ next }) => {
      const violations: Violation[] = []
      walkCore(next, (node, symbol) => {
        const word = findVendor(textOf(node))
        if (word !== undefined) violations.push({ symbol, message: knows(symbol, word), next: spotAt(next, node) })
      })
      violations.push(...findTogether(next), ...findInComments(next))
      for (const declaration of next.imports) {
        const specifier = (declaration.moduleSpecifier as ts.StringLiteral).text
        if (findVendor(specifier) !== undefined)
          violations.push({
            symbol: specifier,
            message: { en: `the program imports ${specifier}`, zh: `程序导入了 ${specifier}` },
            next: spotAt(next, declaration),
          })
      }
      return violations
    },
  },
]

function knows(symbol: string, word: string): Text {
  return { en: `${symbol} knows the vendor's word ${word}`, zh: `${symbol} 认识厂商的词 ${word}` }
}

/** Vendors' words in the comments of a core: whoever reads them learns the vendor's format. */
function findInComments({ core, source, lines, demoLine, file }: Surface): Violation[] {
  // Few cores have such a word anywhere; only then it is worth while to look at each token.
  if (!lines.slice(0, demoLine).some((line) => findVendor(line) !== undefined)) return []
  const end = source.getPositionOfLineAndCharacter(demoLine - 1, 0)
  return commentsIn(source, end).flatMap(({ pos, text }) => {
    const start = source.getLineAndCharacterOfPosition(pos).line + 1
    return text.split("\n").flatMap((said, index): Violation[] => {
      const line = start + index
      const word = findVendor(said)
      const owner = (core.find((declaration) => line <= declaration.end) ?? core.at(-1))?.name ?? "the core"
      const message = {
        en: `a comment at ${owner} speaks of the vendor's word ${word}`,
        zh: `${owner} 处的注释说到了厂商的词 ${word}`,
      }
      return word === undefined ? [] : [{ symbol: owner, message, next: { file, line, end: line } }]
    })
  })
}

/** All comments of a file up to a place. */
function commentsIn(source: ts.SourceFile, end: number): { pos: number; text: string }[] {
  const found = new Map<number, string>()
  const visit = (node: ts.Node): void => {
    if (node.pos >= end) return
    if (node.getChildCount(source) === 0) {
      const ranges = [
        ...(ts.getLeadingCommentRanges(source.text, node.pos) ?? []),
        ...(ts.getTrailingCommentRanges(source.text, node.end) ?? []),
      ]
      for (const range of ranges) found.set(range.pos, source.text.slice(range.pos, range.end))
    }
    for (const child of node.getChildren(source)) visit(child)
  }
  visit(source)
  return [...found].filter(([pos]) => pos < end).map(([pos, text]) => ({ pos, text }))
}

/** Fields of a vendor's format that only their company gives away, where both stand in one declaration. */
function findTogether(surface: Surface): Violation[] {
  return surface.core.flatMap((declaration) => {
    const members = new Map<string, ts.Node>()
    const visit = (node: ts.Node): void => {
      const name = ts.isPropertyAccessExpression(node) || ts.isPropertySignature(node) ? node.name : undefined
      const bound = ts.isBindingElement(node) ? (node.propertyName ?? node.name) : name
      const member = ts.isElementAccessExpression(node) ? node.argumentExpression : bound
      const text = member?.getText().replaceAll(/["'`]/g, "")
      if (member !== undefined && text !== undefined && !members.has(text)) members.set(text, member)
      ts.forEachChild(node, visit)
    }
    for (const node of declaration.nodes) visit(node)
    return TOGETHER.filter((pair) => pair.every((name) => members.has(name))).map(([first, second]) => ({
      symbol: declaration.name,
      message: {
        en: `${declaration.name} knows the vendor's words ${first} and ${second}`,
        zh: `${declaration.name} 认识厂商的词 ${first} 和 ${second}`,
      },
      next: spotAt(surface, members.get(first) as ts.Node),
    }))
  })
}
