/** Inner-link training against torch: losses, rates, gradients and parameters of whole little runs. */
import { afterAll, describe, expect, it } from 'vitest'
import { readdirSync } from 'node:fs'
import { openAgent } from '../../src-main/engine/agents/onnx-agent'
import { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import { type InnerLinkType, innerLinkTypes } from '../../src-main/engine/nn/link-types'
import { initInnerLink } from '../../src-main/engine/nn/link-init'
import { TorchGenerator } from '../../src-main/engine/nn/torch-generator'
import { type PairRow, pairsOf } from '../../src-main/engine/training/inner-pairs'
import { innerStep } from '../../src-main/engine/training/inner-step'
import { AdamW, clipGradients, innerParameters } from '../../src-main/engine/training/optimiser'
import { learningRateAt } from '../../src-main/engine/training/schedule'
import { StateCollection } from '../../src-main/engine/training/state-store'
import { GoldenTensors, difference, goldenJson, goldenPath, minus } from './golden-files'

interface InnerRecord {
  model: string
  type: InnerLinkType
  steps: { losses: number[]; lr: number; grad_norm_before_clip: number }[]
  lr: number
  warmup: number
  schedule: 'cosine'
  cos_weight: number
  mse_weight: number
  weight_decay: number
  accumulate: number
  clip: number
}

const names = readdirSync(goldenPath('training/inner'))
  .filter((f) => f.endsWith('.json'))
  .map((f) => f.slice(0, -'.json'.length))

const sessions = new LinkSessions({ threads: 1 })
afterAll(() => sessions.dispose())

/** A left-padded row of a golden batch: the tokens without their padding. */
function row(ids: number[], attention: number[], latent: number[]): PairRow {
  const start = attention.indexOf(1)
  return { ids: ids.slice(start), promptLength: latent.indexOf(1) - start, latentEnd: ids.length - start }
}

describe('inner training as torch does it (reference mode)', () => {
  it('covers every link type', () => {
    const covered = new Set(names.map((n) => goldenJson<InnerRecord>(`training/inner/${n}.json`).type))
    expect([...covered].sort()).toEqual(Object.keys(innerLinkTypes).sort())
  })

  it.each(names)('%s', async (name) => {
    const record = goldenJson<InnerRecord>(`training/inner/${name}.json`)
    const tensors = await GoldenTensors.read(`training/inner/${name}.safetensors`)
    const agent = await openAgent(goldenPath(`models/${record.model}`), { threads: 1 })
    try {
      const link = sessions.link({ kind: 'inner', type: record.type, width: agent.hiddenSize })
      const parameters = initInnerLink(record.type, agent.hiddenSize, new TorchGenerator(42))
      const start = tensors.under('start/')
      expect(parameters).toEqual(start)
      const optimiser = new AdamW(innerParameters(parameters), { weightDecay: record.weight_decay })
      const kept = new StateCollection(null)
      const schedule = {
        mode: 'reference' as const,
        schedule: record.schedule,
        learningRate: record.lr,
        warmupSteps: record.warmup,
        steps: record.steps.length,
      }
      for (const [k, expected] of record.steps.entries()) {
        const microBatches = []
        for (let a = 0; a < record.accumulate; a++) {
          const [ids, attention, latent] = ['ids', 'attention_mask', 'latent_mask'].map((t) =>
            tensors.integers(`step${k}.${a}/${t}`),
          )
          microBatches.push(
            await pairsOf(
              agent,
              ids.map((r, b) => row(r, attention[b], latent[b])),
              kept,
            ),
          )
        }
        const { losses, gradients } = await innerStep(link, parameters, microBatches, {
          cosineWeight: record.cos_weight,
          mseWeight: record.mse_weight,
          divisor: record.accumulate ** 2,
        })
        losses.forEach((l, a) => expect(Math.abs(l / expected.losses[a] - 1), `loss of step ${k}`).toBeLessThan(1e-5))
        if (k === 0)
          for (const [p, g] of Object.entries(tensors.under('grad0/')))
            expect(difference(gradients.get(p)!, g), `gradient of ${p}`).toBeLessThan(1e-4)
        const norm = clipGradients(gradients.values(), record.clip)
        expect(Math.abs(norm / expected.grad_norm_before_clip - 1)).toBeLessThan(1e-4)
        const rate = learningRateAt(k, schedule)
        expect(Math.abs(rate - expected.lr)).toBeLessThanOrEqual(1e-5 * expected.lr)
        optimiser.step(gradients, rate)
      }
      for (const [p, end] of Object.entries(tensors.under('end/')))
        expect(difference(parameters[p], end, minus(end, start[p])), `${p} at the end`).toBeLessThan(5e-3)
    } finally {
      await agent.dispose()
    }
  })
})
