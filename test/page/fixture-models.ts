/** Made-up models, downloads, a hub and keys. `models=none` in the address: an empty library; `keys=set|session|none`. */
import type { Answers } from './fixture-bridge'
import type {
  CachedModel,
  DownloadView,
  EventName,
  EventPayload,
  FoundRepository,
  KeyView,
  MemoryFit,
  ModelView,
  RepositoryView,
} from '../../src-main/bridge/contract'

type Emit = <N extends EventName>(name: N, payload: EventPayload<N>) => void

const now = Date.now()
const day = 86_400_000
const gb = 1024 ** 3
const mb = 1024 ** 2
const endpoint = 'https://huggingface.co'
const places = '/home/maria/RecursiveMAS/library/models'
const available = 54.2 * gb

function fit(parameters: number, width: number, layers: number): MemoryFit {
  const parts = [
    { name: 'Weights', bytes: parameters * 4 },
    { name: 'States and gradients', bytes: width * layers * 700_000 },
    { name: 'Cache', bytes: width * layers * 90_000 },
  ]
  const total = parts.reduce((sum, part) => sum + part.bytes, 0)
  const verdict = total > available ? 'too-large' : total > 0.9 * available ? 'tight' : 'fits'
  const note = verdict === 'fits' ? null : 'One agent at a time is held in memory; rounds take longer.'
  return { parts, total, available, verdict, note: verdict === 'too-large' ? null : note }
}

interface Known {
  readonly name: string
  readonly type: string
  readonly parameters: number
  readonly width: number
  readonly layers: number
  readonly vocabulary: number
  readonly positions: number
  readonly licence: string | null
  readonly commit: string
}

const known: Known[] = [
  [
    'Qwen/Qwen3-1.7B',
    'qwen3',
    1_720_574_976,
    2048,
    28,
    151_936,
    40_960,
    'apache-2.0',
    '70d244cc86ccca08cf5af4e1e306ecf908b1ad5e',
  ],
  [
    'meta-llama/Llama-3.2-1B-Instruct',
    'llama',
    1_235_814_400,
    2048,
    16,
    128_256,
    131_072,
    'llama3.2',
    '9213176726f574b556790deb65791e0c5aa438b6',
  ],
  [
    'Qwen/Qwen2.5-Math-1.5B-Instruct',
    'qwen2',
    1_543_714_304,
    1536,
    28,
    151_936,
    4096,
    'apache-2.0',
    'aafeb0fc6f22cbf0eaeed126eff8be45b0360a35',
  ],
  [
    'google/gemma-3-1b-it',
    'gemma3_text',
    999_885_952,
    1152,
    26,
    262_144,
    32_768,
    'gemma',
    'dcc83ea841ab6100d6b47a070329e1ba4cf78752',
  ],
  [
    'mistralai/Mistral-7B-Instruct-v0.3',
    'mistral',
    7_248_023_552,
    4096,
    32,
    32_768,
    32_768,
    'apache-2.0',
    'e0bc86c23ce5aae1db576c8cca6f06f1f73af2db',
  ],
].map(
  ([name, type, parameters, width, layers, vocabulary, positions, licence, commit]) =>
    ({
      name,
      type,
      parameters,
      width,
      layers,
      vocabulary,
      positions,
      licence,
      commit,
    }) as Known,
)

function model(one: Known, fields: Partial<ModelView> = {}): ModelView {
  const short = one.name.split('/').at(-1)!
  return {
    id: `library/${short}`,
    name: short,
    folder: `${places}/${short}`,
    source: { kind: 'hub', endpoint, name: one.name, revision: 'main', commit: one.commit },
    licence: one.licence,
    bytes: one.parameters * 2 + 14 * mb,
    added: now - 6 * day,
    verified: now - 2 * day,
    damaged: [],
    modelType: one.type,
    hiddenSize: one.width,
    layers: one.layers,
    parameters: one.parameters,
    vocabulary: one.vocabulary,
    maxPositions: one.positions,
    dtypes: ['BF16'],
    hasChatTemplate: true,
    state: 'ready',
    problem: null,
    usedBy: [],
    fit: fit(one.parameters, one.width, one.layers),
    ...fields,
  }
}

