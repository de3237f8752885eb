/** One row of inner training as tokens: prompt and target, which tokens are target, which of them teach the link. */
import { repeats } from '../defects'
import type { Mode } from '../job-spec'
import type { ModelText } from './model-text'
import { renderStage, type Prompt } from './stage'

export interface InnerRow {
  readonly ids: readonly number[]
  /** Tokens before the target. */
  readonly promptLength: number
  /** Tokens [promptLength, latentEnd) teach the link; what follows is target, but not for the link. */
  readonly latentEnd: number
  readonly warnings: readonly string[]
}

export interface InnerRowOptions {
  readonly mode: Mode
  readonly enableThinking?: boolean
  /** Longer rows lose their end. */
  readonly maxLength: number
  /** Text in the target from which on nothing teaches the link (with the line break before it, if there is one). */
  readonly latentsEndAt?: string
}

interface TokenRow {
  readonly ids: readonly number[]
  readonly promptLength: number
  readonly warnings: readonly string[]
}

function commonPrefixLength(a: readonly number[], b: readonly number[]): number {
  let n = 0
  while (n < a.length && n < b.length && a[n] === b[n]) n++
  return n
}

/** For models without a chat template: plain text, the tokenizer's own special tokens around it, eos at the end. */
async function plainRow(model: ModelText, system: string, user: string, target: string, mode: Mode): Promise<TokenRow> {
  const { tokenizer } = model
  const before = (system === '' ? '' : `${system}\n\n`) + user + (repeats('counted-target', mode) ? '' : '\n')
  const [prompt, ids] = await tokenizer.encodeAll([before, before + target + (tokenizer.eos?.token ?? '')], {
    special: true,
  })
  const promptLength = repeats('counted-target', mode) ? prompt.length : commonPrefixLength(prompt, ids)
  return { ids, promptLength, warnings: ['The model has no chat template: its rows are plain text.'] }
}

async function chatRow(model: ModelText, prompt: Prompt, target: string, options: InnerRowOptions): Promise<TokenRow> {
  const stage = await renderStage(model, prompt, target, options)
  return { ids: stage.full!.ids[0], promptLength: stage.beforeTarget, warnings: stage.warnings }
}

/** A text by itself, all of which teaches: the tokenizer's own special tokens around it, its end lost at `maxLength`. */
export async function renderTextRow(
  { tokenizer }: Pick<ModelText, 'tokenizer'>,
  text: string,
  maxLength: number,
): Promise<InnerRow> {
  const ids = (await tokenizer.encode(text, { special: true })).slice(0, maxLength)
  return { ids, promptLength: 0, latentEnd: ids.length, warnings: [] }
}

function indexOfRun(ids: readonly number[], run: readonly number[], from: number): number {
  for (let i = from; i + run.length <= ids.length; i++) if (run.every((id, k) => ids[i + k] === id)) return i
  return -1
}

/** A row for inner training. The prompt holds text only. UserError: the template refuses the messages. */
export async function renderInnerRow(
  model: ModelText,
  prompt: Prompt,
  target: string,
  options: InnerRowOptions,
): Promise<InnerRow> {
  const user = prompt.user.map((part) => {
    if (part.kind === 'slot') throw new Error(`renderInnerRow: slot ${part.name} holds no text`)
    return part.text
  })
  const row = model.chat
    ? await chatRow(model, prompt, target, options)
    : await plainRow(model, prompt.system, user.join(''), target, options.mode)
  const ids = row.ids.slice(0, options.maxLength)
  const promptLength = Math.min(row.promptLength, ids.length)
  const marker = options.latentsEndAt
  if (marker === undefined) return { ids, promptLength, latentEnd: ids.length, warnings: row.warnings }
  for (const run of await model.tokenizer.encodeAll([`\n${marker}`, marker])) {
    const at = indexOfRun(ids, run, promptLength)
    if (at >= 0) return { ids, promptLength, latentEnd: at, warnings: row.warnings }
  }
  const warning = `A target does not hold ${JSON.stringify(marker)} as tokens of its own: all of it teaches the link.`
  return { ids, promptLength, latentEnd: ids.length, warnings: [...row.warnings, warning] }
}
