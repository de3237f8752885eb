/** A stage with lengths for its slots, as outer training gives it to an agent: token ids and labels, -100 where there is none. */
import { buildRow, promptPositions } from '../../../src-main/engine/styles/stage-text'
import type { Stage } from '../../../src-main/engine/text/stage'
import { trainingText } from '../../../src-main/engine/training/training-texts'

export function laidOut(stage: Stage, slotLengths: readonly number[], maxLength = Infinity) {
  const { context, target } = trainingText(stage)
  const fills = slotLengths.map((count) => ({ values: new Float32Array(count), count }))
  const dropped = Math.max(promptPositions(context, fills) + target.length - maxLength, 0)
  const { row, promptLength } = buildRow(context, fills, [{ kind: 'tokens', ids: target }], { cut: dropped })
  const tokens = row.segments.flatMap((s) => (s.kind === 'tokens' ? s.ids : Array<number>(s.count).fill(-100)))
  return { dropped, promptLength, tokens, labels: tokens.map((id, i) => (i < promptLength ? -100 : id)) }
}
