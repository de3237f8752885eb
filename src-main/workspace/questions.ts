/**
 * The questions of an evaluation out of samples.jsonl. One pass makes a small index (verdicts, first words, where each line lies);
 * a question's prompts and latents are then read alone, however large the file is.
 */
import { open, stat } from 'node:fs/promises'
import path from 'node:path'
import type { QuestionFilter, QuestionSummary, QuestionView } from '../bridge/contract'
import { UserError } from '../engine/errors'
import { sampleRecord, type SampleRecord } from '../engine/evaluation/sample-record'
import { parseLine, wholeLines } from './json-lines'

interface Entry {
  readonly summary: QuestionSummary
  /** What a search looks through, in lower case. */
  readonly text: string
  readonly offset: number
  readonly length: number
}

interface Index {
  readonly size: number
  readonly modified: number
  readonly entries: readonly Entry[]
}

const shownQuestion = 300
const searchedQuestion = 4000
/** Indexes of the results that were looked at last. */
const kept = 8
const indexes = new Map<string, Promise<Index>>()

export async function listQuestions(
  folder: string,
  query: { filter: QuestionFilter; search: string; offset: number; limit: number },
): Promise<{ total: number; rows: QuestionSummary[] }> {
  const words = query.search.toLowerCase().split(/\s+/).filter(Boolean)
  const { entries } = await indexOf(samplesFile(folder))
  const rows = entries.filter(
    ({ summary, text }) => passes(summary, query.filter) && words.every((word) => text.includes(word)),
  )
  return {
    total: rows.length,
    rows: rows.slice(query.offset, query.offset + query.limit).map((entry) => entry.summary),
  }
}

/** Right or wrong by question and rollout. */
export async function verdicts(folder: string): Promise<Map<string, boolean>> {
  const { entries } = await indexOf(samplesFile(folder))
  return new Map(entries.map(({ summary: { index, rollout, correct } }) => [`${index}/${rollout}`, correct]))
}

/** Throws UserError where the result has no such question. */
export async function readQuestion(folder: string, index: number, rollout: number): Promise<QuestionView> {
  const file = samplesFile(folder)
  const { entries } = await indexOf(file)
  const entry = entries.find(({ summary }) => summary.index === index && summary.rollout === rollout)
  const record = entry && parseLine(await readPart(file, entry.offset, entry.length), parseSample)
  if (!record)
    throw new UserError({
      what: 'This question is not there.',
      why: `${file} holds no question ${index + 1}${rollout > 0 ? `, rollout ${rollout + 1}` : ''}.`,
      next: 'Choose a question from the list.',
    })
  return record
}

function passes(summary: QuestionSummary, filter: QuestionFilter): boolean {
  switch (filter) {
    case 'all':
      return true
    case 'right':
      return summary.correct
    case 'wrong':
      return !summary.correct
    case 'graders-differ':
      return summary.strict !== null && summary.strict !== summary.correct
  }
}

async function indexOf(file: string): Promise<Index> {
  const { size, mtimeMs: modified } = await stat(file).catch(() => ({ size: 0, mtimeMs: 0 }))
  const known = await indexes.get(file)?.catch(() => undefined)
  if (known && known.size === size && known.modified === modified) return known
  const making = makeIndex(file, size, modified)
  indexes.delete(file)
  indexes.set(file, making)
  for (const old of [...indexes.keys()].slice(0, Math.max(0, indexes.size - kept))) indexes.delete(old)
  return making
}

async function makeIndex(file: string, size: number, modified: number): Promise<Index> {
  const entries = new Map<string, Entry>()
  for await (const { text, offset, length } of wholeLines(file)) {
    const record = parseLine(text, parseSample)
    // A question that was answered again after a resume counts as it came out the last time.
    if (record) entries.set(`${record.index}/${record.rollout}`, { ...entryOf(record), offset, length })
  }
  const sorted = [...entries.values()].sort(
    ({ summary: a }, { summary: b }) => a.index - b.index || a.rollout - b.rollout,
  )
  return { size, modified, entries: sorted }
}

function entryOf(record: SampleRecord): Pick<Entry, 'summary' | 'text'> {
  const { index, rollout, question, gold, correct, strict, tokens } = record
  const prediction = record.grades.find((grade) => grade.prediction !== null)?.prediction ?? ''
  return {
    summary: {
      index,
      rollout,
      question: question.slice(0, shownQuestion),
      gold,
      prediction,
      correct,
      strict,
      tokens,
    },
    text: [question.slice(0, searchedQuestion), gold, prediction].join('\n').toLowerCase(),
  }
}

function parseSample(value: unknown): SampleRecord | undefined {
  const checked = sampleRecord.safeParse(value)
  return checked.success ? checked.data : undefined
}

async function readPart(file: string, offset: number, length: number): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const buffer = Buffer.alloc(length)
    const { bytesRead } = await handle.read(buffer, 0, length, offset)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

function samplesFile(folder: string): string {
  return path.join(folder, 'samples.jsonl')
}
