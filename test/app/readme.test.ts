/** Does what the pages of the app say: every `curl` of them, the model of a dozen lines, and the session file line by line. */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createProvider, type TeachingModel } from "../../app/agent/model.ts"
import { JsonlSessionStore } from "../../app/session/session-store.ts"
import { requestMessage } from "../../s12_packages/code.ts"
import { type Block, readMarkdown } from "../../scripts/books/markdown.ts"
import { ROOT } from "../support/ladder.ts"
import { TestServer } from "./server/client.ts"

const never = new Promise<never>(() => {})

const PAGES = ["app/README.md", "app/README.en.md"]

const blocksOf = (page: string, language: string): Block[] =>
  readMarkdown(fs.readFileSync(path.join(ROOT, page), "utf8")).blocks.filter((block) => block.language === language)
const textOf = ({ lines }: Block): string => lines.map(({ text }) => text).join("\n")

/** The parts of a `curl`: only what the pages use. */
function readCurl(line: string): { method: string; route: string; body?: unknown } {
  const [, method = "GET", route = "", , data] =
    /^curl(?: -N)?(?: -X (\w+))? http:\/\/127\.0\.0\.1:3210(\/\S*)( -H "Content-Type: application\/json" -d '(.*)')?$/.exec(
      line,
    ) ?? []
  if (route === "") throw new Error(`the test does not understand: ${line}`)
  return { method, route, ...(data !== undefined && { body: JSON.parse(data) }) }
}

describe.each(PAGES)("%s", (page) => {
  let server: TestServer
  beforeEach(async () => {
    server = await TestServer.start()
  })
  afterEach(() => server.end())

  test("every curl of it is answered, in its order, and every route has one", async () => {
    const lines = blocksOf(page, "sh")
      .flatMap((block) => textOf(block).split("\n"))
      .filter((line) => line.startsWith("curl"))
    let runId = ""
    for (const line of lines) {
      const { method, route, body } = readCurl(line.replace("RUN_ID", runId))
      const answer = await server.request<{ runId?: string }>(method, route, { body })
      expect([line, answer.status]).toEqual([line, expect.toBeOneOf([200, 202])])
      if (route === "/api/runs") runId = answer.body.runId ?? ""
      if (route.endsWith("/events")) expect(String(answer.body)).toContain('"type":"run_done"')
    }
    const shown = lines.map((line) => readCurl(line).route.replace("RUN_ID", ":runId"))
    const { rows } = readMarkdown(fs.readFileSync(path.join(ROOT, page), "utf8"))
    const paths = rows.map(({ cells }) => (cells[1]?.text ?? "").replaceAll("`", ""))
    const routes = paths.filter((text) => text.startsWith("/api"))
    expect(routes).toHaveLength(9)
    const unseen = routes.filter((route) => !shown.includes(route))
    expect(unseen).toEqual(["/api/runs/:runId/answers", "/api/runs/:runId"])
  })

  test("its error is what the server says, to the letter", async () => {
    const [error] = blocksOf(page, "json")
      .map(textOf)
      .filter((text) => text.startsWith('{ "error"'))
    const { agent } = server
    agent.model = { name: "silent", connect: () => ({ stream: () => never }) as never }
    const run = agent.start("hello")
    const { body } = await server.post("/api/prompt", { prompt: "hello" })
    expect(body).toEqual(JSON.parse(error ?? ""))
    run.cancel()
    await run.done
  })

  test("its session file is one, and each line does what is said of it", () => {
    const [block] = blocksOf(page, "json")
      .map(textOf)
      .filter((text) => text.startsWith('{"type":"session"'))
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "readme-"))
    const file = path.join(folder, "session.jsonl")
    fs.writeFileSync(file, `${block}\n`)
    const store = JsonlSessionStore.open(file)
    expect([store.damage, store.leafId, store.entries().length]).toEqual([[], "entry_5", 5])
    expect(store.path().map(({ id }) => id)).toEqual(["entry_1", "entry_5"])
    expect(store.buildContext().map(({ content }) => content)).toEqual([expect.stringContaining("The list was read.")])
    expect(fs.readFileSync(file, "utf8")).toBe(`${block}\n`)
    store.close()
    fs.rmSync(folder, { recursive: true })
  })

  test("its model answers", async () => {
    const [block] = blocksOf(page, "ts").map(textOf)
    const body = block?.replace(/^import .*$/m, "").replace(": TeachingModel", "") ?? ""
    const make = new Function("createProvider", `${body}\nreturn echo`) as (
      create: typeof createProvider,
    ) => TeachingModel
    const provider = createProvider(make(createProvider))
    const input = { messages: [{ role: "user" as const, content: "hi" }], tools: [], systemPrompt: "" }
    expect(await requestMessage(provider, input)).toEqual({
      role: "assistant",
      content: "You said: hi",
      stopReason: "stop",
    })
  })
})
