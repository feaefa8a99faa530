/** The core writes through `Output` only (R7): in a test, any call of the console is a failure. */
import { afterEach, beforeEach, expect, vi } from "vitest"

const METHODS = ["log", "info", "warn", "error", "debug"] as const
const calls: unknown[][] = []

beforeEach(() => {
  calls.length = 0
  for (const method of METHODS)
    vi.spyOn(console, method).mockImplementation((...args) => void calls.push([method, ...args]))
})

afterEach(() => {
  vi.restoreAllMocks()
  expect(calls).toEqual([])
})
