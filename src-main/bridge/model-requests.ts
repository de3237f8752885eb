/** The requests and events of contract.ts about hubs, downloads, models on disk and keys. */
import { z } from 'zod'
import * as m from './model-views'

const none = z.strictObject({})
const done = z.strictObject({})
const ofDownload = { id: m.downloadId }
const ofModel = { id: m.modelId }
const repository = { kind: m.repositoryKind, name: m.repositoryName }

export const modelRequests = {
  'keys/list': { params: none, result: z.strictObject({ keys: z.array(m.keyView) }) },
  'keys/set': { params: z.strictObject({ name: m.keyName, value: z.string().min(1).max(4096) }), result: m.keyView },
  'keys/remove': { params: z.strictObject({ name: m.keyName }), result: m.keyView },

  /** Most downloaded first. */
  'hub/search': {
    params: z.strictObject({
      kind: m.repositoryKind,
      query: z.string().max(200),
      limit: z.number().int().min(1).max(100).default(30),
    }),
    result: z.strictObject({ found: z.array(m.foundRepository) }),
  },
  'hub/repository': {
    params: z.strictObject({ ...repository, revision: m.revision.default('main') }),
    result: m.repositoryView,
  },
  'hub/revisions': {
    params: z.strictObject(repository),
    result: z.strictObject({ revisions: z.array(m.revisionView) }),
  },
  /** Opens a repository's page in the person's browser. */
  'hub/openPage': { params: z.strictObject(repository), result: done },

  /** Under way first, then queued, then ended, newest first. */
  'downloads/list': { params: none, result: z.strictObject({ downloads: z.array(m.downloadView) }) },
  /** The files that a run needs, into the library. One that is in the list already is resumed. */
  'downloads/add': {
    params: z.strictObject({ ...repository, revision: m.revision.default('main') }),
    result: m.downloadView,
  },
  'downloads/pause': { params: z.strictObject(ofDownload), result: m.downloadView },
  /** Also tries a failed one again. */
  'downloads/resume': { params: z.strictObject(ofDownload), result: m.downloadView },
  /** Takes it out of the list with what came in; result: bytes freed. One that is done only leaves the list. */
  'downloads/remove': { params: z.strictObject(ofDownload), result: z.strictObject({ bytes: z.number() }) },

  'models/list': { params: none, result: z.strictObject({ models: z.array(m.modelView) }) },
  /**
   * Compares a model's files with their checksums, every byte read; what is found stays with the model. `anew`: files that no hub gives
   * checksums for are noted as they are now. Progress comes with models/verifying.
   */
  'models/verify': {
    params: z.strictObject({ ...ofModel, anew: z.boolean().default(false) }),
    result: m.verifyOutcome,
  },
  'models/cancelVerify': { params: z.strictObject(ofModel), result: done },
  /** Queues what is damaged or missing of a model from a hub; also while it is used. */
  'models/repair': { params: z.strictObject(ofModel), result: m.downloadView },
  /** Refused while a project uses it, naming which. Result: bytes freed. */
  'models/delete': { params: z.strictObject(ofModel), result: z.strictObject({ bytes: z.number() }) },
  'models/reveal': { params: z.strictObject(ofModel), result: done },
  /** Brings in a folder that the person chooses (native dialog), without copying where the file system allows; null when cancelled. */
  'models/importFolder': { params: none, result: z.strictObject({ model: m.modelView.nullable() }) },
  /** `name`: as models/importing calls it. */
  'models/cancelImport': { params: z.strictObject({ name: z.string().max(300) }), result: done },
  /** What a Hugging Face cache holds: the usual one, or one that the person chooses (native dialog). */
  'models/findCache': {
    params: z.strictObject({ choose: z.boolean().default(false) }),
    result: z.strictObject({ folder: z.string().nullable(), models: z.array(m.cachedModel) }),
  },
  /** Brings in a model of the cache that was looked at last. */
  'models/importCached': {
    params: z.strictObject({ name: m.repositoryName, commit: z.string().regex(/^[0-9a-f]{40}$/) }),
    result: m.modelView,
  },
} as const satisfies Record<string, { params: z.ZodType; result: z.ZodType }>

export const modelEvents = {
  /** At most 4 a second for one download; the last value is always sent. */
  'download/changed': z.strictObject({ download: m.downloadView }),
  'download/removed': z.strictObject(ofDownload),
  /** A model was added, deleted, became usable or used: ask models/list again. */
  'models/changed': none,
  'models/verifying': z.strictObject({ ...ofModel, bytes: z.number(), total: z.number() }),
  /** An import that has to copy. */
  'models/importing': z.strictObject({ name: z.string(), bytes: z.number(), total: z.number() }),
} as const satisfies Record<string, z.ZodType>
