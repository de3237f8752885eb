/** Which column of the data each field of a style is read from. */
import type { ColumnView, FieldMapping, FieldView, RunUse } from '../../src-main/bridge/contract'

type Columns = readonly Pick<ColumnView, 'name'>[]

/** Columns in which a field is found by itself; the first that is not blank in a row counts. */
export function foundColumns(field: FieldView, columns: Columns): string[] {
  return field.columns.filter((name) => columns.some((column) => column.name === name))
}

/** What was chosen, without columns that this data does not have. */
export function usableMapping(mapping: FieldMapping, columns: Columns): FieldMapping {
  return Object.fromEntries(
    Object.entries(mapping).filter(([, name]) => columns.some((column) => column.name === name)),
  )
}

/** '' takes a choice back. */
export function withColumn(mapping: FieldMapping, field: string, column: string): FieldMapping {
  const { [field]: _before, ...rest } = mapping
  return column === '' ? rest : { ...rest, [field]: column }
}

/** Fields that such a run needs and that no column is known for. */
export function missingFields(
  fields: readonly FieldView[],
  use: RunUse,
  mapping: FieldMapping,
  columns: Columns,
): FieldView[] {
  const chosen = usableMapping(mapping, columns)
  return fields.filter(
    (field) => field.needed[use] && !Object.hasOwn(chosen, field.field) && foundColumns(field, columns).length === 0,
  )
}
