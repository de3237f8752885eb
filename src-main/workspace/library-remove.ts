/** The end of an entry of the library, model or data set. */
import path from 'node:path'
import type { UsedBy } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { removeFolderWhole } from '../engine/formats/atomic-files'
import { explainingDiskErrors } from '../engine/formats/disk-errors'
import { lockFolder } from '../hub/download/folder-lock'

export interface Removal {
  /** For a person: `The model "x"`. */
  readonly called: string
  readonly name: string
  /** The folder that goes; null where the entry belongs to a project. */
  readonly folder: string | null
  readonly usedBy: readonly UsedBy[]
  /** What to do first where a project uses it. */
  readonly whereUsed: string
  /** A download may be under way in its folder. */
  readonly isDownload: boolean
}

/** Throws UserError where it belongs to a project, a project uses it, it is being downloaded, or the disk does not allow it. */
export async function removeEntry({ called, name, folder, usedBy, whereUsed, isDownload }: Removal): Promise<void> {
  const refuse = (why: string, next: string) => new UserError({ what: `${called} cannot be deleted.`, why, next })
  if (folder === null) throw refuse('It belongs to its project.', 'Delete the project, on its Overview.')
  if (usedBy.length > 0)
    throw refuse(
      usedBy.map(({ title, as }) => `The project "${title}" uses it (${as.join(', ')}).`).join(' '),
      whereUsed,
    )
  const doing = `"${name}" could not be deleted`
  await explainingDiskErrors({ folder: path.dirname(folder), doing }, async () => {
    const unlock = isDownload
      ? await lockFolder(folder).catch((error: unknown) => {
          throw error instanceof UserError ? refuse('It is being downloaded.', 'Cancel the download first.') : error
        })
      : null
    try {
      await removeFolderWhole(folder)
    } finally {
      await unlock?.()
    }
  })
}
