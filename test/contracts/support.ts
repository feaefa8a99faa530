/** Types that compare types. What they find is a type too, `{ Tool: { lost: "spec" } }`, so that tsc prints it. */

/** No faults. */
export type None = Record<never, never>

/** The chapter that an expectation speaks about: each of its types, by name. */
export type Names<Types> = Record<keyof Types, unknown>

/** A record with fields added or restated. */
export type Grown<Old, Added> = Flat<Omit<Old, keyof Added> & Added>

/** How the actual types differ from the expected ones, in either direction, by name. */
export type Differences<Actual, Expected> = Faults<{
  [Name in keyof Actual | keyof Expected]: Difference<Entry<Actual, Name>, Entry<Expected, Name>>
}>

/** How the functions of a module differ from the expected ones. A class counts as its constructor. */
export type FunctionDifferences<Module, Expected> = Differences<
  { [Name in keyof Module & keyof Expected]: Callable<Module[Name]> },
  Expected
>

/** What the types of one chapter promised and those of the next one do not keep (R1, R2). Growing is no loss. */
export type Losses<Old, New> = LossesIn<Renewed<Old, New>, New>

/** Which functions of one chapter cannot be called in the next one as before. A parameter may be appended, if it can be left out. */
export type FunctionLosses<OldModule, NewModule, Old, New> = FunctionLossesIn<
  OldModule,
  NewModule,
  Renewed<Old, New>,
  New
>

/** The types that are not what they were. The others need no look. */
type Renewed<Old, New> = {
  [Name in keyof Old as Equal<Old[Name], Entry<New, Name>> extends true ? never : Name]: Old[Name]
}

type LossesIn<Old, New> = Faults<{
  [Name in keyof Old]: Loss<Old[Name], Entry<New, Name>, Old, New>
}>

type FunctionLossesIn<OldModule, NewModule, Old, New> = Faults<{
  [Name in keyof OldModule]: CallLoss<Callable<OldModule[Name]>, Callable<Entry<NewModule, Name>>, Old, New>
}>

/** Whether two types are the same, to the last modifier. `any` is the same as nothing but itself. */
type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false

/** Only `any` swallows a contradiction. */
type IsAny<T> = 0 extends 1 & T ? true : false

type Flat<T> = { [Field in keyof T]: T[Field] }

type AnyFunction = (...parameters: never) => unknown

type AnyConstructor = abstract new (...parameters: never) => unknown

/** The public members. Private ones make every class unlike its own next version. */
type Public<T> = T extends AnyFunction | AnyConstructor ? T : Flat<T>

type Callable<Value> = Value extends abstract new (
  ...parameters: infer Parameters
) => infer Instance
  ? new (
      ...parameters: Parameters
    ) => Instance
  : Value

type Absent = { absent: never }

type Entry<Types, Name extends PropertyKey> = Name extends keyof Types ? Types[Name] : Absent

type Faults<Found> = { [Name in keyof Found as keyof Found[Name] extends never ? never : Name]: Found[Name] }

/** The places where something is wrong; without any, nothing. */
type Fault<Kind extends string, Places> = { [Key in Kind as [Places] extends [never] ? never : Key]: Places }

/** What tells a member of a union from the others. */
type Tag<Member> = Member extends { role: infer Role extends string }
  ? `${Role}.`
  : Member extends { type: infer Type extends string }
    ? `${Type}.`
    : ""

/** A field's name as it is declared: behind the tag of its union member, with the marks for readonly and optional. */
type Label<T, Field extends keyof T> = Field extends string
  ? `${ReadonlyMark<T, Field>}${Tag<T>}${Field}${OptionalMark<T, Field>}`
  : never

type ReadonlyMark<T, Field extends keyof T> =
  Equal<Pick<T, Field>, Readonly<Pick<T, Field>>> extends true ? "readonly " : ""

type OptionalMark<T, Field extends keyof T> = None extends Pick<T, Field> ? "?" : ""

type Merged<Union> = (Union extends unknown ? (member: Union) => void : never) extends (member: infer All) => void
  ? Flat<All>
  : never

/** A type as one record: literals by their text, a function by its two ends, all else by its fields. */
type Surface<T> =
  true extends IsAny<T>
    ? { any: never }
    : [T] extends [string]
      ? { [Literal in T]: Literal }
      : [T] extends [(...parameters: infer Parameters) => infer Result]
        ? { parameters: Parameters; result: Result }
        : [T] extends [abstract new (...parameters: infer Parameters) => infer Instance]
          ? { parameters: Parameters; result: Instance }
          : Merged<T extends unknown ? { [Field in keyof T as Label<T, Field>]-?: T[Field] } : never>

