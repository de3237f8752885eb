/** One row's prompt of a role as a run of that kind renders it: by the functions that runs themselves use. */
import type { PreviewPiece, PromptPreview } from '../bridge/contract'
import type { DataRow, RowReading } from '../engine/data/rows'
import type { RawRow } from '../engine/data/read-lines'
import { UserError } from '../engine/errors'
import { questionIn } from '../engine/evaluation/questions'
import { agentPrompt, agentStage, factsOf, promptVariant, slotSources } from '../engine/styles/row-prompts'
import { linksInto } from '../engine/styles/style'
import { type Prompt, renderStage, type Stage } from '../engine/text'
import { pairPositions } from '../engine/training/inner-pairs'
import { cutText, tokenise } from '../engine/training/inner-texts'
import { measureStages } from '../engine/training/reading-lengths'
import {
  outerSample,
  outerStage,
  questionOf,
  rolePrompt,
  type RoleText,
  roleTexts,
  trainingText,
} from '../engine/training/training-texts'
import { unusable } from '../engine/training/unrolled'
import type { OpenSets } from './open-sets'
import { agentOf, openPrompts, outerOptions, type PromptContext, type PromptParams, resultMark } from './prompt-context'
import { rawRow, type RunRows, runRowsOf } from './raw-rows'
import { noLimit } from './row-lengths'
import { fieldOf, type RunReader, runReader } from './run-rows'
import { type Border, endOfTokens, piecesOf } from './text-pieces'

export interface PreviewParams extends PromptParams {
  readonly handle: string
  /** From 0. */
  readonly place: number
  readonly role: string
  /** From 1. */
  readonly round: number
}

/** What is told of the prompt itself; whether the row is used at all is told beside it. */
type Rendered = Omit<PromptPreview, 'limit' | 'maxPositions'>

export async function preview(sets: OpenSets, params: PreviewParams): Promise<PromptPreview> {
  const set = sets.get(params.handle)
  const context = await openPrompts(params)
  const { style, limit, maxPositions } = context
  const agent = agentOf(style, params.role)
  const names = set.dataset.info.columns.map(({ name }) => name)
  const reader = runReader(style, params.use, agent, params.mapping, names)
  const from = await runRowsOf(set)
  const raw = await rawRow(set, from.kind === 'refused' ? { kind: 'table' } : from, params.place)
  refuseHuge(raw, reader)
  const reading = reader.read(raw)
  const job = { context, agent, row: reading.row, params }
  const rendered = await render(job)
  const leftOut = whyLeftOut(from, reader, reading) ?? rendered.leftOut
  const warnings = [...new Set(rendered.warnings)]
  if (maxPositions !== null && rendered.tokens > maxPositions)
    warnings.push(
      `It is longer than the ${maxPositions} positions that the model was made for; it is read all the same.`,
    )
  return { ...rendered, leftOut, warnings, limit, maxPositions }
}

/** Characters of a row's texts. */
const mostShown = 1_000_000

/** A page cannot show a text of tens of megabytes. */
function refuseHuge({ values }: RawRow, { columns }: RunReader): void {
  let length = 0
  for (const name of columns) {
    const value = values[name]
    length += typeof value === 'string' ? value.length : typeof value === 'object' ? JSON.stringify(value).length : 0
  }
  if (length > mostShown)
    throw new UserError({
      what: 'The prompt cannot be shown.',
      why: `The row's texts have ${length.toLocaleString('en-GB')} characters.`,
      next: 'Choose another row; the token lengths tell how many are too long.',
    })
}

interface Job {
  readonly context: PromptContext
  readonly agent: number
  readonly row: DataRow
  readonly params: PreviewParams
}

function render(job: Job): Promise<Rendered> {
  switch (job.params.use) {
    case 'inner':
      return innerPreview(job)
    case 'outer':
      return outerPreview(job)
    case 'evaluate':
      return evaluationPreview(job)
  }
}

function whyLeftOut(from: RunRows, { absent, missing }: RunReader, { faults }: RowReading): string | null {
  if (from.kind === 'refused') return `A run refuses the whole file: ${from.why}`
  const lacking = [...absent, ...missing]
  if (lacking.length > 0) return `The data has no column for ${lacking.join(', ')}: a run refuses it.`
  if (faults.length === 0) return null
  const [{ wish, cause }] = faults
  const words = { null: 'null or missing', blank: 'blank', structure: 'a list or an object, where a text is needed' }
  return `The row is left out: its ${fieldOf(wish)} is ${words[cause]}.`
}

/* ----------------------------------------------------------------------------------------------------- inner links */

