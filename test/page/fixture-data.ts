/** Made-up state of the app. `fresh`: nothing has run; `running`: outer links in training; `done`: all done; `failed`: out of order. */
import type {
  CheckpointView,
  ComparisonTable,
  DamagedProject,
  MetricPoint,
  PipelineView,
  ProjectView,
  QuestionView,
  ResultSummary,
  RunSummary,
  StepState,
  SystemInfo,
} from '../../src-main/bridge/contract'

export type FixtureState = 'fresh' | 'running' | 'done' | 'failed'

export const project = 'Demo'
const now = Date.now()
const minute = 60_000
const roles = ['planner', 'critic', 'solver']

interface StepPlan {
  readonly id: string
  readonly title: string
  readonly kind: RunSummary['kind']
  readonly requires: string[]
}

const evaluations = [
  ...[1, 2, 3].map((r) => ({
    id: `untrained-${r}`,
    title: `Untrained links, ${r} round${r > 1 ? 's' : ''}`,
    right: 0,
  })),
  ...[1, 2, 3].map((r) => ({
    id: `trained-${r}`,
    title: `Trained links, ${r} round${r > 1 ? 's' : ''}`,
    right: [100, 196, 294][r - 1],
  })),
  ...[1, 2, 3].map((r) => ({
    id: `text-${r}`,
    title: `Team passing text, ${r} round${r > 1 ? 's' : ''}`,
    right: [100, 200, 300][r - 1],
  })),
  { id: 'single', title: 'Solver alone', right: 1 },
]

const plan: StepPlan[] = [
  ...roles.map((role) => ({ id: `inner-${role}`, title: `Inner link: ${role}`, kind: 'inner' as const, requires: [] })),
  { id: 'outer', title: 'Outer links', kind: 'outer', requires: roles.map((role) => `inner-${role}`) },
  ...evaluations.map(({ id, title }) => ({ id, title, kind: 'evaluate' as const, requires: ['outer'] })),
]

export function stateOf(state: FixtureState, step: StepPlan): StepState {
  if (state === 'done') return 'done'
  if (state === 'fresh') return step.kind === 'inner' ? 'ready' : 'waiting'
  if (step.kind === 'inner') return 'done'
  if (state === 'running') return step.kind === 'outer' ? 'running' : 'queued'
  if (step.kind === 'outer') return 'failed'
  return 'waiting'
}

function interval(right: number, n = 300) {
  const z = 1.96
  const p = right / n
  const scale = 1 + (z * z) / n
  const center = (p + (z * z) / (2 * n)) / scale
  const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / scale
  return { value: p, low: Math.max(0, center - half), high: Math.min(1, center + half), n }
}

export function runs(state: FixtureState): RunSummary[] {
  return plan.flatMap((step, i): RunSummary[] => {
    const standing = stateOf(state, step)
    if (standing === 'waiting' || standing === 'ready') return []
    const evaluation = evaluations.find((candidate) => candidate.id === step.id)
    const ended = standing === 'done' || standing === 'failed' ? now - (plan.length - i) * 4 * minute : null
    return [
      {
        project,
        id: `2026-11-30-${step.id}`,
        title: step.title,
        kind: step.kind,
        step: step.id,
        state: standing,
        created: now - 80 * minute,
        started: standing === 'queued' ? null : now - 70 * minute + i * 1000,
        ended,
        stretch: standing === 'queued' ? null : { time: now - 70 * minute + i * 1000, resumedFrom: null },
        seconds: standing === 'queued' ? 0 : 40 + i * 17,
        progress:
          standing === 'running' || standing === 'failed'
            ? {
                title: 'Training',
                phase: 'training',
                done: 62,
                total: 150,
                unit: 'steps',
                rate: 1.9,
                secondsLeft: 46,
                time: now,
              }
            : null,
        lastMetrics: step.kind === 'evaluate' ? null : (metrics(step.kind, 62).at(-1) ?? null),
        checkpointStep: step.kind === 'evaluate' ? null : 50,
        resumable: standing === 'failed',
        queuePosition: standing === 'queued' ? i - 4 : null,
        error:
          standing === 'failed'
            ? {
                what: 'The run “Outer links” stopped at step 62.',
                why: 'The disk is full: /home/maria/RecursiveMAS has 0 B free, and the checkpoint needs 4.2 MB.',
                next: 'Make room on the disk, then resume; it goes on from step 50.',
              }
            : null,
        accuracy: standing === 'done' && evaluation ? interval(evaluation.right) : null,
        strictAccuracy: null,
        answered: null,
      },
    ]
  })
}

