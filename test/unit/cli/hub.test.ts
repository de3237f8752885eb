/** The hub command against a local hub: lines on standard output, exit codes, what it refuses, where the token comes from. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { runHubCommand } from '../../../src-main/cli/hub'
import { UsageError } from '../../../src-main/cli/usage-error'
import { UserError } from '../../../src-main/engine/errors'
import { FakeHub, type FakeFile, goodToken, sha256 } from '../hub/fake-hub'

const fake = new FakeHub()
const file = (name: string, text: string, lfs = false): FakeFile => ({ path: name, bytes: Buffer.from(text), lfs })
const weights = file('model.safetensors', 'weights '.repeat(9000), true)
let folder: string
let printed: string
let notes: string

beforeAll(async () => {
  await fake.start()
  fake.add('lab/tiny-model', {
    kind: 'model',
    files: [file('README.md', 'about'), file('config.json', '{}'), weights],
    licence: 'mit',
  })
  fake.add('lab/gated', { kind: 'model', files: [file('config.json', '{}')], gated: true })
  fake.add('lab/rows', { kind: 'dataset', files: [file('train.jsonl', '{"a":1}\n')] })
})
afterAll(() => fake.stop())
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-hub-command-'))
  fake.faultOf = () => null
  fake.authorizations.clear()
  fake.sent.clear()
  printed = notes = ''
  vi.stubEnv('HF_ENDPOINT', fake.endpoint)
  vi.stubEnv('HF_TOKEN', undefined)
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) vi.stubEnv(name, undefined)
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((notes += String(text)), true))
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

const lines = (): unknown[] =>
  printed
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown)

async function refused(...args: string[]): Promise<UserError> {
  const error: unknown = await runHubCommand(args).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UserError)
  expect(printed).toBe('')
  const { what, why, next } = error as UserError
  for (const text of [what, why, next]) expect(text).toMatch(/^[^\n]+\.$/)
  return error as UserError
}

describe('npm run hub', () => {
  it('searches models, and data sets when asked', async () => {
    expect(await runHubCommand(['search', 'TINY'])).toBe(0)
    expect(lines()).toMatchObject([{ name: 'lab/tiny-model', licence: 'mit', gated: false }])
    printed = ''
    expect(await runHubCommand(['search', 'rows', '--kind', 'dataset'])).toBe(0)
    expect(lines()).toMatchObject([{ name: 'lab/rows' }])
    printed = ''
    expect(await runHubCommand(['search', 'nobody has this'])).toBe(0)
    expect(printed).toBe('')
    expect(notes).toContain('Nothing found')
  })

  it('lists files with their checksums and what of them a run needs', async () => {
    expect(await runHubCommand(['files', 'lab/tiny-model', '--revision', 'v1'])).toBe(0)
    expect(lines()).toMatchObject([
      { path: 'README.md', size: 5, needed: false },
      { path: 'config.json', needed: true },
      {
        path: 'model.safetensors',
        size: 72_000,
        checksum: { kind: 'sha256', hex: sha256(weights.bytes) },
        needed: true,
      },
    ])
    expect(notes).toContain('A run needs 2 of 3 files')
  })

  it('downloads, and says what lies where; a second time fetches nothing, --verify reads it again', async () => {
    const to = path.join(folder, 'ein Modell')
    expect(await runHubCommand(['download', 'lab/tiny-model', '--to', to])).toBe(0)
    const { commit } = fake.repositories.get('lab/tiny-model')!
    const result = {
      folder: to,
      endpoint: fake.endpoint,
      kind: 'model',
      name: 'lab/tiny-model',
      revision: 'main',
      commit,
      licence: 'mit',
      bytes: 72_002,
      files: ['config.json', 'model.safetensors'],
    }
    expect(lines()).toEqual([result])
    expect(readFileSync(path.join(to, 'model.safetensors'))).toEqual(weights.bytes)
    const requests = fake.sent.get('lab/tiny-model')!.length
    for (const more of [[], ['--verify']])
      expect(await runHubCommand(['download', 'lab/tiny-model', '--to', to, ...more])).toBe(0)
    expect(lines()).toHaveLength(3)
    expect(fake.sent.get('lab/tiny-model')).toHaveLength(requests)
    expect(notes.match(/\(0 bytes fetched\)/g)).toHaveLength(2)
  })

  it('ends with 130 when stopped, and the same command goes on', async () => {
    fake.faultOf = () => ({ kind: 'slow' })
    const args = ['download', 'lab/tiny-model', '--to', path.join(folder, 'model')]
    const running = runHubCommand(args)
    // whichever file was asked for last
    const sentOfWeights = () => fake.sent.get('lab/tiny-model')?.find((sent) => sent.path === 'model.safetensors')
    await vi.waitFor(() => expect(sentOfWeights()?.upTo).toBeGreaterThan(20_000), 10_000)
    process.emit('SIGINT', 'SIGINT')
    expect(await running).toBe(130)
    expect(printed).toBe('')
    expect(notes).toContain('Paused')
    expect(existsSync(path.join(folder, 'model', 'model.safetensors'))).toBe(false)
    fake.faultOf = () => null
    const before = fake.sent.get('lab/tiny-model')!.length
    expect(await runHubCommand(args)).toBe(0)
    expect(fake.sent.get('lab/tiny-model')![before].from).toBeGreaterThan(0)
    expect(readFileSync(path.join(folder, 'model', 'model.safetensors'))).toEqual(weights.bytes)
  })

  it('takes the token from HF_TOKEN and from nowhere else, and shows it nowhere', async () => {
    const download = ['download', 'lab/gated', '--to', folder]
    expect((await refused(...download)).next).toContain(`${fake.endpoint}/lab/gated`)
    expect(fake.authorizations.size).toBe(0)
    await expect(runHubCommand([...download, '--token', goodToken])).rejects.toThrow(UsageError)
    vi.stubEnv('HF_TOKEN', goodToken)
    expect(await runHubCommand(download)).toBe(0)
    expect([...fake.authorizations]).toEqual([`Bearer ${goodToken}`])
    const kept = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'))
    expect([printed, notes, ...kept].join()).not.toContain(goodToken)
  })

  it('says in a sentence what cannot be had', async () => {
    expect((await refused('files', 'lab/none')).why).toContain('no model of this name')
    expect((await refused('files', 'lab/tiny-model', '--revision', 'v9')).why).toContain('no revision "v9"')
    expect((await refused('search', 'x', '--endpoint', 'nonsense')).what).toContain('hub')
    const config = path.join(folder, 'config.json')
    writeFileSync(config, 'mine')
    expect((await refused('download', 'lab/tiny-model', '--to', folder)).why).toContain('other content')
    expect(readFileSync(config, 'utf8')).toBe('mine')
  })

  it.each([
    ['nothing', []],
    ['an unknown verb', ['upload', 'lab/tiny-model']],
    ['two subjects', ['files', 'a/b', 'c/d']],
    ['an unknown kind', ['search', 'x', '--kind', 'space']],
    ['a folder for a search', ['search', 'x', '--to', 'there']],
    ['a revision for a search', ['search', 'x', '--revision', 'main']],
    ['a check of a search', ['search', 'x', '--verify']],
    ['an empty folder', ['download', 'lab/tiny-model', '--to', '']],
  ])('refuses %s before it asks the hub', async (_, args) => {
    const before = fake.asked.length
    await expect(runHubCommand(args)).rejects.toThrow(UsageError)
    expect(fake.asked).toHaveLength(before)
  })
})
