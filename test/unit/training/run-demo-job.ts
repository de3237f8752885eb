/** Runs jobs on the demo's tiny models and collects what they say. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runJob } from '../../../src-main/engine/engine'
import type { JobEvent, JobEventOf } from '../../../src-main/engine/job-events'
import { jobSpec, type JobSpecInput } from '../../../src-main/engine/job-spec'

export const demo = (name: string): string =>
  fileURLToPath(new URL(`../../../native-assets/demo/${name}`, import.meta.url))

export const roles = ['planner', 'critic', 'solver']
export const agents = roles.map((role) => ({ role, model: demo(`models/${role}`) }))

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'jobs-'))

  path(name: string): string {
    return join(this.folder, name)
  }

  copyModel(role: string): string {
    const to = this.path(`model-${role}`)
    cpSync(demo(`models/${role}`), to, { recursive: true })
    return to
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export class Heard {
  readonly events: JobEvent[] = []

  of<K extends JobEvent['kind']>(kind: K): JobEventOf<K>[] {
    return this.events.filter((e): e is JobEventOf<K> => e.kind === kind)
  }

  get last(): JobEvent {
    return this.events.at(-1)!
  }

  /** The error that a person reads. */
  get failure(): string {
    const [f] = this.of('failed')
    return f ? `${f.what} ${f.why} ${f.next}` : ''
  }

  losses(): [step: number, loss: number][] {
    return this.of('metrics').map((m) => [m.step, m.loss])
  }
}

/** `stopAt`: asks the job to stop as soon as this says so. */
export async function run(
  spec: JobSpecInput,
  options: { resume?: boolean; stopAt?: (e: JobEvent) => boolean } = {},
): Promise<Heard> {
  const heard = new Heard()
  const stop = new AbortController()
  await runJob(jobSpec.parse({ threads: 1, ...spec }), {
    resume: options.resume,
    signal: stop.signal,
    emit: (event) => {
      heard.events.push(event)
      if (options.stopAt?.(event)) stop.abort()
    },
  })
  return heard
}

export function jsonLines<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((l) => JSON.parse(l) as T)
}
