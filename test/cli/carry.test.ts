import fs from "node:fs"
import { stripVTControlCharacters } from "node:util"
import { afterAll, describe, expect, test } from "vitest"
import { CHAPTERS } from "../../scripts/course/manifest.ts"
import { checkSteps, pairChapters, readChapters } from "../../scripts/rules/judge.ts"
import type { Finding } from "../../scripts/rules/rule.ts"
import {
  BROKEN,
  Copy,
  doBeforeAll,
  expectRefusal,
  here,
  makeTemporaryFolder,
  type Run,
  replaceOnce,
} from "../support/commands.ts"
import { ends } from "../support/tier.ts"

const IDS = CHAPTERS.map(({ id }) => id)

/** An edit in the registry of s02, which every later chapter has as well. */
const OLD = "    this.#tools.set(sealed.spec.name, sealed)\n"
const NEW = "    const { name } = sealed.spec\n    this.#tools.set(name, sealed)\n"

/** An edit in s02, of lines that s04 has rewritten. */
const CONTESTED = "  const message = await requestMessage(options.provider, buildProviderInput(state, options))\n"
const REPLACED =
  "  const input = buildProviderInput(state, options)\n  const message = await requestMessage(options.provider, input)\n"

/** An edit in s02 of lines that stand alike in s04. */
const CLEAR = '  if (typeof tool.handler !== "function")'
const CLEARED = '  if (typeof tool.handler !== "function" || tool.handler === undefined)'

/** An edit in the part of s05. */
const OWN_OLD = "  if (hooks.beforeToolCall === undefined) return\n"
const OWN_NEW = "  if (!hooks.beforeToolCall) return\n"

/** What the chapters from one on look like after the edit in the registry. */
function edited(copy: Copy, ...ids: string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, replaceOnce(copy.original()[id] ?? "", OLD, NEW)]))
}

function findingsIn(copy: Copy): Finding[] {
  const files = Object.fromEntries(IDS.map((id) => [id, copy.file(id)]))
  return checkSteps(pairChapters(readChapters(CHAPTERS, files)))
}

const temporary = makeTemporaryFolder()

afterAll(() => fs.rmSync(temporary, { recursive: true, force: true }))

/** A copy under git, with nothing but the first commit. */
function makeRepository(): Copy {
  const copy = new Copy(temporary)
  copy.init()
  return copy
}

type Scene = {
  copy: Copy
  runs: Run[]
  /** What differed from the first commit after each run. */
  changes: Record<string, string>[]
}

/** Runs carry several times in a copy, and notes after each run what has changed. */
async function play(copy: Copy, ...commands: string[][]): Promise<Scene> {
  const scene: Scene = { copy, runs: [], changes: [] }
  for (const args of commands) {
    scene.runs.push(await copy.call("carry", ...args))
    scene.changes.push(copy.changes())
  }
  return scene
}

