/** Placeholder until the adapters are in. */
import type { ModelSlot } from "../agent/model.ts"

export function connectModel(name: string, _env: Readonly<Record<string, string | undefined>>): ModelSlot {
  throw new Error(`unknown model "${name}"`)
}
