/** The three tools of the app. They reach `workspace/` and nothing else, and they write notes and nothing else. */
import fs from "node:fs"
import path from "node:path"
import { cutText, type Tool } from "../../s12_packages/code.ts"
import type { ToolView } from "../protocol.ts"
import { resolveBelow, splitPath } from "./paths.ts"

/** What a call will do, for the person who is asked: in words, and as a unified diff where a text changes. */
export type Preview = { text: string; before?: string; after?: string; file?: string }

/** A tool with what the app has to know about it. The core runs it; the policy looks at the rest. */
export type ToolDefinition = Tool & {
  source: ToolView["source"]
  /** Whether it only reads. What only reads is never asked about. */
  readOnly: boolean
  /** What a call is about, below the workspace, links resolved: what a rule should look at. Throws where the call cannot be run at all. */
  target?(input: Record<string, string>): string
  /** What this call would damage; undefined when it damages nothing. Throws where the call cannot be run at all. */
  preview?(input: Record<string, string>): Preview | undefined
}

/** How many characters of a file the model gets. */
const MAX_READ = 20_000

/** How many bytes a file may have that is read at all. */
const MAX_FILE = 5_000_000

/** How many names a listing has. */
const MAX_NAMES = 500

/** How many characters a note may have: what a person is asked about can be looked through. */
const MAX_NOTE = 50_000

function readText(place: string, name: string): string {
  const stat = fs.statSync(place, { throwIfNoEntry: false })
  if (stat === undefined) throw new Error(`${name} does not exist`)
  if (!stat.isFile())
    throw new Error(stat.isDirectory() ? `${name} is a folder, list it instead` : `${name} is no file`)
  if (stat.size > MAX_FILE) throw new Error(`${name} has ${stat.size} bytes, more than ${MAX_FILE}`)
  const bytes = fs.readFileSync(place)
  if (bytes.includes(0)) throw new Error(`${name} is no text`)
  return new TextDecoder().decode(bytes)
}

function checkLength(text: string, whose: string): void {
  if (text.length > MAX_NOTE) throw new Error(`${whose} has ${text.length} characters, more than ${MAX_NOTE}`)
}

/** Where a note lies, and what stands there now. Throws for a place that is no note's. */
function findNote(notes: string, name: string): { place: string; old: string | undefined } {
  if (splitPath(name).length === 0) throw new Error("a note needs a name, such as todo.md")
  const home = path.join(fs.realpathSync(path.dirname(notes)), path.basename(notes))
  if (fs.realpathSync(notes) !== home) throw new Error("the folder for notes is a link, so nothing is written there")
  const place = resolveBelow(notes, name)
  const stat = fs.lstatSync(place, { throwIfNoEntry: false })
  if (stat === undefined) return { place, old: undefined }
  if (!stat.isFile()) throw new Error(`${name} is no note`)
  // A second name of a file that may lie anywhere: what is written here would be written there.
  if (stat.nlink > 1) throw new Error(`${name} has a second name elsewhere, so it is not written`)
  const old = readText(place, name)
  checkLength(old, `the note ${name} that is there`)
  return { place, old }
}

/** The tools, on a workspace. Its folder and the one for notes are made if they are not there. */
export function createTools(workspace: string): ToolDefinition[] {
  const notes = path.join(workspace, "notes")
  fs.mkdirSync(notes, { recursive: true })
  return [
    {
      spec: {
        name: "list_files",
        description: "Lists a folder of the workspace. Folders end in a slash.",
        input: { path: "folder below the workspace; . is the workspace itself" },
      },
      source: "built-in",
      readOnly: true,
      handler: ({ path: name = "." }) => {
        const place = resolveBelow(workspace, name)
        const stat = fs.statSync(place, { throwIfNoEntry: false })
        if (stat === undefined) throw new Error(`${name} does not exist`)
        if (!stat.isDirectory()) throw new Error(`${name} is a file, read it instead`)
        const entries = fs.readdirSync(place, { withFileTypes: true })
        const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
        const more = names.length > MAX_NAMES ? [`[${names.length - MAX_NAMES} more]`] : []
        return [...names.slice(0, MAX_NAMES), ...more].join("\n") || "(empty)"
      },
    },
    {
      spec: {
        name: "read_file",
        description: "Reads a text file of the workspace.",
        input: { path: "file below the workspace" },
      },
      source: "built-in",
      readOnly: true,
      handler: ({ path: name = "" }) => cutText(readText(resolveBelow(workspace, name), name), MAX_READ),
    },
    {
      spec: {
        name: "write_note",
        description: "Writes a note. A note of the same name is replaced; the person is asked first.",
        input: { name: "name of the note, such as todo.md", text: "the whole text" },
      },
      source: "built-in",
      readOnly: false,
      target: ({ name = "" }) => path.relative(fs.realpathSync(workspace), findNote(notes, name).place),
      preview: ({ name = "", text = "" }) => {
        checkLength(text, "the note")
        const { place, old } = findNote(notes, name)
        if (old === undefined || old === text) return undefined
        return { text: `replaces the note ${place}`, before: old, after: text, file: place }
      },
      handler: ({ name = "", text = "" }) => {
        checkLength(text, "the note")
        const { place, old } = findNote(notes, name)
        fs.mkdirSync(path.dirname(place), { recursive: true })
        fs.writeFileSync(place, text, { flag: old === undefined ? "wx" : "w" })
        return `wrote ${text.length} characters to notes/${splitPath(name).join("/")}`
      },
    },
  ]
}
