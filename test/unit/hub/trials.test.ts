/**
 * A thousand seeded downloads through faults: cut and silent connections, wrong lengths, wrong bytes, refusals that pass, pauses, a
 * killed process, a full disk. Whatever happens, no bad file has a final name, an interruption costs no open range more than a chunk
 * of bytes, and every error can be read.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { type Hub, openHub } from '../../../src-main/hub/connection'
import { download, planDownload } from '../../../src-main/hub/download/download'
import { mountVolume } from '../../volumes'
import { FakeHub, type FakeFile, type Fault, type Sent } from './fake-hub'

/** They make a thousand. */
const trials = { faults: 780, pauses: 100, broken: 60, kills: 24, fullDisks: 36 }
const chunk = 96 * 1024
const tuning = { connections: 4, ranges: 3, leastRange: 20_000, chunk, files: 2 }
const atOnce = 16
/** Undici's timers count in half seconds. */
const silenceMs = 300

const root = path.resolve(import.meta.dirname, '../../..')
const fake = new FakeHub()
/** In memory where that is possible: thousands of flushes take long on a slow disk and mean nothing here. */
let scratch: string
let hub: Hub

beforeAll(async () => {
  scratch = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'studio hub ü-'))
  fake.faultOf = (repository, path) => faultsByTrial.get(repository)?.(path) ?? null
  await fake.start()
  const retry = { tries: 4, firstMs: 2, mostMs: 10, patienceMs: 2000 }
  hub = openHub({ endpoint: fake.endpoint, env: {}, silenceMs, retry, fileRetry: retry })
})
afterAll(async () => {
  await hub.close()
  await fake.stop()
  rmSync(scratch, { recursive: true, force: true })
})

/** mulberry32: numbers in [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const below = (random: () => number, n: number): number => Math.floor(random() * n)

interface Trial {
  readonly name: string
  readonly folder: string
  readonly files: readonly FakeFile[]
  readonly random: () => number
}

function newTrial(kind: string, seed: number, { most = 150_000, in: parent = scratch } = {}): Trial {
  const random = randomOf(seed * 7919 + kind.length)
  const sizes = [below(random, most), random() < 0.1 ? 0 : below(random, 2000)]
  const files = sizes.map((size, i) => {
    const bytes = Buffer.alloc(size)
    for (let at = 0; at < size; at++) bytes[at] = below(random, 256)
    return { path: i === 0 ? `data/part-${seed}.parquet` : 'rows.jsonl', bytes, lfs: i === 0 }
  })
  const name = `trials/${kind}-${seed}`
  fake.add(name, { kind: 'dataset', files })
  return { name, folder: path.join(parent, `${kind}-${seed}`), files, random }
}

const faultMakers: readonly ((random: () => number) => Fault)[] = [
  (random) => ({ kind: 'drop', after: below(random, 60_000) }),
  (random) => ({ kind: 'truncated', after: below(random, 60_000) }),
  (random) => ({ kind: 'promises-more', after: below(random, 60_000) }),
  () => ({ kind: 'wrong-total' }),
  () => ({ kind: 'wrong-start' }),
  () => ({ kind: 'wrong-byte' }),
  () => ({ kind: 'no-range' }),
  () => ({ kind: 'status', status: 429, retryAfter: '0.01' }),
  (random) => ({ kind: 'status', status: [500, 502, 503, 504][below(random, 4)] }),
  // an address of the other host that ran out
  () => ({ kind: 'status', status: 403 }),
]
const stall = (random: () => number): Fault => ({ kind: 'stall', after: random() < 0.3 ? null : below(random, 30_000) })

/** Faults in the order in which requests for bytes come, then none. */
function faultsFor(trial: Trial, faults: readonly Fault[]): void {
  const left = [...faults]
  faultsByTrial.set(trial.name, (path) => {
    const next = left[0]
    // the hub's own 403 is final, that of the other host passes
    if (next?.kind === 'status' && next.status === 403 && path === 'rows.jsonl') return null
    return left.shift() ?? null
  })
}
const faultsByTrial = new Map<string, (path: string) => Fault | null>()

async function fetchTrial(
  { name, folder }: Trial,
  signal?: AbortSignal,
  onBytes: (bytes: number) => void = () => undefined,
) {
  const plan = await planDownload(hub, { kind: 'dataset', name, folder })
  return download(hub, plan, { signal, tuning, onEvent: (event) => event.kind === 'progress' && onBytes(event.bytes) })
}

