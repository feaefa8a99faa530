/** Which model answers: the scripted one, unless the environment names another. */
import { MockModel } from "./agent/mock-model.ts"
import { createProvider, type ModelSlot } from "./agent/model.ts"

/** The pace at which the scripted model speaks to people, in milliseconds for a word. */
const PACE = 12

/** The scripted model, in the slot. */
export function mockSlot(pace: number = PACE): ModelSlot {
  return { name: "mock", summarizes: false, connect: () => createProvider(new MockModel(), pace) }
}

/**
 * The model that `MODEL` names: `mock`, or a service and its name for the model, such as `anthropic/NAME`. The adapters are loaded when one is asked
 * for, and not before. Throws one sentence for a service that nobody knows, and for a key that is missing.
 */
export async function chooseModel(
  env: Readonly<Record<string, string | undefined>> = process.env,
  name: string = env.MODEL ?? "",
): Promise<ModelSlot> {
  if (name === "" || name === "mock") return mockSlot()
  const { connectModel } = await import("./adapters/connect.ts")
  return connectModel(name, env)
}
