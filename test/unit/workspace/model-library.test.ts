/** Models on disk: what the library says of them, what it brings in, verifies and deletes. */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requests } from '../../../src-main/bridge/contract'
import { UserError } from '../../../src-main/engine/errors'
import { recordName } from '../../../src-main/hub/safe-path'
import { cachedModels, importModel, snapshotFolder, usualCache } from '../../../src-main/workspace/model-import'
import { ModelDesk } from '../../../src-main/workspace/model-desk'
import { pipeline as pipelineFile } from '../../../src-main/workspace/pipeline'
import { Places } from '../../../src-main/workspace/places'
import { ProjectStore } from '../../../src-main/workspace/project-store'
import { mountVolume } from '../../volumes'
import { demoPipeline } from '../jobs/test-studio'

const demo = path.resolve('native-assets/demo/models')
const commit = 'c0ffee'.repeat(6) + 'c0de'
let root: string
let places: Places
let projects: ProjectStore
let desk: ModelDesk
let events: [string, unknown][]
let defects: unknown[]

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'models ünd mehr-'))
  places = new Places(path.join(root, 'work space'))
  projects = new ProjectStore(places)
  events = []
  defects = []
  desk = newDesk()
})
const newDesk = () =>
  new ModelDesk({
    places,
    projects,
    send: (name, payload) => void events.push([name, payload]),
    onProblem: (error) => void defects.push(error),
  })
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A downloaded model as the downloader leaves it. */
function downloaded(name = 'acme--tiny', change: Record<string, unknown> = {}): string {
  const folder = path.join(places.models, name)
  cpSync(path.join(demo, 'planner'), folder, { recursive: true })
  const files = ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'].map((file) => {
    const bytes = readFileSync(path.join(folder, file))
    const hex = createHash('sha256').update(bytes).digest('hex')
    return { path: file, size: bytes.length, checksum: { kind: 'sha256', hex }, foundThere: false, verifiedAt: 1000 }
  })
  const record = {
    ...{ format: 'recursivemas-hub/1', endpoint: 'https://huggingface.co', kind: 'model', name: 'acme/tiny' },
    ...{ revision: 'main', commit, licence: 'mit', gated: false, complete: true, files, ...change },
  }
  writeFileSync(path.join(folder, recordName), JSON.stringify(record))
  return folder
}

const refused = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof UserError)) throw error ?? new Error('not refused')
  return `${error.what} ${error.why}`
}

