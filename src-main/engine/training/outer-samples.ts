/** Rows of outer training as samples, made as they are asked for. */
import type { DataRow } from '../data/rows'
import { idsBytes } from '../memory/text-memory'
import type { PromptSettings } from '../styles/row-prompts'
import type { PackTask } from '../text'
import { outerSample } from './training-texts'
import type { TrainingSample } from './unrolled'

/** Token ids that are kept at the most: 32 MB. */
const keptIds = 4e6

/** Those asked for last are kept, as many as `limit` token ids allow: making a sample is quick beside a step, and data may be large. */
export class OuterSamples {
  private readonly kept = new Map<number, { readonly sample: Promise<TrainingSample>; ids: number }>()
  private ids = 0

  constructor(
    private readonly settings: PromptSettings,
    private readonly rows: readonly DataRow[],
    private readonly task: PackTask,
    /** Rounds that a batch can have at most. */
    private readonly maxRounds: number,
    private readonly warn: (message: string) => void,
    private readonly limit = keptIds,
  ) {}

  async sample(index: number): Promise<TrainingSample> {
    const known = this.kept.get(index)
    if (known) {
      // the map's order is that of use
      this.kept.delete(index)
      this.kept.set(index, known)
      return known.sample
    }
    const { settings, task, maxRounds, warn } = this
    const entry = { sample: outerSample(settings, this.rows[index], index, { task, maxRounds, warn }), ids: 0 }
    this.kept.set(index, entry)
    const made = await entry.sample
    entry.ids = idsOf(made)
    this.ids += entry.ids
    for (const [oldest, { ids }] of this.kept) {
      if (this.ids <= this.limit || oldest === index) break
      this.kept.delete(oldest)
      this.ids -= ids
    }
    return made
  }
}

/** Bytes of what is kept of so many rows, each as large as these of the longest on the average. */
export function samplesBytes(longest: readonly TrainingSample[], rows: number): number {
  if (longest.length === 0) return 0
  const ids = longest.reduce((n, s) => n + idsOf(s), 0) / longest.length
  const lists = longest.reduce((n, s) => n + piecesOf(s).length, 0) / longest.length
  const most = Math.min(rows, Math.max(1, keptIds / Math.max(1, ids)))
  return idsBytes(ids * most, lists * most)
}

/** Token ids that a sample holds, prompts and targets in every round. */
function idsOf(sample: TrainingSample): number {
  return piecesOf(sample).reduce((n, piece) => n + piece.length, 0)
}

/** Rounds share the texts that are the same. */
const piecesOf = ({ rounds }: TrainingSample) =>
  [...new Set(rounds.flat())].flatMap((t) => [...t.prompt, ...t.context, t.target])
