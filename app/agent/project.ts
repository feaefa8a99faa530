/**
 * What a project brings along, and whether its person trusts it. Texts come in through the core's loader, code through its runtime; neither before the
 * project is trusted (I6). Nothing of it lies where the model can write.
 *
 *   AGENTS.md                what the model should know
 *   .pi/skills/*.md          skills
 *   .pi/extensions/*.js, *.ts    code: a function that is given the core's ExtensionAPI; `readOnlyTools` names its tools that only read
 *   .pi/packages/*.json      packages of s12
 */
import { createHash } from "node:crypto"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { pathToFileURL } from "node:url"
import {
  type ContextResource,
  describeError,
  type Extension,
  type ExtensionRuntime,
  installLoadedPackage,
  loadPackage,
  type Package,
  type ProjectTrust,
  ResourceLoader,
} from "../../s12_packages/code.ts"
import type { AppRegistry } from "./loop.ts"

/** The folder in which a project keeps what belongs to its agent. */
export const PROJECT_FOLDER = ".pi"

/** Where decisions on trust are kept: outside of every project. `LEARN_PI_AGENT_HOME` names another folder. */
export function homeFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env.LEARN_PI_AGENT_HOME) return path.resolve(env.LEARN_PI_AGENT_HOME)
  const base =
    process.platform === "win32"
      ? env.APPDATA || path.join(os.homedir(), "AppData", "Roaming")
      : process.platform === "darwin"
        ? path.join(os.homedir(), "Library", "Application Support")
        : env.XDG_CONFIG_HOME || path.join(os.homedir(), ".config")
  return path.join(base, "learn-pi-agent")
}

/**
 * Where the sessions of a project are kept: outside of it. One that lay in the project could have been brought along with it, and would be sent to the
 * model as what this person has said.
 */
export function sessionsFolder(home: string, project: string): string {
  const real = fs.realpathSync(project)
  const mark = createHash("sha256").update(real).digest("hex").slice(0, 12)
  const name = path
    .basename(real)
    .replace(/[^\w-]+/g, "-")
    .slice(0, 40)
  return path.join(home, "sessions", `${name}-${mark}`)
}

/** The folder that the tools reach. Throws where it is a link: a project that somebody else has made could show the model any folder of this machine. */
export function workspaceOf(project: string): string {
  const workspace = path.join(project, "workspace")
  const stat = fs.lstatSync(workspace, { throwIfNoEntry: false })
  if (stat === undefined || stat.isDirectory()) return workspace
  throw new Error(`${workspace} is ${stat.isSymbolicLink() ? "a link" : "no folder"}: put a folder in its place`)
}

/** What the person has decided on projects, remembered by their real paths. */
export class TrustStore {
  #file: string

  constructor(home: string) {
    this.#file = path.join(home, "trust.json")
  }

  /** What was decided; undefined before anything was. A file that cannot be read holds no decision. */
  get(project: string): ProjectTrust | undefined {
    const decision = this.#read()[fs.realpathSync(project)]
    return decision === "trusted" || decision === "untrusted" ? decision : undefined
  }

  /** Remembers a decision. */
  set(project: string, trust: ProjectTrust): void {
    const decisions = { ...this.#read(), [fs.realpathSync(project)]: trust }
    fs.mkdirSync(path.dirname(this.#file), { recursive: true })
    // Written beside it and put in its place: a crash leaves the old decisions or the new ones.
    const draft = `${this.#file}.${process.pid}`
    fs.writeFileSync(draft, `${JSON.stringify(decisions, null, 2)}\n`)
    fs.renameSync(draft, this.#file)
  }

  #read(): Record<string, unknown> {
    try {
      const value: unknown = JSON.parse(fs.readFileSync(this.#file, "utf8"))
      return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
    } catch {
      return {}
    }
  }
}

function isFile(file: string): boolean {
  return fs.existsSync(file) && fs.statSync(file).isFile()
}

/** The files of a folder with these endings, sorted. What is no folder has none. */
function filesIn(folder: string, endings: readonly string[]): string[] {
  const names = fs.existsSync(folder) && fs.statSync(folder).isDirectory() ? fs.readdirSync(folder).sort() : []
  const found = names.filter((name) => endings.includes(path.extname(name)))
  return found.map((name) => path.join(folder, name)).filter(isFile)
}

function readText(file: string): string {
  const text = fs.readFileSync(file, "utf8")
  return text.startsWith("\uFEFF") ? text.slice(1) : text
}

/** Whether a project brings anything along that has to be trusted. */
export function bringsAnything(project: string): boolean {
  const folders = ["skills", "extensions", "packages"].map((name) => path.join(project, PROJECT_FOLDER, name))
  return (
    isFile(path.join(project, "AGENTS.md")) ||
    folders.some((folder) => filesIn(folder, [".md", ".js", ".mjs", ".ts", ".json"]).length > 0)
  )
}

/** The loader with the texts of a project. Without trust they are not even read. */
export function loadTexts(project: string, trust: ProjectTrust | undefined): ResourceLoader {
  if (trust !== "trusted") return new ResourceLoader([])
  const agents = path.join(project, "AGENTS.md")
  const skills = filesIn(path.join(project, PROJECT_FOLDER, "skills"), [".md"])
  const resources: ContextResource[] = [
    ...(isFile(agents) ? [{ kind: "agents" as const, name: "AGENTS.md", content: readText(agents) }] : []),
    ...skills.map((file) => ({ kind: "skill" as const, name: path.basename(file, ".md"), content: readText(file) })),
  ]
  return new ResourceLoader(resources)
}

/** Lets the code of a project in, one extension and one package after the other. Gives what went wrong, each a sentence; the others are there. */
export async function loadCode(
  project: string,
  trust: ProjectTrust | undefined,
  { registry, extensions, loader }: { registry: AppRegistry; extensions: ExtensionRuntime; loader: ResourceLoader },
): Promise<string[]> {
  const problems: string[] = []
  if (trust !== "trusted") return problems
  for (const file of filesIn(path.join(project, PROJECT_FOLDER, "extensions"), [".js", ".mjs", ".ts"])) {
    try {
      const module = (await import(pathToFileURL(file).href)) as {
        default?: Extension
        readOnlyTools?: readonly string[]
      }
      if (typeof module.default !== "function") throw new Error("it exports no function by default")
      const extension = module.default
      const readOnly = Array.isArray(module.readOnlyTools) ? module.readOnlyTools : []
      const added = registry.registerFor("extension", readOnly, () => extensions.use(extension, path.basename(file)))
      if (!added) problems.push(`${path.basename(file)} was not added`)
    } catch (error) {
      problems.push(`${path.basename(file)} cannot be loaded: ${describeError(error)}`)
    }
  }
  for (const file of filesIn(path.join(project, PROJECT_FOLDER, "packages"), [".json"])) {
    try {
      const pkg = loadPackage(JSON.parse(readText(file)) as Package)
      const added = registry.registerFor("package", [], () => installLoadedPackage(pkg, extensions, loader, trust))
      if (!added) problems.push(`${path.basename(file)} was not installed`)
    } catch (error) {
      problems.push(`${path.basename(file)} cannot be installed: ${describeError(error)}`)
    }
  }
  return problems
}
