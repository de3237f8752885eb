/** Jobs that name a system give what they give with its agents and links named one by one; whole systems go out and come back. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runEngineCommand } from '../../../src-main/cli/engine'
import { UsageError } from '../../../src-main/cli/usage-error'
import { UserError } from '../../../src-main/engine/errors'
import type { SampleRecord } from '../../../src-main/engine/evaluation/sample-record'
import { jobSpec, type JobSpecInput } from '../../../src-main/engine/job-spec'
import {
  innerLinkTypes,
  outerLinkTypes,
  type InnerLinkType,
  type OuterLinkType,
} from '../../../src-main/engine/nn/link-types'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { findSystem } from '../../../src-main/engine/released/find-system'
import { partOf } from '../../../src-main/engine/released/parts'
import { styleByName } from '../../../src-main/engine/styles/registry'
import { loadInnerLink, loadOuterLinks } from '../../../src-main/engine/training/link-files'
import { referenceStyles } from '../../../src-main/engine/training/link-files-export'
import { absoluteSpecPaths } from '../../../src-main/jobs/spec-paths'
import { exportSystem, importSystem } from '../../../src-main/workspace/system-exchange'
import { jsonLines, run } from '../training/run-demo-job'
import { fresh, tinyLinks, tinySystem, type TinySystem } from './tiny-system'

afterEach(() => vi.restoreAllMocks())

type Evaluation = Extract<JobSpecInput, { kind: 'evaluate' }>
type Outer = Extract<JobSpecInput, { kind: 'outer' }>

function data(rows: readonly object[]): { file: string } {
  const file = join(fresh(), 'rows.jsonl')
  writeFileSync(file, rows.map((r) => JSON.stringify(r) + '\n').join(''))
  return { file }
}

const questions = data([{ question: 'What is 2 + 3?', answer: '5' }])

const evaluation = (more: Partial<Evaluation>): Evaluation => ({
  kind: 'evaluate',
  output: join(fresh(), 'out'),
  data: questions,
  rounds: 3,
  latentSteps: 2,
  generation: { maxNewTokens: 6 },
  ...more,
})

/** A system's folders, named one by one. */
const named = (style: string, folder: string) => ({
  style,
  agents: styleByName(style).roles.map((r) => ({
    role: r.role,
    model: join(folder, partOf(r)),
    innerLink: join(folder, partOf(r)),
  })),
})

/** What was written, and what was thought in every stage on the way. */
async function answers(spec: Evaluation): Promise<unknown[]> {
  const heard = await run(spec)
  expect(heard.failure).toBe('')
  const samples = jsonLines<SampleRecord>(join(spec.output, 'samples.jsonl'))
  return samples.map((s) => [s.output, s.stages.map((stage) => stage.latents)])
}

