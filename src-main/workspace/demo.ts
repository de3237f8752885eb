/**
 * The Demo project: on the first start the embedded demo (models, data, prompt pack, pipeline) is copied into the workspace, so that
 * runs keep working when the app is updated or, as an AppImage does, lies somewhere else at each start.
 */
import { cp } from 'node:fs/promises'
import { UserError } from '../engine/errors'
import { removeLeftovers, writeFolderWhole } from '../engine/formats/atomic-files'
import { exists, flushFiles } from './files'
import { readPipeline } from './pipeline'
import type { Places } from './places'
import type { Project, ProjectStore } from './project-store'

export const demoName = 'Demo'

/** The Demo project, made from `source` (native-assets/demo) where it is not there yet. Throws UserError. */
export async function openDemo(options: {
  places: Places
  projects: ProjectStore
  source: string
  pipelineFile: string
  now: number
}): Promise<Project> {
  const { places, projects, source, pipelineFile, now } = options
  if (await exists(places.projectFile(demoName))) return projects.get(demoName)
  if (!(await exists(source)))
    throw new UserError({
      what: 'The Demo project cannot be made.',
      why: `The embedded demo is missing: ${source} does not exist.`,
      next: 'Install the app again; from a clone, run "npm run demo:build".',
    })
  const pipeline = await readPipeline(source, pipelineFile)
  await removeLeftovers(places.project(demoName))
  const copy = async (temporary: string): Promise<void> => {
    await cp(source, temporary, { recursive: true })
    await flushFiles(temporary)
  }
  // Without a project.json assets can only be what an earlier attempt left when it was cut off.
  await writeFolderWhole(places.assets(demoName), copy, { replaces: () => true })
  const { title, description } = pipeline
  return projects.create(demoName, { version: 1, title, description, created: now, demo: true, pipeline })
}
