/**
 * Ways to damage a chapter, and ways to edit it that do no damage. An operator finds every place where it applies; each place gives one mutant.
 * The edits are made on the text, at the positions that the parser gives.
 */

import type { Declaration, Member, Surface } from "../chapter/surface.ts"
import type { Chapter } from "../course/manifest.ts"
import ts from "../course/typescript.js"

/** A chapter with one edit. */
export type Mutant = {
  /** What was edited, for a report. */
  target: string
  /** The edited text; absent when only the manifest was edited. */
  text?: string
  /** The edited entry of the manifest; absent when only the text was. */
  chapter?: Chapter
  /** Whether the same edit was made in every later chapter as well. */
  carried?: boolean
}

/** A chapter to damage, and the one before it. */
export type Place = {
  old: Surface | undefined
  now: Surface
  /** Whether this is the last chapter. */
  last: boolean
}

/** A way to edit. `rule` is the rule that must find it; a harmless edit has none. */
export type Operator = {
  name: string
  rule?: string
  /** Whether the finding may name something else than what was edited: what the edit brings in has a name of its own. */
  anywhere?: boolean
  mutate(place: Place): Mutant[]
}

type Edit = {
  start: number
  end: number
  text: string
}

function edited(surface: Surface, edit: Edit): string {
  return surface.text.slice(0, edit.start) + edit.text + surface.text.slice(edit.end)
}

function positionOf(surface: Surface, line: number): number {
  return surface.source.getPositionOfLineAndCharacter(line - 1, 0)
}

function withoutLines(surface: Surface, start: number, end: number): string {
  return edited(surface, { start: positionOf(surface, start), end: positionOf(surface, end + 1), text: "" })
}

/** The declarations that the chapter before has as well. */
function inherited({ old, now }: Place, ...kinds: Declaration["kind"][]): Declaration[] {
  return now.core.filter(
    ({ name, kind }) => kinds.includes(kind) && old?.core.some((other) => other.name === name && other.kind === kind),
  )
}

/** Whether the chapter declares a change of this declaration or of one of its members. */
function isDeclared({ now }: Place, name: string): boolean {
  return [...now.chapter.welds, ...now.chapter.upgrades].some(
    (entry) => entry.name === name || entry.name.startsWith(`${name}.`),
  )
}

/** Fields that the chapter before has too, each on lines of its own, outside of declared upgrades. */
function inheritedFields(place: Place): { declaration: Declaration; field: Member }[] {
  return inherited(place, "type", "interface").flatMap((declaration) => {
    if (isDeclared(place, declaration.name)) return []
    const before = place.old?.core.find((other) => other.name === declaration.name)
    const known = new Set(before?.members.flatMap((member) => [member, ...member.fields]).map((member) => member.text))
    const fields = declaration.members.flatMap((member) =>
      member.fields.length > 0 ? member.fields : declaration.kind === "interface" ? [member] : [],
    )
    const alone = fields.filter((field) => place.now.lines[field.line - 1]?.trim() === field.text.split("\n")[0])
    // The tag of a union member is its name, not one of its fields.
    const isTag = (field: Member): boolean => declaration.members.length > 1 && /^(role|type)\b/.test(field.text)
    return alone.filter((field) => known.has(field.text) && !isTag(field)).map((field) => ({ declaration, field }))
  })
}

function editLine(surface: Surface, line: number, change: (text: string) => string): string {
  const start = positionOf(surface, line)
  const text = surface.lines[line - 1] ?? ""
  return edited(surface, { start, end: start + text.length, text: change(text) })
}

/** One mutant per inherited field, with its line edited. A field that the edit leaves alone gives none. */
function fieldEdits(change: (line: string, field: Member) => string): Operator["mutate"] {
  return (place) =>
    inheritedFields(place).flatMap(({ declaration, field }) => {
      const line = place.now.lines[field.line - 1] ?? ""
      if (!/^\s*\w+\??: /.test(line) || change(line, field) === line) return []
      return [
        {
          target: `${declaration.name}.${field.name}`,
          text: editLine(place.now, field.line, (text) => change(text, field)),
        },
      ]
    })
}

/** Functions and methods with a body of several lines. */
function bodies(surface: Surface, declarations: Declaration[]): { name: string; body: ts.Block }[] {
  const found: { name: string; body: ts.Block }[] = []
  for (const { name, node } of declarations) {
    if (ts.isFunctionDeclaration(node) && node.body !== undefined) found.push({ name, body: node.body })
    if (!ts.isClassDeclaration(node)) continue
    for (const member of node.members) {
      if (ts.isMethodDeclaration(member) && member.body !== undefined)
        found.push({ name: `${name}.${member.name.getText()}`, body: member.body })
    }
  }
  return found.filter(({ body }) => surface.text.slice(body.getStart(), body.end).includes("\n"))
}

