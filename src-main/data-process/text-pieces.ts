/** A tokenised text cut into stretches, with the tokens of each: joined they are the text again. */
import type { PreviewPiece } from '../bridge/contract'
import type { TextTokenizer } from '../engine/text'

type Encoding = Pick<TextTokenizer, 'encode' | 'decode'>

/** How far around a guess a border is looked for, in characters. */
const reach = 64

/** Where in the text the first `count` of its tokens end. `guess`: where that is likely to be. */
export async function endOfTokens(
  tokenizer: Encoding,
  text: string,
  ids: readonly number[],
  count: number,
  guess: number | null,
): Promise<number> {
  if (count <= 0) return 0
  if (count >= ids.length) return text.length
  const decoded = (await tokenizer.decode(ids.slice(0, count))).length
  const near = [...(guess === null ? [] : [guess]), decoded]
  for (let d = 0; d <= reach; d++)
    for (const at of near.flatMap((n) => (d === 0 ? [n] : [n - d, n + d])))
      if (at >= 0 && at <= text.length && (await sharedTokens(tokenizer, text.slice(0, at), ids)) === count)
        if ((await tokenizer.encode(text.slice(0, at))).length === count) return at
  return Math.min(text.length, near[0])
}

/** A border in a text, and what begins there. */
export interface Border {
  readonly at: number
  readonly supervised: boolean
  /** The stretch stands in a slot. */
  readonly slot?: { readonly name: string; readonly from: string | null }
}

/** The stretches from border to border; the first border is at 0. */
export async function piecesOf(
  tokenizer: Encoding,
  text: string,
  ids: readonly number[],
  borders: readonly Border[],
): Promise<PreviewPiece[]> {
  const pieces: PreviewPiece[] = []
  let before = 0
  for (const [i, { at, supervised, slot }] of borders.entries()) {
    const end = borders[i + 1]?.at ?? text.length
    const upTo = end === text.length ? ids.length : await sharedTokens(tokenizer, text.slice(0, end), ids)
    const tokens = Math.max(0, upTo - before)
    before = Math.max(before, upTo)
    const part = text.slice(at, end)
    if (slot) pieces.push({ kind: 'slot', ...slot, length: tokens, text: part })
    else if (part !== '') pieces.push({ kind: 'text', text: part, supervised, tokens })
  }
  return pieces
}

/** Tokens that a beginning of the text shares with the whole. */
async function sharedTokens(tokenizer: Encoding, beginning: string, ids: readonly number[]): Promise<number> {
  const own = await tokenizer.encode(beginning)
  let n = 0
  while (n < own.length && n < ids.length && own[n] === ids[n]) n++
  return n
}
