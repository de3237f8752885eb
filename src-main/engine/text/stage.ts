/**
 * One stage of an agent as tokens: the prompt with its slots (what inference reads), and prompt plus target (what
 * training reads), with the place where the target begins.
 */
import { repeats } from '../defects'
import { UserError } from '../errors'
import type { Mode } from '../job-spec'
import type { ChatMessage, ChatText } from './chat-template'
import { requireChat, type ModelText } from './model-text'
import { cutAtMarkers, encodePieces, markersFor, type PromptPart } from './slots'

/** What is asked of an agent: a system text ('' = none) and a user message in which slots may stand. */
export interface Prompt {
  readonly system: string
  readonly user: readonly PromptPart[]
}

/** Text around n slots: n + 1 pieces, each tokenised by itself. */
export interface Pieces {
  readonly texts: readonly string[]
  readonly ids: readonly (readonly number[])[]
}

export interface Stage {
  /** Names of the slots, in order. */
  readonly slots: readonly string[]
  /** System and user message with the generation prompt: what a rollout or a generation starts from. */
  readonly prompt: Pieces
  /**
   * The same with the target as the assistant's finished turn; null when no target was given. In corrected mode it holds
   * the user message as `prompt` has it, even where the template writes it differently once it is answered.
   */
  readonly full: Pieces | null
  /**
   * Tokens of `full` before the target, slots not counted: in reference mode as many as `prompt` has (even where the template
   * writes a finished turn differently), in corrected mode those that `prompt` and `full` share from the start.
   */
  readonly beforeTarget: number
  /** Sentences for the log; the same ones for every row of a template. */
  readonly warnings: readonly string[]
}

export interface StageOptions {
  readonly mode: Mode
  /** Undefined: the template is not told. */
  readonly enableThinking?: boolean
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)

/** Tokens that two lists share from the start. */
function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const end = Math.min(a.length, b.length)
  let n = 0
  while (n < end && a[n] === b[n]) n++
  return n
}

function warningsOf(prompt: ChatText, difference: number, rewritten = false): string[] {
  const warnings: string[] = []
  if (prompt.systemMerged)
    warnings.push('The chat template takes no system message here: its text stands in front of the user message.')
  if (prompt.thinkingDropped) warnings.push('The chat template does not know enable_thinking: it was not given.')
  if (rewritten)
    warnings.push(
      'The chat template writes system and user text differently once they are answered: training keeps them as they are asked.',
    )
  if (difference > 0)
    warnings.push(
      `The chat template writes a finished answer differently from the prompt for one: the last ${difference} prompt ` +
        'tokens differ, so the target is counted from the last token that both share.',
    )
  return warnings
}

/**
 * Renders and tokenises a stage.
 * UserError: the model has no chat template, or one that refuses the messages or does not show the user message
 * exactly once.
 */
export async function renderStage(
  model: Pick<ModelText, 'tokenizer' | 'chat'>,
  prompt: Prompt,
  target: string | null,
  { mode, enableThinking }: StageOptions,
): Promise<Stage> {
  const chat = requireChat(model)
  const slots = prompt.user.flatMap((p) => (p.kind === 'slot' ? [p.name] : []))
  const texts = prompt.user.flatMap((p) => (p.kind === 'text' ? [p.text] : []))
  const known = [prompt.system, target ?? '', ...texts]
  const markers = markersFor(slots.length, known)
  let slot = 0
  const user = prompt.user.map((p) => (p.kind === 'text' ? p.text : markers[slot++])).join('')
  const ask = (content: string): ChatText =>
    chat.render(messagesOf(content), { generationPrompt: true, enableThinking, mode })
  const finish = (content: string, answer: string): ChatText =>
    chat.render([...messagesOf(content), { role: 'assistant', content: answer }], {
      generationPrompt: false,
      enableThinking,
      mode,
    })
  function messagesOf(content: string): ChatMessage[] {
    return [
      ...(prompt.system === '' ? [] : [{ role: 'system', content: prompt.system } as const]),
      { role: 'user', content },
    ]
  }

  const refuse = () =>
    new UserError({
      what: 'A prompt cannot be built.',
      why: `The chat template of ${model.tokenizer.folder} does not show the user message exactly once, as it is.`,
      next: 'Use a model with a plain chat template.',
    })
  const cut = async (text: string): Promise<Pieces> => {
    if (markers.some((m) => text.split(m).length !== 2)) throw refuse()
    const pieces = cutAtMarkers(text, markers)
    return { texts: pieces, ids: await encodePieces(model.tokenizer, pieces) }
  }
  /** What the template writes after the user message, which a marker at its end shows. */
  const afterUser = (render: (content: string) => ChatText, text: string): string => {
    const end = markersFor(slots.length + 1, known)[slots.length]
    const pieces = render(user + end).text.split(end)
    if (pieces.length !== 2 || !text.endsWith(pieces[1])) throw refuse()
    return pieces[1]
  }

  const asked = ask(user)
  const promptPieces = await cut(asked.text)
  const whole = sum(promptPieces.ids.map((p) => p.length))
  if (target === null)
    return { slots, prompt: promptPieces, full: null, beforeTarget: whole, warnings: warningsOf(asked, 0) }

  const answered = finish(user, target)
  if (repeats('counted-target', mode)) {
    const full = await cut(answered.text)
    return { slots, prompt: promptPieces, full, beforeTarget: whole, warnings: warningsOf(asked, 0) }
  }
  let written = answered.text
  if (!written.startsWith(asked.text)) {
    // a template may move the system text, or drop it, when the user message is no longer the last one
    const head = asked.text.slice(0, asked.text.length - afterUser(ask, asked.text).length)
    if (!written.startsWith(head)) written = head + afterUser((content) => finish(content, target), written)
  }
  const full = await cut(written)
  // up to the last slot both are the same text
  const last = slots.length
  const difference = promptPieces.ids[last].length - commonPrefix(promptPieces.ids[last], full.ids[last])
  return {
    slots,
    prompt: promptPieces,
    full,
    beforeTarget: whole - difference,
    warnings: warningsOf(asked, difference, written !== answered.text),
  }
}
