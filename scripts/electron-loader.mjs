// Runs inside the substitute Electron, as its resources/app: `electron FOLDER` loads the application in FOLDER, as the
// official runtime's default_app does. (Copied there by electron-runtime.mjs.)
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import * as electron from 'electron'

/**
 * What Electron offers to its own default_app, beside what its types say.
 * @type {Electron.App & { setAppPath(folder: string): void, setVersion(version: string): void }}
 */
const app = /** @type {any} */ (electron).app

const named = process.argv.slice(1).find((argument) => !argument.startsWith('-'))
const folder = path.resolve(named ?? '.')
const file = path.join(folder, 'package.json')
if (!existsSync(file)) {
  process.stderr.write(`${folder} holds no application (no package.json)\n`)
  app.exit(1)
} else {
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  app.setAppPath(folder)
  app.setVersion(manifest.version)
  app.setName(manifest.productName ?? manifest.name)
  Object.assign(process, { defaultApp: true })
  await import(pathToFileURL(path.join(folder, manifest.main)).href)
}
