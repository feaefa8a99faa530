/**
 * The parts of documents that are made from data, from the code and from real runs.
 *
 * There are four kinds of such parts. A table stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. A block of code stands behind
 * `<!-- code: NAME -->`, which names declarations or members of the chapter, or with `s03:NAME` those of another; `banner` is the chapter's banner, and
 * `imports` are the packages that its core imports. A block behind `<!-- diff: NAME -->` shows what becomes of a declaration or a member of the chapter
 * before. A block of output stands behind `<!-- output: COMMAND -->`.
 */
import { execFile } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { diffArrays } from "diff"
import { compareSurfaces } from "../chapter/compare.ts"
import type { Declaration, Surface } from "../chapter/surface.ts"
import { InputError } from "../course/input-error.ts"
import { CHAPTERS, type Chapter, INVARIANTS } from "../course/manifest.ts"
import { ROOT } from "../course/source.ts"
import { RULES } from "../rules/index.ts"
import { readChapters } from "../rules/judge.ts"
import { FIELD_CASES } from "./cases.ts"

/** The languages of the documents. */
export type Language = "zh" | "en"

/** A document with parts that are made. */
export type Document = {
  file: string
  language: Language
  /** The chapter that it belongs to, if any. */
  chapter?: Chapter
}

/** All documents with such parts. */
export const DOCUMENTS: readonly Document[] = [
  { file: "EVOLUTION.md", language: "zh" },
  { file: "EVOLUTION.en.md", language: "en" },
  { file: "CASES.md", language: "zh" },
  { file: "CASES.en.md", language: "en" },
  { file: "CARD.md", language: "zh" },
  { file: "CARD.en.md", language: "en" },
  { file: "EXERCISES.md", language: "zh" },
  { file: "EXERCISES.en.md", language: "en" },
  { file: "s00_naive/README.md", language: "zh" },
  { file: "s00_naive/README.en.md", language: "en" },
  ...CHAPTERS.flatMap((chapter): Document[] => [
    { file: `${chapter.folder}/README.md`, language: "zh", chapter },
    { file: `${chapter.folder}/README.en.md`, language: "en", chapter },
  ]),
]

/** The tables that a document has to have. */
function requiredParts({ chapter, file }: Document): string[] {
  if (file.startsWith("CASES")) return ["cases"]
  if (!file.startsWith("EVOLUTION") && chapter === undefined) return []
  return chapter === undefined
    ? ["rules", "chapters", "upgrades", "invariants", "dictionary"]
    : ["changes", "neighbours"]
}

type Maker = (document: Document, surfaces: readonly Surface[]) => string

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}

function code(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``
}

const LIFTED = {
  zh: { U1: "U1 升级", weld: "列明的接入点", nothing: "没有" },
  en: { U1: "an upgrade under U1", weld: "a declared weld", nothing: "nothing" },
}

