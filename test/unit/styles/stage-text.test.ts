import { describe, expect, it } from 'vitest'
import { buildRow } from '../../../src-main/engine/styles/stage-text'

const slot = { values: Float32Array.of(1, 1, 2, 2, 3, 3), count: 3 }
const pieces = [
  [10, 11],
  [12, 13],
]
const tail = [{ kind: 'tokens' as const, ids: [20, 21] }]

describe('buildRow', () => {
  it('puts slots between pieces and the tail behind them', () => {
    const { row, promptLength, length } = buildRow(pieces, [slot], tail)
    expect(row.segments.map((s) => (s.kind === 'tokens' ? s.ids : s.count))).toEqual([[10, 11], 3, [12, 13], [20, 21]])
    expect([promptLength, length]).toEqual([7, 9])
  })

  it('leaves out the first piece where it is encoded already, and pieces and slots of no length', () => {
    const prefix = { length: 2, bytes: 0, dispose() {} }
    const { row, promptLength, length } = buildRow([[10, 11], []], [slot], [], { prefix })
    expect(row.prefix).toBe(prefix)
    expect(row.segments).toHaveLength(1)
    expect([promptLength, length]).toEqual([3, 5])
    expect(buildRow(pieces, [{ values: new Float32Array(0), count: 0 }], []).row.segments).toHaveLength(2)
  })

  it('cuts from the left through pieces and slots', () => {
    const { row, promptLength, length } = buildRow(pieces, [slot], tail, { cut: 4 })
    expect(row.segments).toEqual([
      { kind: 'latents', values: Float32Array.of(3, 3), count: 1 },
      { kind: 'tokens', ids: [12, 13] },
      { kind: 'tokens', ids: [20, 21] },
    ])
    expect([promptLength, length]).toEqual([3, 5])
    expect(buildRow(pieces, [slot], tail, { cut: 8 })).toMatchObject({ promptLength: 0, length: 1 })
  })
})
