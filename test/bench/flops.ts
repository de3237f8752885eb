/** Operations and traffic that a work needs whoever does it: products with the model's weights, nothing else counted. */
import { readConfig } from '../../src-main/engine/models/families'
import type { BenchInputs } from './inputs'
import type { WorkName } from './measure'

export interface Need {
  /** Floating-point operations (a multiply-add is two). */
  readonly flops: number
  /** Bytes of weights that are read again for every step of a work that goes step by step. */
  readonly stepBytes?: number
}

export async function needs(folder: string, inputs: BenchInputs): Promise<Record<WorkName, Need>> {
  const c = await readConfig(folder)
  const heads = (2 * c.heads + 2 * c.kvHeads) * c.headDim
  const body = c.layers * c.hiddenSize * (heads + 3 * c.intermediateSize)
  const head = c.vocabSize * c.hiddenSize
  const forward = (positions: number) => 2 * body * positions
  const { forward: f, rollout, rollout8, decode, inner, outer } = inputs
  const rolled = ({ prompts, latent_steps: steps }: typeof rollout): Need => ({
    flops: forward(prompts.reduce((n, p) => n + p.length, 0) + prompts.length * (steps - 1)),
    stepBytes: 4 * body * (steps - 1),
  })
  return {
    forward_hidden: { flops: forward(f.ids.length) },
    forward_logits: { flops: forward(f.ids.length) + 2 * head * f.ids.length },
    rollout: rolled(rollout),
    rollout8: rolled(rollout8),
    decode: {
      flops: forward(decode.prompt.length + decode.new_tokens - 1) + 2 * head * decode.new_tokens,
      stepBytes: 4 * (body + head) * (decode.new_tokens - 1),
    },
    inner_step: { flops: forward(inner.ids.reduce((n, row) => n + row.length, 0)) },
    inner_epoch2: { flops: 0 },
    outer_step: { flops: outerFlops(outer, body, head) },
  }
}

/**
 * As the baseline's variant `best` does it: text before a slot once, each stage once forward and (but for the first
 * planner's) once back to its input, which costs as much again; logits of the last targets forward and back.
 */
function outerFlops(outer: BenchInputs['outer'], body: number, head: number): number {
  let positions = 0
  let targets = 0
  for (const s of outer.samples) {
    const keep = outer.max_latents
    const kept = s.targets.map((t) => Math.min(t.length, keep))
    const later = outer.rounds - 1
    const stage = (p: 'planner_feedback' | 'refiner' | 'solver', target: number) =>
      keep + s[p].after.length + kept[target]
    positions += s.planner.before.length + s.planner.after.length + kept[0]
    positions += s.refiner.before.length + s.solver.before.length + (later > 0 ? s.planner_feedback.before.length : 0)
    positions += 2 * (later * stage('planner_feedback', 0) + outer.rounds * (stage('refiner', 1) + stage('solver', 2)))
    targets += s.targets[2].length
  }
  return 2 * body * positions + 4 * head * targets
}
