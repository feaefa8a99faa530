/**
 * How much of a history fits into a request, and what is told in place of the rest. The same history and the same budget give the same cut, to the
 * byte (I5).
 *
 * A group is a message of the person and all that it led to. Groups are atomic, so that calls and results are never parted (I2). What is kept is
 * the longest run of whole groups at the end: to pick groups here and there would tell the model a story with gaps.
 */
import {
  type AgentMessage,
  type AssistantMessage,
  assertPairedToolCalls,
  cutText,
  failMessage,
} from "../../s12_packages/code.ts"
import type { CompactionRecord } from "../protocol.ts"
import { fromStored } from "./convert.ts"
import { type JsonlSessionStore, SUMMARY_HEADING, summaryMessage } from "./session-store.ts"

/** Messages that belong together, oldest first. Only the first group of a history may start with something else than the person's words. */
export type Interaction<Message extends AgentMessage = AgentMessage> = readonly Message[]

/** What is left of a history under a budget. */
export type Selection<Message extends AgentMessage = AgentMessage> = {
  /** Groups that do not fit; they are for the summary. Oldest first. */
  dropped: Interaction<Message>[]
  /** The groups that are sent. Oldest first. */
  kept: Interaction<Message>[]
  /** What the kept groups cost, in the unit of the counter. */
  cost: number
}

/**
 * Cuts a history in front of each message of the person. Throws, with the place, for a history in which a call and its result are not together:
 * whoever cut it would part them.
 */
export function groupInteractions<Message extends AgentMessage>(messages: readonly Message[]): Interaction<Message>[] {
  assertPairedToolCalls(messages)
  const groups: Message[][] = []
  for (const message of messages) {
    const open = groups.at(-1)
    if (open === undefined || message.role === "user") groups.push([message])
    else open.push(message)
  }
  return groups
}

/** How a refusal begins: what came, as it was written. */
function must(what: string, came: unknown): string {
  return `${what} is ${typeof came === "string" ? JSON.stringify(came) : String(came)}, expected`
}

/**
 * Keeps the longest suffix of whole groups whose cost stays within `budget`. Throws for a budget that is no number, or a counter that does not
 * count: a cost must be a number that is not negative.
 */
export function selectGroups<Message extends AgentMessage>(
  groups: readonly Interaction<Message>[],
  budget: number,
  countTokens: (group: Interaction<Message>) => number,
): Selection<Message> {
  if (typeof budget !== "number" || Number.isNaN(budget)) throw new RangeError(`${must("the budget", budget)} a number`)
  let cost = 0
  let first = groups.length
  while (first > 0) {
    const group = groups[first - 1] as Interaction<Message>
    const price = countTokens(group)
    if (typeof price !== "number" || !(price >= 0))
      throw new RangeError(`${must("the cost of a group", price)} a number from 0 on`)
    if (cost + price > budget) break
    cost += price
    first--
  }
  return { dropped: groups.slice(0, first), kept: groups.slice(first), cost }
}

/** Makes a summary of messages that will be left out, oldest first. With `stopReason` other than `stop` it is none. */
export type Summarize = (messages: readonly AgentMessage[]) => Promise<AssistantMessage> | AssistantMessage

/** What a compaction goes by. All costs are in the unit of the counter. */
export type CompactionOptions = {
  /** What a request may cost. */
  budget: number
  /** What a request costs without any message: system prompt, tools, room for the answer. */
  fixedCost: number
  /** What the groups that are kept may cost together, so that the next prompts fit, too. Without it, as much as there is room for. */
  keep?: number
  countTokens: (messages: readonly AgentMessage[]) => number
  summarize: Summarize
}

/** What came of a compaction, and why there is none. */
export type CompactionResult =
  | { done: true; record: CompactionRecord }
  | { done: false; reason: "not needed" | "no progress" | "the session moved" }
  | { done: false; reason: "no summary"; why: string }

/** A cheap estimate: four bytes to a token, and a few tokens for each message. Bytes, since a Chinese character is most of a token by itself. */
export function estimateTokens(messages: readonly AgentMessage[]): number {
  return messages.reduce((sum, message) => sum + 4 + Math.ceil(Buffer.byteLength(JSON.stringify(message)) / 4), 0)
}

/** When a summary has come to cost more than this part of the room, it is summarized again itself. */
const SUMMARY_PART = 1 / 4

