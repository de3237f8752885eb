/** The job command on one of the demo's models: events on standard output, exit codes, stopping and going on. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runJobCommand } from '../../../src-main/cli/job'
import { UsageError } from '../../../src-main/cli/usage-error'
import { UserError } from '../../../src-main/engine/errors'
import { jobEvent, type JobEvent } from '../../../src-main/engine/job-events'

const demo = path.join(import.meta.dirname, '..', '..', '..', 'native-assets', 'demo')
let folder: string
let printed: string
let complaints: string

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-job-'))
  printed = ''
  complaints = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((complaints += String(text)), true))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

function specFile(change: object = {}): string {
  const spec = {
    kind: 'inner',
    role: 'planner',
    model: path.join(demo, 'models', 'planner'),
    promptPack: path.join(demo, 'prompt-pack.json'),
    data: { file: path.join(demo, 'train.jsonl'), limit: 64 },
    steps: 6,
    batchSize: 8,
    logEvery: 1,
    saveEvery: 0,
    threads: 1,
    output: 'out',
    ...change,
  }
  writeFileSync(path.join(folder, 'spec.json'), JSON.stringify(spec))
  return path.join(folder, 'spec.json')
}

/** Every line is an event. */
const events = (): JobEvent[] =>
  printed
    .split('\n')
    .filter(Boolean)
    .map((line) => jobEvent.parse(JSON.parse(line)))
const losses = (): number[] => events().flatMap((event) => (event.kind === 'metrics' ? [event.loss] : []))

describe('npm run job', () => {
  it('runs to the end with exit code 0, and its folder lies beside the spec', async () => {
    expect(await runJobCommand([specFile()])).toBe(0)
    expect(events()[0].kind).toBe('started')
    expect(events().at(-1)).toMatchObject({ kind: 'finished', checkpoint: path.join(folder, 'out/checkpoints/step-6') })
    expect(losses()).toHaveLength(6)
    expect(readFileSync(path.join(folder, 'out/metrics.jsonl'), 'utf8').trim().split('\n')).toHaveLength(6)
    expect(complaints).toBe('')
  })

  it('stops on Ctrl-C with exit code 130, and goes on with exactly the losses that it would have had', async () => {
    await runJobCommand([specFile()])
    const whole = losses()
    rmSync(path.join(folder, 'out'), { recursive: true })
    printed = ''
    vi.mocked(process.stdout.write).mockImplementation((text) => {
      printed += String(text)
      if (String(text).includes('"step":2,')) process.emit('SIGINT')
      return true
    })
    expect(await runJobCommand([specFile()])).toBe(130)
    const { step } = events().at(-1) as { step: number }
    expect(events().at(-1)).toMatchObject({ kind: 'stopped', resumable: true })
    expect(step).toBeLessThan(6)
    expect(complaints).toContain('--resume')
    expect(await runJobCommand([specFile(), '--resume'])).toBe(0)
    expect(losses()).toEqual(whole)
  })

  it('tells what is wrong in three lines and exits with 1', async () => {
    expect(await runJobCommand([specFile({ model: path.join(folder, 'nothing') })])).toBe(1)
    expect(complaints.trim().split('\n')).toHaveLength(3)
    expect(complaints).toContain(path.join(folder, 'nothing'))
    expect(events().at(-1)!.kind).toBe('failed')
  })

  it.each([
    ['a missing model', { model: '/nothing/here' }],
    ['missing data', { data: { file: '/nothing/here.jsonl' } }],
    ['a missing link', { startFrom: '/nothing/link' }],
    ['another device', { device: 'cuda' }],
  ])('leaves nothing where it could not begin: %s', async (_, fault) => {
    expect(await runJobCommand([specFile({ ...fault, output: 'new/out' })])).toBe(1)
    expect(existsSync(path.join(folder, 'new'))).toBe(false)
    // beside the spec itself: the file is the user's
    const spec = readFileSync(specFile({ ...fault, output: '.' }), 'utf8')
    expect(await runJobCommand([path.join(folder, 'spec.json')])).toBe(1)
    expect(readdirSync(folder)).toEqual(['spec.json'])
    expect(readFileSync(path.join(folder, 'spec.json'), 'utf8')).toBe(spec)
  })

  it('leaves nothing of csv data where it could not begin, and keeps it where it did', async () => {
    const rows = 'question,plan\n"unat hep","plan 1 : 7"\n"unat nov","plan 1 : 9"\n'
    writeFileSync(path.join(folder, 'rows.csv'), rows)
    const change = { data: { file: 'rows.csv' }, batchSize: 2, steps: 2 }
    const converted = () => readdirSync(path.join(folder, 'out/data'))
    expect(await runJobCommand([specFile({ ...change, model: '/nothing/here' })])).toBe(1)
    expect(existsSync(path.join(folder, 'out'))).toBe(false)
    expect(await runJobCommand([specFile(change)])).toBe(0)
    expect(converted()).toHaveLength(1)
    const kept = converted()
    expect(await runJobCommand([specFile({ ...change, model: '/nothing/here' })])).toBe(1)
    expect(converted()).toEqual(kept)
    writeFileSync(path.join(folder, 'rows.csv'), `${rows}"unat mik","plan 1 : 8"\n`)
    expect(await runJobCommand([specFile(change), '--resume'])).toBe(1)
    expect(complaints).toContain('data.file')
    expect(converted()).toEqual(kept)
  })

  it('leaves an earlier run where it was when the next one cannot begin', async () => {
    await runJobCommand([specFile({ steps: 2 })])
    const before = readdirSync(path.join(folder, 'out')).sort()
    const journal = readFileSync(path.join(folder, 'out/journal.jsonl'), 'utf8')
    expect(await runJobCommand([specFile({ model: '/nothing/here' })])).toBe(1)
    expect(readdirSync(path.join(folder, 'out')).sort()).toEqual(before)
    expect(readFileSync(path.join(folder, 'out/journal.jsonl'), 'utf8')).toBe(journal)
    expect(JSON.parse(readFileSync(path.join(folder, 'out/spec.json'), 'utf8'))).toMatchObject({ steps: 2 })
  })

  it('refuses a wrong spec and a wrong command line before anything is started', async () => {
    await expect(runJobCommand([specFile({ steps: -1 })])).rejects.toThrow(UserError)
    await expect(runJobCommand([])).rejects.toThrow(UsageError)
    await expect(runJobCommand([specFile(), '--fast'])).rejects.toThrow(UsageError)
    expect(printed).toBe('')
  })
})
