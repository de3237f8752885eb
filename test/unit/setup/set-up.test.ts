/** The parts of set-up that decide: Node versions, stamps, the lock, package names, the installed state against the lock file. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dependencyProblem } from '../../../scripts/setup/dependencies.mjs'
import { withLock } from '../../../scripts/setup/lock.mjs'
import { inRange, nodeProblem } from '../../../scripts/setup/node-version.mjs'
import { hashFiles, readStamp, writeStamp } from '../../../scripts/setup/stamp.mjs'
import {
  aptNames,
  installableFrom,
  installedPackages,
  missingPackages,
} from '../../../scripts/setup/system-packages.mjs'

const repository = path.join(import.meta.dirname, '../../..')
let folder: string

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-set-up-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the Node version', () => {
  const range = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')).engines.node as string

  it.each([
    ['v20.19.0', true],
    ['v20.20.2', true],
    ['v22.12.0', true],
    ['v24.1.0', true],
    ['v18.20.8', false],
    ['v20.9.0', false],
    ['v20.18.9', false],
    ['v21.7.3', false],
    ['v22.11.0', false],
  ])('%s in the range of package.json: %s', (version, expected) => {
    expect(inRange(version, range)).toBe(expected)
  })

  it('reads upper bounds, equality and missing parts', () => {
    expect(inRange('20.5.0', '>20.4 <=20.5')).toBe(true)
    expect(inRange('20.5.1', '>20.4 <=20.5')).toBe(false)
    expect(inRange('20.5.0', '=20.5.0')).toBe(true)
    expect(inRange('20.4.0', '>20.4')).toBe(false)
  })

  it('refuses a range it cannot read instead of guessing', () => {
    expect(() => inRange('20.0.0', '^20.1.0')).toThrow('^20.1.0')
  })

  it('accepts the version that .nvmrc recommends, taken at its newest', () => {
    const recommended = readFileSync(path.join(repository, '.nvmrc'), 'utf8').trim()
    expect(inRange(`${recommended}.99.0`, range)).toBe(true)
  })

  it('says what is needed, what is there and what to do', () => {
    expect(nodeProblem('v20.20.2', range, '20')).toBeNull()
    const problem = nodeProblem('v18.1.0', range, '20')
    expect(problem).toContain(range)
    expect(problem).toContain('18.1.0')
    expect(problem).toContain('nvm install 20')
  })
})

describe('stamps', () => {
  const write = (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }

  it('change with content, name and number of files, not with times', () => {
    write('a/one.ts', 'x')
    write('a/b/two.ts', 'y')
    const before = hashFiles(folder, ['a', 'absent'])
    utimesSync(path.join(folder, 'a/one.ts'), 1, 1)
    expect(hashFiles(folder, ['a'])).toBe(before)
    write('a/one.ts', 'z')
    const changed = hashFiles(folder, ['a'])
    expect(changed).not.toBe(before)
    write('a/one.ts', 'x')
    write('a/three.ts', '')
    expect(hashFiles(folder, ['a'])).not.toBe(before)
    rmSync(path.join(folder, 'a/three.ts'))
    expect(hashFiles(folder, ['a'])).toBe(before)
  })

  it('do not confuse the end of one file with the start of the next', () => {
    write('a', 'xb')
    write('b', 'y')
    const before = hashFiles(folder, ['a', 'b'])
    write('a', 'x')
    write('b', 'by')
    expect(hashFiles(folder, ['a', 'b'])).not.toBe(before)
  })

  it('are read back as written, and are null when absent', () => {
    const file = path.join(folder, 'deep/stamp')
    expect(readStamp(file)).toBeNull()
    writeStamp(file, 'abc')
    expect(readStamp(file)).toBe('abc')
  })
})

describe('the lock', () => {
  const held = () => path.join(folder, 'cache', 'lock')

  it('lets one in at a time and tells the one who waits', async () => {
    const events: string[] = []
    const work = (name: string) => async () => {
      events.push(`${name} in`)
      await new Promise((resolve) => setTimeout(resolve, 50))
      events.push(`${name} out`)
    }
    const waited: string[] = []
    await Promise.all([
      withLock(held(), work('a'), () => waited.push('a')),
      withLock(held(), work('b'), () => waited.push('b')),
    ])
    expect(events).toEqual(['a in', 'a out', 'b in', 'b out'])
    expect(waited).toEqual(['b'])
  })

  it('is given back after a failure', async () => {
    const failing = withLock(held(), async () => {
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await withLock(held(), async () => 'in')).toBe('in')
  })

  /** What a taken lock says of its holder, which is this process. */
  const ownEntry = async (): Promise<Record<string, unknown>> =>
    withLock(
      held(),
      async () => JSON.parse(readFileSync(path.join(held(), 'holder'), 'utf8')) as Record<string, unknown>,
    )
  const leave = (holder: object | string, age = 0) => {
    mkdirSync(held(), { recursive: true })
    writeFileSync(path.join(held(), 'holder'), typeof holder === 'string' ? holder : JSON.stringify(holder))
    const then = Date.now() / 1000 - age
    utimesSync(held(), then, then)
  }
  /** Whether a comer gets in; one who has to wait is let in by removing the lock. */
  const waits = async (): Promise<boolean> => {
    let waited = false
    await withLock(
      held(),
      async () => undefined,
      () => {
        waited = true
        rmSync(held(), { recursive: true })
      },
    )
    return waited
  }

  it('is taken over from a process that has ended', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '0'])
    leave({ ...(await ownEntry()), id: 'gone', pid })
    expect(await waits()).toBe(false)
  })

  it('is kept by another process that runs, however long it has been silent', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    try {
      const stat = existsSync(`/proc/${child.pid}/stat`) ? readFileSync(`/proc/${child.pid}/stat`, 'utf8') : null
      const start = stat ? stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] : ''
      leave({ ...(await ownEntry()), id: 'other', pid: child.pid, start }, start ? 3600 : 0)
      expect(await waits()).toBe(true)
    } finally {
      child.kill()
    }
  })

  it('is taken over from an earlier process of the same pid, be it our own', async () => {
    const entry = await ownEntry()
    leave({ ...entry, id: 'before' })
    expect(await waits()).toBe(false)
    if (entry.start === '') return
    leave({ ...entry, id: 'before', start: '1' })
    expect(await waits()).toBe(false)
    leave({ ...entry, id: 'before', pid: process.ppid, start: '1' })
    expect(await waits()).toBe(false)
  })

  it('of another machine or container is kept while its holder touches it', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '0'])
    const elsewhere = { id: 'far', place: 'elsewhere', pid, start: '' }
    leave(elsewhere, 30)
    expect(await waits()).toBe(true)
    leave({ ...elsewhere, pid: process.pid }, 90)
    expect(await waits()).toBe(false)
  })

  it.each([
    ['nothing', ''],
    ['half a name', '{"id":"a","pla'],
  ])('that names %s is waited for, and taken over when it is old', async (_, text) => {
    leave(text)
    expect(await waits()).toBe(true)
    leave(text, 90)
    expect(await waits()).toBe(false)
  })

  it('of a dead holder goes to one comer at a time, in many processes at once', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '0'])
    leave({ ...(await ownEntry()), id: 'gone', pid })
    const comer = path.join(folder, 'comer.mjs')
    const inside = path.join(folder, 'inside')
    const module = pathToFileURL(path.join(repository, 'scripts/setup/lock.mjs')).href
    writeFileSync(
      comer,
      `import { mkdirSync, rmdirSync } from 'node:fs'
       import { withLock } from ${JSON.stringify(module)}
       for (let round = 0; round < 3; round += 1)
         await withLock(${JSON.stringify(held())}, async () => {
           mkdirSync(${JSON.stringify(inside)}) // fails when somebody else is in
           await new Promise((resolve) => setTimeout(resolve, 5))
           rmdirSync(${JSON.stringify(inside)})
         })`,
    )
    const codes = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, [comer], { stdio: 'inherit' })
        return (await once(child, 'exit'))[0] as number
      }),
    )
    expect(codes).toEqual([0, 0, 0, 0])
    expect(readdirSync(path.dirname(held()))).toEqual([])
  })
})

