/** What no page of this app may do, set once for every page that could ever exist: leave, open, embed, ask for a device. */
import { app, session } from 'electron'
import { isOwnPage } from './page-files'

export function guardPages(log: (text: string) => void): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.on('will-navigate', (event) => {
      // A reload is a navigation to where the page is.
      if (isOwnPage(event.url) && event.url === contents.getURL()) return
      log(`refused to go to ${event.url}`)
      event.preventDefault()
    })
    contents.on('will-redirect', (event) => event.preventDefault())
    contents.on('will-attach-webview', (event) => event.preventDefault())
    contents.setWindowOpenHandler(({ url }) => {
      log(`refused to open ${url}`)
      return { action: 'deny' }
    })
  })
}

/** Call when the app is ready. */
export function guardSession(): void {
  const { defaultSession } = session
  // A chart copied as text or picture is the one thing that the page may ask for.
  defaultSession.setPermissionRequestHandler((contents, permission, answer) =>
    answer(permission === 'clipboard-sanitized-write' && isOwnPage(contents.getURL())),
  )
  defaultSession.setPermissionCheckHandler(
    (_contents, permission, origin) =>
      permission === 'clipboard-sanitized-write' && isOwnPage(`${origin.replace(/\/$/, '')}/`),
  )
  defaultSession.setDevicePermissionHandler(() => false)
  // The page is local: whatever else it might try to fetch is an error of ours or an attack.
  defaultSession.webRequest.onBeforeRequest((details, answer) =>
    answer({ cancel: !/^(app|devtools|blob|data):/.test(details.url) }),
  )
}
