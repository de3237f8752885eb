/** The inner-link job: pairs of a frozen model's states and next embeddings, computed once per row, and a link trained on them. */
import { join } from 'node:path'
import { describeLeftOut } from '../data/rows'
import { repeats } from '../defects'
import { UserError } from '../errors'
import type { JobContext } from '../job-context'
import type { InnerJob } from '../job-spec'
import { describeData, describeModels, promptSettings, type Resources, restoreParameters } from '../job-setup'
import { readConfig } from '../models/families'
import { initInnerLink } from '../nn/link-init'
import { TorchGenerator } from '../nn/torch-generator'
import { checkPrompts } from '../styles/check-prompts'
import { promptVariant } from '../styles/row-prompts'
import type { StyleDefinition } from '../styles/style'
import { openRole } from '../styles/style-file'
import { type ModelText, promptPackHash } from '../text'
import { type EmptyStep, type StepReport, train, type TrainingEnd } from './loop'
import type { TrainingState } from './checkpoints'
import { BatchOrder } from './data-order'
import { type PairRow, pairPositions, pairsOf } from './inner-pairs'
import { innerStep } from './inner-step'
import { type InnerData, type InnerText, readInnerData, tokenise } from './inner-texts'
import { innerBeside, innerWork } from './inner-memory'
import { batchRows as heldOutRows, judgeRollouts } from './inner-validation'
import { loadInnerLink } from './link-files'
import { innerParameters } from './optimiser'
import { hashOf, StateCollection } from './state-store'
import { embeddingScale, lastNormUnits, scaleLastNorm } from './last-norm'
import { defaultLastNorm, describeChoices } from './outer-choices'
import { recordedOptions } from './recorded-options'
import { describeFilled } from './training-texts'
import { appVersion } from '../version'

export async function trainInner(
  ctx: JobContext,
  job: InnerJob,
  resources: Resources,
  resumed: TrainingState | null,
): Promise<TrainingEnd> {
  const { style, agent, pack } = await openRole(job.role, job.style, job.promptPack)
  const width = (await readConfig(job.model)).hiddenSize
  // before any weights are opened
  const startLink = job.startFrom === undefined ? null : await loadInnerLink(job.startFrom, { width, task: job.task })
  // prompts are text here: no model has to be open yet
  const prompts = promptSettings(job, style, pack)
  const data = await readInnerData(job, job.data, prompts, agent)
  tellProblems(ctx, data, '')
  const heldOut = job.validation ? await readInnerData(job, job.validation.data, prompts, agent) : null
  if (heldOut) tellProblems(ctx, heldOut, 'Held-out data: ')
  checkPrompts(prompts, {
    agents: [agent],
    rounds: job.prompts === 'all' ? 2 : 1,
    tasks: new Set([...data.kinds, ...(heldOut?.kinds ?? [])]),
  })
  const { report } = data
  const model = await resources.model(job.model)
  const generator = new TorchGenerator(job.seed)
  if (startLink?.manifest)
    await resources.compareOrigin(job.startFrom!, startLink.manifest, job.task, [{ role: job.role, model }])
  if (startLink && startLink.type !== job.linkType)
    ctx.warn(`The link type is ${startLink.type}, that of the link to continue from.`)
  const type = startLink?.type ?? job.linkType
  const fresh = initInnerLink(type, width, generator)
  const parameters = startLink?.parameters ?? fresh
  const lastNorm = job.lastNorm ?? defaultLastNorm(job.mode)
  const decided = describeChoices(job, { lastNorm })
  if (decided) ctx.say({ kind: 'log', level: 'info', message: decided })
  const items = await trainingItems(ctx, model.text, data, job)
  tellPoorPrompts(ctx, style, agent, data, job)
  const shared = resumed ? TorchGenerator.fromState(resumed.generator) : generator
  const order = { rows: items.length, batchSize: job.batchSize, generator: shared }
  const batches = resumed ? BatchOrder.resume(order, resumed.dataOrder) : new BatchOrder(order)
  const judged = heldOut && job.validation ? await heldOutItems(model.text, heldOut, job) : []
  const heldOutTexts = job.validation ? { items: judged, steps: job.validation.latentSteps, rows: heldOutRows } : null
  resources.settleMemory(
    ctx,
    job,
    [{ ...innerWork(items, job.batchSize, heldOutTexts), agent: model.agent, name: job.role }],
    innerBeside(job, width, type, { texts: items, judged, rows: [...data.rows, ...(heldOut?.rows ?? [])] }),
  )
  await ctx.begin()

  if (lastNorm === 'embedding' && !startLink)
    scaleLastNorm(
      parameters,
      await embeddingScale(model.agent, Math.min(model.agent.vocabSize, model.text.tokenizer.vocabSize)),
    )
  // as the link is when the run begins, not where it is resumed
  const units = lastNorm === 'embedding' ? lastNormUnits(parameters) : undefined
  const collection = join(job.cache ?? join(job.output, 'cache'), hashOf(['inner pairs', model.fingerprint]))
  const kept = new StateCollection(collection)
  const link = resources.links.link({ kind: 'inner', type, width })

  try {
    if (resumed) restoreParameters(parameters, resumed.links[0].parameters)
    const twice = repeats('divided-twice', job.mode)
    const divisor = twice ? job.accumulate ** 2 : job.accumulate
    const trained = innerParameters(parameters, units)

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
        if (twice && batch.lastOfEpoch) break
      }
      const { losses, gradients } = await innerStep(link, parameters, microBatches, {
        cosineWeight: job.cosineWeight,
        mseWeight: job.mseWeight,
        divisor,
      })
      return { loss: losses.reduce((a, b) => a + b, 0) / losses.length, gradients, positions }
    }

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
          dataset: describeData(job.data, report),
          promptPack: promptPackHash(pack),
          seed: job.seed,
          step: at,
          states: null,
          feedback: null,
          rounds: null,
          metrics,
          options: recordedOptions(job, ['form', 'textColumn', 'prompts', 'cosineWeight', 'mseWeight'], { lastNorm }),
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

