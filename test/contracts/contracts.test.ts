import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { CHAPTERS, type ChapterId } from "../../scripts/course/manifest.ts"
import { replaceOnce } from "../support/commands.ts"
import { DEEP } from "../support/tier.ts"
import { FAULTS, type Fault } from "./faults.ts"

const folder = path.dirname(fileURLToPath(import.meta.url))
const root = path.dirname(path.dirname(folder))
const contracts = readdirSync(folder).filter((name) => name.endsWith(".test-d.ts"))

const compilerPackage = createRequire(import.meta.url).resolve("@typescript/native/package.json")
const { bin } = JSON.parse(readFileSync(compilerPackage, "utf8")) as { bin: { tsc: string } }
const compiler = path.join(path.dirname(compilerPackage), bin.tsc)

const OTHERS = ["pairs.test-d.ts", "support.test-d.ts", "upgrades.test-d.ts"]

type Pair = readonly [before: ChapterId, after: ChapterId]

const NEIGHBOURS = CHAPTERS.slice(1).map(({ id }, index): Pair => [CHAPTERS[index]?.id ?? id, id])

function betweenTitle([before, after]: Pair): string {
  return `from ${before} to ${after}`
}

type Run = {
  exitCode: number
  lines: string[]
}

/** An error in one of the contracts. */
type Complaint = {
  contract: string
  /** The title of the suite that it stands in. */
  suite: string
  message: string
}

/** Runs tsc over a project, as `tsc -p` does on the command line. */
function compile(project: string, ...options: string[]): Promise<Run> {
  return new Promise((resolve, reject) => {
    const parameters = [compiler, "-p", project, "--pretty", "false", ...options]
    execFile(process.execPath, parameters, { cwd: root, maxBuffer: 1 << 26 }, (error, stdout) => {
      const exitCode = error === null ? 0 : error.code
      if (typeof exitCode === "number")
        resolve({ exitCode, lines: stdout.split(/\r?\n/).filter((line) => line !== "") })
      else reject(error)
    })
  })
}

function read(...names: string[]): string {
  return readFileSync(path.join(...names), "utf8").replaceAll("\r\n", "\n")
}

