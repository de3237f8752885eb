/** What a sender of links thinks and writes for the rows of the data: its rollouts from gold text, and the texts. */
import type { Row, Segment } from '../agents/agent'
import type { DataRow } from '../data/rows'
import type { JobContext } from '../job-context'
import { TorchGenerator } from '../nn/torch-generator'
import { type PromptSettings, agentPrompt } from '../styles/row-prompts'
import { buildRow } from '../styles/stage-text'
import type { Member } from '../styles/team'
import { type ModelText, type PackTask, renderStage } from '../text'
import { type RoleText, rolePrompt, roleTexts, trainingText } from './training-texts'

export interface Sender {
  /** Inner-link images of the rollouts, [texts * steps, H]. */
  readonly images: Float32Array
  /** What it should write, and the ids of that with the turn's end behind. */
  readonly texts: readonly { readonly text: string; readonly ids: readonly number[] }[]
}

export interface RolloutSettings {
  readonly prompts: PromptSettings
  readonly rows: readonly DataRow[]
  readonly task: PackTask
  readonly steps: number
  /** Stands in a slot behind the end of its text. */
  readonly filler: string
  readonly seed: number
}

/** Rows of one call of the sender. */
export const rolloutBatch = 64

/** One text task of every row that has any, drawn from the seed. */
export async function rollOutTexts(
  ctx: JobContext,
  agent: number,
  { agent: model, inner }: Pick<Member, 'agent' | 'inner'>,
  settings: RolloutSettings,
  done: (rows: number) => void,
): Promise<Sender> {
  const { prompts, rows, task, steps, seed } = settings
  const text = textOfAgent(prompts, agent)
  const generator = new TorchGenerator(seed)
  const tasks = rows.flatMap((row): RoleText[] => {
    const all = roleTexts(prompts.style, agent, row, task, 'all')
    const draw = generator.nextUint32()
    return all.length > 0 ? [all[draw % all.length]] : []
  })
  const images = new Float32Array(tasks.length * steps * model.hiddenSize)
  const texts: { text: string; ids: readonly number[] }[] = []
  const filler = await fillerOf(text, settings.filler)
  for (let from = 0; from < tasks.length; from += rolloutBatch) {
    await ctx.checkpoint()
    const part = tasks.slice(from, from + rolloutBatch)
    const rows = await Promise.all(part.map((t) => goldRow(prompts, agent, t, steps, filler)))
    const { fed } = await model.rollout(rows, inner, steps, { between: () => ctx.checkpoint() })
    fed.forEach((image, k) => images.set(image, (from + k) * image.length))
    for (const t of part) {
      const stage = await renderStage(text, rolePrompt(prompts, agent, t), t.target, prompts)
      texts.push({ text: t.target, ids: trainingText(stage).target })
    }
    done(part.length)
  }
  done(rows.length - tasks.length)
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
  const text = textOfAgent(prompts, agent)
  const open = agentPrompt(prompts, task.facts, agent, task.round)
  const { ids: pieces } = (await renderStage(text, open, null, prompts)).prompt
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

/** The first token of the filler text in a model's vocabulary. */
export async function fillerOf(text: Pick<ModelText, 'tokenizer'>, filler: string): Promise<number> {
  const [id] = await text.tokenizer.encode(filler)
  return id ?? text.tokenizer.pad.id
}

export function textOfAgent(prompts: PromptSettings, agent: number): ModelText {
  const text = prompts.texts[agent]
  if (!text) throw new Error(`agent ${agent} is not there`)
  return text
}