function tellProblems(ctx: JobContext, { report, filled }: InnerData, where: string): void {
  const leftOut = describeLeftOut(report)
  if (leftOut) ctx.warn(where + leftOut)
  const replaced = describeFilled(filled)
  if (replaced) ctx.warn(where + replaced)
}

/** Says where the rows give the prompts less, or more, than training is after. */
function tellPoorPrompts(ctx: JobContext, style: StyleDefinition, agent: number, data: InnerData, job: InnerJob): void {
  if (job.form !== 'role') return
  const tasks = data.rows.flatMap((row) => data.tasksOf(row).flatMap((t) => (t.kind === 'answer' ? [t] : [])))
  const hasFeedback = promptVariant(style, agent, 1) === 'feedback'
  if (job.prompts === 'all' && hasFeedback && !tasks.some((t) => t.feedback))
    ctx.warn(`No row has a text that could come back to the ${job.role}: its feedback prompt is not trained on.`)
  const copies = tasks.filter((t) => t.copies).length
  if (copies > 0)
    ctx.warn(
      `${copies} of ${tasks.length} texts of the ${job.role} stand in their own prompt, as the role that it reads has the same text: ` +
        'they teach copying. Columns of their own for both roles would not.',
    )
}

/** Every text of the rows as tokens, row by row. */
async function* tokenised(text: ModelText, data: InnerData, job: InnerJob): AsyncGenerator<InnerText[]> {
  for (const row of data.rows) yield await Promise.all(data.tasksOf(row).map((t) => tokenise(text, t, job)))
}

/** The texts to train on. In reference mode texts without a pair stay (they count in batches), else they are left out. */
async function trainingItems(ctx: JobContext, text: ModelText, data: InnerData, job: InnerJob): Promise<PairRow[]> {
  const progress = ctx.progress('texts', 'Reading the texts', data.rows.length, 'rows')
  const items: PairRow[] = []
  let cut = 0
  let without = 0
  let done = 0
  for await (const texts of tokenised(text, data, job)) {
    for (const text of texts) {
      text.warnings.forEach((w) => ctx.warn(w))
      if (text.cut) cut++
      const hasPairs = pairPositions(text).length > 0
      if (!hasPairs) without++
      if (hasPairs || repeats('rows-without-target', job.mode)) items.push(text)
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

/** Held-out texts that have something to read; of a text without a prompt the first half is one. */
async function heldOutItems(text: ModelText, data: InnerData, job: InnerJob): Promise<PairRow[]> {
  const items: PairRow[] = []
  for await (const texts of tokenised(text, data, job))
    for (const row of texts) {
      const item = job.form === 'text' ? { ...row, promptLength: Math.ceil(row.ids.length / 2) } : row
      if (pairPositions(item).length > 0) items.push(item)
    }
  return items
}
