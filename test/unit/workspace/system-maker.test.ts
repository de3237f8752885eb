/** Systems made of the library: what is checked, the project that comes of it, and its end. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SystemDraft } from '../../../src-main/bridge/contract'
import { systemDraft } from '../../../src-main/bridge/system-views'
import { UserError } from '../../../src-main/engine/errors'
import { specPaths } from '../../../src-main/engine/spec-paths'
import { openSecrets } from '../../../src-main/secrets/secrets'
import { Studio } from '../../../src-main/studio'
import { resolveStep } from '../../../src-main/workspace/pipeline'
import { inProcessData } from '../datasets/in-process-data'
import { inProcessSpawner } from '../jobs/fake-child'

const demo = path.resolve('native-assets/demo')
let root: string
let studio: Studio

function open(workspace: string): Studio {
  return new Studio({
    workspace,
    demo: { folder: demo, pipeline: 'pipeline.short.json' },
    spawn: inProcessSpawner(),
    spawnData: inProcessData(),
    secrets: openSecrets({ load: () => Promise.reject(new Error('none')) }),
    hubEndpoint: () => undefined,
    send: () => undefined,
    onIdle: () => undefined,
    onProblem: (error) => {
      throw error
    },
  })
}

beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'systems ä-'))
  const workspace = path.join(root, 'workspace')
  for (const role of ['planner', 'critic', 'solver'])
    cpSync(path.join(demo, 'models', role), path.join(workspace, 'models', `lab--${role}`), { recursive: true })
  const rows = readFileSync(path.join(demo, 'train.jsonl'), 'utf8').split('\n').slice(0, 60)
  mkdirSync(path.join(workspace, 'datasets', 'my rows'), { recursive: true })
  writeFileSync(path.join(workspace, 'datasets/my rows/train.jsonl'), rows.slice(0, 50).join('\n') + '\n')
  writeFileSync(path.join(workspace, 'datasets/my rows/test.jsonl'), rows.slice(50).join('\n') + '\n')
  studio = open(workspace)
  await studio.start()
  await studio.openDemo()
})
afterEach(async () => {
  await studio.shutdown(0)
  rmSync(root, { recursive: true, force: true })
})

const draft = (change: (raw: Record<string, any>) => void = () => undefined): SystemDraft => {
  const raw = {
    title: 'Clock team: ä/b',
    style: 'sequential',
    pack: 'Demo',
    models: { planner: 'library/lab--planner', critic: 'library/lab--critic', solver: 'library/lab--solver' },
    data: {
      train: { dataset: 'library/my rows', file: 'train.jsonl' },
      evaluation: { dataset: 'library/my rows', file: 'test.jsonl' },
    },
    training: { rounds: 2, latentSteps: 4 },
    evaluation: { maxNewTokens: 8, grader: 'exact' },
  }
  change(raw)
  return systemDraft.parse(raw)
}

const refused = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof UserError)) throw error ?? new Error('not refused')
  return `${error.what} ${error.why}`
}

describe('a system of library models and data', () => {
  it('is checked against what is on the disk', async () => {
    const report = await studio.systems.check(draft())
    expect(report.problems).toEqual([])
    expect(report.steps.map(({ id, rows }) => `${id} ${rows}`)).toEqual([
      ...['inner-planner 50', 'inner-critic 50', 'inner-solver 50', 'outer 50'],
      ...[
        'trained-1 10',
        'trained-2 10',
        'untrained-links-1 10',
        'untrained-links-2 10',
        'text-1 10',
        'text-2 10',
        'single-1 10',
      ],
    ])
    expect(report.steps.every(({ memory }) => memory?.verdict === 'fits' && memory.total > 1e8)).toBe(true)
    expect(report.disk.needed).toBeGreaterThan(1e5)
  })

  it('is not made of what is missing, and says which', async () => {
    const said = async (change: (raw: Record<string, any>) => void) => {
      const { problems } = await studio.systems.check(draft(change))
      return problems.filter(({ level }) => level === 'error').map(({ step, field }) => `${step} ${field}`)
    }
    expect(await said((raw) => (raw.models.critic = 'library/gone'))).toEqual(['models critic'])
    expect(await said((raw) => (raw.data.train.file = 'gone.jsonl'))).toEqual(['data train'])
    expect(await said((raw) => (raw.data.train.mapping = { question: 'no such column' }))).toContain('data train')
    expect(await refused(studio.createSystem(draft((raw) => (raw.models.critic = 'library/gone'))))).toContain('critic')
    expect((await studio.projects.list()).projects.map(({ name }) => name)).toEqual(['Demo'])
  })

  it('becomes a project whose jobs find their files, also after the workspace has moved', async () => {
    const { name, title, pipeline } = await studio.createSystem(draft())
    expect([name, title]).toEqual(['Clock team ab', 'Clock team: ä/b'])
    expect(pipeline).toMatchObject({ state: 'ready', total: 11, next: 'inner-planner' })
    expect((await studio.projects.get(name)).draft).toEqual(draft())
    expect((await studio.createSystem(draft())).name).toBe('Clock team ab 2')
    await studio.shutdown(0)
    const moved = path.join(root, 'moved')
    renameSync(studio.places.root, moved)
    studio = open(moved)
    await studio.start()
    const project = await studio.projects.get(name)
    const outcome = () => ({ checkpoint: root, best: null })
    for (const step of project.pipeline.steps) {
      const spec = resolveStep(step, { base: studio.places.assets(name), output: root, outcome })
      const missing = specPaths(spec).filter((file) => !existsSync(file))
      expect(missing, step.id).toEqual([])
      expect(specPaths(spec).some((file) => file.startsWith(moved))).toBe(true)
    }
  })

  it('keeps its models and data from being deleted until it is deleted itself', async () => {
    const { name } = await studio.createSystem(draft())
    expect(await refused(studio.models.remove('library/lab--critic'))).toContain('critic')
    expect(await refused(studio.deleteDataset('library/my rows'))).toContain('Clock team')
    expect(await studio.deleteProject(name)).toBeGreaterThan(0)
    expect((await studio.projects.list()).projects.map((project) => project.name)).toEqual(['Demo'])
    expect(await studio.models.remove('library/lab--critic')).toBeGreaterThan(0)
    expect(await refused(studio.deleteProject('Demo'))).toContain('comes with the app')
  })
})
