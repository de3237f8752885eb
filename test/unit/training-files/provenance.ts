/** A provenance for tests, every field of another kind of value. */
import type { LinkProvenance } from '../../../src-main/engine/training/link-manifest'

/** How they were chosen and named. */
const rows = { field: 'data', columns: { question: 'problem' }, shuffle: true, limit: 3000 }

export function provenance(overrides: Partial<LinkProvenance> = {}): LinkProvenance {
  return {
    style: 'sequential',
    role: 'critic',
    task: 'math',
    mode: 'corrected',
    baseModels: [{ role: 'critic', id: 'org--model', revision: null, hiddenSize: 5 }],
    dataset: { file: '/data/train.jsonl', sha256: 'ab', rows: 3000, ...rows },
    promptPack: 'cd',
    seed: 42,
    step: 7,
    states: 'shifted',
    feedback: null,
    rounds: { from: 1, to: 3 },
    metrics: { loss: 0.25 },
    options: { cosineWeight: 1, validation: { every: 50 } },
    parentRun: null,
    appVersion: '0.1.0',
    ...overrides,
  }
}