describe('an evaluation', () => {
  it.each(referenceStyles)('%s: of a system, as of its parts, at three rounds', async (style) => {
    const { folder } = await tinySystem(style)
    const parts = { ...named(style, folder), outerLinks: join(folder, 'outer') }
    const expected = await answers(evaluation(parts))
    const spec = evaluation({ style, system: folder })
    expect(await answers(spec)).toEqual(expected)
    // the run's spec names what was taken, and can be resumed
    const written = jobSpec.parse(JSON.parse(readFileSync(join(spec.output, 'spec.json'), 'utf8')))
    expect(written).toMatchObject({ style, outerLinks: parts.outerLinks, system: { folder } })
    expect((await run(spec, { resume: true })).failure).toBe('')
    // what is thought depends on the outer links
    expect(await answers(evaluation({ style, system: { folder, outer: false } }))).not.toEqual(expected)
  })

  it('what the job names itself goes before; what does not fit is refused', async () => {
    const { folder } = await tinySystem('distillation')
    const other = await tinySystem('distillation', { links: tinyLinks('distillation', 2) })
    const learner = {
      role: 'distill_learner',
      model: join(folder, 'learner'),
      innerLink: join(other.folder, 'learner'),
    }
    const { agents } = named('distillation', folder)
    const outerLinks = join(other.folder, 'outer')
    expect(await answers(evaluation({ style: 'distillation', system: folder, agents: [learner], outerLinks }))).toEqual(
      await answers(evaluation({ style: 'distillation', agents: [agents[0], learner], outerLinks })),
    )
    const refused = async (more: Partial<Evaluation>) =>
      (await run(evaluation({ style: 'distillation', ...more }))).failure
    expect(await refused({ system: folder, agents: [{ ...learner, role: 'critic' }] })).toMatch(/no role "critic"/)
    expect(await refused({ system: { folder, name: 'mixture' } })).toMatch(
      /mixture is of the style mixture, the job of the style distillation/,
    )
    expect(await refused({ system: { folder, benchmark: 'gpqa' } })).toMatch(/system has no name/)
    expect(await refused({ agents: [] })).toMatch(/role "expert" has no agent/)
  })

  it('of a team passing text needs no links', async () => {
    const { folder } = await tinySystem('distillation')
    rmSync(join(folder, 'outer'), { recursive: true })
    rmSync(join(folder, 'expert/adapter.pt'))
    const spec = evaluation({ style: 'distillation', system: folder, passing: 'text', rounds: 1 })
    expect(await answers(spec)).toHaveLength(1)
    // and one who answers alone no others
    rmSync(join(folder, 'expert'), { recursive: true })
    expect(await answers({ ...spec, output: join(fresh(), 'out'), passing: 'single' })).toHaveLength(1)
  })

  it('that was written down with what was taken runs again, wherever the other parts are now', async () => {
    const { folder } = await tinySystem('distillation')
    const spec = evaluation({ style: 'distillation', system: folder, rounds: 1 })
    const expected = await answers(spec)
    const written = JSON.parse(readFileSync(join(spec.output, 'spec.json'), 'utf8')) as Evaluation
    expect(await answers({ ...written, output: join(fresh(), 'out'), system: join(folder, 'gone') })).toEqual(expected)
  })

  it('is refused before any session is made where a model has no chat template', async () => {
    const { folder } = await tinySystem('distillation')
    const file = join(folder, 'learner/tokenizer_config.json')
    const { chat_template: _, ...config } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify(config))
    const opened = vi.spyOn(EngineSession, 'open')
    for (const passing of ['latents', 'text', 'single'] as const)
      expect((await run(evaluation({ style: 'distillation', system: folder, passing }))).failure).toMatch(
        /no chat template/,
      )
    expect(opened).not.toHaveBeenCalled()
  })
})

describe('outer training', () => {
  it('starts from a system as from its parts', async () => {
    const { folder } = await tinySystem('distillation')
    const rows = [1, 2, 3, 4].map((n) => ({
      question: `What is ${n} + 1?`,
      distill_expert: 'add',
      distill_learner: `${n + 1}`,
      answer: `${n + 1}`,
    }))
    const file = data(rows)
    const losses = async (more: Partial<Outer>) => {
      const spec: Outer = {
        kind: 'outer',
        style: 'distillation',
        output: join(fresh(), 'out'),
        data: file,
        steps: 2,
        logEvery: 1,
        latentCap: 3,
        rounds: 2,
        seed: 3,
        ...more,
      }
      const heard = await run(spec)
      expect(heard.failure).toBe('')
      return heard.losses()
    }
    const { agents } = named('distillation', folder)
    const given = await losses({ agents, startFrom: join(folder, 'outer') })
    expect(given).toHaveLength(2)
    expect(await losses({ system: folder })).toEqual(given)
    const untrained = await losses({ agents })
    expect(untrained).not.toEqual(given)
    expect(await losses({ system: { folder, outer: false } })).toEqual(untrained)
  })
})

/** What a folder in the published layout holds of links, as found for a task. */
async function linksIn(style: string, folder: string, task: string): Promise<Omit<TinySystem, 'folder'>> {
  const found = await findSystem(style, { folder }, task)
  const expected = tinyLinks(style)
  const inner = []
  for (const [i, a] of found.agents.entries()) {
    const { type, width, parameters } = await loadInnerLink(a.innerLink!, { width: expected.inner[i].width })
    inner.push({ type, width, parameters })
  }
  const wanted = expected.outer.map(({ key, inWidth, outWidth }) => ({ key, inWidth, outWidth }))
  return { inner, outer: [...(await loadOuterLinks(found.outerLinks!, { expected: wanted, task })).links.values()] }
}

