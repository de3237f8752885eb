/** Everything about a model that concerns text: tokenizer, chat template, what its checkpoint proposes for generation. */
import { UserError } from '../errors'
import { createChatTemplate, type ChatTemplate } from './chat-template'
import type { Day } from './clock'
import { readCheckpointGeneration, type CheckpointGeneration } from './model-files'
import { loadTokenizer, type TextTokenizer } from './tokenizer'

export interface ModelText {
  readonly folder: string
  readonly tokenizer: TextTokenizer
  /** null where the model has none. */
  readonly chat: ChatTemplate | null
  readonly generation: CheckpointGeneration
}

/** Reads a folder in Hugging Face layout. UserError: see loadTokenizer; a chat template that cannot be parsed. */
export async function loadModelText(folder: string, options: { day?: Day } = {}): Promise<ModelText> {
  const tokenizer = await loadTokenizer(folder)
  const { chatTemplate } = tokenizer.config
  return {
    folder,
    tokenizer,
    chat: chatTemplate === null ? null : createChatTemplate(chatTemplate, tokenizer.config, folder, options.day),
    generation: await readCheckpointGeneration(folder),
  }
}

/** The model's chat template; UserError where it has none. */
export function requireChat(model: Pick<ModelText, 'tokenizer' | 'chat'>): ChatTemplate {
  if (model.chat) return model.chat
  throw new UserError({
    what: 'The prompts cannot be written.',
    why: `The model in ${model.tokenizer.folder} has no chat template (tokenizer_config.json or chat_template.jinja).`,
    next: 'Use an instruction-tuned model, or add a chat_template to its tokenizer_config.json.',
  })
}
