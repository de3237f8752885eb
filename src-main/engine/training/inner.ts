/** The inner-link job: pairs of a frozen model's states and next embeddings, computed once per row, and a link trained on them. */
import { join } from 'node:path'
import { describeLeftOut, readRows, type DataRow } from '../data/rows'
import { UserError } from '../errors'
import type { JobContext } from '../job-context'
import type { InnerJob } from '../job-spec'
import { describeModels, openPack, promptSettings, type Resources, restoreParameters } from '../job-setup'
import { initInnerLink } from '../nn/link-init'
import { TorchGenerator } from '../nn/torch-generator'
import { styleOfRole } from '../styles/registry'
import type { PromptSettings } from '../styles/row-prompts'
import { type InnerRow, promptPackHash, renderInnerRow } from '../text'
import { type EmptyStep, type StepReport, train, type TrainingEnd } from './loop'
import type { TrainingState } from './checkpoints'
import { BatchOrder } from './data-order'
import { type PairRow, pairPositions, pairsOf } from './inner-pairs'
import { innerStep } from './inner-step'
import { judgeRollouts } from './inner-validation'
import { loadInnerLink } from './link-files'
import { innerParameters } from './optimiser'
import { hashOf, StateCollection } from './state-store'
import { recordedOptions } from './recorded-options'
import { roleColumns, rolePrompt, roleTexts } from './training-texts'
import { appVersion } from '../version'

export async function trainInner(
  ctx: JobContext,
  job: InnerJob,
  resources: Resources,
  resumed: TrainingState | null,
): Promise<TrainingEnd> {
  const { style, agent } = styleOfRole(job.role)
  const pack = await openPack(job.promptPack)
  const { rows, report } = await readRows(job.data, { required: roleColumns(style, agent), seed: job.seed })
  const leftOut = describeLeftOut(report)
  if (leftOut) ctx.warn(leftOut)
  const heldOut = job.validation
    ? await readRows(job.validation.data, { required: roleColumns(style, agent), seed: job.seed })
    : null
  const heldBack = heldOut && describeLeftOut(heldOut.report)
  if (heldBack) ctx.warn(`Held-out data: ${heldBack}`)
  const model = await resources.model(job.model)
  const width = model.agent.hiddenSize
  const generator = new TorchGenerator(job.seed)
  const startLink = job.startFrom === undefined ? null : await loadInnerLink(job.startFrom, { width, task: job.task })
  if (startLink?.manifest)
    await resources.compareOrigin(job.startFrom!, startLink.manifest, job.task, [{ role: job.role, model }])
  if (startLink && startLink.type !== job.linkType)
    ctx.warn(`The link type is ${startLink.type}, that of the link to continue from.`)
  const type = startLink?.type ?? job.linkType
  const fresh = initInnerLink(type, width, generator)
  const parameters = startLink?.parameters ?? fresh
  const texts = style.roles.map((_, i) => (i === agent ? model.text : null))
  const prompts = promptSettings(job, style, pack, texts)
  const items = await trainingItems(ctx, prompts, agent, rows, job)
  const collection = join(job.cache ?? join(job.output, 'cache'), hashOf(['inner pairs', model.fingerprint]))
  const kept = new StateCollection(collection)
  const link = resources.links.link({ kind: 'inner', type, width })

  try {
    if (resumed) restoreParameters(parameters, resumed.links[0].parameters)
    const shared = resumed ? TorchGenerator.fromState(resumed.generator) : generator
    const order = { rows: items.length, batchSize: job.batchSize, generator: shared }
    const batches = resumed ? BatchOrder.resume(order, resumed.dataOrder) : new BatchOrder(order)
    // the published program divides each loss by the number of micro-batches twice
    const divisor = job.mode === 'reference' ? job.accumulate ** 2 : job.accumulate
    const trained = innerParameters(parameters)

    async function step(
      draw: () => { rows: readonly number[]; lastOfEpoch: boolean },
    ): Promise<StepReport | EmptyStep> {
      const microBatches = []
      let positions = 0
      for (let a = 0; a < job.accumulate; a++) {
        const batch = draw()
        const part = batch.rows.map((i) => items[i])
        positions += part.reduce((n, row) => n + row.latentEnd, 0)
        microBatches.push(await pairsOf(model.agent, part, kept))
        // at the end of an epoch the published program steps even on a short group
        if (job.mode === 'reference' && batch.lastOfEpoch) break
      }
      const { losses, gradients } = await innerStep(link, parameters, microBatches, {
        cosineWeight: job.cosineWeight,
        mseWeight: job.mseWeight,
        divisor,
      })
      return { loss: losses.reduce((a, b) => a + b, 0) / losses.length, gradients, positions }
    }

    const judged = heldOut && job.validation ? await heldOutItems(prompts, agent, heldOut.rows, job) : []
    return await train(
      ctx,
      {
        settings: job,
        title: `Inner link of the ${job.role}`,
        parameters: trained,
        generator: shared,
        batches,
        step,
        links: () => [{ kind: 'inner', type, width, parameters }],
        provenance: (at, metrics) => ({
          style: style.name,
          role: style.roles[agent].role,
          task: job.task,
          mode: job.mode,
          baseModels: describeModels([{ role: style.roles[agent].role, folder: model.folder, hiddenSize: width }]),
          dataset: { file: report.file, sha256: report.sha256, rows: report.usable },
          promptPack: promptPackHash(pack),
          seed: job.seed,
          step: at,
          states: null,
          feedback: null,
          rounds: null,
          metrics,
          options: recordedOptions(job, ['prompts', 'cosineWeight', 'mseWeight']),
          parentRun: job.startFrom ?? null,
          appVersion,
        }),
        skipped: () => 0,
        ...(job.validation
          ? {
              validation: {
                every: job.validation.every,
                patience: job.validation.patience,
                judge: () => judgeRollouts(ctx, model, { type, parameters }, judged, job.validation!.latentSteps),
              },
            }
          : {}),
      },
      resumed,
    )
  } finally {
    kept.close()
  }
}

