/** Programs for processes of their own. */
import fs from "node:fs"
import path from "node:path"
import { build } from "esbuild"
import { afterAll } from "vitest"
import { ROOT } from "../../support/ladder.ts"

const folders: string[] = []

afterAll(() => {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

/** Makes one file of a program, which names its imports from the root of the repository, and gives its path. */
export async function bundle(contents: string): Promise<string> {
  const cache = path.join(ROOT, "node_modules", ".cache", "learn-pi-agent")
  fs.mkdirSync(cache, { recursive: true })
  const folder = fs.mkdtempSync(path.join(cache, "program-"))
  folders.push(folder)
  const outfile = path.join(folder, "program.mjs")
  await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["zod"],
    outfile,
    logLevel: "error",
  })
  return outfile
}
