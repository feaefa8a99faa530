/** Which model answers, by the environment. The only door of this folder: no SDK is loaded before a model of its vendor is chosen. */
import type { Settings, VendorModel } from "./answer.ts"

export type { Settings, VendorModel } from "./answer.ts"

/** A vendor, as the environment knows it. */
type Vendor = {
  keyName: string
  baseUrlName: string
  /** The model where none is named. */
  model: string
  load(): Promise<(settings: Settings) => VendorModel>
}

const VENDORS = new Map<string, Vendor>([
  [
    "anthropic",
    {
      keyName: "ANTHROPIC_API_KEY",
      baseUrlName: "ANTHROPIC_BASE_URL",
      model: "claude-haiku-5-5",
      load: async () => (await import("./anthropic.ts")).createAnthropic,
    },
  ],
  [
    "openai",
    {
      keyName: "OPENAI_API_KEY",
      baseUrlName: "OPENAI_BASE_URL",
      model: "gpt-5.4-mini",
      load: async () => (await import("./openai.ts")).createOpenAI,
    },
  ],
  [
    "google",
    {
      keyName: "GEMINI_API_KEY",
      baseUrlName: "GOOGLE_GEMINI_BASE_URL",
      model: "gemini-flash-latest",
      load: async () => (await import("./google.ts")).createGoogle,
    },
  ],
])

/** The variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The variable that names the model, as `vendor` or `vendor/model`. */
export const MODEL_NAME = "PI_MODEL"

/** How a model is chosen, for people: so that no help above has to know a vendor. */
export const MODEL_HELP: string = [
  `${MODEL_NAME}: mock, ${[...VENDORS.keys()].map((name) => `${name}/MODEL`).join(", ")}; without it, the first key that is set decides.`,
  `Keys: ${[...VENDORS.values()].map(({ keyName }) => keyName).join(", ")}.`,
  `Other servers: ${[...VENDORS.values()].map(({ baseUrlName }) => baseUrlName).join(", ")}.`,
].join("\n")

/** The value of a variable; what is blank counts as not set. */
function read(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === "" ? undefined : value
}

/**
 * The model that the environment asks for; undefined means the mock. `PI_MODEL` names it: `anthropic/…`, `openai/…` or `google/…`, a vendor alone
 * for its default model, `mock` for the mock. Where it is not set, the first vendor whose key is there is taken: `ANTHROPIC_API_KEY`,
 * `OPENAI_API_KEY`, `GEMINI_API_KEY`. `…_BASE_URL` leads to another server. Throws one sentence when something is missing.
 */
export async function chooseModel(env: Environment): Promise<VendorModel | undefined> {
  const found = [...VENDORS].find(([, { keyName }]) => read(env, keyName) !== undefined)
  const choice = read(env, MODEL_NAME) ?? found?.[0] ?? "mock"
  if (choice === "mock") return undefined
  const [, name = "", model] = /^([^/]*)(?:\/(.+))?$/s.exec(choice) ?? []
  const vendor = VENDORS.get(name)
  if (vendor === undefined) {
    const names = [...VENDORS.keys()].map((known) => `${known}/MODEL`)
    throw new Error(`${MODEL_NAME}: expected mock, ${names.join(", ")}, got "${choice}"`)
  }
  const key = read(env, vendor.keyName)
  const baseUrl = read(env, vendor.baseUrlName)
  // A server of one's own that speaks OpenAI's format often wants no key.
  if (key === undefined && !(name === "openai" && baseUrl !== undefined))
    throw new Error(
      `${vendor.keyName} is not set: put your key there, or set ${MODEL_NAME}=mock to go on without a key`,
    )
  if (baseUrl !== undefined && !/^https?:\/\/./i.test(baseUrl))
    throw new Error(`${vendor.baseUrlName}: expected an address that starts with http:// or https://, got "${baseUrl}"`)
  const create = await vendor.load()
  return create({ model: model ?? vendor.model, key: key ?? "", ...(baseUrl !== undefined && { baseUrl }) })
}
