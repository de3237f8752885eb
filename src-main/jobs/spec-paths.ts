/** Relative paths of a job spec, as the command line takes them. */
import path from 'node:path'
import { mapSpecPaths } from '../engine/spec-paths'

/** Relative paths become absolute from `folder`. */
export function absoluteSpecPaths(spec: unknown, folder: string): unknown {
  return mapSpecPaths(spec, (value) => path.resolve(folder, value))
}
