/** Downloads in the app: the queue with its list on the disk, what the hub is asked, and the key. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DownloadView } from '../../../src-main/bridge/contract'
import { hubHandlers } from '../../../src-main/bridge/hub-handlers'
import { modelHandlers } from '../../../src-main/bridge/model-handlers'
import { requests } from '../../../src-main/bridge/contract'
import { UserError } from '../../../src-main/engine/errors'
import { families } from '../../../src-main/engine/models/families'
import { openHub } from '../../../src-main/hub/connection'
import { type KeyStore, openSecrets } from '../../../src-main/secrets/secrets'
import { DownloadRate } from '../../../src-main/workspace/download-rate'
import { isFolderName } from '../../../src-main/workspace/download-record'
import { HubDesk } from '../../../src-main/workspace/hub-desk'
import { Places } from '../../../src-main/workspace/places'
import { FakeHub, goodToken } from '../hub/fake-hub'
import { testStudio, type TestStudio, until } from '../jobs/test-studio'

const planner = path.resolve('native-assets/demo/models/planner')
const file = (name: string, lfs = false) => ({ path: name, bytes: readFileSync(path.join(planner, name)), lfs })
const model = [
  file('config.json'),
  file('tokenizer.json'),
  file('tokenizer_config.json'),
  file('model.safetensors', true),
  { path: 'README.md', bytes: Buffer.from('# A model'), lfs: false },
]

let hub: FakeHub
let test: TestStudio
const store = new Map<string, string>()
const keyStore: KeyStore = {
  getPassword: (_, account) => Promise.resolve(store.get(account) ?? null),
  setPassword: (_, account, value) => Promise.resolve(void store.set(account, value)),
  deletePassword: (_, account) => Promise.resolve(store.delete(account)),
}
const secrets = openSecrets({ load: () => Promise.resolve(keyStore) })

beforeEach(async () => {
  hub = new FakeHub()
  await hub.start()
  hub.add('acme/tiny', { kind: 'model', files: model, licence: 'mit' })
  hub.add('acme/gated', { kind: 'model', files: model, gated: true })
  hub.add('acme/rows', {
    kind: 'dataset',
    files: [{ path: 'train.jsonl', bytes: Buffer.from('{"question":"1"}\n'), lfs: false }],
  })
  store.clear()
  test = testStudio({ hub: hub.endpoint, secrets })
  await test.studio.start()
})
afterEach(async () => {
  await test.studio.shutdown(0)
  await hub.stop()
  test.remove()
})

const stateOf = (id: string): DownloadView | undefined => test.studio.downloads.list().find((one) => one.id === id)
const reaches = (id: string, state: DownloadView['state']) =>
  until(() => stateOf(id)?.state === state, `it is ${state}`)
const add = (name: string, kind: 'model' | 'dataset' = 'model') =>
  test.studio.downloads.add({ kind, name, revision: 'main' })

describe('a download', () => {
  it('brings the files that a run needs into the library, pinned to a commit', async () => {
    const { id } = await add('acme/tiny')
    await reaches(id, 'done')
    const bytes = model.slice(0, 4).reduce((n, { bytes: b }) => n + b.length, 0)
    expect(stateOf(id)).toMatchObject({
      commit: hub.repositories.get('acme/tiny')!.commit,
      ...{ bytes, total: bytes, files: { done: 4, total: 4 }, entry: 'library/acme--tiny', error: null },
    })
    expect(existsSync(path.join(test.workspace, 'models/acme--tiny/README.md'))).toBe(false)
    expect((await test.studio.models.library.get('library/acme--tiny')).state).toBe('ready')
    expect(test.of('models/changed').length).toBeGreaterThan(0)
    expect(test.of('download/changed').at(-1)?.download.state).toBe('done')
    const [found] = await test.studio.hub.search('model', 'tiny', 10)
    expect(found.entry).toBe('library/acme--tiny')
  })

  it('of a data set goes to the data sets', async () => {
    const { id } = await add('acme/rows', 'dataset')
    await reaches(id, 'done')
    expect((await test.studio.datasets.library.get('library/acme--rows')).files).toHaveLength(1)
  })

  it('paused keeps what came in, also over the end of the app, and goes on from there', async () => {
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    const { id } = await add('acme/tiny')
    await until(() => (stateOf(id)?.bytes ?? 0) > 20_000, 'some bytes are there')
    expect((await test.studio.downloads.pause(id)).state).toBe('paused')
    const before = stateOf(id)!.bytes
    await test.studio.shutdown(0)
    hub.faultOf = () => null
    test = testStudio({ hub: hub.endpoint, secrets, again: test })
    await test.studio.start()
    expect(stateOf(id)).toMatchObject({ state: 'paused', name: 'acme/tiny' })
    await test.studio.downloads.resume(id)
    await reaches(id, 'done')
    const sent = hub.sent.get('acme/tiny')!.filter(({ path: at }) => at === 'model.safetensors')
    expect(sent.at(-1)!.from).toBeGreaterThan(0)
    expect(before).toBeGreaterThan(0)
  })

  it('under way when the app ends is paused at the next start', async () => {
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    const { id } = await add('acme/tiny')
    await until(() => (stateOf(id)?.bytes ?? 0) > 5_000, 'some bytes are there')
    await test.studio.shutdown(0)
    test = testStudio({ hub: hub.endpoint, secrets, again: test })
    await test.studio.start()
    expect(stateOf(id)?.state).toBe('paused')
  })

  it('removed takes away what came in, and one that is done only its line', async () => {
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    const { id } = await add('acme/tiny')
    await until(() => (stateOf(id)?.bytes ?? 0) > 20_000, 'some bytes are there')
    expect(await test.studio.downloads.remove(id)).toBeGreaterThan(5_000)
    expect(existsSync(path.join(test.workspace, 'models/acme--tiny'))).toBe(false)
    expect(test.studio.downloads.list()).toEqual([])
    hub.faultOf = () => null
    const again = await add('acme/tiny')
    await reaches(again.id, 'done')
    expect(await test.studio.downloads.remove(again.id)).toBe(0)
    expect(statSync(path.join(test.workspace, 'models/acme--tiny/model.safetensors')).size).toBe(model[3].bytes.length)
  })

  it('that mends a finished model takes back only its own, when it is removed', async () => {
    const { id } = await add('acme/tiny')
    await reaches(id, 'done')
    const folder = path.join(test.workspace, 'models/acme--tiny')
    rmSync(path.join(folder, 'model.safetensors'))
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    const again = await add('acme/tiny')
    await until(() => existsSync(path.join(folder, 'model.safetensors.partial')), 'it is under way')
    await test.studio.downloads.pause(again.id)
    expect((await test.studio.models.library.get('library/acme--tiny')).state).toBe('incomplete')
    await test.studio.downloads.remove(again.id)
    expect(readdirSync(folder).sort()).toEqual([
      '.recursivemas-hub.json',
      'config.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ])
    expect(await test.studio.models.library.get('library/acme--tiny')).toMatchObject({
      state: 'unusable',
      source: { kind: 'hub', name: 'acme/tiny' },
    })
    hub.faultOf = () => null
    await reaches((await add('acme/tiny')).id, 'done')
    expect((await test.studio.models.library.get('library/acme--tiny')).state).toBe('ready')
  })

  it('repairs what is damaged or missing of a model, and nothing else', async () => {
    await reaches((await add('acme/tiny')).id, 'done')
    const folder = path.join(test.workspace, 'models/acme--tiny')
    const library = test.studio.models.library
    await expect(library.repairOf('library/acme--tiny')).rejects.toMatchObject({ next: 'Check its files first.' })
    const weights = path.join(folder, 'model.safetensors')
    const { atime, mtime } = statSync(weights)
    const bytes = readFileSync(weights)
    bytes[bytes.length - 1] ^= 1
    writeFileSync(weights, bytes)
    // a disk that loses a bit changes no time
    utimesSync(weights, atime, mtime)
    rmSync(path.join(folder, 'tokenizer.json'))
    await test.studio.models.verify('library/acme--tiny')
    const before = await library.get('library/acme--tiny')
    expect(before).toMatchObject({ state: 'unusable', problem: { next: expect.stringContaining('Repair the model') } })
    expect([...before.damaged].sort()).toEqual(['model.safetensors', 'tokenizer.json'])
    hub.sent.clear()
    const handlers = modelHandlers(() => test.studio, {
      reveal: () => Promise.resolve(),
      chooseFolder: () => Promise.resolve(null),
    })
    const { id } = requests['models/repair'].result.parse(await handlers['models/repair']({ id: 'library/acme--tiny' }))
    await reaches(id, 'done')
    expect([...new Set(hub.sent.get('acme/tiny')!.map(({ path: at }) => at))].sort()).toEqual([
      'model.safetensors',
      'tokenizer.json',
    ])
    expect(readFileSync(weights).equals(model[3].bytes)).toBe(true)
    expect(await library.get('library/acme--tiny')).toMatchObject({ state: 'ready', damaged: [], problem: null })
  })

  it('of a newer commit lies beside the one that is there', async () => {
    await reaches((await add('acme/tiny')).id, 'done')
    const { commit: first, ...same } = hub.repositories.get('acme/tiny')!
    const second = 'e'.repeat(40)
    hub.repositories.set('acme/tiny', { ...same, commit: second })
    const { id } = await add('acme/tiny')
    await reaches(id, 'done')
    const name = `acme--tiny--${second.slice(0, 8)}`
    expect(stateOf(id)).toMatchObject({ commit: second, entry: `library/${name}` })
    const commitOf = async (entry: string) => (await test.studio.models.library.get(entry)).source
    expect(await commitOf('library/acme--tiny')).toMatchObject({ commit: first })
    expect(await commitOf(`library/${name}`)).toMatchObject({ commit: second })
  })

  it('begun at another hub says which, and stays', async () => {
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    const { id } = await add('acme/tiny')
    await until(() => (stateOf(id)?.bytes ?? 0) > 5_000, 'some bytes are there')
    await test.studio.shutdown(0)
    const other = new FakeHub()
    await other.start()
    other.add('acme/tiny', { kind: 'model', files: model })
    test = testStudio({ hub: other.endpoint, secrets, again: test })
    await test.studio.start()
    await test.studio.downloads.resume(id)
    await reaches(id, 'failed')
    expect(stateOf(id)!.error!.next).toContain(`Set the hub address back to ${hub.endpoint}`)
    await other.stop()
  })

  it('resumed while its pause takes effect goes on, and removed while it waits does not begin', async () => {
    hub.add('acme/second', { kind: 'model', files: model })
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    const { id } = await add('acme/tiny')
    await add('acme/second')
    await until(() => (stateOf(id)?.bytes ?? 0) > 5_000, 'some bytes are there')
    const third = await add('acme/rows', 'dataset')
    const [, resumed, freed] = await Promise.all([
      test.studio.downloads.pause(id),
      test.studio.downloads.resume(id),
      test.studio.downloads.remove(third.id),
    ])
    expect(freed).toBe(0)
    expect(['queued', 'preparing', 'running']).toContain(resumed.state)
    expect(hub.sent.get('acme/rows') ?? []).toEqual([])
    hub.faultOf = () => null
    await reaches(id, 'done')
  })

  it.each(['{', '{"format":"recursivemas-downloads/1","downloads":[{"folder":"../.."}]}'])(
    'list that is damaged (%s) is set aside, and the app starts',
    async (text) => {
      await test.studio.shutdown(0)
      const list = path.join(test.workspace, 'downloads.json')
      writeFileSync(list, text)
      test = testStudio({ hub: hub.endpoint, secrets, again: test })
      await test.studio.start()
      expect(test.studio.downloads.list()).toEqual([])
      expect(readFileSync(`${list}.damaged`, 'utf8')).toBe(text)
      expect(test.problems).toMatchObject([{ what: 'The list of downloads could not be read.' }])
      await reaches((await add('acme/tiny')).id, 'done')
    },
  )

  it('whose folder the list puts elsewhere is none', () => {
    for (const folder of ['..', '.', 'a/../..', 'a\\b', '']) expect(isFolderName(folder)).toBe(false)
    expect(isFolderName('acme--tiny')).toBe(true)
  })

  it('that the hub refuses has failed with the reason, and can be tried again once it is mended', async () => {
    const { id } = await add('acme/gated')
    await reaches(id, 'failed')
    expect(stateOf(id)!.error!.next).toContain(`${hub.endpoint}/acme/gated`)
    await test.studio.hub.setKey('hub-token', goodToken)
    await test.studio.downloads.resume(id)
    await reaches(id, 'done')
    expect(stateOf(id)!.error).toBeNull()
    expect(readFileSync(path.join(test.workspace, 'downloads.json'), 'utf8')).not.toContain(goodToken)
  })

  it('waits for its turn behind two others', async () => {
    hub.add('acme/second', { kind: 'model', files: model })
    hub.faultOf = (_, at) => (at === 'model.safetensors' ? { kind: 'slow' } : null)
    await add('acme/tiny')
    await add('acme/second')
    const third = await add('acme/rows', 'dataset')
    expect(third).toMatchObject({ state: 'queued', queuePosition: 0 })
    expect(await add('acme/rows', 'dataset')).toMatchObject({ id: third.id })
    hub.faultOf = () => null
    await test.studio.downloads.pause(test.studio.downloads.list()[0].id)
    await reaches(third.id, 'done')
  })
})

describe('the hub', () => {
  it('says of a model what it is and whether it would run here, before anything is downloaded', async () => {
    const view = await test.studio.hub.repository('model', 'acme/tiny', 'main')
    requests['hub/repository'].result.parse(view)
    const config = JSON.parse(readFileSync(path.join(planner, 'config.json'), 'utf8')) as Record<string, unknown>
    expect(view).toMatchObject({
      ...{ name: 'acme/tiny', licence: 'mit', page: `${hub.endpoint}/acme/tiny`, entry: null },
      model: { modelType: config.model_type, supported: true, problem: null, hiddenSize: config.hidden_size },
    })
    expect(view.files.filter(({ needed }) => !needed).map(({ path: at }) => at)).toEqual(['README.md'])
    expect(view.allBytes - view.neededBytes).toBe(9)
    expect(view.model!.fit!.verdict).toBe('fits')
    await reaches((await add('acme/tiny')).id, 'done')
    const here = await test.studio.models.library.get('library/acme--tiny')
    expect(view.model!.parameters).toBe(here.parameters)
    expect(view.model!.fit!.total).toBe(here.fit!.total)
  })

  it('says why a model would not run, and what is missing', async () => {
    const other = { path: 'config.json', bytes: Buffer.from('{"model_type":"bert"}'), lfs: false }
    const [config, tokenizer, , weights] = model
    const empty = (at: string) => ({ ...weights, path: at })
    const problemOf = async (name: string, files: typeof model) => {
      hub.add(name, { kind: 'model', files })
      const view = await test.studio.hub.repository('model', name, 'main')
      requests['hub/repository'].result.parse(view)
      expect(view.model!.supported).toBe(false)
      expect(view.model!.problem!.what).not.toBe('')
      return `${view.model!.problem!.why} ${view.model!.problem!.next}`
    }
    const bert = await problemOf('acme/bert', [other, weights])
    for (const word of ['"bert"', ...Object.keys(families)]) expect(bert).toContain(word)
    expect(await problemOf('acme/broken', [{ ...other, bytes: Buffer.from('{') }, weights])).toContain('not JSON')
    expect(await problemOf('acme/null', [{ ...other, bytes: Buffer.from('null') }, weights])).toContain('no settings')
    expect(await problemOf('acme/none', [weights])).toContain('It has no config.json and no tokenizer.json.')
    expect(await problemOf('acme/gguf', [empty('tiny-q4.gguf')])).toContain(
      'It has no config.json, .safetensors file and no tokenizer.json; its weights are GGUF files, which are not read.',
    )
    expect(
      await problemOf('acme/torch', [config, tokenizer, empty('pytorch_model.bin'), empty('model.onnx')]),
    ).toContain('It has no .safetensors file; its weights are PyTorch and ONNX files, which are not read.')
    expect(await problemOf('acme/links', [empty('outer_12.pt')])).toContain('but link files')
  })

  it('of a gated model that it may not read it does not say that it does not run', async () => {
    const { gated, model: shown } = await test.studio.hub.repository('model', 'acme/gated', 'main')
    expect(gated).toBe(true)
    expect(shown).toMatchObject({ supported: null, problem: { next: expect.stringContaining('acme/gated') } })
    await test.studio.hub.setKey('hub-token', goodToken)
    const read = await test.studio.hub.repository('model', 'acme/gated', 'main')
    expect(read.model).toMatchObject({ supported: true, problem: null })
  })
})

describe('keys', () => {
  const shell = {
    openPage: () => Promise.resolve(),
    reveal: () => Promise.resolve(),
    chooseFolder: () => Promise.resolve(null),
  }

  it('are told apart from none, and never shown', async () => {
    const handlers = { ...hubHandlers(() => test.studio, shell), ...modelHandlers(() => test.studio, shell) }
    const none = { name: 'hub-token', set: false, place: null, problem: null }
    expect(await handlers['keys/list']()).toEqual({ keys: [none] })
    const set = { ...none, set: true, place: 'key-store' }
    expect(await handlers['keys/set']({ name: 'hub-token', value: ` ${goodToken}\n` })).toEqual(set)
    // each hub has its own
    expect([...store.keys()]).toEqual([`hub-token ${new URL(hub.endpoint).host}`])
    expect([...store.values()]).toEqual([goodToken])
    expect(JSON.stringify(test.sent)).not.toContain(goodToken)
    expect(await handlers['keys/remove']({ name: 'hub-token' })).toEqual(none)
    expect(await handlers['models/importFolder']()).toEqual({ model: null })
  })

  it('of one hub are not sent to another, and none goes out unencrypted', async () => {
    await test.studio.hub.setKey('hub-token', goodToken)
    const other = new FakeHub()
    await other.start()
    other.add('acme/gated', { kind: 'model', files: model, gated: true })
    let endpoint = other.endpoint
    const desk = new HubDesk({
      ...{ places: new Places(test.workspace), secrets },
      endpoint: () => endpoint,
      entryOf: () => Promise.resolve(null),
    })
    await desk.repository('model', 'acme/gated', 'main')
    expect([...other.authorizations].filter(Boolean)).toEqual([])
    expect(await desk.keys()).toMatchObject([{ set: false }])
    endpoint = 'http://hub.example'
    await expect(desk.setKey('hub-token', goodToken)).rejects.toMatchObject({
      why: expect.stringContaining('without encryption'),
    })
    expect(store.size).toBe(1)
    expect(openHub({ endpoint, token: goodToken }).hasToken).toBe(false)
    await other.stop()
  })

  it('that can be none are refused without being quoted', async () => {
    const error = await test.studio.hub.setKey('hub-token', 'hf_two words').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UserError)
    expect(JSON.stringify({ ...(error as UserError) })).not.toContain('two words')
  })

  it('hold for this session only where the system has no key store, and say so', async () => {
    const other = testStudio({ hub: hub.endpoint })
    await other.studio.start()
    expect(await other.studio.hub.setKey('hub-token', goodToken)).toMatchObject({
      set: true,
      place: 'session',
      problem: { why: expect.any(String) },
    })
    expect((await other.studio.hub.repository('model', 'acme/gated', 'main')).gated).toBe(true)
    expect([...hub.authorizations]).toContain(`Bearer ${goodToken}`)
    await other.studio.shutdown(0)
    other.remove()
  })
})

describe('the rate', () => {
  it('is known after three seconds, smoothed over the last eight, and gives the time left', () => {
    const rate = new DownloadRate()
    rate.add(0, 0)
    rate.add(1000, 1000)
    expect(rate.rate(2000)).toBeNull()
    for (let second = 2; second <= 20; second++)
      rate.add(second * 1000, second < 10 ? second * 1000 : 9000 + (second - 9) * 500)
    expect(rate.rate(20_000)).toBeCloseTo(500, 6)
    expect(rate.secondsLeft(20_000, 14_500 + 1000)).toBeCloseTo(2, 6)
    rate.add(21_000, 100)
    expect(rate.rate(21_000)).toBeNull()
  })
})
