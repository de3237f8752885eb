/** Made-up data sets: a long one whose rows are computed when they are asked for, small ones, and one that cannot be read. */
import type {
  ColumnView,
  DataRow,
  DatasetEntry,
  EventName,
  EventPayload,
  OpenedDataset,
  Reply,
  RequestName,
  RequestParams,
  RowOrderState,
} from '../../src-main/bridge/contract'

type Answers = { [N in RequestName]?: (params: RequestParams<N>) => Extract<Reply<N>, { ok: true }>['value'] }
type Emit = <N extends EventName>(name: N, payload: EventPayload<N>) => void

const day = 86_400_000
const entry = (id: string, fields: Partial<DatasetEntry>): DatasetEntry => ({
  id,
  name: id.split('/').at(-1) ?? id,
  source: { kind: 'unknown' },
  licence: null,
  files: [{ path: 'train.jsonl', bytes: 4_400_000 }],
  bytes: 4_400_000,
  added: Date.now() - 2 * day,
  state: 'ready',
  problem: null,
  usedBy: [],
  ...fields,
})

const entries: readonly DatasetEntry[] = [
  entry('Demo/train.jsonl', {
    name: 'Demo: training rows',
    source: { kind: 'project', project: 'Demo' },
    bytes: 812_000,
    usedBy: [{ project: 'Demo', title: 'Demo', as: ['inner links', 'outer links'] }],
  }),
  entry('library/openai--gsm8k', {
    name: 'openai/gsm8k',
    source: {
      kind: 'hub',
      endpoint: 'https://huggingface.co',
      name: 'openai/gsm8k',
      revision: 'main',
      commit: 'e53f048856ff4f594e959d75785d2c2d37b678ee',
    },
    licence: 'mit',
    files: [
      { path: 'main/train-00000-of-00001.parquet', bytes: 2_306_545 },
      { path: 'main/test-00000-of-00001.parquet', bytes: 419_088 },
    ],
    bytes: 2_725_633,
  }),
  entry('library/olympiad', {
    name: 'olympiad problems, filtered',
    source: { kind: 'derived', from: 'openai/gsm8k', how: 'level more than 3, seed 42' },
    files: [
      { path: 'train.jsonl', bytes: 210_000_000 },
      { path: 'held-out.jsonl', bytes: 4_000_000 },
    ],
    bytes: 214_000_000,
  }),
  entry('library/answers', {
    name: 'Übung answers.csv',
    source: { kind: 'file', path: '/home/maria/Daten für Übung/answers.csv' },
    files: [{ path: 'answers.csv', bytes: 88_000_000 }],
    bytes: 88_000_000,
  }),
  entry('library/medqa', {
    name: 'bigbio/med_qa',
    state: 'incomplete',
    source: {
      kind: 'hub',
      endpoint: 'https://huggingface.co',
      name: 'bigbio/med_qa',
      revision: 'main',
      commit: 'aa53f048856ff4f594e959d75785d2c2d37b678e',
    },
    files: [],
    bytes: 12_000_000,
    problem: { what: 'The download is not complete.', why: '12 of 140 MB are here.', next: 'Resume it under Models.' },
  }),
]

const columns: readonly ColumnView[] = [
  { name: 'question', type: 'text', nulls: 0, blank: 12 },
  { name: 'answer', type: 'text', nulls: 31, blank: 0 },
  { name: 'level', type: 'integer', nulls: 0, blank: 0 },
  { name: 'solution', type: 'text', nulls: 0, blank: 0 },
  { name: 'options', type: 'list', nulls: 900, blank: 0 },
]

function cells(i: number): (string | null)[] {
  const [a, b] = [(i * 7919) % 97, (i * 104_729) % 89]
  return [
    i % 83 === 5 ? '  ' : `Find all real $x$ with $x^2 - ${a}x + ${b} = 0$ and give their sum in lowest terms (${i}).`,
    i % 31 === 3 ? null : i % 57 === 4 ? 'null' : String(a),
    String(1 + (i % 5)),
    `By Vieta the roots add up to ${a}. Their product is \\(${b}\\), so both exist when $${a}^2 \\ge 4 \\cdot ${b}$. `.repeat(
      1 + (i % 40),
    ) + `The answer is \\boxed{${a}}.`,
    i % 3 === 0 ? null : `["${a}","${a + 1}",{"none":[],"value":${b}.50}]`,
  ]
}

function bell(parts: number, total: number): number[] {
  return Array.from({ length: parts }, (_, i) =>
    Math.round((total / parts) * 2.5 * Math.exp(-(((i - parts / 4) / (parts / 6)) ** 2))),
  )
}

