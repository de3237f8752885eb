/**
 * The npm scripts in real processes, in a project of stand-ins: the closing line of `npm test` whatever fails or ends it, system
 * packages asked of an ordinary user, left-over work folders.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashFiles, writeStamp } from '../../../scripts/setup/stamp.mjs'

const repository = path.join(import.meta.dirname, '../../..')
let project: string

const write = (name: string, text: string, mode = 0o644): void => {
  mkdirSync(path.dirname(path.join(project, name)), { recursive: true })
  writeFileSync(path.join(project, name), text, { mode })
}
/** A system program: the only ones that the scripts find are these. */
const program = (name: string, script: string): void => write(`bin/${name}`, `#!/bin/sh\n${script}\n`, 0o755)
const lockFile = (packages: object): void => write('package-lock.json', JSON.stringify({ packages }))

beforeEach(() => {
  project = mkdtempSync(path.join(tmpdir(), 'studio-commands-'))
  for (const name of ['scripts', 'package.json', '.nvmrc'])
    cpSync(path.join(repository, name), path.join(project, name), { recursive: true })
  lockFile({})
  write('node_modules/.package-lock.json', JSON.stringify({ packages: {} }))
  mkdirSync(path.join(project, 'bin'))
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

/** Every part of the set-up is there. */
function setUp(): void {
  program('dpkg-query', `for last; do :; done; for one; do echo "$one ii "; done`)
  write('.cache/electron-33.2.1/electron', '')
  const inputs = ['scripts/build.mjs', 'package.json', 'package-lock.json']
  writeStamp(path.join(project, 'dist/made-from'), hashFiles(project, inputs))
}

/** Runs an npm script's command as an ordinary user; `seen` is told all output so far and may end the process. */
async function command(
  args: string[],
  seen: (text: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const user = 'data:text/javascript,process.getuid=()=>1000'
  const child = spawn(process.execPath, ['--import', user, 'scripts/run.mjs', ...args], {
    cwd: project,
    env: {
      PATH: path.join(project, 'bin'),
      npm_execpath: path.join(project, 'npm-cli.js'),
      ELECTRON_MIRROR: 'http://127.0.0.1:1/',
    },
  })
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (data) => {
      text[name] += String(data)
      seen(text.stdout + text.stderr, (signal) => child.kill(signal))
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...text }
}

const closing = (stdout: string): string | undefined => stdout.trimEnd().split('\n').at(-1)

describe('npm test closes with "N passed, N failed"', () => {
  it('when the packages cannot be installed, and runs nothing then', async () => {
    lockFile({ 'node_modules/a': { version: '1.0.0' } })
    write('npm-cli.js', 'process.exit(7)')
    const { code, stdout } = await command(['test', 'check'])
    expect(code).toBe(1)
    expect(stdout).toContain('exit code 7')
    expect(stdout).not.toContain('== ')
    expect(closing(stdout)).toBe('0 passed, 1 failed')
  })

  it('when the checks pass, and when one fails', async () => {
    write('node_modules/typescript/bin/tsc', '')
    write('node_modules/svelte-check/bin/svelte-check', '')
    expect(await command(['test', 'check'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\n2 passed, 0 failed\n$/),
    })
    write('node_modules/svelte-check/bin/svelte-check', 'process.exit(1)')
    expect(await command(['test', 'check'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/\n1 passed, 1 failed\n$/),
    })
  })

  it.runIf(process.platform === 'linux')('when the test session cannot be started', async () => {
    setUp()
    const { code, stdout, stderr } = await command(['test', 'e2e'])
    expect(code).toBe(1)
    expect(stderr).toContain('dbus-daemon did not start')
    expect(closing(stdout)).toBe('0 passed, 1 failed')
  })

  it.runIf(process.platform === 'linux')(
    'when the end-to-end tests cannot be set up, after all the others',
    async () => {
      setUp()
      rmSync(path.join(project, 'dist'), { recursive: true })
      write('node_modules/typescript/bin/tsc', '')
      write('node_modules/svelte-check/bin/svelte-check', '')
      const { code, stdout } = await command(['test', 'check', 'e2e'])
      expect(code).toBe(1)
      expect(stdout).toContain('! build: ')
      expect(closing(stdout)).toBe('2 passed, 1 failed')
    },
  )

  it.runIf(process.platform !== 'win32')(
    'when it is ended, which ends the part that runs and starts no other',
    async () => {
      write('node_modules/typescript/bin/tsc', 'console.log("at work"); setInterval(() => {}, 1000)')
      write('node_modules/svelte-check/bin/svelte-check', '')
      let sent = false
      const { code, stdout } = await command(['test', 'check'], (text, kill) => {
        if (sent || !text.includes('at work')) return
        sent = true
        kill('SIGTERM')
      })
      expect(code).toBe(1)
      expect(stdout).not.toContain('== svelte-check')
      expect(stdout).toContain('! ended before svelte-check')
      expect(closing(stdout)).toBe('0 passed, 2 failed')
    },
  )
})

describe.runIf(process.platform === 'linux')('an ordinary user on a machine without the system packages', () => {
  beforeEach(() => {
    program('dpkg-query', 'echo "libnss3 ii "')
    program('apt-cache', 'printf "libasound2t64:\\n  Candidate: 1.2\\n"')
    program('apt-get', `echo used > ${path.join(project, 'apt-get-was-used')}`)
  })
  afterEach(() => expect(existsSync(path.join(project, 'apt-get-was-used'))).toBe(false))

  it('is told the line that installs what the window needs', async () => {
    const { code, stderr } = await command(['start'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'sudo apt-get update && sudo apt-get install -y libgtk-3-0 libasound2t64 libgbm1 libsecret-1-0\n',
    )
  })

  it('is told the line that installs what the tests need, and the count', async () => {
    const { code, stdout } = await command(['test', 'e2e'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/sudo apt-get install -y .*libgbm1 .*xvfb xauth dbus gnome-keyring\n/)
    expect(closing(stdout)).toBe('0 passed, 1 failed')
  })
})

describe('a set-up', () => {
  it('removes what ended ones have left, and nothing else', async () => {
    const left = ['electron-unpack-12', 'dist-12', 'dist-old-12', 'set-up.lock.0b1c-2d']
    const kept = ['electron-33.2.1', 'demo-dev', 'tokenizers']
    for (const name of [...left, ...kept]) write(`.cache/${name}/file`, 'x')
    lockFile({ 'node_modules/a': { version: '1.0.0' } })
    write('npm-cli.js', 'process.exit(7)')
    await command(['test', 'check'])
    expect(readdirSync(path.join(project, '.cache')).sort()).toEqual(kept.sort())
  })

  it.runIf(process.platform === 'linux' && process.arch === 'x64')(
    'refuses a runtime that is not the expected one',
    async () => {
      setUp()
      rmSync(path.join(project, '.cache'), { recursive: true })
      write('node_modules/electron/package.json', '{"version":"45.5.0"}')
      write(
        'npm-cli.js',
        "const [name, , , folder] = process.argv.slice(2); require('node:fs').writeFileSync(`${folder}/${name}.tgz`, 'abc')",
      )
      write('package.json', '{"engines":{"node":">=20"}}')
      const { code, stderr } = await command(['start'])
      expect(code).toBe(1)
      // SHA-512 of "abc", the example of FIPS 180-2, in base64.
      expect(stderr).toContain(
        '3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==',
      )
      expect(readdirSync(path.join(project, '.cache'))).toEqual([])
    },
  )

  it.runIf(process.platform !== 'win32')('that is ended ends the installer and gives the lock back', async () => {
    lockFile({ 'node_modules/a': { version: '1.0.0' } })
    write('npm-cli.js', 'console.log("npm at work"); setInterval(() => {}, 1000)')
    let sent = false
    const { code } = await command(['build'], (text, kill) => {
      if (sent || !text.includes('npm at work')) return
      sent = true
      kill('SIGTERM')
    })
    expect(code).toBe(1)
    expect(readdirSync(path.join(project, '.cache'))).toEqual([])
  })
})
