/** From the core's messages to those of the wire and the file, and back. */
import type { AgentMessage, ToolCall } from "../../s12_packages/code.ts"
import type { StoredAssistantMessage, StoredMessage, TextBlock, ToolCallBlock } from "../protocol.ts"

/** A text as blocks: an empty one has none. */
function toBlocks(text: string): TextBlock[] {
  return text === "" ? [] : [{ type: "text", text }]
}

function toText(blocks: readonly (TextBlock | ToolCallBlock)[]): string {
  const [first] = blocks
  if (blocks.length === 1 && first?.type === "text") return first.text
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("")
}

function toCalls({ content }: StoredAssistantMessage): ToolCall[] {
  return content.flatMap((block) =>
    block.type === "toolCall" ? [{ id: block.id, name: block.name, input: block.input }] : [],
  )
}

/** A call as a block. */
export function toCallBlock({ id, name, input }: ToolCall): ToolCallBlock {
  return { type: "toolCall", id, name, input }
}

/** A message as it is stored. Whether a result is an error is not in the core's message, so it is said here. */
export function toStored(message: AgentMessage, isError: boolean): StoredMessage {
  const { role } = message
  if (role === "user") return { role, content: toBlocks(message.content) }
  if (role === "toolResult")
    return { role, toolCallId: message.toolCallId, isError, content: toBlocks(message.content) }
  const calls = (message.toolCalls ?? []).map(toCallBlock)
  return { role, content: [...toBlocks(message.content), ...calls], stopReason: message.stopReason }
}

/** A stored message as the core knows it. */
export function fromStored(message: StoredMessage): AgentMessage {
  const { role } = message
  const content = toText(message.content)
  if (role === "user") return { role, content }
  if (role === "toolResult") return { role, toolCallId: message.toolCallId, content }
  const toolCalls = toCalls(message)
  return { role, content, stopReason: message.stopReason, ...(toolCalls.length > 0 && { toolCalls }) }
}
