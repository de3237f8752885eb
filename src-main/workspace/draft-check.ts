/** What the choices of the wizard come to, from what is on the disk alone: what is missing, what will not do, what it needs. */
import type { DraftReport, MappingReport, ModelView, StepMemory, StudioError, SystemDraft } from '../bridge/contract'
import { jobSpec, type JobSpec } from '../engine/job-spec'
import { innerParameterShapes, outerParameterShapes, type ParameterShape } from '../engine/nn/link-types'
import type { StyleDefinition } from '../engine/styles/style'
import { UserError } from '../engine/errors'
import { formatBytes } from '../engine/formats/disk-errors'
import { errorForPage } from '../bridge/serve'
import type { DataChoice } from './draft-pipeline'
import type { Pipeline, PipelineStep } from './pipeline'

type Problem = DraftReport['problems'][number]

/** What is known of the library without loading anything. */
export interface DraftFacts {
  /** undefined where there is none of that id. */
  model(id: string): Promise<ModelView | undefined>
  /** What a run would make of the rows. Throws UserError where the data cannot be read. */
  rows(choice: DataChoice, use: 'inner' | 'outer' | 'evaluate'): Promise<MappingReport>
  /** null where it cannot be told. */
  memory(spec: JobSpec): Promise<StepMemory | null>
  /** Whether a project has this title. */
  taken(title: string): Promise<boolean>
  /** Bytes free where runs are written; null where it cannot be read. */
  freeDisk(): Promise<number | null>
}

/** Bytes of a parameter in a checkpoint: its value and the optimiser's two moments, float32. */
const parameterBytes = 12
/** Checkpoints that a training run keeps: two of late, the last and the best one. */
const keptCheckpoints = 4

/** Causes of rows left out that are told; of more only their number. */
const saidCauses = 3

/** `pipeline`: what the draft comes to; null where the draft names models or data that are not there. */
export async function checkDraft(
  draft: SystemDraft,
  style: StyleDefinition,
  pipeline: Pipeline | null,
  facts: DraftFacts,
): Promise<DraftReport> {
  const problems: Problem[] = []
  const say = (step: Problem['step'], field: string | null, level: Problem['level'], error: StudioError): void => {
    const same = (known: Problem): boolean =>
      known.step === step && known.field === field && known.error.what === error.what && known.error.why === error.why
    // what several jobs of the pipeline have in common is said once
    if (!problems.some(same)) problems.push({ step, field, level, error })
  }
  if (draft.title === '')
    say('check', 'title', 'error', {
      what: 'The system has no name.',
      why: 'Its project is called by it.',
      next: 'Write one.',
    })
  else if (await facts.taken(draft.title))
    say('check', 'title', 'warning', {
      what: 'Another system has this name.',
      why: `There is a project called "${draft.title}"; both would be in the list.`,
      next: 'Choose a name that tells them apart, or go on.',
    })
  const widths = await checkModels(draft, style, facts, say)
  const rows = await checkData(draft, facts, say)
  const steps: DraftReport['steps'] = []
  for (const step of pipeline?.steps ?? []) {
    const memory = await memoryOf(step, facts, say)
    steps.push({
      id: step.id,
      title: step.title,
      kind: step.kind,
      memory,
      disk: widths && diskOf(step, style, widths),
      rows: rows[step.kind],
    })
  }
  sayMemory(steps, say)
  const needed =
    steps.length > 0 && steps.every(({ disk }) => disk !== null) ? sum(steps.map(({ disk }) => disk!)) : null
  const free = await facts.freeDisk()
  if (needed !== null && free !== null && needed > free)
    say('check', null, 'error', {
      what: 'There is too little disk space.',
      why: `The checkpoints will take ${formatBytes(needed)}, and ${formatBytes(free)} are free.`,
      next: 'Free some space, or choose another workspace in the settings.',
    })
  return { problems, steps, disk: { needed, free } }
}

type Say = (step: Problem['step'], field: string | null, level: Problem['level'], error: StudioError) => void

