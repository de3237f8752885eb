/** Errors that nothing caught are defects of ours: main's log gets them, and the person is told once. */
import { asError } from './bridge'
import { noticeManager } from './notice-manager.svelte'

export function reportDefects(): void {
  const report = (thrown: unknown): void => {
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
    // Where even this fails there is nobody left to tell, and an unhandled rejection would come back here for ever.
    window.studio
      .request('app/report', { message: message.slice(0, 4000), stack: stack.slice(0, 20000) })
      .catch(() => undefined)
    noticeManager.report(asError(thrown))
  }
  window.addEventListener('error', (event) => {
    // Chromium tells of layout that settles a frame later in this way; it is no error.
    if (!event.message.startsWith('ResizeObserver loop')) report(event.error ?? event.message)
  })
  window.addEventListener('unhandledrejection', (event) => report(event.reason))
}
