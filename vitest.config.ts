import { defineConfig, type ViteUserConfigFnObject } from "vitest/config"

// Vite takes paths for addresses, where these characters end a path; it would fail on the first file, with a stack that names none of them.
const special = /[#%?]/.exec(import.meta.dirname)?.[0]
if (special !== undefined) {
  console.error(
    `error: the tests cannot run below a folder with "${special}" in its name, got "${import.meta.dirname}"`,
  )
  process.exit(2)
}

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => ({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/no-console.ts"],
    pool: "threads",
    maxWorkers: "100%",
    isolate: false,
    // A package that is imported as a whole is itself, and not a proxy that slows every look at the parser.
    deps: { interopDefault: false },
    // A busy or slow machine is no failure; these only end what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    env: {
      TEST_TIER: mode === "deep" ? "deep" : "fast",
      INVARIANT_SEED: process.env.INVARIANT_SEED ?? String(Date.now() % 2 ** 31),
    },
    // The fast tier asks the compiler once, before the tests.
    typecheck: {
      enabled: mode === "deep",
      checker: "tsc",
      include: ["test/contracts/*.test-d.ts"],
      tsconfig: "test/contracts/tsconfig.json",
    },
    diff: { expand: false, contextLines: 3 },
    reporters: ["./test/support/reporter.ts"],
  },
}))

export default config
