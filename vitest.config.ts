import { defineConfig, type ViteUserConfig } from "vitest/config"

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/no-console.ts"],
    pool: "threads",
    maxWorkers: "100%",
    isolate: false,
    // A busy or slow machine is no failure; these only end what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    typecheck: {
      enabled: true,
      checker: "tsc",
      include: ["test/contracts/*.test-d.ts"],
      tsconfig: "test/contracts/tsconfig.json",
    },
    reporters: ["dot", "./test/support/matrix-reporter.ts"],
  },
})

export default config
