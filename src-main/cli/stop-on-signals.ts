/** Ctrl-C at a terminal: the first asks a job to stop at a step boundary, the second ends the process. */

/** Exit code as a shell gives it to what a signal ended. */
export const stoppedCode = 130

/** The first signal, or a reader that has gone away, asks to stop. The handlers then go, so that a second signal ends the process. */
export function stopOnSignals(): { signal: AbortSignal; restore: () => void } {
  const controller = new AbortController()
  const signals = ['SIGINT', 'SIGTERM'] as const
  const restore = (): void => signals.forEach((name) => process.off(name, stop))
  const stop = (): void => {
    restore()
    process.stderr.write('\nStopping at the next step boundary; again to end at once.\n')
    controller.abort()
  }
  signals.forEach((name) => process.on(name, stop))
  process.stdout.on('error', () => controller.abort())
  return { signal: controller.signal, restore }
}