describe("the contracts", () => {
  // The fast tier has asked it before: npm test compiles everything, and the contracts with it.
  test.runIf(DEEP)("hold, when the compiler alone is asked", async () => {
    expect(await compile(folder)).toEqual({ exitCode: 0, lines: [] })
  })

  test("can fail: the one that is false on purpose is refused, by name", async () => {
    const { exitCode, lines } = await compile(path.join(folder, "canary"))
    expect(exitCode).not.toBe(0)
    expect(lines).toEqual([expect.stringMatching(/canary\.test-d\.ts\(.*StopReason.*lost.*canary/)])
  })

  test("are all seen by the compiler, the canary apart", async () => {
    const { lines } = await compile(folder, "--listFilesOnly")
    const seen = lines.map((line) => path.basename(line)).filter((name) => name.endsWith(".test-d.ts"))
    expect(seen.sort()).toEqual(contracts.sort())
  })

  test("are there for each chapter and for what lies between two", () => {
    const files = [...CHAPTERS.map(({ id }) => `${id}.test-d.ts`), ...OTHERS]
    expect(contracts.sort()).toEqual(files.sort())
    const titles = read(folder, "pairs.test-d.ts").matchAll(/^describe\("(.*?)"/gm)
    expect(Array.from(titles, ([, title]) => title)).toEqual(NEIGHBOURS.map(betweenTitle))
  })

  for (const { id, folder: chapter } of CHAPTERS) {
    test(`know every type that ${id} exports`, () => {
      const core = read(root, chapter, "code.ts").split("// ── Demo")[0] ?? ""
      const exported = Array.from(core.matchAll(/^export (?:type|interface|class) (\w+)/gm), ([, name]) => name)
      const listed = read(folder, "dictionary", `${id}.ts`).matchAll(/^ {2}\w+: s\d\d\.\w+$/gm)
      expect(exported).not.toEqual([])
      expect(Array.from(listed, ([line]) => line)).toEqual(exported.map((name) => `  ${name}: ${id}.${name}`))
    })
  }

  test("name every upgrade of the manifest, and no other", () => {
    const titles = Array.from(read(folder, "upgrades.test-d.ts").matchAll(/describe\("(s\d\d): (\S+) becomes/g))
    const upgrades = CHAPTERS.flatMap(({ id, upgrades }) => upgrades.map(({ name }) => [id, name]))
    expect(titles.map(([, id, name]) => [id, name])).toEqual(upgrades)
  })

  test("silence nothing, and expect errors only where an upgrade breaks something", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
    const silenced = files.filter((name) => /@ts-(nocheck|ignore)\b/.test(read(folder, name)))
    expect(silenced).toEqual([])
    const expecting = files.filter((name) => /@ts-expect-(error)/.test(read(folder, name)))
    expect(expecting).toEqual(["upgrades.test-d.ts"])
  })
})

/**
 * The faults, in rounds with at most one of each chapter: a contract speaks of its own chapter only, so one compilation judges many. The fast
 * tier takes the first round, which has a fault of every chapter.
 */
const rounds: Fault[][] = []
for (const fault of FAULTS) {
  const round = rounds.find((faults) => faults.every(({ chapter }) => chapter !== fault.chapter))
  if (round === undefined) rounds.push([fault])
  else round.push(fault)
}
if (!DEEP) rounds.splice(1)

function edit(source: string, fault: Fault): string {
  return replaceOnce(source, fault.old, fault.new)
}

/** A copy of the contracts and of the chapters they are about, the faults of a round planted in it. */
function plant(copy: string, faults: readonly Fault[]): void {
  mkdirSync(path.join(copy, "test", "contracts"), { recursive: true })
  for (const name of ["package.json", "tsconfig.json"]) cpSync(path.join(root, name), path.join(copy, name))
  const files = [...contracts, "dictionary", "support.ts", "tsconfig.json"]
  for (const name of files) {
    cpSync(path.join(folder, name), path.join(copy, "test", "contracts", name), { recursive: true })
  }
  for (const { id, folder: chapter } of CHAPTERS) {
    const source = read(root, chapter, "code.ts")
    const fault = faults.find((candidate) => candidate.chapter === id)
    mkdirSync(path.join(copy, chapter))
    writeFileSync(path.join(copy, chapter, "code.ts"), fault === undefined ? source : edit(source, fault))
  }
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"), "junction")
}

/** What tsc says about the contracts. What it says about an edited chapter itself does not count. */
function complaintsIn(lines: readonly string[]): Complaint[] {
  return lines.flatMap((text) => {
    const [, contract, line, message] = /([^/\\]+\.test-d\.ts)\((\d+),\d+\): error \w+: (.*)$/.exec(text) ?? []
    if (contract === undefined || line === undefined || message === undefined) return []
    const above = read(folder, contract).split("\n").slice(0, Number(line)).join("\n")
    const suite = Array.from(above.matchAll(/^describe\("(.*?)"/gm), ([, title]) => title).at(-1) ?? ""
    return [{ contract, suite, message }]
  })
}

function isNamed(name: string, complaints: readonly Complaint[]): boolean {
  return complaints.some(({ message }) => message.split(/[^\w.]+/).includes(name))
}

describe("the contracts refuse a chapter in which", () => {
  const copies = mkdtempSync(path.join(os.tmpdir(), "contracts-"))
  const heard = new Map<Fault, Complaint[]>()

  beforeAll(async () => {
    const judge = async (round: Fault[], index: number): Promise<void> => {
      const copy = path.join(copies, String(index))
      plant(copy, round)
      const { lines } = await compile(path.join(copy, "test", "contracts"), "--singleThreaded")
      for (const fault of round) heard.set(fault, complaintsIn(lines))
    }
    await Promise.all(rounds.map(judge))
  }, 60_000)

  afterAll(() => rmSync(copies, { recursive: true, force: true }))

  for (const fault of rounds.flat()) {
    const { chapter, says, named, pair, upgrade } = fault
    test(`${says} (${chapter})`, () => {
      const complaints = heard.get(fault) ?? []
      const own = complaints.filter(({ contract }) => contract === `${chapter}.test-d.ts`)
      expect(named.filter((name) => !isNamed(name, own))).toEqual([])
      if (pair !== undefined) {
        const title = betweenTitle(pair < chapter ? [pair, chapter] : [chapter, pair])
        const between = complaints.filter(({ suite }) => suite === title)
        expect(named.slice(0, 1).filter((name) => !isNamed(name, between))).toEqual([])
      }
      if (upgrade) expect(complaints.map(({ suite }) => suite)).toContainEqual(expect.stringMatching(`^${chapter}: `))
    })
  }

  for (const [index, round] of rounds.entries()) {
    test(`something is wrong, and no other chapter (round ${index + 1})`, () => {
      const refused = new Set((round[0] && heard.get(round[0]))?.map(({ contract }) => contract))
      const chapters = CHAPTERS.map(({ id }) => id).filter((id) => refused.has(`${id}.test-d.ts`))
      expect(chapters).toEqual(round.map(({ chapter }) => chapter).sort())
    })
  }

  test("something is wrong in a chapter, a pair or an upgrade of this tier, whichever it is", () => {
    const planted = rounds.flat()
    expect([...new Set(planted.map(({ chapter }) => chapter))].sort()).toEqual(CHAPTERS.map(({ id }) => id))
    expect(planted.filter(({ pair }) => pair !== undefined)).not.toEqual([])
    expect(planted.filter(({ upgrade }) => upgrade).map(({ chapter }) => chapter)).toEqual(
      expect.arrayContaining(CHAPTERS.filter(({ upgrades }) => upgrades.length > 0).map(({ id }) => id)),
    )
  })

  test("something is wrong, whichever chapter it is, and so with each two and with each upgrade", () => {
    const faulty = CHAPTERS.map(({ id }) => id).filter((id) => FAULTS.some(({ chapter }) => chapter === id))
    expect(faulty).toEqual(CHAPTERS.map(({ id }) => id))
    const fallenOut = NEIGHBOURS.filter((ids) =>
      FAULTS.some(({ chapter, pair }) => pair !== undefined && ids.includes(chapter) && ids.includes(pair)),
    )
    expect(fallenOut).toEqual(NEIGHBOURS)
    const undone = CHAPTERS.filter(({ id }) => FAULTS.some(({ chapter, upgrade }) => upgrade && chapter === id))
    expect(undone).toEqual(CHAPTERS.filter(({ upgrades }) => upgrades.length > 0))
  })
})
