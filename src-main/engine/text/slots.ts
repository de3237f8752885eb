/**
 * Slots: places in a prompt where latents stand instead of text. A marker holds the place while the chat template is
 * rendered; the text is then cut there and every piece is tokenised by itself, so no token crosses a slot's border and
 * no marker reaches a model.
 */
import type { TextTokenizer } from './tokenizer'

/** A stretch of a message: text, or a slot by name. */
export type PromptPart =
  { readonly kind: 'text'; readonly text: string } | { readonly kind: 'slot'; readonly name: string }

/** One marker per slot, none of which occurs in any of `texts`. */
export function markersFor(count: number, texts: readonly string[]): string[] {
  // Private-use characters, and a number that is raised until nothing in the texts looks like it.
  for (let n = 0; ; n++) {
    const stem = `\u{f5a07}slot${n}.`
    if (!texts.some((t) => t.includes(stem))) return Array.from({ length: count }, (_, i) => `${stem}${i}\u{f5a08}`)
  }
}

/**
 * The pieces around the markers: n markers, n + 1 pieces. Each marker is searched after the one before; a further
 * occurrence stays text. Throws an Error naming a marker that is not there.
 */
export function cutAtMarkers(text: string, markers: readonly string[]): string[] {
  const pieces: string[] = []
  let at = 0
  for (const marker of markers) {
    const found = text.indexOf(marker, at)
    if (found < 0) throw new Error(`slot marker not found: ${marker}`)
    pieces.push(text.slice(at, found))
    at = found + marker.length
  }
  return [...pieces, text.slice(at)]
}

/** Token ids of each piece by itself, nothing added around; an empty piece gives no tokens. */
export async function encodePieces(
  tokenizer: Pick<TextTokenizer, 'encodeAll'>,
  pieces: readonly string[],
): Promise<number[][]> {
  const filled = pieces.filter((p) => p !== '')
  const encoded = filled.length === 0 ? [] : await tokenizer.encodeAll(filled)
  let next = 0
  return pieces.map((p) => (p === '' ? [] : encoded[next++]))
}
