import { describe, expect, it } from 'vitest'
import { loadTokenizer } from '../../../src-main/engine/text/tokenizer'
import { readerTokens } from '../../../src-main/engine/training/text-places'
import { tinyModel, tokenizerJson } from '../text/tiny-model'

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
    idToToken: (id: number) => words[id] ?? null,
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

  it('gives places before the text the first token, those of a cut text no filler, and a blank text fillers only', async () => {
    // the template writes something of its own before the target
    const opened = cutting(['seven', ' plus', '<think>'])
    expect(await readerTokens('seven plus', opened, [2, 0, 1, end], fine, 4, filler)).toEqual([
      [0],
      [0, 1],
      [2, 3, 4],
      [filler],
    ])
    const whole = await fine.encode('seven plus nine')
    expect(await readerTokens('seven plus nine', fine, whole, coarse, 3, filler)).toEqual([[0], [0], [1]])
    expect(await readerTokens('', coarse, [end], fine, 2, filler)).toEqual([[filler], [filler]])
  })

  it('goes by proportion where the writer does not give back the text that it was given', async () => {
    const upper = cutting(['SEVEN', ' PLUS', ' NINE'])
    expect(await readerTokens('seven plus nine', upper, [0, 1, 2], fine, 3, filler)).toEqual([
      [0, 1],
      [2, 3, 4],
      [2, 5, 6],
    ])
  })
})

describe('readerTokens with byte-level vocabularies', () => {
  /** One token per byte, and the given pairs merged: `name` finds a token by its bytes. */
  async function byteLevel(...merged: [left: Buffer, right: Buffer][]) {
    const json = tokenizerJson() as { model: { vocab: Record<string, number>; merges: string[] } }
    const alphabet: string[] = []
    for (const [token, id] of Object.entries(json.model.vocab)) alphabet[id] = token
    const shown = (bytes: Buffer) => [...bytes].map((b) => alphabet[b]).join('')
    merged.forEach(([l, r], i) => {
      json.model.merges.push(`${shown(l)} ${shown(r)}`)
      json.model.vocab[shown(l) + shown(r)] = 300 + i
    })
    return loadTokenizer(await tinyModel({ files: { 'tokenizer.json': json } }))
  }
  // in UTF-8: e4 b8 ad; f0 9f 98 80
  const [zhong, smile] = [Buffer.from('中'), Buffer.from('😀')]
  const eos = 257

  it('finds the bytes of a character in the place that has them, whichever side cuts finer', async () => {
    const bytes = await byteLevel()
    const pairs = await byteLevel([zhong.subarray(0, 1), zhong.subarray(1, 2)])
    const text = 'a中b'
    const [fineIds, coarseIds] = [await bytes.encode(text), await pairs.encode(text)]
    expect(fineIds).toEqual([0x61, 0xe4, 0xb8, 0xad, 0x62])
    expect(coarseIds).toEqual([0x61, 300, 0xad, 0x62])
    expect(await readerTokens(text, pairs, [...coarseIds, eos], bytes, 5, 0)).toEqual([
      [0x61],
      [0xe4, 0xb8],
      [0xad],
      [0x62],
      [0],
    ])
    // nothing of the reader begins in the second byte
    expect(await readerTokens(text, bytes, [...fineIds, eos], pairs, 6, 0)).toEqual([
      [0x61],
      [300],
      [300],
      [0xad],
      [0x62],
      [0],
    ])
  })

  it('tells two cuts of one character apart, and tokens that reach over the end of a character', async () => {
    const front = await byteLevel([smile.subarray(0, 1), smile.subarray(1, 2)])
    const back = await byteLevel([smile.subarray(2, 3), smile.subarray(3, 4)], [smile.subarray(2, 4), Buffer.from('!')])
    const text = '😀!'
    expect(await front.encode(text)).toEqual([300, 0x98, 0x80, 0x21])
    // two bytes of the character and the mark are one token
    expect(await back.encode(text)).toEqual([0xf0, 0x9f, 301])
    expect(await readerTokens(text, front, [300, 0x98, 0x80, 0x21, eos], back, 5, 0)).toEqual([
      [0xf0, 0x9f],
      [301],
      [301],
      [301],
      [0],
    ])
    expect(await readerTokens(text, back, [0xf0, 0x9f, 301, eos], front, 4, 0)).toEqual([
      [300],
      [300],
      [0x98, 0x80, 0x21],
      [0],
    ])
  })

  it('is one to one for the same vocabulary, in characters of several bytes and special tokens too', async () => {
    const bytes = await byteLevel()
    const text = 'é<think>中'
    const ids = await bytes.encode(text)
    expect(ids).toEqual([0xc3, 0xa9, 262, 0xe4, 0xb8, 0xad])
    expect(await readerTokens(text, bytes, [...ids, eos], bytes, 8, 0)).toEqual([...ids, 0, 0].map((id) => [id]))
    expect(await readerTokens(text, bytes, [...ids, eos], bytes, 4, 0)).toEqual(ids.slice(0, 4).map((id) => [id]))
  })

  it('lets a special token of one side cover the characters that the other side spells', async () => {
    const bytes = await byteLevel()
    const spelling = cutting(['<th', 'ink>', 'x'])
    expect(await readerTokens('<think>x', bytes, [262, 0x78, eos], spelling, 3, 0)).toEqual([[0, 1], [2], [0]])
    expect(await readerTokens('<think>x', spelling, [0, 1, 2], bytes, 3, 0)).toEqual([[262], [262], [0x78]])
  })
})
