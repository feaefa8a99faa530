import fs from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { MessageRecord, SessionRecord } from "../../../app/protocol.ts"
import { findLocks } from "../../../app/session/lock.ts"
import { JsonlSessionStore } from "../../../app/session/session-store.ts"
import { assertPairedToolCalls, runOneTurn, toProviderMessage } from "../../../s12_packages/code.ts"
import { DEEP } from "../../support/tier.ts"
import { ask, HEADER, record, result, say, textsOf, user, useSessionFolder } from "./session-files.ts"

const session = useSessionFolder()

describe("a session file", () => {
  test("holds a record a line, in the form of the protocol", () => {
    const store = session.open({ now: () => new Date(0) })
    store.appendMessage(user("List the files."))
    store.appendMessage(ask("a"))
    store.appendMessage(result("a", "error: no such folder"), true)
    store.appendMessage(say("There are none."))
    const [header, ...lines] = fs.readFileSync(session.file, "utf8").trimEnd().split("\n")
    expect(JSON.parse(header ?? "")).toEqual({
      type: "session",
      version: 1,
      id: store.header.id,
      time: "1970-01-01T00:00:00.000Z",
    })
    expect(lines[0]).toBe(
      '{"type":"message","id":"entry_1","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"List the files."}]}}',
    )
    expect(JSON.parse(lines[1] ?? "").message.content).toEqual([
      { type: "toolCall", id: "a", name: "read_file", input: { path: "a.md" } },
    ])
    expect(JSON.parse(lines[2] ?? "").message).toMatchObject({ toolCallId: "a", isError: true })
    expect(JSON.parse(lines[3] ?? "")).toMatchObject({ id: "entry_4", parentId: "entry_3" })
  })

  test("gives back what was put in, to the last character", () => {
    const messages = [user('\u2028 文 \u{1f600} "}{" \0'), ask("a", "b"), result("a", ""), result("b"), say("ok\r\n")]
    const store = session.open()
    for (const message of messages) store.appendMessage(message)
    expect(session.reopen().buildContext()).toEqual(messages)
  })

  test("is written while a turn goes on, by the core's own loop", async () => {
    const store = session.open({ isError: (id) => id === "a" })
    const seen: string[][] = []
    const provider = {
      async *stream() {
        seen.push(
          fs
            .readFileSync(session.file, "utf8")
            .trimEnd()
            .split("\n")
            .slice(1)
            .map((line) => JSON.parse(line).message.role),
        )
        yield { type: "message_start" as const }
        if (seen.length === 1) yield { type: "tool_call" as const, call: { id: "a", name: "nothing", input: {} } }
        else yield { type: "text_delta" as const, text: "done" }
        yield { type: "message_end" as const, stopReason: seen.length === 1 ? ("toolUse" as const) : ("stop" as const) }
      },
    }
    await runOneTurn({ messages: store.tree, model: "m" }, "go", { provider, output: { log: () => {} } })
    expect(seen).toEqual([["user"], ["user", "assistant", "toolResult"]])
    expect(store.entries().at(2)?.message).toMatchObject({ role: "toolResult", isError: true })
    expect(session.reopen().path()).toHaveLength(4)
  })

  test("stands after a reload where the person stood: at an entry, on another branch, before the first", () => {
    const store = session.open()
    for (const text of ["one", "two", "three"]) store.appendMessage(user(text))
    store.moveTo("entry_1")
    const below = session.reopen()
    expect(below.leafId).toBe("entry_1")
    below.appendMessage(user("other"))
    const again = session.reopen()
    expect([again.leafId, textsOf(again.path())]).toEqual(["entry_4", ["one", "other"]])
    again.moveTo(null)
    const empty = session.reopen()
    expect([empty.leafId, empty.buildContext(), empty.entries().length]).toEqual([null, [], 4])
  })

  test("refuses to go to what is not there, and where results are due, and stays", () => {
    const store = session.open()
    for (const message of [user("one"), ask("a", "b"), result("a"), result("b"), say("done")])
      store.appendMessage(message)
    const before = fs.readFileSync(session.file)
    expect(() => store.moveTo("entry_9")).toThrow('"entry_9"')
    expect(() => store.moveTo("entry_3")).toThrow(/result of "b"/)
    expect(store.leafId).toBe("entry_5")
    expect(fs.readFileSync(session.file)).toEqual(before)
  })
})

