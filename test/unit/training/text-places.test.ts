import { describe, expect, it } from 'vitest'
import { readerTokens } from '../../../src-main/engine/training/text-places'

/** A tokenizer that cuts a text into the given words; ids are places in its list. Ids from 100 on are special. */
function cutting(words: readonly string[]) {
  return {
    async encode(text: string) {
      const ids: number[] = []
      for (let at = 0; at < text.length;) {
        const id = words.findIndex((w) => text.startsWith(w, at))
        if (id < 0) throw new Error(`no word at ${at}`)
        ids.push(id)
        at += words[id].length
      }
      return ids
    },
    async decode(ids: readonly number[]) {
      return ids
        .filter((id) => id < 100)
        .map((id) => words[id])
        .join('')
    },
  }
}

const coarse = cutting(['seven', ' plus', ' nine'])
const fine = cutting(['sev', 'en', ' ', 'pl', 'us', 'ni', 'ne'])
const end = 100
const filler = 9

describe('readerTokens', () => {
  it('is one to one where both cut the text alike, and fills what comes after', async () => {
    expect(await readerTokens('seven plus nine', coarse, [0, 1, 2, end], coarse, 6, filler)).toEqual([
      [0],
      [1],
      [2],
      [filler],
      [filler],
      [filler],
    ])
    expect(await readerTokens('seven plus nine', coarse, [0, 1, 2, end], coarse, 2, filler)).toEqual([[0], [1]])
  })

  it('gives a coarse place all fine tokens that begin in it', async () => {
    // seven = sev en; " plus" = " " pl us; " nine" = " " ni ne
    expect(await readerTokens('seven plus nine', coarse, [0, 1, 2, end], fine, 5, filler)).toEqual([
      [0, 1],
      [2, 3, 4],
      [2, 5, 6],
      [filler],
      [filler],
    ])
  })

  it('gives a fine place in which nothing begins what the place before has', async () => {
    const ids = await fine.encode('seven plus')
    expect(await readerTokens('seven plus', fine, [...ids, end], coarse, 7, filler)).toEqual([
      [0],
      [0],
      [1],
      [1],
      [1],
      [filler],
      [filler],
    ])
  })

  it('does not take the same numbers of two vocabularies for the same text', async () => {
    const other = cutting(['se', 'ven', ' plus'])
    // the writer's [0, 1] is "seven plus", the reader's ids are [0, 1, 2]
    expect(await readerTokens('seven plus', coarse, [0, 1, end], other, 3, filler)).toEqual([[0, 1], [2], [filler]])
  })
})