function library(): ModelView[] {
  const unknown = {
    modelType: null,
    hiddenSize: null,
    layers: null,
    parameters: null,
    vocabulary: null,
    maxPositions: null,
  }
  const tiny = {
    ...known[0],
    name: 'vel-planner',
    parameters: 165_184,
    width: 64,
    layers: 3,
    vocabulary: 240,
    positions: 512,
  }
  return [
    model(known[0], { usedBy: [{ project: 'Maths', title: 'Maths with three roles', as: ['planner', 'critic'] }] }),
    model(known[1], {
      usedBy: [{ project: 'Maths', title: 'Maths with three roles', as: ['solver'] }],
      verified: null,
    }),
    model(known[2], {
      source: { kind: 'imported', from: '/data/shared/hf/Qwen2.5-Math-1.5B-Instruct', shared: true },
      licence: null,
    }),
    model(known[4], { added: now - 40 * day }),
    model(known[3], {
      ...unknown,
      bytes: 610 * mb,
      dtypes: [],
      hasChatTemplate: null,
      state: 'incomplete',
      verified: null,
      fit: null,
      problem: {
        what: 'gemma-3-1b-it is not complete.',
        why: 'Its download is paused: 610 MB of 1.9 GB are there.',
        next: 'Resume the download.',
      },
    }),
    model(known[0], {
      ...unknown,
      id: 'library/old-mamba',
      name: 'old-mamba',
      folder: `${places}/old-mamba`,
      source: { kind: 'imported', from: '/home/maria/models/old-mamba', shared: false },
      modelType: 'mamba',
      bytes: 2.6 * gb,
      licence: null,
      verified: null,
      state: 'unusable',
      fit: null,
      problem: {
        what: 'old-mamba cannot be used.',
        why: 'Models of the type “mamba” are not supported.',
        next: 'Choose a llama, mistral, qwen2, qwen3, gemma3 or qwen3_5 model.',
      },
    }),
    model(tiny, {
      id: 'Demo/planner',
      name: 'vel-planner',
      source: { kind: 'project', project: 'Demo' },
      licence: null,
      bytes: 660_000,
      dtypes: ['F32'],
      verified: null,
      usedBy: [{ project: 'Demo', title: 'Demo', as: ['planner'] }],
      fit: fit(165_184, 64, 3),
    }),
  ]
}

function downloads(): DownloadView[] {
  const base = {
    kind: 'model',
    revision: 'main',
    queuePosition: null,
    note: null,
    error: null,
    ended: null,
    entry: null,
  } as const
  const at = (name: string): string => `${places}/${name.split('/').at(-1)}`
  return [
    {
      ...base,
      id: 'd-qwen3-4b',
      name: 'Qwen/Qwen3-4B',
      commit: '1cfa9a7208912126459214e8b04321603b3df60c',
      state: 'running',
      folder: at('Qwen/Qwen3-4B'),
      bytes: 3.1 * gb,
      total: 7.5 * gb,
      rate: 86 * mb,
      secondsLeft: 52,
      files: { done: 5, total: 9 },
      created: now - 90_000,
    },
    {
      ...base,
      id: 'd-gsm8k',
      kind: 'dataset',
      name: 'openai/gsm8k',
      commit: null,
      state: 'queued',
      folder: '/home/maria/RecursiveMAS/library/datasets/gsm8k',
      bytes: 0,
      total: null,
      rate: null,
      secondsLeft: null,
      files: null,
      queuePosition: 0,
      created: now - 60_000,
    },
    {
      ...base,
      id: 'd-deepseek',
      name: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B',
      commit: 'ad9f0ae0864d7fbcd1cd905e3c6c5b069cc8b562',
      state: 'waiting',
      folder: at('DeepSeek-R1-Distill-Qwen-1.5B'),
      bytes: 1.1 * gb,
      total: 3.4 * gb,
      rate: null,
      secondsLeft: null,
      files: { done: 3, total: 5 },
      created: now - 50_000,
      note: 'huggingface.co takes no more requests for now (429) and asks to wait 40 s. Tried again at 14:32.',
    },
    {
      ...base,
      id: 'd-gemma',
      name: 'google/gemma-3-1b-it',
      commit: known[3].commit,
      state: 'paused',
      folder: at('gemma-3-1b-it'),
      bytes: 610 * mb,
      total: 1.9 * gb,
      rate: null,
      secondsLeft: null,
      files: { done: 4, total: 6 },
      created: now - day,
    },
    {
      ...base,
      id: 'd-llama',
      name: 'meta-llama/Llama-3.1-8B-Instruct',
      commit: null,
      state: 'failed',
      folder: at('Llama-3.1-8B-Instruct'),
      bytes: 0,
      total: null,
      rate: null,
      secondsLeft: null,
      files: null,
      created: now - 30_000,
      ended: now - 20_000,
      error: {
        what: 'meta-llama/Llama-3.1-8B-Instruct cannot be read.',
        why: 'It is gated: its authors want their conditions to be accepted first.',
        next: 'Accept them at https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct and give an access token of yours from https://huggingface.co/settings/tokens.',
      },
    },
    {
      ...base,
      id: 'd-qwen3-1b',
      name: known[0].name,
      commit: known[0].commit,
      state: 'done',
      folder: at(known[0].name),
      bytes: 3.2 * gb,
      total: 3.2 * gb,
      rate: null,
      secondsLeft: null,
      files: { done: 8, total: 8 },
      created: now - 6 * day,
      ended: now - 6 * day,
      entry: 'library/Qwen3-1.7B',
    },
  ]
}

