/**
 * Which of a reader's tokens stand at the same place of a text as each of the writer's tokens. Where both cut the text alike it is
 * one to one; else a place covers a range of characters and has the reader's tokens that begin there (none: those of the
 * place before).
 */
import type { TextTokenizer } from '../text'

type Decoding = Pick<TextTokenizer, 'encode' | 'decode' | 'idToToken'>

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
  if (await sameCut(writer, writerIds, reader, readerIds, Math.min(count, readerIds.length)))
    return Array.from({ length: count }, (_, t) => [readerIds[t] ?? filler])
  const writerStarts = await beginnings(writer, writerIds, text, count)
  const readerStarts = await beginnings(reader, readerIds, text, readerIds.length, writerStarts.at(-1))
  const places: number[][] = []
  for (let t = 0; t < count; t++) {
    const from = writerStarts[t] ?? text.length
    if (from >= text.length) {
      places.push([filler])
      continue
    }
    const end = writerStarts[t + 1] ?? text.length
    const here = readerIds.filter((_, j) => readerStarts[j] >= from && readerStarts[j] < end)
    places.push(here.length > 0 ? here : (places[t - 1] ?? readerIds.slice(0, 1)))
  }
  return places.map((p) => (p.length > 0 ? p : [filler]))
}

/** Whether both sides cut the text's first `shared` tokens alike: the same numbers of two vocabularies are not yet the same words. */
async function sameCut(
  writer: Decoding,
  writerIds: readonly number[],
  reader: Decoding,
  readerIds: readonly number[],
  shared: number,
): Promise<boolean> {
  const ids = readerIds.slice(0, shared)
  if (shared === 0 || !ids.every((id, t) => writerIds[t] === id)) return false
  return (await writer.decode(ids)) === (await reader.decode(ids))
}

/**
 * Characters of the text before each of the first tokens and after the last of them, numbers that never fall. A token that begins
 * inside a character (byte-level vocabularies cut characters too) has a fraction. Ends early once `far` is reached.
 */
async function beginnings(
  tokenizer: Decoding,
  ids: readonly number[],
  text: string,
  count: number,
  far = Infinity,
): Promise<number[]> {
  const whole = await tokenizer.decode(ids)
  const found = whole.indexOf(text)
  // a tokenizer that does not give back what it was given (lower case, other white space): in proportion
  const place = (shown: number) => (found >= 0 ? shown - found : (shown * text.length) / Math.max(1, whole.length))
  const at: number[] = []
  const inside: boolean[] = []
  for (let k = 0; k <= Math.min(count, ids.length) && (at.at(-1) ?? 0) < far; k++) {
    const shown = await tokenizer.decode(ids.slice(0, k))
    const common = commonLength(shown, whole)
    at.push(Math.max(at.at(-1) ?? 0, Math.min(text.length, Math.max(0, place(common)))))
    inside.push(common < shown.length && shown.endsWith('\uFFFD'))
  }
  return withFractions(at, inside, ids, tokenizer, text)
}

function commonLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  let n = 0
  while (n < end && a[n] === b[n]) n++
  return n
}

/**
 * Where in a character the tokens begin that begin inside one: by their bytes, which such a token shows one by one (byte-level alphabet
 * or <0xNN>).
 */
function withFractions(
  at: readonly number[],
  inside: readonly boolean[],
  ids: readonly number[],
  tokenizer: Decoding,
  text: string,
): number[] {
  const out = [...at]
  let clean = 0
  let bytes = 0
  for (let k = 0; k < at.length; k++) {
    if (k > 0) bytes += byteCount(tokenizer.idToToken(ids[k - 1]) ?? '')
    if (!inside[k] || at[k] >= text.length) {
      clean = k
      bytes = 0
      continue
    }
    const before = Buffer.byteLength(text.slice(at[clean], at[k]))
    const character = Buffer.byteLength(String.fromCodePoint(text.codePointAt(at[k])!))
    out[k] += Math.min(Math.max((bytes - before) / character, 0), 1)
  }
  return out
}

function byteCount(token: string): number {
  return /^<0x[0-9A-F]{2}>$/.test(token) ? 1 : [...token].length
}
