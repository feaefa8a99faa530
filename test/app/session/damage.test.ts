/** Session files as no program of ours writes them: what is read from them, how long that takes, and what is said. */
import fs from "node:fs"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { MessageRecord, SessionRecord } from "../../../app/protocol.ts"
import { toStored } from "../../../app/session/convert.ts"
import { JsonlSessionStore } from "../../../app/session/session-store.ts"
import { assertPairedToolCalls, toProviderMessage } from "../../../s12_packages/code.ts"
import { DEEP } from "../../support/tier.ts"
import {
  ask,
  callRecord,
  chain,
  HEADER,
  record,
  result,
  resultRecord,
  say,
  textsOf,
  user,
  useSessionFolder,
} from "./session-files.ts"

const session = useSessionFolder()

describe("what hangs below a record that is lost", () => {
  test("stays on its branch: nothing of another one gets into the context, however late it comes (B55)", () => {
    session.write(
      HEADER,
      record("entry_1", null),
      record("entry_2", "entry_1"),
      "\0\0\0\n",
      { type: "leaf", entryId: "entry_1" },
      record("entry_4", "entry_1", "token of another branch"),
      { type: "leaf", entryId: "entry_3" },
      record("entry_5", "entry_3"),
      record("entry_6", "entry_3"),
    )
    const store = session.open()
    expect(textsOf(store.path())).toEqual(["entry_1", "entry_2", "entry_6"])
    expect(store.damage).toEqual([
      "line 4 holds 3 NUL bytes",
      "line 7: entry_3 is not there; what hangs below it is put below entry_2",
    ])
    store.moveTo("entry_5")
    expect(textsOf(store.path())).toEqual(["entry_1", "entry_2", "entry_5"])
  })

  test("goes to where the piece that is left of it says", () => {
    session.write(
      HEADER,
      ...chain(4),
      '{"type":"message","id":"entry_5","parentId":"entry_2","mess\n',
      record("entry_6", "entry_5"),
    )
    expect(textsOf(session.open().path())).toEqual(["entry_1", "entry_2", "entry_6"])
  })

  test("goes to where a record of an unknown type hung", () => {
    const label = { type: "label", id: "entry_5", parentId: "entry_2" } as unknown as SessionRecord
    session.write(HEADER, ...chain(4), label, record("entry_6", "entry_5"))
    const store = session.open()
    expect(textsOf(store.path())).toEqual(["entry_1", "entry_2", "entry_6"])
    expect(store.damage[0]).toMatch(/line 6 .*"label"/)
  })

  test("never meets its id again: a new entry gets one that the file has not seen", () => {
    session.write(HEADER, record("entry_1", null), "damaged\n", record("entry_3", "entry_2"))
    expect(session.open().appendMessage(user("new")).id).toBe("entry_4")
    session.write(HEADER, record("entry_1", null), '{"type":"message","id":"entry_2","parentId":"entry_1","me')
    expect(session.reopen().appendMessage(user("new")).id).toBe("entry_3")
  })

  test("a branch whose last results are lost can be gone to again", () => {
    session.write(
      HEADER,
      record("entry_1", null),
      callRecord("entry_2", "entry_1", "a", "b"),
      resultRecord("entry_3", "entry_2", "a"),
      "damaged\n",
      { type: "leaf", entryId: "entry_1" },
      record("entry_5", "entry_1"),
    )
    const store = session.open()
    expect(store.damage).toHaveLength(2)
    expect(store.damage[1]).toMatch(/the result of "b" is lost/)
    const [lost] = store.entries().filter(({ id }) => id.startsWith("lost"))
    expect(lost).toMatchObject({ parentId: "entry_3", message: { toolCallId: "b", isError: true } })
    store.moveTo(lost?.id ?? "")
    expect(store.path()).toHaveLength(4)
    store.appendMessage(user("go on"))
    const path = store.path()
    expect(session.reopen().path()).toEqual(path)
  })
})

