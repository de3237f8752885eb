/**
 * Downloads: planned (which files, how many bytes, whether they fit), then carried out, paused by a signal and gone on with by
 * carrying out the same plan again. A file has its name only when its checksum is right.
 */
import { rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UserError } from '../../engine/errors'
import { removeLeftovers } from '../../engine/formats/atomic-files'
import {
  asDiskError,
  explainingDiskErrors,
  formatBytes,
  freeBytes,
  takeBackFolder,
} from '../../engine/formats/disk-errors'
import { makeFolder } from '../../engine/formats/make-folder'
import { fileAddress, type RepositoryKind } from '../address'
import type { Hub } from '../connection'
import { neededFiles } from '../needed-files'
import { refusal } from '../refusals'
import { readRepository, type Repository, type RepositoryFile } from '../repository'
import { promptRetry, retrying } from '../retry'
import { checkedPath, partialEnding, recordName } from '../safe-path'
import { unreachable } from '../connection'
import { hasChecksum } from './checksums'
import { filesThere, stateOf } from './files-there'
import { fetchRange, NoRanges } from './fetch-range'
import { lockFolder } from './folder-lock'
import { PartialFile, removePartial, savedBytes, takeName } from './partial-file'
import { type DownloadRecord, readDownloadRecord, writeDownloadRecord } from './record'
import { Slots } from './slots'

export interface DownloadRequest {
  readonly kind: RepositoryKind
  readonly name: string
  /** Default: what the folder was begun with, else the main branch. */
  readonly revision?: string
  readonly folder: string
  /** Paths; default: what a run needs. */
  readonly files?: readonly string[]
  /** Paths of files that are fetched anew, whatever stands in their place until then. */
  readonly replace?: readonly string[]
}

export interface DownloadPlan {
  /** Absolute. */
  readonly folder: string
  readonly repository: Repository
  readonly files: readonly RepositoryFile[]
  /** Paths of those that are fetched anew. */
  readonly replace: ReadonlySet<string>
  /** Of all files. */
  readonly bytes: number
  /** Still to come, by what the folder holds. */
  readonly remainingBytes: number
  /** On the folder's volume; null where unknown. */
  readonly freeBytes: number | null
}

export type DownloadEvent =
  | {
      kind: 'progress'
      /** Of the whole plan: there and verified, or written. */
      bytes: number
      total: number
    }
  | { kind: 'waiting'; file: string; why: string; waitMs: number }
  | { kind: 'verified'; file: string }
  /** The bytes of the file were wrong; it begins again. */
  | { kind: 'damaged'; file: string }

export interface DownloadOptions {
  readonly signal?: AbortSignal
  readonly onEvent?: (event: DownloadEvent) => void
  /** Checks the bytes of files that are there too, though size and time are those of their last check. */
  readonly readAll?: boolean
  readonly tuning?: Partial<DownloadTuning>
}

export interface DownloadResult {
  readonly kind: 'complete' | 'paused'
  /** Bytes that came over the network. */
  readonly fetchedBytes: number
}

export interface DownloadTuning {
  /** Open connections at once. */
  readonly connections: number
  /** Ranges of one file. */
  readonly ranges: number
  /** A range is not shorter, bytes. */
  readonly leastRange: number
  /** Most that an interruption loses of an open range, bytes. */
  readonly chunk: number
  /** Files at once. */
  readonly files: number
}

const defaultTuning: DownloadTuning = { connections: 8, ranges: 4, leastRange: 16 << 20, chunk: 32 << 20, files: 8 }

/** How often a file may arrive with wrong bytes before that is an error. */
const mostDamaged = 3
/** Left free on the volume, bytes: sidecars and records. */
const spare = 1 << 20

