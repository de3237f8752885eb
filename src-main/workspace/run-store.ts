/**
 * The runs of a workspace: records and journals in memory as they are on disk. A run that says it is running without a living
 * engine is put right here (interrupted, or whatever its journal ends with), so nothing above ever sees a dead run as running.
 */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { JobKind, RunState } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { listSteps } from '../engine/training/checkpoint-folders'
import { removeFolderWhole, writeJsonWhole } from '../engine/formats/atomic-files'
import type { JobEvent } from '../engine/job-events'
import { mapSpecPaths, moved } from '../engine/spec-paths'
import { endProcess, isAlive, lastHeartbeat } from '../jobs/heartbeat'
import { exists, folderBytes, readJson, subFolders } from './files'
import { newRunId } from './ids'
import type { Places } from './places'
import { addEvent, eventsIn, newJournal, withCheckpoints, withProgress, type RunJournal } from './run-journal'
import { runRecord, stateOf, withState, type RunRecord } from './run-record'

export interface RunKey {
  readonly project: string
  readonly id: string
}

export interface Run extends RunKey {
  readonly folder: string
  readonly record: RunRecord
  readonly journal: RunJournal
}

export interface StateChange {
  readonly detail?: string | null
  readonly error?: RunRecord['error']
  readonly spec?: Record<string, unknown>
  readonly time?: number
}

/** One kind for each of the two folders that hold runs. */
const kinds: readonly JobKind[] = ['inner', 'evaluate']

const interruptedError = {
  what: 'The run was interrupted.',
  why: 'Its process ended without a word: the app was ended, or the machine went down.',
  next: 'Resume it: it goes on from its last checkpoint.',
}

export class RunStore {
  private readonly runs = new Map<string, Run>()
  private readonly loading = new Map<string, Promise<void>>()
  /** Runs whose engine this process owns: their state is what we say it is. */
  private readonly owned = new Set<string>()
  private readonly settling = new Map<string, Promise<Run>>()
  /** The write of each run.json that is under way: the next one waits for it. */
  private readonly writing = new Map<string, Promise<void>>()

  constructor(
    private readonly places: Places,
    private readonly onProblem: (error: unknown) => void,
    /** A run was found to have ended without us. */
    private readonly onSettled: (run: Run) => void = () => undefined,
    private readonly now: () => number = Date.now,
  ) {}

