/**
 * Sees to it that one process writes a session file. A lock that a dead process has left behind stops nobody.
 *
 * Each that wants to write puts a file of its own beside the session, which names its process, and then looks who else has done so. Two can never both
 * miss the other, and what is cleared away is always the file of a process that is gone: nobody can take the lock of somebody alive by mistake.
 */
import { randomUUID } from "node:crypto"
import fs from "node:fs"
import path from "node:path"

/** A process that wants to write a session file, or does. */
type Owner = { file: string; pid: number; start: string }

/** How often, and how long in milliseconds, a process waits for one that asked at the same moment and has not looked around yet. */
const TRIES = 500
const WAIT_MS = 20

/** What stands in the file of the process that has the lock. */
const HELD = "held"

/** The file by which a process asks for a session file. `start` is when it began, as the system counts. */
export function lockName(file: string, pid: number, start: string): string {
  return `${file}.lock.${pid}.${start}.${randomUUID()}`
}

/** The files by which processes ask for a session file, in the order in which it is their turn. */
export function findLocks(file: string): string[] {
  return findOwners(file).map((owner) => owner.file)
}

/**
 * Takes the lock of a file and gives the function that gives it back. Throws when a process that is alive has it, this one included, and says which.
 */
export function takeLock(file: string): () => void {
  const mine = lockName(file, process.pid, startOf(process.pid))
  const release = (): void => fs.rmSync(mine, { force: true })
  fs.writeFileSync(mine, "", { flag: "wx" })
  try {
    for (let tries = 1; ; tries++) {
      const other = findOther(file, mine)
      if (other === undefined) {
        fs.writeFileSync(mine, HELD)
        return release
      }
      // Of those that ask at the same moment the first by name goes on, and waits until the others have seen it.
      if (other.file < mine || isHeld(other) || tries === TRIES) throw new Error(describeOwner(file, other))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS)
    }
  } catch (error) {
    release()
    throw error
  }
}

function describeOwner(file: string, { pid, file: lock }: Owner): string {
  return `${file} is being written by process ${pid}: end that program first, or take another project; if there is none, delete ${lock}`
}

function isHeld({ file }: Owner): boolean {
  try {
    return fs.readFileSync(file, "utf8") === HELD
  } catch {
    return false
  }
}

/** The first other process that is alive. The files of those that are not are cleared away. */
function findOther(file: string, mine: string): Owner | undefined {
  const owners = findOwners(file).filter((owner) => owner.file !== mine)
  for (const dead of owners.filter((owner) => !isAlive(owner))) fs.rmSync(dead.file, { force: true })
  return owners.find(isAlive)
}

function findOwners(file: string): Owner[] {
  const folder = path.dirname(file)
  const prefix = `${path.basename(file)}.lock.`
  const names = fs.readdirSync(folder).filter((name) => name.startsWith(prefix))
  return names.sort().flatMap((name) => {
    const [, pid, start = ""] = /^(\d+)\.(\d*)\.[\da-f-]{36}$/.exec(name.slice(prefix.length)) ?? []
    return pid === undefined ? [] : [{ file: path.join(folder, name), pid: Number(pid), start }]
  })
}

/** Whether the process is there that asked. A number is given to another process some day; where the system says when that began, it is not taken for the one that asked. */
function isAlive({ pid, start }: Owner): boolean {
  const now = startOf(pid)
  return isRunning(pid) && (now === "" || start === "" || now === start)
}

/** Whether there is a process of this number. One that may not be asked is there, too. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** When a process began, in ticks since the system did; empty where the system does not say that in a file, as only Linux does. */
function startOf(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name in parentheses may hold blanks; the time is the 20th field behind it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}
