/** Judges a reader's program in which a turn can be cancelled: a `signal` among the options of a turn. */
import { getEventListeners } from "node:events"
import { setImmediate as nextRound } from "node:timers/promises"
import { expect } from "vitest"
import type * as Final from "../../s12_packages/code.ts"
import { ask, type Core, call, type Options, type ProviderEvent, say } from "../support/driver.ts"
import type { Check } from "./check.ts"

/** What the answer is: the whole program, with a signal. */
export type CancelAnswer = Core

type Cancellable = Partial<Options> & { signal: AbortSignal }

/** So many rounds of the event loop are enough for whatever does not wait for something outside. */
const ENOUGH_ROUNDS = 200

/** Waits for a promise that has to settle without anything more happening. Throws when it does not. */
async function soon<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  const waiting = Symbol("still waiting")
  const rounds = async (): Promise<typeof waiting> => {
    for (let round = 0; round < ENOUGH_ROUNDS; round++) await nextRound()
    return waiting
  }
  const first = await Promise.race([promise, rounds()])
  if (first === waiting) throw new Error(`${what} hangs`)
  return first as Value
}

const settle = async (): Promise<void> => {
  for (let round = 0; round < 20; round++) await nextRound()
}

/** A session in which a turn can be started and cancelled. */
function createSession(core: Core, options: Partial<Options> = {}) {
  const state: Final.AgentState = { messages: new core.SessionTree(), model: "scripted" }
  const cancel = new AbortController()
  const requests: Final.ProviderInput[] = []
  const registry = new core.ToolRegistry()
  registry.register({
    spec: { name: "echo", description: "Echo.", input: { text: "any" } },
    handler: ({ text = "" }) => text,
  })
  const start = (
    prompt: string,
    stream: (request: number) => AsyncGenerator<ProviderEvent>,
    more: Partial<Options> = {},
  ) => {
    const provider: Final.Provider = {
      stream(input) {
        requests.push(input)
        return stream(requests.length)
      },
    }
    const all: Options & Cancellable = {
      provider,
      registry,
      output: { log: () => {} },
      signal: cancel.signal,
      ...options,
      ...more,
    }
    return core.runOneTurn(state, prompt, all)
  }
  /** Everything that is stored, and whether it could be sent. */
  const history = (): Final.AgentMessage[] => {
    const messages = state.messages.currentPath()
    core.assertPairedToolCalls(messages.map(core.toProviderMessage))
    return messages
  }
  return { state, cancel, requests, start, history }
}

async function* play(events: Iterable<ProviderEvent>): AsyncGenerator<ProviderEvent> {
  yield* events
}

const never = new Promise<never>(() => {})

/** An answer that says a word and then nothing more, ever. */
async function* stuck(): AsyncGenerator<ProviderEvent> {
  yield { type: "message_start" }
  yield { type: "text_delta", text: "so far" }
  await never
}

