/**
 * One agent reading one text, as token ids: pieces of prompt with slots between them, then (in training) the supervised
 * target. Turns such a text and filled slots into the row that an agent is given, with the text before the first slot
 * encoded once and shared.
 */
import { type Agent, type Prefix, type Row, type RunControl, type Segment, rowLength } from '../agents/agent'

/** n slots have n + 1 pieces around them; a piece may be empty. */
export type Pieces = readonly (readonly number[])[]

/** Texts before a slot that are shorter are not worth encoding apart; tokens. */
export const usualShortestPrefix = 24

/** What stands in a slot: [count, H of the reader], row-major. */
export interface SlotFill {
  readonly values: Float32Array
  readonly count: number
}

export interface BuiltRow {
  readonly row: Row
  /** Positions of the prompt that stand in `row.segments`: the prefix and what was cut from the left do not count. */
  readonly promptLength: number
  /** Positions of the whole row, its prefix included. */
  readonly length: number
}

/**
 * Encoded texts of the agents, each made once however many rows, stages and rounds begin with it. No gradient goes
 * through them: causal attention makes their keys and values independent of everything after them.
 */
export class PrefixPool {
  private readonly prefixes = new Map<Agent, Map<string, Prefix>>()

  /** Texts shorter than `shortest` tokens are not worth a call of their own. */
  constructor(private readonly shortest: number) {}

  /** Encodes what is not there yet. */
  async prepare(agent: Agent, texts: readonly Pieces[], control?: RunControl): Promise<void> {
    const held = this.prefixes.get(agent) ?? new Map<string, Prefix>()
    this.prefixes.set(agent, held)
    const missing = new Map<string, readonly number[]>()
    for (const pieces of texts) if (this.worthwhile(pieces)) missing.set(pieces[0].join(), pieces[0])
    for (const key of held.keys()) missing.delete(key)
    if (missing.size === 0) return
    const made = await agent.encodePrefixes([...missing.values()], control)
    ;[...missing.keys()].forEach((key, i) => held.set(key, made[i]))
  }

  find(agent: Agent, pieces: Pieces): Prefix | undefined {
    return this.worthwhile(pieces) ? this.prefixes.get(agent)?.get(pieces[0].join()) : undefined
  }

  dispose(): void {
    for (const held of this.prefixes.values()) for (const prefix of held.values()) prefix.dispose()
    this.prefixes.clear()
  }

  private worthwhile(pieces: Pieces): boolean {
    return pieces.length > 1 && pieces[0].length >= Math.max(1, this.shortest)
  }
}

/** Positions that a prompt takes with these slots filled. */
export function promptPositions(pieces: Pieces, slots: readonly SlotFill[]): number {
  return pieces.reduce((n, p) => n + p.length, 0) + slots.reduce((n, s) => n + s.count, 0)
}

/**
 * The row [prompt with slots, tail]. Of a row that would be longer than `maxLength`, `whole` being its length, the beginning
 * is cut off, slots included (the reference's way); such a row has no prefix.
 */
export function buildRow(
  pieces: Pieces,
  slots: readonly SlotFill[],
  tail: readonly Segment[],
  options: { readonly prefix?: Prefix; readonly cut?: number } = {},
): BuiltRow {
  const segments: Segment[] = []
  pieces.forEach((ids, i) => {
    if (i > 0 && slots[i - 1].count > 0) segments.push({ kind: 'latents', ...slots[i - 1] })
    if (ids.length > 0 && !(i === 0 && options.prefix)) segments.push({ kind: 'tokens', ids })
  })
  const prompt = rowLength({ segments })
  const row: Row = { ...(options.prefix ? { prefix: options.prefix } : {}), segments: [...segments, ...tail] }
  const cut = options.cut ?? 0
  if (cut === 0) return { row, promptLength: prompt, length: rowLength(row) + (options.prefix?.length ?? 0) }
  if (options.prefix) throw new Error('a row that is cut from the left cannot start with an encoded prefix')
  const kept: Row = { segments: dropLeft(row.segments, cut) }
  return { row: kept, promptLength: Math.max(prompt - cut, 0), length: rowLength(kept) }
}

function dropLeft(segments: readonly Segment[], positions: number): Segment[] {
  const kept: Segment[] = []
  let left = positions
  for (const s of segments) {
    const size = s.kind === 'tokens' ? s.ids.length : s.count
    const drop = Math.min(left, size)
    left -= drop
    if (drop === size) continue
    if (drop === 0) kept.push(s)
    else if (s.kind === 'tokens') kept.push({ kind: 'tokens', ids: s.ids.slice(drop) })
    else
      kept.push({
        kind: 'latents',
        values: s.values.subarray((drop * s.values.length) / s.count),
        count: s.count - drop,
      })
  }
  return kept
}
