/**
 * Throughput of downloads over loopback, next to curl fetching the same addresses from the same hub, a process of its own: one file
 * of 1 GB, and many small ones. Ours verifies checksums and flushes to the disk, curl does neither.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openHub } from '../../src-main/hub/connection'
import { fileAddress } from '../../src-main/hub/address'
import { download, planDownload } from '../../src-main/hub/download/download'
import { TorchGenerator } from '../../src-main/engine/nn/torch-generator'
import { type FakeFile, FakeHub } from '../unit/hub/fake-hub'
import { table } from './table'

const sets = [
  { name: 'bench/one-file', count: 1, size: 1_000_000_000 },
  { name: 'bench/many-files', count: 1000, size: 64_000 },
] as const

export interface Throughput {
  readonly downloads: readonly {
    readonly what: string
    readonly bytes: number
    /** Seconds of each turn, ours and curl's in turn. */
    readonly ours: readonly number[]
    /** null: there is no curl here. */
    readonly curl: readonly number[] | null
  }[]
}

export async function measureDownload(scratch: string, repeats: number): Promise<Throughput> {
  const server = spawn(process.execPath, [fileURLToPath(import.meta.url), '--child', '{"work":"hub"}'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer]
    const hub = openHub({ endpoint: String(line).trim(), env: {} })
    const hasCurl = spawnSync('curl', ['--version']).status === 0
    const downloads = []
    for (const { name, count, size } of sets) {
      const ours: number[] = []
      const curl: number[] = []
      for (let i = 0; i < repeats; i++) {
        const to = join(scratch, 'ours')
        const plan = await planDownload(hub, { kind: 'dataset', name, folder: to })
        ours.push(await seconds(() => download(hub, plan)))
        await rm(to, { recursive: true })
        if (!hasCurl) continue
        const urls = plan.files.map(({ path }) =>
          fileAddress(hub.endpoint, 'dataset', name, plan.repository.commit, path),
        )
        curl.push(await seconds(() => withCurl(urls, join(scratch, 'curl'))))
        if ((await readdir(join(scratch, 'curl'))).length !== count + 1) throw new Error('curl left files out')
        await rm(join(scratch, 'curl'), { recursive: true })
      }
      const what = `${count} ${count === 1 ? 'file' : 'files'} of ${size / 1e6} MB`
      downloads.push({ what, bytes: count * size, ours, curl: hasCurl ? curl : null })
    }
    await hub.close()
    return { downloads }
  } finally {
    server.kill()
  }
}

/** The hub's process: prints its address, then serves until it is ended. */
export async function serveHub(): Promise<void> {
  const hub = new FakeHub()
  await hub.start()
  const random = new TorchGenerator(0)
  for (const { name, count, size } of sets) {
    const files = Array.from({ length: count }, (_, i): FakeFile => {
      const bytes = Buffer.alloc(size, random.nextUint32().toString(36))
      return { path: `data/part-${i}.jsonl`, bytes, lfs: count === 1 }
    })
    hub.add(name, { kind: 'dataset', files })
  }
  process.stdout.write(`${hub.endpoint}\n`)
  // the measuring process has gone
  process.stdin.resume().on('end', () => process.exit())
}

/** As many connections as ours. */
async function withCurl(urls: readonly string[], folder: string): Promise<void> {
  await mkdir(folder)
  const config = join(folder, 'curl.txt')
  await writeFile(config, urls.map((url, i) => `url = "${url}"\noutput = "${join(folder, String(i))}"\n`).join(''))
  const child = spawn('curl', ['-sfL', '--parallel', '--parallel-max', '8', '-K', config], { stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`curl ended with ${code}`)
}

async function seconds(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await action()
  return (performance.now() - started) / 1000
}

export function throughputTable({ downloads }: Throughput): string {
  const best = (bytes: number, times: readonly number[]) => String(Math.round(bytes / 1e6 / Math.min(...times)))
  const rows = downloads.map(({ what, bytes, ours, curl }) => [
    what,
    best(bytes, ours),
    curl === null ? 'not here' : best(bytes, curl),
  ])
  return table([['download', 'ours, MB/s', 'curl, MB/s'], ...rows])
}
