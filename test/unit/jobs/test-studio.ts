/** A studio on a temporary workspace with a small demo: two inner steps, outer, one evaluation. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { EventName, EventPayload } from '../../../src-main/bridge/contract'
import { events } from '../../../src-main/bridge/contract'
import type { ToData } from '../../../src-main/data-process/messages'
import type { Spawn } from '../../../src-main/jobs/child'
import type { SpawnEngine } from '../../../src-main/jobs/engine-messages'
import { openSecrets, type Secrets } from '../../../src-main/secrets/secrets'
import { Studio } from '../../../src-main/studio'
import { inProcessData } from '../datasets/in-process-data'
import { inProcessSpawner } from './fake-child'

export const roles = ['planner', 'critic', 'solver']

export function demoPipeline(change: Record<string, Record<string, unknown>> = {}) {
  const training = { steps: 20, data: { file: 'train.jsonl' } }
  const inner = roles.map((role) => ({
    id: `inner-${role}`,
    title: `Inner link: ${role}`,
    kind: 'inner',
    requires: [] as string[],
    spec: { role, model: `models/${role}`, ...training, ...change[`inner-${role}`] },
  }))
  const agents = roles.map((role) => ({ role, model: `models/${role}`, innerLink: `run:inner-${role}` }))
  return {
    version: 1,
    title: 'Demo',
    description: 'Small.',
    systems: [
      { id: 'trained', title: 'Trained links' },
      { id: 'text', title: 'Text' },
    ],
    steps: [
      ...inner,
      {
        id: 'outer',
        title: 'Outer links',
        kind: 'outer',
        requires: inner.map(({ id }) => id),
        spec: { agents, ...training, ...change.outer },
      },
      {
        id: 'trained-2',
        title: 'Trained links, 2 rounds',
        kind: 'evaluate',
        system: 'trained',
        requires: ['outer'],
        spec: {
          agents,
          outerLinks: 'run:outer@best',
          data: { file: 'held-out.jsonl', limit: 10 },
          rounds: 2,
          ...change['trained-2'],
        },
      },
    ],
  }
}

export interface TestStudio {
  readonly studio: Studio
  readonly folder: string
  readonly workspace: string
  readonly sent: { name: EventName; payload: unknown }[]
  readonly problems: unknown[]
  /** How often nothing ran and nothing waited any more. */
  idle(): number
  of<N extends EventName>(name: N): EventPayload<N>[]
  remove(): void
}

export function testStudio(
  options: {
    spawn?: SpawnEngine
    spawnData?: Spawn<ToData>
    secrets?: Secrets
    /** Address of a hub. */
    hub?: string
    grace?: number
    lookEvery?: number
    /** Another studio's folder: the app is started again. */
    again?: TestStudio
    /** Where the workspace is; beside the demo unless told otherwise. */
    workspace?: string
    pipeline?: unknown
  } = {},
): TestStudio {
  const folder = options.again?.folder ?? mkdtempSync(path.join(tmpdir(), 'studio-test-'))
  const demo = path.join(folder, 'native-assets')
  const workspace = options.workspace ?? path.join(folder, 'workspace')
  if (!options.again) {
    for (const role of roles) {
      mkdirSync(path.join(demo, 'models', role), { recursive: true })
      writeFileSync(
        path.join(demo, 'models', role, 'config.json'),
        JSON.stringify({ model_type: 'llama', hidden_size: 64, num_hidden_layers: 3 }),
      )
    }
    writeFileSync(path.join(demo, 'pipeline.json'), JSON.stringify(options.pipeline ?? demoPipeline()))
  }
  const sent: TestStudio['sent'] = []
  const problems: unknown[] = []
  let idle = 0
  const studio = new Studio({
    workspace,
    demo: { folder: demo, pipeline: 'pipeline.json' },
    spawn: options.spawn ?? inProcessSpawner(),
    spawnData: options.spawnData ?? inProcessData(),
    secrets: options.secrets ?? openSecrets({ load: () => Promise.reject(new Error('no key store in tests')) }),
    hubEndpoint: () => options.hub,
    send: (name, payload) => {
      // What the page would get must be what the contract says.
      sent.push({ name, payload: events[name].parse(structuredClone(payload)) })
    },
    onIdle: () => idle++,
    onProblem: (error) => problems.push(error),
    grace: options.grace ?? 5000,
    lookEvery: options.lookEvery,
  })
  return {
    studio,
    folder,
    workspace,
    sent,
    problems,
    idle: () => idle,
    of: <N extends EventName>(name: N) =>
      sent.filter((event) => event.name === name).map(({ payload }) => payload as EventPayload<N>),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Waits until `check` holds; an error after 10 s. */
export async function until(check: () => boolean | Promise<boolean>, what = 'it'): Promise<void> {
  const end = Date.now() + 10_000
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`waited too long until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
