/**
 * Models of this computer, brought into the library: a folder in Hugging Face layout, or a snapshot of a Hugging Face cache. Files become
 * hard links where the volume allows, else clones, else copies; the original is only read.
 */
import { constants, createReadStream, createWriteStream } from 'node:fs'
import { copyFile, link, mkdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { CachedModel } from '../bridge/contract'
import { repositoryName } from '../bridge/model-views'
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
  /** Bytes copied, of those that have to be. */
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
  const target = await reserved(name, places.models)
  let shared = true
  try {
    await explainingDiskErrors({ folder: places.models, doing }, () =>
      writeFolderWhole(inside(places.models, target), async (temporary) => {
        const left: Errand[] = []
        for (const file of files) {
          signal?.throwIfAborted()
          const to = path.join(temporary, ...file.path.split('/'))
          await mkdir(path.dirname(to), { recursive: true })
          if (await linked(file.real, to)) continue
          shared = false
          if (!(await cloned(file.real, to))) left.push({ ...file, to })
        }
        await copyAll(left, { folder: temporary, onProgress, signal })
        await writeModelRecord(temporary, { format: 'recursivemas-model/1', name, from, shared, added: Date.now() })
        if (!shared) await flushFiles(temporary)
      }),
    )
  } finally {
    underWay.delete(target)
  }
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
    // no hub has such a name
    if (!repositoryName.safeParse(name).success) continue
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

/** True where the file system could share the bytes until one of the two changes. */
async function cloned(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    await rm(to, { force: true })
    if (['ENOSPC', 'ENOENT', 'EACCES', 'EIO'].includes(codeOf(error))) throw error
    return false
  }
}

interface Errand {
  readonly path: string
  readonly real: string
  readonly size: number
  readonly to: string
}

/** Throws UserError before anything is copied where not all of it fits. */
async function copyAll(
  files: readonly Errand[],
  { folder, onProgress, signal }: Pick<ImportOptions, 'onProgress' | 'signal'> & { readonly folder: string },
): Promise<void> {
  const total = files.reduce((n, { size }) => n + size, 0)
  const free = await freeBytes(folder)
  if (free !== null && free < total)
    throw new UserError({
      what: 'There is too little disk space.',
      why: `${formatBytes(total)} have to be copied, but the volume of ${path.dirname(folder)} has ${formatBytes(free)} free.`,
      next: 'Free some space, or choose a workspace on the volume of the model: there nothing has to be copied.',
    })
  let copied = 0
  for (const { real, to } of files)
    await pipeline(
      createReadStream(real, { highWaterMark: 1 << 20 }),
      async function* (parts: AsyncIterable<Buffer>) {
        for await (const part of parts) {
          yield part
          copied += part.length
          onProgress?.(copied, total)
        }
      },
      createWriteStream(to, { flags: 'wx' }),
      { signal },
    )
}

/** Names of imports that have not made their folders yet. */
const underWay = new Set<string>()

/** A free folder's name, which no other import takes meanwhile. */
async function reserved(name: string, folder: string): Promise<string> {
  const there = await subFolders(folder)
  const target = freeName(name, [...there, ...underWay])
  underWay.add(target)
  return target
}

/** A folder's name for a model: `owner--name`, numbered where it is taken. */
function freeName(name: string, taken: readonly string[]): string {
  const plain =
    folderOfRepository(name)
      .normalize('NFC')
      .replace(/[^\p{L}\p{N}\p{M}_. -]/gu, '_')
      .replace(/^[. -]+|[. ]+$/g, '')
      .slice(0, 80) || 'model'
  const names = new Set(taken.map((other) => other.toLowerCase()))
  for (let n = 1; ; n++) {
    const wish = n === 1 ? plain : `${plain} ${n}`
    if (!names.has(wish.toLowerCase())) return wish
  }
}