test("what hangs below a lost result is put behind the error in its place, the second time as well", () => {
  session.write(
    HEADER,
    record("entry_1", null),
    callRecord("entry_2", "entry_1", "a"),
    "damaged\n",
    record("entry_4", "entry_3"),
    record("entry_5", "entry_3"),
  )
  const store = session.open()
  expect(store.path().map(({ id }) => id)).toEqual(["entry_1", "entry_2", "lost", "entry_5"])
  store.moveTo("entry_4")
  expect(store.path().map(({ id }) => id)).toEqual(["entry_1", "entry_2", "lost", "entry_4"])
})

describe("a record that stands there twice", () => {
  test("word for word is told and left out: nothing new has happened (B54)", () => {
    const lines = [...chain(3), ...chain(3), record("entry_4", "entry_3")]
    session.write(HEADER, ...lines)
    const store = session.open()
    expect(store.entries().map(({ id }) => id)).toEqual(["entry_1", "entry_2", "entry_3", "entry_4"])
    expect(store.damage).toEqual([5, 6, 7].map((line) => expect.stringMatching(`^line ${line} repeats entry_`)))
  })

  test("because a disk took all of it but its line end is one entry", () => {
    const store = session.open()
    const write = fs.writeSync
    let isFull = false
    fs.writeSync = ((fd: number, data: string | Uint8Array, from = 0) => {
      if (isFull) throw new Error("no space left on device")
      const bytes = Buffer.from(data)
      if (!bytes.includes("the last one")) return write(fd, bytes, from)
      isFull = true
      return write(fd, bytes, 0, bytes.length - 1)
    }) as typeof fs.writeSync
    try {
      store.appendMessage(user("the last one"))
      expect(store.problem).toContain("no space left")
    } finally {
      fs.writeSync = write
    }
    store.appendMessage(user("behind it"))
    const again = session.reopen()
    expect(textsOf(again.entries())).toEqual(["the last one", "behind it"])
    expect(again.damage).toEqual([expect.stringContaining("repeats entry_1")])
  })
})

describe("one line of many records", () => {
  test.each([
    ["glued together", ""],
    ["ended as on an old Macintosh", "\r"],
  ])("%s gives all of them (B43)", (_name, glue) => {
    session.write([HEADER, ...chain(1000)].map((one) => JSON.stringify(one)).join(glue))
    const store = session.open()
    expect(store.path()).toHaveLength(1000)
    expect(store.damage).toHaveLength(1)
    expect(store.header.id).toBe("test")
  })

  test("says so where it gives up looking for records between pieces of some", () => {
    session.write(HEADER, `${'{"type":"message","id":"'.repeat(1000)}${JSON.stringify(record("entry_1", null))}\n`)
    const store = session.open()
    expect(store.entries()).toEqual([])
    expect(store.damage).toEqual([expect.stringMatching(/^line 2 .*; the rest of it was given up$/)])
  })
})

describe("bytes that are no text", () => {
  test("are told with their line, and what is around them is there", () => {
    const broken = Buffer.from(JSON.stringify(record("entry_2", "entry_1", "a?b")))
    broken[broken.indexOf("?")] = 0xff
    session.write(HEADER, record("entry_1", null, "\uFFFD"), broken, "\n", record("entry_3", "entry_2"))
    const store = session.open()
    expect(textsOf(store.path())).toEqual(["\uFFFD", "a\uFFFDb", "entry_3"])
    expect(store.damage).toEqual(["line 3 holds bytes that are no UTF-8; they are shown as \uFFFD"])
  })

  test("at the place where a line breaks off are told as that alone", () => {
    const line = Buffer.from(JSON.stringify(record("entry_1", null, "文")))
    session.write(HEADER, line.subarray(0, line.indexOf("文") + 1))
    expect(session.open().damage).toEqual([expect.stringMatching(/^the last line, 2, breaks off: /)])
  })
})

