/** From a prompt pack and a row to the messages of one agent in one situation. */
import { repeats } from '../defects'
import { UserError } from '../errors'
import type { Mode } from '../job-spec'
import {
  placeholder,
  type PackCondition,
  type PackTask,
  type PackText,
  type PackValue,
  type PromptPack,
} from './prompt-pack'
import { PYTHON_SPACE, stripPython } from './python-text'
import type { PromptPart } from './slots'
import type { Prompt } from './stage'

export interface PromptRequest {
  readonly role: string
  /** `first`: nothing came back yet. `feedback`: a slot takes what the last agent sent back. A pack may have more. */
  readonly variant: string
  readonly task: PackTask
  readonly mode: Mode
  readonly question: string
  /** What a code task asks for (default program), and the function's name where it is known. */
  readonly codeType?: 'function' | 'program'
  readonly functionName?: string
  /** Round of this stage, from 1. */
  readonly round?: number
  /** Question before plan in the solver's prompt. */
  readonly questionFirst?: boolean
  /** Older wordings of the choice instruction, 1 to 3. */
  readonly choiceMode?: number
  /** Text for slots, by name. A slot not named here stays a slot, for latents. */
  readonly slots?: Readonly<Record<string, string>>
}

/** A row's code type from the data's own words. */
export function codeTypeOf(type: string | null | undefined): 'function' | 'program' {
  return type === 'function' || type === 'functional' ? 'function' : 'program'
}

/** A line that starts like an option: a letter A to D, a mark, white space. */
const OPTION_LINE = new RegExp(`(?<![^\\n])[${PYTHON_SPACE}]*[A-D][${PYTHON_SPACE}]*[.):\\-][${PYTHON_SPACE}]`, 'i')
const ASKS_FOR_OPTION = /choose the correct option([^\n]*)/i

/** Whether a question asks itself for an option; by its letter, unless the phrase alone is to count. */
function asksForOption(question: string, phraseAlone: boolean): boolean {
  const asked = ASKS_FOR_OPTION.exec(question)
  return asked !== null && (phraseAlone || /\bA\b/.test(asked[1]))
}

export function hasOptionLines(question: string): boolean {
  return OPTION_LINE.test(question)
}

type Facts = Required<Omit<PackCondition, 'role' | 'variant'>> & Pick<PackCondition, 'role' | 'variant'>

interface Context {
  readonly pack: PromptPack
  readonly facts: Facts
  readonly values: Readonly<Partial<Record<PackValue, string>>>
  readonly slots: Readonly<Record<string, string>>
}

function factsOf(
  request: Omit<PromptRequest, 'role' | 'variant'> & Partial<Pick<PromptRequest, 'role' | 'variant'>>,
): Facts {
  return {
    role: request.role,
    variant: request.variant,
    task: request.task,
    mode: request.mode,
    codeType: request.codeType ?? 'program',
    named: Boolean(request.functionName),
    options: hasOptionLines(request.question),
    asksForOption: asksForOption(request.question, repeats('phrase-for-letters', request.mode)),
    questionFirst: request.questionFirst ?? false,
    choiceMode: request.choiceMode ?? 0,
  }
}

function fits(when: PackCondition, facts: Facts): boolean {
  return (Object.keys(when) as (keyof PackCondition)[]).every((key) => {
    const wanted: unknown = when[key]
    if (wanted === undefined) return true
    return Array.isArray(wanted) ? wanted.includes(facts[key]) : wanted === facts[key]
  })
}

function refuse(pack: PromptPack, where: string, why: string): UserError {
  return new UserError({
    what: 'The prompt cannot be written.',
    why: `Prompt pack "${pack.name}", ${where}: ${why}.`,
    next: 'Complete the prompt pack, or use the built-in pack.',
  })
}

function choose(context: Context, where: string, text: PackText): readonly string[] {
  if (text.every((item) => typeof item === 'string')) return text
  const chosen = text.find((item) => typeof item !== 'string' && fits(item.when ?? {}, context.facts))
  if (chosen === undefined || typeof chosen === 'string') {
    const { role, variant, task } = context.facts
    const situation = [role, variant, `task ${task}`].filter(Boolean).join(', ')
    throw refuse(context.pack, where, `none of its conditions fits (${situation})`)
  }
  return chosen.lines
}

/** The parts of a text with values put in. Values are never searched for placeholders. */
function expand(context: Context, where: string, text: PackText): PromptPart[] {
  const template = choose(context, where, text).join('\n')
  const parts: PromptPart[] = []
  let at = 0
  for (const match of template.matchAll(placeholder())) {
    parts.push({ kind: 'text', text: template.slice(at, match.index) })
    at = match.index + match[0].length
    const [, key, slot] = match
    if (slot !== undefined) {
      const given = Object.hasOwn(context.slots, slot) ? context.slots[slot] : undefined
      parts.push(given === undefined ? { kind: 'slot', name: slot } : { kind: 'text', text: given })
    } else if (Object.hasOwn(context.pack.parts, key)) {
      parts.push(...expand(context, `parts.${key}`, context.pack.parts[key]))
    } else {
      const value = context.values[key as PackValue]
      if (value === undefined) throw refuse(context.pack, where, `{{${key}}} has no value here`)
      parts.push({ kind: 'text', text: value })
    }
  }
  parts.push({ kind: 'text', text: template.slice(at) })
  return parts
}

