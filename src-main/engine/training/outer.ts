/** The outer-link job: links of a whole system, trained through the unrolled rounds of its frozen agents. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describeLeftOut, readRows } from '../data/rows'
import { UserError } from '../errors'
import { readQuestions } from '../evaluation/questions'
import type { JobContext } from '../job-context'
import type { OuterJob } from '../job-spec'
import { alignSpec } from '../job-spec'
import {
  describeModels,
  openMembers,
  openPack,
  openTeam,
  promptSettings,
  type Resources,
  restoreParameters,
} from '../job-setup'
import { rowStream } from '../nn/row-stream'
import { addInPlace, sumOfSquares } from '../nn/rows'
import { TorchGenerator } from '../nn/torch-generator'
import { checkLinkKeys, inRoleOrder, styleByName } from '../styles/registry'
import { textOf } from '../styles/row-prompts'
import { usualShortestPrefix } from '../styles/stage-text'
import { promptPackHash } from '../text'
import { appVersion } from '../version'
import { alignLinks } from './align'
import type { TrainingState } from './checkpoints'
import { BatchOrder, type DataOrderState } from './data-order'
import { GroupedBatchOrder } from './grouped-order'
import { type BatchSource, type EmptyStep, type StepReport, train, type TrainingEnd } from './loop'
import { outerParameters } from './optimiser'
import { judgeTeam } from './outer-validation'
import { gradientWatch } from './gradient-watch'
import { recordedOptions } from './recorded-options'
import { DiskStateStore, hashOf } from './state-store'
import { OuterSamples, outerColumns } from './training-texts'
import { type LinkGradient, rescale, type SkipCause, unroll, type UnrollOptions, type UnrollResult } from './unrolled'

const ownOptions = [
  'start',
  'align',
  'roundsColumn',
  'latentCap',
  'superviseFinalOnly',
  'earlierRoundsWeight',
  'solverQuestionFirst',
] as const

/** Stream of the draws of rounds, apart from every stream that samples text. */
const roundsStream = 0x52_4f_55_4e

