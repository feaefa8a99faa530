/** The HTTP API, and the page that is served beside it. It listens on this machine only, and answers its own page and programs only. */
import fs from "node:fs"
import { createServer, type Server } from "node:http"
import path from "node:path"
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from "express"
import { z } from "zod"
import { describeError } from "../s12_packages/code.ts"
import { type Agent, AgentError, type Run } from "./agent/agent.ts"
import type { Ask } from "./agent/tool-policy.ts"
import type { AgentEvent, ApiError, Question } from "./protocol.ts"
import { type RunRecord, RunRecords } from "./runs.ts"

/** What a server is made of. */
export type ServerOptions = {
  agent: Agent
  /** The folder of the page, as it was built. Without it there is no page. */
  page?: string
  /** How long a question waits for an answer, in milliseconds. */
  patience?: number
  /** How long a question waits for a page that was reloaded, in milliseconds. */
  grace?: number
}

/** An HTTP server that can be stopped at once. */
export type AgentServer = {
  server: Server
  /** Cancels the run, lets go of the session and ends every line. */
  close(): Promise<void>
}

/** The longest body that is read. */
const MAX_BODY = "256kb"

const FIVE_MINUTES = 300_000
const TEN_SECONDS = 10_000

/** How many answers to repeated requests are remembered. */
const MAX_KEYS = 100

const promptBody = z.strictObject({ prompt: z.string().trim().min(1, "expected words").max(100_000) })
const branchBody = z.strictObject({ entryId: z.string().min(1).nullable() })
const answerBody = z.strictObject({ questionId: z.string().min(1), allowed: z.boolean() })
const trustBody = z.strictObject({ trust: z.enum(["trusted", "untrusted"]) })

/** A request that is refused. */
class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const STATUS: Readonly<Record<AgentError["code"], number>> = {
  busy: 409,
  "unknown entry": 404,
  "cannot move": 409,
  disk: 507,
}

function readBody<Shape>(schema: z.ZodType<Shape>, request: Request): Shape {
  const { data, error } = schema.safeParse(request.body)
  if (error !== undefined) throw new Refusal(400, "bad_request", z.prettifyError(error))
  return data as Shape
}

/** The names under which this machine alone reaches a port. A browser leaves out the port that http has anyway. */
export function hostsOf(port: number | undefined): string[] {
  const names = ["127.0.0.1", "localhost", "[::1]"]
  return [...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])]
}

/**
 * Whether a request is meant for this server. A page of another site can make a browser send requests here, under a foreign `Origin`, or, when it has
 * its own name point here, under a foreign `Host`.
 */
const checkOrigin: RequestHandler = (request, _response, next) => {
  const names = hostsOf(request.socket.localPort)
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host")
  const host = request.headers.host ?? ""
  if (hosts.length !== 1 || !names.includes(host))
    throw new Refusal(403, "foreign_host", `expected the host ${names[0]}`)
  const { origin } = request.headers
  const site = request.headers["sec-fetch-site"]
  const isOwn = origin === undefined || origin === `http://${host}`
  if (!isOwn || (site !== undefined && site !== "same-origin" && site !== "none"))
    throw new Refusal(403, "foreign_origin", "this server answers its own page only")
  next()
}

const checkType: RequestHandler = (request, _response, next) => {
  const hasBody =
    request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0
  if (request.method === "POST" && hasBody && !request.is("application/json"))
    throw new Refusal(415, "unsupported_type", "expected a body of the type application/json")
  next()
}

const setHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    "Content-Security-Policy":
      "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
  })
  next()
}

/** Tells in one form what went wrong, and never where in the program. */
const tellError: ErrorRequestHandler = (error, _request, response, next) => {
  if (response.headersSent) return next(error)
  const { status, code, message } = describeRefusal(error)
  const body: ApiError = { error: { code, message } }
  response.status(status).json(body)
}

function describeRefusal(error: unknown): { status: number; code: string; message: string } {
  if (error instanceof Refusal) return error
  if (error instanceof AgentError)
    return { status: STATUS[error.code], code: error.code.replaceAll(" ", "_"), message: error.message }
  const { status, type } = error as { status?: number; type?: string }
  if (type === "entity.too.large") return { status: 413, code: "too_large", message: `a body may have ${MAX_BODY}` }
  if (status !== undefined && status >= 400 && status < 500)
    return {
      status,
      code: "bad_request",
      message: type === "entity.parse.failed" ? "the body is no JSON" : "the request cannot be read",
    }
  return { status: 500, code: "failed", message: describeError(error) }
}

/** Questions that wait for the person, each under its run. */
class Questions {
  #waiting = new Map<string, (allowed: boolean) => void>()

  /** Gives the function that asks, for one run. A question that nobody can see, or that nobody answers in time, is answered with no. */
  askFor(runId: string, record: RunRecord, { patience, grace }: { patience: number; grace: number }): Ask {
    return (question: Question) =>
      new Promise((resolve) => {
        const key = `${runId} ${question.id}`
        let deserted: NodeJS.Timeout | undefined
        const answer = (allowed: boolean): void => {
          clearTimeout(late)
          clearTimeout(deserted)
          record.onDeserted = undefined
          this.#waiting.delete(key)
          resolve(allowed)
        }
        const late = setTimeout(answer, patience, false)
        late.unref()
        const wait = (): void => {
          clearTimeout(deserted)
          deserted = setTimeout(() => record.hasListeners || answer(false), grace)
          deserted.unref()
        }
        record.onDeserted = wait
        this.#waiting.set(key, answer)
        if (!record.hasListeners) wait()
      })
  }

