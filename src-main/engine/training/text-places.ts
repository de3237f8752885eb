/**
 * Which of a reader's tokens stand at the same place of a text as each of the writer's tokens. Where both cut the text alike it is
 * one to one; else a place covers a range of characters and has the reader's tokens that begin there (none: those of the
 * place before).
 */
import type { TextTokenizer } from '../text'

type Decoding = Pick<TextTokenizer, 'encode' | 'decode'>

/**
 * Per place t < count the reader's token ids, at least one; places after the end of the text have `filler`.
 * `writerIds`: the text as the writer writes it, ids of its turn's end behind it.
 */
export async function readerTokens(
  text: string,
  writer: Decoding,
  writerIds: readonly number[],
  reader: Decoding,
  count: number,
  filler: number,
): Promise<number[][]> {
  const readerIds = await reader.encode(text)
  if (
    readerIds.length > 0 &&
    readerIds.every((id, i) => writerIds[i] === id) &&
    (await endOf(text, writer, writerIds)) === readerIds.length
  )
    return Array.from({ length: count }, (_, t) => [readerIds[t] ?? filler])
  const ends = (await beginnings(writer, writerIds, text)).slice(1)
  const starts = (await beginnings(reader, readerIds, text)).slice(0, -1)
  const places: number[][] = []
  let from = 0
  for (let t = 0; t < count; t++) {
    const end = ends[t] ?? text.length
    if (from >= text.length) {
      places.push([filler])
      continue
    }
    const here = readerIds.filter((_, j) => starts[j] >= from && starts[j] < end)
    places.push(here.length > 0 ? here : (places[t - 1] ?? readerIds.slice(0, 1)))
    from = Math.max(from, end)
  }
  return places.map((p) => (p.length > 0 ? p : [filler]))
}

/** How many tokens the text itself takes, without the end of the turn. */
async function endOf(text: string, tokenizer: Decoding, ids: readonly number[]): Promise<number> {
  const at = await beginnings(tokenizer, ids, text)
  const first = at.findIndex((n) => n >= text.length)
  return first < 0 ? ids.length : first
}

/** Characters of the text before each token, and after the last: n + 1 numbers that never fall. */
async function beginnings(tokenizer: Decoding, ids: readonly number[], text: string): Promise<number[]> {
  const whole = await tokenizer.decode(ids, { skipSpecial: true })
  const offset = Math.max(0, whole.indexOf(text))
  const at: number[] = []
  for (let k = 0; k <= ids.length; k++) {
    const shown = (await tokenizer.decode(ids.slice(0, k), { skipSpecial: true })).replace(/\uFFFD+$/, '')
    at.push(Math.max(at.at(-1) ?? 0, Math.min(text.length, shown.length - offset)))
  }
  return at
}