export async function trainOuter(
  ctx: JobContext,
  job: OuterJob,
  resources: Resources,
  resumed: TrainingState | null,
): Promise<TrainingEnd> {
  const style = styleByName(job.style)
  const agents = inRoleOrder(style, job.agents)
  const range = typeof job.rounds === 'number' ? { from: job.rounds, to: job.rounds } : job.rounds
  if (range.from > range.to)
    throw new UserError({
      what: 'The range of rounds is empty.',
      why: `It goes from ${range.from} to ${range.to}.`,
      next: 'Give the smaller number first.',
    })
  const states = job.states ?? (job.mode === 'reference' ? 'reference' : 'shifted')
  const feedback = job.feedback ?? (job.mode === 'reference' ? 'same' : 'self-fed')
  checkLinkKeys(style, Object.keys(job.linkTypes))
  const pack = await openPack(job.promptPack)
  const columns = [...outerColumns(style), ...(job.roundsColumn ? [job.roundsColumn] : [])]
  const { rows, report } = await readRows(job.data, { required: columns, seed: job.seed })
  const leftOut = describeLeftOut(report)
  if (leftOut) ctx.warn(leftOut)
  const questions = job.validation
    ? await readQuestions(job.validation.data, {
        task: job.task,
        resultMark: job.validation.grader === 'math',
        seed: job.seed,
      })
    : null
  const heldBack = questions && describeLeftOut(questions.report)
  if (heldBack) ctx.warn(`Held-out data: ${heldBack}`)
  // before anything is trained: a row that cannot be read is refused as in the training data
  const judgedNeeds =
    questions && job.validation && job.roundsColumn
      ? questions.questions.map((q) =>
          neededRounds(q.values[job.roundsColumn!], job.roundsColumn!, q.number, job.validation!.rounds),
        )
      : null
  const texts = await Promise.all(agents.map(async (a) => (await resources.model(a.model)).text))
  const prompts = promptSettings(job, style, pack, texts)
  const generator = new TorchGenerator(job.seed)
  const members = await openMembers(resources, agents, generator, job.task)
  const team = await openTeam(
    resources,
    style,
    members,
    generator,
    { type: (key) => job.linkTypes[key] ?? job.linkType, path: job.startFrom },
    job.task,
  )

  const store = new DiskStateStore(
    join(job.cache ?? join(job.output, 'cache')),
    members.map((m) => [
      'first states',
      m.fingerprint,
      states === 'self-fed' ? hashOf(Object.entries(m.inner.parameters).map(([n, v]) => [n, hashBytes(v)])) : null,
    ]),
  )
  try {
    const shared = resumed ? TorchGenerator.fromState(resumed.generator) : generator
    if (resumed)
      for (const [i, link] of team.links.entries()) restoreParameters(link.parameters, resumed.links[i].parameters)
    else if (job.start === 'aligned') {
      const spec = job.align ?? alignSpec.parse({})
      await alignLinks(ctx, team, {
        prompts,
        rows,
        task: job.task,
        spec,
        mode: job.mode,
        schedule: job.schedule,
        seed: job.seed,
      })
    }
    // rows that need more rounds than there are get as many as there are
    const needs = job.roundsColumn
      ? rows.map((r) => neededRounds(r.values[job.roundsColumn!], job.roundsColumn!, r.number, range.to))
      : null
    const batches = batchSource(rows.length, job.batchSize, needs, shared, resumed?.dataOrder ?? null)
    const samples = new OuterSamples(prompts, rows, job.task, range.to, (w) => ctx.warn(w))
    const skips = new Map<SkipCause, number>()
    const watch = gradientWatch(style, (w) => ctx.warn(w))
    if (range.to === 1) ctx.warn('With one round the feedback links are not trained: they stay as they start.')
    const options: Omit<UnrollOptions, 'rounds'> = {
      states,
      feedback,
      cap: job.latentCap,
      latentSteps: job.latentCap,
      earlierWeight: job.superviseFinalOnly ? null : job.earlierRoundsWeight,
      maxLength: job.maxLength,
      tooLong: job.mode === 'reference' ? 'cut-left' : 'leave-out',
      divisor: job.batchSize * job.accumulate,
      shortestPrefix: usualShortestPrefix,
      keepRoundGradients: job.accumulate > 1,
    }

    async function step(draw: () => { rows: readonly number[]; number: number }): Promise<StepReport | EmptyStep> {
      const results: UnrollResult[] = []
      for (let a = 0; a < job.accumulate; a++) {
        const batch = draw()
        const least = Math.max(range.from, needs ? needs[batch.rows[0]] : range.from)
        const drawn =
          least + Math.floor(rowStream(job.seed, batch.number, roundsStream).next() * (range.to - least + 1))
        const taken = await Promise.all(batch.rows.map((i) => samples.sample(i)))
        const result = await unroll(team, taken, { ...options, rounds: drawn }, store)
        for (const { sample, cause } of result.skipped) {
          if (!skips.has(cause))
            ctx.warn(
              `Samples are left out: ${cause} (first seen in row ${rows[taken[sample].id].number} of ${report.file}).`,
            )
          skips.set(cause, (skips.get(cause) ?? 0) + 1)
        }
        results.push(result)
      }
      const used = results.reduce((n, r) => n + r.losses.length, 0)
      if (used === 0) return { loss: null }
      const gradients = joinGradients(results)
      if (used !== options.divisor) rescale(gradients, options.divisor / used)
      watch(gradients)
      return stepReport(results, gradients, used)
    }

    return await train(
      ctx,
      {
        settings: job,
        title: 'Outer links',
        parameters: outerParameters(team.links, job.mode),
        generator: shared,
        batches,
        step,
        saveStart: job.start === 'aligned',
        links: () =>
          team.links.map((l) => ({
            kind: 'outer',
            key: l.key,
            type: l.type,
            inWidth: l.graph.inWidth,
            outWidth: l.graph.outWidth,
            parameters: l.parameters,
          })),
        provenance: (at, metrics) => ({
          style: style.name,
          role: null,
          task: job.task,
          mode: job.mode,
          baseModels: describeModels(
            agents.map((a, i) => ({ role: a.role, folder: texts[i].folder, hiddenSize: members[i].agent.hiddenSize })),
          ),
          dataset: { file: report.file, sha256: report.sha256, rows: report.usable },
          promptPack: promptPackHash(pack),
          seed: job.seed,
          step: at,
          states,
          feedback,
          rounds: job.rounds,
          metrics,
          options: recordedOptions(job, ownOptions),
          parentRun: job.startFrom ?? null,
          appVersion,
        }),
        skipped: () => [...skips.values()].reduce((a, b) => a + b, 0),
        ...(job.validation && questions
          ? {
              validation: {
                every: job.validation.every,
                patience: job.validation.patience,
                judge: () =>
                  judgeTeam(ctx, team, {
                    prompts,
                    questions: questions.questions,
                    validation: job.validation!,
                    needs: judgedNeeds,
                    task: job.task,
                    mode: job.mode,
                    seed: job.seed,
                  }),
              },
            }
          : {}),
      },
      resumed,
    )
  } finally {
    store.close()
  }
}

