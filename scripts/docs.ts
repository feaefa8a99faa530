/**
 * Keeps the parts of documents that are made from data: tables and the dictionary.
 *
 *   npm run docs            says which documents are out of date; exit code 1 when one is
 *   npm run docs -- --write brings them up to date
 *
 * A part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.
 */
import fs from "node:fs"
import path from "node:path"
import { parseArgs } from "node:util"
import { InputError, runCommand } from "./command.ts"
import { readChapters } from "./constitution.ts"
import { CHAPTERS, INVARIANTS } from "./manifest.ts"
import { RULES } from "./rules/index.ts"
import { type Declaration, ROOT, type Surface } from "./surface.ts"

/** The languages of the documents. */
export type Language = "zh" | "en"

/** The documents that have such parts, by language. */
export const DOCUMENTS: readonly { file: string; language: Language }[] = [
  { file: "EVOLUTION.md", language: "zh" },
  { file: "EVOLUTION.en.md", language: "en" },
]

type Maker = (language: Language, surfaces: readonly Surface[]) => string

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}

function code(text: string): string {
  return `\`${text}\``
}

const LIFTED = {
  zh: { U1: "U1 升级", weld: "登记过的接入点", nothing: "没有" },
  en: { U1: "an upgrade under U1", weld: "a declared weld", nothing: "nothing" },
}

const MAKERS: Record<string, Maker> = {
  rules: (language) =>
    table(
      language === "zh"
        ? ["规则", "要求", "例外", "规则文件", "正反例"]
        : ["Rule", "What it demands", "Lifted by", "Its file", "Its fixtures"],
      RULES.map((rule) => {
        const file = `scripts/rules/${rule.article.toLowerCase()}.ts`
        const fixtures = `test/constitution/fixtures/${rule.id}`
        const sentence = language === "zh" ? rule.sentenceZh : rule.sentence
        return [
          code(rule.id),
          sentence,
          LIFTED[language][rule.lifted],
          `[${path.posix.basename(file)}](${file})`,
          `[${rule.id}](${fixtures})`,
        ]
      }),
    ),
  chapters: (language) =>
    table(
      language === "zh" ? ["章", "新增", "接入点", "升级"] : ["Chapter", "Adds", "Welds", "Upgrades"],
      CHAPTERS.map((chapter) => {
        const zh = language === "zh"
        const entries = (list: readonly { name: string; reason: string; reasonZh: string }[]): string =>
          list
            .map(({ name, reason, reasonZh }) => `${code(name)}${zh ? "：" : ": "}${zh ? reasonZh : reason}`)
            .join("<br>") || "—"
        return [
          `[${chapter.id} ${zh ? chapter.titleZh : chapter.title}](${chapter.folder}/code.ts)`,
          chapter.parts.map(code).join(" "),
          entries(chapter.welds),
          entries(chapter.upgrades),
        ]
      }),
    ),
  upgrades: (language) =>
    table(
      language === "zh" ? ["章", "之前", "之后", "理由"] : ["Chapter", "Before", "After", "Why"],
      CHAPTERS.flatMap((chapter) =>
        chapter.upgrades.map(({ from, to, reason, reasonZh }) => [
          chapter.id,
          code(from),
          code(to),
          language === "zh" ? reasonZh : reason,
        ]),
      ),
    ),
  invariants: (language) =>
    table(
      language === "zh" ? ["编号", "不变量", "从哪一章起"] : ["Id", "Invariant", "From"],
      INVARIANTS.map(({ id, first, sentence, sentenceZh }) => [id, language === "zh" ? sentenceZh : sentence, first]),
    ),
  dictionary: (_language, surfaces) => `\`\`\`ts\n${dictionary(surfaces)}\n\`\`\``,
}

/** The types of the last chapter, each line marked with the chapter that brought it, where that is not the chapter of the type itself. */
function dictionary(surfaces: readonly Surface[]): string {
  const last = surfaces.at(-1)?.core ?? []
  const types = last.filter(({ kind }) => kind === "type" || kind === "interface" || kind === "class")
  return types.map((declaration) => describe(declaration, surfaces)).join("\n\n")
}

function describe(declaration: Declaration, surfaces: readonly Surface[]): string {
  const origin = (line: string): string => {
    const first = surfaces.find(({ core }) =>
      linesOf(core.find(({ name }) => name === declaration.name)).includes(line),
    )
    return first?.chapter.id ?? ""
  }
  const [head = "", ...rest] = linesOf(declaration)
  const marked = rest.map((line) =>
    origin(line) === declaration.section ? line : `${line.padEnd(60)} // ${origin(line)}`,
  )
  return [`${head.padEnd(60)} // ${declaration.section}`, ...marked].join("\n")
}

/** The lines of a type; of a class only what is public, without bodies. */
function linesOf(declaration: Declaration | undefined): string[] {
  if (declaration === undefined) return []
  const lines = declaration.text.split("\n").slice(declaration.line - declaration.start)
  if (declaration.kind !== "class") return lines
  const members = declaration.members.filter(({ name }) => !name.startsWith("#"))
  const signatures = members.map(
    ({ signature, text }) =>
      `  ${(signature || text)
        .replace(/\(\n\s+/, "(")
        .replace(/,\n\s+\)/, ")")
        .replaceAll(/\n\s+/g, " ")}`,
  )
  return [lines[0] ?? "", ...signatures, "}"]
}

/** A document with all its parts made anew. Throws an `InputError` for a part that nobody makes or that does not end. */
export function renderDocument(
  text: string,
  language: Language,
  surfaces: readonly Surface[],
  file = "the document",
): string {
  const begun = [...text.matchAll(/<!-- begin: (\w+) -->/g)].map((match) => match[1] ?? "")
  return begun.reduce((sofar, name) => {
    const make = MAKERS[name]
    if (make === undefined)
      throw new InputError(`${file} asks for "${name}", expected one of ${Object.keys(MAKERS).join(", ")}`)
    const start = sofar.indexOf(`<!-- begin: ${name} -->`)
    const end = sofar.indexOf(`<!-- end: ${name} -->`, start)
    if (end < 0) throw new InputError(`${file}: the part "${name}" has no end`)
    return `${sofar.slice(0, start)}<!-- begin: ${name} -->\n${make(language, surfaces)}\n${sofar.slice(end)}`
  }, text)
}

/** The documents whose parts are not what the data says, with the text that they should have. */
export function findStale(root: string = ROOT): { file: string; text: string }[] {
  const surfaces = readChapters(CHAPTERS)
  return DOCUMENTS.flatMap(({ file, language }) => {
    const place = path.join(root, file)
    if (!fs.existsSync(place)) throw new InputError(`${file} does not exist`)
    const before = fs.readFileSync(place, "utf8")
    const text = renderDocument(before, language, surfaces, file)
    return text === before ? [] : [{ file, text }]
  })
}

if (process.argv[1] !== undefined && path.basename(process.argv[1]) === "docs.ts") {
  await runCommand("usage: npm run docs -- [--write]", (args) => {
    const { values } = parseArgs({ args, options: { write: { type: "boolean", default: false } } })
    const stale = findStale()
    for (const { file, text } of stale) {
      if (values.write) fs.writeFileSync(path.join(ROOT, file), text)
      console.log(`${file} ${values.write ? "brought up to date" : "is out of date: npm run docs -- --write"}`)
    }
    if (stale.length === 0) console.log("All documents say what the data says.")
    return stale.length === 0 || values.write ? 0 : 1
  })
}
