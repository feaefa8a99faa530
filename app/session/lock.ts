/** Sees to it that one process writes a session file. A lock that a dead process has left behind stops nobody. */
import fs from "node:fs"

type Owner = { pid: number }

/** Whether a process is there. One that may not be asked is there, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

function readOwner(file: string): Owner | undefined {
  try {
    const owner = JSON.parse(fs.readFileSync(file, "utf8")) as Partial<Owner> | null
    return Number.isInteger(owner?.pid) ? (owner as Owner) : undefined
  } catch {
    return undefined
  }
}

/** The file that stands beside a session file while somebody writes it. */
export function lockOf(file: string): string {
  return `${file}.lock`
}

/**
 * Takes the lock of a file and gives the function that gives it back. Throws when a process that is alive has it, this one included, and says which.
 */
export function takeLock(file: string): () => void {
  const lock = lockOf(file)
  const mine = `${process.pid}-${Math.random().toString(36).slice(2)}`
  for (let tries = 0; tries < 10; tries++) {
    try {
      // Written elsewhere and linked into place: nobody ever sees a lock without its owner in it.
      const draft = `${lock}.${mine}`
      fs.writeFileSync(draft, JSON.stringify({ pid: process.pid, mine }))
      try {
        place(draft, lock)
      } finally {
        fs.rmSync(draft, { force: true })
      }
      return () => {
        if (isMine(lock, mine)) fs.rmSync(lock, { force: true })
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    }
    const owner = readOwner(lock)
    if (owner !== undefined && isAlive(owner.pid))
      throw new Error(
        `${file} is being written by process ${owner.pid}: end that program first, or take another project; if there is none, delete ${lock}`,
      )
    removeDead(lock, owner, mine)
  }
  throw new Error(`${file}: its lock could not be taken; delete ${lock}`)
}

/** Puts a file in its place unless one is there. Where the disk knows no links, by a copy. */
function place(draft: string, target: string): void {
  try {
    fs.linkSync(draft, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error
    fs.copyFileSync(draft, target, fs.constants.COPYFILE_EXCL)
  }
}

function isMine(lock: string, mine: string): boolean {
  try {
    return (JSON.parse(fs.readFileSync(lock, "utf8")) as { mine?: string }).mine === mine
  } catch {
    return false
  }
}

/** Moves the lock of a dead process away. Of several that try at once one succeeds; what it moved is looked at again. */
function removeDead(lock: string, dead: Owner | undefined, mine: string): void {
  const away = `${lock}.${mine}.dead`
  try {
    fs.renameSync(lock, away)
  } catch {
    return
  }
  // Should somebody else have taken the lock in between, it was theirs that was moved: it goes back.
  const moved = readOwner(away)
  if (moved !== undefined && moved.pid !== dead?.pid && isAlive(moved.pid)) {
    try {
      fs.linkSync(away, lock)
    } catch {}
  }
  fs.rmSync(away, { force: true })
}
