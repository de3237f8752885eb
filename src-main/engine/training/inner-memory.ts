/** What inner training asks of its model, for the estimate of its memory. */
import type { MemoryPart } from '../memory/estimate'
import type { AgentWork } from '../memory/settle'
import type { DataRow } from '../data/rows'
import type { InnerJob } from '../job-spec'
import { garbageBytes, idsBytes, rowsBytes } from '../memory/text-memory'
import { innerParameterShapes, type InnerLinkType } from '../nn/link-types'
import { type PairRow, pairPositions } from './inner-pairs'
import { trainedCopies } from './outer-memory'
import { memoryLimit as stateMemory } from './state-store'

/** `judged`: held-out texts that are rolled out so far. */
export function innerWork(
  items: readonly PairRow[],
  batch: number,
  judged: { readonly items: readonly PairRow[]; readonly steps: number; readonly rows: number } | null,
): AgentWork {
  const places = items.reduce((n, row) => Math.max(n, row.latentEnd - 1), 1)
  const asked = items.reduce((n, row) => Math.max(n, pairPositions(row).length), 1)
  const prompt = judged?.items.reduce((n, row) => Math.max(n, row.promptLength), 1) ?? 0
  return {
    passes: [
      { task: 'states', rows: batch, places, asked },
      ...(judged && judged.items.length > 0
        ? [
            { task: 'rollout', rows: judged.rows, places: prompt, steps: judged.steps } as const,
            { task: 'logits', rows: judged.rows, places: prompt + judged.steps, asked: judged.steps } as const,
          ]
        : []),
    ],
  }
}

/** A step has the pairs of `accumulate` batches at hand. */
export function innerBeside(
  { batchSize, accumulate, steps }: Pick<InnerJob, 'batchSize' | 'accumulate' | 'steps'>,
  width: number,
  type: InnerLinkType,
  {
    texts,
    judged,
    rows,
  }: { readonly texts: readonly PairRow[]; readonly judged: readonly PairRow[]; readonly rows: readonly DataRow[] },
): MemoryPart[] {
  const link = innerParameterShapes(type, width).reduce((n, { shape }) => n + 4 * shape.reduce((a, b) => a * b, 1), 0)
  const pairs = texts.map((row) => pairPositions(row).length)
  const all = pairs.reduce((a, b) => a + b, 0)
  const most = pairs.reduce((a, b) => Math.max(a, b), 0)
  const batch = 4 * width * most * batchSize
  const encoded = [...texts, ...judged]
  const ids = encoded.reduce((n, row) => n + row.ids.length, 0)
  return [
    { name: 'link, its gradient and the optimiser', bytes: trainedCopies * link },
    // states, embeddings, and what the link makes of them with its gradient
    { name: 'pairs of a step', bytes: batch * (2 * accumulate + 8) },
    { name: 'states that are kept', bytes: Math.min(stateMemory, 4 * width * all) },
    { name: 'rows and texts', bytes: rowsBytes(rows) + idsBytes(ids, 3 * encoded.length) },
    { name: 'not yet collected', bytes: garbageBytes(encoded.length, steps * accumulate * batch) },
  ]
}
