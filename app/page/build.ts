/** Builds the page, when what stands in its folder is newer than what was built. */
import fs from "node:fs"
import path from "node:path"

const FOLDER = import.meta.dirname
const TARGET = path.join(FOLDER, "dist")

/** When a file below a folder was last changed, in milliseconds. */
function newestIn(folder: string): number {
  const times = fs.readdirSync(folder, { withFileTypes: true }).map((entry) => {
    if (entry.name === "dist" || entry.name === "node_modules") return 0
    const place = path.join(folder, entry.name)
    return entry.isDirectory() ? newestIn(place) : fs.statSync(place).mtimeMs
  })
  return Math.max(0, ...times)
}

/** Builds the page if it has to be. Takes a second or two, once. */
export async function buildPage(): Promise<void> {
  const built = fs.statSync(path.join(TARGET, "index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (built >= newestIn(FOLDER)) return
  const { build } = await import("vite")
  await build({ root: FOLDER, logLevel: "error", build: { outDir: TARGET, emptyOutDir: true } })
}