describe('the list', () => {
  it('says what a downloaded model is and where it is from', async () => {
    const folder = downloaded()
    const config = JSON.parse(readFileSync(path.join(demo, 'planner/config.json'), 'utf8'))
    const [model] = await desk.library.list()
    expect(model).toMatchObject({
      ...{ id: 'library/acme--tiny', name: 'acme/tiny', state: 'ready', problem: null, licence: 'mit' },
      ...{ verified: statSync(path.join(folder, recordName)).mtimeMs, damaged: [] },
      source: { kind: 'hub', endpoint: 'https://huggingface.co', name: 'acme/tiny', revision: 'main', commit },
      ...{ modelType: config.model_type, hiddenSize: config.hidden_size, layers: config.num_hidden_layers },
      ...{ vocabulary: config.vocab_size, dtypes: ['F32'], hasChatTemplate: true, usedBy: [] },
    })
    const tensors = statSync(path.join(demo, 'planner/model.safetensors')).size
    expect(model.parameters! * 4).toBeLessThan(tensors)
    expect(model.parameters! * 4).toBeGreaterThan(0.97 * tensors)
    expect(model.fit!.total).toBe(model.fit!.parts.reduce((n, { bytes }) => n + bytes, 0))
    expect(model.fit!.verdict).toBe('fits')
  })

  it('keeps an unfinished, a broken and a foreign folder apart from those that can be used', async () => {
    downloaded('a--paused', { complete: false })
    rmSync(path.join(downloaded('b--broken'), 'model.safetensors'))
    writeFileSync(path.join(downloaded('c--record'), recordName), '{')
    mkdirSync(path.join(places.models, 'd empty'), { recursive: true })
    downloaded('e--good')
    const found = (await desk.library.list()).map(({ id, state }) => [id, state])
    expect(found).toEqual([
      ['library/a--paused', 'incomplete'],
      ['library/b--broken', 'unusable'],
      ['library/c--record', 'unusable'],
      ['library/e--good', 'ready'],
    ])
  })

  it('of one folder that cannot be read says why, and keeps the others', async () => {
    const record = path.join(downloaded('a--record'), recordName)
    rmSync(record)
    mkdirSync(record)
    const source = path.join(downloaded('b--source'), 'model-source.json')
    rmSync(path.join(path.dirname(source), recordName))
    mkdirSync(source)
    const config = path.join(downloaded('c--config'), 'config.json')
    rmSync(config)
    mkdirSync(config)
    mkdirSync(path.join(downloaded('d--check'), '.recursivemas-check.json'))
    downloaded('e--good')
    const found = await desk.library.list()
    expect(found.map(({ id, state }) => [id, state])).toEqual([
      ['library/a--record', 'unusable'],
      ['library/b--source', 'unusable'],
      ['library/c--config', 'unusable'],
      // what cannot be understood of the last look is no fault of the model
      ['library/d--check', 'ready'],
      ['library/e--good', 'ready'],
    ])
    expect(found[0].problem).toMatchObject({ what: 'The model "a--record" cannot be read.' })
    expect(found[0].problem!.why).toMatch(/EISDIR/)
    expect(defects).toEqual([])
  })

  it('refuses a config with more layers than any model has at once, before anything is built of them', async () => {
    const config = path.join(downloaded('a--deep'), 'config.json')
    writeFileSync(config, readFileSync(config, 'utf8').replace(/("num_hidden_layers": *)\d+/, '$110000000'))
    downloaded('e--good')
    const [deep, good] = await desk.library.list()
    expect(deep.problem!.why).toBe('Its field "num_hidden_layers" is 10000000, but at most 256 is needed.')
    expect(good.state).toBe('ready')
  })

  it('reads a model again where its files changed', async () => {
    const folder = downloaded()
    expect((await desk.library.get('library/acme--tiny')).state).toBe('ready')
    renameSync(path.join(folder, 'tokenizer.json'), path.join(folder, 'other.json'))
    expect((await desk.library.get('library/acme--tiny')).problem?.why).toContain('tokenizer.json')
  })

  it('has the models of projects, and says who uses what', async () => {
    const pipeline = pipelineFile.parse(demoPipeline())
    mkdirSync(places.assets('Demo'), { recursive: true })
    cpSync(demo, path.join(places.assets('Demo'), 'models'), { recursive: true })
    await projects.create('Demo', { version: 1, title: 'Demo', description: '', created: 1, demo: true, pipeline })
    const models = await desk.library.list()
    expect(models.map(({ id }) => id)).toContain('Demo/models/planner')
    expect(models.find(({ id }) => id === 'Demo/models/planner')).toMatchObject({
      source: { kind: 'project', project: 'Demo' },
      usedBy: [{ project: 'Demo', title: 'Demo', as: ['planner'] }],
    })
    expect(await refused(desk.remove('Demo/models/planner'))).toContain('belongs to its project')
  })
})

describe('verifying', () => {
  it('finds files whose bytes are not those of the checksum, and tells how far it is', async () => {
    const folder = downloaded()
    expect(await desk.verify('library/acme--tiny')).toEqual({ checked: 4, damaged: [], noted: 0 })
    const last = events.filter(([name]) => name === 'models/verifying').at(-1)![1] as { bytes: number; total: number }
    expect(last.bytes).toBe(last.total)
    expect(events.at(-1)![0]).toBe('models/changed')
    const bytes = readFileSync(path.join(folder, 'model.safetensors'))
    bytes[bytes.length - 1] ^= 1
    writeFileSync(path.join(folder, 'model.safetensors'), bytes)
    rmSync(path.join(folder, 'tokenizer.json'))
    expect((await desk.verify('library/acme--tiny')).damaged).toEqual(['model.safetensors', 'tokenizer.json'])
  })

  it('reads files that look unchanged, and is remembered when the app starts anew', async () => {
    const folder = downloaded()
    const weights = path.join(folder, 'model.safetensors')
    const { atime, mtime } = statSync(weights)
    const bytes = readFileSync(weights)
    bytes[bytes.length >> 1] ^= 1
    writeFileSync(weights, bytes)
    utimesSync(weights, atime, mtime)
    const before = Date.now()
    expect((await desk.verify('library/acme--tiny')).damaged).toEqual(['model.safetensors'])
    const again = newDesk()
    const model = await again.library.get('library/acme--tiny')
    expect(model).toMatchObject({ state: 'unusable', damaged: ['model.safetensors'] })
    expect(model.problem!.what).toBe('1 file of acme/tiny is damaged or missing.')
    expect(model.problem!.why).toContain('model.safetensors')
    expect(model.verified).toBeGreaterThanOrEqual(before)
    expect(model.verified).toBeLessThanOrEqual(Date.now())
    expect(await refused(again.library.folder('library/acme--tiny'))).toContain('damaged')
    // with another file in its place the finding says nothing any more
    cpSync(path.join(demo, 'planner/model.safetensors'), weights)
    expect(await again.library.get('library/acme--tiny')).toMatchObject({ state: 'ready', damaged: [] })
  })

  it('notes the checksums of a model that no hub gives any for, and compares with them later', async () => {
    const folder = path.join(places.models, 'own')
    cpSync(path.join(demo, 'planner'), folder, { recursive: true })
    const count = readdirSync(folder).length
    expect(await desk.verify('library/own')).toEqual({ checked: 0, damaged: [], noted: count })
    expect((await desk.library.get('library/own')).verified).not.toBeNull()
    expect(await newDesk().verify('library/own')).toEqual({ checked: count, damaged: [], noted: 0 })
    const config = path.join(folder, 'tokenizer_config.json')
    writeFileSync(config, readFileSync(config, 'utf8').replace('{', '{ '))
    expect(await desk.verify('library/own')).toEqual({ checked: count, damaged: ['tokenizer_config.json'], noted: 0 })
    expect((await newDesk().library.get('library/own')).state).toBe('unusable')
    // the person changed it
    expect(await desk.verify('library/own', true)).toEqual({ checked: 0, damaged: [], noted: count })
    expect(await newDesk().library.get('library/own')).toMatchObject({ state: 'ready', damaged: [] })
  })

  it('is refused while the download is not complete', async () => {
    downloaded('acme--tiny', { complete: false })
    expect(await refused(desk.verify('library/acme--tiny'))).toMatch(/cannot be checked yet.*not complete/)
  })

  it('can be stopped', async () => {
    downloaded()
    const work = refused(desk.verify('library/acme--tiny'))
    desk.cancelVerify('library/acme--tiny')
    await new Promise((resolve) => setTimeout(resolve, 0))
    desk.cancelVerify('library/acme--tiny')
    expect(await work).toContain('stopped')
  })
})

