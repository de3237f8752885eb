/** `npm run engine -- export | import`: links to and from the files of the published system. */
import { exportLinks, importLinks, type Task } from '../workspace/link-exchange'
import { parseOptions, required } from './options'
import { UsageError } from './usage-error'

export const linksUsage = `npm run engine -- export --links CHECKPOINT --to DIR
  --links CHECKPOINT  a step-N folder of a training run
  --to DIR            a new or an empty folder for adapter.pt or outer_*.pt and their configuration
npm run engine -- import --links DIR --to DIR [--task math|code|choice]
  --links DIR         a folder of the published system, or one .pt file of an inner link
  --to DIR            the checkpoint to make, for "innerLink" or "outerLinks" of a job`

/** Throws UserError, UsageError. */
export async function exportCommand(args: readonly string[]): Promise<void> {
  const { values } = parseOptions(args, { links: { type: 'string' }, to: { type: 'string' } }, linksUsage)
  const written = await exportLinks(required('links', values.links, linksUsage), required('to', values.to, linksUsage))
  process.stdout.write(JSON.stringify(written) + '\n')
}

/** Throws UserError, UsageError. */
export async function importCommand(args: readonly string[]): Promise<void> {
  const { values } = parseOptions(
    args,
    { links: { type: 'string' }, to: { type: 'string' }, task: { type: 'string' } },
    linksUsage,
  )
  const to = required('to', values.to, linksUsage)
  const { kind, links } = await importLinks(required('links', values.links, linksUsage), to, taskOf(values.task))
  process.stdout.write(JSON.stringify({ folder: to, kind, links }) + '\n')
}

function taskOf(text: string | undefined): Task | undefined {
  switch (text) {
    case undefined:
    case 'math':
    case 'code':
    case 'choice':
      return text
    default:
      throw new UsageError(`--task takes math, code or choice, not "${text}".`, linksUsage)
  }
}