/** UserErrors: what the hub refuses, a folder that holds something else. Writes nothing. */
export async function planDownload(hub: Hub, request: DownloadRequest, signal?: AbortSignal): Promise<DownloadPlan> {
  const folder = resolve(request.folder)
  const record = await readDownloadRecord(folder)
  const { kind, name } = request
  if (record && (record.kind !== kind || record.name !== name))
    throw foreignFolder(folder, `${record.name} of ${record.endpoint}`)
  if (record && record.endpoint !== hub.endpoint) throw otherHub(record, hub.endpoint)
  const revision = request.revision ?? record?.commit
  const repository = await readRepository(hub, { kind, name, revision, signal })
  if (record && record.commit !== repository.commit) throw new OtherCommit(folder, record, repository.commit)
  const files = request.files ? chosen(repository, request.files) : neededFiles(kind, repository.files)
  for (const { path } of files) checkedPath(path)
  if (files.length === 0)
    throw new UserError({
      what: `${name} cannot be used.`,
      why: kind === 'model' ? 'It has no config, weights or links.' : 'It has no parquet, json, jsonl or csv file.',
      next: 'Choose another repository.',
    })
  const replace = new Set(request.replace)
  let there = 0
  for (const { path, size, checksum } of files) {
    const target = join(folder, path)
    there +=
      !replace.has(path) && (await stateOf(target))?.size === size ? size : await savedBytes({ target, size, checksum })
  }
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return {
    folder,
    repository,
    files,
    replace,
    bytes,
    remainingBytes: bytes - there,
    freeBytes: await freeBytes(folder),
  }
}

/**
 * Fetches what is missing. An aborted signal pauses: what came in stays for the next time. UserErrors: no space, a refusal of the hub, a
 * connection that stays broken, bytes that stay wrong, another file in a file's place; then too what came in stays.
 */
export async function download(
  hub: Hub,
  plan: DownloadPlan,
  {
    signal = new AbortController().signal,
    onEvent = () => undefined,
    readAll = false,
    tuning: given = {},
  }: DownloadOptions = {},
): Promise<DownloadResult> {
  const tuning = { ...defaultTuning, ...given }
  const { folder, repository, files, bytes: total } = plan
  const free = await freeBytes(folder)
  if (free !== null && plan.remainingBytes + (plan.remainingBytes > 0 ? spare : 0) > free)
    throw new UserError({
      what: `There is too little disk space for ${repository.name}.`,
      why: `${formatBytes(plan.remainingBytes)} are to come, but the volume of ${folder} has ${formatBytes(free)} free.`,
      next: 'Free some space or choose a folder on another volume.',
    })
  let fetchedBytes = 0
  const written = new Map<string, number>()
  const progress = (path: string, bytes: number): void => {
    written.set(path, bytes)
    onEvent({ kind: 'progress', bytes: [...written.values()].reduce((sum, one) => sum + one, 0), total })
  }
  if (repository.gated) await checkAccess(hub, plan, signal)

  const doing = `${repository.name} could not be downloaded`
  const topmost = await explainingDiskErrors({ folder, doing }, async () => makeFolder(folder))
  let unlock: () => Promise<void>
  try {
    unlock = await explainingDiskErrors({ folder, doing }, () => lockFolder(folder))
  } catch (error) {
    await takeBackFolder(folder, topmost)
    throw error
  }
  // the first failure ends the others
  const ended = new AbortController()
  const both = AbortSignal.any([signal, ended.signal])
  const slots = new Slots(tuning.connections)
  try {
    await sweep(folder, files)
    const before = await readDownloadRecord(folder)
    const kept = files.filter(({ path }) => !plan.replace.has(path))
    const verified = await filesThere({ folder, files: kept, record: before, readAll, signal: both })
    const found = new Set(verified.keys())
    const record = (complete: boolean) => recordOf(plan, found, verified, before, complete)
    const write = (complete: boolean) =>
      explainingDiskErrors({ folder, doing }, () => writeDownloadRecord(folder, record(complete)))
    if (!before?.complete || found.size < files.length || record(false).files.length !== before.files.length)
      await write(false)
    for (const { path, size } of files) if (found.has(path)) progress(path, size)
    const fetchOne = async (file: RepositoryFile): Promise<void> => {
      if (found.has(file.path)) return
      await downloadFile(file, {
        plan,
        hub,
        tuning,
        slots,
        signal: both,
        onEvent,
        progress: (bytes) => progress(file.path, bytes),
        received: (bytes) => (fetchedBytes += bytes),
      })
      const there = await stateOf(join(folder, file.path))
      if (there) verified.set(file.path, there.changed)
    }
    const fetching = new Slots(tuning.files)
    const failures: unknown[] = []
    await Promise.all(
      files.map((file) =>
        fetching.within(async () => {
          if (both.aborted) return
          try {
            await fetchOne(file)
          } catch (error) {
            if (!both.aborted) failures.push(error)
            ended.abort()
          }
        }),
      ),
    )
    if (failures.length > 0) throw await asDiskError(failures[0], { folder, doing })
    if (signal.aborted) {
      // only so that the next time need not check again what is there
      await write(false).catch(() => undefined)
      return { kind: 'paused', fetchedBytes }
    }
    await write(true)
    return { kind: 'complete', fetchedBytes }
  } catch (error) {
    if (signal.aborted && !(error instanceof UserError)) return { kind: 'paused', fetchedBytes }
    throw error
  } finally {
    await unlock()
  }
}

