/**
 * Aligned start of outer links: each is taught to say, for the state that its sender's own rollout has at a place, the receiver's
 * embedding of the token that stands at that place of the sender's text. No gradient passes through a language model.
 * It is made on rollouts, places after the end of a text included, because that is what the links meet later.
 */
import type { DataRow } from '../data/rows'
import type { JobContext } from '../job-context'
import type { OuterJob } from '../job-spec'
import { TorchGenerator } from '../nn/torch-generator'
import type { Row, Segment } from '../agents/agent'
import { type PromptSettings, agentPrompt } from '../styles/row-prompts'
import { buildRow, type Pieces } from '../styles/stage-text'
import type { OuterLink, Team } from '../styles/team'
import { type ModelText, type PackTask, renderStage } from '../text'
import { AdamW, outerParameters } from './optimiser'
import { learningRateAt } from './schedule'
import { readerTokens } from './text-places'
import { type RoleText, roleTexts, trainingText } from './training-texts'

export type AlignSpec = NonNullable<OuterJob['align']>

export interface AlignSettings {
  readonly prompts: PromptSettings
  readonly rows: readonly DataRow[]
  readonly task: PackTask
  readonly spec: AlignSpec
  readonly mode: OuterJob['mode']
  readonly schedule: OuterJob['schedule']
  readonly seed: number
}

/** What one sender thinks and writes: images of its rollouts [rows * L, H] and the texts. */
interface Sender {
  readonly images: Float32Array
  readonly texts: readonly { readonly text: string; readonly ids: readonly number[] }[]
}

/** Rows of one call of the sender. */
const rolloutBatch = 64

/** Trains all links of the team, in place. */
export async function alignLinks(ctx: JobContext, team: Team, settings: AlignSettings): Promise<void> {
  const { spec } = settings
  const progress = ctx.progress(
    'align',
    'Aligned start of the outer links',
    team.links.length * (spec.rows + spec.steps),
    'rows and steps',
  )
  const senders = new Map<number, Sender>()
  for (const [i, link] of team.links.entries()) {
    const known = senders.get(link.source)
    if (known) progress.add(spec.rows)
    const sender = known ?? (await rollOutTexts(ctx, team, link.source, settings, (n) => progress.add(n)))
    senders.set(link.source, sender)
    const loss = await alignLink(ctx, team, link, sender, settings, i, () => progress.add())
    ctx.say({
      kind: 'log',
      level: 'info',
      message: `Aligned ${link.key}: 1 - cos ${loss.toFixed(4)} after ${spec.steps} steps.`,
    })
  }
}

/** The sender's rollouts from its own gold texts, one text task of every row. */
async function rollOutTexts(
  ctx: JobContext,
  team: Team,
  agent: number,
  settings: AlignSettings,
  done: (rows: number) => void,
): Promise<Sender> {
  const { prompts, rows, spec, task, seed } = settings
  const { agent: model, inner } = team.members[agent]
  const text = textOf(prompts, agent)
  const generator = new TorchGenerator(seed)
  const tasks = rows.slice(0, spec.rows).flatMap((row): RoleText[] => {
    const all = roleTexts(prompts.style, agent, row, task, 'all')
    const draw = generator.nextUint32()
    return all.length > 0 ? [all[draw % all.length]] : []
  })
  const images = new Float32Array(tasks.length * spec.latentSteps * model.hiddenSize)
  const texts: { text: string; ids: readonly number[] }[] = []
  const filler = await fillerOf(text, spec.filler)
  for (let from = 0; from < tasks.length; from += rolloutBatch) {
    await ctx.checkpoint()
    const part = tasks.slice(from, from + rolloutBatch)
    const rows = await Promise.all(part.map((t) => goldRow(prompts, agent, t, spec.latentSteps, filler)))
    const { fed } = await model.rollout(rows, inner, spec.latentSteps)
    fed.forEach((image, k) => images.set(image, (from + k) * image.length))
    for (const t of part) {
      const stage = await renderStage(
        text,
        agentPrompt(prompts, t.facts, agent, t.round, t.slotTexts),
        t.target,
        prompts,
      )
      texts.push({ text: t.target, ids: trainingText(stage).target })
    }
    done(part.length)
  }
  done(Math.max(0, spec.rows - tasks.length))
  return { images, texts }
}