const found: FoundRepository[] = [
  ['Qwen/Qwen3-1.7B', 4_812_331, 412, 'apache-2.0', false, 'library/Qwen3-1.7B'],
  ['Qwen/Qwen3-4B', 3_210_874, 561, 'apache-2.0', false, null],
  ['meta-llama/Llama-3.1-8B-Instruct', 2_987_120, 5_012, 'llama3.1', true, null],
  ['Qwen/Qwen3-32B', 901_442, 640, 'apache-2.0', false, null],
  ['google/gemma-3-1b-it', 744_120, 722, 'gemma', true, 'library/gemma-3-1b-it'],
  ['state-spaces/mamba-1.4b', 41_230, 96, 'apache-2.0', false, null],
  ['some-lab/an-experiment-with-a-rather-long-name-of-its-own-v2-instruct-preview', 812, 3, null, false, null],
].map(
  ([name, count, likes, licence, gated, entry], i) =>
    ({
      kind: 'model',
      name,
      downloads: count,
      likes,
      licence,
      gated,
      entry,
      private: false,
      updated: now - (i * 37 + 5) * day,
    }) as FoundRepository,
)

const foundSets: FoundRepository[] = ['openai/gsm8k', 'HuggingFaceH4/MATH-500', 'openai/openai_humaneval'].map(
  (name, i) => ({
    kind: 'dataset',
    name,
    downloads: 412_330 / (i + 1),
    likes: 812,
    licence: 'mit',
    gated: false,
    private: false,
    updated: now - 300 * day,
    entry: null,
  }),
)

