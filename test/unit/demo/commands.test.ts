import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runDemo } from '../../../src-main/cli/demo'
import { runDemoBuild } from '../../../src-main/cli/demo-build'
import { UsageError } from '../../../src-main/cli/usage-error'

/** What a command says on standard error. */
function listen(): () => string {
  const said: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0)
  return () => said.join('')
}

describe('npm run demo:build', () => {
  afterEach(() => vi.restoreAllMocks())

  it('--short trains into a temporary folder, says how it goes, and leaves nothing behind', async () => {
    const said = listen()
    const before = await readdir(tmpdir())
    expect(await runDemoBuild(['--short', '--only', 'planner', '--threads', '1'])).toBe(0)
    expect(said()).toMatch(/planner: step 1\/60, loss \d\.\d{4}/)
    expect(said()).toMatch(/planner: step 60\/60, loss \d\.\d{4}, \d+ s/)
    const left = (await readdir(tmpdir())).filter(
      (name) => !before.includes(name) && name.startsWith('recursivemas-build-'),
    )
    expect(left).toEqual([])
  })

  it('--out writes the demo there, the models that are not asked for left out', async () => {
    listen()
    const out = await mkdtemp(path.join(tmpdir(), 'demo-out-'))
    try {
      await runDemoBuild(['--short', '--only', 'planner', '--threads', '1', '--out', out])
      expect((await readdir(out)).sort()).toEqual(
        [
          'held-out.jsonl',
          'models',
          'pipeline.json',
          'pipeline.short.json',
          'prompt-pack.json',
          'train.jsonl',
          'validation.jsonl',
        ].sort(),
      )
      expect(await readdir(path.join(out, 'models'))).toEqual(['planner'])
    } finally {
      await rm(out, { recursive: true, force: true })
    }
  })

  it('refuses what it does not know, with its usage', async () => {
    for (const args of [['--only', 'referee'], ['--threads', 'many'], ['--fast']]) {
      const error: unknown = await runDemoBuild(args).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(UsageError)
      expect((error as UsageError).usage).toContain('npm run demo:build')
    }
  })
})

describe('npm run demo', () => {
  it.each([
    [tmpdir(), /is a folder/],
    [path.join(tmpdir(), 'no-such-folder', 'demo.json'), /There is no folder/],
  ])('refuses to begin where %s is to hold the table', async (file, why) => {
    await expect(runDemo(['--short', '--json', file])).rejects.toThrow(why)
  })
})