type Difference<Actual, Expected> =
  Equal<Public<Actual>, Public<Expected>> extends true
    ? None
    : SurfaceDifference<Surface<Actual>, Surface<Expected>> extends infer Found
      ? keyof Found extends never
        ? { actual: Actual; expected: Expected }
        : Found
      : never

type SurfaceDifference<Actual, Expected> = Flat<
  Fault<"lost", Exclude<keyof Expected, keyof Actual>> &
    Fault<"added", Exclude<keyof Actual, keyof Expected>> &
    Fault<
      "changed",
      {
        [Place in keyof Actual & keyof Expected]: Equal<Actual[Place], Expected[Place]> extends true ? never : Place
      }[keyof Actual & keyof Expected]
    >
>

type Loss<OldType, NewType, Old, New> = SurfaceLoss<Surface<OldType>, Surface<NewType>, Old, New>

type SurfaceLoss<OldSurface, NewSurface, Old, New> = Flat<
  Fault<"lost", Exclude<keyof OldSurface, keyof NewSurface>> &
    Fault<
      "changed",
      {
        [Place in keyof OldSurface & keyof NewSurface]: Kept<
          OldSurface[Place],
          NewSurface[Place],
          Old,
          New
        > extends true
          ? never
          : Place
      }[keyof OldSurface & keyof NewSurface]
    >
>

/**
 * Whether a place still holds what it held: the same type, or the type of the same name (that name answers for its own faults), or a
 * list of literals that grew, or something built alike from parts that are kept.
 */
type Kept<OldType, NewType, Old, New> =
  Equal<OldType, NewType> extends true
    ? true
    : true extends IsAny<OldType> | IsAny<NewType>
      ? false
      : HaveSameName<OldType, NewType, Old, New> extends true
        ? true
        : [OldType, NewType] extends [string, string]
          ? string extends NewType
            ? false
            : [OldType] extends [NewType]
              ? true
              : false
          : KeptParts<Parts<OldType>, Parts<NewType>, Old, New>

type HaveSameName<OldType, NewType, Old, New> = true extends {
  [Name in keyof Old & keyof New]: [Equal<OldType, Old[Name]>, Equal<NewType, New[Name]>] extends [true, true]
    ? true
    : false
}[keyof Old & keyof New]
  ? true
  : false

/** What a type is put together from, behind a word for how. A tuple is its own parts. */
type Parts<T> = [T] extends [(...parameters: infer Parameters) => infer Result]
  ? ["function", Parameters, Result]
  : [T] extends [(infer Item)[]]
    ? number extends T["length"]
      ? ["array", Item]
      : T
    : [T] extends [readonly (infer Item)[]]
      ? ["readonly array", Item]
      : [T] extends [AsyncGenerator<infer Item>]
        ? ["generator", Item]
        : [T] extends [AsyncIterable<infer Item>]
          ? ["iterable", Item]
          : [T] extends [Promise<infer Value>]
            ? ["promise", Value]
            : never

type KeptParts<OldParts, NewParts, Old, New> = [OldParts] extends [never]
  ? false
  : [OldParts, NewParts] extends [infer OldList extends unknown[], infer NewList extends unknown[]]
    ? Equal<OldList["length"], NewList["length"]> extends true
      ? KeptEach<Required<OldList>, Required<NewList>, Old, New>
      : false
    : false

type KeptEach<OldParts extends readonly unknown[], NewParts extends readonly unknown[], Old, New> = [
  { [Index in keyof OldParts]: Kept<OldParts[Index], Entry<NewParts, Index>, Old, New> }[number],
] extends [true]
  ? true
  : false

type CallLoss<OldCall, NewCall, Old, New> =
  Equal<OldCall, NewCall> extends true ? None : EndLoss<Surface<OldCall>, Surface<NewCall>, Old, New>

type EndLoss<OldEnds, NewEnds, Old, New> = [OldEnds, NewEnds] extends [
  { parameters: infer OldParameters extends unknown[]; result: infer OldResult },
  { parameters: infer NewParameters extends unknown[]; result: infer NewResult },
]
  ? Fault<
      "changed",
      | (AreAccepted<OldParameters, NewParameters, Old, New> extends true ? never : "parameters")
      | (Kept<OldResult, NewResult, Old, New> extends true ? never : "result")
    >
  : { changed: "value" }

/** Every number of arguments that was enough is enough, and each argument stands where it stood. */
type AreAccepted<OldParameters extends unknown[], NewParameters extends unknown[], Old, New> = [
  OldParameters["length"],
] extends [NewParameters["length"]]
  ? KeptEach<Required<OldParameters>, Required<NewParameters>, Old, New>
  : false