function repository({
  kind,
  name,
  revision,
}: {
  kind: 'model' | 'dataset'
  name: string
  revision: string
}): RepositoryView {
  const one = [...found, ...foundSets].find((each) => each.name === name)
  if (!one) throw new Error(`there is no ${name}`)
  const large = name.includes('32B')
  const unsupported = name.includes('mamba')
  const shards = large ? 17 : 2
  const weights = large ? 3.6 * gb : 1.9 * gb
  const all =
    kind === 'dataset'
      ? [
          { path: 'main/train-00000-of-00001.parquet', bytes: 2.3 * mb, needed: true },
          { path: 'main/test-00000-of-00001.parquet', bytes: 419_000, needed: true },
          { path: 'README.md', bytes: 7_900, needed: false },
        ]
      : [
          { path: 'config.json', bytes: 726, needed: true },
          { path: 'generation_config.json', bytes: 239, needed: true },
          ...Array.from({ length: shards }, (_, i) => ({
            path: `model-${String(i + 1).padStart(5, '0')}-of-${String(shards).padStart(5, '0')}.safetensors`,
            bytes: weights,
            needed: true,
          })),
          { path: 'model.safetensors.index.json', bytes: 25_600, needed: true },
          { path: 'tokenizer.json', bytes: 11.4 * mb, needed: true },
          { path: 'tokenizer_config.json', bytes: 9_730, needed: true },
          { path: 'original/consolidated.00.pth', bytes: weights * shards, needed: false },
          { path: 'README.md', bytes: 16_200, needed: false },
          { path: 'LICENSE', bytes: 11_300, needed: false },
        ]
  const size = (files: typeof all): number => files.reduce((sum, file) => sum + file.bytes, 0)
  const short = name.split('/').at(-1)!
  return {
    ...one,
    endpoint,
    page: `${endpoint}/${name}`,
    revision,
    commit: '1cfa9a7208912126459214e8b04321603b3df60c',
    files: all,
    neededBytes: size(all.filter((file) => file.needed)),
    allBytes: size(all),
    folder: kind === 'model' ? `${places}/${short}` : `/home/maria/RecursiveMAS/library/datasets/${short}`,
    freeBytes: large ? 41 * gb : 568 * gb,
    model:
      kind === 'dataset'
        ? null
        : {
            modelType: unsupported
              ? 'mamba'
              : name.includes('gemma')
                ? 'gemma3_text'
                : name.includes('lama')
                  ? 'llama'
                  : 'qwen3',
            supported: !unsupported,
            problem: unsupported
              ? {
                  what: 'This model does not run here.',
                  why: 'Models of the type "mamba" are not supported.',
                  next: 'Choose a model of a supported type.',
                }
              : null,
            hiddenSize: unsupported ? null : large ? 5120 : 2560,
            layers: unsupported ? null : large ? 64 : 36,
            parameters: unsupported ? null : large ? 32_762_123_264 : 4_022_468_096,
            fit: unsupported ? null : large ? fit(32_762_123_264, 5120, 64) : fit(4_022_468_096, 2560, 36),
          },
  }
}

const cached: CachedModel[] = [
  { name: 'Qwen/Qwen3-1.7B', commit: known[0].commit, bytes: 3.8 * gb, complete: true, entry: 'library/Qwen3-1.7B' },
  {
    name: 'HuggingFaceTB/SmolLM2-360M-Instruct',
    commit: 'a10cc1512eabd3dde888204e902eca88bddb4951',
    bytes: 723 * mb,
    complete: true,
    entry: null,
  },
  {
    name: 'mistralai/Mistral-7B-v0.1',
    commit: '27d67f1b5f57dc0953326b2601d68371d40ea8da',
    bytes: 9.1 * gb,
    complete: false,
    entry: null,
  },
]

function damagedState(name: string): Pick<ModelView, 'state' | 'problem'> {
  return {
    state: 'unusable',
    problem: {
      what: `1 file of ${name} is damaged or missing.`,
      why: 'The content is not what the checksum says: model.safetensors.',
      next: 'Repair the model: only these files are downloaded again.',
    },
  }
}

