/** Operations and traffic that a work needs whoever does it: products with the model's weights, nothing else counted. */
import { readConfig } from '../../src-main/engine/models/families'
import type { DecoderConfig } from '../../src-main/engine/models/config'
import { deltaChannels } from '../../src-main/engine/nn/delta-net'
import type { BenchInputs } from './inputs'
import type { ChildWork } from './measure'

export interface Need {
  /** Floating-point operations (a multiply-add is two). */
  readonly flops: number
  /** Bytes of weights that are read again for every step of a work that goes step by step. */
  readonly stepBytes?: number
}

export async function needOf(work: ChildWork, folder: string, inputs: BenchInputs): Promise<Need> {
  const c = await readConfig(folder)
  const body = bodySize(c)
  const head = c.vocabSize * c.hiddenSize
  const forward = (positions: number) => 2 * body * positions
  const { forward: f, rollout, rollout8, decode, inner, outer } = inputs
  const rolled = ({ prompts, latent_steps: steps }: typeof rollout): Need => ({
    flops: forward(prompts.reduce((n, p) => n + p.length, 0) + prompts.length * (steps - 1)),
    stepBytes: 4 * body * (steps - 1),
  })
  const all: Record<ChildWork, () => Need> = {
    forward_hidden: () => ({ flops: forward(f.ids.length) }),
    forward_logits: () => ({ flops: forward(f.ids.length) + 2 * head * f.ids.length }),
    rollout: () => rolled(rollout),
    rollout8: () => rolled(rollout8),
    decode: () => ({
      flops: forward(decode.prompt.length + decode.new_tokens - 1) + 2 * head * decode.new_tokens,
      stepBytes: 4 * (body + head) * (decode.new_tokens - 1),
    }),
    inner_step: () => ({ flops: forward(inner.ids.reduce((n, row) => n + row.length, 0)) }),
    inner_epoch2: () => ({ flops: 0 }),
    outer_step: () => ({ flops: outerFlops(outer, body, head) }),
    mixture_step: () => ({ flops: mixtureFlops(inputs.mixture!, body, head) }),
    think: () => thinkNeed(inputs, body),
  }
  return all[work]()
}

/** Numbers in the matrices of all layers, each of which meets every position once. */
function bodySize(c: DecoderConfig): number {
  const attention = ((c.outputGate ? 3 : 2) * c.heads + 2 * c.kvHeads) * c.headDim
  const delta = c.delta ? deltaChannels(c.delta) + 2 * c.delta.valueHeads * (c.delta.valueDim + 1) : 0
  const mixing = Array.from({ length: c.layers }, (_, i) => (c.delta?.layers[i] ? delta : attention))
  return c.hiddenSize * mixing.reduce((n, m) => n + m + 3 * c.intermediateSize, 0)
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

/** The same for the experts and the summarizer, which has the latents of all experts in its slots. */
function mixtureFlops(spec: NonNullable<BenchInputs['mixture']>, body: number, head: number): number {
  let positions = 0
  let targets = 0
  for (const { first, later, targets: texts } of spec.samples) {
    const keep = spec.max_latents
    const length = (pieces: readonly (readonly number[])[]) => pieces.reduce((n, p) => n + p.length, 0)
    texts.forEach((target, agent) => {
      const slotted = later[agent]
      const before = slotted[0].length
      const stage = length(slotted) - before + (slotted.length - 1) * keep + Math.min(target.length, keep)
      const fixed = first[agent].length === 1
      positions += before + 2 * stage * (fixed ? spec.rounds - 1 : spec.rounds)
      if (fixed) positions += length(first[agent]) + Math.min(target.length, keep)
    })
    targets += texts.at(-1)!.length
  }
  return 2 * body * positions + 4 * head * targets
}

/** Every stage but the last: its prompt, of which the text before a slot is read once, and its steps. */
function thinkNeed({ think, outer }: BenchInputs, body: number): Need {
  const { rounds, latent_steps: steps } = think!
  const { planner, planner_feedback: again, refiner, solver } = outer.samples[0]
  const rest = (p: typeof planner) => p.after.length + steps
  let positions = planner.before.length + planner.after.length
  positions += refiner.before.length + rounds * rest(refiner)
  if (rounds > 1) positions += again.before.length + solver.before.length + (rounds - 1) * (rest(again) + rest(solver))
  const stages = 3 * rounds - 1
  return { flops: 2 * body * (positions + stages * (steps - 1)), stepBytes: 4 * body * stages * (steps - 1) }
}
