/**
 * Faults to plant in a chapter: each breaks one invariant and leaves the others. A fault is a few edits of the text. Because every chapter contains
 * the ones before it, the same edit fits all chapters from the first to the last that is named; where a weld has changed the place, there is
 * another form of the edit.
 */
import type { ChapterId } from "../course/manifest.ts"

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

/**
 * Takes the guard out of the loop and from the beginning of a turn. Without it a broken history is found by whoever reads it next, and late. That
 * nobody may stand between a call and its result (s07) stays as it is.
 */
export const GUARD_OUT: readonly (readonly Edit[])[] = [
  [
    ["    assertPairedToolCalls(snapshot.messages, checked)\n", ""],
    ["    assertPairedToolCalls(input.messages)\n", ""],
  ],
  [
    ["    assertPairedToolCalls(this.currentPath())\n", ""],
    ["  assertPairedToolCalls(buildProviderInput(state, options).messages)\n", ""],
  ],
]

/** An edit of the place where the loop records its results. The tools come from the request, or, from s06 on, from the snapshot. */
export function recordResults(write: (started: string) => string): readonly Edit[] {
  return ["input", "snapshot"].map((source) => {
    const started = `startToolCalls(message, ${source}.tools, options)`
    return [`    for (const pending of ${started}) record(await pending)\n`, write(started)]
  })
}

/** An edit of the loop that sees each result before it is recorded. */
export function atEachResult(statement: string): readonly Edit[] {
  const body = ["const result = await pending", statement, "record(result)"].map((line) => `      ${line}\n`)
  return recordResults((started) => `    for (const pending of ${started}) {\n${body.join("")}    }\n`)
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
          "    const { content, stopReason } = await provider.complete(input)\n    return finishMessage(content, stopReason)\n",
          "    const original = await provider.complete(input)\n    return { ...original, ...finishMessage(original.content, original.stopReason) }\n",
        ],
      ],
    ],
  },
  {
    name: "vendor-fields",
    invariant: "I1",
    excuse: "Keep the original call, somebody may need it one day.",
    first: "s04",
    edits: [[["Object.freeze({ ...bare, input:", "Object.freeze({ ...call, ...bare, input:"]]],
  },
  {
    name: "swallowed-result",
    invariant: "I2",
    excuse: "A tool that does not exist has no result.",
    first: "s04",
    edits: [...GUARD_OUT, atEachResult('if (result.content.startsWith("error: unknown tool")) continue')],
  },
  {
    name: "result-twice",
    invariant: "I2",
    excuse: "Record it early, so that a crash cannot lose it; and again at the end.",
    first: "s04",
    edits: [...GUARD_OUT, atEachResult("record(result)")],
  },
  {
    name: "truncated-call",
    invariant: "I3",
    excuse: "The arguments parse, so the call is good.",
    first: "s04",
    edits: [[['      if (message.stopReason !== "toolUse") throw ', "      if (false) throw "]]],
  },
  {
    name: "json-text-runs",
    invariant: "I3",
    excuse: "Some services send the arguments as a JSON text; parse it, and the call is good.",
    first: "s04",
    edits: [
      [
        [
          "sealTexts(call.input ?? {}, `the input of",
          'sealTexts(typeof call.input === "string" ? JSON.parse(call.input) : (call.input ?? {}), `the input of',
        ],
      ],
    ],
  },
  {
    name: "repeated-id-ignored",
    invariant: "I3",
    excuse: "It must be the same call once more.",
    first: "s04",
    edits: [[["=== bare.id)) throw new Error(", "=== bare.id)) return\n  if (calls.length < 0) throw new Error("]]],
  },
  {
    name: "calls-forgotten",
    invariant: "I3",
    excuse: "A message that broke off is an error, and nobody needs its calls.",
    first: "s04",
    edits: [
      [["    return addCalls(failMessage(content, error), calls)\n", "    return failMessage(content, error)\n"]],
    ],
  },
  {
    name: "completion-order",
    invariant: "I4",
    excuse: "Whoever is done first may go first.",
    first: "s04",
    edits: [
      ...GUARD_OUT,
      recordResults((started) => `    await Promise.all(${started}.map(async (pending) => record(await pending)))\n`),
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
          "    const sealed = sealMessage(message)\n",
          '    const sealed = sealMessage(message)\n    const first = this.#nodes.get("entry_1")\n    if (first) first.message = Object.freeze({ ...first.message, content: "[old]" })\n    if (first) first.entry = Object.freeze({ ...first.entry, content: "[old]" })\n',
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
    name: "soft-entries",
    invariant: "I5",
    excuse: "The message is frozen, that will do.",
    first: "s07",
    edits: [[["    const entry = Object.freeze(", "    const entry = Object.assign("]]],
  },
  {
    name: "half-a-character",
    invariant: "I5",
    excuse: "A text is a text.",
    first: "s01",
    last: "s06",
    edits: [
      [
        [
          '  return Object.freeze({ role: "assistant", content: content.toWellFormed(), stopReason })\n',
          '  return Object.freeze({ role: "assistant", content, stopReason })\n',
        ],
      ],
    ],
  },
  {
    name: "half-a-character",
    invariant: "I5",
    excuse: "A tool gives whole characters.",
    first: "s02",
    edits: [[["expectString(texts[name], source).toWellFormed()\n", "expectString(texts[name], source)\n"]]],
  },
  {
    name: "words-of-a-refused-turn",
    invariant: "I5",
    excuse: "Write down first what the person said, so that it cannot get lost.",
    first: "s04",
    edits: [
      ["options", "given"].map((name) => [
        `  recordMessage(state, { role: "user", content: prompt.toWellFormed() }, ${name})\n`,
        "",
      ]),
      [
        [
          "  checkMaxTurns(options.maxTurns)\n",
          '  recordMessage(state, { role: "user", content: prompt.toWellFormed() }, options)\n  checkMaxTurns(options.maxTurns)\n',
        ],
      ],
    ],
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
          "      return report(error)\n",
          "      for (const tool of tools) guard(() => this.#registry.register(tool))\n      return report(error)\n",
        ],
      ],
    ],
  },
  {
    name: "hooks-switched-off",
    invariant: "I6",
    excuse: "Who brings an executor has taken care of the hooks there.",
    first: "s09",
    edits: [
      [["      assertAllowed(hooks, call)\n", "      if (options.execute === undefined) assertAllowed(hooks, call)\n"]],
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
    edits: [[['    if (trust !== "trusted") return false\n', ""]]],
  },
  {
    name: "package-without-trust",
    invariant: "I6",
    excuse: "A package says itself what it is.",
    first: "s12",
    edits: [[['): boolean {\n  if (trust !== "trusted") return false\n', "): boolean {\n"]]],
  },
  {
    name: "texts-of-a-refused-package",
    invariant: "I6",
    excuse: "The texts are harmless, they can come in first.",
    first: "s12",
    edits: [
      [["return false\n  loader.add(texts)\n", "return false\n"]],
      [["  if (!extensions.use(", "  loader.add(texts)\n  if (!extensions.use("]],
    ],
  },
]

/** The faults that fit a chapter. */
export function faultsFor(chapter: string): Fault[] {
  return FAULTS.filter(({ first, last }) => first <= chapter && chapter <= (last ?? "s12"))
}
