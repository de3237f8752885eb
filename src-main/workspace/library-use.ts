/** Which projects use what: the paths that the steps of their pipelines name. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { UsedBy } from '../bridge/contract'
import type { PipelineStep } from './pipeline'
import type { Places } from './places'
import type { ProjectStore } from './project-store'

/** A path that a step of a project's pipeline names. */
export interface Use {
  readonly project: string
  readonly title: string
  /** How it is used: the step's title, or the role. */
  readonly as: string
  readonly path: string
}

/** `named`: what a step names, as its spec writes it. */
export async function usesOf(
  places: Places,
  projects: ProjectStore,
  named: (step: PipelineStep) => readonly { readonly path: string; readonly as: string }[],
): Promise<Use[]> {
  const found: Use[] = []
  for (const { name, title } of (await projects.list()).projects)
    for (const step of (await projects.get(name)).pipeline.steps)
      for (const { path: file, as } of named(step))
        found.push({ project: name, title, as, path: path.resolve(places.assets(name), file) })
  return found
}

/** By project, each way of using it once. */
export function usedBy(uses: readonly Use[], isIt: (path: string) => boolean): UsedBy[] {
  const found = new Map<string, UsedBy>()
  for (const use of uses.filter((one) => isIt(one.path))) {
    const known = found.get(use.project)
    if (!known) found.set(use.project, { project: use.project, title: use.title, as: [use.as] })
    else if (!known.as.includes(use.as)) known.as.push(use.as)
  }
  return [...found.values()]
}

/** Projects whose file cannot be understood, but names something of the library: they may use it. */
export async function mayUse(places: Places, projects: ProjectStore, folder: string): Promise<UsedBy[]> {
  const found: UsedBy[] = []
  for (const { name } of (await projects.list()).damaged) {
    const text = await readFile(places.projectFile(name), 'utf8').catch(() => '')
    if (text.includes(path.basename(folder))) found.push({ project: name, title: name, as: ['its file is damaged'] })
  }
  return found
}