/** The value of the rounds column: a whole number from 1; more than there are rounds counts as all of them. */
function neededRounds(value: unknown, column: string, row: number, most: number): number {
  const n = Number(textOf(value))
  if (!Number.isInteger(n) || n < 1)
    throw new UserError({
      what: 'The number of rounds that a row needs cannot be read.',
      why: `Row ${row} has ${JSON.stringify(value)} in the column "${column}".`,
      next: 'Put a whole number from 1 there, or train without this column.',
    })
  return Math.min(n, most)
}

function batchSource(
  rows: number,
  batchSize: number,
  needs: readonly number[] | null,
  generator: TorchGenerator,
  state: DataOrderState | null,
): BatchSource {
  if (needs) {
    const options = { values: needs, batchSize, generator }
    return state ? GroupedBatchOrder.resume(options, state) : new GroupedBatchOrder(options)
  }
  const options = { rows, batchSize, generator }
  return state ? BatchOrder.resume(options, state) : new BatchOrder(options)
}

/** The sum over micro-batches; norms by round are those of the sums. */
function joinGradients(results: readonly UnrollResult[]): Map<string, LinkGradient> {
  if (results.length === 1) return results[0].gradients
  const joined = new Map<string, LinkGradient>()
  for (const { gradients } of results)
    for (const [key, g] of gradients) {
      const known = joined.get(key)
      if (!known) {
        joined.set(key, g)
        continue
      }
      for (const [name, values] of Object.entries(g.total)) addInPlace(known.total[name], values)
      g.byRound?.forEach((part, r) => {
        const sum = known.byRound?.[r]
        if (part && sum) for (const [name, values] of Object.entries(part)) addInPlace(sum[name], values)
        else if (part && known.byRound) known.byRound[r] = part
      })
    }
  for (const g of joined.values())
    g.byRound?.forEach(
      (part, r) => (g.squaredByRound[r] = part ? Object.values(part).reduce((n, v) => n + sumOfSquares(v), 0) : null),
    )
  return joined
}

function stepReport(
  results: readonly UnrollResult[],
  gradients: ReadonlyMap<string, LinkGradient>,
  used: number,
): StepReport {
  const losses = results.flatMap((r) => r.losses)
  const rounds = Math.max(...losses.map((l) => l.rounds.length))
  const mean = (values: readonly (number | null | undefined)[]) => {
    const there = values.filter((v) => v !== null && v !== undefined)
    return there.length ? there.reduce((a, b) => a + b, 0) / there.length : null
  }
  return {
    loss: losses.reduce((n, l) => n + l.loss, 0) / used,
    gradients: new Map(
      [...gradients].flatMap(([key, g]) => Object.entries(g.total).map(([name, v]) => [`${key}.${name}`, v] as const)),
    ),
    gradNorms: Object.fromEntries(
      [...gradients].map(([key, g]) => [key, g.squaredByRound.map((s) => (s === null ? null : Math.sqrt(s)))]),
    ),
    roundLosses: Array.from({ length: rounds }, (_, r) => mean(losses.map((l) => l.rounds[r]))),
    positions: results.reduce((n, r) => n + r.positions, 0),
  }
}

function hashBytes(values: Float32Array): string {
  return createHash('sha256')
    .update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    .digest('hex')
}
