/** Things that can be thrown, and are hard to describe. */
export const ODD: [string, unknown][] = [
  ["nothing", undefined],
  ["an empty object", {}],
  ["an empty list", []],
  ["an object with a code", { code: 7 }],
  ["an error with a blank message", new Error("  ")],
  ["a symbol", Symbol("odd")],
  ["a message that is no string", { message: { deep: true } }],
  [
    "an object that throws when read",
    {
      get message() {
        throw new Error("again")
      },
    },
  ],
  ["an object without a prototype", Object.create(null)],
]
