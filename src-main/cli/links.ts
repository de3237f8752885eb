/** `npm run engine -- export | import`: links and whole systems to and from the files of the published system. */
import { readSpecFile } from '../jobs/read-spec'
import { exportLinks, importLinks, type Task } from '../workspace/link-exchange'
import { exportSystem, importSystem } from '../workspace/system-exchange'
import { parseOptions, required } from './options'
import { UsageError } from './usage-error'

export const linksUsage = `npm run engine -- export --links CHECKPOINT --to DIR
  --links CHECKPOINT  a step-N folder of a training run
  --to DIR            a new or an empty folder for adapter.pt or outer_*.pt and their configuration
npm run engine -- export --job SPEC [--job SPEC] --to DIR
  --job SPEC          an evaluation's spec: its models and trained links as a system in the published layout; several,
                      each of another task, give links by task
  --to DIR            a new or an empty folder, for a folder per part
npm run engine -- import --links DIR --to DIR [--task math|code|choice]
  --links DIR         a folder of the published system, or one .pt file of an inner link
  --to DIR            the checkpoint to make, for "innerLink" or "outerLinks" of a job
npm run engine -- import --system DIR --style NAME --to DIR [--task math|code|choice] [--part KEY=DIR]
  --system DIR        holds a folder per part of a system in the published layout
  --style NAME        sequential_light, sequential_scaled, mixture, distillation, deliberation, or a style's own name
  --part KEY=DIR      a part that is not there: planner=DIR, outer=DIR
  --to DIR            a new or an empty folder, for a checkpoint per agent (inner-ROLE) and one of the outer links`

/** Throws UserError, UsageError. */
export async function exportCommand(args: readonly string[]): Promise<void> {
  const { values } = parseOptions(
    args,
    { links: { type: 'string' }, job: { type: 'string', multiple: true }, to: { type: 'string' } },
    linksUsage,
  )
  const { links, job = [] } = values
  if ((links === undefined) === (job.length === 0)) throw new UsageError('Give either --links or --job.', linksUsage)
  const to = required('to', values.to, linksUsage)
  const written =
    links === undefined
      ? await exportSystem(await Promise.all(job.map((file) => readSpecFile(file))), to)
      : await exportLinks(links, to)
  process.stdout.write(JSON.stringify(written) + '\n')
}

/** Throws UserError, UsageError. */
export async function importCommand(args: readonly string[]): Promise<void> {
  const { values } = parseOptions(
    args,
    {
      links: { type: 'string' },
      system: { type: 'string' },
      style: { type: 'string' },
      part: { type: 'string', multiple: true },
      to: { type: 'string' },
      task: { type: 'string' },
    },
    linksUsage,
  )
  const { links, system, style, part = [] } = values
  const to = required('to', values.to, linksUsage)
  const task = taskOf(values.task)
  if (links !== undefined) {
    if (system !== undefined || style !== undefined || part.length > 0)
      throw new UsageError('--links goes with --to and --task only.', linksUsage)
    const { kind, links: written } = await importLinks(links, to, task)
    process.stdout.write(JSON.stringify({ folder: to, kind, links: written }) + '\n')
    return
  }
  if (system === undefined && part.length === 0) throw new UsageError('Give either --links or --system.', linksUsage)
  const place = { folder: system, parts: partsOf(part) }
  const written = await importSystem(required('style', style, linksUsage), place, to, task)
  process.stdout.write(JSON.stringify(written) + '\n')
}

function partsOf(given: readonly string[]): Record<string, string> {
  const parts: Record<string, string> = {}
  for (const text of given) {
    const [, key, folder] = /^([^=]+)=(.+)$/.exec(text) ?? []
    if (key === undefined) throw new UsageError(`--part takes KEY=DIR, not "${text}".`, linksUsage)
    if (Object.hasOwn(parts, key.trim())) throw new UsageError(`--part ${key.trim()} is given twice.`, linksUsage)
    parts[key.trim()] = folder.trim()
  }
  return parts
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
