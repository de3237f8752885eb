/** Filters and sorts of rows, as a person sees and changes them. */
import type { ColumnView, RowCondition, RowOrderRequest } from '../../src-main/bridge/contract'

export type Sort = NonNullable<RowOrderRequest['sort']>[number]

export const conditionWords: Readonly<Record<RowCondition['kind'], string>> = {
  contains: 'contains',
  'contains-not': 'does not contain',
  is: 'is',
  'is-not': 'is not',
  less: 'is less than',
  more: 'is more than',
  null: 'is null',
  'not-null': 'is not null',
  blank: 'is blank',
}

export const conditionKinds = Object.keys(conditionWords) as RowCondition['kind'][]

/** Conditions that compare with something. */
export function takesValue(kind: RowCondition['kind']): kind is Extract<RowCondition, { value: string }>['kind'] {
  return kind !== 'null' && kind !== 'not-null' && kind !== 'blank'
}

export function makeCondition(column: number, kind: RowCondition['kind'], value: string): RowCondition {
  return takesValue(kind) ? { column, kind, value } : { column, kind }
}

export function conditionInWords(condition: RowCondition, columns: readonly Pick<ColumnView, 'name'>[]): string {
  const head = `${columns[condition.column]?.name ?? '?'} ${conditionWords[condition.kind]}`
  return 'value' in condition ? `${head} “${condition.value}”` : head
}

/**
 * What a click on a column's head makes of the sorts: ascending, descending, none. With `more` other columns keep their place,
 * otherwise they go.
 */
export function toggleSort(sorts: readonly Sort[], column: number, more: boolean): Sort[] {
  const at = sorts.findIndex((sort) => sort.column === column)
  const next: Sort | undefined =
    at < 0 ? { column, descending: false } : sorts[at].descending ? undefined : { column, descending: true }
  if (!more) return next ? [next] : []
  if (at < 0) return next ? [...sorts, next].slice(-8) : [...sorts]
  return sorts.flatMap((sort, i) => (i === at ? (next ? [next] : []) : [sort]))
}

/** Nothing is asked: every row, in the file's order. */
export function isPlain({ filter, search, sort }: RowOrderRequest): boolean {
  return filter.length === 0 && search === null && sort.length === 0
}

export const plainOrder: RowOrderRequest = { filter: [], search: null, sort: [] }

/** A request with columns by their names, as it is kept for another day. */
export interface NamedRequest {
  readonly filter: readonly { readonly column: string; readonly kind: RowCondition['kind']; readonly value: string }[]
  readonly search: { readonly text: string; readonly matchCase: boolean } | null
  readonly sort: readonly { readonly column: string; readonly descending: boolean }[]
}

type Columns = readonly Pick<ColumnView, 'name'>[]

export function namedRequest({ filter, search, sort }: RowOrderRequest, columns: Columns): NamedRequest {
  return {
    filter: filter.map((condition) => ({
      column: columns[condition.column].name,
      kind: condition.kind,
      value: 'value' in condition ? condition.value : '',
    })),
    search,
    sort: sort.map(({ column, descending }) => ({ column: columns[column].name, descending })),
  }
}

/** What stands on columns that are not there goes. */
export function requestOf({ filter, search, sort }: NamedRequest, columns: Columns): RowOrderRequest {
  const placeOf = (name: string): number => columns.findIndex((column) => column.name === name)
  return {
    filter: filter.flatMap(({ column, kind, value }) =>
      placeOf(column) < 0 ? [] : [makeCondition(placeOf(column), kind, value)],
    ),
    search,
    sort: sort.flatMap(({ column, descending }) =>
      placeOf(column) < 0 ? [] : [{ column: placeOf(column), descending }],
    ),
  }
}

export function isNamedRequest(value: unknown): value is NamedRequest {
  if (typeof value !== 'object' || value === null) return false
  const { filter, search, sort } = value as Record<string, unknown>
  return (
    isListOf(filter, { column: 'string', kind: 'string', value: 'string' }) &&
    filter.every(({ kind }) => conditionKinds.some((known) => known === kind)) &&
    (search === null || isListOf([search], { text: 'string', matchCase: 'boolean' })) &&
    isListOf(sort, { column: 'string', descending: 'boolean' })
  )
}

function isListOf<Field extends string>(
  value: unknown,
  fields: Readonly<Record<Field, 'string' | 'boolean'>>,
): value is Record<Field, unknown>[] {
  const isOne = (one: unknown): boolean =>
    typeof one === 'object' &&
    one !== null &&
    Object.entries(fields).every(([field, type]) => typeof (one as Record<string, unknown>)[field] === type)
  return Array.isArray(value) && value.every(isOne)
}