describe("damage", () => {
  test("B39: a line that breaks off is left as it is, and what is appended next starts a line of its own", () => {
    session.write(HEADER, record("entry_1", null, "one"), record("entry_2", "entry_1", "two"))
    fs.appendFileSync(session.file, '{"type":"message","id":"entry_3","par')
    const before = fs.readFileSync(session.file)
    const store = session.open()
    expect(store.damage).toEqual([expect.stringMatching(/^the last line, 4, breaks off: /)])
    for (const text of ["three", "four"]) store.appendMessage(user(text))
    const again = session.reopen()
    expect(textsOf(again.path())).toEqual(["one", "two", "three", "four"])
    expect(again.damage).toHaveLength(1)
    expect(fs.readFileSync(session.file).subarray(0, before.length)).toEqual(before)
  })

  test("B39: a last record that is whole and lacks only its line end is kept, and not glued to", () => {
    session.write(HEADER, record("entry_1", null, "one"), JSON.stringify(record("entry_2", "entry_1", "two")))
    const store = session.open()
    expect(store.damage).toEqual([])
    store.appendMessage(user("three"))
    expect(textsOf(session.reopen().path())).toEqual(["one", "two", "three"])
  })

  test("B41: a run of NUL bytes is told with its line, and all behind it loads", () => {
    const lines = [2, 3, 4, 5].map((id) => record(`entry_${id}`, `entry_${id - 1}`, `${id}`))
    const tail = [7, 8, 9].map((id) => record(`entry_${id}`, id === 7 ? "entry_5" : `entry_${id - 1}`, `${id}`))
    session.write(HEADER, record("entry_1", null, "1"), ...lines, `${"\0".repeat(500)}\n`, ...tail)
    const store = session.open()
    expect(textsOf(store.path())).toEqual(["1", "2", "3", "4", "5", "7", "8", "9"])
    expect(store.damage).toEqual(["line 7 holds 500 NUL bytes"])
    expect(store.leafId).toBe("entry_9")
  })

  test("B41: a record behind NUL bytes on the same line is saved", () => {
    session.write(
      HEADER,
      record("entry_1", null, "1"),
      `${"\0".repeat(9)}${JSON.stringify(record("entry_2", "entry_1", "2"))}\n`,
    )
    expect(textsOf(session.open().path())).toEqual(["1", "2"])
  })

  test("B43: records that are glued together are all there, and a text that looks like it is untouched", () => {
    const glued = [record("entry_1", null, 'a }{ "b\\'), record("entry_2", "entry_1", "2")].map((one) =>
      JSON.stringify(one),
    )
    session.write(HEADER, `${glued.join("")}\n`, record("entry_3", "entry_2", "3"))
    const store = session.open()
    expect(textsOf(store.path())).toEqual(['a }{ "b\\', "2", "3"])
    expect(store.damage).toEqual([expect.stringContaining("line 2")])
  })

  test("B43: a record glued to a piece of another is saved", () => {
    session.write(
      HEADER,
      record("entry_1", null, "1"),
      `{"type":"message","id":"x","mess${JSON.stringify(record("entry_2", "entry_1", "2"))}\n`,
    )
    expect(textsOf(session.open().path())).toEqual(["1", "2"])
  })

  test("B45, B46: a byte order mark, CRLF and blank lines change nothing; a mark in a text stays", () => {
    const lines = [HEADER, record("entry_1", null, "\uFEFFone"), record("entry_2", "entry_1", "two")]
    fs.writeFileSync(session.file, `\uFEFF${lines.map((line) => `${JSON.stringify(line)}\r\n\r\n`).join("")}\n`)
    const store = session.open()
    expect([store.damage, textsOf(store.path()), store.header.id]).toEqual([[], ["\uFEFFone", "two"], "test"])
  })

  test("B48: a cycle, an entry that is its own parent and one below what is not there end in a report", () => {
    session.write(
      HEADER,
      record("a", "c", "a"),
      record("b", "a", "b"),
      record("c", "b", "c"),
      record("d", "d", "d"),
      record("e", "nowhere", "e"),
    )
    const store = session.open()
    expect(textsOf(store.path())).toEqual(["a", "b", "c", "d", "e"])
    expect(store.damage).toEqual([
      "line 2: c is not there; what hangs below it is put below nothing",
      "line 5: d is not there; what hangs below it is put below c",
      "line 6: nowhere is not there; what hangs below it is put below d",
    ])
  })

  test("B50: an id that stands twice is told, and neither is lost", () => {
    session.write(HEADER, record("entry_1", null, "one"), record("entry_1", null, "other"))
    const store = session.open()
    expect(store.entries().map(({ id }) => id)).toEqual(["entry_1", "entry_1~2"])
    expect(textsOf(store.entries())).toEqual(["one", "other"])
    expect(store.damage).toEqual([expect.stringContaining("entry_1 stands there twice")])
    expect(store.appendMessage(user("new")).id).toBe("entry_3")
  })

  test.each<[string, string, RegExp]>([
    ["no JSON", "hello\n", /line 2 is no record: "hello/],
    ["a list", "[1]\n", /line 2 holds no object/],
    ["an unknown type", '{"type":"future"}\n', /line 2 holds a record of the type "future"/],
    [
      "a strange role",
      '{"type":"message","id":"x","parentId":null,"message":{"role":"system","content":[]}}\n',
      /role "system"/,
    ],
    [
      "text that is none",
      '{"type":"message","id":"x","parentId":null,"message":{"role":"user","content":[{"type":"text","text":7}]}}\n',
      /text block/,
    ],
    [
      "a call id twice",
      `${JSON.stringify({ ...record("x", null, ""), message: { role: "assistant", stopReason: "toolUse", content: ["a", "a"].map((id) => ({ type: "toolCall", id, name: "n", input: {} })) } })}\n`,
      /id of a call repeats/,
    ],
    ["a second header", `${JSON.stringify(HEADER)}\n`, /line 2 is a second header/],
    [
      "a compaction of nothing",
      '{"type":"compaction","entryId":"x","summary":"s","firstKeptEntryId":null,"tokensBefore":1}\n',
      /line 2: a compaction at x, which is not there/,
    ],
    ["a leaf that is not there", '{"type":"leaf","entryId":"x"}\n', /line 2: x is not there/],
  ])("%s in the middle is told, and what is around it loads", (_name, line, reason) => {
    session.write(HEADER, line, record("entry_1", null, "one"))
    const store = session.open()
    expect(textsOf(store.path())).toEqual(["one"])
    expect(store.damage).toHaveLength(1)
    expect(store.damage[0]).toMatch(reason)
  })

  test("results in the middle that are lost are shown as errors, and the rest can be sent", () => {
    const calls: MessageRecord = {
      type: "message",
      id: "entry_2",
      parentId: "entry_1",
      message: {
        role: "assistant",
        stopReason: "toolUse",
        content: ["a", "b"].map((id) => ({ type: "toolCall", id, name: "n", input: {} })),
      },
    }
    const answer: MessageRecord = {
      type: "message",
      id: "entry_4",
      parentId: "entry_3",
      message: { role: "toolResult", toolCallId: "b", isError: false, content: [] },
    }
    session.write(
      HEADER,
      record("entry_1", null, "one"),
      calls,
      "damaged\n",
      answer,
      record("entry_5", "entry_4", "five"),
    )
    const store = session.open()
    expect(store.path().map(({ message }) => message.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "user",
    ])
    expect(() => assertPairedToolCalls(store.buildContext().map(toProviderMessage))).not.toThrow()
    expect(store.damage.join("\n")).toMatch(/line 4 is no record[\s\S]*the result of "a" is lost/)
    const orphan = { ...answer, id: "entry_6", parentId: "entry_5" }
    fs.appendFileSync(session.file, `${JSON.stringify(orphan)}\n`)
    expect(session.reopen().damage.join("\n")).toContain('a result of "b", and no such call waits for one')
  })

  test("a file of a newer version is refused, and untouched", () => {
    session.write({ ...HEADER, version: 2 } as unknown as SessionRecord)
    const before = fs.readFileSync(session.file)
    expect(() => session.open()).toThrow(/is of version 2, and this program reads versions up to 1/)
    expect(fs.readFileSync(session.file)).toEqual(before)
    expect(findLocks(session.file)).toEqual([])
  })

  test("a hostile line takes no longer than its length", () => {
    session.write(HEADER, `${'{"type":"'.repeat(100_000)}\n`, record("entry_1", null, "one"))
    expect(textsOf(session.open().path())).toEqual(["one"])
  })
})

describe("a crash in the middle of a turn", () => {
  const broken = (): void => {
    const store = session.open()
    for (const message of [user("go"), ask("a", "b", "c"), result("a")]) store.appendMessage(message)
  }

  test("B03: a writer answers the calls that are left with errors that it appends, once", () => {
    broken()
    const before = fs.readFileSync(session.file)
    const store = session.reopen()
    expect(
      store
        .path()
        .slice(3)
        .map(({ message }) => message),
    ).toEqual(
      ["b", "c"].map((toolCallId) => expect.objectContaining({ role: "toolResult", toolCallId, isError: true })),
    )
    expect(store.damage).toEqual(['"b", "c" had no result when the program stopped; answered with an error'])
    expect(fs.readFileSync(session.file).subarray(0, before.length)).toEqual(before)
    const after = fs.readFileSync(session.file)
    expect(session.reopen().damage).toEqual([])
    expect(fs.readFileSync(session.file)).toEqual(after)
  })

  test("a reader shows the same and writes nothing, while another has the file", () => {
    broken()
    const before = fs.readFileSync(session.file)
    const reader = JsonlSessionStore.open(session.file, { readOnly: true })
    expect(reader.path()).toHaveLength(5)
    expect(reader.damage).toEqual([
      '"b", "c" had no result when the program stopped; shown with an error, which is not written',
    ])
    expect(() => reader.moveTo("entry_1")).toThrow("for reading only")
    reader.close()
    expect(fs.readFileSync(session.file)).toEqual(before)
  })
})

describe("one writer", () => {
  test("B52: a second one is refused, and can write when the first has closed", () => {
    session.open()
    expect(() => JsonlSessionStore.open(session.file)).toThrow(`is being written by process ${process.pid}`)
    session.close()
    session.open().appendMessage(user("mine"))
    expect(() => JsonlSessionStore.open(session.file)).toThrow("is being written")
    session.close()
    expect(fs.readdirSync(session.folder)).toEqual(["session.jsonl"])
  })
})

describe("a disk that takes nothing", () => {
  test("is told, ends no turn, and gets what is waiting when it is there again, in order", async () => {
    const store = session.open()
    store.appendMessage(user("before"))
    const write = fs.writeSync
    const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" })
    fs.writeSync = ((fd: number, data: string | Uint8Array, from = 0) => {
      // Half of a line gets through, as it does on a disk that runs full.
      if (from === 0 && data.length > 10) return write(fd, Buffer.from(data), 0, 10)
      throw full
    }) as typeof fs.writeSync
    try {
      const provider = {
        async *stream() {
          yield { type: "text_delta" as const, text: "answer" }
          yield { type: "message_end" as const, stopReason: "stop" as const }
        },
      }
      const message = await runOneTurn({ messages: store.tree, model: "m" }, "go", {
        provider,
        output: { log: () => {} },
      })
      expect(message.content).toBe("answer")
      expect(store.problem).toMatch(/cannot be written: no space left/)
    } finally {
      fs.writeSync = write
    }
    store.appendMessage(user("after"))
    expect(store.problem).toBeUndefined()
    const again = session.reopen()
    expect(textsOf(again.path())).toEqual(["before", "go", "answer", "after"])
  })
})

describe("compaction", () => {
  const fillStore = (): JsonlSessionStore => {
    const store = session.open()
    for (const word of ["one", "two", "three"])
      for (const message of [user(word), say(`re ${word}`)]) store.appendMessage(message)
    return store
  }

  test("changes the context and not the session, and is there after a reload", () => {
    const store = fillStore()
    const path = store.path()
    store.appendCompaction({
      entryId: "entry_6",
      summary: "They counted.",
      firstKeptEntryId: "entry_5",
      tokensBefore: 9,
    })
    const context = store.buildContext()
    expect(context).toEqual([
      user("[summary of the conversation so far]\nThey counted."),
      user("three"),
      say("re three"),
    ])
    expect(store.path()).toEqual(path)
    expect(session.reopen().buildContext()).toEqual(context)
  })

  test("holds on its branch only", () => {
    const store = fillStore()
    store.appendCompaction({ entryId: "entry_6", summary: "s", firstKeptEntryId: "entry_5", tokensBefore: 9 })
    store.moveTo("entry_4")
    expect(store.buildContext()).toHaveLength(4)
    store.moveTo("entry_6")
    expect(store.buildContext()).toHaveLength(3)
  })

  test("B01: one in a file that would part a call from its result is told, and the one before it stays in force", () => {
    const store = session.open()
    for (const message of [user("one"), say("re one"), user("two"), ask("a"), result("a"), say("re two")])
      store.appendMessage(message)
    store.appendCompaction({ entryId: "entry_6", summary: "good", firstKeptEntryId: "entry_3", tokensBefore: 9 })
    session.close()
    fs.appendFileSync(
      session.file,
      `${JSON.stringify({ type: "compaction", entryId: "entry_6", summary: "bad", firstKeptEntryId: "entry_5", tokensBefore: 9 })}\n`,
    )
    const again = session.open()
    expect(again.damage).toEqual([expect.stringMatching(/^line 9: a compaction that cannot be: /)])
    expect(again.buildContext()[0]?.content).toContain("good")
    assertPairedToolCalls(again.buildContext().map(toProviderMessage))
    again.tree.acquire()()
  })

  test("made at an entry farther back, later, changes nothing behind the one made farther on", () => {
    const store = fillStore()
    store.appendCompaction({ entryId: "entry_6", summary: "far", firstKeptEntryId: "entry_5", tokensBefore: 9 })
    const context = store.buildContext()
    store.moveTo("entry_4")
    store.appendCompaction({ entryId: "entry_4", summary: "near", firstKeptEntryId: "entry_3", tokensBefore: 9 })
    expect(store.buildContext()[0]?.content).toContain("near")
    store.moveTo("entry_6")
    expect(store.buildContext()).toEqual(context)
    expect(session.reopen().buildContext()).toEqual(context)
  })

  test("that keeps nothing is refused in the middle of calls, and told where it stands in a file", () => {
    const store = session.open()
    for (const message of [user("one"), ask("a", "b"), result("a"), result("b"), say("done")])
      store.appendMessage(message)
    const wrong = { entryId: "entry_3", summary: "s", firstKeptEntryId: null, tokensBefore: 1 }
    expect(() => store.appendCompaction(wrong)).toThrow(/expected the result of "b"/)
    session.close()
    fs.appendFileSync(session.file, `${JSON.stringify({ type: "compaction", ...wrong })}\n`)
    const again = session.open()
    expect(again.damage).toEqual([expect.stringMatching(/^line 7: a compaction that cannot be: /)])
    expect(again.buildContext()).toHaveLength(5)
  })

  test("is refused for an entry elsewhere, and where it would part a call from its result", () => {
    const store = session.open()
    for (const message of [user("one"), ask("a"), result("a"), say("done")]) store.appendMessage(message)
    const wrong = { entryId: "entry_4", summary: "s", firstKeptEntryId: "entry_3", tokensBefore: 1 }
    expect(() => store.appendCompaction(wrong)).toThrow(/expected no tool result/)
    expect(() => store.appendCompaction({ ...wrong, firstKeptEntryId: "entry_9" })).toThrow(
      '"entry_9": it is not on this branch',
    )
    expect(store.buildContext()).toHaveLength(4)
  })
})

/** Something that is done to a session. */
type Step =
  | { do: "turn"; text: string; calls: number }
  | { do: "move"; to: number }
  | { do: "compact"; keep: number }
  | { do: "reload" }
  | { do: "crash"; at: number }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("turn" as const), text: fc.string({ unit: "binary" }), calls: fc.nat(3) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("move" as const), to: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), keep: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reload" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), at: fc.nat() }) },
)

