/**
 * A prompt pack: every text that the agents are given, as data. A text is a list of lines with placeholders, or a list
 * of such lists with conditions, of which the first that fits is taken. Checkpoints and results carry a pack's hash.
 *
 * Placeholders, in double braces: values (question, questionTrimmed, functionName, round, answer, finalAnswer), the
 * pack's own parts by name, and slots as `slot:NAME`.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { UserError } from '../errors'
import { readableFileSize } from '../formats/disk-errors'
import { parseJson } from '../formats/json-text'
import { checkAgainst } from '../formats/schema-faults'
import { mode } from '../job-spec'
import builtIn from './built-in-pack.json'

export const PACK_FORMAT = 'recursivemas-prompt-pack/1'

/** Values that a caller can give to a text. */
export const packValues = ['question', 'questionTrimmed', 'functionName', 'round', 'answer', 'finalAnswer'] as const
export type PackValue = (typeof packValues)[number]

export const packTask = z.enum(['math', 'code', 'choice'])
export type PackTask = z.infer<typeof packTask>

const oneOrMore = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).min(1)])

/** When a text is taken. All that is named must hold; a list means any of it. */
const condition = z.strictObject({
  role: oneOrMore(z.string()).optional(),
  variant: oneOrMore(z.string()).optional(),
  task: oneOrMore(packTask).optional(),
  mode: mode.optional(),
  /** What a code task asks for. */
  codeType: z.enum(['function', 'program']).optional(),
  /** The function's name is known. */
  named: z.boolean().optional(),
  /** The question has lettered option lines. */
  options: z.boolean().optional(),
  /** The question already says to choose the correct option. */
  asksForOption: z.boolean().optional(),
  /** The question stands before the plan. */
  questionFirst: z.boolean().optional(),
  /** Older wordings of the choice instruction, 1 to 3; 0 is the present one. */
  choiceMode: oneOrMore(z.number().int()).optional(),
})
export type PackCondition = z.infer<typeof condition>

const lines = z.array(z.string()).min(1)
const text = z.union([lines, z.array(z.strictObject({ when: condition.optional(), lines })).min(1)])
export type PackText = z.infer<typeof text>

const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a name starts with a letter and has letters, digits, - and _')

const packSchema = z.strictObject({
  format: z.literal(PACK_FORMAT),
  name: z.string().min(1),
  version: z.string().min(1),
  /** The system message; a single empty line means none. */
  system: text,
  /** Texts that other texts name. */
  parts: z.record(name, text).default({}),
  /** Role -> variant (`first`, `feedback`, …) -> user message. */
  prompts: z.record(name, z.record(name, text)),
  /** What is put behind an answer from which nothing could be read, for one more short generation. */
  answerRetry: text.optional(),
  /** Inner training without a role, on questions and answers that end in "#### result". */
  plainTraining: z.strictObject({ prompt: text, target: text, latentsEndAt: z.string().min(1).optional() }).optional(),
})
export type PromptPack = z.infer<typeof packSchema>

/** `{{name}}`, `{{slot:name}}`, with or without spaces inside. A fresh object per use: it keeps a position. */
export const placeholder = () => /\{\{\s*([A-Za-z][\w-]*)(?::([A-Za-z][\w-]*))?\s*\}\}/g

function* textsOf(pack: PromptPack): Generator<{ path: string; text: PackText }> {
  yield { path: 'system', text: pack.system }
  for (const [key, value] of Object.entries(pack.parts)) yield { path: `parts.${key}`, text: value }
  for (const [role, variants] of Object.entries(pack.prompts))
    for (const [key, value] of Object.entries(variants)) yield { path: `prompts.${role}.${key}`, text: value }
  if (pack.answerRetry) yield { path: 'answerRetry', text: pack.answerRetry }
  if (pack.plainTraining) {
    yield { path: 'plainTraining.prompt', text: pack.plainTraining.prompt }
    yield { path: 'plainTraining.target', text: pack.plainTraining.target }
  }
}

