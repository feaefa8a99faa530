/** What is said of a reader's own file besides the rules: whether its types are right, and what is simply not written yet. */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { codeFrameColumns } from "@babel/code-frame"
import { readSurface, type Surface } from "../chapter/surface.ts"
import type { Language } from "../course/language.ts"
import { CHAPTERS, type Chapter } from "../course/manifest.ts"
import { readSource } from "../course/source.ts"
import { RULES } from "../rules/index.ts"
import type { Finding } from "../rules/rule.ts"
import { showFile, type Terminal, visible } from "./terminal.ts"
import { binOf, runTool } from "./tools.ts"

/**
 * Reads a reader's file as a chapter. Its banner counts however it is drawn: any dashes and spaces around the chapter's id will do, and so they do
 * around the word of the demo.
 */
export function readOwn(chapter: Chapter, file: string, text: string = readSource(file)): Surface {
  const drawn = (word: string): RegExp => new RegExp(`^//[\\s\\p{P}\\p{S}]*${word}(?![\\p{L}\\p{N}]).*$`, "imu")
  const banners = text
    .replace(drawn(chapter.id), (line) => (line.startsWith("// ── ") ? line : `// ── ${chapter.id} ──`))
    .replace(drawn("demo"), (line) => (line.startsWith("// ── ") ? line : "// ── Demo ──"))
  return readSurface(chapter, file, banners)
}

/** What is asked of a declaration because the chapter announces it, and of no helper. */
const OF_PARTS = ["R8-UNLISTED", "R8-EXPORT", "R8-DOC"]

/** The findings as a reader needs them, fixed in the file at hand. A helper of the reader's own is none. */
export function forReader(findings: readonly Finding[]): Finding[] {
  const parts = new Set(CHAPTERS.flatMap((chapter) => chapter.parts))
  const isHelper = ({ symbol, message }: Finding): boolean => !message.en.includes("`") && !parts.has(symbol)
  return (
    findings
      // In what order a reader writes is the reader's own affair.
      .filter((finding) => finding.rule !== "R8-MANIFEST")
      .filter((finding) => !OF_PARTS.includes(finding.rule) || !isHelper(finding))
      .map((finding) => {
        const { en, zh } = RULES.find(({ id }) => id === finding.rule)?.fixForReader ?? finding.fix
        const named = (text: string): string => text.replaceAll("sNN", finding.chapter)
        const { message } = finding
        const plain = {
          en: message.en.replace(", and is no declared weld", ", and this chapter does not change it"),
          zh: message.zh.replace("又不是列明的接入点", "而这一章不改它"),
        }
        return { ...finding, message: finding.forReader ?? plain, fix: { en: named(en), zh: named(zh) } }
      })
  )
}

/** An error of the compiler. `line` and `column` count from 1. */
export type TypeFault = { code: string; line: number; column: number; message: string }

/** Asks the compiler about one file, with the options of the course. Gives what is wrong in that file, in its order. */
export async function findTypeFaults(file: string, terminal: Terminal): Promise<TypeFault[]> {
  const { root } = terminal
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "types-"))
  try {
    const config = path.join(folder, "tsconfig.json")
    // Wherever the file lies, it is a module, and has the packages of the course.
    const packages = path.join(root, "node_modules")
    const compilerOptions = {
      typeRoots: [path.join(packages, "@types")],
      paths: { "*": [path.join(packages, "*")] },
      module: "ESNext",
      moduleResolution: "Bundler",
    }
    const base = path.join(root, "tsconfig.json")
    fs.writeFileSync(
      config,
      JSON.stringify({ extends: base, compilerOptions, files: [file], include: [], exclude: [] }),
    )
    const args = ["-p", config, "--pretty", "false"]
    const { output } = await runTool(binOf("@typescript/native", "tsc"), args, terminal)
    return readFaults(output, file, root)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** The faults in what the compiler prints. Lines that are set in go on with the message before them. */
function readFaults(output: string, file: string, root: string): TypeFault[] {
  const faults: TypeFault[] = []
  let isOurs = false
  for (const text of output.split(/\r?\n/)) {
    const [, place = "", line, column, code = "", message = ""] =
      /^(.+)\((\d+),(\d+)\): error (TS\d+): (.*)$/.exec(text) ?? []
    if (line !== undefined) {
      isOurs = path.resolve(root, place) === path.resolve(file)
      if (isOurs) faults.push({ code, line: Number(line), column: Number(column), message })
    } else if (isOurs && /^\s+\S/.test(text)) {
      const last = faults.at(-1)
      if (last !== undefined) last.message += ` ${text.trim()}`
    }
  }
  return faults
}

/** A fault as a finding is shown: what it is, and the code around it. */
export function showTypeFault({ code, line, column, message }: TypeFault, file: string, terminal: Terminal): string {
  const { paint } = terminal
  const text = visible(fs.readFileSync(file, "utf8"))
  const frame = codeFrameColumns(
    text,
    { start: { line, column } },
    { linesAbove: 1, linesBelow: 1, forceColor: paint.level > 0 },
  )
  return [
    `${paint.red.bold("TYPE")}  ${paint.bold(code)}  ${visible(message)}`,
    `  is ${showFile(file, terminal)}:${line}`,
    frame.replaceAll(/^/gm, "    "),
  ].join("\n")
}

/** What a file lacks of its chapter, in one line; empty when it lacks nothing. */
export function showLacks(findings: readonly Finding[], chapter: string, language: Language): string {
  const lacks = findings.flatMap((finding) =>
    finding.lacks === undefined ? [] : [finding.lacks[language].replaceAll(/\s+/g, " ")],
  )
  const list = lacks.join(language === "zh" ? "、" : ", ")
  const text = { en: `${chapter} still lacks: ${list}.`, zh: `${chapter} 还差：${list}。` }
  return lacks.length === 0 ? "" : text[language]
}
