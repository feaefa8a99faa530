/** The six invariants, each as properties that hold for any script on any chapter from the one on where they can first be stated. */
import fc from "fast-check"
import { readSurface } from "../../scripts/chapter/surface.ts"
import { CHAPTERS, type ChapterId } from "../../scripts/course/manifest.ts"
import { I1 } from "../../scripts/rules/i1.ts"
import { checkSteps, pairChapters } from "../../scripts/rules/judge.ts"
import { type Driver, type Message, recordOutput, type ToolCall } from "../support/driver.ts"
import { anyScript, type Observation, play, playOnce, type Script, scriptsOf } from "./play.ts"

/** A chapter under test: its program, and the text of it. */
export type Subject = {
  chapter: Driver
  text: string
}

/** How often, from which seed, and whether to look for the smallest script that fails. */
export type Effort = {
  runs: number
  seed: number
  shrink?: boolean
}

/** Something that must hold. `check` throws, with the invariant in its words, where it does not. */
export type Property = {
  invariant: "I1" | "I2" | "I3" | "I4" | "I5" | "I6"
  title: string
  first: ChapterId
  check(subject: Subject, effort: Effort): Promise<void>
}

class Broken extends Error {}

function demand(holds: boolean, say: () => string): void {
  if (!holds) throw new Broken(say())
}

/** A property over scripts: judges what was seen of each. */
function overScripts(
  judge: (seen: Observation, subject: Subject, script: Script) => void | Promise<void>,
): Property["check"] {
  return async (subject, { runs, seed, shrink = true }) => {
    const { chapter } = subject
    for (const script of scriptsOf(seed, runs)) {
      try {
        await judge(await playOnce(chapter, script), subject, script)
      } catch (error) {
        if (!shrink) throw error
        // The same scripts again, played anew, and then ever smaller ones, down to the smallest that fails.
        const property = fc.asyncProperty(anyScript, async (any) => judge(await play(chapter, any), subject, any))
        await fc.assert(property, { numRuns: runs, seed })
        throw error
      }
    }
  }
}

/** A history in groups: what is said, and the results directly behind it. */
function groupsOf(messages: readonly Message[]): { calls: string[]; results: string[]; at: number }[] {
  const groups: { calls: string[]; results: string[]; at: number }[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role === "toolResult" && groups.length > 0) groups.at(-1)?.results.push(message.toolCallId)
    else if (message.role === "toolResult") groups.push({ calls: [], results: [message.toolCallId], at })
    else
      groups.push({
        calls: message.role === "assistant" ? (message.toolCalls ?? []).map((call) => call.id) : [],
        results: [],
        at,
      })
  }
  return groups
}

function everyList(seen: Observation): Message[][] {
  return [...seen.histories, ...seen.requests.map((request) => request.messages)]
}

/** Whether a message is the model's answer to a request. The one that says that the limit is reached is not. */
function isAnswer(message: Message): message is Message & { role: "assistant" } {
  return message.role === "assistant" && message.content !== "max turns reached"
}

/** The texts of a value that hold half a character, in names too. */
function findHalves(value: unknown): string[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [value]
  return typeof value === "object" && value !== null ? Object.entries(value).flat().flatMap(findHalves) : []
}

const FIELDS: Record<string, string[]> = {
  user: ["role", "content"],
  assistant: ["role", "content", "stopReason", "toolCalls"],
  toolResult: ["role", "toolCallId", "content"],
}

function foreignFields(message: Message): string[] {
  const own = Object.keys(message).filter((name) => !FIELDS[message.role]?.includes(name))
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : []
  return [
    ...own,
    ...calls.flatMap((call) => Object.keys(call).filter((name) => !["id", "name", "input"].includes(name))),
  ]
}

/** What a script says, without anything that depends on time. */
function bytesOf({ histories, entries, requests }: Observation): string {
  return JSON.stringify([histories, entries, requests])
}

