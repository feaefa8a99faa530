/** A whole agent, as everybody writes it first. `--trouble NAME` shows what becomes of it in the world. */
import fs from "node:fs"
import { setImmediate as nextRound } from "node:timers/promises"

type Call = { id: string; path: string }
type Message = { role: "user" | "assistant" | "tool"; text: string; calls?: Call[]; id?: string }

// ── The agent ── it remembers, it reads files, it answers ────────────────────
let history: Message[] = []

async function ask(prompt: string): Promise<void> {
  console.log(`you    ${prompt}`)
  history.push({ role: "user", text: prompt })
  for (;;) {
    const answer = await callModel(history)
    history.push(answer)
    if (answer.calls === undefined) return console.log(`agent  ${answer.text}`)
    const run = async ({ id, path }: Call) => history.push({ role: "tool", id, text: await readFile(path) })
    await Promise.all(answer.calls.map(run))
  }
}

async function main(): Promise<void> {
  history.push({ role: "user", text: await readFile("AGENTS.md") })
  await ask("Read name.md and todo.md and write a line for me.")
  if (trouble === "back") history = history.slice(0, 1) // "Forget that": the only way back is to throw away.
  await ask("What did I ask you first?")
}

// ── The world ── files, and a service with a model that follows a script ─────
const TROUBLES = ["missing", "disconnect", "order", "endless", "secret", "back", "stranger"]
const [flag, trouble = ""] = process.argv.slice(2)
const folder = new URL(trouble === "stranger" ? "cloned/" : "workspace/", import.meta.url)
let requests = 0

async function readFile(path: string): Promise<string> {
  if (trouble === "order" && path === "name.md") await nextRound() // This one takes a little longer today.
  return fs.readFileSync(new URL(path, folder), "utf8").trim()
}

async function callModel(messages: Message[]): Promise<Message> {
  const say = (text: string): Message => ({ role: "assistant", text })
  const call = (...paths: string[]): Message => ({ ...say(""), calls: paths.map((path) => ({ id: path, path })) })
  if (++requests > 20) throw new Error("stopped from outside after 20 requests; the bill is yours")
  if (trouble === "disconnect" && requests === 2) throw new Error("socket hang up")
  const turn = messages.slice(messages.findLastIndex((message) => message.role === "user"))
  const results = turn.filter((message) => message.role === "tool").map((message) => message.text)
  const wantsKey = trouble === "secret" || messages[0]?.text.includes("key.txt")
  if (turn[0]?.text.startsWith("What")) return say(`You asked: ${messages[1]?.text}`)
  if (trouble === "missing" && results.length === 0) return call("name.md", "plan.md")
  if (trouble === "endless" || results.length === 0) return call("name.md", "todo.md", ...(wantsKey ? ["key.txt"] : []))
  return say(`${wantsKey ? `${results[2]}! ` : ""}Dear ${results[0]}, do not forget the ${results[1]}.`)
}

if (flag !== undefined && !(flag === "--trouble" && TROUBLES.includes(trouble)))
  throw new Error(`expected --trouble and one of ${TROUBLES.join(", ")}`)
main().catch((error: Error) => {
  console.log(`crash  ${error.message.replace(/ '.*\//, " '")}`)
  process.exitCode = 1
})
