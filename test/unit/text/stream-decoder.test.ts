import { expect, it } from 'vitest'
import { createStreamDecoder } from '../../../src-main/engine/text/stream-decoder'
import { loadTokenizer } from '../../../src-main/engine/text/tokenizer'
import { tinyModel } from './tiny-model'

// The tiny tokenizer's first 256 ids are the bytes in order.

it('holds an incomplete character back and shows what is left at the end', async () => {
  const stream = createStreamDecoder(await loadTokenizer(await tinyModel()), { skipSpecial: false })
  const chunks = []
  for (const byte of [...Buffer.from('aé😀'), 0xf0, 0x9f]) chunks.push(await stream.push([byte]))
  expect(chunks).toEqual(['a', '', 'é', '', '', '', '😀', '', ''])
  expect(await stream.flush()).toBe('\ufffd')
  expect(await stream.flush()).toBe('')
})

it('takes several ids at once, and none', async () => {
  const stream = createStreamDecoder(await loadTokenizer(await tinyModel()), { skipSpecial: true })
  expect(await stream.push([])).toBe('')
  expect(await stream.push([97, 98, 257])).toBe('ab')
  expect(await stream.push([99])).toBe('c')
})

it('decodes a bounded number of tokens per step', async () => {
  const tokenizer = await loadTokenizer(await tinyModel())
  let decoded = 0
  const counting = {
    idToToken: tokenizer.idToToken,
    decode: (ids: readonly number[], options?: { skipSpecial?: boolean }) => {
      decoded += ids.length
      return tokenizer.decode(ids, options)
    },
  }
  const stream = createStreamDecoder(counting, { skipSpecial: true })
  const ids = [...Buffer.from('Zwei Wörter, añade más — и ещё. '.repeat(40))]
  let text = ''
  for (const id of ids) text += await stream.push([id])
  expect(text).toBe('Zwei Wörter, añade más — и ещё. '.repeat(40))
  expect(decoded).toBeLessThan(12 * ids.length)
})
