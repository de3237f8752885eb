/** Garbage collection on demand, where memory is short. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/**
 * Arrays that a session gave out hold on to its memory until they are collected, and the collector, which sees small objects, is in no
 * hurry. Some milliseconds.
 */
export function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
