/** An order of rows in words, for whoever reads later how a set was made. */
import type { ColumnView, RowCondition, RowOrderRequest } from '../bridge/contract'

/** '' where it is every row in the file's order. */
export function orderInWords(by: Partial<RowOrderRequest>, columns: readonly Pick<ColumnView, 'name'>[]): string {
  const name = (column: number): string => `"${columns[column]?.name ?? column}"`
  const parts = (by.filter ?? []).map((condition) => conditionInWords(condition, name(condition.column)))
  if (by.search) parts.push(`with ${JSON.stringify(by.search.text)}${by.search.matchCase ? ' (matching case)' : ''}`)
  const sort = (by.sort ?? []).map(({ column, descending }) => `${name(column)}${descending ? ' (descending)' : ''}`)
  return [
    ...(parts.length > 0 ? [`rows ${parts.join(' and ')}`] : []),
    ...(sort.length > 0 ? [`sorted by ${sort.join(', then ')}`] : []),
  ].join(', ')
}

const comparisons = {
  is: 'is',
  'is-not': 'is not',
  contains: 'contains',
  'contains-not': 'does not contain',
  less: 'is less than',
  more: 'is more than',
} as const

function conditionInWords(condition: RowCondition, name: string): string {
  switch (condition.kind) {
    case 'null':
      return `where ${name} is null`
    case 'not-null':
      return `where ${name} is not null`
    case 'blank':
      return `where ${name} is blank`
    default:
      return `where ${name} ${comparisons[condition.kind]} ${JSON.stringify(condition.value)}`
  }
}
