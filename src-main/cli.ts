/**
 * The command line: the app's jobs and the engine without a window. `node dist/cli.js COMMAND ...`; npm's scripts call it so. A new
 * command is one file in cli/ and one line here.
 */
import { runDataCommand } from './cli/data'
import { runDemo } from './cli/demo'
import { runDemoBuild } from './cli/demo-build'
import { runDocs } from './cli/docs'
import { runEngineCommand } from './cli/engine'
import { runHubCommand } from './cli/hub'
import { runJobCommand } from './cli/job'
import { UsageError } from './cli/usage-error'
import { UserError } from './engine/errors'

const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  job: runJobCommand,
  engine: runEngineCommand,
  data: runDataCommand,
  demo: runDemo,
  'demo-build': runDemoBuild,
  hub: runHubCommand,
  docs: runDocs,
}

const [name = '', ...args] = process.argv.slice(2)
process.exitCode = await run(name, args)

async function run(command: string, rest: readonly string[]): Promise<number> {
  try {
    if (Object.hasOwn(commands, command)) return await commands[command](rest)
    throw new UsageError(`There is no command "${command}".`, `Commands: ${Object.keys(commands).join(', ')}`)
  } catch (error) {
    process.stderr.write(messageOf(error))
    return 1
  }
}

/** A few lines for a person; the stack only on request. */
function messageOf(error: unknown): string {
  const stack = process.env.STUDIO_DEBUG && error instanceof Error ? `${error.stack}\n` : ''
  if (error instanceof UserError) return `${error.what}\n${error.why}\n${error.next}\n${stack}`
  if (error instanceof UsageError) return `${error.message}\n${error.usage}\n`
  if (String((error as NodeJS.ErrnoException)?.code).startsWith('ERR_PARSE_ARGS'))
    return `${(error as Error).message}\n`
  return `Something went wrong inside the program: ${error instanceof Error ? error.message : String(error)}\n${stack}`
}
