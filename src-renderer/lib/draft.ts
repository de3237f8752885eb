/** A new system's choices as the page starts them, and how they are changed. */
import type { SystemDraft } from '../../src-main/bridge/contract'

export type DataChoice = NonNullable<SystemDraft['data']['train']>
export type DataField = keyof SystemDraft['data']

const fresh: SystemDraft = {
  title: '',
  style: 'sequential',
  pack: null,
  models: {},
  data: { train: null, validation: null, evaluation: null },
  training: {
    mode: 'corrected',
    seed: 42,
    rounds: 3,
    latentSteps: 32,
    innerSteps: 2000,
    outerSteps: 2000,
    innerBatch: 2,
    outerBatch: 2,
    innerRate: 5e-4,
    outerRate: 5e-4,
    start: 'random',
    task: 'math',
  },
  evaluation: { maxNewTokens: 512, batchSize: 8, grader: 'math', compare: ['untrained-links', 'text', 'single'] },
}

/** Of another's choices everything but the name. */
export function newDraft(from: SystemDraft = fresh): SystemDraft {
  return { ...structuredClone(from), title: '' }
}

/** Whether what was remembered is a draft of this version of the app. */
export function isDraft(value: unknown): value is SystemDraft {
  return sameShape(value, fresh, 2)
}

/** Every field of the pattern is there, to a depth; null may stand for anything. */
function sameShape(value: unknown, pattern: unknown, depth: number): boolean {
  if (pattern === null || depth === 0) return value !== undefined
  if (Array.isArray(pattern)) return Array.isArray(value)
  if (typeof pattern !== 'object') return typeof value === typeof pattern
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(pattern).every(([key, part]) =>
    sameShape((value as Record<string, unknown>)[key], part, depth - 1),
  )
}

export function dataChoice(dataset: string): DataChoice {
  return { dataset, file: null, field: null, mapping: {}, limit: 0 }
}
