// Runs a program (the e2e tests) in a desktop session without a desktop: a session bus, a virtual display and an unlocked,
// throw-away key store. Linux only. (dbus-run-session is no help: when it is ended, all that it started lives on.)
//   node scripts/e2e-session.mjs PROGRAM ARGUMENTS...
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const home = mkdtempSync(path.join(os.tmpdir(), 'studio-session-'))
const own = Object.fromEntries(
  ['XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_RUNTIME_DIR'].map((name) => [
    name,
    path.join(home, name.toLowerCase()),
  ]),
)
for (const folder of Object.values(own)) mkdirSync(folder, { mode: 0o700 })
const env = { ...process.env, ...own }
/** @type {import('node:child_process').ChildProcess[]} */
const helpers = []

// The program is told, and what was started here is ended when the program has. Ctrl-C reaches the program by itself.
let stopped = false
process.on('SIGTERM', () => (stopped = true))
process.on('SIGINT', () => {})

/**
 * Starts a helper of the session; `ended` rejects when it does not start or stops by itself.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
function startHelper(command, args, options) {
  const child = spawn(command, args, options)
  const ended = new Promise((_, reject) => {
    child.on('error', (error) => reject(new Error(`${command} did not start: ${error.message}`)))
    child.on('exit', (code) => reject(new Error(`${command} ended with exit code ${code}`)))
  })
  // Only of interest while somebody waits for the helper.
  ended.catch(() => undefined)
  helpers.push(child)
  return { child, ended }
}

/**
 * What a stream says up to its first line end.
 * @param {import('node:stream').Readable} stream
 */
function firstLine(stream) {
  return new Promise((resolve) => {
    let text = ''
    stream.on('data', (data) => {
      text += data
      if (text.includes('\n')) resolve(text.split('\n')[0])
    })
  })
}

/**
 * Resolves when the session bus has an owner for `name`; an error after 20 s.
 * @param {string} name
 */
async function onTheBus(name) {
  const question = [
    '--session',
    '--print-reply',
    '--dest=org.freedesktop.DBus',
    '/org/freedesktop/DBus',
    'org.freedesktop.DBus.NameHasOwner',
    `string:${name}`,
  ]
  for (let tries = 0; tries < 200; tries += 1) {
    if (spawnSync('dbus-send', question, { env, encoding: 'utf8' }).stdout?.includes('true')) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`nothing answers as ${name} on the session bus`)
}

/**
 * Starts a helper that says on its file descriptor 3 where it can be reached; returns that.
 * @param {string} command
 * @param {string[]} args
 */
async function startAndAsk(command, args) {
  const { child, ended } = startHelper(command, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  return Promise.race([firstLine(/** @type {import('node:stream').Readable} */ (child.stdio[3])), ended])
}

async function startBus() {
  env.DBUS_SESSION_BUS_ADDRESS = await startAndAsk('dbus-daemon', ['--session', '--nofork', '--print-address=3'])
}

async function startDisplay() {
  const screen = ['-screen', '0', '1600x1000x24', '-nolisten', 'tcp']
  env.DISPLAY = `:${await startAndAsk('Xvfb', ['-displayfd', '3', ...screen])}`
  delete env.WAYLAND_DISPLAY
}

async function startKeyStore() {
  // A copy has no file capabilities: with them, machines that withhold CAP_IPC_LOCK (containers) refuse to start it.
  const program = path.join(home, 'gnome-keyring-daemon')
  copyFileSync('/usr/bin/gnome-keyring-daemon', program)
  chmodSync(program, 0o700)
  const { child, ended } = startHelper(program, ['--foreground', '--unlock', '--components=secrets'], {
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin?.end('tests\n')
  await Promise.race([onTheBus('org.freedesktop.secrets'), ended])
}

/**
 * @param {string[]} program
 * @returns {Promise<number>} exit code
 */
async function runProgram(program) {
  const [command, ...args] = program
  const child = spawn(command, args, { env, stdio: 'inherit' })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  if (stopped) child.kill('SIGTERM')
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 128))
  })
}

try {
  await startBus()
  await startDisplay()
  await startKeyStore()
  process.exitCode = await runProgram(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`The test session could not be started: ${/** @type {Error} */ (error).message}\n`)
  process.exitCode = 1
} finally {
  for (const child of helpers) child.kill()
  rmSync(home, { recursive: true, force: true })
}
