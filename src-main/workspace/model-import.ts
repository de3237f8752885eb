/**
 * Models of this computer, brought into the library: a folder in Hugging Face layout, or a snapshot of a Hugging Face cache. Files become
 * hard links where the volume allows, else clones, else copies; the original is only read.
 */
import { constants } from 'node:fs'
import { copyFile, link, mkdir } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { CachedModel } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { writeFolderWhole } from '../engine/formats/atomic-files'
import { codeOf, explainingDiskErrors, formatBytes, freeBytes } from '../engine/formats/disk-errors'
import { openTextWeights } from '../engine/models/weights'
import { readConfig } from '../engine/models/families'
import { folderOfRepository } from '../hub/address'
import { exists, flushFiles, inside, subFolders } from './files'
import { modelFiles } from './model-files'
import { writeModelRecord } from './model-record'
import type { Places } from './places'

export interface ImportOptions {
  /** What the library calls it. */
  readonly name: string
  /** What `from` of its record says; default: the folder. */
  readonly from?: string
  /** Bytes that had to be copied so far, of all. */
  readonly onProgress?: (bytes: number, total: number) => void
  readonly signal?: AbortSignal
}

/** Returns the new folder's name in the library. Throws UserError, before anything is written where the folder is no model. */
export async function importModel(
  places: Places,
  folder: string,
  { name, from = folder, onProgress, signal }: ImportOptions,
): Promise<string> {
  const doing = `"${name}" could not be brought in`
  const source = path.resolve(folder)
  if (source === path.resolve(places.models) || source.startsWith(path.resolve(places.models) + path.sep))
    throw new UserError({ what: `${doing}.`, why: 'It lies in the library already.', next: 'Choose it there.' })
  await requireModel(source, doing)
  const files = await modelFiles(source)
  const target = freeName(name, await subFolders(places.models))
  let shared = true
  let copied = 0
  const total = files.reduce((n, { size }) => n + size, 0)
  await explainingDiskErrors({ folder: places.models, doing }, () =>
    writeFolderWhole(inside(places.models, target), async (temporary) => {
      for (const file of files) {
        signal?.throwIfAborted()
        const to = path.join(temporary, ...file.path.split('/'))
        await mkdir(path.dirname(to), { recursive: true })
        if (await linked(file.real, to)) continue
        shared = false
        const free = await freeBytes(temporary)
        if (free !== null && free < file.size)
          throw new UserError({
            what: 'There is too little disk space.',
            why: `${file.path} has ${formatBytes(file.size)}, but the volume of ${places.models} has ${formatBytes(free)} free.`,
            next: 'Free some space, or choose a workspace on the volume of the model: there nothing has to be copied.',
          })
        await copyFile(file.real, to, constants.COPYFILE_FICLONE)
        copied += file.size
        onProgress?.(copied, total)
      }
      await writeModelRecord(temporary, { format: 'recursivemas-model/1', name, from, shared, added: Date.now() })
      if (!shared) await flushFiles(temporary)
    }),
  )
  return target
}

/** The usual place of the cache, as Hugging Face's own programs find it. */
export function usualCache(env: NodeJS.ProcessEnv = process.env): string {
  return (
    env.HF_HUB_CACHE ||
    path.join(env.HF_HOME || path.join(env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'huggingface'), 'hub')
  )
}

/** Every snapshot of a model in a cache. Throws UserError where the folder is none. */
export async function cachedModels(cache: string): Promise<Omit<CachedModel, 'entry'>[]> {
  const repositories = (await subFolders(cache)).filter((name) => name.startsWith('models--'))
  const found: Omit<CachedModel, 'entry'>[] = []
  for (const repository of repositories) {
    const name = repository.slice('models--'.length).split('--').join('/')
    for (const commit of await subFolders(path.join(cache, repository, 'snapshots'))) {
      if (!/^[0-9a-f]{40}$/.test(commit)) continue
      const folder = snapshotFolder(cache, name, commit)
      const files = await modelFiles(folder)
      found.push({ name, commit, bytes: files.reduce((n, { size }) => n + size, 0), complete: await isModel(folder) })
    }
  }
  return found
}

/** `name`: as the hub calls it. */
export function snapshotFolder(cache: string, name: string, commit: string): string {
  return inside(cache, `models--${folderOfRepository(name)}`, 'snapshots', commit)
}

async function isModel(folder: string): Promise<boolean> {
  try {
    await requireModel(folder, 'The model cannot be used')
    return true
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

/** Throws UserError where config, weights or tokenizer are missing or cannot be used. */
async function requireModel(folder: string, doing: string): Promise<void> {
  await readConfig(folder)
  await openTextWeights(folder)
  if (!(await exists(path.join(folder, 'tokenizer.json'))))
    throw new UserError({
      what: `${doing}.`,
      why: `${folder} has no tokenizer.json.`,
      next: 'Get that file from where the model came from.',
    })
}

/** False where the volume, or the permissions, do not allow a link. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (['EXDEV', 'EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'].includes(codeOf(error))) return false
    throw error
  }
}

/** A folder's name for a model: `owner--name`, numbered where it is taken. */
function freeName(name: string, taken: readonly string[]): string {
  const plain =
    folderOfRepository(name)
      .replace(/[^\w. -]/g, '_')
      .replace(/^[. -]+|[. ]+$/g, '')
      .slice(0, 80) || 'model'
  const names = new Set(taken.map((other) => other.toLowerCase()))
  for (let n = 1; ; n++) {
    const wish = n === 1 ? plain : `${plain} ${n}`
    if (!names.has(wish.toLowerCase())) return wish
  }
}
