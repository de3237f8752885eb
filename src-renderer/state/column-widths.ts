/** Widths of columns in px that a person chose, remembered for each data set by the columns' names. */
import { settingsManager } from './settings-manager.svelte'

type Widths = Readonly<Record<string, number>>

const key = 'datasets/widths'
/** Data sets of which widths are remembered, and columns of each: main takes 64 KiB for one key. */
const most = { sets: 20, columns: 60 }

function all(): Readonly<Record<string, Widths>> {
  return settingsManager.recall(key, {}, isAll)
}

export function rememberedWidths(dataset: string): Widths {
  return all()[dataset] ?? {}
}

export function rememberWidth(dataset: string, column: string, width: number): void {
  if (column.length > 100) return
  const { [dataset]: own = {}, ...others } = all()
  const { [column]: _before, ...rest } = own
  const columns = Object.entries({ ...rest, [column]: width }).slice(-most.columns)
  const sets = [...Object.entries(others), [dataset, Object.fromEntries(columns)] as const].slice(-most.sets)
  settingsManager.remember(key, Object.fromEntries(sets))
}

function isAll(value: unknown): value is Record<string, Widths> {
  return (
    isRecord(value) &&
    Object.values(value).every((widths) => isRecord(widths) && Object.values(widths).every(Number.isFinite))
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
