/**
 * The words of the demo's models, and the tokenizer files over them: word level, written as a WordPiece tokenizer
 * that has no "##" piece, so that white space only separates and every word is one token.
 */
import { digits, numerals, operators, ordinals, resultSoFar } from './vel'

const special = ['<pad>', '<unk>', '<|user|>', '<|assistant|>', '<|end|>'] as const
const frame =
  '. plus minus plan again the question with feedback use it softly refine : ; = then solve for is answer'.split(' ')

export const vocabulary: readonly string[] = [
  ...special,
  ...digits,
  ...ordinals,
  ...Array.from({ length: 10 }, (_, i) => String(i)),
  ...numerals,
  ...operators,
  '+',
  '-',
  resultSoFar,
  ...frame,
]

const ids = new Map(vocabulary.map((word, id) => [word, id]))

export const padId = 0
export const endId = tokenId('<|end|>')
export const userId = tokenId('<|user|>')
export const assistantId = tokenId('<|assistant|>')
/** Says nothing: in feedback from which the planner learns that nothing is done yet. */
export const fillerWord = '.'
export const unknownWord = '<unk>'

/** Token ids of words between white space; a word outside the vocabulary is a defect. */
export function encodeWords(text: string): number[] {
  return text.split(/\s+/).filter(Boolean).map(tokenId)
}

function tokenId(word: string): number {
  const id = ids.get(word)
  if (id === undefined) throw new Error(`"${word}" is not a word of the demo`)
  return id
}

/** Rounds are turns of one user and one assistant; a system message is dropped. */
const chatTemplate =
  "{% for m in messages %}{% if m.role == 'user' %}<|user|> {{ m.content }}<|end|>" +
  "{% elif m.role == 'assistant' %}<|assistant|> {{ m.content }}<|end|>{% endif %}{% endfor %}" +
  '{% if add_generation_prompt %}<|assistant|> {% endif %}'

/** File name -> JSON value. */
export function tokenizerFiles(): Record<string, unknown> {
  return {
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: special.map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: null,
      pre_tokenizer: { type: 'WhitespaceSplit' },
      post_processor: null,
      decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
      model: {
        type: 'WordPiece',
        unk_token: unknownWord,
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(ids),
      },
    },
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: '<|end|>',
      pad_token: '<pad>',
      unk_token: unknownWord,
      model_max_length: 256,
      clean_up_tokenization_spaces: false,
      chat_template: chatTemplate,
    },
  }
}
