/** Options on the command line: what a command knows, and a sentence for whatever else stands there. */
import { type ParseArgsConfig, parseArgs } from "node:util"
import { InputError } from "../course/input-error.ts"

/** What Node reads of a configuration. */
type Read<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>

/**
 * Reads the options of a command, as Node's `parseArgs` does. Throws an `InputError` that names what was not expected: an option that the command
 * does not have, one that stands there twice, a value that is missing or too many, words that are no options where none are taken.
 */
export function readOptions<const Config extends ParseArgsConfig>(config: Config): Read<Config> {
  const { options = {}, allowPositionals = false } = config
  const { tokens = [] } = parseArgs({ ...config, strict: false, allowPositionals: true, tokens: true })
  const seen = new Set<string>()
  for (const token of tokens) {
    if (token.kind === "positional" && !allowPositionals)
      throw new InputError(`unexpected "${token.value}": expected options only`)
    if (token.kind !== "option") continue
    const { name, rawName, value, inlineValue } = token
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    if (option === undefined) {
      const known = Object.keys(options).map((one) => `--${one}`)
      throw new InputError(`unknown option "${rawName}": expected ${known.join(", ") || "none"}`)
    }
    if (seen.has(name) && option.multiple !== true) throw new InputError(`${rawName} stands there twice`)
    seen.add(name)
    if (option.type === "boolean" && value !== undefined)
      throw new InputError(`${rawName} takes no value, got "${value}"`)
    // What follows may be an option that somebody has written behind a forgotten value.
    if (option.type === "string" && (value === undefined || (!inlineValue && value.startsWith("-"))))
      throw new InputError(`${rawName} expects a value${value === undefined ? "" : `, got the option "${value}"`}`)
  }
  return parseArgs(config)
}