export function metrics(kind: RunSummary['kind'], steps: number): MetricPoint[] {
  let seed = 7
  const noise = (): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed / 2147483648 - 0.5
  }
  return Array.from({ length: steps }, (_, step): MetricPoint => {
    const t = step / 150
    const loss = (kind === 'inner' ? 0.9 : 0.62) * Math.exp(-3.2 * t) + 0.02 + 0.05 * Math.abs(noise()) * Math.exp(-t)
    const norm = (scale: number): number => scale * (0.4 + Math.exp(-2 * t)) * (1 + 0.6 * noise())
    return {
      step: step + 1,
      time: now - (steps - step) * 500,
      loss,
      learningRate: 3e-4 * Math.min(1, (step + 1) / 10) * (0.5 + 0.5 * Math.cos(Math.PI * Math.min(1, t))),
      gradNorm: norm(1.4),
      ...(kind === 'outer'
        ? {
            gradNorms: {
              outer_12: [norm(0.8), norm(0.55), norm(0.9)],
              outer_23: [norm(1.0), norm(0.7), norm(1.2)],
              outer_31: [norm(0.5), norm(0.4), null],
            },
          }
        : {}),
      tokensPerSecond: 5200 + 900 * noise(),
      memoryBytes: (0.48 + 0.02 * t) * 1024 ** 3,
    }
  })
}

export function pipeline(state: FixtureState): PipelineView {
  const all = runs(state)
  const steps = plan.map((step) => ({
    ...step,
    requires: [...step.requires],
    state: stateOf(state, step),
    run: all.find((run) => run.step === step.id) ?? null,
  }))
  const done = steps.filter((step) => step.state === 'done').length
  const trained = (id: string): boolean => steps.find((step) => step.id === id)?.state === 'done'
  return {
    project,
    steps,
    state: { fresh: 'ready', running: 'running', done: 'done', failed: 'failed' }[state] as PipelineView['state'],
    done,
    total: steps.length,
    secondsLeft: state === 'running' ? 46 : null,
    next: state === 'fresh' ? 'inner-planner' : null,
    system: {
      style: 'sequential',
      agents: roles.map((role, i) => ({
        role,
        model: `vel-${role}`,
        family: ['llama', 'qwen2', 'qwen3'][i],
        hiddenSize: [64, 96, 80][i],
        layers: 3,
        writes: i === 2,
      })),
      links: [
        ...roles.map((role) => ({
          key: `inner/${role}`,
          kind: 'inner' as const,
          from: role,
          to: role,
          feedback: false,
          trained: trained(`inner-${role}`),
          step: `inner-${role}`,
          run: null,
        })),
        ...roles.map((role, i) => ({
          key: ['outer_12', 'outer_23', 'outer_31'][i],
          kind: 'outer' as const,
          from: role,
          to: roles[(i + 1) % 3],
          feedback: i === 2,
          trained: trained('outer'),
          step: 'outer',
          run: null,
        })),
      ],
    },
  }
}

export function projectView(state: FixtureState): ProjectView {
  return {
    name: project,
    title: 'Demo',
    description: 'Three tiny models of three families learn to work together in latents.',
    created: now - 90 * minute,
    demo: true,
    pipeline: pipeline(state),
    models: roles.map((role, i) => ({ name: `vel-${role}`, bytes: [660_000, 1_240_000, 1_060_000][i], roles: [role] })),
    bytesOnDisk: state === 'fresh' ? 3_200_000 : 21_400_000,
  }
}

