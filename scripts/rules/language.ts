/** What a core may use without declaring it, and what it may ask of that: lists, so that whatever is on none of them reaches out of the program. */
import type { Text } from "../course/language.ts"

/**
 * The classes and objects of the language itself (ECMAScript), each with what may be taken out of it by name. All of it gives the same on every
 * machine and at any time, so there is no `Math.random`, and none of it leads to a prototype or to a descriptor of one.
 */
const OBJECTS: Readonly<Record<string, string>> = {
  Array: "from fromAsync isArray of",
  BigInt: "asIntN asUintN",
  Boolean: "",
  JSON: "parse stringify",
  Map: "groupBy",
  Math: "E PI SQRT2 abs acos asin atan atan2 cbrt ceil cos exp floor hypot log log10 log2 max min pow round sign sin sqrt tan trunc",
  Number:
    "EPSILON MAX_SAFE_INTEGER MAX_VALUE MIN_SAFE_INTEGER MIN_VALUE NEGATIVE_INFINITY NaN POSITIVE_INFINITY isFinite isInteger isNaN isSafeInteger parseFloat parseInt",
  Object:
    "assign create defineProperties defineProperty entries freeze fromEntries getPrototypeOf groupBy hasOwn is isExtensible isFrozen isSealed keys preventExtensions seal values",
  Promise: "all allSettled any race reject resolve try withResolvers",
  RegExp: "escape",
  Set: "",
  String: "fromCharCode fromCodePoint raw",
  Symbol: "asyncDispose asyncIterator dispose hasInstance iterator toPrimitive toStringTag",
  WeakMap: "",
  WeakSet: "",
  ArrayBuffer: "isView",
  DataView: "",
  Float64Array: "from of",
  Int32Array: "from of",
  Uint8Array: "from fromBase64 fromHex of",
  AggregateError: "",
  Error: "",
  RangeError: "",
  ReferenceError: "",
  SyntaxError: "",
  TypeError: "",
  URIError: "",
}

/** Plain values and functions of the language. */
const VALUES = `
  undefined arguments Infinity NaN decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite isNaN parseFloat parseInt
`

/** Types of the language. */
const TYPES = `
  AsyncGenerator AsyncIterable AsyncIterableIterator AsyncIterator Awaited PromiseLike Generator Iterable IterableIterator Iterator
  IteratorResult Exclude Extract NonNullable Omit Parameters Partial Pick PropertyKey Readonly ReadonlyArray ReadonlyMap ReadonlySet Record
  Required ReturnType ArrayLike ConstructorParameters InstanceType NoInfer PromiseSettledResult PromiseFulfilledResult PromiseRejectedResult
  TemplateStringsArray ThisParameterType Capitalize Lowercase RegExpExecArray RegExpMatchArray Uncapitalize Uppercase
`

const words = (list: string): string[] => list.trim().split(/\s+/)

/** Every name of the language that a core may use (R7), and that nothing else may be called by (U2). */
export const LANGUAGE: ReadonlySet<string> = new Set([...Object.keys(OBJECTS), ...words(VALUES), ...words(TYPES)])

/** Whether a name stands for a class or an object of the language, which all code shares. */
export function isShared(name: string): boolean {
  return Object.hasOwn(OBJECTS, name)
}

/** Whether a core may take this out of a class or an object of the language. */
export function isListed(name: string, member: string): boolean {
  return words(OBJECTS[name] ?? "").includes(member)
}

/** Names of the platform by which a demo could change what the core uses, or run what no rule can read. */
export const HIDING: ReadonlySet<string> = new Set(["eval", "Function"])
export const GLOBALS: ReadonlySet<string> = new Set(["globalThis", "global", "window", "self", "Reflect"])

/** What a core may take out of zod: what describes a shape and says what is wrong. Nothing that is set for all schemas, and no inner parts. */
export const ZOD: ReadonlySet<string> = new Set(
  words(`
    ZodError ZodType any array bigint boolean check custom discriminatedUnion email enum flattenError infer input instanceof int intersection
    iso json lazy literal looseObject map nan never null nullable nullish number object optional output partialRecord pipe preprocess
    prettifyError readonly record regex set strictObject string stringbool superRefine symbol templateLiteral transform treeifyError tuple
    undefined union unknown url uuid void
  `),
)

/** A member of the language's own values that gives away more than the value, and what to write instead. */
export type Way = {
  member: RegExp
  what: Text
  fix: Text
  /** A core may have a field of that name itself. */
  unlessOwn?: boolean
}

/** Ways to code, to what all code shares, to the machine's language, to the place in the program. */
export const WAYS_BY_MEMBER: readonly Way[] = [
  {
    // A function's constructor makes functions from text.
    member: /^constructor$/,
    what: { en: "a constructor", zh: "构造函数" },
    fix: {
      en: "What it is an error says by `error.name`; of what class something is, `instanceof` says.",
      zh: "是什么错误，看 `error.name`；属于哪个类，用 `instanceof`。",
    },
  },
  {
    // What stands in a prototype, all code shares.
    member: /^(prototype|__proto__|__(define|lookup)(Getter|Setter)__|getOwnPropertyDescriptors?)$/,
    what: { en: "a prototype", zh: "原型" },
    fix: {
      en: "Call the method on a value, as in `Object.hasOwn(value, name)`; what all code shares is left alone.",
      zh: "在值上调用方法，例如 `Object.hasOwn(value, name)`；所有代码共用的东西不要动。",
    },
  },
  {
    member: /^(toLocale\w+|localeCompare)$/,
    what: { en: "the language of the machine", zh: "机器的语言设置" },
    fix: {
      en: "Compare with `<`, and use the methods without Locale: they give the same on every machine.",
      zh: "用 `<` 比较，用不带 Locale 的方法：它们在每台机器上结果都一样。",
    },
  },
  {
    member: /^(stack|captureStackTrace|prepareStackTrace|stackTraceLimit)$/,
    what: { en: "the stack of an error", zh: "错误的调用栈" },
    fix: {
      en: "Use the error's message: where the program stands is no part of what it says.",
      zh: "用错误的 message：程序走到哪里，不是它要说的话。",
    },
    unlessOwn: true,
  },
]
