import type { ExtensionAPI } from "../../../../s12_packages/code.ts"

/** The tools of this extension that change nothing. Any other would ask before it runs. */
export const readOnlyTools: string[] = ["count_words"]

/** A tool for the model and a command for the person. */
export default function wordCounter(api: ExtensionAPI): void {
  let messages = 0
  api.on("message", () => {
    messages++
  })
  api.registerCommand({ name: "heard", run: () => `messages so far: ${messages}` })
  api.registerTool({
    spec: { name: "count_words", description: "Counts the words of a text.", input: { text: "any text" } },
    handler: ({ text = "" }) => `words: ${text.split(/\s+/).filter((word) => word !== "").length}`,
  })
}
