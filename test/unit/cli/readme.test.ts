import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withSections } from '../../../src-main/cli/readme-tables'
import { runJob } from '../../../src-main/engine/engine'
import type { JobSpec } from '../../../src-main/engine/job-spec'
import { styles } from '../../../src-main/engine/styles/registry'
import { checkSpec, readSpecFile } from '../../../src-main/jobs/read-spec'
import { absoluteSpecPaths } from '../../../src-main/jobs/spec-paths'
import { readPipeline } from '../../../src-main/workspace/pipeline'
import { writeByteModel } from '../evaluation/byte-model'
import { demo, Workplace } from '../training/run-demo-job'

const root = join(import.meta.dirname, '../../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

describe('README', () => {
  it('has the tables that the code’s registries give ("npm run docs" writes them)', () => {
    expect(withSections(readme)).toBe(readme)
  })

  it('is made the same from any older state of the tables, and not at all without their marks', () => {
    const stale = readme.replace(/\| sequential \| planner, critic, solver .*\n/, '')
    expect(stale).not.toBe(readme)
    expect(withSections(stale)).toBe(readme)
    expect(() => withSections(readme.replace('<!-- /styles -->', ''))).toThrow(/styles/)
    expect(() => withSections(readme.replace('<!-- defects: npm run docs -->', ''))).toThrow(/defects/)
  })
})

/** What stands there as JSON, in order. */
const blocks = [...readme.matchAll(/^ {4}\{\n(?: {5,}.*\n)+ {4}\}$/gm)].map(
  ([block]) => JSON.parse(block) as Record<string, unknown>,
)

describe("README's first evaluation", () => {
  const [spec] = blocks.filter((b) => b.kind === 'evaluate')
  const place = new Workplace()
  afterAll(() => place.dispose())

  it('has the links that the demo keeps at its end', async () => {
    const { steps } = await readPipeline(demo('.'))
    const lastOf = (id: string) => {
      const found = steps.find((s) => s.id === id)!
      return `demo/${id}/checkpoints/step-${String(found.spec.steps)}`
    }
    const { agents, outerLinks } = spec as unknown as Extract<JobSpec, { kind: 'evaluate' }>
    expect(agents.map((a) => a.innerLink)).toEqual(agents.map((a) => lastOf(`inner-${a.role}`)))
    expect(outerLinks).toBe(lastOf('outer'))
  })

  // the team passing text needs no links: what is left is models, prompts, data and grader
  it('is graded as the demo is: right answers count', async () => {
    const { outerLinks: _, ...kept } = absoluteSpecPaths(spec, root) as {
      agents: { innerLink: string }[]
      outerLinks: string
      data: object
    }
    const agents = kept.agents.map(({ innerLink: _, ...agent }) => agent)
    const data = { ...kept.data, limit: 9 }
    const job = { ...kept, agents, data, passing: 'text', output: place.path('out'), threads: 1 }
    let accuracy: number | undefined
    await runJob(checkSpec(job, 'README'), {
      emit: (e) => (accuracy = e.kind === 'finished' ? e.accuracy?.value : undefined),
    })
    expect(accuracy).toBe(1)
  })
})

describe("README's jobs of every style, and its own style file", () => {
  const jobs = blocks.filter((b) => b.kind === 'outer' && b.style !== undefined) as unknown as Extract<
    JobSpec,
    { kind: 'outer' }
  >[]
  const innerJob = blocks.find((b) => b.kind === 'inner')
  const own = blocks.find((b) => b.format === 'recursivemas-style/1')!
  const place = new Workplace()
  afterAll(() => place.dispose())

  const row = {
    question: 'What comes after 4?',
    answer: '\\boxed{5}',
    plan: 'Count on.',
    refined_plan: 'Count on by one.',
    math_expert: '4+1',
    code_expert: 'print(4+1)',
    science_expert: 'No units.',
    deliberation_reflector: 'Count.',
    doubts: 'None.',
  }
  const started = async (name: string, spec: object): Promise<string> => {
    writeFileSync(place.path(name), JSON.stringify(spec))
    let failure = 'no end'
    await runJob(await readSpecFile(place.path(name)), {
      emit: (e) => (failure = e.kind === 'failed' ? `${e.what} ${e.why}` : e.kind === 'finished' ? '' : failure),
    })
    return failure
  }

  beforeAll(() => writeFileSync(place.path('train.jsonl'), `${JSON.stringify(row)}\n${JSON.stringify(row)}\n`))

  it('names every style once', () => {
    expect(jobs.map((j) => j.style)).toEqual(styles.map((s) => s.name))
  })

  it.each(styles.map((s, i) => [s.name, i] as const))(
    '%s runs as it stands there, with fewer steps',
    async (style, i) => {
      const job = jobs[i]
      for (const [k, { role }] of job.agents.entries()) {
        const model = `models/${role}`
        await writeByteModel(place.path(model), k + 1, k % 2 ? 48 : 32)
        const inner = { ...innerJob, style, role, model, steps: 1, threads: 1, output: `inner-${role}` }
        expect(await started('inner.json', inner)).toBe('')
        renameSync(place.path(`inner-${role}/checkpoints/step-1`), place.path(`inner-${role}/checkpoints/step-400`))
      }
      expect(await started(`${style}.json`, { ...job, steps: 1, threads: 1 })).toBe('')
    },
  )

  it('a style of your own is trained from its file', async () => {
    writeFileSync(place.path('ring.json'), JSON.stringify(own))
    const agents = ['asker', 'answerer'].map((role, i) => ({ role, model: `models/${['expert', 'learner'][i]}` }))
    const job = {
      kind: 'outer',
      style: 'ring.json',
      agents,
      data: { file: 'train.jsonl' },
      steps: 1,
      threads: 1,
      output: 'ring',
    }
    expect(await started('ring-job.json', job)).toBe('')
  })
})
