/** Which model the environment asks for. */
import { describe, expect, test } from "vitest"
import { chooseModel, type Environment, MODEL_HELP } from "../../../app/adapters/choose.ts"
import { listen } from "./conformance.ts"
import { dialect, encode } from "./dialects.ts"
import { Service } from "./service.ts"

const service = new Service()

describe("the model of the environment", () => {
  test.each<[string, Environment, string | undefined]>([
    ["nothing is set", {}, undefined],
    ["all is blank", { PI_MODEL: " ", ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "\n" }, undefined],
    ["the mock is asked for", { PI_MODEL: "mock", ANTHROPIC_API_KEY: "k" }, undefined],
    ["a key is there", { GEMINI_API_KEY: "k" }, "google/gemini-flash-latest"],
    ["several keys are there", { GEMINI_API_KEY: "k", OPENAI_API_KEY: "k" }, "openai/gpt-5.4-mini"],
    ["a vendor is named", { PI_MODEL: "anthropic", ANTHROPIC_API_KEY: "k" }, "anthropic/claude-haiku-5-5"],
    ["a model is named", { PI_MODEL: " openai/gpt-x ", OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" }, "openai/gpt-x"],
    [
      "a model with slashes is named",
      { PI_MODEL: "openai/org/m:7b", OPENAI_BASE_URL: "http://h/v1" },
      "openai/org/m:7b",
    ],
    ["only an address is there", { OPENAI_BASE_URL: "http://h/v1" }, undefined],
  ])("when %s", async (_when, env, name) => {
    expect((await chooseModel(env))?.name).toBe(name)
  })

  test.each<[string, Environment, string]>([
    [
      "the key is missing",
      { PI_MODEL: "anthropic/claude-x" },
      "ANTHROPIC_API_KEY is not set: put your key there, or set PI_MODEL=mock to go on without a key",
    ],
    [
      "another key is there",
      { PI_MODEL: "google", OPENAI_API_KEY: "k" },
      "GEMINI_API_KEY is not set: put your key there, or set PI_MODEL=mock to go on without a key",
    ],
    [
      "the key of OpenAI itself is missing",
      { PI_MODEL: "openai/gpt-x" },
      "OPENAI_API_KEY is not set: put your key there, or set PI_MODEL=mock to go on without a key",
    ],
    [
      "the vendor is unknown",
      { PI_MODEL: "gpt-x", OPENAI_API_KEY: "k" },
      'PI_MODEL: expected mock, anthropic/MODEL, openai/MODEL, google/MODEL, got "gpt-x"',
    ],
    [
      "the name is a trap",
      { PI_MODEL: "constructor/x" },
      'PI_MODEL: expected mock, anthropic/MODEL, openai/MODEL, google/MODEL, got "constructor/x"',
    ],
    [
      "the address is none",
      { PI_MODEL: "openai/m", OPENAI_BASE_URL: "localhost:11434/v1" },
      'OPENAI_BASE_URL: expected an address that starts with http:// or https://, got "localhost:11434/v1"',
    ],
  ])("is refused in one sentence when %s", async (_when, env, sentence) => {
    await expect(chooseModel(env)).rejects.toThrow(new Error(sentence))
  })

  test("can be chosen with the help alone", () => {
    expect(MODEL_HELP.split("\n")).toEqual([
      "PI_MODEL: mock, anthropic/MODEL, openai/MODEL, google/MODEL; without it, the first key that is set decides.",
      "Keys: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY.",
      "Other servers: ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL.",
    ])
  })

  test.each([
    ["anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
    ["openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
    ["google", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
  ] as const)("of %s is asked with its key, at its address", async (name, keyName, urlName) => {
    service.plan({ pieces: [encode(dialect(name).frames({ texts: ["a"] }))] })
    const model = await chooseModel({ PI_MODEL: `${name}/some-model`, [keyName]: " the-key\n", [urlName]: service.url })
    expect((await listen(model ?? expect.unreachable())).error).toBeUndefined()
    const [request] = service.requests
    expect(JSON.stringify(request?.headers)).toContain("the-key")
    expect(`${request?.path} ${JSON.stringify(request?.body)}`).toContain("some-model")
  })
})