const MAKERS: Record<string, Maker> = {
  rules: ({ language }) =>
    table(
      language === "zh"
        ? ["规则", "要求", "例外", "规则文件", "正反例"]
        : ["Rule", "What it demands", "Lifted by", "Its file", "Its fixtures"],
      RULES.map((rule) => {
        const file = `scripts/rules/${rule.article.toLowerCase()}.ts`
        const fixtures = `test/rules/fixtures/${rule.id}`
        return [
          code(rule.id),
          rule.sentence[language],
          LIFTED[language][rule.lifted],
          `[${path.posix.basename(file)}](${file})`,
          `[${rule.id}](${fixtures})`,
        ]
      }),
    ),
  chapters: ({ language }, surfaces) =>
    table(
      language === "zh"
        ? ["章", "骨架", "新增", "增长", "接入点", "升级"]
        : ["Chapter", "Stands on", "Adds", "Grows", "Welds", "Upgrades"],
      CHAPTERS.map((chapter, index) => {
        const zh = language === "zh"
        const entries = (list: readonly { name: string; reason: string; reasonZh: string }[]): string =>
          list
            .map(({ name, reason, reasonZh }) => `${code(name)}${zh ? "：" : ": "}${zh ? reasonZh : reason}`)
            .join("<br>") || "—"
        return [
          `[${chapter.id} ${zh ? chapter.titleZh : chapter.title}](${chapter.folder}/code.ts)`,
          skeleton(language, surfaces[index - 1], surfaces[index]),
          chapter.parts.map(code).join(" "),
          Object.entries(chapter.gains)
            .map(([name, texts]) => `${code(name)} + ${texts.map(code).join(", ")}`)
            .join("<br>") || "—",
          entries(chapter.welds),
          entries(chapter.upgrades),
        ]
      }),
    ),
  upgrades: ({ language }) =>
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
  invariants: ({ language }) =>
    table(
      language === "zh" ? ["编号", "不变量", "从哪一章起"] : ["Id", "Invariant", "From"],
      INVARIANTS.map(({ id, first, sentence, sentenceZh }) => [id, language === "zh" ? sentenceZh : sentence, first]),
    ),
  dictionary: (_document, surfaces) => `\`\`\`ts\n${dictionary(surfaces)}\n\`\`\``,
  cases: ({ language }) => {
    const tests = readTests(path.join(ROOT, "test"))
    return table(
      language === "zh" ? ["编号", "种类", "报告", "测试"] : ["Number", "Kind", "Report", "Tests"],
      FIELD_CASES.map(({ id, kind, report }) => [
        id,
        kind[language],
        `[${new URL(report).pathname.slice(1)}](${report})`,
        tests
          .filter(({ numbers }) => numbers.has(id))
          .map(({ file }) => `[${path.posix.basename(file, ".test.ts")}](${file})`)
          .join(" ") || "—",
      ]),
    )
  },
  changes: ({ language, chapter }, surfaces) => changes(language, chapter, surfaces),
  neighbours: ({ language, chapter }) => {
    const page = language === "zh" ? "README.md" : "README.en.md"
    const index = CHAPTERS.findIndex(({ id }) => id === chapter?.id)
    const link = (neighbour: Chapter | undefined, label: (id: string) => string): string[] =>
      neighbour === undefined ? [] : [`[${label(neighbour.id)}](../${neighbour.folder}/${page})`]
    return [
      ...link(CHAPTERS[index - 1], (id) => `← ${id}`),
      `[${language === "zh" ? "目录" : "Contents"}](../${page})`,
      `[${language === "zh" ? "术语表" : "Glossary"}](../${page.replace("README", "GLOSSARY")})`,
      ...link(CHAPTERS[index + 1], (id) => `${id} →`),
    ].join(" · ")
  },
}

/** What a chapter stands on: how many declarations the chapter before hands on, and how many of them stay as they are, to the byte. */
function skeleton(language: Language, old: Surface | undefined, next: Surface | undefined): string {
  if (old === undefined || next === undefined) return "—"
  const all = old.core.length
  const kept = compareSurfaces(old, next).filter(({ kind }) => kind === "identical").length
  return language === "zh"
    ? `前一章的 ${all} 个声明，${kept} 个一字未动`
    : `${all} declarations of the chapter before, ${kept} of them untouched`
}

