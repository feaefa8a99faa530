/** The server, as the page knows it. */
import type { AgentEvent, ApiError, SessionState } from "../../protocol.ts"

/** What the server says no with. */
export class ServerError extends Error {}

async function request<Body>(method: string, route: string, body?: unknown): Promise<Body> {
  const response = await fetch(`/api/${route}`, {
    method,
    ...(body !== undefined && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as Body | ApiError
  if (!response.ok) throw new ServerError((answer as ApiError).error.message)
  return answer as Body
}

/** The whole state. */
export function getSession(): Promise<SessionState> {
  return request("GET", "session")
}

/** Starts a run and gives its id. */
export async function startRun(prompt: string): Promise<string> {
  return (await request<{ runId: string }>("POST", "runs", { prompt })).runId
}

export function cancelRun(runId: string): Promise<SessionState> {
  return request("DELETE", `runs/${runId}`)
}

export function answerQuestion(runId: string, questionId: string, allowed: boolean): Promise<unknown> {
  return request("POST", `runs/${runId}/answers`, { questionId, allowed })
}

export function branch(entryId: string | null): Promise<SessionState> {
  return request("POST", "branch", { entryId })
}

export function reset(): Promise<SessionState> {
  return request("POST", "reset")
}

export function setTrust(trust: "trusted" | "untrusted"): Promise<SessionState> {
  return request("POST", "trust", { trust })
}

/**
 * Listens to a run from its first event on. The browser comes back by itself when the line breaks, and goes on behind the last event that it heard. Gives
 * the function that stops listening.
 */
export function listen(
  runId: string,
  onEvent: (event: AgentEvent) => void,
  onLine: (isThere: boolean) => void,
): () => void {
  const source = new EventSource(`/api/runs/${runId}/events`)
  source.onopen = () => onLine(true)
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data) as AgentEvent
    if (event.type === "run_done") source.close()
    onEvent(event)
  }
  source.onerror = () => onLine(source.readyState === EventSource.OPEN)
  return () => source.close()
}
