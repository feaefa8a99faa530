import { describe, test } from "vitest"
import type * as s02 from "../../s02_tools/code.ts"
import type * as s03 from "../../s03_stream/code.ts"
import type * as s06 from "../../s06_snapshot/code.ts"
import type * as s07 from "../../s07_session/code.ts"
import type * as s10 from "../../s10_modes/code.ts"
import type * as s11 from "../../s11_trust/code.ts"

declare const provider: { before: s02.Provider; after: s03.Provider }
declare const input: s02.ProviderInput & s03.ProviderInput
declare const message: s02.AssistantMessage & s03.AssistantMessage
declare const state: { before: s06.AgentState; after: s07.AgentState }
declare const loader: { before: s10.ResourceLoader; after: s11.ResourceLoader }

describe("s03: Provider.complete becomes stream (U1)", () => {
  const inOnePiece = {
    async complete(): Promise<typeof message> {
      return message
    },
  }

  const inPieces = {
    async *stream(): AsyncGenerator<s03.ProviderEvent> {
      yield { type: "message_end", stopReason: "stop" }
    },
  }

  test("a provider that answers in one piece serves s02 and no longer s03", () => {
    inOnePiece satisfies s02.Provider
    // @ts-expect-error
    inOnePiece satisfies s03.Provider
  })

  test("a provider that answers in pieces serves s03 and not yet s02", () => {
    // @ts-expect-error
    inPieces satisfies s02.Provider
    inPieces satisfies s03.Provider
  })

  test("a caller awaits the whole answer from s02 and no longer from s03", () => {
    provider.before.complete(input)
    // @ts-expect-error
    provider.after.complete(input)
  })

  test("a caller takes the answer in pieces from s03 and not yet from s02", () => {
    // @ts-expect-error
    provider.before.stream(input)
    provider.after.stream(input)
  })
})

describe("s07: AgentState.messages becomes a SessionTree (U1)", () => {
  test("a message is pushed onto a list in s06 and no longer in s07", () => {
    state.before.messages.push({ role: "user", content: "hello" })
    // @ts-expect-error
    state.after.messages.push({ role: "user", content: "hello" })
  })

  test("a new state starts with an empty list in s06 and no longer in s07", () => {
    const fresh = { messages: [], model: "scripted-1" }
    fresh satisfies s06.AgentState
    // @ts-expect-error
    fresh satisfies s07.AgentState
  })

  test("a message is appended to a tree in s07 and not yet in s06", () => {
    // @ts-expect-error
    state.before.messages.append({ role: "user", content: "hello" })
    state.after.messages.append({ role: "user", content: "hello" })
  })

  test("the path through the tree gives the list that s06 kept", () => {
    state.after.messages.currentPath() satisfies s06.AgentState["messages"]
  })
})

describe("s11: ResourceLoader.load becomes load(trust) (U1)", () => {
  test("load takes a word about trust in s11 and not yet in s10", () => {
    // @ts-expect-error
    loader.before.load("trusted")
    loader.after.load("trusted")
  })

  test("load is a callback for anything in s10 and no longer in s11, where it reads its argument", () => {
    const folders = ["docs", "notes"]
    folders.flatMap(loader.before.load)
    // @ts-expect-error
    folders.flatMap(loader.after.load)
  })

  test("load without an argument compiles on both sides: that it loads nothing any more, only a run can show", () => {
    loader.before.load()
    loader.after.load()
  })
})
