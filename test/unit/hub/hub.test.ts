/** The hub client against a local hub: what it lists, what it refuses and how it says so, what it keeps of the token. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { hubAddress } from '../../../src-main/hub/address'
import { type HubOptions, openHub, type Hub } from '../../../src-main/hub/connection'
import { hasChecksum } from '../../../src-main/hub/download/checksums'
import { discardDownload, download, planDownload } from '../../../src-main/hub/download/download'
import { lockFolder } from '../../../src-main/hub/download/folder-lock'
import { readDownloadRecord } from '../../../src-main/hub/download/record'
import { neededFiles } from '../../../src-main/hub/needed-files'
import { listRevisions, readRepository, searchHub } from '../../../src-main/hub/repository'
import { retryAfter } from '../../../src-main/hub/retry'
import { FakeHub, type FakeFile, goodToken, strangerToken } from './fake-hub'

const fake = new FakeHub()
const quick = { tries: 3, firstMs: 1, mostMs: 5, patienceMs: 1000 }
let folder: string
const open: Hub[] = []

const file = (path: string, text: string, lfs = false): FakeFile => ({ path, bytes: Buffer.from(text), lfs })
const hub = (options: HubOptions = {}): Hub => {
  const one = openHub({ endpoint: fake.endpoint, env: {}, retry: quick, fileRetry: quick, ...options })
  open.push(one)
  return one
}
const model = 'lab/tiny-model'
const modelFiles = [
  file('.gitattributes', '* text'),
  file('README.md', 'about'),
  file('config.json', '{"model_type":"llama"}'),
  file('tokenizer.json', '{"version":"1.0"}', true),
  file('model.safetensors', 'weights '.repeat(5000), true),
  file('pytorch_model.bin', 'the same weights', true),
  file('onnx/model.onnx', 'again', true),
]

beforeAll(async () => {
  await fake.start()
  fake.add(model, { kind: 'model', files: modelFiles, licence: 'apache-2.0' })
  fake.add('lab/gated-model', { kind: 'model', files: [file('config.json', '{}')], gated: true })
  fake.add('lab/secret', { kind: 'model', files: [file('config.json', '{}')], private: true })
  fake.add('lab/rows', {
    kind: 'dataset',
    files: [file('README.md', 'about'), file('data/train ä.jsonl', '{"a":1}\n')],
  })
})
afterAll(async () => {
  for (const one of open) await one.close()
  await fake.stop()
})
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-hub-'))
  fake.faultOf = () => null
  return () => rmSync(folder, { recursive: true, force: true })
})

async function refused(action: Promise<unknown>): Promise<UserError> {
  const error = await action.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UserError)
  return error as UserError
}

describe('what a hub holds', () => {
  it('is searched by kind, and pinned to a commit with licence, sizes and checksums', async () => {
    expect(
      (await searchHub(hub(), { kind: 'model', query: 'tiny' })).map(({ name, licence }) => [name, licence]),
    ).toEqual([[model, 'apache-2.0']])
    expect((await searchHub(hub(), { kind: 'dataset', query: 'rows' })).map((one) => one.name)).toEqual(['lab/rows'])
    const repository = await readRepository(hub(), { kind: 'model', name: model, revision: 'v1' })
    expect(repository).toMatchObject({
      commit: fake.repositories.get(model)!.commit,
      licence: 'apache-2.0',
      gated: false,
    })
    expect(repository.files.map(({ path, size }) => [path, size])).toEqual(
      modelFiles.map((one) => [one.path, one.bytes.length]),
    )
    expect(neededFiles('model', repository.files).map((one) => one.path)).toEqual([
      'config.json',
      'tokenizer.json',
      'model.safetensors',
    ])
    expect(await listRevisions(hub(), { kind: 'model', name: model })).toContainEqual({
      kind: 'tag',
      name: 'v1',
      commit: repository.commit,
    })
  })

  it('has checksums as git makes them', async () => {
    const at = path.join(folder, 'file')
    writeFileSync(at, 'some text\n')
    const hex = execFileSync('git', ['hash-object', at], { encoding: 'utf8' }).trim()
    expect(await hasChecksum(at, 10, { kind: 'git-sha1', hex })).toBe(true)
    writeFileSync(at, 'some texT\n')
    expect(await hasChecksum(at, 10, { kind: 'git-sha1', hex })).toBe(false)
  })

  it.each([
    [
      'config.json model.safetensors.index.json model-00001-of-00002.safetensors',
      'consolidated.safetensors model.fp16.safetensors pytorch_model.bin',
    ],
    ['config.json pytorch_model.bin', 'tf_model.h5 optimizer.pt'],
    ['planner/adapter.pt planner/config.json math/outer_12.pt', 'README.md checkpoint-5/model.pt'],
    ['merges.txt', 'original/config.json gguf/model.gguf'],
    ['inner/manifest.json inner/link.safetensors', 'inner/notes.txt'],
  ])('needs %s, not %s', (needed, others) => {
    const files = `${others} ${needed}`
      .split(' ')
      .map((path) => ({ path, size: 1, checksum: { kind: 'sha256' as const, hex: '' } }))
    expect(neededFiles('model', files).map((one) => one.path)).toEqual(needed.split(' '))
  })
})

describe('a download', () => {
  it('fetches what a run needs, keeps a record, and is at once done when repeated', async () => {
    const plan = await planDownload(hub(), { kind: 'model', name: model, folder })
    expect(plan.remainingBytes).toBe(plan.bytes)
    expect(readdirSync(folder)).toEqual([])
    await download(hub(), plan)
    expect(readdirSync(folder).sort()).toEqual([
      '.recursivemas-hub.json',
      'config.json',
      'model.safetensors',
      'tokenizer.json',
    ])
    expect(readFileSync(path.join(folder, 'model.safetensors'))).toEqual(modelFiles[4].bytes)
    expect(await readDownloadRecord(folder)).toMatchObject({
      name: model,
      complete: true,
      commit: plan.repository.commit,
      licence: 'apache-2.0',
    })
    const again = await planDownload(hub(), { kind: 'model', name: model, folder })
    expect(again.remainingBytes).toBe(0)
    expect(await download(hub(), again)).toEqual({ kind: 'complete', fetchedBytes: 0 })
    const other = await refused(planDownload(hub(), { kind: 'dataset', name: 'lab/rows', folder }))
    expect(other.why).toContain(`holds ${model}`)
  })

  it('leaves a file of the person’s own alone', async () => {
    writeFileSync(path.join(folder, 'config.json'), 'mine')
    const plan = await planDownload(hub(), { kind: 'model', name: model, folder })
    expect((await refused(download(hub(), plan))).why).toContain('other content')
    expect(readdirSync(folder)).toEqual(['config.json'])
    expect(readFileSync(path.join(folder, 'config.json'), 'utf8')).toBe('mine')
  })

  it('takes one stream of a server that knows no ranges', async () => {
    fake.faultOf = () => ({ kind: 'no-range' })
    const plan = await planDownload(hub(), { kind: 'model', name: model, folder })
    const { fetchedBytes } = await download(hub(), plan, { tuning: { leastRange: 8000 } })
    expect(readFileSync(path.join(folder, 'model.safetensors'))).toEqual(modelFiles[4].bytes)
    expect(fetchedBytes).toBe(plan.bytes)
  })

  it('reads files again only where they have changed since their last check, or when told to', async () => {
    const get = async (readAll?: boolean) =>
      download(hub(), await planDownload(hub(), { kind: 'model', name: model, folder }), { readAll })
    const at = path.join(folder, 'model.safetensors')
    await get()
    const { atime, mtime } = statSync(at)
    // whole milliseconds, which utimes can give back
    utimesSync(at, atime, mtime)
    await get()
    writeFileSync(at, Buffer.from('Weights '.repeat(5000)))
    utimesSync(at, atime, mtime)
    // a change that leaves no trace is seen only by reading, which is what shows that it was not read
    expect((await get()).kind).toBe('complete')
    expect((await refused(get(true))).why).toContain('other content')
    utimesSync(at, atime, new Date(mtime.getTime() + 1000))
    expect((await refused(get())).why).toContain('other content')
    writeFileSync(at, modelFiles[4].bytes)
    expect(await get()).toEqual({ kind: 'complete', fetchedBytes: 0 })
    expect(await get(true)).toEqual({ kind: 'complete', fetchedBytes: 0 })
  })

  it('goes into folders of a data set, with any names', async () => {
    const to = path.join(folder, 'Daten für später')
    await download(hub(), await planDownload(hub(), { kind: 'dataset', name: 'lab/rows', folder: to }))
    expect(readFileSync(path.join(to, 'data', 'train ä.jsonl'), 'utf8')).toBe('{"a":1}\n')
  })

  it('pauses, goes on, and is cancelled without a trace', async () => {
    fake.faultOf = () => ({ kind: 'slow' })
    const to = path.join(folder, 'new')
    const pause = new AbortController()
    const plan = await planDownload(hub(), { kind: 'model', name: model, folder: to })
    const { kind } = await download(hub(), plan, {
      signal: pause.signal,
      onEvent: (event) => event.kind === 'progress' && event.bytes > 10_000 && pause.abort(),
    })
    expect(kind).toBe('paused')
    const rest = await planDownload(hub(), { kind: 'model', name: model, folder: to })
    expect(rest.remainingBytes).toBeLessThan(plan.bytes - 9_000)
    expect(existsSync(path.join(to, 'model.safetensors'))).toBe(false)
    await discardDownload(to)
    expect(readdirSync(folder)).toEqual([])
  })

  it('runs once per folder', async () => {
    const plan = await planDownload(hub(), { kind: 'model', name: model, folder })
    const unlock = await lockFolder(folder)
    expect((await refused(download(hub(), plan))).why).toContain('is running')
    await unlock()
    // of a process that ended without giving it back
    const ended = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }))
    const { hostname } = await import('node:os')
    writeFileSync(path.join(folder, '.recursivemas-hub.lock'), JSON.stringify({ host: hostname(), pid: ended }))
    expect((await download(hub(), plan)).kind).toBe('complete')
  })

  it('does not begin where the volume has too little space', async () => {
    const plan = await planDownload(hub(), { kind: 'model', name: model, folder: path.join(folder, 'new') })
    const error = await refused(download(hub(), { ...plan, remainingBytes: 2 ** 52 }))
    expect(error.what).toContain('too little disk space')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    '../evil.json',
    '/etc/evil.json',
    'a/../../b.json',
    'a\\b.json',
    'C:evil.json',
    'a//b.json',
    '.recursivemas-hub.json',
    'x.json.partial',
  ])('refuses the path %j', async (bad) => {
    const name = 'lab/evil'
    fake.add(name, { kind: 'dataset', files: [file('good.json', '{}'), file(bad, '{}')] })
    const files = [bad]
    expect((await refused(planDownload(hub(), { kind: 'dataset', name, folder, files }))).why).toContain(
      'inside a folder',
    )
  })
})

describe('access', () => {
  it('names the page of a gated repository’s conditions, without and with a token', async () => {
    for (const token of [undefined, strangerToken]) {
      const one = hub({ token })
      const plan = await planDownload(one, { kind: 'model', name: 'lab/gated-model', folder: path.join(folder, 'new') })
      expect(plan.repository.gated).toBe(true)
      const error = await refused(download(one, plan))
      expect(error.why).toContain('gated')
      expect(error.next).toContain(`${fake.endpoint}/lab/gated-model`)
      expect(readdirSync(folder)).toEqual([])
    }
    const granted = hub({ token: goodToken })
    await download(granted, await planDownload(granted, { kind: 'model', name: 'lab/gated-model', folder }))
  })

  it('tells a wrong token, a missing repository, a missing revision', async () => {
    const wrong = await refused(readRepository(hub({ token: 'hf_wrong' }), { kind: 'model', name: model }))
    expect(wrong.why).toContain('does not accept the access token')
    expect(wrong.message).not.toContain('hf_wrong')
    expect((await refused(readRepository(hub(), { kind: 'model', name: 'lab/none' }))).why).toContain(
      'no model of this name',
    )
    expect((await refused(readRepository(hub(), { kind: 'model', name: model, revision: 'v9' }))).why).toContain(
      'no revision "v9"',
    )
    expect((await readRepository(hub({ token: goodToken }), { kind: 'model', name: 'lab/secret' })).private).toBe(true)
  })

  it('sends the token to the hub and to no host that a redirect names', async () => {
    fake.authorizations.clear()
    const one = hub({ token: goodToken })
    await download(one, await planDownload(one, { kind: 'model', name: model, folder }))
    expect([...fake.authorizations]).toEqual([`Bearer ${goodToken}`])
    expect(fake.sent.get(model)!.some((sent) => sent.path === 'model.safetensors')).toBe(true)
    expect(fake.leaks).toEqual([])
    for (const name of readdirSync(folder))
      expect(readFileSync(path.join(folder, name), 'utf8')).not.toContain(goodToken)
  })
})

describe('the way to the hub', () => {
  it('goes through HTTP_PROXY, but for NO_PROXY', async () => {
    const through: string[] = []
    const proxy = createServer((request, response) => {
      through.push(request.url!)
      const { pathname, search } = new URL(request.url!)
      void fetch(fake.endpoint + pathname + search).then(async (answer) => response.end(await answer.text()))
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const env = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
    const endpoint = 'http://hub.invalid'
    expect((await searchHub(hub({ endpoint, env }), { kind: 'model', query: 'tiny' })).length).toBe(1)
    expect(through[0]).toMatch(/^http:\/\/hub\.invalid\/api\/models\?/)
    await searchHub(hub({ env: { ...env, NO_PROXY: '127.0.0.1' } }), { kind: 'model', query: 'tiny' })
    expect(through.length).toBe(1)
    proxy.closeAllConnections()
    proxy.close()
  })

  it('is HF_ENDPOINT’s, or says why it is none', async () => {
    expect(hubAddress(undefined, { HF_ENDPOINT: 'https://mirror.example/hub/' })).toBe('https://mirror.example/hub')
    expect(hubAddress(undefined, {})).toBe('https://huggingface.co')
    expect(() => hubAddress('nonsense', {})).toThrow(UserError)
    expect(() => hubAddress('https://me:secret@x.example', {})).toThrow('user name')
    const nobody = await refused(
      readRepository(hub({ endpoint: 'http://127.0.0.1:1' }), { kind: 'model', name: model }),
    )
    expect(nobody.why).toBe('Nothing answers at 127.0.0.1:1.')
  })

  it('reads Retry-After in both its forms', () => {
    expect(retryAfter('3')).toBe(3000)
    expect(retryAfter('Wed, 21 Oct 2015 07:28:10 GMT', Date.parse('2015-10-21T07:28:00Z'))).toBe(10_000)
    expect(retryAfter('soon')).toBe(null)
  })
})
