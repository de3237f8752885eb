/**
 * Where a job spec names files: one walk over the raw spec, so that relative paths (command line), references to earlier
 * steps (pipelines) and the run's folder are all put in by the same code before the spec is checked.
 */
import path from 'node:path'

/** Fields of job-spec.ts that hold a path, wherever they stand. */
const pathFields = new Set(['model', 'innerLink', 'outerLinks', 'startFrom', 'file', 'promptPack', 'cache', 'output'])

const linkFields = new Set(['innerLink', 'outerLinks', 'startFrom'])

/** The same spec with every path replaced by what `map` makes of it. Values that are not text are left for the schema to refuse. */
export function mapSpecPaths(spec: unknown, map: (value: string, field: string) => string): unknown {
  if (Array.isArray(spec)) return spec.map((item) => mapSpecPaths(item, map))
  if (spec === null || typeof spec !== 'object') return spec
  return Object.fromEntries(
    Object.entries(spec).map(([key, value]) => [
      key,
      pathFields.has(key) && typeof value === 'string' && value !== '' ? map(value, key) : mapSpecPaths(value, map),
    ]),
  )
}

/** The link checkpoints that a spec names. */
export function linkPaths(spec: unknown): string[] {
  const found: string[] = []
  mapSpecPaths(spec, (value, field) => {
    if (linkFields.has(field)) found.push(value)
    return value
  })
  return found
}

/** Relative paths become absolute from `folder`. */
export function absoluteSpecPaths(spec: unknown, folder: string): unknown {
  return mapSpecPaths(spec, (value) => path.resolve(folder, value))
}
