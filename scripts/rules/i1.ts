/** I1, the static part: no word of a vendor's format above the adapters. */
import ts from "typescript"
import { spotAt, walkCore } from "./r7.ts"
import type { Fault, Rule } from "./rule.ts"

/** Names of vendors and of their products. */
const VENDORS = /anthropic|openai|gemini|claude|mistral|bedrock|vertex|cohere(?!n)|deepseek|\bgpt|llama|@google\/genai/i

/** Words that vendors use where the course has its own. */
const VENDOR_WORDS =
  /\b(tool_use|tool_calls|tool_result|tool_call_id|tool_use_id|tooluseid|function_call|functioncall(?!back)|functionresponse|finish_reason|finishreason|stop_reason|stop_sequence|end_turn|max_tokens|input_schema|content_block|thought_?signature|reasoning_content|generatecontent)/i

/** The text of a node in which a vendor's word would count. */
function textOf(node: ts.Node): string {
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
    find: ({ next }) => {
      const faults: Fault[] = []
      walkCore(next, (node, symbol) => {
        const word = (VENDOR_WORDS.exec(textOf(node)) ?? VENDORS.exec(textOf(node)))?.[0]
        if (word !== undefined)
          faults.push({ symbol, message: `${symbol} knows the vendor's word ${word}`, next: spotAt(next, node) })
      })
      for (const declaration of next.imports) {
        const specifier = (declaration.moduleSpecifier as ts.StringLiteral).text
        if (VENDORS.test(specifier))
          faults.push({
            symbol: specifier,
            message: `the program imports ${specifier}`,
            next: spotAt(next, declaration),
          })
      }
      return faults
    },
  },
]