/** Hidden sizes by agent; null where one is not known. */
async function checkModels(
  draft: SystemDraft,
  style: StyleDefinition,
  facts: DraftFacts,
  say: Say,
): Promise<number[] | null> {
  const known = style.roles.map(({ role }) => role)
  for (const role of Object.keys(draft.models))
    if (!known.includes(role))
      say('models', role, 'error', {
        what: `"${role}" is no role of this style.`,
        why: `The style ${style.name} has ${known.join(', ')}.`,
        next: 'Choose the style again.',
      })
  const widths: (number | null)[] = []
  for (const role of known) {
    const id = Object.hasOwn(draft.models, role) ? draft.models[role] : undefined
    const model = id === undefined ? undefined : await facts.model(id)
    widths.push(model?.hiddenSize ?? null)
    if (id === undefined)
      say('models', role, 'error', {
        what: `The ${role} has no model.`,
        why: 'Every agent needs one; several may share one.',
        next: 'Choose a model for it.',
      })
    else if (!model)
      say('models', role, 'error', {
        what: `The model of the ${role} is not there.`,
        why: `The library has no "${id}" any more.`,
        next: 'Choose another model, or download it again.',
      })
    else if (model.state !== 'ready')
      say(
        'models',
        role,
        'error',
        model.problem ?? {
          what: `The model of the ${role} cannot be used yet.`,
          why: `${model.name} is not complete.`,
          next: 'Wait for its download, or resume it.',
        },
      )
    else if (model.hasChatTemplate === false)
      say('models', role, 'error', {
        what: `The model of the ${role} cannot be asked anything.`,
        why: `${model.name} has no chat template.`,
        next: 'Choose a model that was made for conversation (often called Instruct or Chat).',
      })
  }
  return widths.every((width) => width !== null) ? widths : null
}

async function checkData(
  draft: SystemDraft,
  facts: DraftFacts,
  say: Say,
): Promise<Record<'inner' | 'outer' | 'evaluate', number | null>> {
  const { train, validation, evaluation } = draft.data
  const rows = { inner: null, outer: null, evaluate: null } as Record<'inner' | 'outer' | 'evaluate', number | null>
  const look = async (
    field: string,
    choice: DataChoice,
    use: 'inner' | 'outer' | 'evaluate',
    of = '',
  ): Promise<number | null> => {
    try {
      const { usable, rows: all, problems } = await facts.rows(choice, use)
      const causes = problems.filter(({ kind }) => kind !== 'duplicate').sort((a, b) => b.rows - a.rows)
      const more = causes.length > saidCauses ? [`${causes.length - saidCauses} more causes.`] : []
      const why = [...causes.slice(0, saidCauses).map(({ message }) => message), ...more].join(' ')
      if (usable === 0)
        say('data', field, 'error', {
          what: `No row of this data can be used${of && ` for ${of}`}.`,
          why: why || `It has ${all} rows, and none has what is needed.`,
          next: 'Choose other columns for the fields, or other data.',
        })
      else if (usable < all)
        say('data', field, 'warning', {
          what: `${all - usable} of ${all} rows are left out${of && ` of ${of}`}.`,
          why: why
            ? `${why}${causes.length > 1 ? ' A row may have several causes.' : ''}`
            : 'They lack something that is needed.',
          next: 'Look at them in the dataset browser (Fields), or go on without them.',
        })
      if (choice.limit > all)
        say('data', field, 'warning', {
          what: `There are fewer rows than the ${choice.limit} asked for.`,
          why: `The data has ${all}.`,
          next: 'All of them are used.',
        })
      return choice.limit > 0 ? Math.min(usable, choice.limit) : usable
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      say('data', field, 'error', errorForPage(error))
      return null
    }
  }
  if (train) {
    rows.inner = await look('train', train, 'inner', 'inner training')
    rows.outer = rows.inner === null ? null : await look('train', train, 'outer', 'outer training')
  } else
    say('data', 'train', 'error', {
      what: 'There is nothing to train on.',
      why: 'No training data is chosen.',
      next: 'Choose a data set, or bring one in on the Datasets screen.',
    })
  if (validation) await look('validation', validation, 'outer')
  if (evaluation) rows.evaluate = await look('evaluation', evaluation, 'evaluate')
  else
    say('data', 'evaluation', 'error', {
      what: 'There is nothing to answer.',
      why: 'No questions with gold answers are chosen.',
      next: 'Choose a data set; the dataset browser splits one in two.',
    })
  const sameRows = (a: DataChoice | null, b: DataChoice | null): boolean =>
    a !== null && b !== null && a.dataset === b.dataset && a.file === b.file && a.field === b.field
  const overlap = (field: string, other: string): void =>
    say('data', field, 'warning', {
      what: 'Questions are asked that the links were trained on.',
      why: `This is the file of the ${other} data.`,
      next: 'Choose held-out rows; the dataset browser splits a set in two.',
    })
  if (sameRows(train, evaluation)) overlap('evaluation', 'training')
  if (sameRows(train, validation)) overlap('validation', 'training')
  if (sameRows(validation, evaluation)) overlap('evaluation', 'validation')
  return rows
}

