import { describe, expect, it } from 'vitest'
import { comparisonTable, summary, type Cell } from '../../../src-main/demo/comparison'

const cell = (system: string, rounds: number, value: number, n = 300): Cell => ({
  system,
  rounds,
  accuracy: { value, low: value / 2, high: (1 + value) / 2, n },
})
const systems = [
  { id: 'trained', title: 'Trained links' },
  { id: 'solver-alone', title: 'Alone' },
]
const cells = [cell('trained', 2, 0.65), cell('trained', 1, 1 / 3), cell('solver-alone', 1, 0)]

describe('the comparison', () => {
  it('is a table of systems by rounds with intervals', () => {
    expect(comparisonTable(systems, cells)).toBe(
      [
        '|               |               1 round |              2 rounds |',
        '| ------------- | --------------------: | --------------------: |',
        '| Trained links | 33.3 % (16.7 to 66.7) | 65.0 % (32.5 to 82.5) |',
        '| Alone         |   0.0 % (0.0 to 50.0) |                       |',
        '',
      ].join('\n'),
    )
  })

  it('is written as fractions by rounds', () => {
    expect(summary([...cells, cell('untrained', 1, 0), cell('text', 3, 1)], 61.24)).toEqual({
      rows: 300,
      seconds: 61.2,
      untrained: { '1': 0 },
      trained: { '1': 1 / 3, '2': 0.65 },
      text: { '3': 1 },
      solverAlone: 0,
    })
  })

  it('refuses evaluations on different rows', () => {
    expect(() => summary([...cells, cell('text', 3, 1, 200)], 1)).toThrow(/200, 300|300, 200/)
  })
})