/** The tests below a folder, each with the numbers of the reports that its titles name. */
function readTests(folder: string): { file: string; numbers: Set<string> }[] {
  const names = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(path.sep).join("/"))
  const files = names.filter((name) => name.endsWith(".ts") && !/field-cases|(^|\/)fixtures\//.test(name)).sort()
  return files.map((name) => {
    const text = fs.readFileSync(path.join(folder, name), "utf8")
    const titles = text.split("\n").filter((line) => /"B\d+[^"]*[:"]/.test(line))
    return { file: `test/${name}`, numbers: new Set(titles.flatMap((line) => line.match(/\bB\d+\b/g) ?? [])) }
  })
}

/** What a chapter changes against the one before: what is new, what has grown, where it is welded in, what is upgraded. */
function changes(language: Language, chapter: Chapter | undefined, surfaces: readonly Surface[]): string {
  if (chapter === undefined) throw new InputError("the table of changes belongs into a chapter's README")
  const zh = language === "zh"
  const index = CHAPTERS.indexOf(chapter)
  const [old, next] = [surfaces[index - 1], surfaces[index] as Surface]
  const grown = old === undefined ? [] : compareSurfaces(old, next).filter(({ kind }) => kind === "grown")
  const added = (name: string): string => (chapter.gains[name] ?? []).map(code).join("<br>")
  const row = (kind: string, name: string, ...cells: [before: string, after: string, what: string]): string[] => [
    kind,
    code(name),
    ...cells,
  ]
  const welded = (name: string): [before: string, after: string] => {
    const lines = old === undefined ? [] : changedLines(name, old, next)
    return [cut(lines.filter(({ sign }) => sign === "-")), cut(lines.filter(({ sign }) => sign === "+"))]
  }
  const reasonOf = (entry: { reason: string; reasonZh: string }): string => (zh ? entry.reasonZh : entry.reason)
  const comment = (name: string): string => {
    const declaration = next.core.find((candidate) => candidate.name === name)
    return zh
      ? { type: "类型", interface: "接口", class: "类", function: "函数", constant: "常量" }[
          declaration?.kind ?? "type"
        ]
      : (declaration?.kind ?? "type")
  }
  return table(zh ? ["变化", "名字", "之前", "之后", "内容"] : ["Change", "Name", "Before", "After", "What"], [
    ...chapter.upgrades.map((upgrade) =>
      row(zh ? "升级" : "upgraded", upgrade.name, code(upgrade.from), code(upgrade.to), reasonOf(upgrade)),
    ),
    ...chapter.welds.map((weld) => row(zh ? "接入" : "welded", weld.name, ...welded(weld.name), reasonOf(weld))),
    ...grown.map(({ name }) => row(zh ? "增长" : "grown", name, "—", added(name), "—")),
    ...chapter.parts.map((name) => row(zh ? "新增" : "new", name, "—", comment(name), "—")),
  ])
}

/** The lines of a declaration, or of a member, that are not as they were. */
function changedLines(name: string, old: Surface, next: Surface): { sign: "+" | "-"; text: string }[] {
  const [owner, member] = name.split(".")
  const linesIn = (surface: Surface): string[] => {
    const declaration = surface.core.find((candidate) => candidate.name === owner)
    const part = member === undefined ? declaration : declaration?.members.find((one) => one.name === member)
    return part === undefined ? [] : surface.lines.slice(part.line - 1, part.end)
  }
  return diffArrays(linesIn(old), linesIn(next)).flatMap(({ value, added, removed }) =>
    added || removed ? value.map((text) => ({ sign: added ? ("+" as const) : ("-" as const), text: text.trim() })) : [],
  )
}

/** So many lines fit into a cell. */
const LINES = 3

/** Lines as a cell of a table. */
function cut(lines: readonly { text: string }[]): string {
  const shown = lines
    .filter(({ text }) => text !== "")
    .slice(0, LINES)
    .map(({ text }) => code(text))
  return [...shown, ...(lines.length > LINES ? ["…"] : [])].join("<br>") || "—"
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
      outlineOf(core.find(({ name }) => name === declaration.name)).includes(line),
    )
    return first?.chapter.id ?? ""
  }
  const [head = "", ...rest] = outlineOf(declaration)
  const marked = rest.map((line) =>
    origin(line) === declaration.section ? line : `${line.padEnd(60)} // ${origin(line)}`,
  )
  return [`${head.padEnd(60)} // ${declaration.section}`, ...marked].join("\n")
}