async function innerPreview({ context, agent, row, params: { round, rounds } }: Job): Promise<Rendered> {
  const { settings, text, limit, enableThinking, task } = context
  const { style, mode } = settings
  const inRound = (r: number): RoleText | null => textInRound(context, agent, row, r)
  const wanted = inRound(round)
  const role: RoleText = wanted ?? {
    facts: factsOf(row.values, questionOf(row), task),
    round: round - 1,
    slotTexts: slotSources(style, agent, round - 1).map(() => ''),
    target: '',
  }
  const prompt = rolePrompt(settings, agent, role)
  const options = { mode, enableThinking }
  const learnt = { kind: 'answer', prompt, target: role.target, feedback: false, copies: false } as const
  const full = await tokenise(text, learnt, { ...options, maxLength: noLimit })
  const read = cutText(full, limit ?? noLimit)
  const total = full.ids.length
  const borders: Border[] = []
  let whole: string
  if (text.chat) {
    const stage = await renderStage(text, prompt, role.target, options)
    whole = stage.full!.texts[0]
    const guess = targetStart(stage, whole)
    const start = await endOfTokens(text.tokenizer, whole, full.ids, full.promptLength, guess)
    borders.push(...(await slotBorders(context, agent, role, whole.slice(0, start))), { at: start, supervised: true })
  } else {
    whole = await text.tokenizer.decode(full.ids)
    const start = await endOfTokens(text.tokenizer, whole, full.ids, full.promptLength, null)
    borders.push({ at: 0, supervised: false }, { at: start, supervised: true })
  }
  const cut = total - read.ids.length
  if (cut > 0) {
    const end = await endOfTokens(text.tokenizer, whole, full.ids, read.ids.length, null)
    if (end > borders.at(-1)!.at) borders.push({ at: end, supervised: false })
    else borders[borders.length - 1] = { ...borders.at(-1)!, supervised: false }
  }
  const same = (r: number) => {
    const other = inRound(r)
    return (
      other !== null &&
      JSON.stringify([rolePrompt(settings, agent, other), other.target]) === JSON.stringify([prompt, role.target])
    )
  }
  const warnings = [...full.warnings]
  if (!same(1)) warnings.push('Only a run with "prompts": "all" trains on this prompt; others train on the first one.')
  return {
    pieces: await piecesOf(text.tokenizer, whole, full.ids, borders),
    tokens: total,
    supervisedTokens: Math.max(0, read.latentEnd - read.promptLength),
    truncated: cut > 0 ? `Its last ${cut} of ${total} tokens are cut.` : null,
    leftOut:
      wanted === null
        ? 'The row is left out: it lacks a text of this prompt.'
        : pairPositions(read).length === 0
          ? 'The text is left out: nothing of its target is left within the limit.'
          : null,
    warnings,
    rounds: roundsWhere(rounds, (r) => r === round || same(r)),
  }
}

/** The role's text task of a round, from 1; null where the row has none. */
function textInRound({ style, task }: PromptContext, agent: number, row: DataRow, round: number): RoleText | null {
  if (round === 1) return roleTexts(style, agent, row, task, 'first')[0] ?? null
  const all = roleTexts(style, agent, row, task, 'all')
  const variant = promptVariant(style, agent, round - 1)
  return (
    all.find((t) => t.round === round - 1) ??
    all.findLast((t) => t.round < round && promptVariant(style, agent, t.round) === variant) ??
    null
  )
}

/** Where the texts stand that were put into slots, if the template leaves them as they are. `head`: the text up to the target. */
async function slotBorders(
  { settings, text }: PromptContext,
  agent: number,
  role: RoleText,
  head: string,
): Promise<Border[]> {
  const { style } = settings
  const open: Prompt = agentPrompt(settings, role.facts, agent, role.round)
  const { slots, prompt } = await renderStage(text, open, null, settings)
  const sources = slotSources(style, agent, role.round)
  const borders: Border[] = [{ at: 0, supervised: false }]
  let at = 0
  for (const [i, slotText] of role.slotTexts.entries()) {
    const before = prompt.texts[i]
    if (!head.startsWith(before + slotText, at)) return [{ at: 0, supervised: false }]
    at += before.length
    borders.push({ at, supervised: false, slot: { name: slots[i], from: style.roles[sources[i]].role } })
    at += slotText.length
    borders.push({ at, supervised: false })
  }
  return borders
}

/* ----------------------------------------------------------------------------------------------------- outer links */

