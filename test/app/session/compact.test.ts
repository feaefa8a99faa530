import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type CompactionOptions, compact, estimateTokens, outline } from "../../../app/session/compaction.ts"
import { JsonlSessionStore, summaryMessage } from "../../../app/session/session-store.ts"
import {
  type AgentMessage,
  type AssistantMessage,
  assertPairedToolCalls,
  toProviderMessage,
} from "../../../s12_packages/code.ts"

let folder = ""
let store: JsonlSessionStore
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "compact-"))
  store = JsonlSessionStore.open(path.join(folder, "session.jsonl"))
})
afterEach(() => {
  store.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** A group of four messages that holds a word of its own. */
function addGroup(word: string): void {
  const toolCalls = [{ id: "a", name: "read_file", input: { path: word } }]
  store.appendMessage({ role: "user", content: `ask ${word}` })
  store.appendMessage({ role: "assistant", content: "", stopReason: "toolUse", toolCalls })
  store.appendMessage({ role: "toolResult", toolCallId: "a", content: `read ${word}` })
  store.appendMessage({ role: "assistant", content: `answer ${word}`, stopReason: "stop" })
}

const answer = (content: string, stopReason: AssistantMessage["stopReason"] = "stop"): AssistantMessage => ({
  role: "assistant",
  content,
  stopReason,
})

/** Every message costs one. */
const options = (budget: number, summarize: CompactionOptions["summarize"] = outline): CompactionOptions => ({
  budget,
  fixedCost: 0,
  countTokens: (messages) => messages.length,
  summarize,
})

const linesOf = (): number => fs.readFileSync(store.file, "utf8").trimEnd().split("\n").length

describe("compacting a session", () => {
  test("keeps whole groups from the end and tells the rest, in one record; the session keeps everything", async () => {
    for (const word of ["red", "green", "blue"]) addGroup(word)
    const lines = linesOf()
    const result = await compact(store, options(9))
    expect(result).toMatchObject({
      done: true,
      record: { firstKeptEntryId: "entry_5", entryId: "entry_12", tokensBefore: 12 },
    })
    expect(linesOf()).toBe(lines + 1)
    expect(store.path()).toHaveLength(12)
    const context = store.buildContext()
    expect(context[0]?.content).toMatch(/ask red \[read_file red\] → answer red/)
    expect(context.slice(1).map(({ content }) => content)).toEqual([
      "ask green",
      "",
      "read green",
      "answer green",
      "ask blue",
      "",
      "read blue",
      "answer blue",
    ])
    assertPairedToolCalls(context.map(toProviderMessage))
  })

  test("B59: a second one loses nothing of the first: each word is in a summary or in what is kept", async () => {
    const seen: string[] = []
    const summarize = (messages: readonly AgentMessage[]): AssistantMessage => {
      seen.push(JSON.stringify(messages))
      return outline(messages)
    }
    const words = ["one", "two", "three", "four", "five", "six"]
    for (const word of words) {
      addGroup(word)
      await compact(store, options(6, summarize))
    }
    const context = JSON.stringify(store.buildContext())
    for (const word of words) expect(context).toContain(word)
    for (const word of words.slice(0, -1)) expect(seen.filter((text) => text.includes(word))).toHaveLength(1)
  })

  test("the same history and budget give the same context, to the byte, here and after a reload", async () => {
    for (const word of ["red", "green", "blue"]) addGroup(word)
    await compact(store, options(9))
    const once = JSON.stringify(store.buildContext())
    store.close()
    store = JsonlSessionStore.open(path.join(folder, "session.jsonl"))
    expect(JSON.stringify(store.buildContext())).toBe(once)
  })

  test.each<[string, CompactionOptions["summarize"], RegExp]>([
    ["says nothing", () => answer(" \n"), /said nothing/],
    ["fails", () => answer("error: no connection", "error"), /no connection/],
    ["breaks off", () => answer("so far\nerror: the stream ended before its message did", "error"), /stream ended/],
    [
      "asks for tools",
      () => ({ ...answer("", "toolUse"), toolCalls: [{ id: "a", name: "x", input: {} }] }),
      /asked for tools/,
    ],
    [
      "throws",
      () => {
        throw new Error("boom")
      },
      /boom/,
    ],
    ["rejects", () => Promise.reject(new Error("later")), /later/],
  ])("B61: a model that %s compacts nothing", async (_name, summarize, why) => {
    for (const word of ["red", "green", "blue"]) addGroup(word)
    const [lines, context] = [linesOf(), store.buildContext()]
    expect(await compact(store, options(9, summarize))).toEqual({
      done: false,
      reason: "no summary",
      why: expect.stringMatching(why),
    })
    expect([linesOf(), store.buildContext()]).toEqual([lines, context])
  })

  test("B63, B64: what cannot get smaller is not tried: nobody is asked for a summary a second time", async () => {
    let asked = 0
    const summarize = (): AssistantMessage => answer(`summary ${++asked}`)
    for (const word of ["red", "green"]) addGroup(word)
    // The fixed cost alone is over the budget: everything goes into the summary once, and then there is nothing left.
    const tight = { ...options(3, summarize), fixedCost: 10 }
    expect(await compact(store, tight)).toMatchObject({ done: true, record: { firstKeptEntryId: null } })
    for (let tries = 0; tries < 5; tries++)
      expect(await compact(store, tight)).toEqual({ done: false, reason: "no progress" })
    expect(asked).toBe(1)
    expect(store.buildContext()).toHaveLength(1)
    addGroup("blue")
    expect(
      store
        .buildContext()
        .map(({ content }) => content)
        .slice(1),
    ).toEqual(["ask blue", "", "read blue", "answer blue"])
  })

  test("B03, B06: a history that ended in the middle of its calls is compacted by groups, and goes on", async () => {
    for (const word of ["red", "green"]) addGroup(word)
    store.appendMessage({ role: "user", content: "ask blue" })
    const toolCalls = ["x", "y"].map((id) => ({ id, name: "read_file", input: { path: "blue" } }))
    store.appendMessage({ role: "assistant", content: "", stopReason: "toolUse", toolCalls })
    store.close()
    store = JsonlSessionStore.open(path.join(folder, "session.jsonl"))
    expect(await compact(store, options(4))).toMatchObject({ done: true, record: { firstKeptEntryId: "entry_9" } })
    const [, ...kept] = store.buildContext()
    expect(kept.map(({ role, content }) => [role, content.split(":")[0]])).toEqual([
      ["user", "ask blue"],
      ["assistant", ""],
      ["toolResult", "error"],
      ["toolResult", "error"],
    ])
    store.appendMessage({ role: "user", content: "go on" })
    assertPairedToolCalls(store.buildContext().map(toProviderMessage))
  })

  test("B59, B63: a session that goes on and on fits every time, asks for few summaries, and forgets nothing unseen", async () => {
    const [budget, turns] = [60, 200]
    const seen: string[] = []
    const summarize = (messages: readonly AgentMessage[]): AssistantMessage => {
      seen.push(JSON.stringify(messages))
      return answer(`summary ${seen.length}; ${"of words ".repeat(3)}`)
    }
    // Ten characters cost one.
    const countTokens = (messages: readonly AgentMessage[]): number =>
      messages.reduce((sum, { content }) => sum + Math.ceil(content.length / 10), 0)
    for (let turn = 0; turn < turns; turn++) {
      const { summary = "" } = store.keptPath()
      const result = await compact(store, { budget, fixedCost: 10, keep: 20, countTokens, summarize })
      // What the model was told before stays, or is told anew by somebody who has read it: else it would be forgotten unseen.
      const isTold =
        result.done && (result.record.summary.startsWith(summary) || seen.at(-1)?.includes(summary.slice(0, 10)))
      expect(isTold || !result.done).toBe(true)
      expect(["done", "not needed"]).toContain(result.done ? "done" : result.reason)
      expect(10 + countTokens(store.buildContext())).toBeLessThanOrEqual(budget)
      addGroup(`number ${turn};`)
    }
    expect(seen.length).toBeLessThan(turns / 4)
    const context = JSON.stringify(store.buildContext())
    for (let turn = 0; turn < turns; turn++)
      expect(context.includes(`number ${turn};`) || seen.some((text) => text.includes(`number ${turn};`))).toBe(true)
    expect(store.path()).toHaveLength(turns * 4)
  })

  test("what is kept has to fit beside the last summary", async () => {
    const summarize = (): AssistantMessage => answer("s".repeat(20))
    const countTokens = (messages: readonly AgentMessage[]): number =>
      messages.reduce((sum, { role, content }) => sum + (role === "user" && content.endsWith("sss") ? 2 : 1), 0)
    const given = { budget: 9, fixedCost: 0, countTokens, summarize }
    for (const word of ["red", "green", "blue"]) addGroup(word)
    expect(await compact(store, given)).toMatchObject({ done: true, record: { firstKeptEntryId: "entry_5" } })
    // Two groups cost eight; beside a summary that costs two there is room for one.
    addGroup("grey")
    expect(await compact(store, given)).toMatchObject({ done: true, record: { firstKeptEntryId: "entry_13" } })
  })

  test("a summary that is no shorter than what it tells is not taken", async () => {
    for (const word of ["red", "green", "blue"]) addGroup(word)
    const [lines, context] = [linesOf(), store.buildContext()]
    const long = (): AssistantMessage => answer("so much to say ".repeat(100))
    const result = await compact(store, { ...options(0, long), budget: 100, countTokens: estimateTokens })
    expect(result).toEqual({ done: false, reason: "no progress" })
    expect([linesOf(), store.buildContext()]).toEqual([lines, context])
  })

  test("an outline of an outline keeps its lines, up to a limit", () => {
    const groups = (from: number, to: number): AgentMessage[] =>
      Array.from({ length: to - from }, (_, index): AgentMessage[] => [
        { role: "user", content: `q${from + index};` },
        answer(`a${from + index};`),
      ]).flat()
    const once = outline(groups(0, 30)).content
    const twice = outline([summaryMessage(once), answer("in between"), ...groups(30, 35)]).content
    expect(twice.split("\n")).toEqual([
      ...once.split("\n"),
      "- asked:  → in between",
      ...outline(groups(30, 35)).content.split("\n"),
    ])
    const long = outline([
      summaryMessage(outline([summaryMessage(twice), ...groups(35, 60)]).content),
      ...groups(60, 90),
    ])
    expect(long.content.split("\n")).toEqual([
      "[earlier lines are only in the session]",
      ...outline(groups(51, 90)).content.split("\n"),
    ])
  })

  test("a Chinese text costs what a Chinese text costs", () => {
    const [latin, chinese] = ["a", "文"].map((letter) =>
      estimateTokens([{ role: "user", content: letter.repeat(4000) }]),
    )
    expect(latin).toBeGreaterThan(1000)
    expect(latin).toBeLessThan(1100)
    expect(chinese).toBeGreaterThan(3000)
    expect(chinese).toBeLessThan(3100)
  })

  test("what fits is left alone", async () => {
    addGroup("red")
    expect(await compact(store, options(4))).toEqual({ done: false, reason: "not needed" })
    expect(await compact(store, { ...options(1_000_000), countTokens: estimateTokens })).toEqual({
      done: false,
      reason: "not needed",
    })
  })

  test("a session that moved while the summary was made is left alone", async () => {
    for (const word of ["red", "green", "blue"]) addGroup(word)
    const summarize = async (): Promise<AssistantMessage> => {
      store.moveTo("entry_4")
      return answer("late")
    }
    expect(await compact(store, options(9, summarize))).toEqual({ done: false, reason: "the session moved" })
    expect(store.buildContext()).toHaveLength(4)
  })

  test("whatever the groups and the budget, what is sent is paired, and no more than fits beside the summary", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 6 }),
        fc.nat(30),
        async (words, budget) => {
          store.close()
          fs.rmSync(store.file)
          store = JsonlSessionStore.open(store.file)
          for (const word of words) addGroup(word)
          const result = await compact(store, options(budget))
          const context = store.buildContext()
          assertPairedToolCalls(context.map(toProviderMessage))
          expect(context.length - (result.done ? 1 : 0)).toBeLessThanOrEqual(
            Math.max(budget, result.done ? 0 : context.length),
          )
          expect(store.path()).toHaveLength(words.length * 4)
        },
      ),
      { numRuns: 50 },
    )
  })
})
