/** What a hub says of its models and data sets: search, a revision pinned to its commit, files with sizes and checksums. */
import { datasetInfo, HubApiError, listDatasets, listFiles, listModels, modelInfo } from '@huggingface/hub'
import { z } from 'zod'
import { UserError } from '../engine/errors'
import { checkedRepository, type RepositoryKind } from './address'
import type { Hub } from './connection'
import type { Question } from './refusals'

export interface FoundRepository {
  readonly kind: RepositoryKind
  readonly name: string
  readonly gated: boolean
  readonly private: boolean
  /** null where its card names none. */
  readonly licence: string | null
  readonly downloads: number
  readonly likes: number
  /** ISO date; null where the hub does not say. */
  readonly updated: string | null
}

/** sha256 of the content (large files), or git's SHA-1 of the blob; hexadecimal. */
export interface Checksum {
  readonly kind: 'sha256' | 'git-sha1'
  readonly hex: string
}

export interface RepositoryFile {
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly checksum: Checksum
}

export interface Repository extends FoundRepository {
  readonly endpoint: string
  /** What was asked for: a branch, a tag or a commit. */
  readonly revision: string
  /** The commit that the revision is at: 40 hexadecimal digits. */
  readonly commit: string
  readonly files: readonly RepositoryFile[]
}

export interface Revision {
  readonly kind: 'branch' | 'tag'
  readonly name: string
  readonly commit: string
}

const commit = z.string().regex(/^[0-9a-f]{40}$/)
const size = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)
const found = z.object({
  name: z.string(),
  gated: z.union([z.boolean(), z.string()]).optional(),
  private: z.boolean().optional(),
  downloads: z.number().optional(),
  likes: z.number().optional(),
  updatedAt: z.date().optional(),
  tags: z.array(z.string()).nullish(),
  cardData: z.looseObject({ license: z.unknown(), license_name: z.unknown() }).partial().nullish(),
})
const info = found.extend({ sha: commit })
const file = z.object({
  type: z.string(),
  path: z.string(),
  size,
  oid: commit.optional(),
  lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/), size }).optional(),
})
const ref = z.object({ name: z.string(), targetCommit: commit })
const refs = z.object({ branches: z.array(ref).default([]), tags: z.array(ref).default([]) })

/** Most downloaded first. */
export async function searchHub(
  hub: Hub,
  { kind, query, limit = 30, signal }: { kind: RepositoryKind; query: string; limit?: number; signal?: AbortSignal },
): Promise<FoundRepository[]> {
  const question: Question = { kind, name: null }
  const shared = {
    search: { query },
    hubUrl: hub.endpoint,
    limit,
    sort: 'downloads' as const,
    fetch: hub.fetchFor(question, signal),
  }
  return understood(hub, async () => {
    const list =
      kind === 'model'
        ? listModels({ ...shared, additionalFields: ['tags', 'cardData'] })
        : listDatasets({ ...shared, additionalFields: ['tags', 'cardData'] })
    const all: FoundRepository[] = []
    for await (const entry of list) all.push(foundOf(kind, found.parse(dated(entry))))
    return all
  })
}

/** One revision of a repository (default: the main branch), pinned to its commit, with all its files. */
export async function readRepository(
  hub: Hub,
  {
    kind,
    name,
    revision = 'main',
    signal,
  }: { kind: RepositoryKind; name: string; revision?: string; signal?: AbortSignal },
): Promise<Repository> {
  const question: Question = { kind, name: checkedRepository(name), revision }
  const shared = { name, revision, hubUrl: hub.endpoint, fetch: hub.fetchFor(question, signal) }
  return understood(hub, async () => {
    const entry =
      kind === 'model'
        ? await modelInfo({ ...shared, additionalFields: ['sha', 'tags', 'cardData'] })
        : await datasetInfo({ ...shared, additionalFields: ['sha', 'tags', 'cardData'] })
    const known = info.parse(dated(entry))
    const files: RepositoryFile[] = []
    const tree = listFiles({
      repo: { type: kind, name },
      recursive: true,
      revision: known.sha,
      hubUrl: hub.endpoint,
      fetch: shared.fetch,
    })
    for await (const item of tree) if (item.type === 'file') files.push(fileOf(file.parse(item)))
    return { ...foundOf(kind, { ...known, name }), endpoint: hub.endpoint, revision, commit: known.sha, files }
  })
}

/** Branches and tags with the commits they are at. */
export async function listRevisions(
  hub: Hub,
  { kind, name, signal }: { kind: RepositoryKind; name: string; signal?: AbortSignal },
): Promise<Revision[]> {
  const question: Question = { kind, name: checkedRepository(name) }
  return understood(hub, async () => {
    const answer = await hub.fetchFor(question, signal)(`${hub.endpoint}/api/${kind}s/${name}/refs`)
    const { branches, tags } = refs.parse(await answer.json())
    const of = (kind: Revision['kind']) => (one: z.infer<typeof ref>) => ({
      kind,
      name: one.name,
      commit: one.targetCommit,
    })
    return [...branches.map(of('branch')), ...tags.map(of('tag'))]
  })
}

function fileOf({ path, size, oid, lfs }: z.infer<typeof file>): RepositoryFile {
  if (lfs) return { path, size: lfs.size, checksum: { kind: 'sha256', hex: lfs.oid } }
  return { path, size, checksum: { kind: 'git-sha1', hex: commit.parse(oid) } }
}

function foundOf(kind: RepositoryKind, entry: z.infer<typeof found>): FoundRepository {
  return {
    kind,
    name: entry.name,
    gated: entry.gated !== undefined && entry.gated !== false,
    private: entry.private ?? false,
    licence: licenceOf(entry),
    downloads: entry.downloads ?? 0,
    likes: entry.likes ?? 0,
    updated: entry.updatedAt?.toISOString() ?? null,
  }
}

/** A card says `license: other` with `license_name: llama3`; the hub repeats the licence among the tags. */
function licenceOf({ cardData, tags }: z.infer<typeof found>): string | null {
  const named = [cardData?.license_name, cardData?.license].flat().filter((one) => typeof one === 'string')
  const tag = tags?.find((one) => one.startsWith('license:'))?.slice('license:'.length)
  return named[0] ?? tag ?? null
}

/** The library makes dates of what may be missing. */
function dated<T extends { updatedAt?: Date }>(entry: T): Omit<T, 'updatedAt'> & { updatedAt?: Date } {
  const { updatedAt, ...rest } = entry
  return updatedAt && !Number.isNaN(updatedAt.getTime()) ? { ...rest, updatedAt } : rest
}

/** Answers that are none of a hub become a UserError. */
async function understood<T>(hub: Hub, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (!(
      error instanceof z.ZodError ||
      error instanceof SyntaxError ||
      error instanceof HubApiError ||
      error instanceof TypeError
    ))
      throw error
    const detail =
      error instanceof z.ZodError
        ? ` (${error.issues[0].path.join('.') || 'the whole'}: ${error.issues[0].message})`
        : ''
    throw new UserError(
      {
        what: `The answer of ${new URL(hub.endpoint).host} cannot be understood.`,
        why: `It is not what a hub answers${detail}.`,
        next: 'Check the hub address.',
      },
      { cause: error },
    )
  }
}
