/** The columns of the model library: what stands in them, and the order that each one gives. */
import type { ModelView } from '../../src-main/bridge/contract'
import { formatBytes, formatCount } from './format'
import { fitWords, formatRough, modelStateWords } from './model-words'

export type ModelColumnName =
  'name' | 'family' | 'parameters' | 'width' | 'dtype' | 'size' | 'licence' | 'users' | 'state' | 'fit'

export interface ModelColumn {
  readonly name: ModelColumnName
  readonly title: string
  readonly numeric: boolean
  /** null = not known. */
  readonly text: (model: ModelView) => string | null
  /** What it is sorted by; null comes last either way. */
  readonly value: (model: ModelView) => string | number | null
}

const orDash = <T>(value: T | null, text: (value: T) => string): string | null => (value === null ? null : text(value))
const titlesOf = ({ usedBy }: ModelView): string => usedBy.map(({ title }) => title).join(', ')
const lower = (text: string | null): string | null => text?.toLowerCase() ?? null

export const modelColumns: readonly ModelColumn[] = [
  { name: 'name', title: 'Name', numeric: false, text: (m) => m.name, value: (m) => lower(m.name) },
  { name: 'family', title: 'Family', numeric: false, text: (m) => m.modelType, value: (m) => lower(m.modelType) },
  {
    name: 'parameters',
    title: 'Parameters',
    numeric: true,
    text: (m) => orDash(m.parameters, formatRough),
    value: (m) => m.parameters,
  },
  {
    name: 'width',
    title: 'Width',
    numeric: true,
    text: (m) => orDash(m.hiddenSize, formatCount),
    value: (m) => m.hiddenSize,
  },
  {
    name: 'dtype',
    title: 'Numbers',
    numeric: false,
    text: (m) => m.dtypes.join(', ') || null,
    value: (m) => m.dtypes.join() || null,
  },
  { name: 'size', title: 'Size', numeric: true, text: (m) => formatBytes(m.bytes), value: (m) => m.bytes },
  { name: 'licence', title: 'Licence', numeric: false, text: (m) => m.licence, value: (m) => lower(m.licence) },
  {
    name: 'users',
    title: 'Used by',
    numeric: false,
    text: (m) => titlesOf(m) || null,
    value: (m) => lower(titlesOf(m) || null),
  },
  {
    name: 'state',
    title: 'State',
    numeric: false,
    text: (m) => modelStateWords[m.state].word,
    value: (m) => ['ready', 'incomplete', 'unusable'].indexOf(m.state),
  },
  {
    name: 'fit',
    title: 'Fits here',
    numeric: false,
    text: (m) => orDash(m.fit, ({ verdict }) => fitWords[verdict].word),
    value: (m) => m.fit?.total ?? null,
  },
]

export interface ModelOrder {
  readonly by: ModelColumnName
  readonly down: boolean
}

export function isModelOrder(value: unknown): value is ModelOrder {
  if (typeof value !== 'object' || value === null) return false
  const { by, down } = value as Record<string, unknown>
  return modelColumns.some(({ name }) => name === by) && typeof down === 'boolean'
}

/** Equal ones by name; what is not known comes last in both directions. */
export function sortModels(models: readonly ModelView[], { by, down }: ModelOrder): ModelView[] {
  const value = modelColumns.find(({ name }) => name === by)!.value
  const sign = down ? -1 : 1
  return models.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)]
    if (x === null || y === null) return Number(x === null) - Number(y === null) || a.name.localeCompare(b.name)
    if (x === y) return a.name.localeCompare(b.name)
    return sign * (typeof x === 'string' ? x.localeCompare(String(y)) : x - Number(y))
  })
}
