/** A model without a model: it answers in the person's language and calls the tools that the words ask for. The same request, the same answer. */
import type { ProviderMessage, ToolCall, ToolSpec } from "../../s12_packages/code.ts"
import type { StoredAssistantMessage } from "../protocol.ts"
import type { CompleteInput, TeachingModel } from "./model.ts"

/** What in a prompt asks for a tool, and for which call. */
type Wish = {
  tool: string
  pattern: RegExp
  input(match: RegExpExecArray): Record<string, string>
}

const NAME = "[\"'“「`]?([\\w\\p{Script=Han}./\\\\-]*[\\w\\p{Script=Han}])[\"'”」`]?"

const WISHES: readonly Wish[] = [
  {
    tool: "write_note",
    pattern: new RegExp(
      `(?:\\bnote\\s+(?:named\\s+|called\\s+)?|(?:写|记)(?:一条|一个|条|个)?(?:笔记|下来)?\\s*)${NAME}\\s*[:：]\\s*([^\\n]+)`,
      "giu",
    ),
    input: ([, name = "", text = ""]) => ({ name, text: text.trim() }),
  },
  {
    tool: "read_file",
    pattern: new RegExp(
      `(?:\\b(?:read|open|show)\\s+(?:the\\s+)?(?:file\\s+)?|(?:读取|读一下|读|打开)(?:文件)?\\s*)${NAME}`,
      "giu",
    ),
    input: ([, name = ""]) => ({ path: name }),
  },
  {
    tool: "list_files",
    pattern: new RegExp(
      `\\blist\\s+(?:the\\s+|all\\s+)?(?:files|folder)(?:\\s+(?:in|of|below)\\s+${NAME})?|(?:列出|有哪些)\\s*(?:${NAME}\\s*(?:里|下)的?)?\\s*(?:所有)?文件`,
      "giu",
    ),
    input: ([, english, chinese]) => ({ path: english ?? chinese ?? "" }),
  },
]

/** The calls that a prompt asks for, in the order of its words. Any other tool is called by its name: `use greet`. */
function planCalls(prompt: string, tools: readonly ToolSpec[], place: number): ToolCall[] {
  const found: { at: number; name: string; input: Record<string, string> }[] = []
  let rest = prompt
  const take = (tool: string, pattern: RegExp, input: Wish["input"]): void => {
    if (!tools.some(({ name }) => name === tool)) return
    for (const match of rest.matchAll(pattern)) {
      const given = Object.entries(input(match)).filter(([, value]) => value !== "")
      found.push({ at: match.index, name: tool, input: Object.fromEntries(given) })
      // What was understood is not understood a second time.
      rest = rest.slice(0, match.index) + " ".repeat(match[0].length) + rest.slice(match.index + match[0].length)
    }
  }
  for (const { tool, pattern, input } of WISHES) take(tool, pattern, input)
  for (const { name, input } of tools) {
    const [first] = Object.keys(input)
    const escaped = name.replace(/[^\w]/g, "\\$&")
    const pattern = new RegExp(`(?:\\buse|\\bcall|用|调用)\\s*${escaped}(?:\\s*[:：]\\s*([^\\n]+))?`, "giu")
    take(name, pattern, ([, text = ""]) => (first === undefined ? {} : { [first]: text.trim() }))
  }
  return found
    .sort((a, b) => a.at - b.at)
    .map(({ name, input }, index) => ({ id: `call_${place}_${index + 1}`, name, input }))
}

/** Whether a text is written in Chinese, as far as this model can tell. */
function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text)
}

/** What came of the calls, a line or a few for each. */
function report(turn: readonly ProviderMessage[], chinese: boolean): string {
  const calls = turn.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
  const results = turn.flatMap((message) => (message.role === "toolResult" ? [message.content] : []))
  const parts = calls.map(({ name, input }, index) => {
    const text = results[index] ?? ""
    const what = `${name}(${Object.values(input).join(", ")})`
    const failed = text.startsWith("error: ")
    if (failed) return chinese ? `${what} 没有成功：${text.slice(7)}` : `${what} did not work: ${text.slice(7)}`
    return `${what}${chinese ? "：" : ":"}\n${text}`
  })
  return `${chinese ? "做完了。" : "Done."}\n\n${parts.join("\n\n")}`
}

const HELP = {
  en: "I am a scripted model and need no key. I can work with your files: say “list files”, “read todo.md”, “write a note ideas.md: buy milk”, or several of them in one sentence. Any other tool I call by its name: “use TOOL: text”.",
  zh: "我是照脚本回答的模型，不需要密钥。我能用工具处理你的文件：可以说“列出文件”“读取 todo.md”“写笔记 ideas.md：买牛奶”，也可以一句话里说几件事。别的工具按名字调用：“用 工具名：文字”。",
}

/** The scripted model. */
export class MockModel implements TeachingModel {
  async complete({ messages, tools }: CompleteInput): Promise<StoredAssistantMessage> {
    const start = messages.findLastIndex((message) => message.role === "user")
    const turn = messages.slice(start)
    const prompt = messages[start]?.content ?? ""
    const chinese = isChinese(prompt)
    if (turn.some((message) => message.role === "toolResult")) return say(report(turn, chinese))
    const calls = planCalls(prompt, tools, messages.length)
    if (calls.length === 0) return say(HELP[chinese ? "zh" : "en"])
    const names = [...new Set(calls.map(({ name }) => name))].join(chinese ? "、" : ", ")
    const text = chinese ? `我来用 ${names}。` : `I use ${names}.`
    const blocks = calls.map((call) => ({ type: "toolCall" as const, ...call }))
    return { role: "assistant", content: [{ type: "text", text }, ...blocks], stopReason: "toolUse" }
  }
}

function say(text: string): StoredAssistantMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" }
}
