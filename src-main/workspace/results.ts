/** The results of a project: its finished evaluations, alone and as a table of systems by rounds. */
import path from 'node:path'
import type { ComparisonTable, ResultDetail, ResultSummary } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { evaluateJob, type EvaluateJob } from '../engine/job-spec'
import type { Pipeline } from './pipeline'
import { listQuestions } from './questions'
import { runTimes, stateOf } from './run-record'
import type { Run } from './run-store'

interface Finished {
  readonly run: Run
  readonly spec: EvaluateJob
  readonly accuracy: ResultSummary['accuracy']
}

/** `runs` newest first, and so the results. */
export function resultsOf(runs: readonly Run[]): ResultSummary[] {
  return runs.flatMap((run) => {
    const result = finishedOf(run)
    return result ? [summaryOf(result)] : []
  })
}

/** Throws UserError where the run is no finished evaluation. */
export function resultSummary(run: Run): ResultSummary {
  return summaryOf(demandFinished(run))
}

export async function resultDetail(run: Run): Promise<ResultDetail> {
  const result = demandFinished(run)
  const differing = await listQuestions(run.folder, { filter: 'graders-differ', search: '', offset: 0, limit: 1 })
  return {
    ...summaryOf(result),
    spec: run.record.spec,
    folder: run.folder,
    gradersDiffer: differing.total,
  }
}

/** The newest result of every evaluation step of the pipeline, a row for each system, a column for each number of rounds. */
export function comparisonTable(pipeline: Pipeline, runs: readonly Run[]): ComparisonTable {
  const cells = new Map<string, NonNullable<ComparisonTable['rows'][number]['cells'][number]>>()
  const rounds = new Set<number>()
  const systemOf = new Map(pipeline.steps.map((step) => [step.id, step.system]))
  for (const run of runs) {
    const system = run.record.step === null ? undefined : systemOf.get(run.record.step)
    const result = system === undefined ? undefined : finishedOf(run)
    if (!result) continue
    const { id, accuracy, strictAccuracy, seconds } = summaryOf(result)
    const key = `${system}/${result.spec.rounds}`
    rounds.add(result.spec.rounds)
    if (!cells.has(key)) cells.set(key, { result: id, accuracy, strictAccuracy, seconds })
  }
  const columns = [...rounds].sort((a, b) => a - b)
  return {
    columns: columns.map((n) => ({ rounds: n, title: n === 1 ? '1 round' : `${n} rounds` })),
    rows: pipeline.systems
      .map(({ id, title }) => ({
        system: id,
        title,
        cells: columns.map((n) => cells.get(`${id}/${n}`) ?? null),
      }))
      .filter((row) => row.cells.some((cell) => cell !== null)),
  }
}

function finishedOf(run: Run): Finished | undefined {
  if (run.record.kind !== 'evaluate' || stateOf(run.record) !== 'done') return undefined
  const accuracy = run.journal.finished?.accuracy
  const spec = evaluateJob.safeParse(run.record.spec)
  return accuracy && spec.success ? { run, spec: spec.data, accuracy } : undefined
}

function demandFinished(run: Run): Finished {
  const result = finishedOf(run)
  if (result) return result
  throw new UserError({
    what: 'There is no such result.',
    why: `"${run.record.title}" is not a finished evaluation.`,
    next: 'Choose a result from the list, or resume the evaluation.',
  })
}

function summaryOf({ run, spec, accuracy }: Finished): ResultSummary {
  const { record, journal, project, id } = run
  return {
    project,
    id,
    title: record.title,
    step: record.step,
    created: runTimes(record, 0).ended ?? record.created,
    seconds: journal.finished?.seconds ?? runTimes(record, 0).seconds,
    style: path.basename(spec.style, '.json'),
    passing: spec.passing,
    control: spec.control,
    mode: spec.mode,
    rounds: spec.rounds,
    latentSteps: spec.latentSteps,
    seed: spec.seed,
    grader: spec.grader,
    dataset: path.basename(spec.data.file),
    accuracy,
    strictAccuracy: journal.finished?.strictAccuracy ?? null,
  }
}
