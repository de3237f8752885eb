/** Where the embedded demo lies, seen from the built program or from the sources. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../engine/errors'

/** native-assets/demo of the nearest folder above this module that has native-assets; the demo itself may be missing. */
export function findDemoFolder(from = path.dirname(fileURLToPath(import.meta.url))): string {
  const assets = path.join(from, 'native-assets')
  if (existsSync(assets)) return path.join(assets, 'demo')
  const parent = path.dirname(from)
  if (parent !== from) return findDemoFolder(parent)
  throw new UserError({
    what: 'The embedded demo is not there.',
    why: 'No folder native-assets was found beside the program.',
    next: 'Get a complete copy of the program.',
  })
}