/** What a program with cancelling has to do. */
export const CANCEL: readonly Check<CancelAnswer>[] = [
  {
    title: "a signal that is never aborted changes nothing, and nothing listens to it when the turn is over",
    run: async (core) => {
      const { cancel, start, history } = createSession(core)
      const message = await start("hello", (request) => play(request === 1 ? ask(call("a")) : say("done")))
      expect(message).toMatchObject({ content: "done", stopReason: "stop" })
      expect(history().map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"])
      expect(getEventListeners(cancel.signal, "abort")).toHaveLength(0)
      // The signal is what the demands below are about; a program that never looks at it must not pass here.
      cancel.abort()
      await expect(start("again", () => play(say("no")))).rejects.toThrow()
    },
  },
  {
    title: "a turn whose signal is aborted already is refused, and leaves no trace",
    run: async (core) => {
      const { state, cancel, requests, start } = createSession(core)
      cancel.abort()
      await expect(
        soon(
          start("hello", () => play(say("no"))),
          "the turn",
        ),
      ).rejects.toThrow()
      expect(state.messages.allEntries()).toEqual([])
      expect(requests).toEqual([])
      const provider: Final.Provider = { stream: () => play(say("yes")) }
      const next = await core.runOneTurn(state, "next", { provider, output: { log: () => {} } })
      expect(next.content).toBe("yes")
    },
  },
  {
    title: "a provider that never goes on is given up: the text so far is kept, and the message is an error",
    run: async (core) => {
      const { cancel, start, history } = createSession(core)
      const turn = start("hello", stuck)
      await settle()
      cancel.abort()
      const message = await soon(turn, "the turn")
      expect(message.stopReason).toBe("error")
      expect(message.content).toMatch(/^so far\n/)
      expect(history().at(-1)).toEqual(message)
    },
  },
  {
    title: "calls that had arrived are kept and answered with errors, and none of them runs",
    run: async (core) => {
      const ran: string[] = []
      const execute = (given: Final.ToolCall): Final.ToolResultMessage => {
        ran.push(given.id)
        return { role: "toolResult", toolCallId: given.id, content: "ran" }
      }
      const { cancel, start, history } = createSession(core, { execute })
      const turn = start("hello", async function* () {
        yield { type: "message_start" }
        for (const id of ["a", "b"]) yield { type: "tool_call", call: call(id) }
        await never
      })
      await settle()
      cancel.abort()
      await soon(turn, "the turn")
      const results = history().filter((message) => message.role === "toolResult")
      expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b"])
      for (const { content } of results) expect(content).toMatch(/^error: /)
      expect(ran).toEqual([])
    },
  },
  {
    title: "tools that never end are given up: what had ended is kept, the rest is an error, in the order of the calls",
    run: async (core) => {
      const execute = async (given: Final.ToolCall): Promise<Final.ToolResultMessage> => {
        if (given.id !== "b") await never
        return { role: "toolResult", toolCallId: given.id, content: "ran" }
      }
      const { cancel, requests, start, history } = createSession(core, { execute })
      const turn = start("hello", () => play(ask(call("a"), call("b"), call("c"))))
      await settle()
      cancel.abort()
      await soon(turn, "the turn")
      const results = history().filter((message) => message.role === "toolResult")
      expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b", "c"])
      expect(results.map(({ content }) => content.startsWith("error: "))).toEqual([true, false, true])
      expect(requests, "requests after the turn was cancelled").toHaveLength(1)
    },
  },
  {
    title: "after a turn that was cancelled while tools ran, the last message is an error of the assistant's",
    run: async (core) => {
      const { cancel, start, history } = createSession(core, { execute: () => never })
      const turn = start("hello", () => play(ask(call("a"))))
      await settle()
      cancel.abort()
      const message = await soon(turn, "the turn")
      expect(message).toMatchObject({ role: "assistant", stopReason: "error" })
      expect(message.content.trim()).not.toBe("")
      expect(history().at(-1)).toEqual(message)
    },
  },
  {
    title: "a stream that goes on and on is closed: its `finally` runs",
    run: async (core) => {
      let closed = false
      const { cancel, start } = createSession(core)
      const turn = start("hello", async function* () {
        try {
          yield { type: "message_start" }
          for (;;) {
            yield { type: "text_delta", text: "." }
            await nextRound()
          }
        } finally {
          closed = true
        }
      })
      await settle()
      cancel.abort()
      await soon(turn, "the turn")
      await settle()
      expect(closed).toBe(true)
    },
  },
  {
    title: "what comes late changes nothing: no result, no rejection that nobody catches",
    run: async (core) => {
      const late: unknown[] = []
      const listen = (reason: unknown): void => void late.push(reason)
      process.on("unhandledRejection", listen)
      try {
        const ends: (() => void)[] = []
        const execute = ({ id }: Final.ToolCall): Promise<Final.ToolResultMessage> =>
          new Promise((resolve, reject) => {
            if (id === "a") ends.push(() => resolve({ role: "toolResult", toolCallId: id, content: "late" }))
            else ends.push(() => reject(new Error("late")))
          })
        const { state, cancel, start } = createSession(core, { execute })
        const turn = start("hello", () => play(ask(call("a"), call("b"))))
        await settle()
        cancel.abort()
        await soon(turn, "the turn")
        const before = JSON.stringify(state.messages.allEntries())
        for (const end of ends) end()
        await settle()
        expect(JSON.stringify(state.messages.allEntries())).toBe(before)
        expect(late).toEqual([])
      } finally {
        process.off("unhandledRejection", listen)
      }
    },
  },
  {
    title: "the session goes on: the next turn sends a history in which every call has its result",
    run: async (core) => {
      const { cancel, state, requests, start } = createSession(core, { execute: () => never })
      const turn = start("hello", () => play(ask(call("a"), call("b"))))
      await settle()
      cancel.abort()
      await soon(turn, "the turn")
      const provider: Final.Provider = {
        stream(input) {
          requests.push(input)
          return play(say("still here"))
        },
      }
      const next = await core.runOneTurn(state, "and now?", { provider, output: { log: () => {} } })
      expect(next).toMatchObject({ content: "still here", stopReason: "stop" })
      core.assertPairedToolCalls(requests.at(-1)?.messages ?? [])
    },
  },
]
