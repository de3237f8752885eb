/** A pass over one row with nothing cached, its masks written out: what the agent's own passes are compared with. */
import type { DecoderConfig } from '../../src-main/engine/models/config'
import { headLayout, layerRope, recurFromStart, type Pass } from '../../src-main/engine/models/decoder'
import { MASKED, maskedAttention } from '../../src-main/engine/nn/attention'
import type { Graph, Value } from '../../src-main/engine/onnx/graph'
import * as op from '../../src-main/engine/onnx/ops'

/** Positions 0 .. length-1. */
export function plainPass(g: Graph, config: DecoderConfig, length: number): Pass {
  const positions = op.unsqueeze(g, g.ints(Array.from({ length }, (_, i) => i)), [0])
  const masks = new Map<number, Value>()
  for (const window of new Set(config.windows)) {
    const rows = Array.from({ length: length * length }, (_, i) => {
      const [q, k] = [Math.floor(i / length), i % length]
      return k <= q && (window === 0 || q - k < window) ? 0 : MASKED
    })
    masks.set(window, g.floats(rows, [1, 1, length, length]))
  }
  const layout = headLayout(config, 'float32')
  return {
    g,
    batch: 1,
    time: length,
    rope: layerRope(g, config, positions, length),
    attend: (i, q, k, v) => maskedAttention(g, q, k, v, null, masks.get(config.windows[i])!, layout).output,
    recur: recurFromStart(g, config, 1, 'float32'),
  }
}
