/** A bridge that answers from made-up data, and moves a running run on, so that live charts can be watched. */
import type {
  EventName,
  EventPayload,
  Reply,
  RequestName,
  RequestParams,
  RunSummary,
  SettingsView,
  StudioBridge,
} from '../../src-main/bridge/contract'
import * as data from './fixture-data'
import { datasetAnswers } from './fixture-datasets'
import { modelAnswers } from './fixture-models'
import * as systems from './fixture-systems'

/** What the shown screens ask; any other request is refused. */
export type Answers = {
  [N in RequestName]?: (params: RequestParams<N>) => Answer<N> | Promise<Answer<N>>
}
type Answer<N extends RequestName> = Extract<Reply<N>, { ok: true }>['value']

export function fixtureBridge(query: URLSearchParams): StudioBridge {
  let state = (query.get('state') ?? 'running') as data.FixtureState
  const delay = Number(query.get('delay') ?? 20)
  const settings: SettingsView = {
    appearance: (query.get('appearance') ?? 'system') as SettingsView['appearance'],
    workspace: '/home/maria/RecursiveMAS',
    workspaceFixed: false,
    hub: { endpoint: 'https://huggingface.co', fixed: query.has('fixed'), usual: true },
    view: {
      ...(query.has('place') ? { place: query.get('place') ?? '' } : {}),
      ...(query.has('draft') ? { draft: JSON.stringify(systems.draft) } : {}),
    },
  }
  const listeners = new Map<EventName, Set<(payload: never) => void>>()
  const steps = Number(query.get('steps') ?? 62)
  const points = new Map<string, ReturnType<typeof data.metrics>>()
  const pointsOf = (run: string): ReturnType<typeof data.metrics> => {
    const kind = run.includes('outer') ? 'outer' : 'inner'
    const known = points.get(run) ?? data.metrics(kind, steps)
    points.set(run, known)
    return known
  }
  let runs = data.runs(state)
  const run = (id: string): RunSummary => {
    const found = runs.find((candidate) => candidate.id === id)
    if (!found) throw new Error(`no run ${id}`)
    return found
  }
  const change = (id: string, fields: Partial<RunSummary>): RunSummary => {
    runs = runs.map((candidate) => (candidate.id === id ? { ...candidate, ...fields } : candidate))
    emit('run/changed', { run: run(id) })
    return run(id)
  }

  function emit<N extends EventName>(name: N, payload: EventPayload<N>): void {
    for (const listener of listeners.get(name) ?? []) listener(payload as never)
  }

  const answers: Answers = {
    ...datasetAnswers(query, emit),
    'app/info': () => ({
      name: 'RecursiveMAS Studio',
      version: '0.1.0',
      electron: '33.2.1',
      chrome: '130.0.6723.137',
      node: '20.18.1',
      platform: 'linux x64',
      packaged: false,
      problems: [],
    }),
    'app/dismissProblem': () => ({}),
    'app/reveal': () => ({}),
    'app/report': () => ({}),
    'settings/get': () => settings,
    'settings/appearance': ({ appearance }) => ({ ...settings, appearance }),
    'settings/view': () => ({}),
    'settings/chooseWorkspace': () => settings,
    'settings/hub': ({ endpoint }) => ({
      ...settings,
      hub: { endpoint: endpoint ?? 'https://huggingface.co', fixed: false, usual: endpoint === null },
    }),
    'system/info': () => data.system,
    'projects/list': () => ({ projects: [data.projectView(state)], damaged: data.damaged }),
    'projects/open': () => data.projectView(state),
    'projects/demo': () => data.projectView(state),
    'pipeline/get': () => data.pipeline(state),
    'pipeline/start': () => {
      state = 'running'
      runs = data.runs(state)
      for (const each of runs) emit('run/changed', { run: each })
      return data.pipeline(state)
    },
    'pipeline/stop': () => ({ ...data.pipeline(state), state: 'stopping' }),
    'runs/list': () => ({ runs }),
    'runs/get': ({ run: id }) => ({
      ...run(id),
      spec: {
        kind: run(id).kind,
        mode: 'corrected',
        seed: 42,
        rounds: { from: 1, to: 3 },
        learningRate: 0.0003,
        batchSize: 16,
      },
      folder: `/home/maria/RecursiveMAS/projects/Demo/runs/${id}`,
      bytesOnDisk: 4_200_000,
      checkpoints: [{ step: 50, time: Date.now() - 120_000, best: true, folder: 'checkpoints/step-50' }],
      notes: [
        {
          time: Date.now() - 200_000,
          level: 'warning',
          message: '3 rows have an empty answer and are not trained on.',
        },
      ],
      logTail: run(id).error ? 'saving step 62\nENOSPC: no space left on device, write' : null,
      history: [{ time: run(id).started ?? run(id).created, state: 'running', detail: 'process 41260' }],
    }),
    'runs/start': () => runs[0],
    'runs/cancel': ({ run: id }) => change(id, { state: run(id).state === 'stopping' ? 'interrupted' : 'stopping' }),
    'runs/dependents': ({ run: id }) => ({
      runs: id.includes('inner')
        ? runs
            .filter((other) => other.kind === 'outer')
            .map(({ id: other, title, state: standing }) => ({ run: other, title, state: standing }))
        : [],
    }),
    'runs/resume': ({ run: id }) => change(id, { state: 'running', error: null, ended: null }),
    'runs/delete': ({ run: id }) => {
      runs = runs.filter((candidate) => candidate.id !== id)
      return { bytes: 4_200_000 }
    },
    'runs/log': () => {
      const text =
        Array.from({ length: 80 }, (_, i) => `step ${i + 1}  loss ${(0.6 * Math.exp(-i / 40)).toFixed(4)}`).join('\n') +
        '\n'
      return { text, from: 0, to: text.length, size: text.length }
    },
    'runs/metrics': ({ run: id }) => ({
      points: pointsOf(id),
      validations: [20, 40, 60].map((step, i) => ({
        step,
        time: Date.now(),
        name: 'accuracy',
        value: [0.62, 0.81, 0.9][i],
        n: 60,
        best: i === 2,
      })),
      total: pointsOf(id).length,
    }),
    'results/list': () => ({ results: data.results(state) }),
    'results/table': () => data.table(state),
    'results/get': ({ result }) => {
      const found = data.results(state).find((candidate) => candidate.id === result)
      if (!found) throw new Error(`no result ${result}`)
      return { ...found, spec: {}, folder: '', gradersDiffer: 2 }
    },
    'results/compare': () => ({
      n: 300,
      bothRight: 294,
      onlyA: 0,
      onlyB: 6,
      bothWrong: 0,
      difference: -0.02,
      low: -0.036,
      high: -0.004,
      p: 0.03125,
    }),
    'results/questions': ({ filter = 'all', search = '', offset = 0, limit = 100 }) => {
      const rows = Array.from({ length: Number(query.get('questions') ?? 300) }, (_, index) =>
        data.question(index, undefined),
      )
        .filter((view) => filter === 'all' || (filter === 'right') === view.correct)
        .filter((view) => view.question.includes(search))
        .map((view) => ({
          index: view.index,
          rollout: view.rollout,
          question: view.question,
          gold: view.gold,
          prediction: view.output,
          correct: view.correct,
          strict: null,
          tokens: view.tokens,
        }))
      return { total: rows.length, rows: rows.slice(offset, offset + limit) }
    },
    'results/question': ({ result, index }) =>
      data.question(
        index,
        data.results(state).find((candidate) => candidate.id === result),
      ),
    'checkpoints/export': () => ({ folder: '/home/maria/links', files: ['outer_12.pt', 'outer_23.pt', 'outer_31.pt'] }),
    'styles/list': () => ({ styles: systems.styles }),
    'systems/check': systems.check,
    'systems/draft': () => ({ draft: null }),
    'checkpoints/list': () => ({ checkpoints: data.checkpoints(state) }),
    ...modelAnswers(query, emit),
  }

  if (state === 'running') {
    setInterval(() => {
      const current = runs.find((candidate) => candidate.state === 'running')
      if (!current?.progress) return
      const last = pointsOf(current.id).at(-1)
      if (!last || last.step >= 20000) return
      const next = { ...last, step: last.step + 1, time: Date.now(), loss: last.loss * (0.96 + 0.08 * Math.random()) }
      pointsOf(current.id).push(next)
      emit('run/metrics', { project: data.project, run: current.id, points: [next] })
      change(current.id, {
        lastMetrics: next,
        progress: { ...current.progress, done: next.step, secondsLeft: (150 - next.step) / 1.9 },
      })
    }, 500)
  }

  return {
    async request(name, params) {
      await new Promise((resolve) => setTimeout(resolve, delay))
      try {
        const given = answers[name]
        if (!given) throw new Error(`there is nothing made up for ${name}`)
        return { ok: true, value: await given(params) } as Reply<typeof name>
      } catch (error) {
        return {
          ok: false,
          error: { what: 'This cannot be shown.', why: `${(error as Error).message}.`, next: 'Try again.' },
        } as Reply<typeof name>
      }
    },
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set)
      set.add(listener as (payload: never) => void)
      return () => set.delete(listener as (payload: never) => void)
    },
  }
}
