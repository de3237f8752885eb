/**
 * `npm run hub -- search|files|download`: models and data sets of a hub. JSON lines on standard output, all else on standard error;
 * the token comes from HF_TOKEN. Ctrl-C pauses a download; the same command goes on with it.
 */
import path from 'node:path'
import { formatBytes } from '../engine/formats/disk-errors'
import type { RepositoryKind } from '../hub/address'
import { type Hub, openHub } from '../hub/connection'
import {
  download,
  type DownloadEvent,
  type DownloadPlan,
  type DownloadRequest,
  planDownload,
} from '../hub/download/download'
import { neededFiles } from '../hub/needed-files'
import { type FoundRepository, readRepository, searchHub } from '../hub/repository'
import { parseOrHelp } from './options'
import { duration, progressLine } from './progress-line'
import { stoppedCode, stopOnSignals } from './stop-on-signals'
import { UsageError } from './usage-error'

const usage = `npm run hub -- search QUERY
npm run hub -- files REPO [--revision R]
npm run hub -- download REPO [--to DIR] [--revision R] [--verify]
  --kind model|dataset  what is meant (default: model)
  --endpoint URL        another hub (default: HF_ENDPOINT, else https://huggingface.co)
  --revision R          a branch, tag or commit (default: main)
  --to DIR              where to (default: a folder called as the repository)
  --verify              reads files that are there again, though they have not changed since their last check
  The access token is read from HF_TOKEN.`

/** Returns the exit code. Throws UserError, UsageError. */
export async function runHubCommand(args: readonly string[]): Promise<number> {
  const parsed = parseOrHelp(
    args,
    {
      kind: { type: 'string', default: 'model' },
      endpoint: { type: 'string' },
      revision: { type: 'string' },
      to: { type: 'string' },
      verify: { type: 'boolean', default: false },
    },
    usage,
    true,
  )
  if (!parsed) return 0
  const { values, positionals } = parsed
  const [verb, subject] = positionals
  const { kind, revision, to, verify } = values
  if (kind !== 'model' && kind !== 'dataset') throw new UsageError('--kind is model or dataset.', usage)
  if (positionals.length !== 2 || subject === '' || !['search', 'files', 'download'].includes(verb))
    throw new UsageError('Say search, files or download, and of what.', usage)
  if (to !== undefined && verb !== 'download') throw new UsageError('--to is for download.', usage)
  if (verify && verb !== 'download') throw new UsageError('--verify is for download.', usage)
  if (revision !== undefined && verb === 'search') throw new UsageError('--revision is for files and download.', usage)
  if (revision === '' || to === '') throw new UsageError('--revision and --to take no empty text.', usage)
  const hub = openHub({ endpoint: values.endpoint, token: process.env.HF_TOKEN })
  if (process.env.HF_TOKEN && !hub.hasToken)
    process.stderr.write(`HF_TOKEN is not sent to ${hub.endpoint}: the connection is not encrypted.\n`)
  try {
    if (verb === 'search') return await search(hub, kind, subject)
    if (verb === 'files') return await files(hub, kind, subject, revision)
    const folder = path.resolve(to ?? subject.split('/').at(-1)!)
    return await fetchAll(hub, { kind, name: subject, revision, folder }, verify)
  } finally {
    await hub.close()
  }
}

async function search(hub: Hub, kind: RepositoryKind, query: string): Promise<number> {
  const found = await searchHub(hub, { kind, query })
  for (const one of found) writeLine(one)
  if (found.length === 0) note(`Nothing found for ${JSON.stringify(query)}.`)
  return 0
}

async function files(hub: Hub, kind: RepositoryKind, name: string, revision: string | undefined): Promise<number> {
  const repository = await readRepository(hub, { kind, name, revision })
  const needed = new Set(neededFiles(kind, repository.files))
  for (const file of repository.files) writeLine({ ...file, needed: needed.has(file) })
  note(`${nature(repository)}, commit ${repository.commit}`)
  note(
    `A run needs ${needed.size} of ${count(repository.files)}, ${formatBytes(bytesOf([...needed]))} of ${formatBytes(bytesOf(repository.files))}.`,
  )
  return 0
}

async function fetchAll(hub: Hub, request: DownloadRequest, readAll: boolean): Promise<number> {
  const { signal, restore } = stopOnSignals({ saying: 'Pausing' })
  try {
    const plan = await planDownload(hub, request, signal)
    note(`${nature(plan.repository)}, commit ${plan.repository.commit}`)
    note(
      `${count(plan.files)}, ${formatBytes(plan.bytes)}, of which ${formatBytes(plan.remainingBytes)} to come, into ${plan.folder}`,
    )
    const line = progressLine()
    const { kind, fetchedBytes } = await download(hub, plan, { signal, readAll, onEvent: showing(plan, line) })
    if (kind === 'paused') {
      line.finish('Paused; the same command goes on from there.')
      return stoppedCode
    }
    line.finish(`${formatBytes(plan.bytes)}, all verified (${formatBytes(fetchedBytes)} fetched)`)
    const { endpoint, name, revision, commit, licence } = plan.repository
    writeLine({
      folder: plan.folder,
      endpoint,
      kind: request.kind,
      name,
      revision,
      commit,
      licence,
      bytes: plan.bytes,
      files: plan.files.map((file) => file.path),
    })
    return 0
  } catch (error) {
    if (!signal.aborted) throw error
    note('Stopped.')
    return stoppedCode
  } finally {
    restore()
  }
}

function showing(plan: DownloadPlan, line: ReturnType<typeof progressLine>): (event: DownloadEvent) => void {
  const begun = performance.now()
  const before = plan.bytes - plan.remainingBytes
  let shown = -Infinity
  return (event) => {
    if (event.kind === 'progress') {
      const now = performance.now()
      if (now - shown < 100 && event.bytes < event.total) return
      shown = now
      const rate = Math.max(0, event.bytes - before) / Math.max(1, (now - begun) / 1000)
      const left = rate > 0 ? `, ${duration((event.total - event.bytes) / rate)} left` : ''
      line.show(
        `${formatBytes(event.bytes)} of ${formatBytes(event.total)}, ${formatBytes(Math.round(rate))} a second${left}`,
      )
    } else if (event.kind === 'waiting') {
      if (event.waitMs >= 1000)
        line.finish(`${event.file}: ${event.why} Trying again in ${duration(event.waitMs / 1000)}.`)
    } else if (event.kind === 'damaged') {
      line.finish(`${event.file}: its bytes were wrong; it begins again.`)
    } else {
      line.finish(`${event.file}: verified`)
    }
  }
}

function nature({ name, licence, gated }: FoundRepository): string {
  return `${name}: ${licence === null ? 'no licence named' : `licence ${licence}`}${gated ? ', gated' : ''}`
}

const bytesOf = (list: readonly { size: number }[]): number => list.reduce((sum, { size }) => sum + size, 0)
const count = ({ length }: readonly unknown[]): string => `${length} ${length === 1 ? 'file' : 'files'}`

function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

function writeLine(value: unknown): void {
  process.stdout.write(JSON.stringify(value) + '\n')
}
