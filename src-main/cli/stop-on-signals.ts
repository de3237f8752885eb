/** Ctrl-C at a terminal: the first asks the command to stop in good order, a later one ends the process. */

/** Exit code as a shell gives it to what a signal ended. */
export const stoppedCode = 130

/** Ctrl-C reaches the command from the terminal and once more from npm: how long after the first it counts as the same, in ms. */
const sameMs = 1000

/**
 * The first signal, or a reader that has gone away, asks to stop. The handlers then go (that of the signal itself after
 * `sameWithin` ms, during which it does nothing), so that a later signal ends the process even when it is too busy to listen.
 */
export function stopOnSignals({
  sameWithin = sameMs,
  saying = 'Stopping at the next step boundary',
}: {
  readonly sameWithin?: number
  readonly saying?: string
} = {}): { signal: AbortSignal; restore: () => void } {
  const controller = new AbortController()
  const handlers = { SIGINT: () => stop('SIGINT'), SIGTERM: () => stop('SIGTERM') }
  let repeated: NodeJS.Timeout | undefined
  const stop = (name: keyof typeof handlers): void => {
    if (repeated) return
    const other = name === 'SIGINT' ? 'SIGTERM' : 'SIGINT'
    process.off(other, handlers[other])
    repeated = setTimeout(() => process.off(name, handlers[name]), sameWithin)
    repeated.unref()
    process.stderr.write(`\n${saying}; once more, a moment later, to end at once.\n`)
    controller.abort()
  }
  const restore = (): void => {
    clearTimeout(repeated)
    process.off('SIGINT', handlers.SIGINT)
    process.off('SIGTERM', handlers.SIGTERM)
  }
  process.on('SIGINT', handlers.SIGINT)
  process.on('SIGTERM', handlers.SIGTERM)
  process.stdout.on('error', () => controller.abort())
  return { signal: controller.signal, restore }
}