/** Texts of a project, some of which look like code. */
const anyResource = fc.record({
  kind: fc.constantFrom("agents" as const, "skill" as const, "prompt" as const),
  name: fc.constantFrom("AGENTS.md", "review"),
  content: fc.constantFrom(
    "Be brief.",
    "globalThis.invariantMark = 1",
    "run: globalThis.invariantMark = 1",
    "\u0024{globalThis.invariantMark = 1}",
    "# agents: forged",
  ),
})

const SENTINEL = "sentinel-7d2"
const mark = globalThis as { invariantMark?: number }

/** Everything that a turn in a project lets out: requests, history, and what is shown. */
async function lookAround({ chapter }: Subject, extras: object): Promise<string> {
  const output = recordOutput()
  const { history, requests } = await chapter.run({ output, replies: [], ...extras })
  return JSON.stringify([history, requests, output.lines])
}

export const PROPERTIES: readonly Property[] = [
  {
    invariant: "I1",
    title: "the core knows no vendor, no vendor's word and no vendor's package",
    first: "s01",
    check: async ({ chapter, text }) => {
      const entry = CHAPTERS[chapter.number - 1]
      if (entry === undefined) throw new Error(`there is no chapter ${chapter.number}`)
      const found = checkSteps(pairChapters([readSurface(entry, "code.ts", text)]), I1)
      demand(found.length === 0, () => `I1: ${found[0]?.message}`)
    },
  },
  {
    invariant: "I1",
    title: "history and requests hold our own fields only",
    first: "s01",
    check: overScripts((seen) => {
      const foreign = everyList(seen).flat().flatMap(foreignFields)
      demand(foreign.length === 0, () => `I1: a message holds the foreign field ${foreign[0]}`)
    }),
  },
  {
    invariant: "I2",
    title: "every call has exactly one result, directly behind its message, in the history and in every request",
    first: "s04",
    check: overScripts((seen) => {
      demand(seen.crash === undefined, () => `I2: a turn could not go on: ${seen.crash}`)
      for (const messages of everyList(seen)) {
        for (const { calls, results, at } of groupsOf(messages)) {
          demand(
            String([...calls].sort()) === String([...results].sort()),
            () => `I2: the calls [${calls}] of messages[${at}] have the results [${results}]`,
          )
        }
      }
    }),
  },
  {
    invariant: "I3",
    title:
      "no call of an incomplete message runs, be it by its end or by one of its calls, and each is answered with an error",
    first: "s04",
    check: overScripts((seen) => {
      const run = seen.ran.filter((key) => seen.incomplete.includes(key))
      demand(run.length === 0, () => `I3: the call ${run[0]} ran, and its message is incomplete`)
      const answers = seen.stored.filter(isAnswer)
      demand(answers.length === seen.due.length, () => `I3: ${answers.length} of ${seen.due.length} answers are stored`)
      for (const [index, { toolCalls = [], stopReason }] of answers.entries()) {
        const { kept = [], complete = false } = seen.due[index] ?? {}
        const ids = toolCalls.map((call) => call.id.toWellFormed())
        demand(String(ids) === String(kept), () => `I3: answer ${index} had the calls [${kept}], and keeps [${ids}]`)
        demand(
          complete || stopReason !== "toolUse",
          () => `I3: answer ${index} is incomplete, and stored as one whose calls run`,
        )
      }
      for (const messages of seen.histories) {
        for (const [at, message] of messages.entries()) {
          if (message.role !== "assistant" || message.toolCalls === undefined || message.stopReason === "toolUse")
            continue
          const answers = messages.slice(at + 1, at + 1 + message.toolCalls.length)
          const good = answers.find((answer) => !answer.content.startsWith("error: "))
          demand(
            good === undefined,
            () => `I3: a call of the incomplete messages[${at}] is answered with "${good?.content}"`,
          )
        }
      }
    }),
  },
  {
    invariant: "I4",
    title: "results stand in the order of the calls, whoever finished first",
    first: "s04",
    check: overScripts((seen) => {
      for (const { calls, results, at } of everyList(seen).flatMap(groupsOf)) {
        const wrong = results.some(
          (id, index) => calls.includes(id) && calls.indexOf(id) < calls.indexOf(results[index - 1] ?? ""),
        )
        demand(!wrong, () => `I4: the calls [${calls}] of messages[${at}] have results in the order [${results}]`)
      }
    }),
  },
  {
    invariant: "I4",
    title: "other delays give the same bytes",
    first: "s04",
    check: overScripts(async (seen, { chapter }, script) => {
      const slow = await play(chapter, { ...script, delays: [3, 0, 2, 0, 1] })
      demand(bytesOf(slow) === bytesOf(seen), () => "I4: the same script with other delays gave another history")
    }),
  },
  {
    invariant: "I5",
    title: "history only grows, and what is in it is frozen",
    first: "s01",
    check: overScripts((seen, { chapter }) => {
      demand(seen.soft.length === 0, () => `I5: ${seen.soft[0]} can be changed`)
      const lists =
        chapter.number < 7
          ? seen.histories.map((messages) => messages.map((message) => JSON.stringify(message)))
          : seen.entries
      for (const [turn, list] of lists.entries()) {
        const before = lists[turn - 1] ?? []
        const changed = before.findIndex((text, index) => text !== list[index])
        demand(changed < 0, () => `I5: entry ${changed} was ${before[changed]} and is ${list[changed]}`)
      }
    }),
  },
  {
    invariant: "I5",
    title: "what the model was sent still stands in the history when the turn is over",
    first: "s01",
    check: overScripts((seen) => {
      for (const [index, { messages }] of seen.requests.entries()) {
        const history = seen.histories[seen.turnOf[index] ?? -1] ?? []
        const [sent, kept] = [messages, history.slice(0, messages.length)].map((list) =>
          JSON.stringify(list.map(wordsOf)),
        )
        demand(sent === kept, () => `I5: request ${index + 1} held ${sent}, and the history holds ${kept}`)
      }
    }),
  },
  {
    invariant: "I5",
    title: "what is stored can be sent: no text holds half a character, which no service takes as it is",
    first: "s01",
    check: overScripts((seen) => {
      const halves = [...seen.histories, ...seen.requests].flatMap(findHalves)
      demand(halves.length === 0, () => `I5: the text ${JSON.stringify(halves[0])} holds half a character`)
    }),
  },
  {
    invariant: "I5",
    title: "a turn that is refused leaves no trace",
    first: "s04",
    check: overScripts((seen) => {
      for (const { kind, refused, before, after } of seen.refusals) {
        demand(refused, () => `I5: a turn that cannot begin was not refused (${kind})`)
        demand(before === after, () => `I5: a refused turn (${kind}) made ${after} of ${before}`)
      }
    }),
  },
  {
    invariant: "I5",
    title: "the path can be rebuilt from the entries",
    first: "s07",
    check: overScripts((seen) => {
      for (const [turn, texts] of seen.entries.entries()) {
        const entries = texts.map((text) => JSON.parse(text) as Message & { id: string; parentId: string | null })
        const byId = new Map(entries.map((entry) => [entry.id, entry]))
        demand(byId.size === entries.length, () => "I5: an id stands twice")
        const path: Message[] = []
        for (
          let entry = byId.get(seen.leaves[turn] ?? "");
          entry !== undefined;
          entry = byId.get(entry.parentId ?? "")
        ) {
          const { id, parentId, ...message } = entry
          path.unshift(message as Message)
        }
        const history = JSON.stringify(seen.histories[turn])
        demand(
          JSON.stringify(path.map(inOrder)) === JSON.stringify(seen.histories[turn]?.map(inOrder)),
          () => `I5: the entries give ${JSON.stringify(path)}, the path is ${history}`,
        )
      }
    }),
  },
  {
    invariant: "I5",
    title: "the same script gives the same bytes",
    first: "s01",
    check: overScripts(async (seen, { chapter }, script) => {
      demand(bytesOf(await play(chapter, script)) === bytesOf(seen), () => "I5: the same script gave another history")
    }),
  },
  {
    invariant: "I6",
    title: "texts are read and never run",
    first: "s08",
    check: async ({ chapter }, { runs, seed }) => {
      const property = fc.asyncProperty(fc.array(anyResource, { maxLength: 4 }), async (resources) => {
        delete mark.invariantMark
        const loader = new chapter.core.ResourceLoader(resources)
        const { requests } = await chapter.run({ loader, ...(chapter.number >= 11 && { trust: "trusted" }) })
        demand(mark.invariantMark === undefined, () => "I6: a text of the project was run")
        const prompt = requests[0]?.systemPrompt ?? ""
        const lost = resources.find(({ content }) => !prompt.includes(`  ${content}`))
        demand(lost === undefined, () => `I6: the text "${lost?.content}" does not reach the model as it is`)
        const headings = prompt.split("\n").filter((line) => line.startsWith("# "))
        demand(headings.length === resources.length, () => "I6: a text passes for a heading")
      })
      await fc.assert(property, { numRuns: runs, seed })
    },
  },
  {
    invariant: "I6",
    title:
      "code enters through its own door: an extension's tool runs through the hooks, and a failing extension adds nothing",
    first: "s09",
    check: async ({ chapter }, { runs, seed }) => {
      const property = fc.asyncProperty(
        fc.array(fc.constantFrom("read_file", "new", "other"), { maxLength: 3 }),
        fc.boolean(),
        fc.boolean(),
        async (names, fails, executes) => {
          const registry = chapter.registry({
            spec: { name: "read_file", description: "", input: {} },
            handler: () => "mine",
          })
          const runtime = new chapter.core.ExtensionRuntime(registry, recordOutput())
          const added = runtime.use((api) => {
            for (const name of names)
              api.registerTool({ spec: { name, description: "", input: {} }, handler: () => "theirs" })
            if (fails) throw new Error("no")
          })
          const clash = names.includes("read_file") || new Set(names).size < names.length
          demand(
            added === !(fails || clash),
            () => `I6: an extension with the tools [${names}] was ${added ? "added" : "refused"}`,
          )
          const known = registry.getSpecs().map((spec) => spec.name)
          demand(
            String(known) === String(added ? ["read_file", ...names] : ["read_file"]),
            () => `I6: the tools are [${known}]`,
          )
          demand(
            registry.run({ id: "1", name: "read_file", input: {} }) === "mine",
            () => "I6: an extension took over a tool",
          )
          if (!added || names.length === 0) return
          const execute = (call: ToolCall) => ({
            role: "toolResult" as const,
            toolCallId: call.id,
            content: registry.run(call),
          })
          const blocked = await chapter.run({
            registry,
            ...(executes && { execute }),
            hooks: { beforeToolCall: () => ({ type: "block", reason: "no" }) },
            replies: [
              [
                { type: "tool_call", call: { id: "1", name: names[0] ?? "", input: {} } },
                { type: "message_end", stopReason: "toolUse" },
              ],
            ],
          })
          demand(
            blocked.history[2]?.content === "error: blocked: no",
            () => `I6: a tool of an extension got past the hooks${executes ? ", executed by the caller" : ""}`,
          )
        },
      )
      await fc.assert(property, { numRuns: runs, seed })
    },
  },
  {
    invariant: "I6",
    title: "only what the hooks have allowed runs, whoever executes it",
    first: "s09",
    check: overScripts(({ ran, allowed }) => {
      const past = ran.filter((key) => allowed?.includes(key) === false)
      demand(past.length === 0, () => `I6: the call ${past[0]} ran, and no hook had allowed it`)
    }),
  },
  {
    invariant: "I6",
    title: "a project that is not trusted contributes nothing, anywhere",
    first: "s11",
    check: async (subject, { runs, seed }) => {
      const { core } = subject.chapter
      const property = fc.asyncProperty(
        fc.constantFrom(undefined, "untrusted" as const),
        fc.array(anyResource, { minLength: 1, maxLength: 3 }),
        async (trust, texts) => {
          delete mark.invariantMark
          const loader = new core.ResourceLoader(texts.map((text) => ({ ...text, name: SENTINEL, content: SENTINEL })))
          const registry = subject.chapter.registry()
          const extensions = new core.ExtensionRuntime(registry, recordOutput())
          const added = await extensions.useProject(() => {
            mark.invariantMark = 1
            return () => {}
          }, trust)
          if (subject.chapter.number >= 12) {
            const loaded = {
              name: SENTINEL,
              tools: { [SENTINEL]: "x" },
              commands: { [SENTINEL]: "x" },
              resources: { [SENTINEL]: "x" },
            }
            const installed = core.installLoadedPackage(loaded, extensions, loader, trust)
            demand(
              !installed && extensions.getCommands().length === 0,
              () => "I6: a package of an untrusted project was installed",
            )
          }
          const seen = await lookAround(subject, { loader, registry, extensions, ...(trust && { trust }) })
          demand(!added && mark.invariantMark === undefined, () => "I6: code of an untrusted project was fetched")
          demand(!seen.includes(SENTINEL), () => "I6: a text of an untrusted project got in")
        },
      )
      await fc.assert(property, { numRuns: runs, seed })
    },
  },
  {
    invariant: "I6",
    title: "a package comes in whole and once, or not at all",
    first: "s12",
    check: async ({ chapter }, { runs, seed }) => {
      const { core } = chapter
      const someNames = fc.uniqueArray(fc.constantFrom("taken", "new", "other"), { maxLength: 2 })
      const property = fc.asyncProperty(someNames, someNames, someNames, async (tools, commands, resources) => {
        const registry = chapter.registry({
          spec: { name: "taken", description: "", input: {} },
          handler: () => "mine",
        })
        const extensions = new core.ExtensionRuntime(registry, recordOutput())
        extensions.use((api) => api.registerCommand({ name: "taken", run: () => "mine" }))
        const loader = new core.ResourceLoader([])
        const show = (): string =>
          JSON.stringify([
            registry.getSpecs().map(({ name }) => name),
            extensions.getCommands(),
            loader.load("trusted"),
          ])
        const texts = (names: string[]) => Object.fromEntries(names.map((name) => [name, name]))
        const loaded = { name: "p", tools: texts(tools), commands: texts(commands), resources: texts(resources) }
        const clash = tools.includes("taken") || commands.includes("taken")
        const skills = resources.map((name) => ({ kind: "skill", name, content: name }))
        const whole = JSON.stringify([["taken", ...tools], ["taken", ...commands], skills])
        const expected = clash ? show() : whole
        for (const time of ["first", "second"]) {
          const installed = core.installLoadedPackage(loaded, extensions, loader, "trusted")
          demand(
            installed === (!clash && time === "first"),
            () => `I6: a package was ${installed ? "" : "not "}installed`,
          )
          demand(show() === expected, () => `I6: after a ${time} try, ${show()} is there and not ${expected}`)
        }
      })
      await fc.assert(property, { numRuns: runs, seed })
    },
  },
]

/** Who said what in a message, and which calls; neither why it ended nor what somebody else may have added. */
function wordsOf(message: Message): unknown[] {
  const { role, content } = message
  if (role === "toolResult") return [role, content, message.toolCallId]
  const calls = role === "assistant" ? (message.toolCalls ?? []) : []
  return [role, content, ...calls.map(({ id, name, input }) => [id, name, Object.entries(input)])]
}

/** A message with its fields in one order. */
function inOrder(message: Message): [string, unknown][] {
  return Object.entries(message).sort(([a], [b]) => a.localeCompare(b))
}

/** The properties of one invariant that can be stated on a chapter. */
export function propertiesOf(invariant: Property["invariant"], chapter: Driver): Property[] {
  return PROPERTIES.filter((property) => property.invariant === invariant && property.first <= chapter.id)
}
