/**
 * The demo's prompt pack (every word of it is in the vocabulary), and its prompts with plain text standing in the slots:
 * what the tiny models are trained on.
 */
import { buildPrompt, parsePromptPack, type PromptPack } from '../engine/text'
import type { Role } from './tiny-models'

export const demoPack: PromptPack = parsePromptPack(
  {
    format: 'recursivemas-prompt-pack/1',
    name: 'Vel',
    version: '1',
    system: [''],
    prompts: {
      planner: {
        first: ['plan the question :', '{{question}}'],
        feedback: ['plan again the question :', '{{question}}', 'feedback :', '{{slot:feedback}}', 'use it softly'],
      },
      critic: { first: ['refine the plan for question :', '{{question}}', 'plan :', '{{slot:plan}}', 'refine it'] },
      solver: { first: ['solve with the plan :', '{{slot:refinedPlan}}', 'question :', '{{question}}', 'answer'] },
    },
  },
  'the demo’s prompt pack',
)

/** The slot of each prompt that has one. */
export const slots = { feedback: 'feedback', critic: 'plan', solver: 'refinedPlan' } as const

/** A prompt's user text; `slots`: text by slot name, for every slot of that prompt. */
export function promptText(
  role: Role,
  variant: 'first' | 'feedback',
  question: string,
  slots: Record<string, string> = {},
): string {
  const { user } = buildPrompt(demoPack, { role, variant, task: 'math', mode: 'corrected', question, slots })
  return user
    .map((part) => {
      if (part.kind === 'slot') throw new Error(`slot ${part.name} of ${role} holds no text`)
      return part.text
    })
    .join('')
}
