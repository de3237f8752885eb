/**
 * AdamW and clipping by the global norm, as torch computes them, over float32 arrays that are updated in place.
 * Sums are kept in float64; everything stored is float32.
 */
import { repeats } from '../defects'
import type { LinkParameters } from '../nn/link-types'
import { scaleInPlace } from '../nn/rows'

export interface TrainedParameter {
  readonly name: string
  /** Updated in place. */
  readonly values: Float32Array
  /** Whether weight decay applies. */
  readonly decay: boolean
  /** The parameter is trained as so many of these: gradients and steps are in this unit. Default 1. */
  readonly unit?: number
}

/** Parameter name -> its unit, where it has one. */
export type Units = ReadonlyMap<string, number>

export interface AdamWOptions {
  readonly weightDecay: number
  readonly beta1?: number
  readonly beta2?: number
  readonly epsilon?: number
}

/** What AdamW knows of one parameter. */
export interface Moments {
  /** Steps that this parameter has taken. */
  readonly steps: number
  readonly first: Float32Array
  readonly second: Float32Array
}

/** Parameters that never had a gradient are absent. */
export type OptimiserState = ReadonlyMap<string, Moments>

/** An inner link's parameters: matrices decay, biases and layer norms do not. */
export function innerParameters(parameters: LinkParameters, units: Units = new Map()): TrainedParameter[] {
  return Object.entries(parameters).map(([name, values]) => ({
    name,
    values,
    decay: isMatrix(name),
    unit: units.get(name),
  }))
}

/**
 * The parameters of several outer links, in link order, named `<link key>.<parameter>`. In reference mode everything
 * decays, as in the published code; in corrected mode matrices only, as for inner links.
 */
export function outerParameters(
  links: readonly { readonly key: string; readonly parameters: LinkParameters }[],
  mode: 'reference' | 'corrected',
  units: Units = new Map(),
): TrainedParameter[] {
  return links.flatMap(({ key, parameters }) =>
    Object.entries(parameters).map(([name, values]) => ({
      name: `${key}.${name}`,
      values,
      decay: repeats('decay-of-all', mode) || isMatrix(name),
      unit: units.get(`${key}.${name}`),
    })),
  )
}

/** Brings gradients, in place, into the units of their parameters: to be done before they are clipped and stepped. */
export function toUnits(parameters: readonly TrainedParameter[], gradients: ReadonlyMap<string, Float32Array>): void {
  for (const { name, unit } of parameters) {
    const gradient = unit === undefined ? undefined : gradients.get(name)
    if (gradient) scaleInPlace(gradient, unit!)
  }
}

/** Layer norms have vectors only; of a linear the weight is the matrix. */
function isMatrix(name: string): boolean {
  return /^(proj1|proj2|residual_proj)\.weight$/.test(name)
}

/** The L2 norm over all arrays together. */
export function globalNorm(arrays: Iterable<Float32Array>): number {
  let sum = 0
  for (const values of arrays) for (let i = 0; i < values.length; i++) sum += values[i] * values[i]
  return Math.sqrt(sum)
}

/** Scales all gradients in place so that their global norm is at most `maxNorm` (0: measures only); returns the norm before. */
export function clipGradients(gradients: Iterable<Float32Array>, maxNorm: number): number {
  const all = [...gradients]
  const norm = globalNorm(all)
  const factor = Math.fround(maxNorm / (norm + 1e-6))
  if (maxNorm > 0 && !(factor >= 1))
    for (const values of all) for (let i = 0; i < values.length; i++) values[i] *= factor
  return norm
}

/** Decoupled weight decay and bias-corrected moments, step by step in torch's order of operations. */
export class AdamW {
  private readonly moments = new Map<string, { steps: number; first: Float32Array; second: Float32Array }>()
  private readonly byName: ReadonlyMap<string, TrainedParameter>
  private readonly settings: Required<AdamWOptions>

  constructor(
    readonly parameters: readonly TrainedParameter[],
    { weightDecay, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8 }: AdamWOptions,
  ) {
    this.settings = { weightDecay, beta1, beta2, epsilon }
    this.byName = new Map(parameters.map((p) => [p.name, p]))
    if (this.byName.size !== parameters.length) throw new Error('two trained parameters share a name')
  }

  /** One step; gradients in the units of their parameters. A parameter without a gradient is neither stepped nor decayed. */
  step(gradients: ReadonlyMap<string, Float32Array>, learningRate: number): void {
    for (const [name, gradient] of gradients) {
      const parameter = this.byName.get(name)
      if (!parameter || parameter.values.length !== gradient.length)
        throw new Error(`gradient ${name} fits no trained parameter`)
      this.update(parameter, gradient, learningRate)
    }
  }

  /** Copies; later steps do not change them. */
  exportState(): OptimiserState {
    return new Map(
      [...this.moments].map(([name, { steps, first, second }]) => [
        name,
        { steps, first: first.slice(), second: second.slice() },
      ]),
    )
  }

  /** Takes over a saved state; every entry must fit a parameter of this optimiser. */
  importState(state: OptimiserState): void {
    for (const [name, { first, second }] of state) {
      const length = this.byName.get(name)?.values.length
      if (length !== first.length || length !== second.length)
        throw new Error(`optimiser state of ${name} fits no trained parameter`)
    }
    this.moments.clear()
    for (const [name, { steps, first, second }] of state)
      this.moments.set(name, { steps, first: first.slice(), second: second.slice() })
  }

  private update(
    { name, values, decay, unit = 1 }: TrainedParameter,
    gradient: Float32Array,
    learningRate: number,
  ): void {
    const { weightDecay, beta1, beta2, epsilon } = this.settings
    const state = this.momentsOf(name, values.length)
    const { first, second } = state
    state.steps++
    const kept = decay ? 1 - learningRate * weightDecay : 1
    const stepSize = (unit * learningRate) / (1 - beta1 ** state.steps)
    const secondScale = Math.sqrt(1 - beta2 ** state.steps)
    for (let i = 0; i < values.length; i++) {
      const g = gradient[i]
      first[i] += (1 - beta1) * (g - first[i])
      second[i] = beta2 * second[i] + (1 - beta2) * g * g
      values[i] = Math.fround(values[i] * kept) - (stepSize * first[i]) / (Math.sqrt(second[i]) / secondScale + epsilon)
    }
  }

  private momentsOf(name: string, length: number): { steps: number; first: Float32Array; second: Float32Array } {
    let state = this.moments.get(name)
    if (!state)
      this.moments.set(name, (state = { steps: 0, first: new Float32Array(length), second: new Float32Array(length) }))
    return state
  }
}