export function datasetAnswers(query: URLSearchParams, emit: Emit): Answers {
  const total = Number(query.get('rows') ?? 1_000_000)
  const orders = new Map<string, { found: number; descending: boolean }>()
  let made = 1

  const placeOf = (order: string | null | undefined, at: number): number => {
    const known = order === null || order === undefined ? undefined : orders.get(order)
    if (!known) return at
    return known.descending ? total - 1 - at * 3 : (at * 17) % total
  }
  const row = (place: number, clip: number): DataRow => {
    const whole = cells(place)
    return {
      place,
      cells: whole.map((text) => text?.slice(0, clip) ?? null),
      cut: whole.flatMap((text, i) => ((text?.length ?? 0) > clip ? [i] : [])),
    }
  }
  const opened = (id: string, file: string): OpenedDataset => ({
    handle: `d${made++}`,
    id,
    file,
    format: 'jsonl',
    rows: total,
    columns: [...columns],
    problems: [
      { kind: 'unreadable', row: null, line: 812, message: 'Line 812 is no JSON: a text is not closed.' },
      { kind: 'duplicate-key', row: 1204, line: 1205, message: 'The name "answer" comes twice; the last one counts.' },
    ],
    leftOut: 1,
  })

  return {
    'datasets/list': () => ({ datasets: query.has('empty') ? [] : [...entries] }),
    'datasets/addFile': () => ({ dataset: entries[3] }),
    'datasets/delete': () => ({ bytes: 4_400_000 }),
    'datasets/reveal': () => ({}),
    'datasets/open': ({ id, file }) => {
      if (id === 'library/answers' && query.has('broken'))
        throw new Error('it holds an object without a field "data"; its fields are "rows" and "meta"')
      return opened(id, file ?? 'train.jsonl')
    },
    'datasets/close': () => ({}),
    'datasets/cancel': () => ({}),
    'datasets/order': ({ handle, by }) => {
      const order = `o${made++}`
      const found = by.filter?.length || by.search ? Math.floor(total / 4) : total
      orders.set(order, { found, descending: by.sort?.[0]?.descending ?? false })
      const state = (done: number): RowOrderState => ({
        handle,
        order,
        done,
        of: total,
        found: Math.floor((found * done) / total),
        finished: done === total,
        error: null,
      })
      for (let i = 1; i <= 5; i += 1)
        setTimeout(
          () => emit('datasets/order', state(Math.floor((total * i) / 5))),
          i * Number(query.get('slow') ?? 60),
        )
      return state(Math.floor(total / 10))
    },
    'datasets/closeOrder': () => ({}),
    'datasets/rows': ({ order, from, count, clip = 300 }) => {
      const length = Math.min(count, total - from)
      return { rows: Array.from({ length }, (_, i) => row(placeOf(order, from + i), clip)) }
    },
    'datasets/statistics': ({ column }) => ({
      rows: total,
      nulls: columns[column].nulls,
      distinct: column === 2 ? 5 : total - 2199,
      histogram: {
        of: column === 2 ? 'value' : 'length',
        least: 1,
        most: column === 2 ? 5 : 4100,
        mean: 1204.5,
        median: 988,
        counts: bell(column === 2 ? 5 : 40, total),
      },
      frequent: [
        { text: 'Find all real $x$ with $x^2 - 3x + 1 = 0$ and give their sum in lowest terms.', count: 2199 },
        { text: '  ', count: 12 },
        { text: '42', count: 9 },
      ],
    }),
    'datasets/preview': ({ role, use, place, latentSteps = 32, round = 1 }) => ({
      pieces: [
        {
          kind: 'text',
          text: `<|im_start|>user\nYou are the ${role}. Question:\n${cells(place)[0] ?? ''}\n`,
          supervised: false,
          tokens: 61,
        },
        ...(role === 'planner' && round === 1
          ? []
          : [{ kind: 'slot' as const, name: 'plan', from: 'planner', length: latentSteps, text: null }]),
        { kind: 'text', text: '\n<|im_end|>\n<|im_start|>assistant\n', supervised: false, tokens: 7 },
        ...(use === 'evaluate'
          ? []
          : [{ kind: 'text' as const, text: cells(place)[3] ?? '', supervised: true, tokens: 230 }]),
      ],
      tokens: 298 + latentSteps,
      supervisedTokens: use === 'evaluate' ? 0 : 230,
      limit: 300,
      maxPositions: 32_768,
      truncated: 'The last 30 tokens of the answer are cut.',
      leftOut: null,
      warnings: [],
      rounds: round === 1 ? [1] : [2, 3],
    }),
    'datasets/tokenLengths': () => ({
      roles: ['planner', 'critic', 'solver'].map((role, i) => ({
        role,
        histogram: { of: 'tokens', least: 60, most: 4200 + i * 300, mean: 800, median: 640, counts: bell(40, total) },
        p95: 1850,
        limit: 2048,
        over: 12_400 * i,
        rows: total,
      })),
    }),
    'datasets/check': ({ use }) => ({
      rows: total,
      usable: total - 14_230,
      columns: { question: 'question', answer: 'answer' },
      problems: [
        ...(use === 'evaluate'
          ? []
          : [
              { kind: 'missing' as const, field: 'plan', rows: total, message: 'No column has the plan.', order: null },
            ]),
        { kind: 'null', field: 'answer', rows: 12_031, message: 'Such rows are left out and counted.', order: 'o9001' },
        { kind: 'duplicate', field: 'question', rows: 2_199, message: 'They are used, each time.', order: 'o9002' },
      ],
    }),
    'datasets/save': () => entries[2],
    'datasets/split': () => entries[2],
    'datasets/export': () => ({ file: '/home/maria/olympiad null.jsonl', rows: 12_031 }),
    'datasets/row': ({ place }) => row(place, 1_000_000),
  }
}
