/** I1, the static part: no word of a vendor's format above the adapters. */
import ts from "typescript"
import type { Surface } from "../chapter/surface.ts"
import { spotAt, walkCore } from "./r7.ts"
import { type Rule, TEXT, type Violation } from "./rule.ts"

/** Words as alternatives of a pattern. A dot in the middle stands for a blank that may be there. */
function oneOf(words: string): string {
  return words.trim().split(/\s+/).join("|").replaceAll("·", " ?")
}

/** Names of vendors and of their products, wherever they stand in a word. */
const NAMES = new RegExp(
  oneOf(`
    anthropic claude openai chatcmpl davinci gemini mistral bedrock azure perplexity ollama open·router hugging·face
    deep·seek 深度求索 qwen qianwen 千问 tongyi 通义 dash·scope 阿里云 kimi moonshot 月之暗面 doubao 豆包 volc·engine
    volcano·engine 火山引擎 zhipu 智谱 chat·glm bigmodel hunyuan 混元 腾讯云 wenxin 文心 qianfan 千帆 百度 baichuan 百川
    silicon·flow sensenova iflytek xunfei 讯飞
  `),
  "i",
)

/** The same for those that may be a part of other words. A version may stand behind them. */
const WORDS = new RegExp(
  `(?:^| )(?:${oneOf(`
    gpt open·ai llama groq grok x·ai cohere vertex·ai together·ai fireworks·ai glm ernie mini·max stepfun
    yi·(?:large|lightning|vision) o[1-9]·(?:mini|preview|pro)
  `)})(?: ?\\d\\w*)?(?: |$)`,
  "i",
)

/** Words that vendors use where the course has its own. */
const VENDOR_WORDS = new RegExp(
  `\\b(?:${oneOf(`
    tool_use tool_choice tool_calls tool_result tool_call_id tool_use_id tooluse_?id parallel_tool_calls
    function_call functioncall(?!back) functionresponse functiondeclarations
    finish_reason finishreason stop_reason stop_sequence end_turn
    max_tokens max_completion_tokens max_output_tokens maxoutputtokens
    prompt_tokens completion_tokens input_tokens output_tokens cache_(?:read|creation)_input_tokens usagemetadata
    input_schema response_format generationconfig systeminstruction safetysettings safetyratings generatecontent
    content_block input_json_delta partial_json message_delta message_stop signature_delta output_text inlinedata
    thought_?signature reasoning_content reasoning_effort logprobs system_fingerprint cache_control chat\\.completion
  `)})`,
  "i",
)

/** Fields that are a vendor's only together: `choices[0].delta`, `candidates[0].content.parts`. */
const TOGETHER: readonly [string, string][] = [
  ["choices", "delta"],
  ["choices", "message"],
  ["candidates", "parts"],
]

/** A text in words: names are taken apart where a capital or an underscore begins the next one. */
function wordsOf(text: string): string {
  const parts = text.replaceAll(/(\p{Ll}|\d)(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1$2 ")
  return parts.replaceAll(/[^\p{L}\d]+/gu, " ").trim()
}

/** What was said of a text. Most names stand in every chapter. */
const known = new Map<string, string | undefined>()

/** The vendor's word in a text, if there is one. */
export function findVendor(text: string): string | undefined {
  if (!known.has(text)) known.set(text, searchVendor(text))
  return known.get(text)
}

function searchVendor(text: string): string | undefined {
  const words = wordsOf(text)
  const found = /@google\/[\w-]+/.exec(text) ?? VENDOR_WORDS.exec(text) ?? NAMES.exec(words) ?? WORDS.exec(words)
  return found?.[0].trim()
}

/** The text of a node in which a vendor's word would count. */
export function textOf(node: ts.Node): string {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isStringLiteralLike(node)) return node.text
  return ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node) ||
    ts.isRegularExpressionLiteral(node)
    ? node.text
    : ""
}

export const I1: Rule[] = [
  {
    id: "I1-VENDOR",
    article: "I1",
    sentence:
      "A vendor's format stops at the adapter: the core knows no vendor, no vendor's word and no vendor's package.",
    sentenceZh: "厂商格式止步于适配层：核心不认识任何厂商，不用厂商的词，也不用厂商的包。",
    fix: "Translate it in the adapter, into a field of ours.",
    scope: "chapter",
    lifted: "nothing",
    explains: { lines: TEXT, symbol: ["R7-IMPORT"] },
    find: ({ next }) => {
      const violations: Violation[] = []
      walkCore(next, (node, symbol) => {
        const word = findVendor(textOf(node))
        if (word !== undefined)
          violations.push({ symbol, message: `${symbol} knows the vendor's word ${word}`, next: spotAt(next, node) })
      })
      violations.push(...findTogether(next))
      for (const declaration of next.imports) {
        const specifier = (declaration.moduleSpecifier as ts.StringLiteral).text
        if (findVendor(specifier) !== undefined)
          violations.push({
            symbol: specifier,
            message: `the program imports ${specifier}`,
            next: spotAt(next, declaration),
          })
      }
      return violations
    },
  },
]

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
      message: `${declaration.name} knows the vendor's words ${first} and ${second}`,
      next: spotAt(surface, members.get(first) as ts.Node),
    }))
  })
}
