/** How long the prompts of each role come to over the rows that a run would use. */
import type { TokenLengths } from '../bridge/contract'
import type { OpenSets } from './open-sets'
import { agentOf, openPrompts, type PromptParams } from './prompt-context'
import { rawRows, rowsTogether, runRowsOf } from './raw-rows'
import { rowLengths } from './row-lengths'
import { runReader } from './run-rows'
import type { Call } from './service'
import { UserError } from '../engine/errors'

export interface LengthParams extends PromptParams {
  readonly handle: string
  readonly order: string | null
  readonly role: string | null
}

const parts = 20

export async function tokenLengths(sets: OpenSets, params: LengthParams, call: Call): Promise<TokenLengths[]> {
  const set = sets.get(params.handle)
  const { use, mapping } = params
  const context = await openPrompts(params)
  const { style, limit, maxPositions } = context
  const agents = params.role === null ? style.roles.map((_, i) => i) : [agentOf(style, params.role)]
  const names = set.dataset.info.columns.map(({ name }) => name)
  const reader = runReader(style, use, agents.length === 1 ? agents[0] : null, mapping, names)
  const from = await runRowsOf(set)
  const refuse = (why: string) =>
    new UserError({ what: 'The prompts cannot be measured.', why, next: 'Check the mapping of the columns.' })
  if (from.kind === 'refused') throw refuse(`A run refuses this file: ${from.why}`)
  const lacking = [...reader.absent, ...reader.missing]
  if (lacking.length > 0) throw refuse(`The data has no column for ${lacking.join(', ')}.`)
  const wanted = await placesOf(sets, params)
  const total = wanted?.size ?? set.dataset.info.rows
  const lengths = new Map<number, number[]>(agents.map((agent) => [agent, []]))
  let done = 0
  for await (const part of rawRows(set, from, reader.columns)) {
    const chosen = wanted ? part.filter((raw) => wanted.has(raw.number - 1)) : part
    for (let at = 0; at < chosen.length; at += rowsTogether) {
      call.signal.throwIfAborted()
      const together = chosen.slice(at, at + rowsTogether).map((raw) => reader.read(raw))
      const found = await Promise.all(
        together.map(({ row, usable }) => (usable ? rowLengths(context, use, row, agents, params) : [])),
      )
      for (const { agent, positions } of found.flat()) if (positions > 0) lengths.get(agent)!.push(positions)
      done += together.length
      call.progress(done / total, done, 'rows')
    }
  }
  return agents.flatMap((agent) => {
    const sorted = Float64Array.from(lengths.get(agent)!).sort()
    if (sorted.length === 0) return []
    const most = limit ?? maxPositions
    return [
      {
        role: style.roles[agent].role,
        histogram: histogramOf(sorted),
        p95: sorted[Math.min(sorted.length - 1, Math.ceil(0.95 * sorted.length) - 1)],
        limit: most,
        over: most === null ? 0 : sorted.filter((n) => n > most).length,
        rows: sorted.length,
      },
    ]
  })
}

/** null: every row. */
async function placesOf(sets: OpenSets, { handle, order }: LengthParams): Promise<ReadonlySet<number> | null> {
  const rows = sets.order(sets.get(handle), order)
  if (!rows) return null
  await rows.finished
  const places = new Set<number>()
  const page = 5000
  for (let at = 0; at < rows.state.found; at += page)
    for (const { place } of await rows.rows(at, page, { clip: 1 })) places.add(place)
  return places
}

/** Values in rising order, at least one. */
function histogramOf(sorted: Float64Array): TokenLengths['histogram'] {
  const [least, most] = [sorted[0], sorted.at(-1)!]
  const counts = new Array<number>(parts).fill(0)
  for (const n of sorted)
    counts[most === least ? 0 : Math.min(parts - 1, Math.floor(((n - least) / (most - least)) * parts))]++
  const middle = sorted.length >> 1
  return {
    of: 'tokens',
    least,
    most,
    mean: sorted.reduce((a, b) => a + b, 0) / sorted.length,
    median: sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2,
    counts,
  }
}