describe('a whole system', () => {
  const inners = Object.keys(innerLinkTypes) as InnerLinkType[]
  const outers = Object.keys(outerLinkTypes) as OuterLinkType[]
  const cases = referenceStyles.flatMap((style) =>
    outers.map((outer, i) => ({ style, inner: inners[i % inners.length], outer })),
  )

  it.each(cases)('$style with $inner and $outer: in, out and in again bit for bit', async ({ style, inner, outer }) => {
    const links = tinyLinks(style, 7, inner, outer)
    const { folder } = await tinySystem(style, { links })
    // in: checkpoints of ours
    const to = join(fresh(), 'checkpoints')
    const { checkpoints } = await importSystem(style, { folder }, to)
    const { roles } = styleByName(style)
    expect(checkpoints).toEqual([...roles.map((r) => `inner-${r.role}`), 'outer'].sort())
    // out: from an evaluation of those
    const job = evaluation({
      style,
      agents: roles.map((r) => ({
        role: r.role,
        model: join(folder, partOf(r)),
        innerLink: join(to, `inner-${r.role}`),
      })),
      outerLinks: join(to, 'outer'),
    })
    const out = join(fresh(), 'system')
    expect((await exportSystem([jobSpec.parse(job)], out)).parts).toEqual([...roles.map(partOf), 'outer'].sort())
    // in again
    expect(await linksIn(style, out, 'math')).toEqual(links)
    for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
      expect(readFileSync(join(out, partOf(roles[0]), name))).toEqual(
        readFileSync(join(folder, partOf(roles[0]), name)),
      )
  })

  it('with links by task, which answer each for its own', async () => {
    const math = await tinySystem('sequential', { links: tinyLinks('sequential', 1) })
    const code = await tinySystem('sequential', { links: tinyLinks('sequential', 2) })
    const job = (links: TinySystem, task: 'math' | 'code' | 'choice') =>
      jobSpec.parse(
        evaluation({
          task,
          agents: named('sequential', links.folder).agents.map((a, i) => ({
            ...a,
            model: named('sequential', math.folder).agents[i].model,
          })),
          outerLinks: join(links.folder, 'outer'),
        }),
      )
    const out = join(fresh(), 'both')
    await exportSystem([job(math, 'choice'), job(code, 'code')], out)
    expect(readdirSync(join(out, 'outer')).sort()).toEqual([
      'outer_12(code).pt',
      'outer_12(math).pt',
      'outer_23(code).pt',
      'outer_23(math).pt',
      'outer_31(code).pt',
      'outer_31(math).pt',
      'outer_adapter_config.json',
      'outerlink_config.json',
    ])
    expect(JSON.parse(readFileSync(join(out, 'critic/innerlink_config.json'), 'utf8'))).toEqual({
      format_version: 1,
      tasks: { math: { 'adapter.pt': 'adapter(math).pt' }, code: { 'adapter.pt': 'adapter(code).pt' } },
    })
    for (const [task, { inner, outer }] of [
      ['math', math],
      ['choice', math],
      ['code', code],
    ] as const)
      expect(await linksIn('sequential', out, task), task).toEqual({ inner, outer })
    // and once more through the task's own job
    const again = join(fresh(), 'code')
    await exportSystem([jobSpec.parse(evaluation({ task: 'code', system: out }))], again)
    expect((await linksIn('sequential', again, 'code')).outer).toEqual(code.outer)

    const refused = async (...jobs: Parameters<typeof exportSystem>[0]) => {
      const to = join(fresh(), 'to')
      const error = await exportSystem(jobs, to).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(UserError)
      expect(existsSync(to)).toBe(false)
      return (error as UserError).message
    }
    expect(await refused(job(math, 'math'), job(code, 'choice'))).toMatch(/tasks are math, math/)
    const { agents } = named('sequential', code.folder)
    expect(
      await refused(
        job(math, 'math'),
        jobSpec.parse(evaluation({ task: 'code', agents, outerLinks: join(code.folder, 'outer') })),
      ),
    ).toMatch(/different teams/)
    expect(await refused(jobSpec.parse(evaluation({ agents })))).toMatch(/no outer links/)
    expect(
      await refused(jobSpec.parse(evaluation({ agents: agents.map(({ role, model }) => ({ role, model })) }))),
    ).toMatch(/planner has no inner link/)
  })

  it('its weights are not copied where the volume allows it, its small files are', async () => {
    const { folder } = await tinySystem('distillation')
    const out = join(fresh(), 'out')
    await exportSystem([jobSpec.parse(evaluation({ style: 'distillation', system: folder }))], out)
    const inode = (...names: string[]) => statSync(join(...names)).ino
    expect(inode(out, 'expert/model.safetensors')).toBe(inode(folder, 'expert/model.safetensors'))
    expect(inode(out, 'expert/config.json')).not.toBe(inode(folder, 'expert/config.json'))
  })
})