/** Every text task of the rows as tokens, row by row; `cut`: it was longer than the limit and lost its end. */
async function* tokenised(
  prompts: PromptSettings,
  agent: number,
  rows: readonly DataRow[],
  job: InnerJob,
): AsyncGenerator<(InnerRow & { readonly cut: boolean })[]> {
  const text = prompts.texts[agent]!
  const { mode, enableThinking, maxLength } = job
  for (const row of rows) {
    const tasks = roleTexts(prompts.style, agent, row, job.task, job.prompts)
    yield await Promise.all(
      tasks.map(async (t) => {
        // one token more tells a text that just fits from one that is cut
        const options = { mode, enableThinking, maxLength: maxLength + 1 }
        const row = await renderInnerRow(text, rolePrompt(prompts, agent, t), t.target, options)
        return {
          ...row,
          ids: row.ids.slice(0, maxLength),
          promptLength: Math.min(row.promptLength, maxLength),
          latentEnd: Math.min(row.latentEnd, maxLength),
          cut: row.ids.length > maxLength,
        }
      }),
    )
  }
}

/** The texts to train on. In reference mode texts without a pair stay (they count in batches), else they are left out. */
async function trainingItems(
  ctx: JobContext,
  prompts: PromptSettings,
  agent: number,
  rows: readonly DataRow[],
  job: InnerJob,
): Promise<PairRow[]> {
  const progress = ctx.progress('texts', 'Reading the texts', rows.length, 'rows')
  const items: PairRow[] = []
  let cut = 0
  let without = 0
  let done = 0
  for await (const texts of tokenised(prompts, agent, rows, job)) {
    for (const text of texts) {
      text.warnings.forEach((w) => ctx.warn(w))
      if (text.cut) cut++
      const hasPairs = pairPositions(text).length > 0
      if (!hasPairs) without++
      if (hasPairs || job.mode === 'reference') items.push(text)
    }
    progress.add()
    if (++done % 256 === 0) await ctx.checkpoint()
  }
  if (cut > 0) ctx.warn(`${cut} texts are longer than the limit of ${job.maxLength} tokens and lose their end.`)
  if (without > 0) ctx.warn(`${without} texts have no target left within the limit of ${job.maxLength} tokens.`)
  if (items.length < job.batchSize)
    throw new UserError({
      what: 'There are too few texts to train on.',
      why: `A batch needs ${job.batchSize} texts, but the data gives ${items.length} for the role ${job.role}.`,
      next: 'Give more data or choose a smaller batch size.',
    })
  return items
}

/** Held-out texts that have something to read. */
async function heldOutItems(
  prompts: PromptSettings,
  agent: number,
  rows: readonly DataRow[],
  job: InnerJob,
): Promise<PairRow[]> {
  const items: PairRow[] = []
  for await (const texts of tokenised(prompts, agent, rows, job))
    items.push(...texts.filter((t) => pairPositions(t).length > 0))
  return items
}
