/**
 * The main process: one instance, one window, one studio. Owns the life of the app: closing the window with a run going leaves
 * main and the run alive, a second start shows the window again; without a run the app ends with its window.
 */
import { existsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { app, BrowserWindow, dialog, ipcMain, nativeTheme, protocol, shell } from 'electron'
import { eventChannel, requestChannel } from './bridge/channels'
import type { EventName, EventPayload, SettingsView, SystemInfo } from './bridge/contract'
import { createHandlers } from './bridge/handlers'
import { answer, errorForPage } from './bridge/serve'
import { UserError } from './engine/errors'
import { makeFolder } from './engine/formats/make-folder'
import { hubAddress, publicHub } from './hub/address'
import { engineFlags } from './engine/memory/runtime-share'
import { utilitySpawner } from './jobs/spawn-utility'
import { openSecrets } from './secrets/secrets'
import { Studio } from './studio'
import { AppLog } from './system/app-log'
import { SystemProbe } from './system/probes'
import { Problems } from './system/problems'
import { SettingsStore } from './system/settings-store'
import { guardPages, guardSession } from './window/guard'
import { backgroundColour, openMainWindow } from './window/main-window'
import { setMenu } from './window/menu'
import { isOwnPage, pageFile, pageScheme } from './window/page-files'

const title = 'RecursiveMAS Studio'
/** Milliseconds that running jobs get for a last checkpoint when the app ends. */
const quitGrace = 15_000
/** A page whose process goes away is loaded again so many times in a minute; then something is wrong that this does not mend. */
const mostReloads = 3

const here = path.dirname(fileURLToPath(import.meta.url))
const pageFolder = path.join(here, '..', 'renderer')
/** Read-only files that come with the app. */
const nativeAssets = app.isPackaged
  ? path.join(process.resourcesPath, 'native-assets')
  : path.join(here, '..', '..', 'native-assets')

let studio: Studio
/** Fulfilled when the workspace is open; what the page asks before waits for it. */
let started: Promise<void>
let log: AppLog | undefined
let settings: SettingsStore
let window: BrowserWindow | null = null
let quitting = false
/** Everything that is to be written before the end is written. */
let settled = false
/** The app was started once more while it was ending. */
let wantedAgain = false
let reloads: number[] = []
const problems = new Problems()
/** What went wrong before there was a log. */
let unlogged: unknown[] = []
const probe = new SystemProbe()
const secrets = openSecrets()

app.setName(title)
protocol.registerSchemesAsPrivileged([
  { scheme: pageScheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
])
process.on('uncaughtException', noteProblem)
process.on('unhandledRejection', noteProblem)

if (!app.requestSingleInstanceLock()) app.quit()
else {
  settings = new SettingsStore(path.join(app.getPath('userData'), 'settings.json'), noteProblem)
  openLog()
  nativeTheme.themeSource = settings.get().appearance
  guardPages((text) => log?.write(text))
  app.on('second-instance', () => {
    if (quitting) wantedAgain = true
    else showWindow()
  })
  app.on('activate', showWindow)
  app.on('window-all-closed', () => {
    if (!studio?.queue.busy) app.quit()
  })
  app.on('before-quit', beforeQuit)
  void app.whenReady().then(ready).catch(giveUp)
}

function ready(): void {
  guardSession()
  protocol.handle(pageScheme, (request) => pageFile(pageFolder, request.url))
  setMenu(app.isPackaged)
  // Chromium's own handlers go after the first signal, and the second one would end the app without its last checkpoint.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => app.quit())
  studio = createStudio(workspaceFolder())
  started = startStudio()
  serve()
  showWindow()
  nativeTheme.on('updated', () => {
    window?.setBackgroundColor(backgroundColour())
    sendSettings()
  })
  setInterval(() => void sendUsage(), 2000)
  log?.write(`started ${title} ${app.getVersion()} on Electron ${process.versions.electron}`)
}

/** Nothing can be shown: says so and lets the next start try. */
function giveUp(error: unknown): void {
  log?.write('the app cannot be shown', error)
  const { what, why, next } = errorForPage(error)
  dialog.showErrorBox(`${title} cannot start`, `${what}\n${why}\n${next}`)
  app.quit()
}

function openLog(): void {
  log = new AppLog(path.join(workspaceFolder(), 'logs'))
  for (const error of unlogged) log.write('problem', error)
  unlogged = []
}

function createStudio(workspace: string): Studio {
  return new Studio({
    workspace,
    demo: {
      folder: path.join(nativeAssets, 'demo'),
      // The short pipeline is for tests of the app itself: it shows that everything works, not what it can do.
      pipeline: !app.isPackaged && process.env.STUDIO_DEMO === 'short' ? 'pipeline.short.json' : 'pipeline.json',
    },
    spawn: utilitySpawner(path.join(here, 'engine-process.js'), 'RecursiveMAS engine', engineFlags),
    secrets,
    hubEndpoint: () => (process.env.HF_ENDPOINT ? undefined : (settings.get().hubEndpoint ?? undefined)),
    spawnData: utilitySpawner(path.join(here, 'data-process.js'), 'RecursiveMAS data'),
    onOutput: (text) => log?.write(`data process: ${text.trimEnd()}`),
    send,
    onIdle: () => {
      if (!window && !quitting) app.quit()
    },
    onProblem: noteProblem,
  })
}

/** Problems are shown by the page; the app lives on, so that another workspace can be chosen. */
async function startStudio(): Promise<void> {
  try {
    await studio.start()
    await studio.openDemo()
  } catch (error) {
    log?.write('the workspace could not be opened', error)
    problems.add(errorForPage(error))
  }
}

function serve(): void {
  const handlers = createHandlers(() => studio, {
    info: () => ({
      name: title,
      version: app.getVersion(),
      electron: process.versions.electron,
      chrome: process.versions.chrome,
      node: process.versions.node,
      platform: `${os.type()} ${os.release()} ${os.arch()}`,
      packaged: app.isPackaged,
      problems: problems.list,
    }),
    dismissProblem: (problem) => problems.dismiss(problem),
    reveal: async (folder) => {
      makeFolder(folder)
      const problem = await shell.openPath(folder)
      if (problem) throw new Error(problem)
    },
    openPage: (address) => shell.openExternal(address),
    settings: settingsView,
    setAppearance: (appearance) => {
      nativeTheme.themeSource = appearance
      void settings.update({ appearance })
      sendSettings()
      return settingsView()
    },
    setHub: (endpoint) => {
      if (process.env.HF_ENDPOINT)
        throw new UserError({
          what: 'The hub address was not changed.',
          why: 'HF_ENDPOINT names it.',
          next: 'Start the app without that variable.',
        })
      void settings.update({ hubEndpoint: endpoint === null ? null : hubAddress(endpoint) })
      sendSettings()
      return settingsView()
    },
    remember: (key, value) => {
      const { [key]: _, ...others } = settings.get().view
      void settings.update({ view: value === null ? others : { ...others, [key]: value } })
    },
    chooseFolder: (dialogTitle) => chooseFolder(dialogTitle, app.getPath('documents')),
    chooseFile,
    chooseNewFile,
    chooseWorkspace,
    system: systemInfo,
    report: (message, stack) => log?.write(`page: ${message}\n${stack}`),
  })
  ipcMain.handle(requestChannel, async (event, name: unknown, params: unknown) => {
    // Read before any waiting: a frame that goes away meanwhile has no address any more.
    const frame = event.senderFrame
    const trusted =
      window !== null &&
      frame !== null &&
      event.sender === window.webContents &&
      frame === window.webContents.mainFrame &&
      isOwnPage(frame.url)
    await started
    return answer({ trusted, name, params }, handlers, (text, error) => log?.write(text, error))
  })
}

function showWindow(): void {
  if (!app.isReady() || !studio || quitting) return
  if (window) {
    if (window.isMinimized()) window.restore()
    window.show()
    window.focus()
    return
  }
  const icon = path.join(nativeAssets, 'icons', 'icon.png')
  window = openMainWindow({
    title,
    preload: path.join(here, 'preload.cjs'),
    icon: existsSync(icon) ? icon : undefined,
    place: settings.get().window,
    onPlace: (place) => void settings.update({ window: place }),
  })
  window.on('closed', () => (window = null))
  window.webContents.on('render-process-gone', (_event, { reason }) => {
    log?.write(`the page's process went away: ${reason}`)
    if (reason !== 'clean-exit' && !quitting) reloadPage(reason)
  })
  window.webContents.on('did-fail-load', (_event, code, text, address, isMainFrame) => {
    // -3: given up for another navigation, or refused by us.
    if (!isMainFrame || code === -3 || quitting) return
    closePage(`${address} could not be loaded (${text || code}).`)
  })
  // The page's own server answers what is missing with 404, which is no failure to Chromium.
  window.webContents.on('did-navigate', (_event, address, status) => {
    if (status >= 400 && !quitting) closePage(`${address} is missing (${status}).`)
  })
  window.webContents.on('preload-error', (_event, _file, error) => log?.write('preload failed', error))
}

function reloadPage(reason: string): void {
  const now = Date.now()
  reloads = [...reloads.filter((time) => time > now - 60_000), now]
  if (reloads.length > mostReloads) closePage(`Its process went away ${reloads.length} times in a minute (${reason}).`)
  else if (window && !window.isDestroyed()) window.webContents.reload()
}

/** A run that is going on goes on without a window. */
function closePage(why: string): void {
  log?.write(`the window is closed: ${why}`)
  reloads = []
  const next = studio.queue.busy
    ? 'The run goes on; start the app again to see it.'
    : 'Start the app again; if this comes back, install it again.'
  dialog.showErrorBox(title, `The window cannot be shown.\n${why}\n${next}`)
  window?.destroy()
}

/** Waits for what is still to be written: a last checkpoint, the window's place. */
function beforeQuit(event: Electron.Event): void {
  if (settled) return
  event.preventDefault()
  if (quitting) return
  quitting = true
  window?.hide()
  void Promise.allSettled([studio?.shutdown(quitGrace), settings.written()]).finally(() => {
    settled = true
    if (wantedAgain) app.relaunch()
    app.quit()
  })
}

function send<N extends EventName>(name: N, payload: EventPayload<N>): void {
  if (window && !window.isDestroyed() && !window.webContents.isDestroyed())
    window.webContents.send(eventChannel, name, payload)
}

function sendSettings(): void {
  send('settings/changed', { settings: settingsView(), dark: nativeTheme.shouldUseDarkColors })
}

async function sendUsage(): Promise<void> {
  if (window?.isVisible() && !window.isMinimized()) send('system/usage', { system: await systemInfo() })
}

function systemInfo(): Promise<SystemInfo> {
  return probe.read(studio.places.root, studio.queue.engineBytes)
}

function settingsView(): SettingsView {
  const { appearance, view, hubEndpoint } = settings.get()
  const fixedHub = process.env.HF_ENDPOINT
  return {
    appearance,
    view,
    workspace: workspaceFolder(),
    workspaceFixed: Boolean(process.env.STUDIO_WORKSPACE),
    hub: { endpoint: fixedHub || (hubEndpoint ?? publicHub), fixed: Boolean(fixedHub), usual: hubEndpoint === null },
  }
}

function workspaceFolder(): string {
  const fixed = process.env.STUDIO_WORKSPACE
  return path.resolve(fixed || (settings.get().workspace ?? path.join(app.getPath('home'), 'RecursiveMAS')))
}

async function chooseWorkspace(): Promise<SettingsView> {
  refuseWorkspaceChange()
  const folder = await chooseFolder('Workspace folder', workspaceFolder())
  if (folder === null || path.resolve(folder) === workspaceFolder()) return settingsView()
  // Something may have been started while the dialog was open.
  refuseWorkspaceChange()
  const next = createStudio(path.resolve(folder))
  try {
    await next.start()
    refuseWorkspaceChange()
  } catch (error) {
    await next.shutdown(0)
    throw error
  }
  await studio.shutdown(0)
  await settings.update({ workspace: folder })
  problems.clear()
  openLog()
  studio = next
  started = startStudio()
  await started
  sendSettings()
  send('projects/changed', {})
  return settingsView()
}

async function chooseFile(dialogTitle: string, kinds: Electron.FileFilter): Promise<string | null> {
  const options: Electron.OpenDialogOptions = {
    title: dialogTitle,
    filters: [kinds, { name: 'All files', extensions: ['*'] }],
    properties: ['openFile'],
  }
  const { canceled, filePaths } = await (window
    ? dialog.showOpenDialog(window, options)
    : dialog.showOpenDialog(options))
  return canceled ? null : (filePaths[0] ?? null)
}

async function chooseNewFile(dialogTitle: string, name: string, kinds: Electron.FileFilter): Promise<string | null> {
  const options: Electron.SaveDialogOptions = {
    title: dialogTitle,
    defaultPath: path.join(app.getPath('documents'), path.basename(name)),
    filters: [kinds],
    properties: ['showOverwriteConfirmation', 'createDirectory'],
  }
  const { canceled, filePath } = await (window
    ? dialog.showSaveDialog(window, options)
    : dialog.showSaveDialog(options))
  return canceled || filePath === '' ? null : filePath
}

async function chooseFolder(dialogTitle: string, from: string): Promise<string | null> {
  const options: Electron.OpenDialogOptions = {
    title: dialogTitle,
    defaultPath: from,
    properties: ['openDirectory', 'createDirectory'],
  }
  const { canceled, filePaths } = await (window
    ? dialog.showOpenDialog(window, options)
    : dialog.showOpenDialog(options))
  return canceled ? null : (filePaths[0] ?? null)
}

function refuseWorkspaceChange(): void {
  const what = 'The workspace cannot be changed now.'
  if (process.env.STUDIO_WORKSPACE)
    throw new UserError({
      what,
      why: 'STUDIO_WORKSPACE names it.',
      next: 'Start the app without that variable.',
    })
  if (studio.queue.busy)
    throw new UserError({ what, why: 'A run is going on in it.', next: 'Stop the run or wait until it ends.' })
}

function noteProblem(error: unknown): void {
  if (log) log.write('problem', error)
  else unlogged.push(error)
  const problem = errorForPage(error)
  problems.add(problem)
  send('notice', { level: 'error', error: problem })
}
