/** The team of a pipeline as the page draws it: agents, links and which of them are trained, of any style. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { SystemPicture } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { systemSpec } from '../engine/job-spec'
import { findSystemOf } from '../engine/released/find-system'
import { releasedSystem } from '../engine/released/systems'
import { mapSpecPaths } from '../engine/spec-paths'
import { isStyleFile, roleIn } from '../engine/styles/registry'
import { isFeedback, type StyleDefinition } from '../engine/styles/style'
import { openStyle } from '../engine/styles/style-file'
import type { Pipeline, PipelineStep } from './pipeline'

/** What of a training or evaluating step's spec tells its team. Paths are absolute. */
const teamSpec = z.looseObject({
  style: z.string().optional(),
  agents: z.array(z.looseObject({ role: z.string(), model: z.string(), innerLink: z.string().optional() })).default([]),
  system: systemSpec.optional(),
  outerLinks: z.string().optional(),
})
type TeamSpec = z.infer<typeof teamSpec>

/**
 * The team that the outer step trains, else the first that a step evaluates; null where there is none that could be drawn. `assets`: what
 * paths of the pipeline are relative to; `doneRun`: the run that did a step.
 */
export async function systemPicture(
  pipeline: Pipeline,
  doneRun: (step: string) => string | null,
  assets: string,
): Promise<SystemPicture | null> {
  const outer = pipeline.steps.find((step) => step.kind === 'outer')
  const shown = outer ?? pipeline.steps.find((step) => step.kind === 'evaluate')
  const absolute = (value: string) => path.resolve(assets, value)
  const parsed = teamSpec.safeParse(mapSpecPaths(shown?.spec, absolute))
  if (!parsed.success) return null
  const spec = parsed.data
  const style = await styleOf(spec, isStyleFile(pipeline.style) ? absolute(pipeline.style) : pipeline.style)
  const models = style && (await modelsOf(style, spec))
  if (!models) return null
  const shapes = await Promise.all(models.map(modelShape))
  const roles = style.roles.map(({ role }) => role)
  const trainedBy = (step: PipelineStep | undefined, given: boolean) => {
    const run = step === undefined ? null : doneRun(step.id)
    return { trained: run !== null || (step === undefined && given), step: step?.id ?? null, run }
  }
  const innerOf = (agent: number) =>
    pipeline.steps.find((step) => step.kind === 'inner' && roleIn(style, String(step.spec.role)) === agent)
  const own = (agent: number) => spec.agents.find(({ role }) => roleIn(style, role) === agent)
  const outerGiven = spec.outerLinks !== undefined || spec.system?.outer === true
  return {
    style: style.name,
    agents: roles.map((role, i) => ({
      role,
      model: path.basename(models[i]),
      ...shapes[i],
      writes: i === style.last,
    })),
    links: [
      ...roles.map((role, i) => ({
        key: role,
        kind: 'inner' as const,
        from: role,
        to: role,
        feedback: false,
        ...trainedBy(innerOf(i), own(i) === undefined || own(i)?.innerLink !== undefined),
      })),
      ...style.links.map((link) => ({
        key: link.key,
        kind: 'outer' as const,
        from: roles[link.source],
        to: roles[link.target],
        feedback: isFeedback(link),
        ...trainedBy(outer, outerGiven),
      })),
    ],
  }
}

/** null: no such style, or a file that is none. */
async function styleOf({ style, system }: TeamSpec, usual: string): Promise<StyleDefinition | null> {
  const released = system?.name === undefined ? null : releasedSystem(system.name)
  return orNull(async () => (await openStyle(released?.style ?? style ?? usual, undefined)).style)
}

/** A model folder for every agent: those that are named, the others out of the system; null where one is missing. */
async function modelsOf(style: StyleDefinition, { agents, system }: TeamSpec): Promise<string[] | null> {
  const models = style.roles.map((_, i) => agents.find(({ role }) => roleIn(style, role) === i)?.model)
  const missing = models.flatMap((model, i) => (model === undefined ? [i] : []))
  if (missing.length > 0 && system) {
    const name = system.name ?? null
    const found = await orNull(() => findSystemOf(style, name, system, 'math', { links: 'none', agents: missing }))
    missing.forEach((agent, i) => (models[agent] = found?.agents[i].model))
  }
  return models.every((model) => model !== undefined) ? models : null
}

async function orNull<T>(action: () => Promise<T>): Promise<T | null> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}

/** Family and sizes as config.json gives them; null where it does not. */
async function modelShape(
  folder: string,
): Promise<{ family: string | null; hiddenSize: number | null; layers: number | null }> {
  try {
    const config = JSON.parse(await readFile(path.join(folder, 'config.json'), 'utf8')) as Record<string, unknown>
    const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)
    return {
      family: typeof config.model_type === 'string' ? config.model_type : null,
      hiddenSize: number(config.hidden_size),
      layers: number(config.num_hidden_layers),
    }
  } catch {
    return { family: null, hiddenSize: null, layers: null }
  }
}
