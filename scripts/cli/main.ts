/** Runs the command that stands first on the command line. No other file of the tools does anything when it is imported. */
import { COMMANDS, type CommandName } from "./commands.ts"

/** The package that an error is missing, where that is what it says. */
function missingPackage(error: unknown): string | undefined {
  return error instanceof Error ? /^Cannot find (?:package|module) '([^'./][^']*)'/.exec(error.message)?.[1] : undefined
}

async function main(name: string, args: string[]): Promise<number> {
  if (!Object.hasOwn(COMMANDS, name)) {
    console.error(`error: unknown command "${name}": expected one of ${Object.keys(COMMANDS).join(", ")}`)
    return 2
  }
  try {
    const { openTerminal, runCommand } = await import("./terminal.ts")
    const { command } = await COMMANDS[name as CommandName]()
    return await runCommand(command, args, openTerminal())
  } catch (error) {
    const missing = missingPackage(error)
    if (missing === undefined) throw error
    const advice = "npm ci installs it, but not with NODE_ENV=production or --omit=dev"
    console.error(`error: ${name} needs the package ${missing}, which is not installed: ${advice}`)
    return 2
  }
}

const [name = "", ...args] = process.argv.slice(2)
process.exitCode = await main(name, args)
