/** Keeps a path that the model wrote inside of a folder, on every system alike. */
import fs from "node:fs"
import path from "node:path"

/** How long a path may be, in characters. */
const MAX_PATH = 500

const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i

/** Why a part of a path is refused; undefined when it is not. What one system only would understand otherwise is refused on all. */
function findPartProblem(part: string): string | undefined {
  if (part === "..") return "goes up"
  if (/[. ]$/.test(part)) return "ends in a dot or a blank"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u001f\u007f:*?"<>|]/.test(part)) return "holds a character that no file should have"
  return DEVICE.test(part) ? "is the name of a device" : undefined
}

/** The path functions of one system, and which it is. */
export type Flavor = Pick<typeof path, "isAbsolute" | "relative" | "normalize" | "sep">

/**
 * The parts of a path below `root`. Throws for one that leads elsewhere, by itself or on another system. Nothing, `.` and `./` are the folder itself; a
 * whole path is taken when it leads into the folder, in whatever spelling the system takes for the same.
 */
export function splitPath(name: string, root?: string, flavor: Flavor = path): string[] {
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
  const refuse = (why: string): never => {
    throw new Error(`the path ${shown} ${why}: expected a path below the folder, such as docs/todo.md`)
  }
  if (name.length > MAX_PATH) refuse(`has ${name.length} characters, more than ${MAX_PATH}`)
  const inside = root !== undefined && flavor.isAbsolute(name) ? flavor.relative(root, flavor.normalize(name)) : name
  if (/^[\\/]|^~|^[a-z]:/i.test(inside)) refuse("is absolute")
  const parts = inside.split(/[\\/]/).filter((part) => part !== "" && part !== ".")
  for (const part of parts) {
    const problem = findPartProblem(part)
    if (problem !== undefined) refuse(problem)
  }
  return parts
}

function isInside(folder: string, target: string): boolean {
  const relative = path.relative(folder, target)
  return relative === "" || (relative.split(path.sep)[0] !== ".." && !path.isAbsolute(relative))
}

/**
 * The real place of a path below a folder, links resolved; of one that is not there yet, that of the nearest folder that is. Throws when it lies outside,
 * and for links that lead nowhere: what is written through one would end where nobody looked.
 */
export function resolveBelow(folder: string, name: string): string {
  const root = fs.realpathSync(folder)
  const parts = splitPath(name, root)
  let place = root
  for (const [index, part] of parts.entries()) {
    const next = path.join(place, part)
    if (fs.lstatSync(next, { throwIfNoEntry: false }) === undefined) return path.join(place, ...parts.slice(index))
    try {
      place = fs.realpathSync(next)
    } catch {
      throw new Error(`${name} is a link that leads nowhere`)
    }
    if (!isInside(root, place)) throw new Error(`${name} leads outside of the folder`)
  }
  return place
}
