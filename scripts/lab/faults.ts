/**
 * Faults to plant in a chapter: each breaks one invariant and leaves the others. A fault is a few edits of the text. Because every chapter contains
 * the ones before it, the same edit fits all chapters from the first to the last that is named; where a weld has changed the place, there is
 * another form of the edit.
 */
import type { ChapterId } from "../manifest.ts"

/** Replaces a text that stands exactly once in the chapter. Of several forms, the first that is there is used. */
export type Edit = readonly [from: string, to: string]

/** A fault. */
export type Fault = {
  name: string
  invariant: "I1" | "I2" | "I3" | "I4" | "I5" | "I6"
  /** What somebody would have had in mind who wrote it. */
  excuse: string
  first: ChapterId
  last?: ChapterId
  edits: readonly (readonly Edit[])[]
}

/** Takes the guard out of the loop. Without it a broken history is found by whoever reads it next, and late. */
export const GUARD_OUT: readonly Edit[] = [
  ["    assertPairedToolCalls(input.messages, checked)\n", ""],
  ["    assertPairedToolCalls(input.messages)\n", ""],
]

const LOOP_RESULTS: Edit = [
  "    for (const pending of startToolCalls(message, input, options)) {\n      const result = await pending\n",
  "    for (const pending of startToolCalls(message, input, options)) {\n      const result = await pending\n",
]

/** An edit of the loop that sees each result before it is recorded. */
function atEachResult(statement: string): Edit {
  return [LOOP_RESULTS[0], `${LOOP_RESULTS[0]}      ${statement}\n`]
}

/** The faults, by invariant. */
export const FAULTS: readonly Fault[] = [
  {
    name: "vendor-word",
    invariant: "I1",
    excuse: "Just this once: the adapter is such a long way off.",
    first: "s01",
    edits: [
      [
        [
          "  const { stopReason, ...sent } = message\n",
          '  const { stopReason, ...sent } = message\n  if ((message as { stop_reason?: string }).stop_reason === "max_tokens") return sent\n',
        ],
      ],
    ],
  },
  {
    name: "vendor-fields",
    invariant: "I1",
    excuse: "Keep the original message, somebody may need it one day.",
    first: "s01",
    last: "s02",
    edits: [
      [
        [
          "    const { content, stopReason } = await provider.complete(input)\n",
          '    const original = await provider.complete(input)\n    const { content, stopReason } = original\n    if (content.trim() !== "") return { ...original }\n',
        ],
      ],
    ],
  },
  {
    name: "vendor-fields",
    invariant: "I1",
    excuse: "Keep the original call, somebody may need it one day.",
    first: "s04",
    edits: [
      [
        [
          "  return Object.freeze({ id, name, input: Object.freeze({ ...input }) })\n",
          "  return Object.freeze({ ...call, input: Object.freeze({ ...input }) })\n",
        ],
      ],
    ],
  },
  {
    name: "swallowed-result",
    invariant: "I2",
    excuse: "A tool that does not exist has no result.",
    first: "s04",
    edits: [GUARD_OUT, [atEachResult('if (result.content.startsWith("error: unknown tool")) continue')]],
  },
  {
    name: "result-twice",
    invariant: "I2",
    excuse: "Record it early, so that a crash cannot lose it; and again at the end.",
    first: "s04",
    edits: [
      GUARD_OUT,
      [
        [
          "      recordMessage(state, result, options)\n",
          "      recordMessage(state, result, options)\n      recordMessage(state, result, options)\n",
        ],
      ],
    ],
  },
  {
    name: "truncated-call",
    invariant: "I3",
    excuse: "The arguments parse, so the call is good.",
    first: "s04",
    edits: [
      [
        [
          '      if (message.stopReason !== "toolUse") throw new Error("not run, because its message is incomplete")\n',
          "",
        ],
      ],
    ],
  },
  {
    name: "completion-order",
    invariant: "I4",
    excuse: "Whoever is done first may go first.",
    first: "s04",
    edits: [
      GUARD_OUT,
      [
        [
          LOOP_RESULTS[0],
          "    const finished: ToolResultMessage[] = []\n    const started = startToolCalls(message, input, options)\n    await Promise.all(started.map(async (pending) => finished.push(await pending)))\n    for (const result of finished) {\n",
        ],
      ],
    ],
  },
  {
    name: "edited-history",
    invariant: "I5",
    excuse: "The old messages are long; nobody reads them any more.",
    first: "s01",
    last: "s06",
    edits: [
      [
        [
          "  state.messages.push(Object.freeze(message))\n",
          '  const [first] = state.messages\n  if (first?.role === "user" && state.messages.length > 1) state.messages[0] = { ...first, content: "[old]" }\n  state.messages.push(Object.freeze(message))\n',
        ],
      ],
    ],
  },
  {
    name: "edited-history",
    invariant: "I5",
    excuse: "The old messages are long; nobody reads them any more.",
    first: "s07",
    edits: [
      [
        [
          "    const parent = this.#leaf\n",
          '    const parent = this.#leaf\n    const first = this.#nodes.get("entry_1")\n    if (first !== undefined && this.#nodes.size > 1) {\n      first.message = Object.freeze({ ...first.message, content: "[old]" })\n      first.entry = Object.freeze({ ...first.entry, content: "[old]" })\n    }\n',
        ],
      ],
    ],
  },
  {
    name: "soft-history",
    invariant: "I5",
    excuse: "Freezing costs time.",
    first: "s01",
    last: "s06",
    edits: [[["  state.messages.push(Object.freeze(message))\n", "  state.messages.push({ ...message })\n"]]],
  },
  {
    name: "text-that-runs",
    invariant: "I6",
    excuse: "Templates are handy in prompts.",
    first: "s08",
    edits: [
      [
        [
          "    const lines = cutText(content, MAX_RESOURCE_CHARS)",
          '    if (content.startsWith("run: ")) new Function(content.slice(5))()\n    const lines = cutText(content, MAX_RESOURCE_CHARS)',
        ],
      ],
    ],
  },
  {
    name: "half-an-extension",
    invariant: "I6",
    excuse: "What worked may stay.",
    first: "s09",
    edits: [
      [
        [
          "    } catch (error) {\n      report(error)\n      return false\n",
          "    } catch (error) {\n      for (const tool of tools) guard(() => this.registry.register(tool))\n      report(error)\n      return false\n",
        ],
      ],
    ],
  },
  {
    name: "trust-ignored",
    invariant: "I6",
    excuse: "It is only text.",
    first: "s11",
    edits: [[['    if (trust !== "trusted") return []\n', ""]]],
  },
  {
    name: "code-before-trust",
    invariant: "I6",
    excuse: "Import it first, then we know what to ask about.",
    first: "s11",
    edits: [[['    if (trust !== "trusted") return false\n    // A failed', "    // A failed"]]],
  },
  {
    name: "package-without-trust",
    invariant: "I6",
    excuse: "A package says itself what it is.",
    first: "s12",
    edits: [[['  if (trust !== "trusted") return false\n  const extension', "  const extension"]]],
  },
]

/** The faults that fit a chapter. */
export function faultsFor(chapter: string): Fault[] {
  return FAULTS.filter(({ first, last }) => first <= chapter && chapter <= (last ?? "s12"))
}
