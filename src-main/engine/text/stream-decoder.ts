/**
 * Text of a growing row of tokens, piece by piece. The rule: after k tokens the text to show is decode(first k) without
 * its trailing run of U+FFFD (a character may still be incomplete), as far as it goes beyond what was shown; at the end
 * the rest. Not the whole row is decoded each time, but a window with some tokens before it as context.
 */
import type { TextTokenizer } from './tokenizer'

export interface StreamDecoder {
  /** Takes new ids; resolves to the text that may now be shown in addition. Calls must not overlap. */
  push(ids: readonly number[]): Promise<string>
  /** What was held back, once no more ids come. */
  flush(): Promise<string>
}

const BYTE_TOKEN = /^<0x[0-9A-Fa-f]{2}>$/

export function createStreamDecoder(
  tokenizer: Pick<TextTokenizer, 'decode' | 'idToToken'>,
  { skipSpecial }: { skipSpecial: boolean },
): StreamDecoder {
  const decode = (ids: readonly number[]) => tokenizer.decode(ids, { skipSpecial })
  /** Context followed by the window. The context decodes to `before` whatever follows. */
  let ids: number[] = []
  let contextLength = 0
  let before = ''
  /** Characters of the window that were shown, and its latest whole text. */
  let shown = ''
  let latest = ''

  /**
   * May the window end here? Not between byte tokens: a run of them decodes as one, and a later byte can spoil the
   * whole run. Not after a token that leaves no text: behind it such a run could go on, and a context without text
   * would take the next window's first space.
   */
  async function isBoundary(id: number): Promise<boolean> {
    const token = tokenizer.idToToken(id)
    return token !== null && !BYTE_TOKEN.test(token) && (await decode([id])) !== ''
  }

  async function take(more: readonly number[]): Promise<string> {
    ids.push(...more)
    const text = await decode(ids)
    latest = text.slice(before.length)
    const safe = latest.replace(/\ufffd+$/, '')
    const chunk = safe.length > shown.length ? safe.slice(shown.length) : ''
    if (chunk !== '') shown = safe
    if (safe === latest && latest !== '' && (await isBoundary(ids[ids.length - 1]))) {
      const window = ids.slice(contextLength)
      // The window becomes the context of the next one. By itself its text may lack something at the start (a decoder
      // takes the first space away); should it differ elsewhere, this decoder is not local and the window has to grow.
      const alone = await decode(window)
      if (latest.endsWith(alone)) {
        ids = window
        contextLength = window.length
        before = alone
        shown = ''
        latest = ''
      }
    }
    return chunk
  }

  return {
    push: (more) => (more.length === 0 ? Promise.resolve('') : take(more)),
    async flush() {
      const rest = latest.startsWith(shown) ? latest.slice(shown.length) : ''
      shown = latest
      return rest
    },
  }
}
