/**
 * Where a job spec names files: one walk over the raw spec, so that relative paths (command line), references to earlier steps
 * (pipelines), moved folders and the run's own folder are all put in by the same code.
 */
import { sep } from 'node:path'
import { isStyleFile } from './styles/registry'

/** Fields of job-spec.ts that hold a path, wherever they stand. */
const pathFields = new Set([
  'model',
  'innerLink',
  'outerLinks',
  'startFrom',
  'system',
  'folder',
  'file',
  'promptPack',
  'cache',
  'output',
])

/** Fields that hold paths by name. */
const pathMaps = new Set(['parts'])

/** Fields that hold no paths, whatever the names in them. */
const pathless = new Set(['columns', 'linkTypes'])

const linkFields = new Set(['innerLink', 'outerLinks', 'startFrom'])

/** The same spec with every path replaced by what `map` makes of it. Values that are not text are left for the schema to refuse. */
export function mapSpecPaths(spec: unknown, map: (value: string, field: string) => string): unknown {
  return mapFields(spec, map, null)
}

/** `mapOf`: the field whose values by name these are; null: fields of a spec. */
function mapFields(spec: unknown, map: (value: string, field: string) => string, mapOf: string | null): unknown {
  if (Array.isArray(spec)) return spec.map((item) => mapFields(item, map, null))
  if (spec === null || typeof spec !== 'object') return spec
  return Object.fromEntries(
    Object.entries(spec).map(([key, value]) => {
      if (mapOf === null && pathless.has(key)) return [key, value]
      const field = mapOf ?? key
      const isPath = mapOf !== null || pathFields.has(key) || (key === 'style' && isStyleFile(value))
      if (isPath && typeof value === 'string' && value !== '') return [key, map(value, field)]
      return [key, mapFields(value, map, pathMaps.has(key) ? key : null)]
    }),
  )
}

/** Every path that a spec names. */
export function specPaths(spec: unknown): string[] {
  return collect(spec, () => true)
}

/** The link checkpoints that a spec names. */
export function linkPaths(spec: unknown): string[] {
  return collect(spec, (field) => linkFields.has(field))
}

/** The model folders that a spec names, with the role that each has. */
export function modelPaths(spec: unknown): { path: string; as: string }[] {
  if (Array.isArray(spec)) return spec.flatMap(modelPaths)
  if (spec === null || typeof spec !== 'object') return []
  const { role, model, ...others } = spec as Record<string, unknown>
  const own = typeof model === 'string' && typeof role === 'string' ? [{ path: model, as: role }] : []
  return [...own, ...Object.values(others).flatMap(modelPaths)]
}

/** The data files that a spec names. */
export function dataPaths(spec: unknown): string[] {
  return collect(spec, (field) => field === 'file')
}

/** What a run depends on and is compared by what it holds, wherever it lies: links, data, prompts, a style of one's own. */
export function contentPaths(spec: unknown): string[] {
  const compared = ['file', 'promptPack', 'style']
  return collect(spec, (field) => linkFields.has(field) || compared.includes(field))
}

function collect(spec: unknown, wanted: (field: string) => boolean): string[] {
  const found: string[] = []
  mapSpecPaths(spec, (value, field) => {
    if (wanted(field)) found.push(value)
    return value
  })
  return found
}

/** Where a path below `from` lies once `from` has become `to`; any other path as it is. */
export function moved(path: string, from: string, to: string): string {
  return path === from ? to : path.startsWith(from + sep) ? to + path.slice(from.length) : path
}
