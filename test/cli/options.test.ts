import { describe, expect, test } from "vitest"
import { readOptions } from "../../scripts/cli/options.ts"
import { InputError } from "../../scripts/course/input-error.ts"

const read = (args: string[], allowPositionals = false) =>
  readOptions({
    args,
    allowPositionals,
    options: { only: { type: "string" }, skip: { type: "string", multiple: true }, json: { type: "boolean" } },
  })

describe("the options of a command", () => {
  test("are read in every form that Node knows", () => {
    expect(read(["--only", "s04", "--json", "--skip=a", "--skip", "b"]).values).toEqual({
      only: "s04",
      json: true,
      skip: ["a", "b"],
    })
    expect(read(["s04", "--only=-1", "--", "--json"], true)).toMatchObject({
      values: { only: "-1" },
      positionals: ["s04", "--json"],
    })
  })

  test.each([
    [["--wat"], 'unknown option "--wat": expected --only, --skip, --json'],
    [["-x"], 'unknown option "-x": expected --only, --skip, --json'],
    [["--constructor"], 'unknown option "--constructor"'],
    [["--only", "s04", "--only", "s05"], "--only stands there twice"],
    [["--json", "--json"], "--json stands there twice"],
    [["--only"], "--only expects a value"],
    [["--only", "--json"], '--only expects a value, got the option "--json"'],
    [["--json=yes"], '--json takes no value, got "yes"'],
    [["words"], 'unexpected "words": expected options only'],
  ] as const)("%j is refused in a sentence", (args, sentence) => {
    const reading = (): unknown => read([...args])
    expect(reading).toThrow(InputError)
    expect(reading).toThrow(sentence)
  })
})