/**
 * Compacts the branch on which a session stands, if its context does not fit the budget: the longest suffix of whole groups that fits beside the last
 * summary stays as it is, what is in front of it goes into a summary, and one record is appended. Nothing of the session goes. A summary that is
 * empty, failed or cut off appends nothing, nor does one with which the context gets no smaller; and where nothing could be left out nobody is asked
 * for one. Rejects for a budget or a counter that is no number.
 */
export async function compact(store: JsonlSessionStore, options: CompactionOptions): Promise<CompactionResult> {
  const { budget, fixedCost, keep = Number.POSITIVE_INFINITY, countTokens } = options
  const { summary, records } = store.keptPath()
  const messages = records.map(({ message }) => fromStored(message))
  const tokensBefore = fixedCost + countTokens(store.buildContext())
  if (tokensBefore <= budget) return { done: false, reason: "not needed" }
  const told = summary === undefined ? [] : [summaryMessage(summary)]
  const [room, spent] = [budget - fixedCost, countTokens(told)]
  const { dropped, kept } = selectGroups(groupInteractions(messages), Math.min(room - spent, keep), countTokens)
  const left = dropped.flat()
  const entryId = store.leafId
  if (left.length === 0 || entryId === null) return { done: false, reason: "no progress" }
  // What the last compaction said is kept word for word, since a summary of a summary loses a little each time; until it has grown too long.
  const isLong = spent > room * SUMMARY_PART
  const answer = await summarizeSafely(options.summarize, isLong ? [...told, ...left] : left)
  const why = findSummaryProblem(answer)
  if (why !== undefined) return { done: false, reason: "no summary", why }
  if (store.leafId !== entryId) return { done: false, reason: "the session moved" }
  const whole = summary === undefined || isLong ? answer.content : `${summary}\n\n${answer.content}`
  const after = fixedCost + countTokens([summaryMessage(whole), ...kept.flat()])
  if (!(after < tokensBefore)) return { done: false, reason: "no progress" }
  const firstKeptEntryId = kept.length === 0 ? null : (records[left.length]?.id ?? null)
  return { done: true, record: store.appendCompaction({ entryId, summary: whole, firstKeptEntryId, tokensBefore }) }
}

async function summarizeSafely(summarize: Summarize, messages: readonly AgentMessage[]): Promise<AssistantMessage> {
  try {
    return await summarize(messages)
  } catch (error) {
    return failMessage("", error)
  }
}

/** Why an answer is no summary; undefined when it is one. */
function findSummaryProblem({ content, stopReason, toolCalls }: AssistantMessage): string | undefined {
  if (stopReason === "error") return content
  if (toolCalls !== undefined || stopReason !== "stop") return "the model asked for tools instead"
  return content.trim() === "" ? "the model said nothing" : undefined
}

/**
 * A summary without a model: what was asked, which tools ran, and how it ended, a line for each. The lines of an earlier summary stay; where there come
 * to be too many, the first of them go, and a line says so. The same messages give the same lines.
 */
export function outline(messages: readonly AgentMessage[]): AssistantMessage {
  const lines = groupInteractions(messages).flatMap((group) => {
    const [first, ...rest] = group
    if (first?.role !== "user" || !first.content.startsWith(SUMMARY_HEADING)) return [outlineGroup(group)]
    const told = first.content.split("\n").slice(1)
    return rest.length === 0 ? told : [...told, outlineGroup(rest)]
  })
  const last = lines.length > MAX_OUTLINE_LINES ? [LINES_GONE, ...lines.slice(1 - MAX_OUTLINE_LINES)] : lines
  return { role: "assistant", content: last.join("\n"), stopReason: "stop" }
}

function outlineGroup(group: Interaction): string {
  const asked = group[0]?.role === "user" ? group[0].content : ""
  const calls = group.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
  const answer = group.findLast((message) => message.role === "assistant")?.content ?? ""
  const made = calls.map(({ name, input }) => [name, ...Object.values(input)].join(" ")).join("; ")
  const tools = calls.length === 0 ? "" : ` [${shorten(made)}]`
  return `- asked: ${shorten(asked)}${tools} → ${shorten(answer)}`
}

/** The beginning of a text, in one line. */
function shorten(text: string): string {
  return cutText(text.replace(/\s+/g, " ").trim(), MAX_OUTLINE_CHARS).split("\n")[0] ?? ""
}

/** How much of a text an outline keeps, in characters, and how many lines there are at most. */
const MAX_OUTLINE_CHARS = 160
const MAX_OUTLINE_LINES = 40

const LINES_GONE = "[earlier lines are only in the session]"