describe("npm run carry", () => {
  const scenes = doBeforeAll({
    arrival: () => {
      const copy = makeRepository()
      copy.edit("s02", OLD, NEW)
      return play(copy, ["s02"], ["s02", "--write"], ["s02", "--write"])
    },
    demo: async () => {
      const copy = makeRepository()
      for (const id of ["s02", "s06"]) copy.write(id, `${copy.read(id)}// Only in the demo of ${id}.\n`)
      const nothing = await play(copy, ["s02", "--write"])
      copy.edit("s02", OLD, NEW)
      const core = await play(copy, ["2", "--write"])
      return { copy, runs: [...nothing.runs, ...core.runs], changes: [...nothing.changes, ...core.changes] }
    },
    conflict: () => {
      const copy = makeRepository()
      copy.edit("s02", CONTESTED, REPLACED)
      return play(copy, ["s02"], ["s02", "--write"], ["s02", "--write"])
    },
    partly: () => {
      const copy = makeRepository()
      copy.edit("s02", CONTESTED, REPLACED)
      copy.edit("s02", CLEAR, CLEARED)
      return play(copy, ["s02"], ["s02", "--write"], ["s02", "--write"])
    },
    force: () => {
      const copy = makeRepository()
      copy.edit("s02", OLD, NEW)
      copy.edit("s05", OWN_OLD, OWN_NEW)
      return play(copy, ["s02", "--write"], ["s02", "--write", "--force"], ["s02", "--write", "--force"])
    },
    base: () => {
      const copy = makeRepository()
      copy.edit("s02", OLD, NEW)
      copy.commit()
      return play(copy, ["s02", "--write"], ["s02", "--write", "--base", "HEAD~1"])
    },
    unlawful: () => {
      const copy = makeRepository()
      copy.edit("s11", 'refuse(value, source, "a string")', 'refuse(value, source, "a text")')
      return play(copy, ["s11_trust", "--write"])
    },
    colors: () => {
      const copy = makeRepository()
      copy.edit("s11", OLD, NEW)
      return copy.run("carry", ["s11"], { env: { NO_COLOR: undefined, FORCE_COLOR: "1" } })
    },
  })

  test("is what package.json calls carry", () => {
    expect(here.scriptOf("carry")).toBe("node --import tsx/esm scripts/cli/main.ts carry")
  })

  test("shows what it would do in each later chapter, and writes nothing", () => {
    const { copy, runs, changes } = scenes.arrival
    expect(runs[0]).toMatchObject({ code: 0, stderr: "" })
    expect(changes[0]).toEqual(edited(copy, "s02"))
    const shown = [...(runs[0]?.stdout.matchAll(/^(s\d\d) {2}1 place\n {2}@@ line (\d+)\n((?: {2}[-+].*\n)+)/gm) ?? [])]
    const places = IDS.slice(2).map((id) => {
      const line = copy.original()[id]?.split("\n").indexOf(OLD.trimEnd()) ?? 0
      return [id, String(line + 1), `  -${OLD}  +${NEW.replace("\n", "\n  +")}`]
    })
    expect(shown.map((match) => match.slice(1))).toEqual(places)
    expect(runs[0]?.stdout).toMatch(/\n10 chapters would change\. Say --write to do it\.\n$/)
  })

  test("--write brings the edit of s02 to s12, and the constitution holds", () => {
    const { copy, runs, changes } = scenes.arrival
    expect(runs[1]).toMatchObject({ code: 0, stderr: "" })
    expect(changes[1]).toEqual(edited(copy, ...IDS.slice(1)))
    const written = CHAPTERS.slice(2).map(({ folder }) => `${folder}/code.ts`)
    expect(runs[1]?.stdout).toMatch(`\nWritten: ${written.join(", ")}.\nThe constitution holds.\n`)
    expect(findingsIn(copy)).toEqual([])
  })

  test("done again, changes nothing", () => {
    const { runs, changes } = scenes.arrival
    expect(changes[2]).toEqual(changes[1])
    const stdout = `${IDS.slice(2)
      .map((id) => `${id}  nothing to do\n`)
      .join("")}\nWritten: nothing.\nThe constitution holds.\n`
    expect(runs[2]).toEqual({ code: 0, stdout, stderr: "" })
  })

  test("leaves demos alone: that of the edited chapter is not carried, and those of the others stay", () => {
    const { copy, runs, changes } = scenes.demo
    const remark = (id: string): string => `// Only in the demo of ${id}.\n`
    for (const run of runs) expect(run).toMatchObject({ code: 0, stderr: "" })
    expect(runs[0]?.stdout).toMatch(/^The core of s02 is as it was at HEAD: nothing to carry\. .*\n$/)
    expect(Object.keys(changes[0] ?? {})).toEqual(["s02", "s06"])
    const arrived = edited(copy, ...IDS.slice(1))
    const demos = Object.fromEntries(["s02", "s06"].map((id) => [id, `${arrived[id]}${remark(id)}`]))
    expect(changes[1]).toEqual({ ...arrived, ...demos })
  })

  test("stops at a chapter that has changed the same lines, and shows both sides", () => {
    const { runs } = scenes.conflict
    for (const run of runs) expect(run).toMatchObject({ code: 1, stderr: "" })
    const has = "const message = await runEventedToolLoop(state, options)"
    for (const { stdout } of runs) {
      const [, conflict = ""] = stdout.split("s04  conflict: both sides changed these lines\n")
      const [, ours, base, theirs] = / s04 has\n(.*) the edit changes\n(.*) into\n(.*?)\n\n/s.exec(conflict) ?? []
      expect(ours).toContain(has)
      expect(base).toContain(CONTESTED.trim())
      for (const line of REPLACED.trim().split("\n")) expect(theirs).toContain(line.trim())
      expect(conflict).not.toMatch(/^s\d\d {2}/m)
    }
    expect(runs[0]?.stdout).toMatch(/\n1 chapter would change, up to the conflict in s04\. Say --write to do it\.\n$/)
    expect(runs[1]?.stdout).toMatch(
      /\nWritten: s03_stream\/code\.ts\.\nStopped at s04\. .*: npm run carry -- s04 --write\n$/,
    )
  })

  test("writes the chapters before a conflict, and neither the chapter in conflict nor those behind it", () => {
    const { copy, changes } = scenes.conflict
    const arrived = (id: string): string => replaceOnce(copy.original()[id] ?? "", CONTESTED, REPLACED)
    expect(changes).toEqual([
      { s02: arrived("s02") },
      { s02: arrived("s02"), s03: arrived("s03") },
      { s02: arrived("s02"), s03: arrived("s03") },
    ])
  })

  test("writes what is clear in the chapter in conflict, and names the line of the file where it is not", () => {
    const { copy, runs, changes } = scenes.partly
    for (const run of runs) expect(run).toMatchObject({ code: 1, stderr: "" })
    const clear = replaceOnce(copy.original().s04 ?? "", CLEAR, CLEARED)
    expect(changes.map(({ s04 }) => s04)).toEqual([undefined, clear, clear])
    expect(Object.keys(changes[1] ?? {})).toEqual(["s02", "s03", "s04"])
    const lineOf = (text: string): number =>
      text.split("\n").findIndex((line) => line.includes("await runEventedToolLoop(")) + 1
    const [before, after] = [copy.original().s04 ?? "", clear].map(lineOf)
    expect(runs[0]?.stdout).toContain(`s04  conflict: both sides changed these lines\n  at line ${before}\n`)
    expect(runs[0]?.stdout).toContain("\n  and 1 place without a conflict\n")
    expect(runs[1]?.stdout).toContain("\nWritten: s03_stream/code.ts, s04_toolloop/code.ts.\n")
    expect(runs[1]?.stdout).toContain(
      `Make the edit at line ${after} there by hand, then: npm run carry -- s04 --write\n`,
    )
  })

  test("refuses to touch a chapter that has changes of its own, and writes nothing then", () => {
    const { runs, changes } = scenes.force
    expect(expectRefusal(runs[0] as Run, "carry")).toMatch(/^s05 has .*changes of its own: .*--force/)
    expect(Object.keys(changes[0] ?? {})).toEqual(["s02", "s05"])
  })

  test("--force merges into it, and brings both edits on", () => {
    const { copy, runs, changes } = scenes.force
    const both = Object.entries(edited(copy, ...IDS.slice(1))).map(([id, text]) => [
      id,
      id < "s05" ? text : replaceOnce(text, OWN_OLD, OWN_NEW),
    ])
    for (const run of runs.slice(1)) expect(run).toMatchObject({ code: 0, stderr: "" })
    expect(changes.slice(1)).toEqual([Object.fromEntries(both), Object.fromEntries(both)])
    expect(findingsIn(copy)).toEqual([])
  })

  test("has nothing to carry when nothing differs from the last commit, and --base names another commit", () => {
    const { copy, runs, changes } = scenes.base
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ])
    expect(runs[0]?.stdout).toMatch(/^The core of s02 is as it was at HEAD: nothing to carry\. .* --base HEAD~1\.\n$/)
    expect(changes).toEqual([edited(copy, "s02"), edited(copy, ...IDS.slice(1))])
  })

  test("says what is wrong when the edit breaks a rule", () => {
    const { copy, runs, changes } = scenes.unlawful
    expect(runs[0]).toMatchObject({ code: 1, stderr: "" })
    expect(Object.keys(changes[0] ?? {})).toEqual(["s11", "s12"])
    expect(findingsIn(copy).map(({ rule, chapter }) => [rule, chapter])).toEqual([["R8-REWRITTEN", "s11"]])
    expect(runs[0]?.stdout).toMatch(/\nWritten: s12_packages\/code\.ts\.\n\nR8-REWRITTEN {2}s11 .*\n1 found\.\n$/s)
  })

  test("paints for those who want it, and only for them", () => {
    const { stdout } = scenes.colors
    expect(stripVTControlCharacters(stdout)).not.toBe(stdout)
    for (const run of scenes.arrival.runs) expect(stripVTControlCharacters(run.stdout)).toBe(run.stdout)
  })
})

