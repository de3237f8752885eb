/** `npm run test:large`: data files of 5 GB. Takes minutes, and 11 GB of the temporary folder's disk. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { open, work } from '../unit/datasets/files'
import { largeRow, writeLargeFile } from '../unit/datasets/large-file'

describe.each(['json', 'jsonl'] as const)('5 GB of %s', (format) => {
  it('is read, paged, searched and sorted', async () => {
    const path = join(work, `large.${format}`)
    const { rows } = writeLargeFile(path, format, 5e9)
    const dataset = await open(path)
    rmSync(path)
    expect(dataset.info.rows).toBe(rows)
    expect(dataset.info.problems).toEqual([])
    for (const place of [0, 5000, rows >> 1, rows - 2])
      expect((await dataset.rows(place, 1))[0].cells).toEqual(largeRow(place))
    const search = await dataset.order({ search: { text: 'QUESTION 4999 ' } })
    await search.finished
    expect(search.state.found).toBe((rows - 1) / 5000)
    const sorted = await dataset.order({ sort: [{ column: 1, descending: true }] })
    const first = await sorted.rows(0, 2)
    expect(first.map(({ place }) => place)).toEqual([4999, 9999])
    expect(sorted.state.found).toBe(rows)
    await dataset.close()
  })
})
