/** The requests of contract.ts about making a system. */
import { z } from 'zod'
import * as s from './system-views'
import { projectName, projectView } from './views'

export const systemRequests = {
  /** What the choices come to; nothing is written. Everything that can be known without loading a model is checked. */
  'systems/check': { params: z.strictObject({ draft: s.systemDraft }), result: s.draftReport },
  /** Makes a project of them, with a pipeline: inner links, outer links, evaluations. Refused where the check has an error. */
  'systems/create': { params: z.strictObject({ draft: s.systemDraft }), result: projectView },
  /** The choices that a project was made of; null for one that was not made this way (the demo). */
  'systems/draft': {
    params: z.strictObject({ project: projectName }),
    result: z.strictObject({ draft: s.systemDraft.nullable() }),
  },
  /** Deletes a project with its runs and results; refused while one of them runs. Result: bytes freed. */
  'projects/delete': {
    params: z.strictObject({ project: projectName }),
    result: z.strictObject({ bytes: z.number() }),
  },
} as const satisfies Record<string, { params: z.ZodType; result: z.ZodType }>