describe('system packages', () => {
  it('are missing unless fully installed, under either name', () => {
    const installed = installedPackages('libnss3 ii \nlibgtk-3-0t64 ii \nxvfb un \nxauth rc \ndbus hi \n')
    expect(missingPackages(['libnss3', 'libgtk-3-0', 'xvfb', 'xauth', 'dbus', 'libgbm1'], installed)).toEqual([
      'xvfb',
      'xauth',
      'libgbm1',
    ])
  })

  it('get the name that apt can install', () => {
    const policy = [
      'libasound2:',
      '  Installed: (none)',
      '  Candidate: (none)',
      '  Version table:',
      'libasound2t64:',
      '  Installed: (none)',
      '  Candidate: 1.2.11-1build2',
      'libnss3:',
      '  Installed: (none)',
      '  Candidate: 2:3.98-1build1',
      '',
    ].join('\n')
    expect(aptNames(['libasound2', 'libnss3', 'xvfb'], installableFrom(policy))).toEqual([
      'libasound2t64',
      'libnss3',
      'xvfb',
    ])
  })
})

describe('installed packages against the lock file', () => {
  const install = (locked: object, installed: object | null, folders: string[]) => {
    writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...locked } }))
    for (const name of folders) mkdirSync(path.join(folder, name), { recursive: true })
    if (installed)
      writeFileSync(path.join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: installed }))
  }
  const a = { 'node_modules/a': { version: '1.0.0' } }

  it('agree', () => {
    install({ ...a, 'node_modules/mac': { version: '1.0.0', optional: true } }, a, ['node_modules/a'])
    expect(dependencyProblem(folder)).toBeNull()
  })

  it('differ when nothing is installed or an install broke off', () => {
    install(a, null, ['node_modules/a'])
    expect(dependencyProblem(folder)).toContain('not installed')
  })

  it('differ in a version', () => {
    install(a, { 'node_modules/a': { version: '0.9.0' } }, ['node_modules/a'])
    expect(dependencyProblem(folder)).toBe('node_modules/a is 0.9.0, the lock file says 1.0.0')
  })

  it('differ in a package or its folder', () => {
    install({ ...a, 'node_modules/b': { version: '1.0.0' } }, a, ['node_modules/a'])
    expect(dependencyProblem(folder)).toBe('node_modules/b is missing')
    install(a, a, [])
    rmSync(path.join(folder, 'node_modules/a'), { recursive: true })
    expect(dependencyProblem(folder)).toBe('node_modules/a is missing')
  })
})