/** The lines of a type; of a class only what is public, without bodies. */
function outlineOf(declaration: Declaration | undefined): string[] {
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

/** The text of a declaration, or of a member of a class, as it stands in the chapter, without its comment. */
function excerpt(name: string, { chapter, file }: Document, surfaces: readonly Surface[]): string {
  const [, id, symbol = ""] = /^(?:(s\d\d):)?(.+)$/.exec(name.trim()) ?? []
  const surface = surfaces.find((candidate) => candidate.chapter.id === (id ?? chapter?.id))
  if (symbol === "banner" || symbol === "imports") return headOf(symbol, surface)
  const [owner, member] = symbol.split(".")
  const declaration = surface?.core.find((candidate) => candidate.name === owner)
  if (declaration === undefined || surface === undefined)
    throw new InputError(`${file} quotes "${name}", which ${id ?? chapter?.id ?? "no chapter"} does not declare`)
  if (member === undefined) return surface.lines.slice(declaration.line - 1, declaration.end).join("\n")
  const part = declaration.members.find((candidate) => candidate.name === member)
  if (part === undefined) throw new InputError(`${file} quotes "${name}", and ${owner} has no such member`)
  return surface.lines.slice(part.line - 1, part.end).join("\n")
}

/** The line that opens a chapter's section, or the packages that its core imports. */
function headOf(part: "banner" | "imports", surface: Surface | undefined): string {
  if (surface === undefined) throw new InputError(`only a chapter's book can quote its ${part}`)
  const isOurs = (line: string): boolean => line.startsWith(`// ── ${surface.chapter.id} `)
  if (part === "banner") return surface.lines.find(isOurs) ?? ""
  const packages = surface.imports.map((one) => one.getText()).filter((line) => !line.includes('"node:'))
  return packages.join("\n")
}

/** How many unchanged lines stay around a change. What is between is folded. */
const AROUND = 2

/** What becomes of a declaration, or of a member of a class, of the chapter before: its lines with `-`, `+` or a blank in front. */
function showDifference(name: string, document: Document, surfaces: readonly Surface[]): string {
  const index = CHAPTERS.findIndex(({ id }) => id === document.chapter?.id)
  const before = CHAPTERS[index - 1]
  if (before === undefined)
    throw new InputError(`${document.file} shows what becomes of "${name}", and no chapter is before`)
  const [old, next] = [`${before.id}:${name.trim()}`, name].map((one) => excerpt(one, document, surfaces).split("\n"))
  const lines = diffArrays(old ?? [], next ?? []).flatMap(({ value, added, removed }) =>
    value.map((text) => ({ sign: added ? "+" : removed ? "-" : " ", text })),
  )
  const isNear = (place: number): boolean =>
    place === 0 || lines.slice(Math.max(0, place - AROUND), place + AROUND + 1).some(({ sign }) => sign !== " ")
  const shown = lines.map((line, place) => (isNear(place) ? `${line.sign}${line.text}`.trimEnd() : undefined))
  return shown.flatMap((line, place) => line ?? (shown[place - 1] === undefined ? [] : " …")).join("\n")
}

/** The words of a command line; quotes hold words together. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "")
}

/** What node is started with for a command of a document. It must be one that this repository offers. */
export function argumentsOf(command: string, root: string = ROOT): string[] {
  const words = wordsOf(command)
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>
  }
  const args = (): string[] | undefined => {
    if (words[0] === "npx" && words[1] === "tsx") return ["--import", "tsx", ...words.slice(2)]
    if (words[0] !== "npm" || words[1] !== "run") return undefined
    const script = wordsOf(scripts[words[2] ?? ""] ?? "")
    return script[0] === "node" ? [...script.slice(1), ...words.slice(words[3] === "--" ? 4 : 3)] : undefined
  }
  const found = args()
  if (found === undefined)
    throw new InputError(`cannot run "${command}": expected npx tsx FILE, or npm run with a script of this repository`)
  return found
}

/** Gives what a command of a document prints. */
export type RunDocumented = (command: string) => Promise<string>

/** What a command of a document prints, when it is run without a shell. */
export async function runDocumented(command: string, root: string = ROOT): Promise<string> {
  const found = argumentsOf(command, root)
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, COLUMNS: undefined, LC_ALL: "C" }
    const options = { cwd: root, env, encoding: "utf8", timeout: 300_000 } as const
    execFile(process.execPath, found, options, (error, stdout, stderr) => {
      const crashed = error !== null && (error.signal || /^\s+at .+:\d+:\d+\)?$/m.test(stderr))
      const reason = /^\w*Error: .*/m.exec(stderr)?.[0] ?? error?.signal
      if (crashed) reject(new InputError(`"${command}" crashed, so its output is not taken: ${reason}`))
      else resolve(`${stdout}${stderr}`.trimEnd())
    })
  })
}

const outputs = new Map<string, Promise<string>>()

