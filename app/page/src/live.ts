/** What the page knows of a run that is going on, event by event. */
import type { AgentEvent, MessageRecord, Question } from "../../protocol.ts"

/** A run as it is shown. */
export type Live = {
  /** The text of the message that is arriving. */
  text: string
  /** What was recorded so far. */
  records: MessageRecord[]
  events: AgentEvent[]
  question: Question | undefined
}

/** A run of which nothing is known yet. */
export const NOTHING: Live = { text: "", records: [], events: [], question: undefined }

/** The run, with one more event. */
export function take(live: Live, event: AgentEvent): Live {
  if (event.type === "text_delta") return { ...live, text: live.text + event.text }
  const next = { ...live, events: [...live.events, event] }
  if (event.type === "run_start") return { ...NOTHING, events: [event] }
  if (event.type === "message_start") return { ...next, text: "" }
  if (event.type === "message") return { ...next, text: "", records: [...live.records, event.record] }
  if (event.type === "question") return { ...next, question: event.question }
  if (event.type === "answer") return { ...next, question: undefined }
  return next
}