/**
 * Takes away what an unfinished download left in a folder, and the folder when nothing else is in it. One that mended or added to a
 * complete one leaves the files of that.
 */
export async function discardDownload(folder: string): Promise<void> {
  const at = resolve(folder)
  const record = await readDownloadRecord(at)
  if (!record || record.complete)
    throw new UserError({
      what: 'There is nothing to cancel.',
      why: `${at} holds no unfinished download.`,
      next: 'Choose the folder of one.',
    })
  const unlock = await lockFolder(at)
  try {
    await sweep(at, record.files)
    const { kept: _, ...rest } = record
    const kept = new Set(record.kept)
    for (const { path, foundThere } of record.files) {
      const target = join(at, path)
      await removePartial(target)
      if (kept.has(path)) continue
      if (!foundThere) await rm(target, { force: true })
      if (path.includes('/')) await takeBackFolder(dirname(target), join(at, path.split('/')[0]))
    }
    if (kept.size > 0) {
      const files = record.files.filter(({ path }) => kept.has(path))
      await writeDownloadRecord(at, { ...rest, complete: true, files })
    } else await rm(join(at, recordName), { force: true })
  } finally {
    await unlock()
  }
  if (record.kept === undefined) await takeBackFolder(at, at)
}

/** What a process that was killed left of records that it was writing. The folder is locked. */
async function sweep(folder: string, files: readonly { path: string }[]): Promise<void> {
  for (const one of new Set([folder, ...files.map(({ path }) => dirname(join(folder, path)))]))
    await removeLeftovers(one)
}

interface FileErrand {
  readonly plan: DownloadPlan
  readonly hub: Hub
  readonly tuning: DownloadTuning
  readonly slots: Slots
  readonly signal: AbortSignal
  readonly onEvent: (event: DownloadEvent) => void
  readonly progress: (bytes: number) => void
  readonly received: (bytes: number) => void
}

async function downloadFile({ path, size, checksum }: RepositoryFile, errand: FileErrand): Promise<void> {
  const { plan, hub, tuning, signal, onEvent } = errand
  const { kind, name, commit, revision } = plan.repository
  const target = join(plan.folder, path)
  makeFolder(dirname(target))
  const count = Math.max(1, Math.min(tuning.ranges, Math.floor(size / tuning.leastRange)))
  for (let damaged = 1; ; damaged++) {
    const file = await PartialFile.open({ target, size, checksum }, count, tuning.chunk)
    const report = (): void => errand.progress(file.ranges.reduce((sum, { done }) => sum + done, 0))
    const fetching = {
      hub,
      url: fileAddress(hub.endpoint, kind, name, commit, path),
      question: { kind, name, revision, file: path },
      slots: errand.slots,
      signal,
      received: (bytes: number) => {
        errand.received(bytes)
        report()
      },
      waiting: (fault: { why: string; waitMs: number }) => onEvent({ kind: 'waiting', file: path, ...fault }),
    }
    try {
      report()
      try {
        await fetchRanges(file, fetching)
      } catch (error) {
        if (!(error instanceof NoRanges)) throw error
        await file.joinRanges()
        report()
        await fetchRanges(file, fetching)
      }
      await file.complete()
    } catch (error) {
      // what came in is kept as far as the disk still takes it
      await file.save().catch(() => undefined)
      await file.close()
      throw error
    }
    report()
    const right = await hasChecksum(target + partialEnding, size, checksum, { signal }).catch(
      async (error: unknown) => {
        await file.claim().catch(() => undefined)
        throw error
      },
    )
    if (right) {
      await takeName(target)
      onEvent({ kind: 'verified', file: path })
      return
    }
    await removePartial(target)
    errand.progress(0)
    onEvent({ kind: 'damaged', file: path })
    if (damaged === mostDamaged)
      throw new UserError({
        what: `${basename(path)} of ${name} could not be downloaded.`,
        why: `Its bytes were wrong ${mostDamaged} times: they are not those whose checksum ${new URL(hub.endpoint).host} gives.`,
        next: 'Try again later; if it stays so, the hub or a proxy in between is broken.',
      })
  }
}

