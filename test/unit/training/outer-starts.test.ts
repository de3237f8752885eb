/** Starts, measures and recorded choices of outer jobs: every style, between models of different tokenizers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readSafetensors } from '../../../src-main/engine/formats/safetensors'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { styles } from '../../../src-main/engine/styles/registry'
import { isFeedback, type StyleDefinition } from '../../../src-main/engine/styles/style'
import { writeByteModel } from '../evaluation/byte-model'
import { agents as demoAgents, demo, run, Workplace } from './run-demo-job'

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

type Outer = Extract<JobSpecInput, { kind: 'outer' }>

const texts = ['one : nine plus seven is six', 'two : 8 + 7 ; - 7', 'three : nine plus zero', 'unat nov mik é 中']

/** Rows with a text of every role. */
function rows(style: StyleDefinition, count = 4) {
  const file = place.path(`${style.name}.jsonl`)
  const lines = Array.from({ length: count }, (_, k) => ({
    question: `unat ${texts[k % 4]}`,
    ...Object.fromEntries(style.roles.map((r, a) => [r.targets[0], texts[(k + a) % 4]])),
  }))
  writeFileSync(file, lines.map((l) => JSON.stringify(l) + '\n').join(''))
  return { file }
}

/** Agents that read words and agents that read bytes, in turn. */
async function team(style: StyleDefinition) {
  const bytes = await writeByteModel(place.path('bytes'), 3, 32)
  return style.roles.map(({ role }, a) => ({ role, model: a % 2 === 0 ? demo('models/planner') : bytes }))
}

async function spec(style: StyleDefinition, start: Outer['start'], output = start ?? ''): Promise<Outer> {
  return {
    kind: 'outer',
    style: style.name,
    agents: await team(style),
    data: rows(style),
    start,
    align: { rows: 4, steps: 25, batchSize: 4, latentSteps: 6 },
    rounds: { from: 1, to: 3 },
    superviseFinalOnly: false,
    latentCap: 4,
    steps: 4,
    batchSize: 2,
    logEvery: 1,
    saveEvery: 0,
    seed: 5,
    output: place.path(output),
    validation: {
      data: rows(style, 2),
      every: 4,
      rounds: 2,
      latentSteps: 4,
      maxNewTokens: 6,
      measure: 'readings',
    },
  }
}

const manifest = (output: string, step: number) =>
  JSON.parse(readFileSync(place.path(`${output}/checkpoints/step-${step}/manifest.json`), 'utf8')) as {
    rounds: unknown
    metrics: Record<string, number>
    options: Record<string, unknown>
  }

describe.each(styles.map((s) => [s.name, s] as const))('style %s', (_, style) => {
  it('starts aligned and by least squares, draws its rounds, is judged by its readers, and tells all of it', async () => {
    for (const start of ['aligned', 'least-squares'] as const) {
      const heard = await run(await spec(style, start))
      expect(heard.failure).toBe('')
      const aligned = heard.of('log').flatMap((l) => /^Aligned (\S+): 1 - cos ([\d.]+)/.exec(l.message) ?? [])
      const distances = style.links.map(({ key }) => Number(aligned[aligned.indexOf(key) + 1]))
      // untrained links stand at 1
      for (const d of distances) expect(d).toBeLessThan(0.7)
      const measured = heard.of('metrics')
      expect(measured.map((m) => m.step)).toEqual([1, 2, 3, 4])
      for (const { gradNorms } of measured)
        for (const link of style.links) {
          const norms = gradNorms![link.key] ?? []
          for (const norm of isFeedback(link) ? norms.slice(0, -1) : norms) expect(norm).toBeGreaterThan(0)
        }
      const counts = new Set(measured.map((m) => m.roundLosses!.length))
      expect(counts.size).toBeGreaterThan(1)
      // weighted over all rounds: every round has a loss
      for (const m of measured) expect(m.roundLosses!.every((l) => l !== null)).toBe(true)

      const judged = heard.of('validation').filter((v) => v.step === 4)
      const readers = style.roles.map((r) => `${r.role} reads right`)
      expect(judged.map((v) => v.name)).toEqual(['texts read right', 'places read right', ...readers])
      const { rounds, metrics, options } = manifest(start, 4)
      expect(rounds).toEqual({ from: 1, to: 3 })
      expect(Object.keys(metrics)).toEqual(judged.map((v) => v.name))
      expect(options).toMatchObject({
        start,
        lastNorm: 'embedding',
        learningRate: 3e-4,
        align: { rows: 4, steps: 25, latentSteps: 6, ridge: 1e-3, filler: '.' },
        superviseFinalOnly: false,
        earlierRoundsWeight: 0.1,
        validation: { measure: 'readings', patience: 0 },
      })
    }
  })
})

