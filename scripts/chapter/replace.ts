/** Replaces a text that must stand there exactly once. Gives nothing where it does not, or stands there several times. */
export function replaceOnly(text: string, from: string, to: string): string | undefined {
  const parts = text.split(from)
  return parts.length === 2 ? parts.join(to) : undefined
}