describe("a store that cannot write", () => {
  test("refuses what would have to be written, and stays as it is", () => {
    const writer = session.open()
    for (const text of ["one", "two"]) writer.appendMessage(user(text))
    const reader = JsonlSessionStore.open(session.file, { readOnly: true })
    session.close()
    for (const store of [reader, writer]) {
      const before = [store.entries(), store.leafId, store.buildContext()]
      const compaction = { entryId: "entry_2", summary: "s", firstKeptEntryId: "entry_2", tokensBefore: 1 }
      const why = store === reader ? "is open for reading only" : "is closed"
      expect(() => store.appendMessage(user("three"))).toThrow(why)
      expect(() => store.tree.append(user("three"))).toThrow(why)
      expect(() => store.moveTo("entry_1")).toThrow(why)
      expect(() => store.appendCompaction(compaction)).toThrow(why)
      expect([store.entries(), store.leafId, store.buildContext()]).toEqual(before)
    }
  })

  test("a move of the tree itself is written like any other", () => {
    const store = session.open()
    for (const text of ["one", "two"]) store.appendMessage(user(text))
    store.tree.moveTo("entry_1")
    expect(session.reopen().leafId).toBe("entry_1")
  })
})

describe("whoever listens or is asked", () => {
  test("and throws, changes nothing of what is kept", () => {
    const fail = (): never => {
      throw new Error("boom")
    }
    const store = session.open({ isError: fail })
    store.onRecord = fail
    for (const message of [user("one"), ask("a"), result("a"), say("done")]) store.tree.append(message)
    const path = store.path()
    expect(path.map(({ message }) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"])
    expect(session.reopen().path()).toEqual(path)
  })
})

describe("fields that nobody here knows", () => {
  test("get no further than the file (I1)", () => {
    const message = { ...record("entry_1", null).message, thinkingSignature: "x" }
    session.write(HEADER, { ...record("entry_1", null), message, cwd: "/" } as MessageRecord)
    const store = session.open()
    expect(store.entries()).toEqual([record("entry_1", null)])
    expect(store.damage).toEqual([])
  })
})

const MANY = 20_000

/** How often ids are looked up while a file is read: the time that it takes, counted so that no busy machine can change it. */
function countLookUps(action: () => void): number {
  const { has, get } = Map.prototype
  let count = 0
  Map.prototype.has = function (key) {
    count++
    return has.call(this, key)
  }
  Map.prototype.get = function (key) {
    count++
    return get.call(this, key)
  }
  try {
    action()
  } finally {
    Object.assign(Map.prototype, { has, get })
  }
  return count
}

describe("a file made to take long", () => {
  test.each<[string, () => SessionRecord[], number]>([
    ["one id for all", () => Array.from({ length: MANY }, (_, index) => record("x", null, `${index}`)), MANY],
    [
      "calls without results",
      () =>
        Array.from({ length: MANY }, (_, index) => callRecord(`${index}`, index === 0 ? null : `${index - 1}`, "a")),
      2 * MANY,
    ],
    [
      "a parent for each that is not there",
      () => Array.from({ length: MANY }, (_, index) => record(`${index}`, `none ${index}`)),
      MANY,
    ],
  ])("%s: opens in a few steps for each record, and the report stays short", (_name, records, length) => {
    session.write(HEADER, ...records())
    const lookUps = countLookUps(() => session.open({ readOnly: true }))
    expect(lookUps / MANY).toBeLessThan(50)
    const store = session.reopen({ readOnly: true })
    expect(store.entries()).toHaveLength(length)
    expect(store.damage).toHaveLength(101)
    expect(store.damage.at(-1)).toMatch(/^and \d+ more, the last of them: /)
  })

  test("a line that starts records without an end: what is tried in vain is bounded", () => {
    const starts = '{"type":"leaf",'
    const exec = RegExp.prototype.exec
    let tries = 0
    session.write(HEADER, `${starts.repeat(2000)}\n`, record("entry_1", null))
    RegExp.prototype.exec = function (text) {
      tries++
      return exec.call(this, text)
    }
    try {
      session.open()
    } finally {
      RegExp.prototype.exec = exec
    }
    expect(tries).toBeLessThan(1000)
    expect(textsOf(session.reopen().path())).toEqual(["entry_1"])
  })
})

/** A session with all that there can be in one. */
function writeWholeSession(): Buffer {
  const store = session.open({ now: () => new Date(0) })
  for (const message of [user("one 文"), ask("a", "b"), result("a", "x\u2028}{"), result("b"), say("done")])
    store.appendMessage(message)
  store.moveTo("entry_1")
  for (const message of [say("other"), user("two"), ask("c"), result("c"), say("done")]) store.appendMessage(message)
  store.appendCompaction({ entryId: "entry_10", summary: "s", firstKeptEntryId: "entry_7", tokensBefore: 1 })
  store.moveTo("entry_5")
  store.appendMessage(user("three"))
  session.close()
  return fs.readFileSync(session.file)
}

type Damage = { at: number; remove: number; insert: Uint8Array }

const anyDamage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(),
  remove: fc.nat(400),
  insert: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc.nat(600).map((length) => new Uint8Array(length)),
    fc.constantFrom('"', "}", "{", "\n", "\r\n", "}{", '{"type":"message",').map((text) => Buffer.from(text)),
  ),
})