  /** Newest first. */
  async list(project: string): Promise<Run[]> {
    await this.load(project)
    const runs = [...this.runs.values()].filter((run) => run.project === project)
    const settled = await Promise.all(runs.map((run) => this.settle(run)))
    return settled.sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Of a project that is gone. */
  forget(project: string): void {
    this.loading.delete(project)
    for (const [key, run] of this.runs) if (run.project === project) this.runs.delete(key)
  }

  /** Throws UserError where there is no such run. */
  async get(key: RunKey): Promise<Run> {
    await this.load(key.project)
    const run = this.runs.get(textOf(key))
    if (run) return this.settle(run)
    throw new UserError({
      what: 'This run is not there.',
      why: `The project "${key.project}" has no run "${key.id}".`,
      next: 'It may have been deleted; choose another one from the list.',
    })
  }

  /** The run as it is in memory; it must have been listed, got or created before. */
  known(key: RunKey): Run {
    const run = this.runs.get(textOf(key))
    if (!run) throw new Error(`run ${textOf(key)} is not loaded`)
    return run
  }

  async create(
    project: string,
    options: { title: string; kind: JobKind; step: string | null; label: string; spec: Record<string, unknown> },
  ): Promise<Run> {
    await this.load(project)
    const { title, kind, step, spec } = options
    const time = this.now()
    const id = newRunId(options.label, time)
    const folder = this.places.run(project, kind, id)
    const history = [{ time, state: 'queued' as const, detail: null }]
    const record: RunRecord = { version: 1, id, title, kind, step, created: time, spec, history, error: null }
    const run: Run = { project, id, folder, record, journal: newJournal() }
    // On disk first: a full disk must not leave a run that exists in memory only.
    await this.write(run)
    return this.keep(run)
  }

  /** The run after a change of state: in memory at once, on disk when the promise is fulfilled. */
  async setState(key: RunKey, state: RunState, change: StateChange = {}): Promise<Run> {
    const run = this.known(key)
    const { spec, ...rest } = change
    const record = withState(run.record, state, { ...rest, time: change.time ?? this.now() })
    const next = this.keep({ ...run, record: spec ? { ...record, spec } : record })
    await this.write(next)
    return next
  }

  /** In memory only: the engine writes its own journal. */
  addEvent(key: RunKey, event: JobEvent): Run {
    const run = this.known(key)
    return this.keep({ ...run, journal: addEvent(run.journal, event) })
  }

  /** A run that starts anew: the engine sets aside what there was. */
  forgetJournal(key: RunKey): void {
    this.keep({ ...this.known(key), journal: newJournal() })
  }

  /** Takes in what the engine saved but could not tell of any more. */
  async findCheckpoints(key: RunKey): Promise<void> {
    const found = await checkpointsIn(this.known(key).folder)
    const run = this.known(key)
    this.keep({ ...run, journal: withCheckpoints(run.journal, found) })
  }

  /** Looks again at the runs whose engines belong to an app that is gone. */
  async settleForeign(): Promise<void> {
    await Promise.all([...this.runs.values()].map((run) => this.settle(run)))
  }

  /** Ends the engine of such a run at once; undefined where none works on it. Throws UserError where it cannot be ended. */
  async endForeign(key: RunKey): Promise<Run | undefined> {
    const run = await this.settle(this.known(key))
    if (!isActive(run) || this.owned.has(textOf(key))) return undefined
    const beat = await lastHeartbeat(run.folder)
    if (beat) await endProcess(beat.pid)
    const journal = await readJournal(run.folder)
    this.keep({ ...this.known(key), journal })
    return this.setState(key, 'paused', { detail: 'Its process, left by an earlier start of the app, was ended.' })
  }

  own(key: RunKey): void {
    this.owned.add(textOf(key))
  }

  disown(key: RunKey): void {
    this.owned.delete(textOf(key))
  }

  /** Takes the run's folder away; bytes freed. */
  async remove(key: RunKey): Promise<number> {
    const run = this.known(key)
    const bytes = await folderBytes(run.folder)
    await this.writing.get(textOf(key))
    await removeFolderWhole(run.folder)
    this.runs.delete(textOf(key))
    return bytes
  }

  /** Runs that were waiting when the app ended wait for a person now: nothing starts by itself. */
  async releaseQueued(project: string): Promise<void> {
    for (const run of await this.list(project))
      if (stateOf(run.record) === 'queued')
        await this.setState(run, 'paused', { detail: 'The app was closed before it could start.' })
  }

  private keep(run: Run): Run {
    this.runs.set(textOf(run), run)
    return run
  }

  private write(run: Run): Promise<void> {
    const key = textOf(run)
    const before = this.writing.get(key) ?? Promise.resolve()
    const writing = before
      .catch(() => undefined)
      .then(() => writeJsonWhole(path.join(run.folder, 'run.json'), run.record))
    this.writing.set(key, writing)
    return writing
  }

  private load(project: string): Promise<void> {
    let loading = this.loading.get(project)
    if (!loading) {
      loading = this.readAll(project)
      this.loading.set(project, loading)
      loading.catch(() => this.loading.delete(project))
    }
    return loading
  }

  private async readAll(project: string): Promise<void> {
    for (const kind of kinds)
      for (const id of await subFolders(this.places.runsOf(project, kind))) {
        const folder = path.join(this.places.runsOf(project, kind), id)
        const file = path.join(folder, 'run.json')
        if (!(await exists(file))) continue
        try {
          const record = await readJson(file, runRecord)
          if (record.id !== id) throw new Error(`${file} belongs to the run ${record.id}`)
          const spec = specIn(record.spec, folder, this.places.root)
          this.keep({ project, id, folder, record: { ...record, spec }, journal: await readJournal(folder) })
        } catch (error) {
          this.onProblem(error)
        }
      }
  }

  /** Puts a run right that says it goes on while nobody works on it. */
  private settle(run: Run): Promise<Run> {
    const key = textOf(run)
    if (!isActive(run) || this.owned.has(key)) return Promise.resolve(run)
    let settling = this.settling.get(key)
    if (!settling) {
      settling = this.settleDead(run)
        .then((settled) => {
          if (!isActive(settled)) this.onSettled(settled)
          return settled
        })
        .finally(() => this.settling.delete(key))
      this.settling.set(key, settling)
    }
    return settling
  }

  private async settleDead(run: Run): Promise<Run> {
    if (await isAlive(run.folder, this.now())) return run
    const journal = await readJournal(run.folder)
    const beat = await lastHeartbeat(run.folder)
    const since = run.record.history.findLast((entry) => entry.state === 'running')?.time ?? 0
    // Last words and beats of an earlier stretch say nothing about this one.
    const ofThis = <T extends { time: number }>(what: T | null): T | null => (what && what.time >= since ? what : null)
    const ended = ofThis(journal.finished) ?? ofThis(journal.ended)
    const time = Math.min(this.now(), ended?.time ?? ofThis(beat)?.time ?? run.record.history.at(-1)!.time)
    this.keep({ ...run, journal })
    switch (ended?.kind) {
      case 'finished':
        return this.setState(run, 'done', { time })
      case 'stopped':
        return this.setState(run, 'paused', { time })
      case 'failed': {
        const { what, why, next } = ended
        return this.setState(run, 'failed', { time, error: { what, why, next } })
      }
    }
    return this.setState(run, 'interrupted', { time, error: interruptedError })
  }
}

function isActive(run: Run): boolean {
  const state = stateOf(run.record)
  return state === 'running' || state === 'stopping'
}

/** Whole checkpoints: their folders get their names last. */
async function checkpointsIn(runFolder: string): Promise<{ step: number; time: number; folder: string }[]> {
  const parent = path.join(runFolder, 'checkpoints')
  return Promise.all(
    (await listSteps(parent)).map(async (step) => {
      const folder = path.join(parent, `step-${step}`)
      const time = await stat(folder).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      )
      return { step, time, folder }
    }),
  )
}

