/** What is decided about a call before it runs. The model proposes; the program, and where it does damage the person, decide. */
import { createTwoFilesPatch, formatPatch } from "diff"
import { escapeControls, type ToolCall } from "../../s12_packages/code.ts"
import type { Question, ToolDecision } from "../protocol.ts"
import type { ToolDefinition } from "./tools.ts"

/** Decides on a call: lets it run, blocks it with a reason, or runs it with other arguments, which are then decided on anew. */
export type BeforeToolCall = (call: ToolCall, tool: ToolDefinition) => ToolDecision | Promise<ToolDecision>

/** Asks the person. False is no, and so is no answer. */
export type Ask = (question: Question) => Promise<boolean>

/** So many rewrites one call may have. More means that two rules want different things. */
const MAX_REWRITES = 10

/** How many lines may differ for the shortest diff to be looked for. Its cost grows with their square. */
const MAX_DIFFERENCES = 1_000

/** Letters of other scripts that look like those of the word, as they are after normalization. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ѕ: "s",
  е: "e",
  є: "e",
  ε: "e",
  с: "c",
  ς: "c",
  г: "r",
  т: "t",
  τ: "t",
  祕: "秘",
}

/** Whether a name says that it is secret, in whatever spelling: case, width, accents, invisible characters and what stands between the letters count not. */
export function soundsSecret(name: string): boolean {
  const bare = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}]/gu, "")
    .replace(/./gu, (char) => LOOKALIKES[char] ?? char)
  return bare.includes("secret") || bare.includes("秘密")
}

/** No note may be called secret; a listing without a path lists the workspace. */
export const defaultPolicy: BeforeToolCall = ({ name, input }, { target }) => {
  // By its name and by where that leads: a link with a harmless name is no way around.
  const places = [input.name ?? "", target?.(input) ?? ""]
  if (name === "write_note" && places.some(soundsSecret))
    return { type: "block", reason: "notes with secrets are not written" }
  if (name === "list_files" && (input.path ?? "").trim() === "")
    return { type: "rewrite", input: { ...input, path: "." } }
  return { type: "allow" }
}

/** Rules, asked one after the other. After each rewrite all of them are asked anew, so that what is allowed is what will run. */
export async function decide(
  rules: readonly BeforeToolCall[],
  call: ToolCall,
  tool: ToolDefinition,
  onRewrite: (input: Record<string, string>) => void = () => {},
): Promise<{ call: ToolCall; block?: string }> {
  let current = call
  for (let rewrites = 0; rewrites <= MAX_REWRITES; rewrites++) {
    let rewritten = false
    for (const rule of rules) {
      const decision = await rule(current, tool)
      if (decision.type === "block") return { call: current, block: decision.reason }
      if (decision.type === "rewrite") {
        current = Object.freeze({ ...current, input: Object.freeze({ ...decision.input }) })
        onRewrite(current.input)
        rewritten = true
        break
      }
      if (decision.type !== "allow") return { call: current, block: "a rule gave no decision" }
    }
    if (!rewritten) return { call: current }
  }
  return { call: current, block: "the rules rewrite each other's arguments without end" }
}

/** The lines of a text as a diff has them, each behind a sign. */
function mark(text: string, sign: "-" | "+"): { count: number; lines: string[] } {
  const lines = text.split("\n")
  const rest = lines.pop() ?? ""
  const marked = (rest === "" ? lines : [...lines, rest]).map((line) => `${sign}${line}`)
  return { count: marked.length, lines: rest === "" ? marked : [...marked, "\\ No newline at end of file"] }
}

/** What changes, as a unified diff: the shortest one, or, where two texts have too little in common, all of the old one and all of the new one. */
export function showChange(file: string, before: string, after: string): string {
  const options = { context: 2, maxEditLength: MAX_DIFFERENCES }
  const short = createTwoFilesPatch(file, file, before, after, "now", "then", options)
  if (short !== undefined) return short
  const [old, fresh] = [mark(before, "-"), mark(after, "+")]
  const lines = [...old.lines, ...fresh.lines]
  const hunk = { oldStart: 1, oldLines: old.count, newStart: 1, newLines: fresh.count, lines }
  return formatPatch({ oldFileName: file, newFileName: file, oldHeader: "now", newHeader: "then", hunks: [hunk] })
}

/** What to ask before a call; undefined when it does no damage. Throws where the call cannot be run. */
export function questionFor(
  { id, name, input }: ToolCall,
  tool: ToolDefinition,
  questionId: string,
): Question | undefined {
  if (tool.readOnly) return undefined
  // Nothing of what the model wrote may turn around the words in which the person is asked.
  const ask = (text: string, diff?: string): Question => ({
    id: questionId,
    toolCallId: id,
    name,
    text: escapeControls(text),
    ...(diff !== undefined && { diff: escapeControls(diff) }),
  })
  if (tool.preview === undefined) {
    const given = Object.entries(input).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    const shown = given.length === 0 ? "no arguments" : given.join(", ")
    return ask(`runs ${name}, a tool of ${tool.source === "package" ? "a package" : "an extension"}, with ${shown}`)
  }
  const preview = tool.preview(input)
  if (preview === undefined) return undefined
  const { text, before, after, file = "" } = preview
  return before === undefined || after === undefined ? ask(text) : ask(text, showChange(file, before, after))
}