it('a system given as a path counts from the folder of the spec', () => {
  expect(absoluteSpecPaths({ system: 'a', agents: [{ model: 'm' }] }, '/base')).toEqual({
    system: '/base/a',
    agents: [{ model: '/base/m' }],
  })
  expect(
    absoluteSpecPaths({ system: { name: 'mixture', folder: 'a', parts: { math: 'b', outer: '/c' } } }, '/base'),
  ).toEqual({
    system: { name: 'mixture', folder: '/base/a', parts: { math: '/base/b', outer: '/c' } },
  })
})

it('the command line exports and imports systems, and says what is missing', async () => {
  let printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true))
  const { folder, outer } = await tinySystem('deliberation')
  const place = fresh()
  const spec = join(place, 'spec.json')
  // paths of a system count from the spec's own folder
  mkdirSync(join(place, 'parts'))
  cpSync(join(folder, 'outer'), join(place, 'parts/outer'), { recursive: true })
  cpSync(folder, join(place, 'system'), { recursive: true })
  rmSync(join(place, 'system/outer'), { recursive: true })
  const system = { name: 'deliberation', folder: 'system', parts: { outer: 'parts/outer' } }
  writeFileSync(spec, JSON.stringify({ kind: 'evaluate', output: 'out', data: { file: 'q.jsonl' }, system }))
  const [out, back] = [join(place, 'exported'), join(place, 'back')]
  expect(await runEngineCommand(['export', '--job', spec, '--to', out])).toBe(0)
  expect(JSON.parse(printed)).toEqual({ folder: out, parts: ['outer', 'reflector', 'toolcaller'] })
  printed = ''
  rmSync(join(out, 'outer'), { recursive: true })
  const importing = ['import', '--system', out, '--style', 'deliberation', '--to', back]
  await expect(runEngineCommand(importing)).rejects.toThrow(/has no outer links/)
  expect(await runEngineCommand([...importing, '--part', `outer=${join(place, 'parts/outer')}`])).toBe(0)
  expect(JSON.parse(printed)).toEqual({ folder: back, checkpoints: ['inner-reflector', 'inner-tool-caller', 'outer'] })
  const expected = outer.map(({ key, inWidth, outWidth }) => ({ key, inWidth, outWidth }))
  expect([...(await loadOuterLinks(join(back, 'outer'), { expected })).links.values()]).toEqual(outer)
  for (const args of [
    ['export', '--to', out],
    ['export', '--to', out, '--job', spec, '--links', out],
    ['import', '--to', out],
    ['import', '--to', out, '--system', out],
    ['import', '--to', out, '--links', out, '--style', 'mixture'],
    ['import', '--to', out, '--style', 'mixture', '--part', 'outer'],
    ['import', '--to', out, '--style', 'mixture', '--part', 'outer=a', '--part', 'outer=b'],
  ])
    await expect(runEngineCommand(args), args.join(' ')).rejects.toThrow(UsageError)
})

describe('a benchmark whose questions are answered by search', () => {
  it('is refused for systems that do not search, before anything is looked for', async () => {
    const system = { name: 'mixture' as const, folder: '/nowhere', benchmark: 'hotpotqa' as const }
    const heard = await run(evaluation({ system }))
    expect(heard.failure).toMatch(/hotpotqa cannot be asked of mixture\. .*only deliberation does/)
  })

  it('is asked of deliberation, with a word on the search that is missing', async () => {
    const { folder } = await tinySystem('deliberation')
    const system = { name: 'deliberation' as const, folder, benchmark: 'bamboogle' as const }
    const heard = await run(evaluation({ system, rounds: 1 }))
    expect(heard.failure).toBe('')
    expect(heard.of('log').map((l) => l.message)).toContainEqual(
      expect.stringMatching(/bamboogle .* no agent searches/),
    )
  })
})
