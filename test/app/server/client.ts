/** A server on a project of its own, and real clients of it. */
import fs from "node:fs"
import http from "node:http"
import os from "node:os"
import path from "node:path"
import { EventSource } from "eventsource"
import { Agent, type AgentOptions } from "../../../app/agent/agent.ts"
import { mockSlot } from "../../../app/choose-model.ts"
import type { AgentEvent, SessionState } from "../../../app/protocol.ts"
import { createAgentServer, listen, type ServerOptions } from "../../../app/server.ts"
import type { Provider } from "../../../s12_packages/code.ts"

/** An answer to a request. */
export type Answer<Body = SessionState> = { status: number; body: Body; headers: http.IncomingHttpHeaders }

/** A running server. */
export class TestServer {
  readonly folder: string
  readonly agent: Agent
  readonly url: string
  #close: () => Promise<void>

  private constructor(folder: string, agent: Agent, url: string, close: () => Promise<void>) {
    this.folder = folder
    this.agent = agent
    this.url = url
    this.#close = close
  }

  static async start(
    options: Partial<AgentOptions & ServerOptions> & { provider?: Provider; folder?: string; port?: number } = {},
  ): Promise<TestServer> {
    const folder = options.folder ?? fs.mkdtempSync(path.join(os.tmpdir(), "server 项目-"))
    fs.mkdirSync(path.join(folder, "project", "workspace"), { recursive: true })
    fs.writeFileSync(path.join(folder, "project", "workspace", "todo.md"), "buy milk\n")
    const { provider } = options
    const model =
      options.model ?? (provider ? { name: "test", summarizes: false, connect: () => provider } : mockSlot(0))
    const agent = await Agent.open({
      ...options,
      project: path.join(folder, "project"),
      home: path.join(folder, "home"),
      model,
    })
    const { server, close } = createAgentServer({ ...options, agent })
    return new TestServer(folder, agent, await listen(server, options.port ?? 0), close)
  }

  /** Stops the server and lets the project be. */
  async stop(): Promise<void> {
    await this.#close()
  }

  /** Stops the server and removes the project. */
  async end(): Promise<void> {
    await this.stop()
    fs.rmSync(this.folder, { recursive: true, force: true })
  }

  /** A request, with nothing in it but what is said: no client that is too kind stands between. */
  request<Body = SessionState>(
    method: string,
    route: string,
    { body, headers = {}, raw }: { body?: unknown; headers?: Record<string, string>; raw?: string } = {},
  ): Promise<Answer<Body>> {
    const data = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const typed =
      data === undefined
        ? {}
        : { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(data)) }
    return new Promise((resolve, reject) => {
      const request = http.request(`${this.url}${route}`, { method, headers: { ...typed, ...headers } }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => (text += part))
        response.on("end", () => {
          const isJson = response.headers["content-type"]?.includes("json")
          resolve({
            status: response.statusCode ?? 0,
            body: (isJson ? JSON.parse(text) : text) as Body,
            headers: response.headers,
          })
        })
      })
      request.on("error", reject)
      request.end(data)
    })
  }

  get(route: string): Promise<Answer> {
    return this.request("GET", route)
  }

  post<Body = SessionState>(route: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.request<Body>("POST", route, { body, ...(headers && { headers }) })
  }

  /** Starts a run and gives its id. */
  async start(prompt: string): Promise<string> {
    const { body, status } = await this.post<{ runId: string }>("/api/runs", { prompt })
    if (status !== 202) throw new Error(`the run did not start: ${JSON.stringify(body)}`)
    return body.runId
  }

  /** Listens to a run with a real client of server-sent events, until it is over. `onEvent` hears each event as it comes. */
  listen(
    runId: string,
    onEvent: (event: AgentEvent, id: number) => void = () => {},
  ): Promise<{ events: AgentEvent[]; ids: number[] }> {
    const source = new EventSource(`${this.url}/api/runs/${runId}/events`)
    const [events, ids]: [AgentEvent[], number[]] = [[], []]
    return new Promise((resolve, reject) => {
      source.addEventListener("message", ({ data, lastEventId }) => {
        const event = JSON.parse(data) as AgentEvent
        events.push(event)
        ids.push(Number(lastEventId))
        onEvent(event, Number(lastEventId))
        if (event.type !== "run_done") return
        source.close()
        resolve({ events, ids })
      })
      source.addEventListener("error", ({ code, message }) => {
        if (code === undefined) return
        source.close()
        reject(new Error(`${code} ${message}`))
      })
    })
  }
}
