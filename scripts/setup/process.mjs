// Starting other programs during set-up: their output goes to standard error, so that a command's own output stays clean.
import { spawn, spawnSync } from 'node:child_process'

/**
 * One plain line about what is being done.
 * @param {string} line
 */
export function say(line) {
  process.stderr.write(`[set-up] ${line}\n`)
}

/** A failure with a sentence for the person: printed without a stack. */
export class SetUpError extends Error {}

/**
 * What to print of an error: the sentence of an expected one, the stack of any other.
 * @param {unknown} error
 */
export function describe(error) {
  if (error instanceof SetUpError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/**
 * The system's name for an error ('ENOENT', 'EEXIST', ...).
 * @param {unknown} error
 */
export const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code

/**
 * Runs a program to its end with no input; its output is shown on standard error unless `options` says otherwise. SIGTERM to
 * this process meanwhile ends the program, unless `spared`: then the signal does here what it always does.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions & { spared?: boolean }} options
 * @returns {Promise<number>} its exit code, 128 when a signal ended it
 */
export function runShown(command, args, { spared = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...options })
    const end = () => child.kill('SIGTERM')
    if (!spared) process.on('SIGTERM', end)
    child.on('error', (error) => {
      process.off('SIGTERM', end)
      reject(error)
    })
    child.on('exit', (code) => {
      process.off('SIGTERM', end)
      resolve(code ?? 128)
    })
  })
}

/**
 * Runs a short program and returns its exit code and output; code 127 when it is not installed.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} options
 */
export function runQuiet(command, args, options = {}) {
  const result = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (result.error)
    return { code: codeOf(result.error) === 'ENOENT' ? 127 : 128, stdout: '', stderr: String(result.error) }
  return { code: result.status ?? 128, stdout: result.stdout, stderr: result.stderr }
}

/**
 * How to call the npm that started us (or the one in PATH), as a command and its first arguments.
 * @returns {[string, string[]]}
 */
export function npmCommand() {
  const script = process.env.npm_execpath
  if (script && /npm-cli\.c?js$/.test(script)) return [process.execPath, [script]]
  return process.platform === 'win32' ? ['cmd.exe', ['/d', '/s', '/c', 'npm']] : ['npm', []]
}
