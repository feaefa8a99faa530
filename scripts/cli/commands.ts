/** The commands, by the names that package.json gives them. Each is loaded when it is needed. */
import type { Command } from "./terminal.ts"

/** The name of a command. */
export type CommandName =
  | "check"
  | "check:mutants"
  | "carry"
  | "diff"
  | "docs"
  | "exercise"
  | "lab"
  | "ladder"
  | "practice"
  | "test"

/** Loads a command. */
export const COMMANDS: Readonly<Record<CommandName, () => Promise<{ command: Command }>>> = {
  check: () => import("./check.ts"),
  "check:mutants": () => import("./check-mutants.ts"),
  carry: () => import("./carry.ts"),
  diff: () => import("./diff.ts"),
  docs: () => import("./docs.ts"),
  exercise: () => import("./exercise.ts"),
  lab: () => import("./lab.ts"),
  ladder: () => import("./ladder.ts"),
  practice: () => import("./practice.ts"),
  test: () => import("./test.ts"),
}