export function results(state: FixtureState): ResultSummary[] {
  return runs(state)
    .filter((run) => run.accuracy !== null)
    .map((run) => ({
      project,
      id: run.id,
      title: run.title,
      step: run.step,
      created: run.ended ?? now,
      seconds: run.seconds,
      style: 'sequential',
      passing: run.step?.startsWith('text') ? 'text' : run.step === 'single' ? 'single' : 'latents',
      control: 'none',
      mode: 'corrected',
      rounds: Number(/\d$/.exec(run.step ?? '')?.[0] ?? 1),
      latentSteps: 11,
      seed: 42,
      grader: 'exact',
      dataset: 'held_out.json',
      accuracy: run.accuracy ?? interval(0),
      strictAccuracy: null,
    }))
}

export function table(state: FixtureState): ComparisonTable {
  const list = results(state)
  const cell = (id: string) => {
    const found = list.find((result) => result.step === id)
    return found ? { result: found.id, accuracy: found.accuracy, strictAccuracy: null, seconds: found.seconds } : null
  }
  const row = (system: string, title: string) => ({
    system,
    title,
    cells: [1, 2, 3].map((r) => cell(`${system}-${r}`)),
  })
  return {
    columns: [1, 2, 3].map((rounds) => ({ rounds, title: `${rounds} round${rounds > 1 ? 's' : ''}` })),
    rows: [
      row('trained', 'Trained links'),
      row('text', 'Team passing text'),
      row('untrained', 'Untrained links'),
      { system: 'single', title: 'Solver alone', cells: [cell('single'), null, null] },
    ],
  }
}

const questions = [
  'unat nov mik pem mik nul dvat tan mik nul mik pem trit tan plo nul plo ona',
  'unat ona plo dva mik pem dvat tan plo hep mik hep',
  'unat nov plo hep mik nul',
]

export function question(index: number, result: ResultSummary | undefined): QuestionView {
  if (index === 1) {
    return {
      ...question(0, result),
      index,
      question:
        'Let $f(x) = \\frac{x^2 - 1}{x + 2}$. Find all $x$ with \\[ \\int_0^x f(t)\\,dt = 0 \\] if a ticket costs $5 and another one $7.',
      gold: '$\\frac{3}{4}$',
      output: 'We get $x = \\sqrt{2} + \\dfrac{3}{4}$, so the answer is \\boxed{\\frac34}.',
      grades: [
        { grader: 'reference', correct: true, prediction: '\\frac34', gold: '\\frac{3}{4}', cause: null },
        {
          grader: 'strict',
          correct: null,
          prediction: '\\frac34',
          gold: '\\frac{3}{4}',
          cause: 'The boxed answer is not the last expression.',
        },
      ],
    }
  }
  const passing = result?.passing ?? 'latents'
  const rounds = result?.rounds ?? 3
  let seed = index + 3
  const noise = (): number => {
    seed = (seed * 16807) % 2147483647
    return seed / 2147483647
  }
  const right = index % 7 !== 3
  return {
    index,
    rollout: 0,
    question: questions[index % 3],
    gold: 'three : nine plus zero is nine plus one is zero',
    output: right
      ? 'three : nine plus zero is nine plus one is zero'
      : 'three : nine plus zero is eight plus one is nine',
    correct: right,
    strict: null,
    grades: [
      {
        grader: 'exact',
        correct: right,
        prediction: right
          ? 'three : nine plus zero is nine plus one is zero'
          : 'three : nine plus zero is eight plus one is nine',
        gold: 'three : nine plus zero is nine plus one is zero',
        cause: right ? null : 'Word 7 is “eight”, not “nine”.',
      },
    ],
    stages: Array.from({ length: rounds }, (_, r) =>
      roles.map((role, i) => ({
        round: r + 1,
        role,
        prompt: [
          {
            kind: 'text' as const,
            text: [
              '<|user|> plan again the question : ' + questions[index % 3] + ' feedback : ',
              '<|user|> refine the plan for question : ' + questions[index % 3] + ' plan : ',
              '<|user|> solve with the plan : ',
            ][i],
          },
          ...(r === 0 && i === 0
            ? []
            : [
                {
                  kind: 'slot' as const,
                  name: ['feedback', 'plan', 'refined plan'][i],
                  length: 11,
                  from: roles[(i + 2) % 3],
                  text: passing === 'text' ? '1 : 9 + 7 = 6 ; - 0' : null,
                },
              ]),
          {
            kind: 'text' as const,
            text: [
              ' use it softly <|end|> <|assistant|>',
              ' refine it <|end|> <|assistant|>',
              ' question : ' + questions[index % 3] + ' answer <|end|> <|assistant|>',
            ][i],
          },
        ],
        promptTokens: 38 + i * 3,
        latents:
          passing === 'latents'
            ? {
                norms: Array.from({ length: 11 }, () => 7 + 2 * noise()),
                cosines: Array.from({ length: 11 }, () => (r === 0 ? null : 0.6 + 0.4 * noise())),
                projection: Array.from({ length: 11 }, (): [number, number] => [noise() * 4 + r, noise() * 3]),
              }
            : null,
        text: i === 2 || passing === 'text' ? 'three : nine plus zero is nine plus one is zero' : null,
        tokens: i === 2 || passing === 'text' ? 12 : null,
      })),
    ).flat(),
    tokens: 12,
    seconds: 0.4,
  }
}

