/** What is said of a reader's own file besides the rules: whether its types are right, and what is simply not written yet. */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { codeFrameColumns } from "@babel/code-frame"
import type { Language } from "../course/language.ts"
import type { Finding } from "../rules/rule.ts"
import { showFile, type Terminal, visible } from "./terminal.ts"
import { binOf, runTool } from "./tools.ts"

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
  if (lacks.length === 0) return ""
  return language === "zh" ? `${chapter} 还缺：${lacks.join("、")}。` : `${chapter} still lacks: ${lacks.join(", ")}.`
}
