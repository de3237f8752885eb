/** The estimate of a job against what a fresh process really came to: within 20 % for the demo's models, all kinds, two styles, short and long runs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { demoCases, demoModel, measureMemory, memoryCases, memoryTolerance } from '../../bench/memory'

const root = path.resolve(import.meta.dirname, '../../..')
const demo = path.join(root, 'native-assets', 'demo')
let scratch: string
let program: string

beforeAll(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'memory-'))
  // beside the packages that it needs
  const outDir = path.join(root, '.cache', `memory-child-${process.pid}`)
  program = path.join(outDir, 'memory-child.mjs')
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      ssr: path.join(import.meta.dirname, 'memory-child.ts'),
      outDir,
      target: 'node20',
      minify: false,
      rolldownOptions: { output: { format: 'es', entryFileNames: 'memory-child.mjs', codeSplitting: false } },
    },
    ssr: { target: 'node', external: true },
  })
})
afterAll(() => {
  rmSync(path.dirname(program), { recursive: true, force: true })
  rmSync(scratch, { recursive: true, force: true })
})

test.runIf(process.platform === 'linux')(
  'jobs come to what was expected of them',
  async () => {
    const cases = await memoryCases(
      demo,
      'demo',
      (agent) => demoModel(demo, agent),
      scratch,
      [
        { words: 10, batchSize: 2 },
        { words: 80, batchSize: 8 },
      ],
      { rounds: 2, latents: 8, steps: 2 },
    )
    expect(cases).toHaveLength(10)
    const records = []
    for (const c of [...cases, ...demoCases(demo)])
      records.push(await measureMemory(c, scratch, [process.execPath, program]))
    const far = records.filter(({ off }) => Math.abs(off) > memoryTolerance)
    expect(far.map(({ name, estimate, peak }) => ({ name, estimate, peak }))).toEqual([])
  },
  240_000,
)
