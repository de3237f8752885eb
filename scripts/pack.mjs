// `npm run pack`: the unpacked app for this system in release/, from the Electron runtime at hand, without any download.
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build, Platform } from 'electron-builder'
import { installedElectron } from './electron-runtime.mjs'
import { say } from './setup/process.mjs'
import { root } from './setup/set-up.mjs'

/**
 * Removes what a runtime for development holds and a packaged app must not: the application that loads ours (it would be
 * found before app.asar).
 * @param {{ appOutDir: string }} context
 */
async function removeLoader({ appOutDir }) {
  for (const name of ['app', 'default_app.asar']) {
    rmSync(path.join(appOutDir, 'resources', name), { recursive: true, force: true })
  }
}

/** Makes release/<system>-unpacked. Returns the exit code. */
export async function pack() {
  const runtime = installedElectron()
  say(`packing with Electron ${runtime.version}`)
  await build({
    projectDir: root,
    targets: Platform.current().createTarget('dir'),
    publish: 'never',
    config: {
      extends: path.join(root, 'electron-builder.yml'),
      // A folder given here is copied as it is; otherwise electron-builder downloads its own.
      electronDist: runtime.folder,
      electronVersion: runtime.version,
      afterExtract: removeLoader,
    },
  })
  const linux = path.join(root, 'release', 'linux-unpacked', 'recursivemas-studio')
  if (existsSync(linux)) process.stdout.write(`${linux}\n`)
  return 0
}
