/**
 * What every training run shares: optimiser steps, metrics, held-out judgement, checkpoints, stopping and resuming. A resumed
 * run goes on with exactly the losses of one that never stopped: parameters, moments, data order and counters are all saved.
 */
import { join } from 'node:path'
import { UserError } from '../errors'
import { type JobContext, StopRequested } from '../job-context'
import type { Mode } from '../job-spec'
import type { TorchGenerator } from '../nn/torch-generator'
import { newestCheckpoint, saveTrainingState, type TrainingState } from './checkpoints'
import type { Batch, DataOrderState } from './data-order'
import type { LinkRecord } from './link-files-record'
import type { LinkProvenance } from './link-manifest'
import { AdamW, clipGradients, toUnits, type TrainedParameter } from './optimiser'
import { learningRateAt } from './schedule'

export interface BatchSource {
  next(): Batch
  exportState(): DataOrderState
}

export interface StepReport {
  /** Mean over the samples that took part. */
  readonly loss: number
  /** By trained parameter; parameters without a gradient are absent. */
  readonly gradients: ReadonlyMap<string, Float32Array>
  /** Link key -> norm by round. */
  readonly gradNorms?: Record<string, (number | null)[]>
  readonly roundLosses?: (number | null)[]
  /** Positions that went through a model. */
  readonly positions: number
}

/** A step in which no sample could be used. */
export interface EmptyStep {
  readonly loss: null
}

export interface Judgement {
  readonly name: string
  /** Higher is better. */
  readonly value: number
  readonly n: number
  /** Numbers that tell more and decide nothing. */
  readonly beside?: readonly { readonly name: string; readonly value: number; readonly n: number }[]
}

export interface TrainingRun {
  readonly settings: {
    readonly mode: Mode
    readonly steps: number
    readonly learningRate: number
    readonly schedule: 'cosine' | 'constant'
    readonly warmupSteps: number
    readonly weightDecay: number
    readonly maxGradNorm: number
    readonly logEvery: number
    readonly saveEvery: number
    readonly keepLast: number
  }
  readonly title: string
  readonly parameters: readonly TrainedParameter[]
  readonly generator: TorchGenerator
  readonly batches: BatchSource
  /** Draws what it needs from `batches`. `taken`: batches drawn so far by the run, to seed whatever a batch draws. */
  step(draw: () => Batch & { readonly number: number }): Promise<StepReport | EmptyStep>
  links(): readonly LinkRecord[]
  provenance(step: number, metrics: Record<string, number>): LinkProvenance
  /** Samples left out so far in this process, in all. */
  skipped(): number
  /** Save before the first step too: what was done by then took time. */
  readonly saveStart?: boolean
  readonly validation?: { readonly every: number; readonly patience: number; judge(): Promise<Judgement> }
}

/** Counters that go into a checkpoint beside what every checkpoint has. */
interface Counters {
  /** Batches drawn. */
  batches: number
  /** Sum and number of losses since the last metrics line. */
  lossSum: number
  lossCount: number
  /** Validations since one was better. */
  sinceBetter: number
  /** Step of the last validation that was finished; a stop may come in the middle of one. */
  judgedAt: number
}

export type TrainingEnd =
  { readonly kind: 'finished'; readonly checkpoint: string } | { readonly kind: 'stopped'; readonly step: number }

const emptyEpochsAllowed = 2

export const checkpointsFolder = (output: string): string => join(output, 'checkpoints')

/** The newest whole checkpoint of a run that is to be resumed; warns about damaged newer ones. */
export async function checkpointToResume(ctx: JobContext): Promise<{ folder: string; step: number } | null> {
  if (!ctx.resume) return null
  const found = await newestCheckpoint(checkpointsFolder(ctx.output))
  for (const s of found?.skipped ?? []) ctx.warn(`The checkpoint ${s.folder} is left out. ${s.why}`)
  return found
}