describe("any damage at any place", () => {
  test("opens, tells it, keeps every line that is whole, and goes on; nothing that was in the file changes", () => {
    const whole = writeWholeSession()
    const lines = new Set(whole.toString().trimEnd().split("\n"))
    const known = new Map(
      session
        .open({ readOnly: true })
        .entries()
        .map((entry) => [entry.id, entry]),
    )
    const property = fc.property(fc.array(anyDamage, { minLength: 1, maxLength: 3 }), (damages) => {
      let bytes = whole
      for (const { at, remove, insert } of damages) {
        const from = at % (bytes.length + 1)
        bytes = Buffer.concat([bytes.subarray(0, from), insert, bytes.subarray(from + remove)])
      }
      session.close()
      session.write(bytes)
      const store = session.open()
      const entries = new Map(store.entries().map((entry) => [entry.id, entry]))
      for (const line of bytes
        .toString()
        .split("\n")
        .filter((text) => lines.has(text))) {
        const { type, id, message } = JSON.parse(line)
        const isLost = message?.role === "toolResult" && !entries.has(id)
        if (type === "message" && !isLost) expect(entries.get(id)?.message).toEqual(known.get(id)?.message)
        if (isLost) expect(store.damage.join("\n")).toMatch(/no such call waits/)
      }
      if (!bytes.equals(whole)) expect(bytes.length === 0 || store.damage.length > 0 || isHarmless(bytes)).toBe(true)
      const added = store.appendMessage(user("still there"))
      assertPairedToolCalls(store.buildContext().map(toProviderMessage))
      const [path, leaf] = [store.path(), store.leafId]
      const again = session.reopen()
      expect([again.path(), again.leafId]).toEqual([path, leaf])
      expect(again.path().at(-1)).toEqual(added)
      expect(fs.readFileSync(session.file).subarray(0, bytes.length).equals(bytes)).toBe(true)
      JsonlSessionStore.open(session.file, { readOnly: true }).close()
    })
    fc.assert(property, { numRuns: DEEP ? 3000 : 150 })

    /** Whether what is left is what somebody could have written: whole records, or blanks between them. */
    function isHarmless(bytes: Buffer): boolean {
      return bytes
        .toString()
        .replace(/^\uFEFF/, "")
        .split("\n")
        .every((line) => {
          try {
            return line.trim() === "" || Boolean(JSON.parse(line))
          } catch {
            return false
          }
        })
    }
  })
})

test("a message survives the way into the file and back, whatever it says", () => {
  const text = fc.string({ unit: "binary" }).map((value) => value.toWellFormed())
  const property = fc.property(text, fc.uniqueArray(text, { minLength: 1, maxLength: 3 }), (content, ids) => {
    session.close()
    fs.rmSync(session.file, { force: true })
    const store = session.open()
    const messages = [user(content), { ...ask(...ids), content }, ...ids.map((id) => result(id, content)), say(content)]
    for (const message of messages) store.appendMessage(message)
    const again = session.reopen()
    expect(again.buildContext()).toEqual(messages)
    expect(again.entries().map(({ message }) => message)).toEqual(messages.map((message) => toStored(message, false)))
  })
  fc.assert(property, { numRuns: DEEP ? 500 : 30 })
})