function intoBodies(statement: string, kinds: ("function" | "class")[]): Operator["mutate"] {
  return (place) =>
    bodies(place.now, inherited(place, ...kinds))
      .filter(({ name }) => !isDeclared(place, name))
      .map(({ name, body }) => ({
        target: name,
        text: edited(place.now, { start: body.getStart() + 1, end: body.getStart() + 1, text: `\n  ${statement}` }),
      }))
}

/** A chapter with a gain in it: whose, and the text to list. */
type GainMutant = { target: string; gain: string; text: string; place: Place }

/** The same edit, with its gain in the manifest. */
function listed({ target, gain, text, place }: GainMutant): Mutant {
  const { chapter } = place.now
  const gains = { ...chapter.gains, [target]: [...(chapter.gains[target] ?? []), gain] }
  return { target, text, chapter: { ...chapter, gains } }
}

function gainFields(place: Place): GainMutant[] {
  if (!place.last) return []
  return inherited(place, "type", "interface")
    .filter(({ end, line }) => end > line + 1 && place.now.lines[end - 1] === "}")
    .map(({ name, end }) => {
      const at = positionOf(place.now, end)
      const text = edited(place.now, { start: at, end: at, text: "  guest?: string\n" })
      return { target: name, gain: "guest?: string", text, place }
    })
}

function gainMembers(place: Place): GainMutant[] {
  if (!place.last) return []
  return inherited(place, "type")
    .filter(({ members, end, line }) => members.length > 1 && end > line && place.now.lines[end - 1]?.startsWith("  |"))
    .map(({ name, end }) => {
      const at = positionOf(place.now, end + 1)
      const text = edited(place.now, { start: at, end: at, text: '  | { type: "guest" }\n' })
      return { target: name, gain: '{ type: "guest" }', text, place }
    })
}

function gainMethods(place: Place): GainMutant[] {
  if (!place.last) return []
  return inherited(place, "class").map(({ name, end }) => {
    const at = positionOf(place.now, end)
    const text = edited(place.now, { start: at, end: at, text: "\n  guest(): void {}\n" })
    return { target: name, gain: "guest(): void", text, place }
  })
}

/** A part at the end of the last chapter's core, listed unless `parts` says otherwise. */
function addPart({ now, last }: Place, text: string, ...parts: string[]): Mutant[] {
  if (!last) return []
  const at = positionOf(now, now.demoLine)
  const chapter = { ...now.chapter, parts: [...now.chapter.parts, ...parts] }
  return [{ target: parts.join(" "), text: edited(now, { start: at, end: at, text: `${text}\n\n` }), chapter }]
}

/** Old members of types and classes that grow or are upgraded in this chapter, behind another old one, with that one. */
function betweenOldMembers(place: Place): { name: string; first: Member; second: Member }[] {
  return inherited(place, "type", "interface", "class").flatMap(({ name, text, members }) => {
    const before = place.old?.core.find((other) => other.name === name)
    if (before === undefined || before.text === text) return []
    const all = (list: readonly Member[]): Member[] => list.flatMap((member) => [member, ...member.fields])
    const known = new Set(all(before.members).map((member) => member.text))
    return [members, ...members.map(({ fields }) => fields)].flatMap((list) =>
      list.flatMap((second, index) => {
        const first = list[index - 1]
        const isOld = first !== undefined && known.has(first.text) && known.has(second.text) && second.start > first.end
        return isOld ? [{ name, first, second }] : []
      }),
    )
  })
}

/** The functions that the chapter welds, with their declarations. */
function weldedFunctions(place: Place): { name: string; node: ts.FunctionDeclaration }[] {
  return inherited(place, "function").flatMap(({ name, node }) => {
    const isWeld = place.now.chapter.welds.some((weld) => weld.name === name)
    return isWeld && ts.isFunctionDeclaration(node) ? [{ name, node }] : []
  })
}

/** A gain at the end of a type or a class of the last chapter, listed as the list would have it. */
function gainAtEnd(place: Place, line: string, gain: string, ...kinds: Declaration["kind"][]): Mutant[] {
  if (!place.last) return []
  return inherited(place, ...kinds)
    .filter((declaration) => declaration.end > declaration.line + 1 && place.now.lines[declaration.end - 1] === "}")
    .map(({ name, end }) => {
      const at = positionOf(place.now, end)
      const text = edited(place.now, { start: at, end: at, text: `  ${line}\n` })
      return listed({ target: name, gain, text, place })
    })
}

function gut(kind: "function" | "class"): Operator["mutate"] {
  return (place) => {
    const before = new Set(
      bodies(place.old ?? place.now, inherited({ ...place, now: place.old ?? place.now }, kind)).map(
        ({ name }) => name,
      ),
    )
    return bodies(place.now, inherited(place, kind))
      .filter(({ name }) => before.has(name) && !isDeclared(place, name))
      .map(({ name, body }) => ({
        target: name,
        text: edited(place.now, { start: body.getStart(), end: body.end, text: '{\n  throw new Error("gutted")\n}' }),
      }))
  }
}