/** The prompt with gold text in its slots, each brought to the length that a latent slot has. */
async function goldRow(
  prompts: PromptSettings,
  agent: number,
  task: RoleText,
  length: number,
  filler: number,
): Promise<Row> {
  const text = textOf(prompts, agent)
  const stage = await renderStage(text, agentPrompt(prompts, task.facts, agent, task.round), null, prompts)
  const pieces: Pieces = stage.prompt.ids
  const slots = await Promise.all(
    task.slotTexts.map(async (s) => {
      const ids = (await text.tokenizer.encode(s)).slice(0, length)
      return [...ids, ...Array<number>(length - ids.length).fill(filler)]
    }),
  )
  const segments = pieces.flatMap((ids, i): Segment[] => [
    ...(i > 0 ? [{ kind: 'tokens' as const, ids: slots[i - 1] }] : []),
    { kind: 'tokens', ids },
  ])
  return buildRow(
    [[]],
    [],
    segments.filter((s) => s.kind !== 'tokens' || s.ids.length > 0),
  ).row
}

async function alignLink(
  ctx: JobContext,
  team: Team,
  link: OuterLink,
  sender: Sender,
  settings: AlignSettings,
  order: number,
  done: () => void,
): Promise<number> {
  const { prompts, spec, mode, schedule, seed } = settings
  const steps = spec.latentSteps
  const receiver = team.members[link.target].agent
  const [writer, reader] = [textOf(prompts, link.source), textOf(prompts, link.target)]
  const filler = await fillerOf(reader, spec.filler)
  const wanted = await Promise.all(
    sender.texts.map(({ text, ids }) => readerTokens(text, writer.tokenizer, ids, reader.tokenizer, steps, filler)),
  )
  if (wanted.length === 0) return 0
  const targets = new TargetTable(await embeddings(receiver, wanted), receiver.hiddenSize)
  const inWidth = team.members[link.source].agent.hiddenSize
  const optimiser = new AdamW(outerParameters([link], mode), { weightDecay: 0 })
  const generator = new TorchGenerator(seed + order + 1)
  const rate = { mode, schedule, learningRate: spec.learningRate, warmupSteps: spec.warmupSteps, steps: spec.steps }
  let loss = 0
  for (let step = 0; step < spec.steps; step++) {
    if (step % 20 === 0) await ctx.checkpoint()
    const picked = Array.from({ length: spec.batchSize }, () => generator.nextUint32() % wanted.length)
    const x = new Float32Array(picked.length * steps * inWidth)
    picked.forEach((row, k) =>
      x.set(sender.images.subarray(row * steps * inWidth, (row + 1) * steps * inWidth), k * steps * inWidth),
    )
    const target = targets.rows(picked.flatMap((row) => wanted[row]))
    const fit = await link.graph.loss(link.parameters, x, target, { cosine: 1, mse: 0 })
    loss = fit.loss
    optimiser.step(
      new Map(Object.entries(fit.gradients).map(([name, g]) => [`${link.key}.${name}`, g])),
      learningRateAt(step, rate),
    )
    done()
  }
  return loss
}

/** Mean embeddings of lists of tokens. */
class TargetTable {
  constructor(
    private readonly table: ReadonlyMap<number, Float32Array>,
    private readonly width: number,
  ) {}

  rows(lists: readonly (readonly number[])[]): Float32Array {
    const out = new Float32Array(lists.length * this.width)
    lists.forEach((ids, k) => {
      const row = out.subarray(k * this.width, (k + 1) * this.width)
      for (const id of ids) {
        const e = this.table.get(id)!
        for (let i = 0; i < row.length; i++) row[i] += e[i] / ids.length
      }
    })
    return out
  }
}

async function embeddings(
  agent: Team['members'][number]['agent'],
  wanted: readonly (readonly (readonly number[])[])[],
): Promise<Map<number, Float32Array>> {
  const ids = [...new Set(wanted.flat(2))]
  const all = await agent.embed(ids)
  const width = agent.hiddenSize
  return new Map(ids.map((id, i) => [id, all.subarray(i * width, (i + 1) * width)]))
}

/** The first token of the filler text in a model's vocabulary. */
async function fillerOf(text: ModelText, filler: string): Promise<number> {
  const [id] = await text.tokenizer.encode(filler)
  return id ?? text.tokenizer.pad.id
}

function textOf(prompts: PromptSettings, agent: number): ModelText {
  const text = prompts.texts[agent]
  if (!text) throw new Error(`agent ${agent} is not there`)
  return text
}
