/** A list of 300 MB on one line: longer than a piece of the file, read without being held as one text. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { open, work } from './files'
import { largeRow, writeLargeFile } from './large-file'

it('300 MB on one line', async () => {
  const path = join(work, 'large.json')
  const { rows } = writeLargeFile(path, 'json', 300e6)
  const shares: number[] = []
  const dataset = await open(path, { onProgress: (share) => shares.push(share) })
  expect(dataset.info.rows).toBe(rows)
  expect(dataset.info.columns.map(({ name, type, nulls }) => [name, type, nulls])).toEqual([
    ['q', 'text', 0],
    ['n', 'number', 0],
    ['a', 'text', 1],
    ['c', 'text', 1],
  ])
  expect(dataset.info.problems).toEqual([])
  for (const place of [0, 4999, 5000, 123_457, rows - 2])
    expect((await dataset.rows(place, 1))[0].cells).toEqual(largeRow(place))
  expect((await dataset.rows(rows - 1, 1))[0].cells).toEqual(['007', '7.50', null, null])
  expect(shares.at(-1)).toBe(1)
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
})