function editManifest(
  change: (chapter: Chapter, place: Place) => { target: string; chapter: Chapter }[],
): Operator["mutate"] {
  return (place) => (place.old === undefined ? [] : change(place.now.chapter, place))
}

function without<T>(list: readonly T[], item: T): T[] {
  return list.filter((other) => other !== item)
}

/** One mutant per inherited declaration that the chapter leaves as it was. */
function untouched(place: Place, ...kinds: Declaration["kind"][]): Declaration[] {
  return inherited(place, ...kinds).filter(({ name, text }) =>
    place.old?.core.some((other) => other.name === name && other.text === text),
  )
}

/** Edits that break the superset, and the rule that must say so. */
export const DAMAGE: readonly Operator[] = [
  {
    name: "remove a field",
    rule: "R1-FIELD-GONE",
    mutate: (place) =>
      inheritedFields(place).map(({ declaration, field }) => ({
        target: `${declaration.name}.${field.name}`,
        text: withoutLines(place.now, field.line, field.end),
      })),
  },
  {
    name: "rename a field",
    rule: "R1-FIELD-GONE",
    mutate: fieldEdits((line, { name }) => line.replace(name, `${name}2`)),
  },
  {
    name: "retype a field",
    rule: "R1-FIELD-CHANGED",
    mutate: fieldEdits((line) => line.replace(/: .+$/, ": unknown")),
  },
  { name: "make a field any", rule: "R1-ANY", mutate: fieldEdits((line) => line.replace(/: .+$/, ": any")) },
  {
    name: "make a field optional",
    rule: "R1-FIELD-CHANGED",
    mutate: fieldEdits((line) => line.replace(/^(\s*\w+): /, "$1?: ")),
  },
  {
    name: "make a field readonly",
    rule: "R1-FIELD-CHANGED",
    mutate: fieldEdits((line) => line.replace(/^(\s*)(\w+\??: )/, "$1readonly $2")),
  },
  {
    name: "narrow a union",
    rule: "R1-MEMBER-GONE",
    mutate: (place) =>
      inherited(place, "type").flatMap((declaration) => {
        const before = place.old?.core
          .find((other) => other.name === declaration.name)
          ?.members.map((member) => member.name)
        const members =
          declaration.members.length > 1 ? declaration.members.filter((member) => before?.includes(member.name)) : []
        return members.map((member) => ({
          target: `${declaration.name}.${member.name}`,
          text: withoutLines(place.now, member.line, member.end),
        }))
      }),
  },
  {
    name: "drop a method",
    rule: "R2-MEMBER-GONE",
    mutate: (place) =>
      inherited(place, "class").flatMap((declaration) => {
        const before = place.old?.core
          .find((other) => other.name === declaration.name)
          ?.members.map((member) => member.name)
        const members = declaration.members.filter(
          (member) => before?.includes(member.name) && !isDeclared(place, declaration.name),
        )
        return members.map((member) => ({
          target: `${declaration.name}.${member.name}`,
          text: withoutLines(place.now, member.line, member.end),
        }))
      }),
  },
  { name: "gut a method", rule: "R2-MEMBER-CHANGED", mutate: gut("class") },
  { name: "gut a function", rule: "R8-REWRITTEN", mutate: gut("function") },
  { name: "add a statement to a function", rule: "R8-REWRITTEN", mutate: intoBodies("void 0", ["function"]) },
  {
    name: "change a constant",
    rule: "R8-REWRITTEN",
    mutate: (place) =>
      untouched(place, "constant")
        .filter(({ line }) => /\d/.test(place.now.lines[line - 1] ?? ""))
        .map(({ name, line }) => ({
          target: name,
          text: editLine(place.now, line, (text) => text.replace(/\d/, (digit) => `${(Number(digit) + 1) % 10}`)),
        })),
  },
  {
    name: "change what a function returns",
    rule: "R8-REWRITTEN",
    mutate: (place) =>
      untouched(place, "function")
        .filter(({ node }) => ts.isFunctionDeclaration(node) && node.type !== undefined)
        .map(({ name, node }) => {
          const type = (node as ts.FunctionDeclaration).type as ts.TypeNode
          return { target: name, text: edited(place.now, { start: type.getStart(), end: type.end, text: "unknown" }) }
        }),
  },
  {
    name: "change a parameter of a weld",
    rule: "R8-SIGNATURE",
    mutate: (place) =>
      inherited(place, "function").flatMap(({ name, node }) => {
        const [first] = ts.isFunctionDeclaration(node) ? node.parameters : []
        if (first === undefined || !place.now.chapter.welds.some((weld) => weld.name === name)) return []
        return [
          {
            target: name,
            text: edited(place.now, { start: first.getStart(), end: first.getStart(), text: "extra: string, " }),
          },
        ]
      }),
  },
  {
    name: "remove a declaration",
    rule: "R8-GONE",
    mutate: (place) =>
      inherited(place, "type", "interface", "class", "function", "constant").map(({ name, start, end }) => ({
        target: name,
        text: withoutLines(place.now, start, end + 1),
      })),
  },
  {
    name: "rename a declaration",
    rule: "R8-GONE",
    mutate: (place) =>
      untouched(place, "type", "interface", "class", "function", "constant").map(({ name }) => ({
        target: name,
        text: place.now.text.replaceAll(new RegExp(`\\b${name}\\b`, "g"), `${name}Two`),
      })),
  },
  {
    name: "swap two declarations",
    rule: "R8-MOVED",
    mutate: (place) =>
      untouched(place, "type", "interface", "class", "function", "constant").flatMap((first) => {
        const second = place.now.core[place.now.core.indexOf(first) + 1]
        if (second === undefined || second.section !== first.section || !untouched(place, second.kind).includes(second))
          return []
        const between = place.now.lines.slice(first.end, second.start - 1).join("\n")
        const start = positionOf(place.now, first.start)
        const end = positionOf(place.now, second.end + 1)
        return [
          {
            target: `${first.name} ${second.name}`,
            text: edited(place.now, { start, end, text: `${second.text}\n${between}\n${first.text}\n` }),
          },
        ]
      }),
  },
  {
    name: "end a line with a semicolon",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      untouched(place, "type", "function", "constant", "interface").map(({ name, end, line, kind }) => {
        const at = kind === "function" ? Math.max(line + 1, end - 1) : kind === "interface" ? line + 1 : end
        return { target: name, text: editLine(place.now, at, (text) => (/[,{(]$/.test(text) ? text : `${text};`)) }
      }),
  },
  {
    name: "write a type on one line",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      untouched(place, "type")
        .filter(({ line, end }) => end > line + 1)
        .map(({ name, line, end }) => {
          const lines = place.now.lines.slice(line - 1, end).map((text) => text.trim())
          const separator = lines[0]?.endsWith("{") ? "; " : " "
          const joined = `${lines[0]} ${lines.slice(1).join(separator)}`.replace(/; }$/, " }")
          const start = positionOf(place.now, line)
          return {
            target: name,
            text: edited(place.now, { start, end: positionOf(place.now, end + 1), text: `${joined}\n` }),
          }
        }),
  },
  {
    name: "reword a comment",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      untouched(place, "type", "interface", "class", "function", "constant")
        .filter(({ start, line }) => start < line)
        .map(({ name, start }) => ({
          target: name,
          text: editLine(place.now, start, (text) => text.replace("/**", "/** Also:")),
        })),
  },
  {
    name: "take out a blank line",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      untouched(place, "type", "interface", "class", "function", "constant")
        .filter(({ start }) => place.now.lines[start - 2] === "" && !place.now.lines[start - 3]?.startsWith("//"))
        .map(({ name, start }) => ({ target: name, text: withoutLines(place.now, start - 1, start - 1) })),
  },
  {
    name: "hide a declaration",
    rule: "R8-EXPORT",
    mutate: (place) =>
      place.now.core.map(({ name, line }) => ({
        target: name,
        text: editLine(place.now, line, (text) => text.replace(/^export /, "")),
      })),
  },
  {
    name: "add a name in an old section",
    rule: "R8-PLACE",
    mutate: (place) => {
      const [first] = place.old === undefined ? [] : place.now.core
      if (first === undefined) return []
      const at = positionOf(place.now, first.end + 1)
      const text = edited(place.now, {
        start: at,
        end: at,
        text: "\n/** Stands here for a while. */\nexport type Guest = string\n",
      })
      return [
        { target: "Guest", text, chapter: { ...place.now.chapter, parts: ["Guest", ...place.now.chapter.parts] } },
      ]
    },
  },
  {
    name: "add a name without listing it",
    anywhere: true,
    rule: "R8-UNLISTED",
    mutate: ({ now, last }) => {
      if (!last) return []
      const at = positionOf(now, now.demoLine)
      return [
        {
          target: "guest",
          text: edited(now, {
            start: at,
            end: at,
            text: "/** Stands here for a while. */\nexport const guest: number = 1\n\n",
          }),
        },
      ]
    },
  },
  {
    name: "write to the console through a cast",
    rule: "R7-CONSOLE",
    mutate: intoBodies('(globalThis as never as { console: Console }).console.log("here")', ["function"]),
  },
  {
    name: "write to standard output",
    rule: "R7-CONSOLE",
    mutate: intoBodies('process.stdout.write("here")', ["function"]),
  },
  { name: "look at the clock", rule: "R7-CONSOLE", mutate: intoBodies("void Date.now()", ["function", "class"]) },
  { name: "call the demo", rule: "R7-DEMO", mutate: intoBodies("void main", ["function", "class"]) },
  { name: "read a file", rule: "R7-IMPORT", mutate: intoBodies('fs.readFileSync("x")', ["function"]) },
  {
    name: "import a neighbour",
    anywhere: true,
    rule: "R7-IMPORT",
    mutate: ({ now }) => [
      { target: "imports", text: `import { runOneTurn as other } from "../s01_state/code.ts"\n${now.text}` },
    ],
  },
  { name: "use a vendor's word", rule: "I1-VENDOR", mutate: intoBodies('void "tool_use"', ["function"]) },
  {
    name: "read a vendor's field",
    rule: "I1-VENDOR",
    mutate: intoBodies("void ({ finish_reason: 1 }).finish_reason", ["function"]),
  },
  {
    name: "import a vendor's package",
    anywhere: true,
    rule: "I1-VENDOR",
    mutate: ({ now }) => [{ target: "imports", text: `import vendor from "@anthropic-ai/sdk"\n${now.text}` }],
  },
  {
    name: "give a name a second meaning in a function",
    anywhere: true,
    rule: "U2-SECOND-MEANING",
    mutate: intoBodies("type AgentState = string", ["function"]),
  },
  {
    name: "give a name a second meaning in the demo",
    rule: "U2-SECOND-MEANING",
    mutate: ({ now }) =>
      now.core
        .filter(({ kind }) => kind === "type")
        .map(({ name }) => ({
          target: name,
          text: `${now.text}\nnamespace Other {\n  export type ${name} = string\n}\nvoid (0 as never as Other.${name})\n`,
        })),
  },
  {
    name: "put something in the place of what all code shares",
    anywhere: true,
    rule: "U2-REPLACED",
    mutate: ({ now }) => [
      { target: "Object", text: `${now.text}\nObject.freeze = ((value: unknown) => value) as typeof Object.freeze\n` },
      ...now.core
        .filter(({ kind }) => kind === "class")
        .map(({ name }) => ({ target: name, text: `${now.text}\n${name}.prototype.toString = () => "here"\n` })),
    ],
  },
  {
    name: "drop what a method did before its upgrade",
    rule: "R3-BODY",
    mutate: ({ old, now }) =>
      bodies(now, now.core)
        .filter(({ name }) => now.chapter.upgrades.some((upgrade) => upgrade.name === name))
        .flatMap(({ name, body }) =>
          body.statements
            .filter((statement) => old?.text.includes(statement.getText()))
            .map((statement) => ({
              target: name,
              text: edited(now, { start: statement.getStart(), end: statement.end, text: "return []" }),
            })),
        ),
  },
  {
    name: "keep an upgrade silent",
    rule: "R3-SILENT",
    mutate: editManifest((chapter) =>
      chapter.upgrades.map((upgrade) => ({
        target: upgrade.name,
        chapter: { ...chapter, upgrades: without(chapter.upgrades, upgrade) },
      })),
    ),
  },
  {
    name: "declare an upgrade that U1 does not know",
    rule: "R3-FOREIGN",
    mutate: editManifest((chapter) => {
      const upgrade = {
        rule: "U1",
        name: "Output.log",
        from: "log",
        to: "print",
        reason: "none",
        reasonZh: "无",
      } as const
      return [{ target: upgrade.name, chapter: { ...chapter, upgrades: [...chapter.upgrades, upgrade] } }]
    }),
  },
  {
    name: "declare an upgrade otherwise than it happens",
    rule: "R3-UNUSED|R3-FOREIGN",
    mutate: editManifest((chapter) =>
      chapter.upgrades.map((upgrade) => ({
        target: upgrade.name,
        chapter: {
          ...chapter,
          upgrades: [...without(chapter.upgrades, upgrade), { ...upgrade, to: `${upgrade.to} & { more: string }` }],
        },
      })),
    ),
  },
  {
    name: "leave a weld undeclared",
    rule: "REWRITTEN|MEMBER-CHANGED",
    mutate: editManifest((chapter) =>
      chapter.welds.map((weld) => ({
        target: weld.name,
        chapter: { ...chapter, welds: without(chapter.welds, weld) },
      })),
    ),
  },
  {
    name: "declare a weld that is not there",
    rule: "R8-UNUSED",
    mutate: editManifest((chapter, place) =>
      untouched(place, "function").map(({ name }) => ({
        target: name,
        chapter: { ...chapter, welds: [...chapter.welds, { name, reason: "none", reasonZh: "无" }] },
      })),
    ),
  },
  {
    name: "add a field, a member or a method that is not listed",
    rule: "R8-UNLISTED",
    mutate: (place) => [...gainFields(place), ...gainMembers(place), ...gainMethods(place)],
  },
  {
    name: "leave a gain off the list",
    rule: "R8-UNLISTED",
    mutate: editManifest((chapter) =>
      Object.entries(chapter.gains).map(([target, [, ...others]]) => {
        const { [target]: _, ...rest } = chapter.gains
        const gains = others.length === 0 ? rest : { ...rest, [target]: others }
        return { target, chapter: { ...chapter, gains } }
      }),
    ),
  },
  {
    name: "list a gain that is not there",
    rule: "R8-UNUSED",
    mutate: editManifest((chapter, place) =>
      inherited(place, "type", "class").map(({ name }) => ({
        target: name,
        chapter: {
          ...chapter,
          gains: { ...chapter.gains, [name]: [...(chapter.gains[name] ?? []), "ghost: string"] },
        },
      })),
    ),
  },
  {
    name: "list a part that is not there",
    rule: "R8-UNUSED",
    mutate: editManifest((chapter) => [
      { target: "Ghost", chapter: { ...chapter, parts: [...chapter.parts, "Ghost"] } },
    ]),
  },
  {
    name: "leave a part unlisted",
    rule: "R8-UNLISTED",
    mutate: editManifest((chapter) =>
      chapter.parts.map((part) => ({ target: part, chapter: { ...chapter, parts: without(chapter.parts, part) } })),
    ),
  },
  {
    name: "name a part like something of the language",
    rule: "U2-SECOND-MEANING",
    mutate: (place) => [
      ...addPart(
        place,
        "/** Stands here for a while. */\nexport function String(value: unknown): string {\n  return typeof value\n}",
        "String",
      ),
      ...addPart(place, "/** Stands here for a while. */\nexport type Record<K, V> = Map<K, V>", "Record"),
    ],
  },
  {
    name: "export something else under the name of a part",
    rule: "U2-SECOND-MEANING",
    mutate: ({ now }) =>
      now.core.map(({ name }) => ({ target: name, text: `${now.text}\nexport { main as ${name} }\n` })),
  },
  ...[
    'const box = { fetch() {} }\n  fetch("http://x", box)',
    "const box = { get process() { return 1 } }\n  void [box, process.env]",
    "const box = function fetch() {}\n  void [box, fetch]",
    'switch (1 as number) {\n    case 1: {\n      const console = 1\n      void console\n    }\n  }\n  console.log("here")',
    "const box: { fetch(): void } | undefined = undefined\n  void [box, fetch]",
  ].map((statement, index) => ({
    name: `reach out beside a local of that name, ${index + 1}`,
    rule: "R7-CONSOLE",
    mutate: intoBodies(statement, ["function"]),
  })),
  {
    name: "take a constructor by its name in quotes",
    rule: "R7-CONSOLE",
    mutate: intoBodies('const { "constructor": make } = () => 1\n  void make', ["function"]),
  },
  { name: "wait by a signal", rule: "R7-CONSOLE", mutate: intoBodies("void AbortSignal.timeout(5)", ["function"]) },
  {
    name: "read the stack of an error",
    rule: "R7-CONSOLE",
    mutate: intoBodies('void new Error("x").stack', ["function"]),
  },
  {
    name: "change the language for all code",
    rule: "R7-CONSOLE",
    mutate: intoBodies("JSON.stringify = String", ["function"]),
  },
  {
    name: "refer to a neighbour by a comment",
    anywhere: true,
    rule: "R7-IMPORT",
    mutate: ({ now }) => [{ target: "imports", text: `/// <reference path="../s01_state/code.ts" />\n${now.text}` }],
  },
  { name: "name a vendor from China", rule: "I1-VENDOR", mutate: intoBodies('void "qwen-max"', ["function"]) },
  {
    name: "read a vendor's piece of an answer",
    rule: "I1-VENDOR",
    mutate: intoBodies("void (undefined as never as { choices: { delta: string }[] }).choices[0]?.delta", ["function"]),
  },
  {
    name: "take the comment off a new declaration",
    rule: "R8-DOC",
    mutate: (place) =>
      place.now.core
        .filter(({ section, start, line }) => section === place.now.chapter.id && start < line)
        .map(({ name, start, line }) => ({ target: name, text: withoutLines(place.now, start, line - 1) })),
  },
  {
    name: "put a comment between old members of what grows",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      betweenOldMembers(place).map(({ name, second }) => {
        const at = positionOf(place.now, second.start)
        return { target: name, text: edited(place.now, { start: at, end: at, text: "  // A remark.\n" }) }
      }),
  },
  {
    name: "put a blank line between old members of what grows",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      betweenOldMembers(place).map(({ name, second }) => {
        const at = positionOf(place.now, second.start)
        return { target: name, text: edited(place.now, { start: at, end: at, text: "\n" }) }
      }),
  },
  {
    name: "swap old members of what grows",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      betweenOldMembers(place).map(({ name, first, second }) => {
        const lines = (start: number, end: number): string => place.now.lines.slice(start - 1, end).join("\n")
        const between = first.end + 1 < second.start ? `${lines(first.end + 1, second.start - 1)}\n` : ""
        const text = `${lines(second.start, second.end)}\n${between}${lines(first.start, first.end)}\n`
        const [start, end] = [positionOf(place.now, first.start), positionOf(place.now, second.end + 1)]
        return { target: name, text: edited(place.now, { start, end, text }) }
      }),
  },
  {
    name: "say something behind the core that the next chapter does not",
    rule: "R8-REFORMATTED",
    mutate: ({ now, last }) => {
      const at = positionOf(now, now.demoLine)
      const text = edited(now, { start: at, end: at, text: "// The end of the core.\n\n" })
      return last ? [] : [{ target: now.core.at(-1)?.name ?? "", text }]
    },
  },
  {
    name: "end a line with what cannot be seen",
    rule: "R8-REFORMATTED",
    mutate: (place) =>
      untouched(place, "type", "function", "class").map(({ name, line }) => ({
        target: name,
        text: editLine(place.now, line, (text) => `${text}\u00a0`),
      })),
  },
  {
    name: "break a line behind return",
    rule: "R8-REWRITTEN",
    mutate: (place) =>
      untouched(place, "function").flatMap(({ name, line, end }) => {
        const at = place.now.lines.findIndex(
          (text, index) => index >= line && index < end && /^ {2}return \S/.test(text),
        )
        if (at === -1) return []
        return [{ target: name, text: editLine(place.now, at + 1, (old) => old.replace("return ", "return\n  ")) }]
      }),
  },
  {
    name: "append a parameter to a weld that old calls do not give",
    rule: "R8-SIGNATURE",
    mutate: (place) =>
      weldedFunctions(place).map(({ name, node: { parameters } }) => {
        const [text, at] = parameters.hasTrailingComma
          ? ["\n  extra: string,", parameters.end]
          : [", extra: string", parameters.at(-1)?.end ?? parameters.end]
        return { target: name, text: edited(place.now, { start: at, end: at, text }) }
      }),
  },
  {
    name: "give a weld a type parameter",
    rule: "R8-SIGNATURE",
    mutate: (place) =>
      weldedFunctions(place).map(({ name, node }) => {
        const at = node.name?.end ?? node.end
        return { target: name, text: edited(place.now, { start: at, end: at, text: "<Extra>" }) }
      }),
  },
  {
    name: "let a gain hold for every field",
    rule: "R1-GAIN",
    mutate: (place) => gainAtEnd(place, "[key: string]: unknown", "[key: string]: unknown", "type", "interface"),
  },
  {
    name: "let a class run something when it is loaded",
    rule: "R2-GAIN",
    mutate: (place) => gainAtEnd(place, "static { Object.freeze(Map) }", "static", "class"),
  },
  {
    name: "list a part twice",
    rule: "R8-MANIFEST",
    mutate: editManifest((chapter) =>
      chapter.parts.map((part) => ({ target: part, chapter: { ...chapter, parts: [...chapter.parts, part] } })),
    ),
  },
  {
    name: "list the parts in another order",
    rule: "R8-MANIFEST",
    anywhere: true,
    mutate: editManifest((chapter) =>
      chapter.parts.length < 2 ? [] : [{ target: "parts", chapter: { ...chapter, parts: chapter.parts.toReversed() } }],
    ),
  },
  {
    name: "list a weld twice",
    rule: "R8-MANIFEST",
    mutate: editManifest((chapter) =>
      chapter.welds.map((weld) => ({ target: weld.name, chapter: { ...chapter, welds: [...chapter.welds, weld] } })),
    ),
  },
  {
    name: "give no reason for a weld",
    rule: "R8-MANIFEST",
    mutate: editManifest((chapter) =>
      chapter.welds.map((weld) => ({
        target: weld.name,
        chapter: { ...chapter, welds: [...without(chapter.welds, weld), { ...weld, reason: "" }] },
      })),
    ),
  },
  {
    name: "say nothing about gains",
    rule: "R8-MANIFEST",
    anywhere: true,
    mutate: editManifest(({ gains: _, ...chapter }) => [{ target: "gains", chapter: chapter as Chapter }]),
  },
  {
    name: "declare an upgrade twice",
    rule: "R8-MANIFEST",
    mutate: editManifest((chapter) =>
      chapter.upgrades.map((upgrade) => ({
        target: upgrade.name,
        chapter: { ...chapter, upgrades: [...chapter.upgrades, upgrade] },
      })),
    ),
  },
  {
    name: "call an upgrade a weld as well",
    rule: "R8-UNUSED",
    mutate: editManifest((chapter) =>
      chapter.upgrades.map(({ name }) => ({
        target: name,
        chapter: { ...chapter, welds: [...chapter.welds, { name, reason: "none", reasonZh: "无" }] },
      })),
    ),
  },
]

/** Edits of the same size that break nothing. */
export const HARMLESS: readonly Operator[] = [
  {
    name: "add a comment to the demo",
    mutate: ({ now }) =>
      now.demo.map((statement, index) => {
        const start = statement.getStart()
        return { target: `statement ${index + 1}`, text: edited(now, { start, end: start, text: "// A remark.\n" }) }
      }),
  },
  {
    name: "remove a statement from the demo",
    mutate: ({ now }) =>
      now.demo.map((statement, index) => ({
        target: `statement ${index + 1}`,
        text: edited(now, { start: statement.getFullStart(), end: statement.end, text: "\n" }),
      })),
  },
  {
    name: "add a function to the demo",
    mutate: ({ now }) => [
      { target: "guest", text: `${now.text}\nfunction guest(): void {\n  console.log("only here")\n}\nvoid guest\n` },
    ],
  },
  {
    name: "import something for the demo",
    mutate: ({ now }) => [{ target: "imports", text: `import os from "node:os"\n${now.text}\nvoid os\n` }],
  },
  {
    name: "change a function in every chapter that has it",
    mutate: (place) =>
      bodies(
        place.now,
        place.now.core.filter(({ section }) => section === place.now.chapter.id),
      ).map(({ name, body }) => ({
        target: name,
        text: edited(place.now, { start: body.getStart() + 1, end: body.getStart() + 1, text: "\n  void 0" }),
        carried: true,
      })),
  },
  {
    name: "add a listed name at the end",
    mutate: ({ now, last }) => {
      if (!last) return []
      const at = positionOf(now, now.demoLine)
      const text = edited(now, {
        start: at,
        end: at,
        text: "/** Stands here for a while. */\nexport type Guest = string\n\n",
      })
      return [{ target: "Guest", text, chapter: { ...now.chapter, parts: [...now.chapter.parts, "Guest"] } }]
    },
  },
  { name: "add a field to a type, and list it", mutate: (place) => gainFields(place).map(listed) },
  { name: "add a member to a union, and list it", mutate: (place) => gainMembers(place).map(listed) },
  { name: "add a method to a class, and list it", mutate: (place) => gainMethods(place).map(listed) },
  {
    name: "change a function and declare the weld",
    mutate: (place) =>
      place.last
        ? bodies(place.now, untouched(place, "function")).map(({ name, body }) => ({
            target: name,
            text: edited(place.now, { start: body.getStart() + 1, end: body.getStart() + 1, text: "\n  void 0" }),
            chapter: {
              ...place.now.chapter,
              welds: [...place.now.chapter.welds, { name, reason: "a guest", reasonZh: "客人" }],
            },
          }))
        : [],
  },
  {
    name: "add a function with overloads, and list it",
    mutate: (place) =>
      addPart(
        place,
        "/** Stands here for a while. */\nexport function guest(value: string): void\nexport function guest(value: number): void\nexport function guest(value: unknown): void {\n  void value\n}",
        "guest",
      ),
  },
  {
    name: "add two constants in one statement, and list both",
    mutate: (place) => addPart(place, "/** Guests. */\nexport const guest = 1, visitor = 2", "guest", "visitor"),
  },
  {
    name: "add parts with names that browsers use, and list them",
    mutate: (place) => [
      ...addPart(
        place,
        '/** Stands here for a while. */\nexport function confirm(text: string): boolean {\n  return text === "yes"\n}',
        "confirm",
      ),
      ...addPart(
        place,
        "/** Stands here for a while. */\nexport type Worker = { [self in string]?: number }",
        "Worker",
      ),
    ],
  },
  {
    name: "add a part with a line like a banner in a text, and list it",
    mutate: (place) =>
      addPart(
        place,
        "/** Stands here for a while. */\nexport const guest: string = `\n// ── Demo ──\n// ── s02 Tools ──\n`",
        "guest",
      ),
  },
  {
    name: "let a type on one line grow, and list it",
    mutate: (place) =>
      (place.last ? inherited(place, "type") : [])
        .filter(({ members: [only], line, end }) => line === end && (only?.fields.length ?? 0) > 0)
        .flatMap(({ name, line }) => {
          const text = (change: (old: string) => string): string => editLine(place.now, line, change)
          const onItsLine = text((old) => old.replace(/ }$/, "; guest?: string }"))
          const onSeveral = text((old) => old.replace("{ ", "{\n  ").replace(/ }$/, "\n  guest?: string\n}"))
          return [onItsLine, onSeveral].map((grown) =>
            listed({ target: name, gain: "guest?: string", text: grown, place }),
          )
        }),
  },
  {
    name: "make a union of a record, and list its second form",
    mutate: (place) =>
      (place.last ? inherited(place, "type") : [])
        .filter(({ members: [only, ...others], line, end }) => others.length === 0 && end > line && only?.fields.length)
        .filter(({ node }) => ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type))
        .map(({ name, members: [only], line, end }) => {
          const fields = (only?.fields ?? []).map(({ text }) => text)
          const [start, stop] = [positionOf(place.now, line), positionOf(place.now, end + 1)]
          const forms = `  | {\n${fields.map((field) => `      ${field}\n`).join("")}    }\n  | { guest: true }\n`
          const text = edited(place.now, { start, end: stop, text: `export type ${name} =\n${forms}` })
          return listed({ target: name, gain: "{ guest: true }", text, place })
        }),
  },
]
