/** The app's one window: made hidden, shown when its page is drawn, with the size and place that it had. */
import { BrowserWindow, nativeTheme, screen, type Rectangle } from 'electron'
import { windowPlace, type Settings } from '../system/settings-store'
import { pageAddress } from './page-files'

type Place = NonNullable<Settings['window']>

export interface WindowOptions {
  readonly title: string
  readonly preload: string
  readonly icon: string | undefined
  readonly place: Settings['window']
  readonly onPlace: (place: Place) => void
}

export function openMainWindow({ title, preload, icon, place, onPlace }: WindowOptions): BrowserWindow {
  const window = new BrowserWindow({
    title,
    show: false,
    width: 1280,
    height: 840,
    minWidth: 800,
    minHeight: 560,
    ...visiblePlace(place),
    ...(icon ? { icon } : {}),
    autoHideMenuBar: true,
    backgroundColor: backgroundColour(),
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      spellcheck: false,
      // Charts of a run go on being drawn while the window is covered.
      backgroundThrottling: false,
    },
  })
  if (place?.maximized) window.maximize()
  window.once('ready-to-show', () => window.show())
  window.on('page-title-updated', (event) => event.preventDefault())
  keepPlace(window, onPlace)
  // How it failed is told by did-fail-load.
  window.loadURL(pageAddress).catch(() => undefined)
  return window
}

/** What is seen before the page is: no white flash in the dark. */
export function backgroundColour(): string {
  return nativeTheme.shouldUseDarkColors ? '#16181d' : '#ffffff'
}

/** Tells of a new place when the window has come to rest, and at the latest when it is gone. */
function keepPlace(window: BrowserWindow, onPlace: (place: Place) => void): void {
  let pending: Place | null = null
  let timer: NodeJS.Timeout | undefined
  const tell = (): void => {
    clearTimeout(timer)
    if (pending) onPlace(pending)
    pending = null
  }
  const note = (): void => {
    if (window.isMinimized()) return
    pending = windowPlace(window.getNormalBounds(), window.isMaximized())
    clearTimeout(timer)
    timer = setTimeout(tell, 500)
  }
  window.on('resize', note)
  window.on('move', note)
  window.on('closed', tell)
}

/** The remembered place, moved back onto a screen when the screen it was on is gone. */
function visiblePlace(place: Place | null): Partial<Rectangle> {
  if (!place) return {}
  const { x, y, width, height } = place
  if (x === undefined || y === undefined) return { width, height }
  const { workArea } = screen.getDisplayMatching({ x, y, width, height })
  const visible =
    x < workArea.x + workArea.width - 100 &&
    x + width > workArea.x + 100 &&
    y >= workArea.y - 10 &&
    y < workArea.y + workArea.height - 50
  return visible
    ? { x, y, width, height }
    : { width: Math.min(width, workArea.width), height: Math.min(height, workArea.height) }
}
