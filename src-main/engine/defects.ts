/**
 * The known defects of the published method, as data: which styles have each of them, and what stands in its place. `mode: reference`
 * repeats them, `corrected` does not; wherever the engine does one thing or the other it asks here. README shows this table.
 */
import type { Mode } from './job-spec'

type Stage = 'inner training' | 'outer training' | 'training' | 'inference' | 'training and inference'

export interface Defect {
  readonly stage: Stage
  /** Names of the built-in styles that have it; `all`: every style, custom ones too. */
  readonly styles: 'all' | readonly ('sequential' | 'mixture' | 'distillation' | 'deliberation')[]
  /** What `reference` does. */
  readonly published: string
  /** What `corrected` does. */
  readonly corrected: string
}

export const defects = {
  'late-states': {
    stage: 'outer training',
    styles: 'all',
    published: 'the states after each target token cross a link, although inference begins one position earlier',
    corrected: 'the states that inference passes on, the first at the last prompt position (`states: shifted`)',
  },
  'answer-leak': {
    stage: 'outer training',
    styles: 'all',
    published: 'feedback is made from states on the gold answer, so that it can leak into the next round',
    corrected: 'feedback comes from the answering agent’s own rollout (`feedback: self-fed`)',
  },
  'idle-first-step': {
    stage: 'training',
    styles: 'all',
    published: 'the warm-up begins at a rate of 0: the first step moves nothing',
    corrected: 'the first step moves',
  },
  'divided-twice': {
    stage: 'inner training',
    styles: 'all',
    published:
      'losses of accumulated micro-batches are divided by their number twice, and an epoch’s end cuts a group short',
    corrected: 'they are divided once, and groups go over the ends of epochs',
  },
  'decay-of-all': {
    stage: 'outer training',
    styles: 'all',
    published: 'weight decay takes biases and the gains of norms too',
    corrected: 'weight decay takes matrices only',
  },
  'unit-gain': {
    stage: 'training',
    styles: 'all',
    published:
      'a fresh link’s last norm starts with gains of 1: its outputs are far longer than most models’ embeddings',
    corrected: 'it starts with what makes them as long as the receiver’s embeddings (`lastNorm: embedding`)',
  },
  'cut-beginning': {
    stage: 'outer training',
    styles: 'all',
    published: 'a row that is too long loses its beginning, the slots in it included',
    corrected: 'the row is left out and counted',
  },
  'rows-without-target': {
    stage: 'inner training',
    styles: 'all',
    published: 'a text of which nothing but the prompt is left counts in its batch',
    corrected: 'it is left out and counted',
  },
  'counted-target': {
    stage: 'training',
    styles: 'all',
    published: 'the supervised span begins after as many tokens as the prompt alone has, whatever the template writes',
    corrected:
      'it is what really follows the prompt (longest common prefix of tokens), with a warning where the two differ; system and user text stay as they are asked',
  },
  'one-stop-token': {
    stage: 'inference',
    styles: 'all',
    published: 'generation stops at the tokenizer’s end token only',
    corrected: 'it stops at every stop id of the tokenizer and the generation settings',
  },
  'one-complaint': {
    stage: 'training and inference',
    styles: 'all',
    published: 'of the templates without a system role only those are served that complain in one wording',
    corrected: 'the system text goes in front of the user’s, however a template complains',
  },
  'lenient-grade': {
    stage: 'inference',
    styles: 'all',
    published:
      'the lenient grade counts: integer parts or digits alone make an answer right, no letter counts as A, a gold text stands for the first option that contains it, and of boxes one without inner braces goes before a later one with them',
    corrected:
      'the strict grade counts: equality of the last answer committed to, with balanced boxes and the option that is the gold text. Both are always shown',
  },
  'lone-retry': {
    stage: 'inference',
    styles: 'all',
    published:
      'the answer retry continues the text alone, without the conversation; 16 tokens seldom close a box, and a code block left open swallows what follows',
    corrected: 'it continues the conversation, latents included, with 64 tokens and the code block closed',
  },
  'phrase-for-letters': {
    stage: 'training and inference',
    styles: 'all',
    published: 'a question that merely says "choose the correct option" is not asked to be answered with a letter',
    corrected: 'only one that names the letters itself is not (sequential prompts ask in other words)',
  },
  'text-none': {
    stage: 'training',
    styles: ['sequential'],
    published: 'a missing text is trained on as the text "None"',
    corrected: 'rows with blank or missing texts are left out and counted',
  },
  'blank-experts': {
    stage: 'inner training',
    styles: ['mixture'],
    published: 'the summarizer’s slots stay blank where an expert’s text is missing',
    corrected: 'such rows are left out and counted',
  },
  'one-column-for-all': {
    stage: 'inner training',
    styles: ['mixture', 'distillation', 'deliberation'],
    published:
      'of a role’s columns the first that the data has counts for every row, in mixture in another order than in outer training',
    corrected: 'each row has the text in the first of them that is not blank, in both stages alike',
  },
  'marker-as-text': {
    stage: 'inner training',
    styles: ['deliberation'],
    published: 'the tool-caller’s prompt holds the name of the slot as text',
    corrected: 'it holds the reflector’s text',
  },
  'task-ignored': {
    stage: 'outer training',
    styles: ['sequential'],
    published: 'a row’s own task (math, code, choice) is ignored',
    corrected: 'it is honoured in both stages',
  },
  'round-two': {
    stage: 'training and inference',
    styles: ['sequential'],
    published: 'the planner’s feedback prompt says "round 2" in every later round',
    corrected: 'it names the real round',
  },
  'math-feedback': {
    stage: 'inference',
    styles: ['sequential'],
    published: 'on code tasks the planner of later rounds gets the feedback prompt for math',
    corrected: 'it gets the one for code',
  },
} as const satisfies Record<string, Defect>

export type DefectName = keyof typeof defects
type ForAll = { [N in DefectName]: (typeof defects)[N]['styles'] extends 'all' ? N : never }[DefectName]

/** Whether a run repeats a defect; one that only some styles have needs the style's name. */
export function repeats(defect: ForAll, mode: Mode): boolean
export function repeats(defect: DefectName, mode: Mode, style: string): boolean
export function repeats(defect: DefectName, mode: Mode, style?: string): boolean {
  const { styles }: Defect = defects[defect]
  return mode === 'reference' && (styles === 'all' || (styles as readonly (string | undefined)[]).includes(style))
}
