/** What crosses the bridge about hubs, downloads, models on disk and keys. Units and nulls as in views.ts. */
import { z } from 'zod'
import { projectName, studioError } from './views'

const time = z.number()

export const repositoryKind = z.enum(['model', 'dataset'])
/** `name` or `owner/name`, as hubs call repositories. */
export const repositoryName = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/, 'owner/name')
/** A branch, a tag or a commit. */
export const revision = z.string().min(1).max(200)

/* ------------------------------------------------------------------------------------------------------------ memory */

/** What a model, or a job, needs and what this machine has. Of the parts each is an estimate from files alone; nothing was loaded. */
export const memoryFit = z.strictObject({
  parts: z.array(z.strictObject({ name: z.string(), bytes: z.number() })),
  total: z.number(),
  /** Free for new work now, not what the machine has. */
  available: z.number(),
  /** `tight`: it fits, with less than a tenth to spare, or only with measures that cost time (`note` names them). */
  verdict: z.enum(['fits', 'tight', 'too-large']),
  note: z.string().nullable(),
})

/* --------------------------------------------------------------------------------------------------------------- hub */

export const foundRepository = z.strictObject({
  kind: repositoryKind,
  name: repositoryName,
  /** Its owner wants terms accepted before files can be had. */
  gated: z.boolean(),
  private: z.boolean(),
  licence: z.string().nullable(),
  downloads: z.number(),
  likes: z.number(),
  updated: time.nullable(),
  /** The entry of the library that holds it. */
  entry: z.string().nullable(),
})

export const repositoryView = z.strictObject({
  ...foundRepository.shape,
  endpoint: z.string(),
  /** Its page on the hub; where terms are accepted. */
  page: z.string(),
  revision,
  commit: z.string(),
  files: z.array(z.strictObject({ path: z.string(), bytes: z.number(), /** A run needs it. */ needed: z.boolean() })),
  neededBytes: z.number(),
  allBytes: z.number(),
  /** Where it would go, and what is free there; null where that cannot be read. */
  folder: z.string(),
  freeBytes: z.number().nullable(),
  /** What a model is and whether it would run here, as far as its config tells; `supported` is null where that could not be read. */
  model: z
    .strictObject({
      modelType: z.string().nullable(),
      supported: z.boolean().nullable(),
      /** Why it would not run, or could not be read. */
      problem: studioError.nullable(),
      hiddenSize: z.number().nullable(),
      layers: z.number().nullable(),
      parameters: z.number().nullable(),
      fit: memoryFit.nullable(),
    })
    .nullable(),
})

export const revisionView = z.strictObject({ kind: z.enum(['branch', 'tag']), name: z.string(), commit: z.string() })

/* --------------------------------------------------------------------------------------------------------- downloads */

export const downloadId = z.string().regex(/^[a-z0-9-]{1,40}$/)

/**
 * `waiting`: the hub or the line failed, it is tried again by itself (`note` says why and when). `paused` and `failed`: what came in is
 * kept, and it goes on from there when resumed. A download that was under way when the app ended is `paused` at the next start.
 */
export const downloadState = z.enum([
  'queued',
  'preparing',
  'running',
  'waiting',
  'checking',
  'paused',
  'failed',
  'done',
])

export const downloadView = z.strictObject({
  id: downloadId,
  kind: repositoryKind,
  name: repositoryName,
  revision,
  /** null until the hub has been asked. */
  commit: z.string().nullable(),
  state: downloadState,
  folder: z.string(),
  /** On the disk, of all that is wanted; null until known. */
  bytes: z.number(),
  total: z.number().nullable(),
  /** Bytes a second, smoothed; seconds left. null until 3 s of data are in, and where it stands. */
  rate: z.number().nullable(),
  secondsLeft: z.number().nullable(),
  files: z.strictObject({ done: z.number(), total: z.number() }).nullable(),
  /** Place in the queue, 0 = next; null = not queued. */
  queuePosition: z.number().nullable(),
  note: z.string().nullable(),
  error: studioError.nullable(),
  created: time,
  ended: time.nullable(),
  /** The entry of the library that it made. */
  entry: z.string().nullable(),
})

/* ------------------------------------------------------------------------------------------------------------ models */

/** `library/<folder>`, or `<project>/<folder>` for what belongs to one project (the demo's). */
export const entryId = z
  .string()
  .max(300)
  .regex(/^[^\u0000-\u001f/\\]+(\/[^\u0000-\u001f/\\]+)+$/)
  .refine((id) => !id.split('/').some((part) => /^\.*$/.test(part)), 'no dots alone')

export const modelId = entryId

/** Where something in the library came from. */
export const source = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('hub'),
    endpoint: z.string(),
    name: z.string(),
    revision: z.string(),
    commit: z.string(),
  }),
  /** Brought in from this computer. `shared`: it holds the same bytes on the disk as the original, not a copy. */
  z.strictObject({ kind: z.literal('imported'), from: z.string(), shared: z.boolean() }),
  /** It belongs to a project. */
  z.strictObject({ kind: z.literal('project'), project: projectName }),
  /** Made here from another set. */
  z.strictObject({ kind: z.literal('derived'), from: z.string(), how: z.string() }),
  /** A file of this computer that is read where it lies. */
  z.strictObject({ kind: z.literal('file'), path: z.string() }),
  z.strictObject({ kind: z.literal('unknown') }),
])

export const usedBy = z.strictObject({
  project: projectName,
  title: z.string(),
  /** Roles, or steps. */ as: z.array(z.string()),
})

export const modelView = z.strictObject({
  id: modelId,
  name: z.string(),
  folder: z.string(),
  source,
  licence: z.string().nullable(),
  bytes: z.number(),
  added: time.nullable(),
  /** When its files were last compared with their checksums; null = never. */
  verified: time.nullable(),
  /** What that found not to be what the checksums say, or gone, by path; such a model is `unusable`. */
  damaged: z.array(z.string()),
  modelType: z.string().nullable(),
  hiddenSize: z.number().nullable(),
  layers: z.number().nullable(),
  parameters: z.number().nullable(),
  vocabulary: z.number().nullable(),
  /** Most positions that it was made for. */
  maxPositions: z.number().nullable(),
  /** As its files hold them: `BF16`; several where mixed. */
  dtypes: z.array(z.string()),
  hasChatTemplate: z.boolean().nullable(),
  /** `incomplete`: a download under way or paused. `unusable`: `problem` says why. */
  state: z.enum(['ready', 'incomplete', 'unusable']),
  problem: studioError.nullable(),
  usedBy: z.array(usedBy),
  fit: memoryFit.nullable(),
})

export const verifyOutcome = z.strictObject({
  /** Files compared. */
  checked: z.number(),
  /** Their content is not what the checksum says, or they are gone. */
  damaged: z.array(z.string()),
  /** Files that no hub gives a checksum for and whose first look this was: it was noted, for later looks to compare with. */
  noted: z.number(),
})

/** Models in a Hugging Face cache on this computer. */
export const cachedModel = z.strictObject({
  name: repositoryName,
  commit: z.string(),
  bytes: z.number(),
  /** Config, tokenizer and every weight file are there. */
  complete: z.boolean(),
  entry: z.string().nullable(),
})

/* -------------------------------------------------------------------------------------------------------------- keys */

export const keyName = z.enum(['hub-token'])

/** Never the value. */
export const keyView = z.strictObject({
  name: keyName,
  set: z.boolean(),
  /** `session`: forgotten when the app ends, for the reason that `problem` tells. */
  place: z.enum(['key-store', 'session']).nullable(),
  problem: studioError.nullable(),
})
