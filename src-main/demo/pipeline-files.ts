/**
 * The demo's pipeline as data: inner links, outer links, then the comparison of untrained links, trained links, the same
 * team passing text, and the solver alone. `short` is the same with fewer steps and rows, for tests.
 * The file format is that of workspace/pipeline.ts.
 */
import type { JobSpecInput } from '../engine/job-spec'
import { roles } from './tiny-models'
import { depths, latentSteps } from './vel'

export type PipelineLength = 'full' | 'short'

/** The fields of a job that a step gives: the kind is the step's, the output folder that of whoever runs it. */
type SpecOf<K extends JobSpecInput['kind']> = Omit<Extract<JobSpecInput, { kind: K }>, 'kind' | 'output'>

interface Amounts {
  readonly innerSteps: number
  readonly innerRows: number
  readonly alignSteps: number
  readonly alignRows: number
  readonly outerSteps: number
  /** Outer links: checkpoints and validations. */
  readonly saveEvery: number
  readonly validateEvery: number
  /** Rows of each validation. 0 = all. */
  readonly innerValidationRows: number
  readonly outerValidationRows: number
  /** 0 = all. */
  readonly heldOutRows: number
}

const amounts: Readonly<Record<PipelineLength, Amounts>> = {
  // the aligned start is cut short on purpose: from a longer one there would be little left for outer training to show
  full: {
    innerSteps: 400,
    innerRows: 1500,
    alignSteps: 40,
    alignRows: 500,
    outerSteps: 150,
    saveEvery: 25,
    validateEvery: 25,
    innerValidationRows: 60,
    outerValidationRows: 0,
    heldOutRows: 0,
  },
  short: {
    innerSteps: 40,
    innerRows: 150,
    alignSteps: 30,
    alignRows: 90,
    outerSteps: 15,
    saveEvery: 3,
    validateEvery: 15,
    innerValidationRows: 6,
    outerValidationRows: 12,
    heldOutRows: 24,
  },
}

/** One thread: the matrices are so small that a second one costs more than it brings, most of all on a busy machine. */
const common = { promptPack: 'prompt-pack.json', seed: 1, threads: 1 } as const
/** The models' embeddings were made as long as a layer norm's output: there is nothing to scale. */
const training = { ...common, lastNorm: 'one' } as const
/** Words of the longest answer and its end token. */
const maxNewTokens = latentSteps + 1
const model = (role: string) => `models/${role}`

export function demoPipeline(length: PipelineLength) {
  const n = amounts[length]
  const inner = roles.map((role) => ({
    id: `inner-${role}`,
    title: `Inner link: ${role}`,
    kind: 'inner' as const,
    requires: [],
    spec: {
      ...training,
      role,
      model: model(role),
      data: { file: 'train.jsonl', limit: n.innerRows },
      prompts: 'all',
      steps: n.innerSteps,
      batchSize: 64,
      learningRate: 3e-3,
      logEvery: 5,
      saveEvery: 0,
      validation: {
        data: { file: 'validation.jsonl', limit: n.innerValidationRows },
        every: n.innerSteps / 4,
        latentSteps,
      },
    } satisfies SpecOf<'inner'>,
  }))

  const trainedAgents = roles.map((role) => ({ role, model: model(role), innerLink: `run:inner-${role}@best` }))
  const freshAgents = roles.map((role) => ({ role, model: model(role) }))
  const allInner = inner.map((step) => step.id)

  const outer = {
    id: 'outer',
    title: 'Outer links',
    kind: 'outer' as const,
    requires: allInner,
    spec: {
      ...training,
      agents: trainedAgents,
      data: { file: 'train.jsonl' },
      start: 'aligned',
      align: { steps: n.alignSteps, rows: n.alignRows, latentSteps },
      rounds: { from: 1, to: depths.length },
      roundsColumn: 'depth',
      states: 'self-fed',
      feedback: 'self-fed',
      latentCap: latentSteps,
      steps: n.outerSteps,
      batchSize: 16,
      learningRate: 5e-4,
      logEvery: 1,
      saveEvery: n.saveEvery,
      validation: {
        data: { file: 'validation.jsonl', limit: n.outerValidationRows },
        every: n.validateEvery,
        rounds: depths.length,
        latentSteps,
        maxNewTokens,
        grader: 'exact',
      },
    } satisfies SpecOf<'outer'>,
  }

  const evaluation = {
    ...common,
    data: { file: 'held-out.jsonl', limit: n.heldOutRows },
    latentSteps,
    batchSize: 50,
    generation: { maxNewTokens },
    grader: 'exact',
  } as const
  const untrained = { ...evaluation, agents: freshAgents } satisfies SpecOf<'evaluate'>
  const trained = { ...evaluation, agents: trainedAgents, outerLinks: 'run:outer@best' } satisfies SpecOf<'evaluate'>
  const text = { ...evaluation, agents: freshAgents, passing: 'text' } satisfies SpecOf<'evaluate'>

  const systems = [
    { id: 'untrained', title: 'Untrained links', requires: [], spec: untrained },
    { id: 'trained', title: 'Trained links', requires: ['outer'], spec: trained },
    { id: 'text', title: 'The same team passing text', requires: [], spec: text },
  ]
  const evaluations = systems.flatMap(({ id, title, requires, spec }) =>
    depths.map((rounds) => ({
      id: `${id}-${rounds}`,
      title: `${title}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`,
      kind: 'evaluate' as const,
      system: id,
      requires,
      spec: { ...spec, rounds },
    })),
  )
  const alone = {
    id: 'solver-alone',
    title: 'Solver alone',
    kind: 'evaluate' as const,
    system: 'solver-alone',
    requires: [],
    spec: { ...evaluation, agents: freshAgents, passing: 'single', rounds: 1 } satisfies SpecOf<'evaluate'>,
  }

  return {
    version: 1,
    title: length === 'full' ? 'Demo' : 'Demo, shortened',
    description:
      'Three tiny models answer questions in Vel, an invented language of arithmetic on a clock of ten hours. The team makes ' +
      'one step of a question a round, so accuracy grows with the rounds. All of it runs on the CPU in minutes.',
    style: 'sequential',
    systems: [...systems.map(({ id, title }) => ({ id, title })), { id: 'solver-alone', title: 'The solver alone' }],
    steps: [...inner, outer, ...evaluations, alone],
  }
}
