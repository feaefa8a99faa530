import fs from "node:fs"
import path from "node:path"
import { ROOT } from "../scripts/course/source.ts"
import ts from "../scripts/course/typescript.js"

/**
 * What is measured is the program and not the runner: loop and session run as plain JavaScript in plain Node, as the peers do. Under tsx every
 * closure would be given its name anew, and the heap would have grown before the clock starts.
 */

const FILES = [
  "s12_packages/code.ts",
  ...["measure", "measure-app", "figures", "workload", "floor", "s12"].map((name) => `bench/${name}.ts`),
  ...["app", "app/agent", "app/session", "app/adapters"].flatMap(filesIn),
]

/** The programs of a folder, without those below it. */
function filesIn(folder: string): string[] {
  const names = fs.readdirSync(path.join(ROOT, folder))
  return names.filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`)
}

/** Strips the types of the contestants and gives the folder in which they then lie as they do in the repository. */
export function compileContestants(): string {
  const target = path.join(ROOT, "node_modules", ".cache", "learn-pi-agent", "bench")
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    rewriteRelativeImportExtensions: true,
    verbatimModuleSyntax: true,
  }
  for (const file of FILES) {
    const { outputText } = ts.transpileModule(fs.readFileSync(path.join(ROOT, file), "utf8"), { compilerOptions })
    const place = path.join(target, file.replace(/\.ts$/, ".js"))
    fs.mkdirSync(path.dirname(place), { recursive: true })
    fs.writeFileSync(place, outputText)
  }
  fs.writeFileSync(path.join(target, "package.json"), '{ "type": "module" }\n')
  return target
}
