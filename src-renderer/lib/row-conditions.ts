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
