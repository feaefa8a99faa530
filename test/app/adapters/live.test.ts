/**
 * The real services, which nobody can script: what holds for every model, asked of them. Left out unless the environment asks for it, since it
 * costs money: `TEST_LIVE=1` and a key, `PI_MODEL` for another model than the default. For example
 *
 *   TEST_LIVE=1 GEMINI_API_KEY=… npx vitest run test/app/adapters/live.test.ts
 */
import { describe, expect, test } from "vitest"
import { chooseModel, type Environment, type VendorModel } from "../../../app/adapters/choose.ts"
import { tool } from "../../support/driver.ts"
import { expectPlain, INPUT, listen, s12, textOf } from "./conformance.ts"

const VENDORS = [
  ["anthropic", "ANTHROPIC_API_KEY"],
  ["openai", "OPENAI_API_KEY"],
  ["google", "GEMINI_API_KEY"],
] as const

for (const [vendor, keyName] of VENDORS) {
  const chosen = process.env.PI_MODEL?.startsWith(`${vendor}/`) ? process.env.PI_MODEL : vendor
  const isAsked = Boolean(process.env.TEST_LIVE && process.env[keyName])
  const connect = async (env: Environment = {}): Promise<VendorModel> =>
    (await chooseModel({ ...process.env, PI_MODEL: chosen, ...env })) ?? expect.unreachable()

  describe.skipIf(!isAsked)(`the real service of ${vendor}, skipped without TEST_LIVE and ${keyName}`, () => {
    test("answers in our events", async () => {
      const messages = [{ role: "user" as const, content: "Reply with the one word 好 and nothing else." }]
      const { events, error } = await listen(await connect(), { input: { ...INPUT, messages, tools: [] } })
      expect(error).toBeUndefined()
      expect(textOf(events)).toContain("好")
      expect(events[0]).toEqual({ type: "message_start" })
      expect(events.at(-1)).toEqual({ type: "message_end", stopReason: "stop" })
    })

    test("calls tools, also those with strange names, reads their results and their errors, and goes on", async () => {
      const weather = tool("天气", ({ 城市: city = "" }) => {
        if (city.includes("Atlantis")) throw new Error("no such city")
        return `${city}: 17 degrees`
      })
      weather.spec.description = "Tells the weather in one city."
      weather.spec.input = { 城市: "the name of a city" }
      const state = s12.state()
      const provider = (await connect()).connect()
      const prompt = "Ask the tool for the weather in Oslo and in Atlantis, then tell me what it said about each."
      const { history } = await s12.run({ provider, state, prompt, tools: [weather] })
      const results = history.filter((message) => message.role === "toolResult").map((message) => message.content)
      expect(results).toEqual(expect.arrayContaining([expect.stringMatching(/17 degrees/), "error: no such city"]))
      expect(history.at(-1)).toMatchObject({
        role: "assistant",
        stopReason: "stop",
        content: expect.stringMatching(/17/),
      })
      // The whole history, with its calls, goes along once more.
      const { last } = await s12.run({ provider, state, prompt: "Thank you. Say goodbye.", tools: [weather] })
      expect(last).toMatchObject({ stopReason: "stop" })
    })

    test("refuses a wrong key in one sentence", async () => {
      const key = "wrong-key-0123456789"
      const { error } = await listen(await connect({ [keyName]: key }))
      expectPlain(error, /answered 40[013]: /)
      expect((error as Error).message).not.toContain(key)
    })

    test("can be cancelled in the middle of an answer", async () => {
      const cancel = new AbortController()
      const messages = [{ role: "user" as const, content: "Count from 1 to 1000, one number a line." }]
      const run = (await connect()).connect(cancel.signal).stream({ ...INPUT, messages, tools: [] })
      const read = async (): Promise<void> => {
        for await (const event of run) if (event.type === "text_delta") cancel.abort()
      }
      await expect(read()).rejects.toThrow("the request was cancelled")
    })
  })
}
