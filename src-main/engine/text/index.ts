/** The text layer: tokenizers, chat templates, prompt packs, slots, generation settings. */
export type { ChatMessage, ChatOptions, ChatTemplate, ChatText } from './chat-template'
export type { CheckpointGeneration } from './model-files'
export type { SpecialToken, TextTokenizer } from './tokenizer'
export { loadModelText, requireChat, type ModelText } from './model-text'
export { createStreamDecoder, type StreamDecoder } from './stream-decoder'
export type { PromptPart } from './slots'
export { renderStage, type Pieces, type Prompt, type Stage, type StageOptions } from './stage'
export { renderInnerRow, renderTextRow, type InnerRow, type InnerRowOptions } from './inner-row'
export {
  builtInPack,
  loadPromptPack,
  parsePromptPack,
  promptPackHash,
  type PackTask,
  type PromptPack,
} from './prompt-pack'
export {
  answerRetrySuffix,
  answerRetryText,
  buildPrompt,
  codeTypeOf,
  hasOptionLines,
  plainTrainingText,
  type PlainTrainingText,
  type PromptRequest,
  promptVariants,
} from './build-prompt'
export { resolveGeneration, type GenerationChoice, type GenerationSettings } from './generation-settings'
