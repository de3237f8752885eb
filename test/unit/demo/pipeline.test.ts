import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { runDemo } from '../../../src-main/cli/demo'
import { UsageError } from '../../../src-main/cli/usage-error'
import type { DemoSummary } from '../../../src-main/demo/comparison'

describe('npm run demo', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'demo-run-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  afterEach(() => vi.restoreAllMocks())

  it('--short runs the whole pipeline, prints the table and writes the accuracies', { timeout: 300_000 }, async () => {
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        said[stream] += String(text)
        return true
      })
    const json = path.join(folder, 'demo.json')
    const out = path.join(folder, 'runs')
    expect(await runDemo(['--short', '--json', json, '--out', out])).toBe(0)

    const result = JSON.parse(await readFile(json, 'utf8')) as DemoSummary
    expect(Object.keys(result)).toEqual(['rows', 'seconds', 'untrained', 'trained', 'text', 'solverAlone'])
    expect(result.rows).toBe(24)
    expect(result.seconds).toBeGreaterThan(0)
    for (const system of ['untrained', 'trained', 'text'] as const)
      expect(Object.keys(result[system])).toEqual(['1', '2', '3'])
    // each third of the rows needs one round more: the team that passes text answers what the rounds allow
    expect(result.text).toEqual({ '1': 8 / 24, '2': 16 / 24, '3': 1 })
    expect(result.untrained).toEqual({ '1': 0, '2': 0, '3': 0 })
    expect(result.solverAlone).toBe(0)

    expect(said.stdout.split('\n')).toHaveLength(7)
    expect(said.stdout).toMatch(/\| The same team passing text \| 33\.3 % .* \| 66\.7 % .* \| 100\.0 % /)
    expect(said.stderr).toContain('[ 1/14] Inner link: planner: loss ')
    expect(said.stderr).toMatch(/\[ 4\/14\] Outer links: step 15, accuracy \d+\.\d % of 24\n/)
    expect((await readdir(out)).sort()).toContain('solver-alone')
  })

  it('refuses what it does not know, with its usage', async () => {
    const error: unknown = await runDemo(['--quick']).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(UsageError)
    expect((error as UsageError).usage).toContain('npm run demo')
  })
})
