/**
 * What a core may use without declaring it: values and types of the language itself (ECMAScript), which give the same on every machine and at any
 * time. Of `Math` all but chance. Whatever is not on this list reaches out of the program (R7), and nothing may take a name that is on it (U2).
 */
export const LANGUAGE: ReadonlySet<string> = new Set([
  ...["undefined", "arguments", "Infinity", "NaN"],
  ...["Array", "BigInt", "Boolean", "JSON", "Map", "Math", "Number", "Object", "Promise", "RegExp", "Set", "String"],
  ...["Symbol", "WeakMap", "WeakSet", "ArrayBuffer", "DataView", "Float64Array", "Int32Array", "Uint8Array"],
  ...["AggregateError", "Error", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"],
  ...["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent"],
  ...["isFinite", "isNaN", "parseFloat", "parseInt"],
  // Types only.
  ...["AsyncGenerator", "AsyncIterable", "AsyncIterableIterator", "AsyncIterator", "Awaited", "PromiseLike"],
  ...["Generator", "Iterable", "IterableIterator", "Iterator", "IteratorResult"],
  ...["Exclude", "Extract", "NonNullable", "Omit", "Parameters", "Partial", "Pick", "PropertyKey", "Readonly"],
  ...["ReadonlyArray", "ReadonlyMap", "ReadonlySet", "Record", "Required", "ReturnType"],
  ...["ArrayLike", "ConstructorParameters", "InstanceType", "NoInfer", "PromiseSettledResult", "TemplateStringsArray"],
  ...["Capitalize", "Lowercase", "RegExpExecArray", "RegExpMatchArray", "Uncapitalize", "Uppercase"],
])

/**
 * Members of the language's own values that give away more than the value: ways to code, the machine's language, the place in the program. With
 * `unlessOwn`, a core may have a field of that name itself.
 */
export const WAYS_BY_MEMBER: readonly { member: RegExp; what: string; unlessOwn?: boolean }[] = [
  // A function's constructor makes functions from text.
  { member: /^constructor$/, what: "a constructor" },
  // What stands in a prototype, all code shares.
  { member: /^(prototype|__proto__)$/, what: "a prototype" },
  { member: /^(toLocale\w+|localeCompare)$/, what: "the language of the machine" },
  {
    member: /^(stack|captureStackTrace|prepareStackTrace|stackTraceLimit)$/,
    what: "the stack of an error",
    unlessOwn: true,
  },
]
