/**
 * A project's pipeline: named steps, each one job, in an order given by what they require. The demo's lies in
 * native-assets/demo/pipeline.json; the app copies it into project.json, `npm run demo` reads it where it is, and both turn a
 * step into a job spec with `resolveStep`, so they run the same jobs.
 *
 * The file:
 *   { "version": 1, "title": "Demo", "description": "…", "style": "sequential",
 *     "systems": [{ "id": "trained", "title": "Trained links" }, …],          rows of the comparison table, in order
 *     "steps": [{ "id": "inner-planner", "title": "Inner link: planner", "kind": "inner", "requires": [], "spec": { … } },
 *               { "id": "outer", "title": "Outer links", "kind": "outer", "requires": ["inner-planner", …], "spec": { … } },
 *               { "id": "trained-3", "title": "…", "kind": "evaluate", "system": "trained", "requires": ["outer"], "spec": { … } }] }
 * `spec` is what job-spec.ts takes, without `kind` (the step's) and without `output` (whoever runs the step gives the folder).
 * Paths are relative to the folder of pipeline.json (the app: to its copy of that folder). Where a link checkpoint is expected:
 *   "run:<step id>"       the final checkpoint of that step's run,
 *   "run:<step id>@best"  the one that its validation found best (the final one where there was no validation).
 * Every step that is referred to must be in `requires` (directly or through other steps).
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { jobKind, stepId } from '../bridge/views'
import { UserError } from '../engine/errors'
import { checkJson } from '../engine/formats/schema-faults'
import type { JobEvent } from '../engine/job-events'
import type { JobSpec } from '../engine/job-spec'
import { checkSpec } from '../jobs/read-spec'
import { mapSpecPaths } from '../engine/spec-paths'

const pipelineStep = z
  .strictObject({
    id: stepId,
    title: z.string().min(1),
    kind: jobKind,
    requires: z.array(stepId).default([]),
    /** Evaluations: the row of the comparison table; its column is the number of rounds. */
    system: z.string().optional(),
    spec: z.record(z.string(), z.unknown()),
  })
  .superRefine((step, context) => {
    if (step.kind === 'evaluate' && step.system === undefined)
      context.addIssue({ code: 'custom', path: ['system'], message: 'an evaluation names its row' })
    for (const field of ['kind', 'output'])
      if (field in step.spec) context.addIssue({ code: 'custom', path: ['spec', field], message: 'not given here' })
  })

export const pipeline = z
  .strictObject({
    version: z.literal(1),
    title: z.string().min(1),
    description: z.string().default(''),
    style: z.string().default('sequential'),
    systems: z.array(z.strictObject({ id: z.string(), title: z.string() })).default([]),
    steps: z.array(pipelineStep),
  })
  .superRefine((value, context) => {
    const earlier = new Map<string, Set<string>>()
    const systems = new Set(value.systems.map((s) => s.id))
    value.steps.forEach((step, i) => {
      const say = (message: string): void => context.addIssue({ code: 'custom', path: ['steps', i], message })
      if (earlier.has(step.id)) say(`two steps are called "${step.id}"`)
      const reach = new Set<string>()
      for (const id of step.requires) {
        const further = earlier.get(id)
        if (!further) say(`requires "${id}", which is no earlier step`)
        else for (const x of [id, ...further]) reach.add(x)
      }
      for (const { step: id } of references(step.spec))
        if (!reach.has(id)) say(`refers to "${id}" but does not require it`)
      if (step.system !== undefined && !systems.has(step.system)) say(`system "${step.system}" is not in systems`)
      earlier.set(step.id, reach)
    })
  })

export type Pipeline = z.infer<typeof pipeline>
export type PipelineStep = Pipeline['steps'][number]

/** What a finished training step left: folders of link checkpoints. */
export interface StepOutcome {
  readonly checkpoint: string
  readonly best: string | null
}

interface Reference {
  readonly step: string
  readonly best: boolean
}

/**
 * Steps are listed after what they require (the schema sees to it), so the list is an order in which they can run.
 * `name`: the file in the folder, where there are several (the demo's short one for tests).
 */
export async function readPipeline(folder: string, name = 'pipeline.json'): Promise<Pipeline> {
  const file = path.join(folder, name)
  const refusal = (why: string, cause?: unknown) =>
    new UserError(
      {
        what: `The pipeline ${file} cannot be used.`,
        why: `${why}.`,
        next: 'Restore the file from the installation.',
      },
      { cause },
    )
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw refusal((error as Error).message, error)
  })
  const checked = checkJson(pipeline, text)
  if (checked.ok) return checked.data
  throw refusal(checked.why)
}

/**
 * A step as a job. `base`: the folder that paths are relative to; `output`: the run's folder; `outcome`: what an earlier step
 * left. Throws UserError where an earlier step is not done or the spec does not fit.
 */
export function resolveStep(
  step: PipelineStep,
  options: { base: string; output: string; outcome: (stepId: string) => StepOutcome | undefined },
): JobSpec {
  const resolved = mapSpecPaths(step.spec, (value) => {
    const reference = parseReference(value)
    if (!reference) return path.resolve(options.base, value)
    const outcome = options.outcome(reference.step)
    if (outcome) return reference.best ? (outcome.best ?? outcome.checkpoint) : outcome.checkpoint
    throw new UserError({
      what: `The step "${step.title}" cannot start.`,
      why: `It uses the links of the step "${reference.step}", which is not done.`,
      next: 'Run that step first.',
    })
  }) as Record<string, unknown>
  return checkSpec({ ...resolved, kind: step.kind, output: options.output }, `The step "${step.title}"`)
}

/** What a run left, from its events; undefined while it is not finished or left no checkpoint. */
export function outcomeOf(events: Iterable<JobEvent>): StepOutcome | undefined {
  let checkpoint: string | undefined
  let best: string | null = null
  for (const event of events) {
    if (event.kind === 'checkpoint' && event.best) best = event.folder
    else if (event.kind === 'finished') checkpoint = event.checkpoint
  }
  return checkpoint === undefined ? undefined : { checkpoint, best }
}

function references(spec: unknown): Reference[] {
  const found: Reference[] = []
  mapSpecPaths(spec, (value) => {
    const reference = parseReference(value)
    if (reference) found.push(reference)
    return value
  })
  return found
}

function parseReference(value: string): Reference | undefined {
  const match = /^run:([^@]+)(@best)?$/.exec(value)
  return match ? { step: match[1], best: match[2] !== undefined } : undefined
}
