/** Widths of columns in px that a person chose, remembered for each data set by the columns' names. */
import { DatasetMemory, isRecordOf } from './dataset-memory'
import { isNumber } from './settings-manager.svelte'

type Widths = Readonly<Record<string, number>>

const widths = new DatasetMemory<Widths>('datasets/column-widths', (value) => isRecordOf(value, isNumber))
/** Columns of one set. */
const most = 60

export function rememberedWidths(dataset: string): Widths {
  return widths.recall(dataset) ?? {}
}

export function rememberWidth(dataset: string, column: string, width: number): void {
  if (column.length > 100) return
  const { [column]: _before, ...rest } = rememberedWidths(dataset)
  widths.remember(dataset, Object.fromEntries([...Object.entries(rest), [column, width] as const].slice(-most)))
}
