/** The two languages that the course speaks, and which of them a reader gets. */
import { InputError } from "./input-error.ts"

/** A language of the course. */
export type Language = "en" | "zh"

/** A sentence in both languages, side by side, so that none can go without the other. */
export type Text = { readonly [language in Language]: string }

/** A text of code, a name or a path, which is the same in both languages. */
export function same(text: string): Text {
  return { en: text, zh: text }
}

/**
 * The language for a reader: what `--lang` says, else what the environment says (`LC_ALL`, `LC_MESSAGES`, `LANG`), else that of the system. Throws
 * an `InputError` for a `--lang` that is neither.
 */
export function chooseLanguage(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  system: string = Intl.DateTimeFormat().resolvedOptions().locale,
): Language {
  if (given === "en" || given === "zh") return given
  if (given !== undefined) throw new InputError(`--lang expects zh or en, got "${given}"`)
  const locale = env.LC_ALL || env.LC_MESSAGES || env.LANG || system
  return /^zh/i.test(locale) ? "zh" : "en"
}

/** Says the one of two texts that is in the language. */
export function sayIn(language: Language): (en: string, zh: string) => string {
  return (en, zh) => (language === "zh" ? zh : en)
}
