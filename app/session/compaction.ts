/**
 * How much of a history fits into a request. Pure functions: the same history and the same budget give the same result, to the byte (I5).
 *
 * A group is a message of the person and all that it led to. Groups are atomic, so that calls and results are never parted (I2). What is kept is
 * the longest run of whole groups at the end: to pick groups here and there would tell the model a story with gaps.
 */
import { type AgentMessage, assertPairedToolCalls } from "../../s12_packages/code.ts"

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
