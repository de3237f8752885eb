/** What a model's passes take beside its weights. */
import { attentionLayers, type DecoderConfig } from '../models/config'
import { deltaChannels } from '../nn/delta-net'

/** What the runtime keeps of a graph of so many nodes; measured from 1,000 to 9,000. */
export const sessionBytes = (nodes: number): number => 5e6 + 12e3 * nodes

/** A forward pass over one text: each block's results are freed as it goes, what the caches keep is not counted here. */
export function workingBytes(c: DecoderConfig, places: number): number {
  const attending = attentionLayers(c).length
  const block = 6 * c.hiddenSize + 4 * c.intermediateSize + 2 * (c.heads + 2 * c.kvHeads) * c.headDim
  const mixing = c.delta ? 4 * (deltaChannels(c.delta) + c.delta.valueHeads * c.delta.valueDim) : 0
  return 4 * places * (block + mixing + (attending > 0 ? 2 * c.kvHeads * c.headDim : 0))
}
