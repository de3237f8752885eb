/**
 * Projects: a folder with a project.json each. Main is their only writer. A file that cannot be read is reported and left alone: it
 * may hold a person's work that only needs a comma.
 */
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import type { DamagedProject, ProjectSummary } from '../bridge/contract'
import { systemDraft } from '../bridge/system-views'
import { projectName } from '../bridge/views'
import { UserError } from '../engine/errors'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { makeFolder } from '../engine/formats/make-folder'
import { exists, readJson, subFolders } from './files'
import { pipeline } from './pipeline'
import type { Places } from './places'

export const projectFile = z.strictObject({
  version: z.literal(1),
  title: z.string(),
  description: z.string(),
  created: z.number(),
  demo: z.boolean(),
  pipeline,
  /** The wizard's choices, where it was made of them. */
  draft: systemDraft.optional(),
})

export interface Project extends z.infer<typeof projectFile> {
  readonly name: string
}

export class ProjectStore {
  private readonly read = new Map<string, { modified: number; project: Project }>()

  constructor(private readonly places: Places) {}

  async list(): Promise<{ projects: ProjectSummary[]; damaged: DamagedProject[] }> {
    const projects: ProjectSummary[] = []
    const damaged: DamagedProject[] = []
    for (const name of await subFolders(this.places.projects)) {
      if (!projectName.safeParse(name).success || !(await exists(this.places.projectFile(name)))) continue
      try {
        projects.push(summaryOf(await this.get(name)))
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        const { what, why, next } = error
        damaged.push({ name, error: { what, why, next } })
      }
    }
    return { projects, damaged }
  }

  /** Throws UserError where there is no such project or its file cannot be read. */
  async get(name: string): Promise<Project> {
    const file = this.places.projectFile(name)
    const modified = await stat(file).then(
      (s) => s.mtimeMs,
      () => null,
    )
    if (modified === null)
      throw new UserError({
        what: 'This project is not there.',
        why: `${file} does not exist.`,
        next: 'Choose another project from the list.',
      })
    const known = this.read.get(name)
    if (known?.modified === modified) return known.project
    const project = { name, ...(await readJson(file, projectFile)) }
    this.read.set(name, { modified, project })
    return project
  }

  /** Writes a new project's file; its folder may be there already, a project.json not. */
  async create(name: string, content: z.infer<typeof projectFile>): Promise<Project> {
    const taken = (await subFolders(this.places.projects)).find((other) => other.toLowerCase() === name.toLowerCase())
    if (taken !== undefined && (await exists(this.places.projectFile(taken))))
      throw new UserError({
        what: `The project "${name}" cannot be made.`,
        why: `There is a project "${taken}" already.`,
        next: 'Choose another name.',
      })
    makeFolder(this.places.project(name))
    await writeJsonWhole(this.places.projectFile(name), content)
    return this.get(name)
  }
}

export function summaryOf(project: Project): ProjectSummary {
  const { name, title, description, created, demo } = project
  return { name, title, description, created, demo }
}
