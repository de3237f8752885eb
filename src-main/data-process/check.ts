/** What a run would make of the rows of an open set: counts of everything that is wrong with them, each with the rows. */
import { createHash } from 'node:crypto'
import type { MappingProblem, MappingProblemKind, MappingReport } from '../bridge/contract'
import type { RawRow } from '../engine/data/read-lines'
import type { DataRow } from '../engine/data/rows'
import { styleByName } from '../engine/styles/registry'
import { targetText } from '../engine/styles/row-prompts'
import type { StyleDefinition } from '../engine/styles/style'
import { questionOf, roundTexts } from '../engine/training/training-texts'
import type { OpenSet, OpenSets } from './open-sets'
import { agentOf, openPrompts, type PromptContext, type PromptParams } from './prompt-context'
import { rawRows, rowsTogether, runRowsOf } from './raw-rows'
import { type AgentLength, rowLengths } from './row-lengths'
import { fieldOf, runReader } from './run-rows'
import type { Call } from './service'

export interface CheckParams extends Omit<PromptParams, 'model'> {
  readonly handle: string
  /** null: nothing is tokenised. */
  readonly model: string | null
  /** Of inner training the one whose link is trained, of the others whose lengths are counted; null: all. */
  readonly role: string | null
}

export async function check(sets: OpenSets, params: CheckParams, call: Call): Promise<MappingReport> {
  const set = sets.get(params.handle)
  const { rows, columns } = set.dataset.info
  const { use, role, mapping, model } = params
  const style = styleByName(params.style)
  const agent = role === null ? null : agentOf(style, role)
  const reader = runReader(
    style,
    use,
    agent,
    mapping,
    columns.map(({ name }) => name),
  )
  const report = (usable: number, problems: MappingProblem[]): MappingReport => ({
    rows,
    usable,
    columns: Object.fromEntries(reader.found),
    problems,
  })
  const whole = (kind: MappingProblemKind, field: string | null, message: string): MappingProblem => ({
    ...{ kind, field, rows, message },
    order: null,
  })
  const from = await runRowsOf(set)
  if (from.kind === 'refused')
    return report(0, [
      whole('unreadable', null, `A run refuses this file: ${from.why} Save the rows as a new set to use them.`),
    ])
  const lacking = [
    ...reader.absent.map((column) => whole('missing', fieldFor(mapping, column), `There is no column "${column}".`)),
    ...reader.missing.map((field) => whole('missing', field, `The data has no column for ${field}: a run refuses it.`)),
  ]
  if (lacking.length > 0) return report(0, lacking)

  const context = model === null ? null : await openPrompts({ ...params, model })
  const found = new Found()
  const asked = new Set<string>()
  let usable = 0
  let done = 0
  const look = (raw: RawRow): { row: DataRow; place: number; lost: boolean } => {
    const { row, faults } = reader.read(raw)
    const place = raw.number - 1
    for (const { wish, cause } of faults) found.add(cause, fieldOf(wish), place)
    if (faults.length > 0) return { row, place, lost: true }
    if (use === 'outer' && lacksLaterText(style, row, params.rounds)) {
      found.add('blank', 'rounds', place)
      return { row, place, lost: true }
    }
    const key = digest(questionOf(row))
    if (asked.has(key)) found.add('duplicate', 'question', place)
    asked.add(key)
    return { row, place, lost: false }
  }
  for await (const part of rawRows(set, from, reader.columns)) {
    for (let at = 0; at < part.length; at += rowsTogether) {
      call.signal.throwIfAborted()
      const together = part.slice(at, at + rowsTogether).map(look)
      const lengths = await Promise.all(
        together.map(({ row, lost }) => (lost || !context ? null : lengthsOf(context, params, agent, row))),
      )
      together.forEach(({ place, lost }, i) => {
        const own = lengths[i]
        if (!(own && context ? tooLong(context, params, own, place, found) : lost)) usable++
      })
      done += together.length
      call.progress(done / rows, done, 'rows')
    }
  }
  return report(usable, await found.problems(sets, set, params, context))
}

