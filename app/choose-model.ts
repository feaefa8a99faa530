/** Which model answers: the scripted one, unless the environment names another. */
import { MockModel } from "./agent/mock-model.ts"
import { createProvider, type ModelSlot } from "./agent/model.ts"

/** The pace at which the scripted model speaks to people, in milliseconds for a word. */
const PACE = 12

/** The scripted model, in the slot. */
export function mockSlot(pace: number = PACE): ModelSlot {
  return { name: "mock", summarizes: false, connect: () => createProvider(new MockModel(), pace) }
}

/** The model that the environment asks for; see the adapters, which are the only ones to know. Throws one sentence when something is missing. */
export async function chooseModel(
  env: Readonly<Record<string, string | undefined>> = process.env,
  pace: number = PACE,
): Promise<ModelSlot> {
  const { chooseModel: chooseVendor } = await import("./adapters/choose.ts")
  return (await chooseVendor(env)) ?? mockSlot(pace)
}