export function checkpoints(state: FixtureState): CheckpointView[] {
  return runs(state)
    .filter((run) => run.kind !== 'evaluate')
    .flatMap((run) =>
      [150, 100, 50].map((step, i) => ({
        project,
        run: run.id,
        runTitle: run.title,
        kind: run.kind as 'inner' | 'outer',
        step,
        best: i === 0,
        last: i === 0,
        created: (run.ended ?? now) - i * minute,
        bytes: 420_000,
        folder: `/home/maria/RecursiveMAS/projects/Demo/runs/${run.id}/checkpoints/step-${step}`,
        manifest: {
          links:
            run.kind === 'inner'
              ? [{ key: 'inner', type: 'ln_res_adapter', inWidth: 64, outWidth: 64 }]
              : [64, 96, 80].map((inWidth, at) => ({
                  key: ['outer_12', 'outer_23', 'outer_31'][at],
                  type: 'outer_ln_res_adapter',
                  inWidth,
                  outWidth: [96, 80, 64][at],
                })),
          style: 'sequential',
          role: run.kind === 'inner' ? (run.step?.replace('inner-', '') ?? null) : null,
          baseModels: roles.map((role) => ({ role, id: role, revision: null })),
          dataset: { file: '/home/maria/RecursiveMAS/projects/Demo/assets/train.jsonl', rows: 3000 },
          rounds: run.kind === 'inner' ? null : { from: 1, to: 3 },
          mode: 'corrected',
          metrics: { accuracy: 0.5 + step / 320 },
          promptPack: 'sha256:4f1c…',
          seed: 42,
          step,
        },
      })),
    )
}

export const damaged: DamagedProject[] = [
  {
    name: 'Old project',
    error: {
      what: 'The project “Old project” cannot be read.',
      why: 'project.json ends in the middle.',
      next: 'Put back a copy of the file, or remove the folder.',
    },
  },
]

export const system: SystemInfo = {
  cpu: { model: 'AMD Ryzen Threadripper PRO 5955WX', cores: 16, load: 0.71 },
  memory: { total: 64 * 1024 ** 3, available: 54.2 * 1024 ** 3 },
  disk: { folder: '/home/maria/RecursiveMAS', total: 1.8e12, free: 6.1e11 },
  device: { kind: 'cpu', name: 'AMD Ryzen Threadripper PRO 5955WX' },
  engineBytes: 512 * 1024 ** 2,
}