async function outerPreview({ context, agent, row, params }: Job): Promise<Rendered> {
  const { settings, style, text, task, limit } = context
  const { round, rounds, latentSteps } = params
  const asked = Math.max(rounds, round)
  const options = outerOptions(asked, latentSteps)
  const { stage, target } = await outerStage(settings, row, task, agent, round - 1)
  const own = trainingText(stage)
  const warnings = [...stage.warnings]
  const sample = await outerSample(settings, row, 0, { task, maxRounds: asked, warn: () => undefined })
  const empty = unusable(style, sample, options) !== null
  const stages = measureStages(style, sample, options)
  const here = stages.find((s) => s.agent === agent && s.round === round - 1)
  if (!here) warnings.push('Nobody reads what the role thinks in this round: a run leaves the stage out.')
  const supervised = here?.supervised === true && target !== ''
  if (here && !here.supervised)
    warnings.push('The text of this stage is read, not supervised: its states cross the link.')
  const slots = linksInto(style, agent, round - 1).map((link, i) => ({
    name: stage.slots[i],
    from: style.roles[link.source].role,
    length: here?.slots[i] ?? 0,
  }))
  const full = stage.full!
  const last = full.texts.length - 1
  const before = full.ids.slice(0, last).reduce((n, p) => n + p.length, 0)
  const start = await endOfTokens(
    text.tokenizer,
    full.texts[last],
    full.ids[last],
    Math.max(0, stage.beforeTarget - before),
    targetStart(stage, full.texts[last]),
  )
  const pieces: PreviewPiece[] = []
  for (let i = 0; i <= last; i++) {
    if (i > 0) pieces.push({ kind: 'slot', ...slots[i - 1], text: null })
    const borders: Border[] =
      i < last
        ? [{ at: 0, supervised: false }]
        : [
            { at: 0, supervised: false },
            { at: start, supervised },
          ]
    pieces.push(...(await piecesOf(text.tokenizer, full.texts[i], full.ids[i], borders)))
  }
  const over = stages.find((s) => limit !== null && s.length > limit)
  const names = (s: typeof over & object) => `the ${style.roles[s.agent].role} of round ${s.round + 1}`
  const tooLong = over && `The row is left out: ${names(over)} reads ${over.length} positions, the limit is ${limit}.`
  const rendered = async (r: number) => {
    const other = await outerStage(settings, row, task, agent, r - 1)
    return JSON.stringify([other.stage.slots, other.stage.full!.texts])
  }
  const same = JSON.stringify([stage.slots, full.texts])
  return {
    pieces,
    tokens: full.ids.reduce((n, p) => n + p.length, 0) + slots.reduce((n, s) => n + s.length, 0),
    supervisedTokens: supervised ? own.target.length : 0,
    truncated: tooLong ?? null,
    leftOut: empty
      ? 'The row is left out: a text of one of its roles is blank in one of the rounds.'
      : (tooLong ?? null),
    warnings,
    rounds: await roundsWhereLater(rounds, async (r) => r === round || (await rendered(r)) === same),
  }
}

/* ------------------------------------------------------------------------------------------------------ evaluation */

async function evaluationPreview({ context, agent, row, params }: Job): Promise<Rendered> {
  const { settings, style, task, limit } = context
  const { round, rounds, latentSteps } = params
  const { facts } = questionIn(row, { task, resultMark })
  const stage = await agentStage(settings, facts, agent, round - 1)
  const sources = slotSources(style, agent, round - 1)
  const { texts, ids } = stage.prompt
  const pieces = texts.flatMap((text, i): PreviewPiece[] => [
    ...(i === 0
      ? []
      : [
          {
            kind: 'slot' as const,
            name: stage.slots[i - 1],
            from: style.roles[sources[i - 1]].role,
            length: latentSteps,
            text: null,
          },
        ]),
    ...(text === '' ? [] : [{ kind: 'text' as const, text, supervised: false, tokens: ids[i].length }]),
  ])
  const tokens = ids.reduce((n, p) => n + p.length, 0) + sources.length * latentSteps
  const same = JSON.stringify([stage.slots, texts])
  const warnings = [...stage.warnings]
  if (limit !== null && tokens > limit) warnings.push(`It is longer than ${limit} positions; it is asked all the same.`)
  return {
    pieces,
    tokens,
    supervisedTokens: 0,
    truncated: null,
    leftOut: null,
    warnings,
    rounds: await roundsWhereLater(rounds, async (r) => {
      if (r === round) return true
      const other = await agentStage(settings, facts, agent, r - 1)
      return JSON.stringify([other.slots, other.prompt.texts]) === same
    }),
  }
}

/** Where the target is likely to start in the last piece of a finished conversation: where the prompt for it ends. */
function targetStart({ prompt }: Stage, finished: string): number | null {
  const asked = prompt.texts.at(-1)!
  return finished.startsWith(asked) ? asked.length : null
}

function roundsWhere(rounds: number, holds: (round: number) => boolean): number[] {
  return Array.from({ length: rounds }, (_, i) => i + 1).filter(holds)
}

async function roundsWhereLater(rounds: number, holds: (round: number) => Promise<boolean>): Promise<number[]> {
  const found: number[] = []
  for (let r = 1; r <= rounds; r++) if (await holds(r)) found.push(r)
  return found
}
