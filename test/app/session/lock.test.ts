/** One writer: who gets the lock of a session file, and who is refused. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import { createInterface } from "node:readline"
import { Worker } from "node:worker_threads"
import { describe, expect, test } from "vitest"
import { findLocks, lockName, takeLock } from "../../../app/session/lock.ts"
import { DEEP } from "../../support/tier.ts"
import { bundle } from "./bundle.ts"
import { useSessionFolder } from "./session-files.ts"

const session = useSessionFolder()

/** The id of a process that was, and is no more. */
function findDeadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid
}

describe("the lock of a session file", () => {
  test("B52: is had once; who comes second is told who has it, until it is given back", () => {
    const release = takeLock(session.file)
    expect(() => takeLock(session.file)).toThrow(new RegExp(`is being written by process ${process.pid}: end `))
    expect(findLocks(session.file)).toHaveLength(1)
    release()
    takeLock(session.file)()
    expect(fs.readdirSync(session.folder)).toEqual([])
  })

  test("of a dead process stops nobody, and is cleared away", () => {
    fs.writeFileSync(lockName(session.file, findDeadPid(), "1"), "")
    takeLock(session.file)()
    expect(fs.readdirSync(session.folder)).toEqual([])
  })

  test.runIf(process.platform === "linux")("of a dead process whose number another one has now stops nobody", () => {
    fs.writeFileSync(lockName(session.file, process.pid, "1"), "")
    fs.writeFileSync(lockName(session.file, process.ppid, "1"), "")
    takeLock(session.file)()
    expect(fs.readdirSync(session.folder)).toEqual([])
  })

  test("is asked for before looking who else asks: of two at once, one sees the other at least", () => {
    const read = fs.readdirSync
    const seen: number[] = []
    fs.readdirSync = ((folder: string) => {
      const names = read(folder)
      seen.push(names.filter((name) => name.includes(`.lock.${process.pid}.`)).length)
      return names
    }) as typeof fs.readdirSync
    try {
      takeLock(session.file)()
    } finally {
      fs.readdirSync = read
    }
    expect(seen).toEqual([1])
  })

  test("of another file whose name begins the same is another lock", () => {
    const release = takeLock(`${session.file}.lock.jsonl`)
    takeLock(session.file)()
    release()
  })

  test("what is not named as a lock is nobody's, and stays", () => {
    const strange = [`${session.file}.lock`, `${session.file}.lock.`, `${session.file}.lock.x.y.z`]
    for (const file of strange) fs.writeFileSync(file, "")
    takeLock(session.file)()
    for (const file of strange) expect(fs.existsSync(file)).toBe(true)
  })

  test("is had once in a process, too, whichever of its threads asks", async () => {
    const release = takeLock(session.file)
    const file = JSON.stringify(session.file)
    const code = await bundle(`
      import { parentPort } from "node:worker_threads"
      import { takeLock } from "./app/session/lock.ts"
      try { takeLock(${file})(); parentPort.postMessage("had it") } catch (error) { parentPort.postMessage(error.message) }
    `)
    const [message] = await once(new Worker(code, { eval: false }), "message")
    expect(message).toContain("is being written")
    release()
  })
})

/** Many processes that ask at the same moment, over and over; each that gets the lock writes that it has, and then that it gives it back. */
const ROUNDS = DEEP ? 40 : 2
const STARTERS = 6

describe("many that ask at once", () => {
  test("never have it together, though a dead one lies in their way", async () => {
    const log = `${session.folder}/log.txt`
    const code = await bundle(`
      import fs from "node:fs"
      import { takeLock } from "./app/session/lock.ts"
      const [file, log] = process.argv.slice(2)
      process.stdin.on("data", () => {
        try {
          const release = takeLock(file)
          fs.appendFileSync(log, "has ")
          for (let turn = 0; turn < 20; turn++) fs.statSync(log)
          fs.appendFileSync(log, "gives ")
          release()
        } catch (error) {
          if (!/is being written/.test(error.message)) fs.appendFileSync(log, "failed: " + error.message)
        }
        process.stdout.write("done\\n")
      })
    `)
    const children = Array.from({ length: STARTERS }, () => {
      return spawn(process.execPath, [code, session.file, log], { stdio: ["pipe", "pipe", "inherit"] })
    })
    try {
      const replies = children.map(({ stdout }) => createInterface(stdout)[Symbol.asyncIterator]())
      for (let round = 0; round < ROUNDS; round++) {
        fs.writeFileSync(lockName(session.file, findDeadPid(), "1"), "")
        fs.writeFileSync(log, "")
        for (const { stdin } of children) stdin.write("go\n")
        await Promise.all(replies.map((reply) => reply.next()))
        expect(fs.readFileSync(log, "utf8")).toMatch(/^(has gives )+$/)
        expect(findLocks(session.file)).toEqual([])
      }
    } finally {
      for (const child of children) child.kill()
    }
  })
})
