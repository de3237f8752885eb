// What `npm start`, `npm test` and `npm run ...` do: the set-up that each needs, then the command itself.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, say } from './setup/process.mjs'
import { ensure, root } from './setup/set-up.mjs'

/**
 * @typedef {import('./setup/set-up.mjs').Need} Need
 * @typedef {{ needs: Need[], run: (args: string[]) => number | Promise<number> }} Command
 * @type {Record<string, Command>}
 */
const commands = {
  start: { needs: ['dependencies', 'window', 'electron', 'build'], run: start },
  test: { needs: [], run: async (args) => (await import('./test.mjs')).runTests(args) },
  'test:large': { needs: [], run: async () => (await import('./test.mjs')).runLargeTests() },
  check: { needs: ['dependencies'], run: async () => (await import('./test.mjs')).runChecks() },
  build: { needs: ['dependencies', 'build'], run: () => 0 },
  pack: {
    needs: ['dependencies', 'window', 'electron', 'build'],
    run: async () => (await import('./pack.mjs')).pack(),
  },
  engine: commandLine('cli.js', 'engine'),
  job: commandLine('cli.js', 'job'),
  demo: commandLine('cli.js', 'demo'),
  'demo:build': commandLine('cli.js', 'demo-build'),
  data: commandLine('cli.js', 'data'),
  hub: commandLine('cli.js', 'hub'),
  docs: commandLine('cli.js', 'docs'),
  bench: commandLine('bench.js'),
}

/**
 * Sets up for and runs the command named first; returns the exit code.
 * @param {string[]} argv
 */
export async function main(argv) {
  const [name, ...args] = argv
  const command = commands[name]
  if (!command) {
    process.stderr.write(`There is no command "${name}". Commands: ${Object.keys(commands).join(', ')}.\n`)
    return 2
  }
  try {
    await ensure(command.needs)
    return await command.run(args)
  } catch (error) {
    process.stderr.write(`\n${describe(error)}\n`)
    return 1
  }
}

/**
 * A command of the built program, run in this process: signals and standard input and output are then its own.
 * The program sets `process.exitCode` itself.
 * @param {string} file
 * @param {string[]} first
 * @returns {Command}
 */
function commandLine(file, ...first) {
  return {
    needs: ['dependencies', 'build'],
    run: async (args) => {
      const program = path.join(root, 'dist', file)
      process.argv = [process.execPath, program, ...first, ...args]
      process.setSourceMapsEnabled(true)
      await import(pathToFileURL(program).href)
      return Number(process.exitCode ?? 0)
    },
  }
}

/**
 * Opens the app. Returns its exit code.
 * @param {string[]} args
 * @returns {Promise<number>}
 */
async function start(args) {
  if (process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    process.stderr.write(
      [
        'RecursiveMAS Studio is ready, but there is no display to open its window on (DISPLAY and WAYLAND_DISPLAY are not set).',
        'Run "npm start" in a desktop session, over "ssh -X", or on a virtual display: xvfb-run -a npm start',
        '',
      ].join('\n'),
    )
    return 1
  }
  const { installedElectron } = await import('./electron-runtime.mjs')
  const { executable, version, kind } = installedElectron()
  say(`starting on Electron ${version}${kind === 'substitute' ? ' (the substitute runtime)' : ''}`)
  /** @type {string[]} */
  const flags = []
  if (process.platform === 'linux' && process.getuid?.() === 0) {
    flags.push('--no-sandbox')
    say('running as root, so Chromium gets --no-sandbox (development only; the packaged app never does this)')
  }
  return new Promise((resolve, reject) => {
    const child = spawn(executable, [root, ...flags, ...args], { stdio: 'inherit', cwd: root })
    // Ctrl-C in a terminal reaches the app by itself: only the app may end this process, once its last checkpoint is written.
    process.on('SIGINT', () => {})
    let passedOn = false
    /** @type {NodeJS.Signals[]} */
    const signals = ['SIGTERM', 'SIGHUP']
    for (const signal of signals)
      process.on(signal, () => {
        if (!passedOn) child.kill(signal)
        passedOn = true
      })
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal ? 128 : (code ?? 0)))
  })
}
