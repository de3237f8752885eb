/** `npm run engine -- describe | eval | export | import`: looks at a model, computes with it, and moves links, outside any run. */
import { describeModel } from './describe-model'
import { evalCommand, evalUsage } from './eval-request'
import { exportCommand, importCommand, linksUsage } from './links'
import { parseOptions, required } from './options'
import { UsageError } from './usage-error'

const describeUsage = `npm run engine -- describe --model DIR
  --model DIR  a folder in Hugging Face layout`

const usage = `${describeUsage}
${evalUsage}
${linksUsage}`

/** Returns the exit code. Throws UserError, UsageError. */
export async function runEngineCommand(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  switch (command) {
    case 'describe': {
      const { values } = parseOptions(rest, { model: { type: 'string' } }, describeUsage)
      const description = await describeModel(required('model', values.model, describeUsage))
      process.stdout.write(JSON.stringify(description) + '\n')
      return 0
    }
    case 'eval':
      await evalCommand(rest)
      return 0
    case 'export':
      await exportCommand(rest)
      return 0
    case 'import':
      await importCommand(rest)
      return 0
    case '--help':
      process.stdout.write(`${usage}\n`)
      return 0
    default:
      throw new UsageError(command === undefined ? 'Say what to do.' : `There is no "${command}".`, usage)
  }
}