/** Runs each command once, however many documents show its output. */
function runOnce(command: string): Promise<string> {
  const known = outputs.get(command) ?? runDocumented(command)
  outputs.set(command, known)
  return known
}

/** Replaces the block behind a mark. The block must be there, so that nothing is ever put in a wrong place. */
function replaceBlock(text: string, mark: string, language: string, body: string, file: string): string {
  const start = text.indexOf(mark)
  const open = `${mark}\n\`\`\`${language}\n`
  const end = text.indexOf("\n```", start + open.length - 1)
  if (!text.startsWith(open, start) || end < 0)
    throw new InputError(`${file}: behind ${mark} a block that starts with \`\`\`${language} is expected`)
  return `${text.slice(0, start)}${open}${body}${text.slice(end)}`
}

/** A document with all its parts made anew. Throws an `InputError` for a part that nobody can make. */
export async function renderDocument(
  text: string,
  document: Document,
  surfaces: readonly Surface[],
  run: RunDocumented = runOnce,
): Promise<string> {
  const { file } = document
  const marks = [...text.matchAll(/<!-- (?:begin|code|diff|output): .+? -->/g)].map(([mark]) => mark)
  const twice = marks.find((mark, index) => marks.indexOf(mark) < index)
  if (twice !== undefined)
    throw new InputError(`${file}: ${twice} stands there twice, and only the first would be filled in`)
  let out = text
  for (const [, name = ""] of text.matchAll(/<!-- begin: (\w+) -->/g)) {
    const make = MAKERS[name]
    if (make === undefined)
      throw new InputError(`${file} asks for "${name}", expected one of ${Object.keys(MAKERS).join(", ")}`)
    const start = out.indexOf(`<!-- begin: ${name} -->`)
    const end = out.indexOf(`<!-- end: ${name} -->`, start)
    if (end < 0) throw new InputError(`${file}: the part "${name}" has no end`)
    out = `${out.slice(0, start)}<!-- begin: ${name} -->\n${make(document, surfaces)}\n${out.slice(end)}`
  }
  for (const [mark, names = ""] of text.matchAll(/<!-- code: (.+?) -->/g)) {
    const body = names
      .split(",")
      .map((name) => excerpt(name, document, surfaces))
      .join("\n\n")
    out = replaceBlock(out, mark, "ts", body, file)
  }
  for (const [mark, name = ""] of text.matchAll(/<!-- diff: (.+?) -->/g)) {
    out = replaceBlock(out, mark, "diff", showDifference(name, document, surfaces), file)
  }
  for (const [mark, command = ""] of text.matchAll(/<!-- output: (.+?) -->/g)) {
    out = replaceBlock(out, mark, "text", await run(command), file)
  }
  return out
}

/** The documents whose parts are not what data, code and runs say, with the text that they should have. */
export async function findStale(
  words: readonly string[] = [],
  root: string = ROOT,
  run: RunDocumented = runOnce,
): Promise<{ file: string; text: string }[]> {
  const stranger = words.find((word) => !DOCUMENTS.some(({ file }) => file.includes(word)))
  if (stranger !== undefined)
    throw new InputError(
      `no document has "${stranger}" in its path: expected a part of ${DOCUMENTS[0]?.file}, ${DOCUMENTS[2]?.file} or the like`,
    )
  const surfaces = readChapters(CHAPTERS)
  const stale: { file: string; text: string }[] = []
  for (const document of DOCUMENTS.filter(
    ({ file }) => words.length === 0 || words.some((word) => file.includes(word)),
  )) {
    const place = path.join(root, document.file)
    if (!fs.existsSync(place)) throw new InputError(`${document.file} does not exist`)
    const before = fs.readFileSync(place, "utf8")
    const lost = requiredParts(document).find((name) => !before.includes(`<!-- begin: ${name} -->`))
    if (lost !== undefined)
      throw new InputError(`${document.file} lacks the part "${lost}": expected <!-- begin: ${lost} --> and its end`)
    const text = await renderDocument(before, document, surfaces, run)
    if (text !== before) stale.push({ file: document.file, text })
  }
  return stale
}
