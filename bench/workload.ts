import type { ProviderEvent } from "../s12_packages/code.ts"

/**
 * What every contestant has to do: answer one prompt in a given number of tool rounds. A round is a few words and one call of a tool;
 * closing words follow the last one. The model is scripted and never looks at its input, so the time is that of the loop around it.
 */

/** The person's words. */
export const PROMPT = "Run the script."

/** The only tool. */
export const TOOL_NAME = "echo"

const WORDS_BEFORE_CALL = ["step ", "by ", "step"]
const CLOSING_WORDS = ["all ", "rounds ", "are ", "done", "."]

/** What the last message has to say, or rounds were lost. */
export const CLOSING_TEXT: string = CLOSING_WORDS.join("")

/** The model's answer to request `round`, counted from 0. After `rounds` answers with a call comes the one without. */
export async function* answer(round: number, rounds: number): AsyncGenerator<ProviderEvent> {
  const last = round >= rounds
  yield { type: "message_start" }
  for (const text of last ? CLOSING_WORDS : WORDS_BEFORE_CALL) yield { type: "text_delta", text }
  if (!last)
    yield { type: "tool_call", call: { id: `call_${round}`, name: TOOL_NAME, input: { text: `round ${round}` } } }
  yield { type: "message_end", stopReason: last ? "stop" : "toolUse" }
}

/** The tool's body, and what it saw: how often it ran, and when (milliseconds, one stamp per run). */
export type Probe = {
  echo(text: string): string
  readonly calls: number
  readonly stamps: Float64Array
}

/** A probe for a run of that many rounds. */
export function createProbe(rounds: number): Probe {
  const stamps = new Float64Array(rounds)
  let calls = 0
  return {
    echo(text) {
      stamps[calls++] = performance.now()
      return `ok: ${text}`
    },
    get calls() {
      return calls
    },
    stamps,
  }
}

/** A loop that can be measured: it plays the script and runs `probe.echo` as the tool. */
export type LoopModule = {
  run(rounds: number, probe: Probe): Promise<{ finalText: string }>
}

/** A message for a session; every store brings it into its own shape. */
export type SessionText = {
  role: "user" | "assistant"
  text: string
}

/** A session that can be measured. `context` rebuilds the messages from the first to the latest and says how many there are. */
export type SessionStore = {
  append(message: SessionText): unknown
  context(): number | Promise<number>
}

/** Gives an empty session that lives in memory. */
export type SessionModule = {
  inMemory(): SessionStore
}
