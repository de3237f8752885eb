/** File names that come out of other people's manifests must stay inside their folder. */
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { UserError } from '../errors'
import { asReadError } from '../formats/disk-errors'

/**
 * The path of an ordinary file that a manifest in `folder` names. Absolute names, `..` and links that lead out are UserErrors. One
 * way out is allowed: a Hugging Face cache keeps the files of `snapshots/<commit>` as links into its own `blobs`.
 */
export async function fileInside(folder: string, name: string, kind = 'link file'): Promise<string> {
  if (name === '' || name.includes('\0') || /^([/\\]|[A-Za-z]:)/.test(name) || name.split(/[/\\]/).includes('..'))
    throw outside(folder, name)
  const path = join(folder, name)
  const [root, target] = await Promise.all([realpath(folder), realpath(path)]).catch((error: unknown) => {
    throw asReadError(error, path, kind)
  })
  if (!isWithin(root, target) && !isHubBlob(root, target)) throw outside(folder, name)
  if (!(await stat(target)).isFile())
    throw new UserError({
      what: 'The link folder is refused.',
      why: `${path} is named as a file, but is none.`,
      next: 'Use a folder that holds its own files.',
    })
  return path
}

function isWithin(root: string, target: string): boolean {
  const way = relative(root, target)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && resolve(root, way) === target
}

function isHubBlob(root: string, target: string): boolean {
  const snapshots = dirname(root)
  return basename(snapshots) === 'snapshots' && dirname(target) === join(dirname(snapshots), 'blobs')
}

function outside(folder: string, name: string): UserError {
  return new UserError({
    what: 'The link folder is refused.',
    why: `In ${folder} a file name leads out of the folder: ${JSON.stringify(name)}.`,
    next: 'Use a folder that holds its own files.',
  })
}