describe("npm run carry refuses, and writes nothing,", () => {
  const MISUSES: [args: string[], says: RegExp][] = [
    [["--write"], /^expected one chapter, got none$/],
    [["s02", "s03", "--write"], /^expected one chapter, got "s02 s03"$/],
    [["s13", "--write"], /^unknown chapter "s13": expected one of s01, s02, .*, s12$/],
    [["s02", "--write", "--base", "nowhere"], /nowhere/],
    [["s02", "--write", "--base", "HEAD~1"], /HEAD~1/],
    [["s02", "--write", "--base", ""], /^--base expects a commit, got nothing/],
    [["s02", "--write", "--base=--output=x"], /--output=x, expected a commit/],
    [["s02", "--write", "--base", ":0"], /:0, expected a commit/],
    [["s02", "--write", "--hard"], /^unknown option "--hard": expected --/],
  ]
  const misused = makeRepository()
  misused.edit("s02", OLD, NEW)
  const misuses = doBeforeAll(
    Object.fromEntries(MISUSES.map(([args]) => [args.join(" "), () => misused.call("carry", ...args)])),
  )

  for (const [args, says] of MISUSES) {
    test(`the arguments ${JSON.stringify(args)}`, () => {
      expect(expectRefusal(misuses[args.join(" ")] as Run, "carry")).toMatch(says)
      expect(misused.changes()).toEqual(edited(misused, "s02"))
    })
  }

  /** The kind of damage, and the chapter that has it. */
  const DAMAGES = ends<[what: string, id: string]>([
    ["has CRLF line ends", "s02"],
    ["has a syntax error", "s02"],
    ["is missing", "s02"],
    ["has CRLF line ends", "s07"],
    ["has a syntax error", "s12"],
  ])

  type Damaged = { run: Run; untouched: boolean }

  function brokenOf(what: string): (typeof BROKEN)[number] {
    const kind = BROKEN.find((candidate) => candidate.what === what)
    if (kind === undefined) throw new Error(`nothing that is broken "${what}"`)
    return kind
  }

  const damaged = doBeforeAll(
    Object.fromEntries(
      DAMAGES.map(([what, id]) => {
        const job = async (): Promise<Damaged> => {
          const copy = makeRepository()
          copy.edit("s02", OLD, NEW)
          brokenOf(what).damage(copy.file(id))
          const before = copy.git("status", "--porcelain", "--untracked-files=no")
          const run = await copy.call("carry", "s02", "--write")
          return { run, untouched: copy.git("status", "--porcelain", "--untracked-files=no") === before }
        }
        return [`${what} ${id}`, job]
      }),
    ),
  )

  for (const [what, id] of DAMAGES) {
    test(`when ${id} ${what}`, () => {
      const { run, untouched } = damaged[`${what} ${id}`] as Damaged
      expect(expectRefusal(run, "carry")).toMatch(brokenOf(what).says)
      expect(untouched).toBe(true)
    })
  }

  test("a chapter in another encoding, whose bytes it would destroy", async () => {
    const copy = makeRepository()
    copy.edit("s02", OLD, NEW)
    const file = copy.file("s05")
    // A comment of two Chinese characters, as GBK has them.
    fs.appendFileSync(file, Buffer.from([0x2f, 0x2f, 0xd6, 0xd0, 0xce, 0xc4, 0x0a]))
    const bytes = fs.readFileSync(file)
    const run = await copy.call("carry", "s02", "--write", "--force")
    expect(expectRefusal(run, "carry")).toMatch(/s05_hooks\/code\.ts is not UTF-8, first at line \d+: ./)
    expect(fs.readFileSync(file).equals(bytes)).toBe(true)
  })

  const lost = doBeforeAll({
    run: () => new Copy(temporary).run("carry", ["s02", "--write"], { env: { GIT_CEILING_DIRECTORIES: temporary } }),
  })

  test("where there is no git repository", () => {
    expect(expectRefusal(lost.run, "carry")).toMatch(/s02_tools\/code\.ts at HEAD, expected a commit: .*git/)
  })
})