/** All ranges; the first error ends the others, which are waited for. */
async function fetchRanges(file: PartialFile, errand: Omit<Parameters<typeof fetchRange>[0], 'file'>): Promise<void> {
  const ended = new AbortController()
  const signal = AbortSignal.any([errand.signal, ended.signal])
  let first: { error: unknown } | null = null
  await Promise.all(
    file.ranges.map((range) =>
      fetchRange({ ...errand, file, signal }, range).catch((error: unknown) => {
        first ??= { error }
        ended.abort()
      }),
    ),
  )
  if (first !== null) throw (first as { error: unknown }).error
}

/** Asks for one file's head, so that a gated repository is refused before anything is made on the disk. */
async function checkAccess(hub: Hub, { repository, files }: DownloadPlan, signal: AbortSignal): Promise<void> {
  const { kind, name, commit, revision } = repository
  const { path } = files[0]
  const url = fileAddress(hub.endpoint, kind, name, commit, path)
  await retrying(
    async () => {
      const answer = await hub.ask(url, { method: 'HEAD', signal })
      answer.stream.on('error', () => undefined)
      answer.stream.destroy()
      if (answer.fromHub && answer.status >= 400)
        throw refusal(answer, { kind, name, revision, file: path }, hub.endpoint, hub.hasToken)
    },
    promptRetry,
    (fault) => unreachable(hub.endpoint, fault.why, fault),
    signal,
  )
}

function recordOf(
  { repository, files }: DownloadPlan,
  found: ReadonlySet<string>,
  verified: ReadonlyMap<string, number>,
  before: DownloadRecord | null,
  complete: boolean,
): DownloadRecord {
  const { endpoint, kind, name, revision, commit, licence, gated } = repository
  const known = new Map(before?.files.map((file) => [file.path, file]))
  const kept = before?.complete ? before.files.map(({ path }) => path) : before?.kept
  for (const { path, size, checksum } of files)
    known.set(path, {
      path,
      size,
      checksum,
      foundThere: known.get(path)?.foundThere ?? found.has(path),
      verifiedAt: verified.get(path) ?? null,
    })
  return {
    format: 'recursivemas-hub/1',
    endpoint,
    kind,
    name,
    revision: before?.revision ?? revision,
    commit,
    licence,
    gated,
    complete,
    ...(complete || kept === undefined ? {} : { kept }),
    files: [...known.values()],
  }
}

function chosen({ files, name }: Repository, paths: readonly string[]): RepositoryFile[] {
  return paths.map((path) => {
    const file = files.find((one) => one.path === path)
    if (file) return file
    throw new UserError({
      what: `${path} cannot be downloaded.`,
      why: `${name} has no such file in this revision.`,
      next: 'List its files.',
    })
  })
}

/** The folder holds another commit of the same repository. */
export class OtherCommit extends UserError {
  constructor(
    folder: string,
    { name, commit: there }: DownloadRecord,
    readonly commit: string,
  ) {
    super({
      what: 'The download cannot go there.',
      why: `${folder} holds ${name} at the commit ${there}, not ${commit}.`,
      next: 'Choose another folder, or give that revision.',
    })
  }
}

function otherHub({ name, endpoint, complete }: DownloadRecord, now: string): UserError {
  return new UserError({
    what: `${name} cannot be downloaded from ${new URL(now).host}.`,
    why: `It ${complete ? 'was' : 'began to be'} downloaded from ${endpoint}, and its files are compared with those of that hub.`,
    next: `Set the hub address back to ${endpoint}, or remove what is there first.`,
  })
}

function foreignFolder(folder: string, holds: string): UserError {
  return new UserError({
    what: 'The download cannot go there.',
    why: `${folder} holds ${holds}.`,
    next: 'Choose another folder, or give that revision.',
  })
}
