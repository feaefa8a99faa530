import type { ProviderEvent, ToolCall } from "../s12_packages/code.ts"
import { answer, PROMPT, type Probe, type SessionStore, type SessionText, TOOL_NAME } from "./workload.ts"

/**
 * The floor: what the job costs when it is written by hand and guards against nothing. The loop streams, sends a copy of the history
 * with each request and looks its tool up by name; the tree finds each parent by its id.
 */

type Message =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; calls: ToolCall[] }
  | { role: "toolResult"; callId: string; content: string }

type Request = {
  messages: Message[]
  tools: { name: string; input: Record<string, string> }[]
  systemPrompt: string
}

/** Plays the script. */
export async function run(rounds: number, probe: Probe): Promise<{ finalText: string }> {
  let requests = 0
  const stream = (_request: Request): AsyncGenerator<ProviderEvent> => answer(requests++, rounds)
  const echo = { spec: { name: TOOL_NAME, input: { text: "any text" } }, run: ({ text = "" }) => probe.echo(text) }
  const tools = new Map([[echo.spec.name, echo]])
  const messages: Message[] = [{ role: "user", content: PROMPT }]
  for (;;) {
    const request = { messages: [...messages], tools: [...tools.values()].map((tool) => tool.spec), systemPrompt: "" }
    let content = ""
    const calls: ToolCall[] = []
    for await (const event of stream(request)) {
      if (event.type === "text_delta") content += event.text
      else if (event.type === "tool_call") calls.push(event.call)
    }
    messages.push({ role: "assistant", content, calls })
    if (calls.length === 0) return { finalText: content }
    for (const call of calls) {
      messages.push({ role: "toolResult", callId: call.id, content: tools.get(call.name)?.run(call.input) ?? "" })
    }
  }
}

type Entry = {
  id: string
  parentId: string | null
  message: SessionText
}

/** An empty tree. */
export function inMemory(): SessionStore {
  const entries = new Map<string, Entry>()
  let leafId: string | null = null
  return {
    append(message) {
      const entry: Entry = { id: `entry_${entries.size + 1}`, parentId: leafId, message }
      entries.set(entry.id, entry)
      leafId = entry.id
    },
    context() {
      const path: SessionText[] = []
      let entry = leafId === null ? undefined : entries.get(leafId)
      while (entry !== undefined) {
        path.push(entry.message)
        entry = entry.parentId === null ? undefined : entries.get(entry.parentId)
      }
      return path.reverse().length
    },
  }
}