/** No file under its final name but with the right bytes; returns how many there are. */
function goodFiles({ folder, files }: Trial): number {
  const there = files.filter((file) => existsSync(path.join(folder, file.path)))
  for (const file of there)
    if (!readFileSync(path.join(folder, file.path)).equals(file.bytes))
      throw new Error(`${folder}: ${file.path} is bad`)
  return there.length
}

function checkComplete(trial: Trial, most = chunk): void {
  expect(goodFiles(trial)).toBe(trial.files.length)
  const names = readdirSync(trial.folder, { recursive: true }).map(String)
  expect(names.filter((name) => /partial|lock|incomplete-/.test(name))).toEqual([])
  checkNothingTwice(trial, most)
}

/** What the server counted: a request begins at most a chunk before the end of what was sent of its range before. */
function checkNothingTwice({ name }: Trial, most: number): void {
  const sent = fake.sent.get(name) ?? []
  const again = (one: Sent) => one.fault === 'wrong-byte' || one.fault === 'no-range' || one.fault === 'wrong-start'
  for (const [i, one] of sent.entries()) {
    const before = sent.slice(0, i).filter((other) => other.path === one.path)
    // bytes that were wrong are fetched again, as they must
    if (again(one) || before.some(again)) continue
    for (const other of before)
      if (other.end === one.end && other.fault !== 'wrong-total')
        expect(other.upTo - one.from).toBeLessThanOrEqual(most)
  }
}

function checkReadable(error: unknown): void {
  if (!(error instanceof UserError)) throw error
  for (const text of [error.what, error.why, error.next]) expect(text).toMatch(/^[\p{L}\d][^\n]{8,400}\.$/u)
}

