// Starting other programs during set-up: their output goes to standard error, so that a command's own output stays clean.
import { spawn, spawnSync } from 'node:child_process'

/** One plain line about what is being done. */
export function say(line) {
  process.stderr.write(`[set-up] ${line}\n`)
}

/** A failure with a sentence for the person: printed without a stack. */
export class SetUpError extends Error {}

/** Runs a program to its end with no input; its output is shown on standard error. Resolves to its exit code (or 128 if killed). */
export function runShown(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 2, 2] })
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 128))
  })
}

/** Runs a short program and returns its exit code and standard output; code 127 when it is not installed. */
export function runQuiet(command, args, options = {}) {
  const result = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (result.error)
    return { code: result.error.code === 'ENOENT' ? 127 : 128, stdout: '', stderr: String(result.error) }
  return { code: result.status ?? 128, stdout: result.stdout, stderr: result.stderr }
}

/** How to call the npm that started us (or the one in PATH), as a command and its first arguments. */
export function npmCommand() {
  const script = process.env.npm_execpath
  if (script && /npm-cli\.c?js$/.test(script)) return [process.execPath, [script]]
  return process.platform === 'win32' ? ['cmd.exe', ['/d', '/s', '/c', 'npm']] : ['npm', []]
}
