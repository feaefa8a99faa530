/** The invariants of the core, by the same suite, through HTTP: a turn is a request, and what it recorded comes out of the session file. */
import fs from "node:fs"
import path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { BeforeToolCall } from "../../../app/agent/tool-policy.ts"
import type { ApiError, SessionState } from "../../../app/protocol.ts"
import { fromStored } from "../../../app/session/convert.ts"
import { JsonlSessionStore } from "../../../app/session/session-store.ts"
import * as core from "../../../s12_packages/code.ts"
import { ROOT } from "../../../scripts/course/source.ts"
import { propertiesOf } from "../../invariants/properties.ts"
import { Driver } from "../../support/driver.ts"
import { DEEP } from "../../support/tier.ts"
import { TestServer } from "./client.ts"

/** Scripts for each property. */
const RUNS = DEEP ? 200 : 10

/** The server of each session that is played, and what its next turn is to use. */
type Session = { server: TestServer; options: core.TurnOptions }
const sessions = new Map<core.SessionTree, Promise<Session>>()

/** A session with the tools, the hooks and the model of whatever turn is next. */
async function openSession(first: core.TurnOptions): Promise<Session> {
  const session = { options: first } as Session
  const specs = first.registry?.getSpecs() ?? []
  const rule: BeforeToolCall = (call) => session.options.hooks?.beforeToolCall?.(call) ?? { type: "allow" }
  session.server = await TestServer.start({
    model: { name: "scripted", connect: () => ({ stream: (input) => session.options.provider.stream(input) }) },
    rules: [rule],
    tools: () =>
      specs.map((spec) => ({
        spec,
        source: "built-in",
        readOnly: true,
        handler: (input) => {
          const text = session.options.registry?.run({ id: "", name: spec.name, input }) ?? ""
          if (text.startsWith("error: ")) throw new Error(text.slice(7))
          return text
        },
      })),
  })
  return session
}

/** A turn over HTTP, with the signature of the core's own. What it has recorded is read from the file, and put into the tree of the caller. */
async function runOneTurn(
  state: core.AgentState,
  prompt: string,
  options: core.TurnOptions,
): Promise<core.AssistantMessage> {
  const { messages: tree } = state
  // What is no field of a request is checked as the core does it.
  core.checkMaxTurns(options.maxTurns)
  tree.acquire()()
  const known = sessions.get(tree) ?? openSession(options)
  sessions.set(tree, known)
  const session = await known
  session.options = options
  const { server } = session
  const before = tree.allEntries().length
  await server.post("/api/branch", { entryId: tree.leafId })
  const { status, body } = await server.post<SessionState | ApiError>("/api/prompt", { prompt })
  if (status !== 200) throw new Error((body as ApiError).error.message)
  const store = JsonlSessionStore.open(server.agent.file, { readOnly: true })
  expect(store.damage).toEqual([])
  for (const { message } of store.entries().slice(before)) tree.append(fromStored(message))
  return tree.currentPath().at(-1) as core.AssistantMessage
}

afterAll(async () => {
  for (const session of sessions.values()) await (await session).server.end()
})

describe("through HTTP", () => {
  const chapter = new Driver(12, "s12", { ...core, runOneTurn })
  const text = fs.readFileSync(path.join(ROOT, "s12_packages/code.ts"), "utf8")
  for (const id of ["I1", "I2", "I3", "I4", "I5"] as const) {
    test.each(propertiesOf(id, chapter).map((property) => [property.title, property] as const))(
      `${id}: %s`,
      (_title, property) =>
        property.check({ chapter, text }, { runs: RUNS, seed: Number(process.env.INVARIANT_SEED), shrink: false }),
    )
  }
})