/** Runs from `resumed` (or from the start) to the last step, a stop, or the end of patience. */
export async function train(ctx: JobContext, run: TrainingRun, resumed: TrainingState | null): Promise<TrainingEnd> {
  const { settings } = run
  const optimiser = new AdamW(run.parameters, { weightDecay: settings.weightDecay })
  if (resumed) optimiser.importState(resumed.optimiser)
  const counters: Counters = resumed
    ? (resumed.extra as unknown as Counters)
    : { batches: 0, lossSum: 0, lossCount: 0, sinceBetter: 0, judgedAt: -1 }
  let step = resumed?.step ?? 0
  let best = resumed?.best ?? null
  let lastValue: Judgement | null = null
  let savedAt = resumed ? step : -1
  let checkpoint = resumed ? join(checkpointsFolder(ctx.output), `step-${step}`) : ''
  const progress = ctx.progress('train', run.title, settings.steps, 'steps', step)

  async function save(): Promise<void> {
    if (savedAt === step) return
    const metrics = counters.judgedAt === step ? metricsOf(lastValue) : {}
    const state: TrainingState = {
      step,
      links: run.links(),
      provenance: run.provenance(step, metrics),
      optimiser: optimiser.exportState(),
      generator: run.generator.exportState(),
      dataOrder: run.batches.exportState(),
      best,
      extra: { ...counters },
    }
    checkpoint = await saveTrainingState(checkpointsFolder(ctx.output), state, { keepLast: settings.keepLast })
    savedAt = step
    ctx.say({ kind: 'checkpoint', step, folder: checkpoint, best: best?.step === step })
  }

  /** Patience has run out: that many validations in a row brought nothing better. */
  const outOfPatience = () => {
    const patience = run.validation?.patience ?? 0
    return patience > 0 && counters.sinceBetter >= patience
  }

  async function judge(): Promise<void> {
    const { validation } = run
    if (!validation) return
    lastValue = await validation.judge()
    counters.judgedAt = step
    const { name, value, n } = lastValue
    counters.sinceBetter = best === null || value > best.value ? 0 : counters.sinceBetter + 1
    // of equals the later one: it has learnt more of what the metric does not see
    const isBest = best === null || value >= best.value
    if (isBest) best = { step, value }
    ctx.say({ kind: 'validation', step, name, value, n, best: isBest })
    for (const more of lastValue.beside ?? []) ctx.say({ kind: 'validation', step, ...more, best: false })
    // a checkpoint that this step has already lacks the judgement
    if (isBest || savedAt === step) {
      savedAt = -1
      await save()
    }
  }

  if (!resumed && run.saveStart) await save()
  const judgementDue = () =>
    counters.judgedAt !== step && (step === 0 || (run.validation !== undefined && step % run.validation.every === 0))
  let emptyInARow = 0
  let unusableSaid = false
  let timed = { at: performance.now(), positions: 0, skipped: run.skipped() }
  try {
    if (judgementDue()) await judge()
    await work()
    if (run.validation && counters.judgedAt !== step) await judge()
  } catch (error) {
    // inside a step nothing stops: what was asked for in a validation ends at the step's own boundary
    if (!(error instanceof StopRequested)) throw error
    await save()
    return { kind: 'stopped', step }
  }
  await save()
  return { kind: 'finished', checkpoint }

  async function work(): Promise<void> {
    while (step < settings.steps && !outOfPatience()) {
      await ctx.checkpoint()
      let drawn = 0
      let epochs = 0
      const report = await run.step(() => {
        const batch = run.batches.next()
        if (batch.lastOfEpoch) epochs++
        drawn++
        return { ...batch, number: counters.batches++ }
      })
      if (drawn === 0) throw new Error('a step drew no batch')
      if (report.loss === null) {
        // no step is counted, but a data set of nothing but unusable rows must not run for ever
        emptyInARow += epochs
        if (emptyInARow >= emptyEpochsAllowed)
          throw new UserError({
            what: 'Training cannot go on.',
            why: `No row of the data could be used in ${emptyEpochsAllowed} passes over it; ${run.skipped()} samples were left out.`,
            next: 'Look at the log for the causes, then correct the data or the limits.',
          })
        continue
      }
      emptyInARow = 0
      const rate = learningRateAt(step, settings)
      toUnits(run.parameters, report.gradients)
      const norm = clipGradients(report.gradients.values(), settings.maxGradNorm)
      // one infinite gradient would poison every parameter: such a step is not taken, and its loss not averaged
      const finite = Number.isFinite(norm) && Number.isFinite(report.loss)
      if (finite) optimiser.step(report.gradients, rate)
      else if (!unusableSaid) {
        unusableSaid = true
        ctx.warn(
          `Steps whose loss or gradient is not finite are left out and have no numbers (the first is step ${step + 1}).`,
        )
      }
      step++
      if (finite) {
        counters.lossSum += report.loss
        counters.lossCount++
      }
      timed.positions += report.positions
      progress.add()
      if (finite && (step % settings.logEvery === 0 || step === settings.steps)) {
        const now = performance.now()
        ctx.say({
          kind: 'metrics',
          step,
          loss: counters.lossSum / counters.lossCount,
          learningRate: rate,
          gradNorm: norm,
          ...(report.gradNorms ? { gradNorms: report.gradNorms } : {}),
          ...(report.roundLosses ? { roundLosses: report.roundLosses } : {}),
          tokensPerSecond: (timed.positions / Math.max(1, now - timed.at)) * 1000,
          memoryBytes: process.memoryUsage.rss(),
          skipped: run.skipped() - timed.skipped,
        })
        counters.lossSum = 0
        counters.lossCount = 0
        timed = { at: now, positions: 0, skipped: run.skipped() }
      }
      if (judgementDue()) await judge()
      if (settings.saveEvery > 0 && step % settings.saveEvery === 0) await save()
    }
    if (step < settings.steps)
      ctx.say({
        kind: 'log',
        level: 'info',
        message: `Stopped early at step ${step}: ${counters.sinceBetter} validations in a row were no better.`,
      })
  }
}

function metricsOf(judged: Judgement | null): Record<string, number> {
  if (!judged) return {}
  return Object.fromEntries([judged, ...(judged.beside ?? [])].map(({ name, value }) => [name, value]))
}