/** Several at once, each by its seed. */
async function all(count: number, trial: (seed: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const seed = next++
      await trial(seed).catch((error: unknown) => {
        throw new Error(`trial ${seed}: ${(error as Error).stack}`, { cause: error })
      })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

const forgetTrial = ({ name, folder }: Trial): void => {
  rmSync(folder, { recursive: true, force: true })
  fake.repositories.delete(name)
  fake.sent.delete(name)
  faultsByTrial.delete(name)
}

describe('a thousand downloads', () => {
  it('are a thousand', () => expect(Object.values(trials).reduce((a, b) => a + b)).toBe(1000))

  it(`get there through faults that pass (${trials.faults})`, async () => {
    let through = 0
    await all(trials.faults, async (seed) => {
      const trial = newTrial('faults', seed)
      const list = Array.from({ length: below(trial.random, 6) }, () =>
        faultMakers[below(trial.random, faultMakers.length)](trial.random),
      )
      if (seed % 12 === 0) list.push(stall(trial.random))
      faultsFor(trial, list)
      // an error ends one run at most: the next goes on
      for (let run = 0; run < 4; run++) {
        try {
          expect((await fetchTrial(trial)).kind).toBe('complete')
          through += run === 0 ? 1 : 0
          break
        } catch (error) {
          checkReadable(error)
          goodFiles(trial)
        }
      }
      checkComplete(trial)
      forgetTrial(trial)
    })
    expect(through).toBeGreaterThan(trials.faults * 0.9)
  })

  it(`go on after a pause (${trials.pauses})`, async () => {
    await all(trials.pauses, async (seed) => {
      const trial = newTrial('pauses', seed, { most: 250_000 })
      const total = trial.files.reduce((sum, { bytes }) => sum + bytes.length, 0)
      let fetched = 0
      for (let run = 0; ; run++) {
        const pause = new AbortController()
        const until = run < 3 ? total * trial.random() : Infinity
        const result = await fetchTrial(trial, pause.signal, (bytes) => bytes > until && pause.abort())
        fetched += result.fetchedBytes
        goodFiles(trial)
        if (result.kind === 'complete') break
      }
      checkComplete(trial)
      expect(fetched).toBeLessThanOrEqual(total + 3 * tuning.connections * chunk)
      forgetTrial(trial)
    })
  })

  it(`say what stays broken, then go on when it is not any more (${trials.broken})`, async () => {
    await all(trials.broken, async (seed) => {
      const trial = newTrial('broken', seed)
      const always: Fault = [
        { kind: 'wrong-byte' } as const,
        { kind: 'status', status: 503 } as const,
        { kind: 'status', status: 429, retryAfter: '86400' } as const,
        { kind: 'drop', after: 0 } as const,
        { kind: 'wrong-total' } as const,
      ][seed % 5]
      faultsByTrial.set(trial.name, () => always)
      const error: unknown = await fetchTrial(trial).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      checkReadable(error)
      expect(goodFiles(trial)).toBe(trial.files.filter(({ bytes }) => bytes.length === 0).length)
      faultsByTrial.delete(trial.name)
      await fetchTrial(trial)
      expect(goodFiles(trial)).toBe(trial.files.length)
      forgetTrial(trial)
    })
  })

  it(`go on after the process was killed (${trials.kills})`, async () => {
    const program = await bundle()
    const small = 24 * 1024
    const onTheWay = 16 * 1024
    let resumed = 0
    await all(trials.kills, async (seed) => {
      const trial = newTrial('kills', seed, { most: 400_000 })
      faultsByTrial.set(trial.name, () => ({ kind: 'slow' }))
      const child = spawn(
        process.execPath,
        [program, fake.endpoint, trial.name, trial.folder, JSON.stringify({ ...tuning, chunk: small })],
        {
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      )
      await sentBytes(trial, child, below(trial.random, 150_000))
      child.kill('SIGKILL')
      await new Promise((resolve) =>
        (child.exitCode ?? child.signalCode) !== null ? resolve(null) : child.once('exit', resolve),
      )
      goodFiles(trial)
      // what was not flushed is gone after a power cut, though the files are as long
      if (seed % 2 === 1) for (const { path: of } of trial.files) forgetUnclaimed(path.join(trial.folder, of))
      faultsByTrial.delete(trial.name)
      const { fetchedBytes } = await fetchTrial(trial)
      if (fetchedBytes < trial.files.reduce((sum, { bytes }) => sum + bytes.length, 0)) resumed++
      // what the server had handed over when the process died was still on its way
      checkComplete(trial, small + onTheWay)
      forgetTrial(trial)
    })
    expect(resumed).toBeGreaterThan(trials.kills / 2)
  })

  const volume = mountVolume('size=2m')
  if (volume) onEnd.push(volume.remove)
  it.skipIf(volume === null)(`stop when the disk is full, and go on when it is not (${trials.fullDisks})`, async () => {
    let stopped = 0
    for (let seed = 0; seed < trials.fullDisks; seed++) {
      const trial = newTrial('full', seed, { most: 700_000, in: volume!.folder })
      const filler = path.join(volume!.folder, 'filler')
      let filled = false
      const from = trial.files[0].bytes.length * trial.random() * 0.5
      const error: unknown = await fetchTrial(trial, undefined, (bytes) => {
        if (filled || bytes < from) return
        filled = true
        fill(filler)
      }).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      goodFiles(trial)
      if (error !== null) {
        checkReadable(error)
        expect((error as UserError).why).toContain('disk is full')
        stopped++
      }
      rmSync(filler, { force: true })
      await fetchTrial(trial)
      expect(goodFiles(trial)).toBe(2)
      forgetTrial(trial)
    }
    expect(stopped).toBeGreaterThan(trials.fullDisks / 2)
  })
})

/** The downloader as a program of its own: `node FILE ENDPOINT NAME FOLDER TUNING`. */
async function bundle(): Promise<string> {
  const folder = path.join(root, '.cache', `test-hub-${process.pid}`)
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      ssr: path.join(import.meta.dirname, 'download-child.ts'),
      outDir: folder,
      target: 'node20',
      rolldownOptions: { output: { entryFileNames: 'child.mjs' } },
    },
  })
  onEnd.push(() => rmSync(folder, { recursive: true, force: true }))
  return path.join(folder, 'child.mjs')
}
const onEnd: (() => void)[] = []
afterAll(() => onEnd.forEach((end) => end()))

/** Zeros where a sidecar claims no bytes of its file. */
function forgetUnclaimed(target: string): void {
  const [partial, sidecar] = [`${target}.partial`, `${target}.partial.json`]
  if (!existsSync(partial) || !existsSync(sidecar)) return
  const bytes = readFileSync(partial)
  const { ranges } = JSON.parse(readFileSync(sidecar, 'utf8')) as {
    ranges: { start: number; end: number; done: number }[]
  }
  for (const { start, end, done } of ranges)
    bytes.fill(0, Math.min(bytes.length, start + done), Math.min(bytes.length, end))
  writeFileSync(partial, bytes)
}

/** Until the hub has sent so many bytes of the trial, or the downloader has ended by itself. */
async function sentBytes({ name }: Trial, child: ChildProcess, bytes: number): Promise<void> {
  const sum = (): number => (fake.sent.get(name) ?? []).reduce((all, one) => all + one.upTo - one.from, 0)
  while (sum() <= bytes && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 2))
}

function fill(file: string): void {
  for (const size of [65536, 4096])
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
    } catch {
      // full
    }
}