describe("any sequence of turns, moves, compactions, reloads and crashes at any byte", () => {
  test("loses nothing and invents nothing", () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 15 }), (steps) => {
        session.close()
        fs.rmSync(session.file, { force: true })
        let store = session.open()
        let crashed = false
        for (const step of steps) {
          const known = new Map(store.entries().map((entry) => [entry.id, entry]))
          if (step.do === "turn") {
            store.appendMessage(user(step.text.toWellFormed()))
            const ids = Array.from({ length: step.calls }, (_, index) => `call_${index}`)
            if (ids.length > 0) store.appendMessage(ask(...ids))
            for (const id of ids) store.appendMessage(result(id, step.text.toWellFormed()))
            store.appendMessage(say("done"))
          } else if (step.do === "move") {
            const targets = [null, ...store.entries().map(({ id }) => id)]
            const before = store.leafId
            const target = targets[step.to % targets.length] as string | null
            try {
              store.moveTo(target)
              expect(store.leafId).toBe(target)
            } catch {
              expect(store.leafId).toBe(before)
            }
          } else if (step.do === "compact") {
            const starts = store.path().filter(({ message }) => message.role === "user")
            const first = starts[step.keep % Math.max(1, starts.length)]
            const entryId = store.leafId
            if (first !== undefined && entryId !== null)
              store.appendCompaction({ entryId, summary: "before", firstKeptEntryId: first.id, tokensBefore: 1 })
          } else {
            const [leaf, context] = [store.leafId, store.buildContext()]
            const bytes = fs.readFileSync(session.file)
            const length = step.do === "crash" ? step.at % (bytes.length + 1) : bytes.length
            session.close()
            fs.writeFileSync(session.file, bytes.subarray(0, length))
            store = session.open()
            expect(fs.readFileSync(session.file).subarray(0, length)).toEqual(bytes.subarray(0, length))
            if (length === bytes.length) expect([store.leafId, store.buildContext()]).toEqual([leaf, context])
            crashed ||= length < bytes.length
            if (!crashed) expect(store.damage).toEqual([])
            checkSurvivors(store, known, bytes.subarray(0, length).toString())
          }
          const again = JsonlSessionStore.open(session.file, { readOnly: true })
          expect([again.entries(), again.leafId, again.buildContext()]).toEqual([
            store.entries(),
            store.leafId,
            store.buildContext(),
          ])
          assertPairedToolCalls(store.buildContext().map(toProviderMessage))
        }
      }),
      { numRuns: DEEP ? 1000 : 60 },
    )
  })
})

/** What was written whole is there, as it was; and nothing else is, but errors for calls that were left without a result. */
function checkSurvivors(store: JsonlSessionStore, known: ReadonlyMap<string, MessageRecord>, written: string): void {
  const whole = written.split("\n").flatMap((line) => {
    try {
      const record = JSON.parse(line) as SessionRecord
      return record.type === "message" ? [record.id] : []
    } catch {
      return []
    }
  })
  const entries = store.entries()
  for (const id of whole) expect(entries.find((entry) => entry.id === id)).toEqual(known.get(id))
  for (const entry of entries.filter(({ id }) => !whole.includes(id)))
    expect(entry.message).toMatchObject({ role: "toolResult", isError: true })
}
