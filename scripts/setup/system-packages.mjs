// The Debian and Ubuntu packages that Electron and its tests need: installed by root, named to anybody else.
import { runQuiet, runShown, say, SetUpError } from './process.mjs'

/** What the window itself needs. */
export const libraries = ['libgtk-3-0', 'libnss3', 'libasound2', 'libgbm1', 'libsecret-1-0']
/** What tests need besides: a display and a key store without a desktop. */
export const tools = ['xvfb', 'xauth', 'dbus', 'gnome-keyring']

/**
 * Debian 13 and Ubuntu 24.04 renamed libraries whose time_t grew to 64 bits; both names mean the same library.
 * @param {string} name
 */
const namesOf = (name) => [name, `${name}t64`]

/**
 * From `dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n'`: the packages that are fully installed.
 * @param {string} listing
 */
export function installedPackages(listing) {
  const installed = new Set()
  for (const line of listing.split('\n')) {
    const [name, status] = line.split(/\s+/)
    if (status === 'ii' || status === 'hi') installed.add(name.split(':')[0])
  }
  return installed
}

/**
 * Those of `wanted` that are installed under neither of their names.
 * @param {string[]} wanted
 * @param {Set<string>} installed
 */
export function missingPackages(wanted, installed) {
  return wanted.filter((name) => !namesOf(name).some((one) => installed.has(one)))
}

/**
 * From `apt-cache policy A B ...`: the packages that can be installed (virtual ones have no candidate).
 * @param {string} policy
 */
export function installableFrom(policy) {
  const installable = new Set()
  let name = null
  for (const line of policy.split('\n')) {
    const head = /^(\S+):$/.exec(line)
    if (head) name = head[1]
    const candidate = /^\s+Candidate:\s+(\S+)/.exec(line)
    if (candidate && name && candidate[1] !== '(none)') installable.add(name)
  }
  return installable
}

/**
 * The name under which apt can install each package; the plain one when apt knows neither.
 * @param {string[]} missing
 * @param {Set<string>} installable
 */
export function aptNames(missing, installable) {
  return missing.map((name) => namesOf(name).find((one) => installable.has(one)) ?? name)
}

/** @param {string[]} missing */
const askApt = (missing) =>
  aptNames(
    missing,
    installableFrom(
      runQuiet('apt-cache', ['policy', ...missing.flatMap(namesOf)], { env: { ...process.env, LC_ALL: 'C' } }).stdout,
    ),
  )

/**
 * Which of `wanted` are missing on this machine; none where packages are not Debian's.
 * @param {string[]} wanted
 */
export function missingHere(wanted) {
  if (process.platform !== 'linux') return []
  const query = runQuiet('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Abbrev}\n', ...wanted.flatMap(namesOf)])
  return query.code === 127 ? [] : missingPackages(wanted, installedPackages(query.stdout))
}

const install = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300']

/**
 * Installs what is missing (root), or throws SetUpError with the line to run (anybody else).
 * @param {string[]} missing
 */
export async function installMissing(missing) {
  if (process.getuid?.() !== 0) {
    throw new SetUpError(
      `System packages are missing. Please run this line, then the command again:\n\n  sudo apt-get update && sudo apt-get install -y ${askApt(missing).join(' ')}\n`,
    )
  }
  // Not ended half-way by a signal to us: that could leave the system's package database in need of repair.
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' }, spared: true }
  say(`installing system packages: ${missing.join(', ')} ...`)
  // A failing update is no reason to stop: the lists at hand may do.
  await runShown('apt-get', ['update', '-q', '-o', 'DPkg::Lock::Timeout=300'], options)
  const names = askApt(missing)
  const code = await runShown('apt-get', ['install', '-q', ...install, ...names], options)
  if (code !== 0) {
    throw new SetUpError(
      `apt-get could not install ${names.join(', ')} (exit code ${code}); its output is above. Please install them and run the command again.`,
    )
  }
}