  /** Takes an answer. Says whether this run had asked that. */
  answer(runId: string, id: string, allowed: boolean): boolean {
    const answer = this.#waiting.get(`${runId} ${id}`)
    answer?.(allowed)
    return answer !== undefined
  }
}

/** The routes, on an agent. */
function createApp(options: ServerOptions, records: RunRecords): Express {
  const { agent, patience = FIVE_MINUTES, grace = TEN_SECONDS } = options
  const questions = new Questions()
  const repeats = new Map<string, Run>()
  const app = express()
  app.disable("x-powered-by")
  app.use(setHeaders, checkOrigin, checkType, express.json({ limit: MAX_BODY }))

  /** Starts a run and keeps what happens in it. The same request again, by its `Idempotency-Key`, gets the same run. */
  const start = (request: Request, canAsk: boolean): Run => {
    const { prompt } = readBody(promptBody, request)
    const key = request.get("idempotency-key")
    const known = key === undefined ? undefined : repeats.get(key)
    if (known !== undefined) return known
    const early: AgentEvent[] = []
    let record: RunRecord | undefined
    const ask: Ask = (question) =>
      record ? questions.askFor(run.id, record, { patience, grace })(question) : Promise.resolve(false)
    const run = agent.start(prompt, {
      ...(canAsk && { ask }),
      onEvent: (event) => (record === undefined ? early.push(event) : record.add(event)),
    })
    record = records.create(run.id)
    for (const event of early) record.add(event)
    if (key !== undefined) repeats.set(key, run)
    for (const old of [...repeats.keys()].slice(0, -MAX_KEYS)) repeats.delete(old)
    return run
  }

  const findRecord = ({ params }: Request): RunRecord => {
    const record = records.get(String(params.runId))
    if (record === undefined) throw new Refusal(404, "unknown_run", "there is no such run")
    return record
  }

  app.get("/api/session", (_request, response) => {
    response.set("Cache-Control", "no-store").json(agent.state())
  })
  app.post("/api/prompt", async (request, response) => {
    await start(request, false).done
    response.json(agent.state())
  })
  app.post("/api/runs", (request, response) => {
    const run = start(request, true)
    // Should it end badly, its listeners hear of it.
    run.done.catch((error: unknown) =>
      records.get(run.id)?.add({ type: "run_done", stopReason: "error", text: `error: ${describeError(error)}` }),
    )
    response.status(202).json({ runId: run.id })
  })
  app.get("/api/runs/:runId/events", (request, response) => {
    const last = /^\d{1,9}$/.exec(request.get("last-event-id") ?? String(request.query.lastEventId ?? ""))
    findRecord(request).listen(response, Number(last?.[0] ?? 0))
  })
  app.post("/api/runs/:runId/answers", (request, response) => {
    findRecord(request)
    const { questionId, allowed } = readBody(answerBody, request)
    if (!questions.answer(String(request.params.runId), questionId, allowed))
      throw new Refusal(404, "unknown_question", "nobody is asking that any more")
    response.json({ ok: true })
  })
  app.delete("/api/runs/:runId", async (request, response) => {
    findRecord(request)
    const run = agent.run?.id === request.params.runId ? agent.run : undefined
    run?.cancel()
    await run?.done.catch(() => {})
    response.json(agent.state())
  })
  app.post("/api/branch", (request, response) => {
    agent.branch(readBody(branchBody, request).entryId)
    response.json(agent.state())
  })
  app.post("/api/reset", async (_request, response) => {
    await agent.reset()
    response.json(agent.state())
  })
  app.post("/api/trust", async (request, response) => {
    await agent.setTrust(readBody(trustBody, request).trust)
    response.json(agent.state())
  })
  app.use("/api", () => {
    throw new Refusal(404, "unknown_route", "there is no such route")
  })
  if (options.page !== undefined && fs.existsSync(options.page)) servePage(app, options.page)
  else
    app.get(
      "/",
      (_request, response) => void response.type("text").send("The page is not built: npm run serve builds it.\n"),
    )
  app.use((_request: Request, _response: Response) => {
    throw new Refusal(404, "not_found", "there is nothing here")
  })
  app.use(tellError)
  return app
}

function servePage(app: Express, page: string): void {
  app.use(express.static(page, { index: "index.html", dotfiles: "deny", redirect: false, cacheControl: false }))
}

/** Makes the server. It is not listening yet. */
export function createAgentServer(options: ServerOptions): AgentServer {
  const records = new RunRecords()
  const server = createServer(createApp(options, records))
  const close = async (): Promise<void> => {
    await options.agent.close()
    records.close()
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  return { server, close }
}

/** Lets a server listen on this machine, and gives its address. Throws a sentence when the port is taken. */
export function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = `port ${port} is in use: choose another one with PORT, such as PORT=${port + 1}`
      reject(new Error(error.code === "EADDRINUSE" ? taken : error.message))
    })
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`)
    })
  })
}

/** The folder into which the page is built. */
export const PAGE: string = path.join(import.meta.dirname, "page", "dist")
