import { type Output, type Provider, runOneTurn, SessionTree, ToolRegistry } from "../s12_packages/code.ts"
import { answer, PROMPT, type Probe, type SessionStore, TOOL_NAME } from "./workload.ts"

/** The last chapter, called as its user calls it: a tree, a registry with one tool, and the mode that it has by default. */

const silent: Output = { log: () => {} }

/** Plays the script. */
export async function run(rounds: number, probe: Probe): Promise<{ finalText: string }> {
  let requests = 0
  const provider: Provider = { stream: () => answer(requests++, rounds) }
  const registry = new ToolRegistry()
  registry.register({
    spec: { name: TOOL_NAME, description: "Gives its text back, marked.", input: { text: "any text" } },
    handler: ({ text = "" }) => probe.echo(text),
  })
  const state = { messages: new SessionTree(), model: "scripted" }
  const message = await runOneTurn(state, PROMPT, { provider, output: silent, registry, maxTurns: rounds + 1 })
  return { finalText: message.content }
}

/** An empty tree. */
export function inMemory(): SessionStore {
  const tree = new SessionTree()
  return {
    append({ role, text }) {
      tree.append(role === "user" ? { role, content: text } : { role, content: text, stopReason: "stop" })
    },
    context: () => tree.currentPath().length,
  }
}