async function readJournal(folder: string): Promise<RunJournal> {
  let journal = newJournal()
  for (const name of ['metrics.jsonl', 'journal.jsonl'])
    for await (const event of eventsIn(path.join(folder, name))) journal = addEvent(journal, eventIn(event, folder))
  return withProgress(withCheckpoints(journal, await checkpointsIn(folder)))
}

/** A spec with the paths that the workspace has now: the run's own folder tells where the workspace was when it was written. */
function specIn(spec: Record<string, unknown>, folder: string, root: string): Record<string, unknown> {
  const own = path.sep + path.relative(root, folder)
  if (typeof spec.output !== 'string' || spec.output === folder || !spec.output.endsWith(own)) return spec
  const before = spec.output.slice(0, -own.length)
  return mapSpecPaths(spec, (value) => moved(value, before, root)) as Record<string, unknown>
}

/** A run's checkpoints lie in its folder, wherever that was when the event was written. */
function eventIn(event: JobEvent, folder: string): JobEvent {
  const here = (checkpoint: string): string => path.join(folder, 'checkpoints', path.basename(checkpoint))
  if (event.kind === 'checkpoint') return { ...event, folder: here(event.folder) }
  if (event.kind === 'finished' && event.checkpoint !== undefined)
    return { ...event, checkpoint: here(event.checkpoint) }
  return event
}

function textOf(key: RunKey): string {
  return `${key.project}/${key.id}`
}
