/**
 * Start of outer links before any gradient goes through a language model: each is taught to say, for the state that its sender's own
 * rollout has at a place, the receiver's embedding of what stands at that place of the sender's text. It is made on
 * rollouts, places after the end of a text included, because that is what the links meet later.
 * `aligned` takes steps on 1 - cos; `least-squares` solves for the linear path at once.
 */
import type { DataRow } from '../data/rows'
import type { JobContext } from '../job-context'
import type { AlignSpec, OuterJob } from '../job-spec'
import { TorchGenerator } from '../nn/torch-generator'
import type { PromptSettings } from '../styles/row-prompts'
import type { OuterLink, Team } from '../styles/team'
import type { PackTask } from '../text'
import { fillerOf, rollOutTexts, type Sender, textOfAgent } from './align-rollouts'
import { TargetTable } from './align-targets'
import { LeastSquares } from './least-squares'
import { AdamW, outerParameters, toUnits, type Units } from './optimiser'
import { learningRateAt } from './schedule'
import { readerTokens } from './text-places'

export interface StartSettings {
  readonly start: Exclude<OuterJob['start'], 'random'>
  readonly prompts: PromptSettings
  readonly rows: readonly DataRow[]
  readonly task: PackTask
  readonly spec: AlignSpec
  readonly mode: OuterJob['mode']
  readonly schedule: OuterJob['schedule']
  readonly seed: number
  readonly threads?: number
  /** Of the links' last norms. */
  readonly units: Units
}

/** The pairs of one link: places of its sender's rollouts, and what it should say there. */
export interface LinkPairs {
  /** Inner-link images, [places, in]. */
  readonly images: Float32Array
  readonly targets: TargetTable
  /** Places per text. */
  readonly steps: number
}

/** Teaches all links of the team, in place. */
export async function startOuterLinks(ctx: JobContext, team: Team, settings: StartSettings): Promise<void> {
  const { spec, start } = settings
  const rows = settings.rows.slice(0, spec.rows)
  const steps = start === 'aligned' ? spec.steps : 1
  const title = start === 'aligned' ? 'Aligned start of the outer links' : 'Least-squares start of the outer links'
  const progress = ctx.progress('align', title, team.links.length * (rows.length + steps), 'rows and steps')
  const senders = new Map<number, Sender>()
  const solver = start === 'least-squares' ? new LeastSquares(ctx, spec.ridge, settings.threads) : null
  try {
    for (const [i, link] of team.links.entries()) {
      const known = senders.get(link.source)
      if (known) progress.add(rows.length)
      const sender =
        known ??
        (await rollOutTexts(
          ctx,
          link.source,
          team.members[link.source],
          { ...settings, rows, steps: spec.latentSteps, filler: spec.filler },
          (n) => progress.add(n),
        ))
      senders.set(link.source, sender)
      const pairs = await linkPairs(ctx, team, link, sender, settings)
      // rollouts of a large model take hundreds of megabytes
      if (!team.links.slice(i + 1).some((l) => l.source === link.source)) senders.delete(link.source)
      if (pairs.targets.places === 0) {
        ctx.warn(`The link ${link.key} starts at random: no row has a text of its sender.`)
        progress.add(steps)
        continue
      }
      if (solver) {
        await solver.fit(link, pairs)
        progress.add()
      } else await takeSteps(ctx, link, pairs, settings, i, () => progress.add())
      const distance = await meanDistance(link, pairs)
      const how = solver ? 'in closed form' : `after ${spec.steps} steps`
      ctx.say({
        kind: 'log',
        level: 'info',
        message: `Aligned ${link.key}: 1 - cos ${distance.toFixed(4)} ${how}.`,
      })
    }
  } finally {
    await solver?.dispose()
  }
}

async function linkPairs(
  ctx: JobContext,
  team: Team,
  link: OuterLink,
  sender: Sender,
  settings: StartSettings,
): Promise<LinkPairs> {
  const { prompts, spec } = settings
  const [writer, reader] = [textOfAgent(prompts, link.source), textOfAgent(prompts, link.target)]
  const filler = await fillerOf(reader, spec.filler)
  const wanted: number[][] = []
  for (const [k, { text, ids }] of sender.texts.entries()) {
    if (k % 64 === 0) await ctx.checkpoint()
    wanted.push(...(await readerTokens(text, writer.tokenizer, ids, reader.tokenizer, spec.latentSteps, filler)))
  }
  const targets = await TargetTable.of(team.members[link.target].agent, wanted)
  return { images: sender.images, targets, steps: spec.latentSteps }
}

/** Steps on the mean of 1 - cos over the places of whole texts. */
async function takeSteps(
  ctx: JobContext,
  link: OuterLink,
  { images, targets, steps }: LinkPairs,
  { spec, mode, schedule, seed, units }: StartSettings,
  order: number,
  done: () => void,
): Promise<void> {
  const { inWidth } = link.graph
  const texts = targets.places / steps
  const trained = outerParameters([link], mode, units)
  const optimiser = new AdamW(trained, { weightDecay: 0 })
  const generator = new TorchGenerator(seed + order + 1)
  const rate = { mode, schedule, learningRate: spec.learningRate, warmupSteps: spec.warmupSteps, steps: spec.steps }
  for (let step = 0; step < spec.steps; step++) {
    if (step % 20 === 0) await ctx.checkpoint()
    const picked = Array.from({ length: spec.batchSize }, () => generator.nextUint32() % texts)
    const x = new Float32Array(picked.length * steps * inWidth)
    picked.forEach((text, k) =>
      x.set(images.subarray(text * steps * inWidth, (text + 1) * steps * inWidth), k * steps * inWidth),
    )
    const places = picked.flatMap((text) => Array.from({ length: steps }, (_, t) => text * steps + t))
    const fit = await link.graph.loss(link.parameters, x, targets.at(places), { cosine: 1, mse: 0 })
    const gradients = new Map(Object.entries(fit.gradients).map(([name, g]) => [`${link.key}.${name}`, g]))
    toUnits(trained, gradients)
    optimiser.step(gradients, learningRateAt(step, rate))
    done()
  }
}

/** Places that say how good a start is: enough for three digits. */
const measuredPlaces = 4096

/** Mean of 1 - cos over places spread evenly. */
async function meanDistance(link: OuterLink, { images, targets }: LinkPairs): Promise<number> {
  const { inWidth } = link.graph
  const count = Math.min(targets.places, measuredPlaces)
  const places = Array.from({ length: count }, (_, k) => Math.floor((k * targets.places) / count))
  const x = new Float32Array(count * inWidth)
  places.forEach((place, k) => x.set(images.subarray(place * inWidth, (place + 1) * inWidth), k * inWidth))
  return (await link.graph.loss(link.parameters, x, targets.at(places), { cosine: 1, mse: 0 })).cosine
}
