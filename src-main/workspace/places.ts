/**
 * Where things lie in a workspace. Training runs are in runs/<id>, evaluations in results/<id>: both hold the files of a run
 * (run.json, journal.jsonl, log.txt), an evaluation also result.json and samples.jsonl, so a result is its run and has its id.
 *
 * Writers: project.json, run.json and log.txt are main's; everything else in a run's folder is the engine's.
 */
import path from 'node:path'
import type { JobKind } from '../bridge/contract'
import { inside } from './files'

export class Places {
  constructor(readonly root: string) {}

  get projects(): string {
    return path.join(this.root, 'projects')
  }

  get logs(): string {
    return path.join(this.root, 'logs')
  }

  /** The library's models, a folder each. */
  get models(): string {
    return path.join(this.root, 'models')
  }

  /** The library's data sets, a folder each. */
  get datasets(): string {
    return path.join(this.root, 'datasets')
  }

  project(name: string): string {
    return inside(this.projects, name)
  }

  projectFile(name: string): string {
    return path.join(this.project(name), 'project.json')
  }

  /** What the project's pipeline refers to by relative paths. */
  assets(project: string): string {
    return path.join(this.project(project), 'assets')
  }

  /** The folders that hold runs, by kind of job. */
  runsOf(project: string, kind: JobKind): string {
    return path.join(this.project(project), kind === 'evaluate' ? 'results' : 'runs')
  }

  run(project: string, kind: JobKind, id: string): string {
    return inside(this.runsOf(project, kind), id)
  }
}
