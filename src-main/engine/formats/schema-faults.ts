/** What a schema finds wrong with a value, in sentences: where it stands, what was found, what is allowed. */
import type { z } from 'zod'
import { parseJson } from './json-text'
import { nearest } from './nearest'

export type Checked<T> = { readonly ok: true; readonly data: T } | { readonly ok: false; readonly why: string }

/** Faults told at once. */
const told = 3

/** What the schema makes of a value, or its first faults (without a full stop). `whole`: what the value itself is called. */
export function checkAgainst<T extends z.ZodType>(schema: T, value: unknown, whole = 'the file'): Checked<z.output<T>> {
  const checked = schema.safeParse(value, { error: words })
  if (checked.success) return { ok: true, data: checked.data }
  const faults = checked.error.issues.flatMap((issue) => leaves(issue, []))
  // a name that is not known often explains one that is missing
  faults.sort((a, b) => Number(b.unknownName) - Number(a.unknownName))
  const shown = faults.slice(0, told).map(({ path, message }) => `${path.join('.') || whole}: ${message}`)
  const rest = faults.length - shown.length
  return { ok: false, why: `${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}` }
}

/** The same of a text that should be JSON. */
export function checkJson<T extends z.ZodType>(schema: T, text: string, whole?: string): Checked<z.output<T>> {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    return { ok: false, why: `it is not JSON (${(error as Error).message})` }
  }
  return checkAgainst(schema, value, whole)
}

interface Leaf {
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly unknownName: boolean
}

type Issue = z.core.$ZodIssue
type RawIssue = z.core.$ZodRawIssue

/** The faults of an issue: of a choice between forms those of the form that was meant. */
function leaves(issue: Issue, above: readonly PropertyKey[]): Leaf[] {
  const path = [...above, ...issue.path]
  const meant = issue.code === 'invalid_union' ? formMeant(issue.errors) : null
  if (meant !== null) return meant.flatMap((inner) => leaves(inner, path))
  return [{ path, message: issue.message, unknownName: issue.code === 'unrecognized_keys' }]
}

/** Of the forms that a value of this kind may have the one whose faults lie deepest, then the one with fewest; null where it is of another kind. */
function formMeant(forms: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const ofThisKind = forms.filter((issues) => !issues.some((i) => i.code === 'invalid_type' && i.path.length === 0))
  const depth = (issues: readonly Issue[]) => Math.max(...issues.map((i) => i.path.length))
  return [...ofThisKind].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? null
}

/** The sentence of an issue, for zod; undefined: zod's own (messages that a schema gives itself go before either). */
function words(issue: RawIssue): string | undefined {
  const { input } = issue
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownNames(issue.keys, namesOf(issue.inst))
    case 'invalid_type':
      return notA(input, kindWords(issue.expected))
    case 'invalid_value':
      return noneOf(input, issue.values)
    case 'invalid_union':
      if (issue.discriminator !== undefined)
        return noneOf((input as Record<string, unknown>)[issue.discriminator], optionsOf(issue.options))
      return notA(input, kindsOf(issue.errors).map(kindWords).filter(isFirst).join(' or '))
    case 'too_small':
    case 'too_big':
      return outside(issue)
    case 'invalid_format':
      return `${found(input)} does not fit ${issue.pattern ?? issue.format}`
    case 'invalid_key':
      return `${found(input)} cannot be a name here (${issue.issues.map((i) => i.message).join(', ')})`
    default:
      return undefined
  }
}

function unknownNames(names: readonly string[], known: readonly string[]): string {
  return names
    .map((name) => {
      const meant = nearest(name, known)
      const hint = meant !== null ? `did you mean "${meant}"?` : `known are ${known.join(', ')}`
      return `there is no ${JSON.stringify(name)} here (${hint})`
    })
    .join(', ')
}

const optionsOf = (options: unknown): readonly unknown[] => (Array.isArray(options) ? options : [])

function namesOf(schema: unknown): string[] {
  const { shape } = (schema as { readonly _zod: { readonly def: { readonly shape?: object } } })._zod.def
  return Object.keys(shape ?? {})
}

function notA(input: unknown, wanted: string): string {
  return input === undefined ? `missing (${wanted} is needed)` : `${found(input)} is not ${wanted}`
}

function noneOf(input: unknown, allowed: readonly unknown[]): string {
  const list = allowed.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(', ')
  const only = allowed.length === 1
  if (input === undefined) return `missing (${only ? `"${list}"` : `one of ${list}`} is needed)`
  return only ? `${found(input)} is not "${list}"` : `${found(input)} is none of ${list}`
}

function outside(issue: Extract<RawIssue, { code: 'too_small' | 'too_big' }>): string {
  const { origin, input } = issue
  const small = issue.code === 'too_small'
  const bound = small ? issue.minimum : issue.maximum
  const limit = issue.inclusive === false ? (small ? 'more than' : 'less than') : small ? 'at least' : 'at most'
  const size = `${limit} ${bound}`
  if (origin === 'string')
    return input === ''
      ? 'the text is empty'
      : `${found(input)} is too ${small ? 'short' : 'long'} (${size} characters)`
  if (origin === 'array')
    return Array.isArray(input) && input.length === 0
      ? 'the list is empty'
      : `the list is too ${small ? 'short' : 'long'} (${size} entries)`
  return `${found(input)} is too ${small ? 'small' : 'large'} (${size})`
}

function kindsOf(forms: readonly (readonly Issue[])[]): string[] {
  return forms.flatMap((issues) => issues.flatMap((i) => (i.code === 'invalid_type' ? [i.expected] : [])))
}

const kinds: Readonly<Record<string, string | undefined>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const kindWords = (expected: string): string => kinds[expected] ?? expected

const isFirst = <T>(item: T, at: number, all: readonly T[]): boolean => all.indexOf(item) === at

/** A value as a message shows it. */
function found(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
