/**
 * The two tiers of the tests. The fast one, `npm test`, has for each kind of fault something that finds it; the deep one, `npm run test:deep`,
 * tries every place and starts every process. The configuration of vitest says which one this is.
 */

/** Whether this is the deep tier. */
export const DEEP: boolean = process.env.TEST_TIER === "deep"

/** In the deep tier all of these, in the fast one the first and the last. */
export function ends<T>(items: readonly T[]): T[] {
  return DEEP ? [...items] : items.filter((_item, index) => index === 0 || index === items.length - 1)
}