describe('deleting', () => {
  it('is refused while a project that cannot be read names the model', async () => {
    downloaded()
    mkdirSync(places.project('p'), { recursive: true })
    writeFileSync(places.projectFile('p'), '{ "model": "../../models/acme--tiny", ')
    expect(await refused(desk.remove('library/acme--tiny'))).toContain('The project "p" uses it (its file is damaged).')
    writeFileSync(places.projectFile('p'), '{ "model": "../../models/other", ')
    expect(await desk.remove('library/acme--tiny')).toBeGreaterThan(0)
  })

  it('frees the bytes and tells the page', async () => {
    const folder = downloaded()
    const { bytes } = await desk.library.get('library/acme--tiny')
    expect(await desk.remove('library/acme--tiny')).toBe(bytes)
    expect(existsSync(folder)).toBe(false)
    expect(events.map(([name]) => name)).toEqual(['models/changed'])
  })

  it('is refused while a project uses it, naming the project and the role', async () => {
    const folder = downloaded()
    const pipeline = pipelineFile.parse(demoPipeline())
    pipeline.steps[0].spec.model = path.relative(places.assets('P'), folder)
    await projects.create('P', { version: 1, title: 'My project', description: '', created: 1, demo: false, pipeline })
    expect(await refused(desk.remove('library/acme--tiny'))).toMatch(/"My project" uses it \(planner\)/)
    expect(existsSync(folder)).toBe(true)
  })

  it.each(['library/..', 'library/../projects', '../models', 'library/acme--tiny/..'])(
    'is refused for %s',
    async (id) => {
      downloaded()
      expect(await refused(desk.remove(id))).toContain('no such model')
    },
  )
})

