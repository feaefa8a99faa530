/** What goes wrong between us and a service, as one readable sentence: no class, no field and no secret of a vendor gets further. */

/** A failure whose message is for people, whatever stands around it. */
export class ServiceError extends Error {}

/** How many characters of a sentence are shown. */
const SHOWN = 400

/** A foreign text on one line, without tags. */
export function toLine(text: string): string {
  const isPage = /<(!doctype|html|head|body|title|h1)\b/i.test(text)
  const plain = isPage ? text.replaceAll(/<style.*?<\/style>|<[^>]*>/gis, " ") : text
  return plain.replaceAll(/\s+/g, " ").trim()
}

/** The sentence in the error object of a service. The services agree on `message` and on little else. */
function findMessage(body: unknown): string | undefined {
  if (typeof body === "string") return body.trim() === "" ? undefined : body
  if (typeof body !== "object" || body === null) return undefined
  if (Array.isArray(body)) return findMessage(body[0])
  const { error, message, detail } = body as Record<string, unknown>
  return findMessage(error) ?? findMessage(message) ?? findMessage(detail)
}

/** What the body of a failed answer says: JSON of any shape, HTML or plain text. */
export function describeBody(text: string): string {
  try {
    return toLine(findMessage(JSON.parse(text)) ?? text)
  } catch {
    return toLine(text)
  }
}

/** The errors that led to this one, the first cause last. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let next = error; next instanceof Error && !chain.includes(next); ) {
    chain.push(next)
    next = next.cause ?? (next instanceof AggregateError ? next.errors[0] : undefined)
  }
  return chain
}

/** What the first cause of an error says: the errors above it mostly say that there was one. */
export function rootMessage(error: unknown): string {
  const root = causesOf(error).at(-1) as (Error & { code?: unknown }) | undefined
  return toLine(root?.message || String(root?.code ?? error))
}

/** A sentence for whatever an SDK or the network has thrown. The key never stands in it, not even a part that a cut would leave. */
export function describeFailure(error: unknown, key = ""): string {
  const known = causesOf(error).find((cause) => cause instanceof ServiceError)
  let text = known?.message ?? `the request to the model failed: ${rootMessage(error)}`
  for (const secret of [key, toLine(key)]) if (secret !== "") text = text.replaceAll(secret, "***")
  return (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text).toWellFormed()
}
