/** The choices of the wizard as a pipeline: an inner job for each role, the outer links, evaluations of the system and of what it is compared with. */
import type { SystemDraft } from '../bridge/contract'
import type { StyleDefinition } from '../engine/styles/style'
import type { Pipeline, PipelineStep } from './pipeline'

/** Where the choices lie, as paths of specs: absolute, or relative to the project's assets. */
export interface DraftPaths {
  model(id: string): string
  data(choice: DataChoice): string
  /** Of the pack that the draft names; undefined: the built-in one. */
  readonly pack: string | undefined
}

export type DataChoice = NonNullable<SystemDraft['data']['train']>

/** A draft with everything that a pipeline needs. */
export interface CompleteDraft extends SystemDraft {
  readonly data: SystemDraft['data'] & { readonly train: DataChoice; readonly evaluation: DataChoice }
}

export function isComplete(draft: SystemDraft, style: StyleDefinition): draft is CompleteDraft {
  const { train, evaluation } = draft.data
  return train !== null && evaluation !== null && style.roles.every(({ role }) => Object.hasOwn(draft.models, role))
}

/** How often training is judged and saved, at most. */
const judgements = 10
const saves = 4
/** Tokens of an answer that validation waits for; evaluations wait longer. */
const mostValidationTokens = 256

const compared = {
  'untrained-links': 'Untrained links',
  text: 'The same team passing text',
  single: 'The answering agent alone',
  'other-questions': 'Thoughts of other questions',
} as const satisfies Record<SystemDraft['evaluation']['compare'][number], string>

/** Steps stand after what they require. The specs are those of job-spec.ts. */
export function draftPipeline(draft: CompleteDraft, style: StyleDefinition, paths: DraftPaths): Pipeline {
  const { training, data, title } = draft
  const roles = style.roles.map(({ role }) => role)
  const judged = data.validation !== null
  const common = {
    mode: training.mode,
    seed: training.seed,
    ...(paths.pack === undefined ? {} : { promptPack: paths.pack }),
  }
  const rows = (choice: DataChoice) => ({
    file: paths.data(choice),
    limit: choice.limit,
    ...(choice.field === null ? {} : { field: choice.field }),
    ...(Object.keys(choice.mapping).length === 0 ? {} : { columns: choice.mapping }),
  })
  const optimiser = (steps: number, batchSize: number, learningRate: number) => ({
    steps,
    batchSize,
    learningRate,
    logEvery: Math.max(1, Math.min(10, Math.floor(steps / 50))),
    saveEvery: Math.ceil(steps / saves),
  })
  const every = (steps: number) => Math.ceil(steps / judgements)
  const linkOf = (step: string): string => `run:${step}${judged ? '@best' : ''}`

  const inner = roles.map((role): PipelineStep => ({
    id: `inner-${role}`,
    title: `Inner link: ${role}`,
    kind: 'inner',
    requires: [],
    spec: {
      ...common,
      style: style.name,
      role,
      model: paths.model(draft.models[role]),
      data: rows(data.train),
      task: training.task,
      prompts: training.mode === 'corrected' ? 'all' : 'first',
      ...optimiser(training.innerSteps, training.innerBatch, training.innerRate),
      ...(data.validation && {
        validation: {
          data: rows(data.validation),
          every: every(training.innerSteps),
          latentSteps: training.latentSteps,
        },
      }),
    },
  }))
  const agents = (trained: boolean) =>
    roles.map((role) => ({
      role,
      model: paths.model(draft.models[role]),
      ...(trained ? { innerLink: linkOf(`inner-${role}`) } : {}),
    }))
  const outer: PipelineStep = {
    id: 'outer',
    title: 'Outer links',
    kind: 'outer',
    requires: inner.map(({ id }) => id),
    spec: {
      ...common,
      style: style.name,
      agents: agents(true),
      data: rows(data.train),
      rounds: training.rounds,
      // self-fed feedback is as long as what is passed on when questions are answered
      ...(training.mode === 'corrected' ? { latentCap: training.latentSteps } : {}),
      start: training.start,
      ...(training.start === 'random' ? {} : { align: { latentSteps: training.latentSteps } }),
      task: training.task,
      ...optimiser(training.outerSteps, training.outerBatch, training.outerRate),
      ...(data.validation && {
        validation: {
          data: rows(data.validation),
          every: every(training.outerSteps),
          rounds: training.rounds,
          latentSteps: training.latentSteps,
          maxNewTokens: Math.min(draft.evaluation.maxNewTokens, mostValidationTokens),
          grader: draft.evaluation.grader,
        },
      }),
    },
  }

  const evaluation = (system: string, label: string, rounds: number, fields: Record<string, unknown>): PipelineStep => {
    const trained = 'outerLinks' in fields
    return {
      id: `${system}-${rounds}`,
      title: `${label}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`,
      kind: 'evaluate',
      requires: trained ? ['outer'] : [],
      system,
      spec: {
        ...common,
        style: style.name,
        agents: agents(trained),
        data: rows(data.evaluation),
        rounds,
        latentSteps: training.latentSteps,
        batchSize: draft.evaluation.batchSize,
        generation: { maxNewTokens: draft.evaluation.maxNewTokens },
        grader: draft.evaluation.grader,
        task: training.task,
        ...fields,
      },
    }
  }
  const links = { outerLinks: linkOf('outer') }
  const fieldsOf: Record<keyof typeof compared, Record<string, unknown>> = {
    'untrained-links': {},
    text: { passing: 'text' },
    single: { passing: 'single' },
    'other-questions': { ...links, control: 'other-questions' },
  }
  const upTo = Array.from({ length: training.rounds }, (_, i) => i + 1)
  const wanted = (Object.keys(compared) as (keyof typeof compared)[]).filter((name) =>
    draft.evaluation.compare.includes(name),
  )
  return {
    version: 1,
    title,
    description: '',
    style: style.name,
    systems: [{ id: 'trained', title: 'Trained links' }, ...wanted.map((id) => ({ id, title: compared[id] }))],
    steps: [
      ...inner,
      outer,
      ...upTo.map((rounds) => evaluation('trained', 'Trained links', rounds, links)),
      // an agent alone passes nothing on, so that rounds change nothing
      ...wanted.flatMap((name) =>
        (name === 'single' ? [1] : upTo).map((rounds) => evaluation(name, compared[name], rounds, fieldsOf[name])),
      ),
    ],
  }
}