/** The lines of a text with where they stand in the pack. */
function* linesOf({ path, text: value }: { path: string; text: PackText }): Generator<{ path: string; line: string }> {
  for (const [i, item] of value.entries()) {
    if (typeof item === 'string') yield { path: `${path}.${i}`, line: item }
    else for (const [k, line] of item.lines.entries()) yield { path: `${path}.${i}.lines.${k}`, line }
  }
}

const isValue = (key: string): key is PackValue => (packValues as readonly string[]).includes(key)

/** Names of parts that a text uses. Throws through `refuse` at a placeholder that means nothing. */
function partsUsed(
  pack: PromptPack,
  entry: { path: string; text: PackText },
  refuse: (path: string, why: string) => never,
): string[] {
  const used: string[] = []
  for (const { path, line } of linesOf(entry))
    for (const [whole, key, argument] of line.matchAll(placeholder())) {
      if (key === 'slot' && argument !== undefined) continue
      if (argument !== undefined) refuse(path, `${whole} is no placeholder; only slots take a name after a colon`)
      if (isValue(key)) continue
      if (!Object.hasOwn(pack.parts, key))
        refuse(path, `${whole} is neither a part of the pack nor one of ${packValues.join(', ')}, slot:NAME`)
      used.push(key)
    }
  return used
}

function checkPlaceholders(pack: PromptPack, refuse: (path: string, why: string) => never): void {
  const uses = new Map<string, string[]>()
  for (const entry of textsOf(pack)) {
    const used = partsUsed(pack, entry, refuse)
    if (entry.path.startsWith('parts.')) uses.set(entry.path.slice('parts.'.length), used)
  }
  for (const key of Object.keys(pack.parts))
    if (isValue(key) || key === 'slot') refuse(`parts.${key}`, 'the name is taken')
  const visit = (key: string, above: readonly string[]): void => {
    if (above.includes(key)) refuse(`parts.${key}`, `it contains itself (${[...above, key].join(' > ')})`)
    for (const part of uses.get(key) ?? []) visit(part, [...above, key])
  }
  for (const key of uses.keys()) visit(key, [])
}

function packRefusal(source: string, why: string): UserError {
  return new UserError({
    what: 'The prompt pack cannot be used.',
    why: `${source}: ${why}.`,
    next: 'Correct that field, or use the built-in pack.',
  })
}

/** Checks a pack read from `source` (named in errors). UserError names the field. */
export function parsePromptPack(value: unknown, source: string): PromptPack {
  const refuse = (path: string, why: string): never => {
    throw packRefusal(source, `${path}: ${why}`)
  }
  const checked = checkAgainst(packSchema, value)
  if (!checked.ok) throw packRefusal(source, checked.why)
  checkPlaceholders(checked.data, refuse)
  return checked.data
}

/** Reads a pack file. UserError: not there, not to be read, no JSON, or a field that is wrong. */
export async function loadPromptPack(file: string): Promise<PromptPack> {
  await readableFileSize(file, 'prompt pack')
  let value: unknown
  try {
    value = parseJson(await readFile(file, 'utf8'))
  } catch (error) {
    throw new UserError(
      {
        what: 'The prompt pack cannot be read.',
        why: `${file} is not JSON (${(error as Error).message}).`,
        next: 'Correct the file, or use the built-in pack.',
      },
      { cause: error },
    )
  }
  return parsePromptPack(value, file)
}

/** JSON with the keys of every object in order: the same text for the same pack. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, v]) => v !== undefined)
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`).join(',')}}`
}

/** SHA-256 of a pack's canonical JSON, in hex. */
export function promptPackHash(pack: PromptPack): string {
  return createHash('sha256').update(canonical(pack), 'utf8').digest('hex')
}

/** The pack that comes with the program. */
export const builtInPack: PromptPack = parsePromptPack(builtIn, 'the built-in pack')