export function modelAnswers(query: URLSearchParams, emit: Emit): Answers {
  const none = query.get('models') === 'none'
  let models = none ? [] : library()
  let queue = none ? [] : downloads()
  const keyState = query.get('keys') ?? 'none'
  let key: KeyView = {
    name: 'hub-token',
    set: keyState !== 'none',
    place: keyState === 'none' ? null : 'key-store',
    problem: null,
  }
  if (keyState === 'session')
    key = {
      ...key,
      place: 'session',
      problem: {
        what: 'The key is kept for this session only.',
        why: 'The system’s key store does not answer (org.freedesktop.secrets is not there).',
        next: 'Unlock or install one (GNOME Keyring, KWallet), then set the key again.',
      },
    }
  const change = (id: string, fields: Partial<DownloadView>): DownloadView => {
    queue = queue.map((each) => (each.id === id ? { ...each, ...fields } : each))
    const download = queue.find((each) => each.id === id)
    if (!download) throw new Error(`no download ${id}`)
    emit('download/changed', { download })
    return download
  }
  setInterval(() => {
    for (const { id, state, bytes, total, rate } of queue) {
      if (state !== 'running' || total === null) continue
      const next = Math.min(total, bytes + (rate ?? 40 * mb) / 4)
      if (next === total) change(id, { state: 'done', bytes: total, ended: Date.now(), entry: 'library/Qwen3-1.7B' })
      else change(id, { bytes: next, secondsLeft: (total - next) / (rate ?? 40 * mb) })
    }
  }, 250)
  return {
    'keys/list': () => ({ keys: [key] }),
    'keys/set': () => (key = { ...key, set: true, place: key.place ?? 'key-store' }),
    'keys/remove': () => (key = { name: 'hub-token', set: false, place: null, problem: null }),
    'hub/search': ({ kind, query: words }) => ({
      found: (kind === 'model' ? found : foundSets).filter(({ name }) =>
        name.toLowerCase().includes(words.toLowerCase()),
      ),
    }),
    'hub/repository': ({ kind, name, revision = 'main' }) => repository({ kind, name, revision }),
    'hub/revisions': () => ({
      revisions: [
        { kind: 'branch', name: 'main', commit: '1cfa9a7208912126459214e8b04321603b3df60c' },
        { kind: 'branch', name: 'refs/pr/3', commit: 'bb1c0a7208912126459214e8b04321603b3df60c' },
        { kind: 'tag', name: 'v1.0', commit: '0c0c0a7208912126459214e8b04321603b3df60c' },
      ],
    }),
    'hub/openPage': () => ({}),
    'downloads/list': () => ({ downloads: queue }),
    'downloads/add': ({ kind, name, revision = 'main' }) => {
      const view = repository({ kind, name, revision })
      const created: DownloadView = {
        id: `d-${queue.length + 1}`,
        kind,
        name,
        revision,
        commit: view.commit,
        state: 'running',
        folder: view.folder,
        bytes: 0,
        total: view.neededBytes,
        rate: null,
        secondsLeft: null,
        files: { done: 0, total: 8 },
        queuePosition: null,
        note: null,
        error: null,
        created: Date.now(),
        ended: null,
        entry: null,
      }
      queue = [...queue, created]
      return created
    },
    'downloads/pause': ({ id }) => change(id, { state: 'paused', rate: null, secondsLeft: null, note: null }),
    'downloads/resume': ({ id }) =>
      change(id, { state: 'running', rate: 86 * mb, total: 7.5 * gb, error: null, ended: null }),
    'downloads/remove': ({ id }) => {
      const bytes = queue.find((each) => each.id === id)?.bytes ?? 0
      queue = queue.filter((each) => each.id !== id)
      return { bytes }
    },
    'models/list': () => ({ models }),
    'models/verify': async ({ id }) => {
      const total = models.find((each) => each.id === id)?.bytes ?? 0
      for (let part = 0; part <= 20; part += 1) {
        emit('models/verifying', { id, bytes: (total * part) / 20, total })
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      const damaged = id.includes('Llama') ? ['model.safetensors'] : []
      models = models.map((each) =>
        each.id === id
          ? { ...each, verified: Date.now(), damaged, ...(damaged.length > 0 ? damagedState(each.name) : {}) }
          : each,
      )
      emit('models/changed', {})
      return id.startsWith('Demo') ? { checked: 0, damaged, noted: 3 } : { checked: 8, damaged, noted: 0 }
    },
    'models/cancelVerify': () => ({}),
    'models/delete': ({ id }) => {
      const bytes = models.find((each) => each.id === id)?.bytes ?? 0
      models = models.filter((each) => each.id !== id)
      return { bytes }
    },
    'models/reveal': () => ({}),
    'models/importFolder': () => ({ model: models[2] ?? null }),
    'models/findCache': () => ({ folder: '/home/maria/.cache/huggingface/hub', models: cached }),
    'models/importCached': () => models[0],
  }
}