describe('bringing in', () => {
  it('a folder: the same bytes under two names, with where they came from', async () => {
    const from = path.join(root, 'mein Modell')
    cpSync(path.join(demo, 'critic'), from, { recursive: true })
    writeFileSync(path.join(from, 'optimizer.pt'), 'training state')
    const model = await desk.bringIn(from, 'mein Modell')
    expect(model).toMatchObject({ state: 'ready', source: { kind: 'imported', from, shared: true } })
    const inode = (folder: string) => statSync(path.join(folder, 'model.safetensors')).ino
    expect(inode(model.folder)).toBe(inode(from))
    expect(existsSync(path.join(model.folder, 'optimizer.pt'))).toBe(false)
    const again = await desk.bringIn(from, 'mein Modell')
    expect(again.id).not.toBe(model.id)
    await desk.remove(model.id)
    expect(existsSync(path.join(from, 'model.safetensors'))).toBe(true)
  })

  it.each<[string, (folder: string) => void, RegExp]>([
    ['no config', (folder) => rmSync(path.join(folder, 'config.json')), /cannot be read/],
    ['no weights', (folder) => rmSync(path.join(folder, 'model.safetensors')), /weights|safetensors/],
    ['no tokenizer', (folder) => rmSync(path.join(folder, 'tokenizer.json')), /tokenizer\.json/],
    ['an unknown family', (folder) => writeFileSync(path.join(folder, 'config.json'), '{"model_type":"gpt2"}'), /gpt2/],
  ])('is refused for a folder with %s, and leaves nothing', async (_, change, message) => {
    const from = path.join(root, 'model')
    cpSync(path.join(demo, 'critic'), from, { recursive: true })
    change(from)
    expect(await refused(importModel(places, from, { name: 'model' }))).toMatch(message)
    expect(await desk.library.list()).toEqual([])
  })

  it('a snapshot of a Hugging Face cache, whose files are links into its blobs', async () => {
    const cache = path.join(root, 'hub')
    const snapshot = snapshotFolder(cache, 'acme/cached', commit)
    mkdirSync(snapshot, { recursive: true })
    mkdirSync(path.join(snapshot, '../../blobs'), { recursive: true })
    for (const file of ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']) {
      cpSync(path.join(demo, 'solver', file), path.join(snapshot, '../../blobs', `${file}-blob`))
      symlinkSync(path.join('../../blobs', `${file}-blob`), path.join(snapshot, file))
    }
    const half = snapshotFolder(cache, 'acme/half', commit)
    mkdirSync(half, { recursive: true })
    symlinkSync('../../blobs/gone', path.join(half, 'model.safetensors'))
    writeFileSync(path.join(half, 'config.json'), readFileSync(path.join(demo, 'solver/config.json')))
    const found = await desk.lookIntoCache(cache)
    expect(found.models.map(({ name, complete, entry }) => [name, complete, entry])).toEqual([
      ['acme/cached', true, null],
      ['acme/half', false, null],
    ])
    const model = await desk.bringInCached('acme/cached', commit)
    expect(model).toMatchObject({ id: 'library/acme--cached', name: 'acme/cached', state: 'ready' })
    expect(statSync(path.join(model.folder, 'model.safetensors')).isFile()).toBe(true)
    expect((await desk.lookIntoCache(cache)).models[0].entry).toBe(model.id)
    await expect(cachedModels(path.join(root, 'nowhere'))).resolves.toEqual([])
  })

  it('two at once get names of their own, whatever letters they have', async () => {
    const from = path.join(root, 'Модель é')
    cpSync(path.join(demo, 'critic'), from, { recursive: true })
    const made = await Promise.all([1, 2].map(() => importModel(places, from, { name: 'Модель é' })))
    expect(made.sort()).toEqual(['Модель é', 'Модель é 2'])
    for (const { id } of await desk.library.list()) {
      expect(requests['models/verify'].params.safeParse({ id }).success).toBe(true)
      expect(await desk.verify(id)).toMatchObject({ damaged: [] })
    }
  })

  it('to another volume copies what fits as a whole, tells how far it is, and leaves nothing when it is stopped', async (context) => {
    const volume = mountVolume('size=3m', places.models)
    if (!volume) return context.skip('no right to mount a small volume')
    try {
      const from = path.join(root, 'model')
      cpSync(path.join(demo, 'critic'), from, { recursive: true })
      expect(await importModel(places, from, { name: 'model' })).toBe('model')
      const stop = new AbortController()
      const total = statSync(path.join(from, 'model.safetensors')).size
      const seen: number[] = []
      const end = importModel(places, from, {
        name: 'again',
        onProgress: (n) => (seen.push(n), stop.abort()),
        signal: stop.signal,
      })
      await expect(end).rejects.toThrow(/abort/i)
      expect(seen[0]).toBeGreaterThan(0)
      expect(seen[0]).toBeLessThan(total)
      expect(readdirSync(places.models)).toEqual(['model'])
      expect((await desk.library.get('library/model')).source).toMatchObject({ kind: 'imported', shared: false })
      writeFileSync(path.join(places.models, 'filler'), Buffer.alloc(1 << 20))
      expect(await refused(importModel(places, from, { name: 'full' }))).toMatch(/have to be copied, but the volume/)
      expect(readdirSync(places.models).sort()).toEqual(['filler', 'model'])
    } finally {
      volume.remove()
    }
  })

  it('finds the cache where Hugging Face puts it', () => {
    expect(usualCache({ HF_HUB_CACHE: '/a' })).toBe('/a')
    expect(usualCache({ HF_HOME: '/b' })).toBe(path.join('/b', 'hub'))
    expect(usualCache({ XDG_CACHE_HOME: '/c' })).toBe(path.join('/c', 'huggingface', 'hub'))
  })
})