async function memoryOf(step: PipelineStep, facts: DraftFacts, say: Say): Promise<StepMemory | null> {
  const checked = jobSpec.safeParse({ ...step.spec, kind: step.kind, output: 'none' })
  if (!checked.success) {
    const [issue] = checked.error.issues
    say('training', issue.path.join('.') || null, 'error', {
      what: 'A setting cannot be used.',
      why: `${issue.path.join('.') || 'A setting'}: ${issue.message}.`,
      next: 'Change the setting.',
    })
    return null
  }
  try {
    return await facts.memory(checked.data)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    say('training', null, 'error', errorForPage(error))
    return null
  }
}

/** One sentence, for the step with which memory is hardest to come by. */
function sayMemory(steps: DraftReport['steps'], say: Say): void {
  const known = steps.flatMap(({ title, memory }) => (memory ? [{ title, memory }] : []))
  const [worst] = known.sort(
    (a, b) =>
      verdicts.indexOf(b.memory.verdict) - verdicts.indexOf(a.memory.verdict) ||
      (b.memory.together ?? b.memory.total) - (a.memory.together ?? a.memory.total),
  )
  if (!worst || worst.memory.verdict === 'fits') return
  const { title } = worst
  const { total, together, available, verdict } = worst.memory
  const [need, free] = [formatBytes(total), formatBytes(available)]
  if (verdict === 'too-large')
    say('check', null, 'error', {
      what: 'This machine has too little free memory.',
      why: `"${title}" needs about ${need}${together === null ? '' : ' even with one model at a time'}, and ${free} are free.`,
      next: 'Choose smaller models, or close other programs.',
    })
  else if (together !== null)
    say('check', null, 'warning', {
      what: 'The models will take turns in memory.',
      why: `All models of "${title}" together need about ${formatBytes(together)}, and ${free} are free; one at a time, ${need} are enough.`,
      next: 'It runs so, but takes longer. Smaller models, or fewer other programs, avoid it.',
    })
  else
    say('check', null, 'warning', {
      what: 'Memory will be tight.',
      why: `"${title}" needs about ${need}, and ${free} are free.`,
      next: 'Close other programs before it starts.',
    })
}

const verdicts = ['fits', 'tight', 'too-large']

/** Bytes of the checkpoints that a step keeps; evaluations keep next to nothing. */
function diskOf({ kind, spec }: PipelineStep, style: StyleDefinition, widths: readonly number[]): number {
  if (kind === 'evaluate') return 0
  const agent = style.roles.findIndex(({ role }) => role === spec.role)
  const shapes =
    kind === 'inner'
      ? innerParameterShapes('ln_res_adapter', widths[agent])
      : style.links.flatMap(({ source, target }) =>
          outerParameterShapes('outer_ln_res_adapter', widths[source], widths[target]),
        )
  return keptCheckpoints * parameterBytes * sum(shapes.map(numbersOf))
}

function numbersOf({ shape }: ParameterShape): number {
  return shape.reduce((product, size) => product * size, 1)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