describe('a least-squares start', () => {
  const style = styles[0]

  it('goes on after a stop as if there had been none', async () => {
    const whole = await run(await spec(style, 'least-squares', 'whole'))
    const first = await run(await spec(style, 'least-squares', 'part'), {
      stopAt: (e) => e.kind === 'metrics' && e.step === 2,
    })
    expect(first.last).toMatchObject({ kind: 'stopped', step: 2 })
    const second = await run(await spec(style, 'least-squares', 'part'), { resume: true })
    expect([...first.losses(), ...second.losses()]).toEqual(whole.losses())
  })

  it('is refused for types without a linear path, and for links to go on from, before a model is opened', async () => {
    const plain = await spec(style, 'least-squares')
    const agents = plain.agents!.map((a) => ({ ...a, model: place.path('nowhere') }))
    for (const linkType of ['outer_adapter', 'outer_ln_adapter'] as const) {
      const { failure } = await run({ ...plain, agents, linkType })
      expect(failure).toMatch(new RegExp(`outer_12 \\(${linkType}\\).*linear path.*outer_res_adapter`))
    }
    const from = await run({ ...plain, agents, startFrom: place.path('links') })
    expect(from.failure).toMatch(/one way only.*startFrom/)
  })

  it('makes the demo team read its own latents, without a step of training', async () => {
    const common = { promptPack: demo('prompt-pack.json'), seed: 1, saveEvery: 0, lastNorm: 'one' } as const
    const data = { file: demo('train.jsonl'), limit: 600 }
    const pair = demoAgents.slice(0, 2)
    for (const { role, model } of pair) {
      const output = place.path(role)
      await run({ ...common, kind: 'inner', role, model, data, steps: 150, batchSize: 64, learningRate: 3e-3, output })
    }
    const heard = await run({
      ...common,
      kind: 'outer',
      agents: demoAgents.map((a, i) =>
        i < 2 ? { ...a, innerLink: place.path(`${pair[i].role}/checkpoints/step-150`) } : a,
      ),
      data,
      start: 'least-squares',
      align: { rows: 100, latentSteps: 11 },
      rounds: 1,
      latentCap: 11,
      steps: 1,
      learningRate: 1e-12,
      output: place.path('outer'),
      validation: {
        data: { file: demo('validation.jsonl'), limit: 20 },
        every: 10,
        rounds: 1,
        latentSteps: 11,
        maxNewTokens: 12,
        measure: 'readings',
      },
    })
    expect(heard.failure).toBe('')
    const share = (name: string) => heard.of('validation').find((v) => v.name === name)!.value
    expect(share('critic reads right')).toBeGreaterThan(0.5)
    expect(share('solver reads right')).toBeGreaterThan(0.5)
  })
})

describe('defaults that depend on the start', () => {
  it('are a calm rate after one, with a warning where the given rate is not, and the published ones in reference mode', async () => {
    const [style] = styles
    const small = { ...(await spec(style, 'aligned')), steps: 1, validation: undefined }
    const hasty = await run({ ...small, output: place.path('hasty'), learningRate: 3e-3 })
    expect(hasty.of('log').map((l) => l.message)).toContainEqual(
      expect.stringMatching(/0\.003 may undo the aligned start/),
    )
    const random = await run({ ...small, output: place.path('random'), start: 'random', states: 'reference' })
    expect(random.of('log').map((l) => l.message)).toContain(
      'Left open and decided: feedback self-fed, learningRate 0.0005, lastNorm embedding.',
    )
    expect(manifest('random', 1).options).toMatchObject({ learningRate: 5e-4, align: null, lastNorm: 'embedding' })
    await run({ ...small, output: place.path('published'), start: 'random', mode: 'reference' })
    expect(manifest('published', 1).options).toMatchObject({ learningRate: 5e-4, lastNorm: 'one' })
  })

  it('make what fresh links say as long as the embeddings of the receiving model, outer and inner', async () => {
    const [style] = styles
    const still = { steps: 1, learningRate: 1e-12, validation: undefined }
    await run({ ...(await spec(style, 'random')), ...still })
    const bytes = place.path('bytes')
    const { role } = style.roles[0]
    const output = place.path('inner')
    await run({ kind: 'inner', role, model: bytes, data: rows(style), ...still, output })

    const file = await readSafetensors(join(bytes, 'model.safetensors'))
    const table = file.tensors.get('model.embed_tokens.weight')!.data as Float32Array
    // 256 bytes and 7 special tokens; the rest of the table is no token's
    const lengths = Array.from({ length: 263 }, (_, id) => Math.hypot(...table.subarray(id * 32, (id + 1) * 32)))
    const scale = lengths.sort((a, b) => a - b)[131] / Math.sqrt(32)
    expect(scale).toBeLessThan(0.2)
    for (const [folder, name] of [
      ['random', 'outer_12.ln_target.weight'],
      ['inner', 'post_ln.weight'],
    ]) {
      const links = await readSafetensors(place.path(`${folder}/checkpoints/step-1/links.safetensors`))
      const gain = links.tensors.get(name)!.data as Float32Array
      for (const g of gain) expect(g).toBeCloseTo(scale, 6)
    }
  })
})
