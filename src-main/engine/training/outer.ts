/** The outer-link job: links of a whole system, trained through the unrolled rounds of its frozen agents. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describeLeftOut, readRows } from '../data/rows'
import { repeats } from '../defects'
import type { JobContext } from '../job-context'
import type { OuterJob } from '../job-spec'
import {
  describeData,
  describeModels,
  openMembers,
  openTeam,
  promptSettings,
  readLinks,
  type Resources,
  restoreParameters,
} from '../job-setup'
import { rowStream } from '../nn/row-stream'
import { addInPlace, sumOfSquares } from '../nn/rows'
import { TorchGenerator } from '../nn/torch-generator'
import { checkPrompts } from '../styles/check-prompts'
import { checkLinkKeys, inRoleOrder } from '../styles/registry'
import { factsOf } from '../styles/row-prompts'
import { usualShortestPrefix } from '../styles/stage-text'
import type { StyleGraph } from '../styles/style'
import { openStyle } from '../styles/style-file'
import { linksUsed } from '../styles/walk'
import { type ModelText, promptPackHash } from '../text'
import type { Team } from '../styles/team'
import { appVersion } from '../version'
import { rowsBytes } from '../memory/text-memory'
import { startOuterLinks } from './align'
import type { TrainingState } from './checkpoints'
import { BatchOrder, type DataOrderState } from './data-order'
import { GroupedBatchOrder } from './grouped-order'
import { type BatchSource, type EmptyStep, type StepReport, train, type TrainingEnd } from './loop'
import { outerParameters } from './optimiser'
import { describeChoices, settleOuter } from './outer-choices'
import { readHeldOut } from './held-out'
import { gradientWatch } from './gradient-watch'
import { embeddingScale, lastNormUnits, scaleLastNorm } from './last-norm'
import { recordedOptions } from './recorded-options'
import { longestRows } from './longest-rows'
import { rolloutBatch } from './align-rollouts'
import { alignBeside, alignWork, goldPromptLength, outerBeside, outerWork } from './outer-memory'
import { neededRounds } from './rounds-column'
import { DiskStateStore, hashOf } from './state-store'
import { OuterSamples, samplesBytes } from './outer-samples'
import { describeFilled, outerColumns, publishedNulls } from './training-texts'
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
  const { style, pack } = await openStyle(job.style, job.promptPack)
  const agents = inRoleOrder(style, job.agents)
  checkLinkKeys(style, Object.keys(job.linkTypes))
  const choices = settleOuter(job, style, (w) => ctx.warn(w))
  const { rounds: range, states, feedback, learningRate, lastNorm, align } = choices
  const decided = describeChoices(job, { states, feedback, learningRate, lastNorm })
  if (decided) ctx.say({ kind: 'log', level: 'info', message: decided })
  const given = await readLinks(style, agents, job.startFrom, job.task)
  const columns = [...outerColumns(style), ...(job.roundsColumn ? [job.roundsColumn] : [])]
  const { rows, report, filled } = await readRows(job.data, {
    required: columns,
    seed: job.seed,
    ...publishedNulls(style, job.mode),
  })
  for (const note of [describeLeftOut(report), describeFilled(filled)]) if (note) ctx.warn(note)
  const heldOut = await readHeldOut(ctx, job, style)
  checkPrompts(promptSettings(job, style, pack), {
    agents: style.roles.map((_, i) => i),
    rounds: range.to,
    tasks: new Set(rows.map((r) => factsOf(r.values, '', job.task).task)),
  })
  const texts = await Promise.all(agents.map(async (a) => (await resources.model(a.model)).text))
  const prompts = promptSettings(job, style, pack, texts)
  const generator = new TorchGenerator(job.seed)
  const members = await openMembers(resources, agents, generator, job.task, given.inner)
  const team = await openTeam(
    resources,
    style,
    members,
    generator,
    { type: choices.type, given: given.outer, path: job.startFrom },
    job.task,
  )
  // rows that need more rounds than there are get as many as there are
  const needs = job.roundsColumn
    ? rows.map((r) => neededRounds(r.values[job.roundsColumn!], job.roundsColumn!, r.number, range.to))
    : null
  const shared = resumed ? TorchGenerator.fromState(resumed.generator) : generator
  const batches = batchSource(rows.length, job.batchSize, needs, shared, resumed?.dataOrder ?? null)
  const samples = new OuterSamples(prompts, rows, job.task, range.to, (w) => ctx.warn(w))
  const options: Omit<UnrollOptions, 'rounds'> = {
    states,
    feedback,
    cap: job.latentCap,
    latentSteps: job.latentCap,
    earlierWeight: job.superviseFinalOnly ? null : job.earlierRoundsWeight,
    maxLength: job.maxLength,
    tooLong: repeats('cut-beginning', job.mode) ? 'cut-left' : 'leave-out',
    divisor: job.batchSize * job.accumulate,
    shortestPrefix: usualShortestPrefix,
    keepRoundGradients: job.accumulate > 1,
  }
  const longest = await Promise.all(longestRows(rows).map((i) => samples.sample(i)))
  const stepWork = outerWork(style, longest, { ...options, rounds: range.to }, job.batchSize, heldOutShape(job))
  const aligns = job.start !== 'random' && align ? { ...align, rows: Math.min(align.rows, rows.length) } : null
  const work = aligns
    ? stepWork.map((w, i) =>
        alignWork(
          w,
          goldPromptLength(style, longest, i, range.to > 1 ? 1 : 0),
          Math.min(rolloutBatch, aligns.rows),
          aligns.latentSteps,
        ),
      )
    : stepWork
  resources.settleMemory(
    ctx,
    job,
    work.map((w, i) => ({ ...w, agent: members[i].agent, name: style.roles[i].role })),
    [
      ...outerBeside(team, job, { ...options, rounds: range.to }, rows.length),
      { name: 'rows and texts', bytes: rowsBytes(rows) + samplesBytes(longest, rows.length) },
      ...(aligns ? alignBeside(team, aligns.rows, aligns.latentSteps) : []),
    ],
  )
  await ctx.begin()

  if (lastNorm === 'embedding' && job.startFrom === undefined) await scaleToReceivers(team, texts)
  // as the links are when the run begins, not where it is resumed
  const units = lastNorm === 'embedding' ? unitsOf(team) : new Map<string, number>()

  const store = new DiskStateStore(
    join(job.cache ?? join(job.output, 'cache')),
    members.map((m, agent) => [
      'first states',
      m.fingerprint,
      // a rollout's states depend on the inner link; what the answering agent sends back may be one where the rest is not
      (agent === style.last && feedback !== 'same' ? feedback : states) === 'self-fed'
        ? hashOf([m.inner.type, ...Object.entries(m.inner.parameters).map(([n, v]) => [n, hashBytes(v)])])
        : null,
    ]),
  )
  try {
    if (resumed)
      for (const [i, link] of team.links.entries()) restoreParameters(link.parameters, resumed.links[i].parameters)
    else if (job.start !== 'random' && align)
      await startOuterLinks(ctx, team, {
        start: job.start,
        prompts,
        rows,
        task: job.task,
        spec: align,
        mode: job.mode,
        schedule: job.schedule,
        seed: job.seed,
        threads: job.threads,
        units,
      })
    const skips = new Map<SkipCause, number>()
    const watch = gradientWatch(style, (w) => ctx.warn(w))
    const idle = idleLinks(style, range.to, !job.superviseFinalOnly)
    if (idle.length > 0)
      ctx.warn(
        `Links that carry nothing in ${range.to === 1 ? 'one round' : `${range.to} rounds`} stay as they start: ${idle.join(', ')}.`,
      )

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
        settings: { ...job, learningRate },
        title: 'Outer links',
        parameters: outerParameters(team.links, job.mode, units),
        generator: shared,
        batches,
        step,
        saveStart: job.start !== 'random',
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
            style.roles.map(({ role }, i) => ({
              role,
              folder: texts[i].folder,
              hiddenSize: members[i].agent.hiddenSize,
            })),
          ),
          dataset: describeData(job.data, report),
          promptPack: promptPackHash(pack),
          seed: job.seed,
          step: at,
          states,
          feedback,
          rounds: job.rounds,
          metrics,
          options: recordedOptions(job, ownOptions, { align, learningRate, lastNorm }),
          parentRun: job.startFrom ?? null,
          appVersion,
        }),
        skipped: () => [...skips.values()].reduce((a, b) => a + b, 0),
        ...(job.validation && heldOut
          ? {
              validation: {
                every: job.validation.every,
                patience: job.validation.patience,
                judge: heldOut(ctx, team, prompts),
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

/** Held-out questions run in batches of 32. */
function heldOutShape({ validation }: OuterJob): Parameters<typeof outerWork>[4] {
  return validation ? { latentSteps: validation.latentSteps, maxNewTokens: validation.maxNewTokens, rows: 32 } : null
}

/** Fresh links that end in a layer norm say vectors as long as their receivers' embeddings. */
async function scaleToReceivers(team: Team, texts: readonly ModelText[]): Promise<void> {
  const scales = new Map<number, number>()
  for (const { target, parameters } of team.links) {
    const { agent } = team.members[target]
    const vocabulary = Math.min(agent.vocabSize, texts[target].tokenizer.vocabSize)
    const scale = scales.get(target) ?? (await embeddingScale(agent, vocabulary))
    scales.set(target, scale)
    scaleLastNorm(parameters, scale)
  }
}

function unitsOf(team: Team): Map<string, number> {
  return new Map(
    team.links.flatMap(({ key, parameters }) =>
      [...lastNormUnits(parameters)].map(([name, unit]) => [`${key}.${name}`, unit] as const),
    ),
  )
}

/** Links that no step of so many rounds reads: feedback in one round, or the agents behind it. */
function idleLinks(style: StyleGraph, rounds: number, answersEveryRound: boolean): string[] {
  const used = linksUsed(style, rounds, { answersEveryRound })
  return style.links.flatMap(({ key }) => (used.some((keys) => keys.has(key)) ? [] : [key]))
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
