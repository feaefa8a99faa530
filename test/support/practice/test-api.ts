/**
 * What the tests of the chapters take from vitest, made from its own parts: its runner and its assertions, without its server. The bundle of
 * practice puts this file in the place of "vitest", so that one file of a reader is judged in a moment.
 */
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  type ExpectStatic,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from "@vitest/expect"

export { describe, test } from "@vitest/runner"

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

/** The assertions of vitest. */
export const expect: ExpectStatic = ((value: unknown, message?: string) =>
  chai.expect(value, message)) as unknown as ExpectStatic

const shared = globalThis as unknown as Record<symbol, object>
Object.assign(expect, chai.expect, shared[ASYMMETRIC_MATCHERS_OBJECT])
shared[GLOBAL_EXPECT] = expect
// As vitest does it: the plugin adds a function that wants to know whose assertions it extends.
const plain = chai.expect as unknown as { extend: (whose: ExpectStatic, matchers: object) => void }
expect.extend = (matchers) => plain.extend(expect, matchers)
setState({ assertionCalls: 0, isExpectingAssertions: false }, expect)
expect.extend(customMatchers)
