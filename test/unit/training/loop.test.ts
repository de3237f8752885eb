/** The loop that all training shares, around steps that are made up. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { jobContext } from '../../../src-main/engine/job-context'
import { initInnerLink } from '../../../src-main/engine/nn/link-init'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import type { JobNews } from '../../../src-main/engine/progress'
import { loadTrainingState } from '../../../src-main/engine/training/checkpoints'
import { BatchOrder } from '../../../src-main/engine/training/data-order'
import { type Judgement, train, type TrainingRun } from '../../../src-main/engine/training/loop'
import { innerParameters } from '../../../src-main/engine/training/optimiser'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'loop-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Script {
  steps: number
  saveEvery?: number
  logEvery?: number
  /** Loss and first gradient number of a step, from 1. */
  step?: (n: number) => { loss: number; gradient?: number }
  validation?: { every: number; patience: number; judge: (step: number) => Judgement }
}

const settings = {
  mode: 'corrected',
  learningRate: 0.1,
  schedule: 'constant',
  warmupSteps: 0,
  weightDecay: 0,
  maxGradNorm: 1,
  keepLast: 50,
} as const

/** A run of one tiny link whose steps, losses and judgements are the script's. */
async function run(script: Script, resumeFrom: number | null = null) {
  const news: JobNews[] = []
  const ctx = jobContext({
    output: folder,
    resume: resumeFrom !== null,
    begin: async () => undefined,
    say: (n) => news.push(n),
  })
  const resumed = resumeFrom === null ? null : await loadTrainingState(join(folder, `checkpoints/step-${resumeFrom}`))
  const generator = resumed ? TorchGenerator.fromState(resumed.generator) : new TorchGenerator(1)
  const parameters = initInnerLink('ln_res_adapter', 4, new TorchGenerator(2))
  const trained = innerParameters(parameters)
  const order = { rows: 4, batchSize: 2, generator }
  const batches = resumed ? BatchOrder.resume(order, resumed.dataOrder) : new BatchOrder(order)
  let at = resumed?.step ?? 0
  const {
    steps,
    saveEvery = 0,
    logEvery = 1,
    step = (): { loss: number; gradient?: number } => ({ loss: 1 }),
    validation,
  } = script
  const run: TrainingRun = {
    settings: { ...settings, steps, saveEvery, logEvery },
    title: 'made up',
    parameters: trained,
    generator,
    batches,
    step: async (draw) => {
      draw()
      const { loss, gradient = 0.01 } = step(++at)
      const gradients = new Map(trained.map((p) => [p.name, new Float32Array(p.values.length).fill(gradient)]))
      return { loss, gradients, positions: 1 }
    },
    links: () => [{ kind: 'inner', type: 'ln_res_adapter', width: 4, parameters }],
    provenance: (step, metrics) => ({
      style: 'sequential',
      role: 'planner',
      task: 'math',
      mode: 'corrected',
      baseModels: [],
      dataset: null,
      promptPack: null,
      seed: 1,
      step,
      states: null,
      feedback: null,
      rounds: null,
      metrics,
      options: {},
      parentRun: null,
      appVersion: '0',
    }),
    skipped: () => 0,
    validation: validation && { ...validation, judge: async () => validation.judge(at) },
  }
  const end = await train(ctx, run, resumed)
  const of = <K extends JobNews['kind']>(kind: K) =>
    news.filter((n): n is Extract<JobNews, { kind: K }> => n.kind === kind)
  return { end, of, parameters, messages: of('log').map((l) => l.message) }
}

const manifestMetrics = (step: number): unknown =>
  (JSON.parse(readFileSync(join(folder, `checkpoints/step-${step}/manifest.json`), 'utf8')) as { metrics: unknown })
    .metrics

describe('a step that gives no number', () => {
  it('is left out of parameters and numbers, is said once, and the run saves and goes on', async () => {
    const bad = new Map([
      [2, { loss: NaN, gradient: NaN }],
      [3, { loss: 1, gradient: Infinity }],
      [5, { loss: NaN }],
    ])
    const script = (broken: boolean): Script => ({
      steps: 6,
      saveEvery: 1,
      logEvery: 2,
      step: (n) => (broken ? bad.get(n) : undefined) ?? { loss: n },
    })
    const { end, of, parameters, messages } = await run(script(true))
    expect(end.kind).toBe('finished')
    // step 2 has no line of its own; 4 speaks for 1 and 4, 6 for itself
    expect(of('metrics').map(({ step, loss }) => [step, loss])).toEqual([
      [4, (1 + 4) / 2],
      [6, 6],
    ])
    expect(of('metrics').every((m) => Number.isFinite(m.gradNorm) && m.gradNorm > 0)).toBe(true)
    expect(messages.filter((m) => m.includes('not finite'))).toEqual([expect.stringContaining('step 2')])
    for (const values of Object.values(parameters)) expect(values.every(Number.isFinite)).toBe(true)
    const state = await loadTrainingState(join(folder, 'checkpoints/step-6'))
    expect([...state.optimiser.values()].map((m) => m.steps)).toEqual(
      state.optimiser.size ? Array(state.optimiser.size).fill(3) : [],
    )
    expect(state.optimiser.size).toBeGreaterThan(0)
  })
})

describe('metrics of a checkpoint', () => {
  it('are those measured at its own step, whichever came first', async () => {
    const judge = (step: number): Judgement => ({
      name: 'accuracy',
      value: 1 - step / 10,
      n: 5,
      beside: [{ name: 'texts', value: step / 100, n: 2 }],
    })
    const { of } = await run({ steps: 5, saveEvery: 1, validation: { every: 2, patience: 0, judge } })
    expect(manifestMetrics(1)).toEqual({})
    expect(manifestMetrics(2)).toEqual({ accuracy: 0.8, texts: 0.02 })
    expect(manifestMetrics(3)).toEqual({})
    // judged after it was saved
    expect(manifestMetrics(5)).toEqual({ accuracy: 0.5, texts: 0.05 })
    expect(of('validation').filter((v) => v.step === 2)).toEqual([
      { kind: 'validation', step: 2, name: 'accuracy', value: 0.8, n: 5, best: false },
      { kind: 'validation', step: 2, name: 'texts', value: 0.02, n: 2, best: false },
    ])
  })
})

describe('patience', () => {
  it('that ran out before the process was killed is out on resuming', async () => {
    const judge = (step: number): Judgement => ({ name: 'accuracy', value: step === 0 ? 1 : 0, n: 5 })
    const script: Script = { steps: 9, saveEvery: 1, validation: { every: 2, patience: 2, judge } }
    const whole = await run(script)
    expect(whole.of('metrics').at(-1)!.step).toBe(4)
    expect(whole.messages).toContainEqual(expect.stringMatching(/Stopped early at step 4: 2 validations/))
    // the process died after step 4 was saved and before it could say that it was done
    const again = await run(script, 4)
    expect(again.end).toEqual({ kind: 'finished', checkpoint: join(folder, 'checkpoints', 'step-4') })
    expect(again.of('metrics')).toEqual([])
    // more patience: it goes on
    const more = await run({ ...script, validation: { ...script.validation!, patience: 4 } }, 4)
    expect(more.of('metrics').map((m) => m.step)).toEqual([5, 6, 7, 8])
  })
})
