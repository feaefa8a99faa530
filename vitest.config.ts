import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "threads",
    isolate: false,
    typecheck: {
      enabled: true,
      checker: "tsc",
      include: ["test/contracts/*.test-d.ts"],
      tsconfig: "test/contracts/tsconfig.json",
    },
    reporters: ["dot", "./test/support/matrix-reporter.ts"],
  },
})
