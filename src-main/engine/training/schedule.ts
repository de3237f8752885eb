/** The learning rate of each optimiser step: linear warm-up, then constant or a cosine down to zero. */
import { repeats } from '../defects'

export interface Schedule {
  readonly mode: 'reference' | 'corrected'
  readonly schedule: 'cosine' | 'constant'
  /** The rate after warm-up. */
  readonly learningRate: number
  readonly warmupSteps: number
  /** Optimiser steps of the whole run. */
  readonly steps: number
}

/**
 * The rate of optimiser step `step` (from 0). In reference mode the first step has rate 0, as the published code's does.
 * In corrected mode the same curve is shifted by one step and stretched over one more, so that every step moves.
 */
export function learningRateAt(step: number, { mode, schedule, learningRate, warmupSteps, steps }: Schedule): number {
  const shift = repeats('idle-first-step', mode) ? 0 : 1
  return learningRate * scheduleFactor(schedule, step + shift, warmupSteps, steps + shift)
}

/** The factor after `k` scheduler steps of `total`, `warmup` of them rising (method specification, training 10). */
export function scheduleFactor(schedule: 'cosine' | 'constant', k: number, warmup: number, total: number): number {
  if (k < warmup) return k / Math.max(1, warmup)
  switch (schedule) {
    case 'constant':
      return 1
    case 'cosine':
      return Math.max(0, 0.5 * (1 + Math.cos((Math.PI * (k - warmup)) / Math.max(1, total - warmup))))
    default:
      return unreachable(schedule)
  }
}

function unreachable(schedule: never): never {
  throw new Error(`schedule ${String(schedule)}`)
}
