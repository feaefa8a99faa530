/** What happens between an adapter and its service: framing, cuts, errors, silence, cancelling. */
import http from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, test, vi } from "vitest"
import type { VendorModel } from "../../../app/adapters/choose.ts"
import type { ProviderEvent } from "../../support/driver.ts"
import { DEEP } from "../../support/tier.ts"
import { callsOf, expectPlain, INPUT, listen, textOf } from "./conformance.ts"
import { type Answer, DIALECTS, encode, type Frame } from "./dialects.ts"
import { Service } from "./service.ts"

const service = new Service()

/** Chinese, an emoji, a combining mark, a joined emoji, and calls: each byte of it is a place to cut at. */
const ANSWER: Answer = {
  texts: ["你好", " 🌍e\u0301", "👩‍👩‍👧\n"],
  calls: [
    { id: "c1", name: "echo", json: '{"text":"読む 🎈"}' },
    { id: "c2", name: "list_files", json: "{}" },
  ],
}

const SETTINGS = { model: "m", key: "secret-key" }

afterEach(() => {
  vi.unstubAllGlobals()
})

/** Lets the next request of an adapter get exactly these pieces of a body. */
function stubBody(pieces: readonly Uint8Array[]): void {
  vi.stubGlobal("fetch", async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    })
    return new Response(body)
  })
}

/** In the deep tier all numbers below a limit, in the fast one some of them, spread over all. */
function numbersBelow(limit: number): number[] {
  const step = DEEP ? 1 : Math.ceil(limit / 25)
  return Array.from({ length: Math.ceil(limit / step) }, (_, index) => index * step)
}

/** Another framing for the same events. */
const FRAMINGS: Record<string, (frames: Frame[]) => Buffer> = {
  "B27: CRLF line ends": (frames) => encode(frames, "\r\n"),
  "B30: CR line ends": (frames) => encode(frames, "\r"),
  "B30: mixed line ends": (frames) =>
    Buffer.concat(frames.map((each, index) => encode([each], ["\n", "\r\n", "\r"][index % 3]))),
  "B30: mixed line ends within an event": (frames) =>
    Buffer.from(String(encode(frames)).replaceAll(/\n\n(?=.)/g, "\r\n\n")),
  "B30: a byte order mark": (frames) => Buffer.concat([Buffer.from("\ufeff"), encode(frames)]),
  "B25: no space behind the colon": (frames) =>
    Buffer.from(String(encode(frames)).replaceAll(/^(data|event): /gm, "$1:")),
  "B25: comments, pings, retry and id between the events": (frames) =>
    Buffer.concat(
      frames.flatMap((each) => [
        Buffer.from(":\n\n:x\n: ping\n\nevent: ping\ndata: {}\n\nretry: 10\n\nid: 4\n"),
        encode([each]),
        Buffer.from("retry: soon\nunknown: field\nunknown\n\n\n\n"),
      ]),
    ),
  "B25: comments within the events": (frames) =>
    Buffer.from(String(encode(frames)).replaceAll(/^data: /gm, ": alive\nid: 4\ndata: ")),
  "data in several lines": (frames) => Buffer.from(String(encode(frames)).replaceAll(',"', ',\ndata: "')),
  "B29: no empty line at the end": (frames) => encode(frames).subarray(0, -1),
  "B29: no line end at the end": (frames) => encode(frames).subarray(0, -2),
}

