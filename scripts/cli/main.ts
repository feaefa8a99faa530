/** Runs the command that stands first on the command line. No other file of the tools does anything when it is imported. */
import { COMMANDS, type CommandName } from "./commands.ts"
import { openTerminal, runCommand } from "./terminal.ts"

const [name = "", ...args] = process.argv.slice(2)
if (Object.hasOwn(COMMANDS, name)) {
  const { command } = await COMMANDS[name as CommandName]()
  process.exitCode = await runCommand(command, args, openTerminal())
} else {
  console.error(`error: unknown command "${name}": expected one of ${Object.keys(COMMANDS).join(", ")}`)
  process.exitCode = 2
}