/** Neighbouring texts joined, empty ones left out. */
function joined(parts: readonly PromptPart[]): PromptPart[] {
  const out: PromptPart[] = []
  for (const part of parts) {
    const last = out.at(-1)
    if (part.kind === 'text' && part.text === '') continue
    if (part.kind === 'text' && last?.kind === 'text')
      out[out.length - 1] = { kind: 'text', text: last.text + part.text }
    else out.push(part)
  }
  return out
}

function plainText(context: Context, where: string, text: PackText): string {
  return expand(context, where, text)
    .map((part) => {
      if (part.kind === 'slot') throw refuse(context.pack, where, `slot ${part.name} cannot stand here`)
      return part.text
    })
    .join('')
}

function valuesOf(question: string): Partial<Record<PackValue, string>> {
  return { question, questionTrimmed: stripPython(question, 'right') }
}

/** The variants that a pack has for a role; empty for an unknown one. */
export function promptVariants(pack: PromptPack, role: string): string[] {
  return Object.hasOwn(pack.prompts, role) ? Object.keys(pack.prompts[role]) : []
}

/** System and user message of an agent. UserError: the pack has no such role, variant or fitting text. */
export function buildPrompt(pack: PromptPack, request: PromptRequest): Prompt {
  const { role, variant } = request
  if (!promptVariants(pack, role).includes(variant)) {
    const known = Object.entries(pack.prompts).map(([name, texts]) => `${name} (${Object.keys(texts).join(', ')})`)
    throw refuse(
      pack,
      `prompts.${role}`,
      `the role "${role}" has no text for the situation "${variant}"; there are prompts for ${known.join(', ')}`,
    )
  }
  const values: Context['values'] = {
    ...valuesOf(request.question),
    ...(request.functionName ? { functionName: request.functionName } : {}),
    ...(request.round === undefined ? {} : { round: String(request.round) }),
  }
  const context: Context = { pack, facts: factsOf(request), values, slots: request.slots ?? {} }
  return {
    system: plainText(context, 'system', pack.system),
    user: joined(expand(context, `prompts.${role}.${variant}`, pack.prompts[role][variant])),
  }
}

/** The text that a pack puts behind an unreadable answer, and the new tokens that a retry may take at least. */
export function answerRetrySuffix(
  pack: PromptPack,
  request: { task: PackTask; mode: Mode },
): { text: string; tokens: number } {
  if (!pack.answerRetry) throw refuse(pack, 'answerRetry', 'the pack has none')
  const context: Context = { pack, facts: factsOf({ ...request, question: '' }), values: {}, slots: {} }
  const tokens = request.task === 'code' ? 256 : repeats('lone-retry', request.mode) ? 16 : 64
  return { text: plainText(context, 'answerRetry', pack.answerRetry), tokens }
}

/** An answer made ready for the retry: its trailing white space gone, the pack's suffix on a new line. */
export function answerRetryText(pack: PromptPack, request: { task: PackTask; mode: Mode; output: string }): string {
  const output = stripPython(request.output, 'right')
  const open = !repeats('lone-retry', request.mode) && (output.match(/```/g) ?? []).length % 2 === 1
  return `${output}${open ? '\n```' : ''}\n${answerRetrySuffix(pack, request).text}`
}

export interface PlainTrainingText {
  readonly prompt: Prompt
  readonly target: string
  readonly latentsEndAt?: string
}

/** Prompt and target of inner training without a role: the result is what follows "####", the whole answer without it. */
export function plainTrainingText(
  pack: PromptPack,
  row: { question: string; answer: string; mode: Mode },
): PlainTrainingText {
  const plain = pack.plainTraining
  if (!plain) throw refuse(pack, 'plainTraining', 'the pack has none')
  const facts = factsOf({ task: 'math', mode: row.mode, question: row.question })
  const values: Context['values'] = {
    ...valuesOf(row.question),
    answer: stripPython(row.answer, 'right'),
    finalAnswer: stripPython(row.answer.split('####').at(-1) ?? ''),
  }
  const context: Context = { pack, facts, values, slots: {} }
  return {
    prompt: {
      system: plainText(context, 'system', pack.system),
      user: [{ kind: 'text', text: plainText(context, 'plainTraining.prompt', plain.prompt) }],
    },
    target: plainText(context, 'plainTraining.target', plain.target),
    latentsEndAt: plain.latentsEndAt,
  }
}