function lengthsOf(
  context: PromptContext,
  params: CheckParams,
  agent: number | null,
  row: DataRow,
): Promise<AgentLength[]> {
  // samples of outer training go, or stay, as a whole
  const agents = agent === null || params.use === 'outer' ? context.style.roles.map((_, i) => i) : [agent]
  return rowLengths(context, params.use, row, agents, params)
}

/** Whether the run leaves the row out. */
function tooLong(
  { style, limit, maxPositions }: PromptContext,
  { use }: CheckParams,
  lengths: readonly AgentLength[],
  place: number,
  found: Found,
): boolean {
  const most = limit ?? maxPositions
  for (const one of lengths) {
    const field = style.roles[one.agent].targets[0]
    if (most !== null && one.positions > most) found.add('over-long', field, place)
    if (use === 'inner' && one.lost) found.add('over-long', null, place)
  }
  if (use === 'outer') return lengths.some(({ lost }) => lost)
  return lengths.length > 0 && lengths.every(({ lost }) => lost)
}

function lacksLaterText(style: StyleDefinition, row: DataRow, rounds: number): boolean {
  return roundTexts(row.values)
    .slice(0, rounds)
    .some((texts) => style.roles.some((role) => targetText(role, texts) === ''))
}

type Cause = MappingProblemKind

class Found {
  private readonly places = new Map<string, { kind: Cause; field: string | null; places: number[] }>()

  add(kind: Cause, field: string | null, place: number): void {
    const key = `${kind} ${field ?? ''}`
    let known = this.places.get(key)
    if (!known) this.places.set(key, (known = { kind, field, places: [] }))
    if (known.places.at(-1) !== place) known.places.push(place)
  }

  async problems(
    sets: OpenSets,
    set: OpenSet,
    params: CheckParams,
    context: PromptContext | null,
  ): Promise<MappingProblem[]> {
    const made: MappingProblem[] = []
    for (const { kind, field, places } of this.places.values())
      made.push({
        kind,
        field,
        rows: places.length,
        message: messageOf(kind, field, places.length, params, context),
        order: await sets.addPlaces(set, places),
      })
    return made.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
  }
}

const order: readonly Cause[] = ['unreadable', 'missing', 'null', 'blank', 'structure', 'over-long', 'duplicate']

function messageOf(
  kind: Cause,
  field: string | null,
  count: number,
  { use }: Pick<CheckParams, 'use'>,
  context: PromptContext | null,
): string {
  const rows = count === 1 ? '1 row' : `${count} rows`
  const has = count === 1 ? 'has' : 'have'
  const they = count === 1 ? 'it is' : 'they are'
  switch (kind) {
    case 'null':
      return `${rows} ${has} no ${field} (null or missing): ${they} left out.`
    case 'blank':
      return field === 'rounds'
        ? `${rows} ${has} a blank text in one of the rounds: ${they} left out.`
        : `${rows} ${has} a blank ${field}: ${they} left out.`
    case 'structure':
      return `${rows} ${has} a list or an object as ${field}, where a text is needed: ${they} left out.`
    case 'duplicate':
      return `${rows} ${count === 1 ? 'asks' : 'ask'} what an earlier row asks: ${they} used all the same.`
    case 'over-long': {
      if (field === null)
        return `${rows} ${has} a text of whose target nothing is left within the limit: it is left out.`
      const { limit, maxPositions } = context!
      if (use === 'outer')
        return `${rows} ${count === 1 ? 'is' : 'are'} longer than ${limit} positions: ${they} left out.`
      return use === 'inner'
        ? `${rows} ${has} a text longer than ${limit} tokens: it loses its end.`
        : `${rows} ${has} a prompt of more than ${limit ?? maxPositions} positions, ${limit === null ? 'which the model was made for' : 'the limit'}: ${they} asked all the same.`
    }
    case 'missing':
    case 'unreadable':
      throw new Error(`told of the whole file: ${kind}`)
  }
}

function fieldFor(mapping: Readonly<Record<string, string>>, column: string): string | null {
  return Object.keys(mapping).find((field) => mapping[field] === column) ?? null
}

function digest(question: string): string {
  return createHash('md5').update(question).digest('base64')
}
