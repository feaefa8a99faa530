/**
 * Starts the server on this machine: `npm run serve`. `PORT` sets its port, `MODEL` the model, `--project FOLDER` the project; the one that comes
 * with the course is there for trying out.
 */
import path from "node:path"
import { parseArgs } from "node:util"
import { describeError, escapeControls } from "../s12_packages/code.ts"
import { Agent } from "./agent/agent.ts"
import { chooseModel } from "./choose-model.ts"
import { buildPage } from "./page/build.ts"
import { createAgentServer, listen, PAGE } from "./server.ts"

const DEFAULT_PORT = 3210

function readPort(text: string | undefined): number {
  if (text === undefined || text === "") return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new Error(`PORT expects a number from 0 to 65535, got "${text}"`)
}

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { project: { type: "string" } } })
  const port = readPort(process.env.PORT)
  const project = path.resolve(values.project ?? path.join(import.meta.dirname, "example"))
  const agent = await Agent.open({ project, model: await chooseModel() })
  const { server, close } = createAgentServer({ agent, page: PAGE })
  try {
    await buildPage()
    console.log(`${await listen(server, port)}  (model: ${agent.model.name}; Ctrl-C ends it)`)
  } catch (error) {
    await agent.close()
    throw error
  }
  for (const sentence of agent.state().damage) console.error(escapeControls(sentence))
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void close())
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`error: ${escapeControls(describeError(error))}`)
  process.exitCode = 1
})