for (const dialect of DIALECTS) {
  const frames = dialect.frames(ANSWER)
  const bytes = encode(frames)
  const connect = (settings: { silence?: number; baseUrl?: string } = {}): VendorModel =>
    dialect.create({ ...SETTINGS, baseUrl: service.url, ...settings })

  describe(`the adapter for ${dialect.name}`, () => {
    const whole = async (): Promise<ProviderEvent[]> => {
      stubBody([bytes])
      const { events, error } = await listen(connect())
      expect(error).toBeUndefined()
      expect(textOf(events)).toBe(ANSWER.texts?.join(""))
      expect(callsOf(events).map(({ name, input }) => [name, input])).toEqual([
        ["echo", { text: "読む 🎈" }],
        ["list_files", {}],
      ])
      return events
    }

    test("B23: reads the same events wherever the body is split", async () => {
      const expected = await whole()
      for (const place of numbersBelow(bytes.length)) {
        stubBody([bytes.subarray(0, place), bytes.subarray(place)])
        expect(await listen(connect()), `split at ${place}`).toEqual({ events: expected, error: undefined })
      }
    })

    test.each(Object.keys(FRAMINGS))("reads the same events with %s, also byte by byte", async (name) => {
      const expected = await whole()
      const framed = FRAMINGS[name]?.(frames) ?? bytes
      for (const pieces of [[framed], Array.from(framed, (byte) => Uint8Array.of(byte))]) {
        stubBody(pieces)
        expect(await listen(connect())).toEqual({ events: expected, error: undefined })
      }
    })

    test("B23: reads the same events from a server that writes byte by byte", async () => {
      const expected = await whole()
      vi.unstubAllGlobals()
      service.plan({ pieces: Array.from(bytes, (byte) => Uint8Array.of(byte)) })
      expect(await listen(connect())).toEqual({ events: expected, error: undefined })
    })

    test("ignores events and fields that it does not know", async () => {
      const expected = await whole()
      const strange = [{ data: '{"type":"news","of":{"tomorrow":[1]}}' }, { data: '{"type":"news"}', event: "news" }]
      const more = frames.flatMap((each) => [...strange, each])
      const extra = more.map(({ data, ...rest }) => ({ ...rest, data: data.replace(/^\{/, '{"extra":{"a":1},') }))
      stubBody([encode(extra)])
      expect(await listen(connect())).toEqual({ events: expected, error: undefined })
    })

    test("B29, B33: a body that just ends is an error wherever it ends before the reason for the end", async () => {
      const expected = await whole()
      const decisive = encode(frames.slice(0, dialect.name === "openai" ? -1 : undefined)).length - 2
      for (const place of numbersBelow(bytes.length)) {
        stubBody([bytes.subarray(0, place)])
        const { events, error } = await listen(connect())
        const isWhole = error === undefined
        if (place < decisive) expect(isWhole, `cut at ${place}`).toBe(false)
        if (isWhole) expect(events, `cut at ${place}`).toEqual(expected)
        else expectPlain(error, /broke off|expected a stream|sent nothing/)
        expect(ANSWER.texts?.join("").startsWith(textOf(events)), `cut at ${place}`).toBe(true)
        expect(events.some((event) => event.type === "message_end")).toBe(isWhole)
      }
    })

    test("B33: a body that ends behind an event keeps the text, and names each call that was announced", async () => {
      for (let count = 1; count < frames.length - dialect.tail; count++) {
        stubBody([encode(frames.slice(0, count))])
        const { events, error } = await listen(connect())
        expectPlain(error, /broke off/)
        const sent = frames.slice(0, count).map((each) => each.data)
        const has = (name: string): boolean => sent.some((data) => data.includes(`"name":"${name}"`))
        expect(callsOf(events).map((call) => call.name)).toEqual(["echo", "list_files"].filter(has))
        const text = ANSWER.texts?.filter((each) => sent.some((data) => data.includes(JSON.stringify(each)))).join("")
        expect(textOf(events)).toBe(text)
      }
    })

    test("B27: gives each piece of text when it arrives, and not at the end", async () => {
      for (const lineEnd of ["\n", "\r\n"]) {
        const [first = "", ...rest] = dialect.frames({ texts: ["one", "two"] }).map((each) => encode([each], lineEnd))
        const upToText = rest.findIndex((each) => String(each).includes("one")) + 1
        service.plan({ pieces: [first, ...rest.slice(0, upToText)], after: "hang" })
        const cancel = new AbortController()
        const stream = connect().connect(cancel.signal).stream(INPUT)
        await stream.next()
        expect(await stream.next()).toEqual({ done: false, value: { type: "text_delta", text: "one" } })
        cancel.abort()
        await expect(stream.next()).rejects.toThrow("cancelled")
      }
    })

    describe("errors", () => {
      test("B35: an error in the middle of an answer keeps the text and says what the service said", async () => {
        const some = dialect.frames({ texts: ["one", "two"], end: "missing" })
        for (const tail of [[], [{ data: "[DONE]" }], dialect.frames({ texts: ["three"] }).slice(-1)]) {
          stubBody([encode([...some, dialect.error("queue full"), ...tail])])
          const { events, error } = await listen(connect())
          expect(textOf(events)).toBe("onetwo")
          expectPlain(error, /^the model service reported an error: queue full$/)
        }
      })

      test("B35: an error behind the reason for the end is an error all the same", async () => {
        if (dialect.name === "anthropic") return
        const full = dialect.frames({ texts: ["one"] }).filter(({ data }) => data !== "[DONE]")
        stubBody([encode([...full, dialect.error("queue full")])])
        expectPlain((await listen(connect())).error, /queue full/)
      })

      test.each<[string, number, string, string, RegExp]>([
        ["JSON", 401, "application/json", '{"type":"error","error":{"message":"bad key"}}', /answered 401: bad key$/],
        ["a list", 400, "application/json", '[{"error":{"code":400,"message":"no\\nsuch"}}]', /answered 400: no such$/],
        ["a text for an error", 404, "application/json", '{"error":"no model"}', /answered 404: no model$/],
        [
          "detail",
          422,
          "application/json",
          '{"detail":[{"msg":"x"}]}',
          /answered 422: \{"detail":\[\{"msg":"x"\}\]\}$/,
        ],
        ["HTML", 502, "text/html", "<!DOCTYPE html><h1>Bad <b>gateway</b></h1>", /answered 502: Bad gateway$/],
        ["a long text", 500, "text/plain", "no ".repeat(5000), /answered 500: (no )+no?…$/],
        ["nothing", 503, "text/plain", "", /answered 503$/],
        ["broken JSON", 429, "application/json", '{"error":', /answered 429: \{"error":$/],
        ["an event", 529, "text/event-stream", 'data: {"error":{"message":"full"}}\n\n', /answered 529: data: /],
      ])(
        "a failed answer with %s is one sentence, and is not asked for again",
        async (_what, status, type, body, says) => {
          service.plan({ status, headers: { "content-type": type }, pieces: [body] })
          const { events, error } = await listen(connect())
          expect(events).toEqual([{ type: "message_start" }])
          expectPlain(error, says)
          expect(service.requests.length).toBe(1)
        },
      )

      test.each<[string, string, RegExp]>([
        [
          "a bare error object",
          '{\n  "error": {\n    "message": "queue full"\n  }\n}',
          /reported an error: queue full$/,
        ],
        [
          "a page",
          "<!doctype html>\n<title>Login</title>",
          /expected a stream of events, the model service sent Login$/,
        ],
        ["nothing", "", /sent nothing$/],
        ["comments only", ": a\n\n: b\n\n", /sent nothing$/],
        ["an event that is no JSON", "data: hello\n\n", /within an event: hello$/],
        ["an event that is no object", "data: 7\n\n", /\w/],
        ["an event that is null", "data: null\n\n", /\w/],
      ])("a good answer with %s instead of events is one sentence", async (_what, body, says) => {
        service.plan({ pieces: [body] })
        expectPlain((await listen(connect())).error, says)
      })

      test("a connection that breaks is an error, and the text is kept", async () => {
        service.plan({ pieces: [encode(dialect.frames({ texts: ["one"], end: "missing" }))], after: "break" })
        const { events, error } = await listen(connect())
        expect(textOf(events)).toBe("one")
        expectPlain(error, /failed: \S/)
        service.plan({ pieces: [], after: "break" })
        expectPlain((await listen(connect())).error)
        expect(service.requests.length).toBe(2)
      })

      test("a server that is not there is named", async () => {
        const server = http.createServer().listen(0, "127.0.0.1")
        await new Promise((resolve) => server.once("listening", resolve))
        const { port } = server.address() as AddressInfo
        await new Promise((resolve) => server.close(resolve))
        const { error } = await listen(connect({ baseUrl: `http://127.0.0.1:${port}/base` }))
        expectPlain(error, new RegExp(`cannot reach the model service at http://127.0.0.1:${port}: .*ECONNREFUSED`))
      })

      test("the key is in no message, and goes to no other server", async () => {
        const other = service.url.replace("127.0.0.1", "localhost")
        service.plan({ status: 307, headers: { location: `${other}/elsewhere` } })
        expectPlain((await listen(connect())).error, /cannot reach/)
        expect(service.requests.map((request) => request.path)).not.toContain("/elsewhere")
        service.plan({ status: 400, pieces: ["the key secret-key is unknown"] })
        expectPlain((await listen(connect())).error, /400: the key \*\*\* is unknown$/)
        const broken = dialect.create({ ...SETTINGS, key: "secret\nkey", baseUrl: service.url })
        const { error } = await listen(broken)
        expectPlain(error)
        expect((error as Error).message).not.toMatch(/secret/)
      })
    })

    describe("cancelling", () => {
      const text = encode(dialect.frames({ texts: ["one"], end: "missing" }))
      const states = {
        "while the service says nothing": { isMute: true },
        "behind the head of the answer": { after: "hang" },
        "in the middle of the answer": { pieces: [text], after: "hang" },
        "while a failed answer does not end": { status: 500, pieces: ["half"], after: "hang" },
      } as const

      test.each(Object.entries(states))("ends the request %s", async (_when, reply) => {
        service.plan(reply)
        const cancel = new AbortController()
        const run = listen(connect(), { signal: cancel.signal })
        const request = await service.arrival(0)
        cancel.abort()
        expectPlain((await run).error, /^the request was cancelled$/)
        await request.closed
      })

      test("ends the request when nobody reads on", async () => {
        service.plan({ pieces: [text], after: "hang" })
        for await (const event of connect().connect().stream(INPUT)) if (event.type === "text_delta") break
        await (service.requests[0]?.closed ?? Promise.reject(new Error("no request came in")))
      })

      test("harms no other run of the same model", async () => {
        service.plan({ isMute: true }, { pieces: [bytes] })
        const model = connect()
        const cancel = new AbortController()
        const first = listen(model, { signal: cancel.signal })
        await service.arrival(0)
        const second = listen(model, { signal: new AbortController().signal })
        cancel.abort()
        expectPlain((await first).error, /cancelled/)
        expect((await second).error).toBeUndefined()
      })

      test.each(Object.entries(states))("a service that goes silent is given up: %s", async (_when, reply) => {
        service.plan(reply)
        const { error } = await listen(connect({ silence: 400 }))
        expectPlain(error, /sent nothing for 0.4 s and was given up$/)
        await service.requests[0]?.closed
      })

      test("an answer that is complete ends, whether or not the server closes the connection", async () => {
        if (dialect.name === "google") return
        service.plan({ pieces: [bytes], after: "hang" })
        expect((await listen(connect())).error).toBeUndefined()
        await service.requests[0]?.closed
      })
    })
  })
}
