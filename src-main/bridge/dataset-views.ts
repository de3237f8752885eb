/** What crosses the bridge about data sets. Units and nulls as in views.ts; places of rows count from 0 in the file's order. */
import { z } from 'zod'
import { entryId, source, usedBy } from './model-views'
import { studioError } from './views'

const time = z.number()
const count = z.number().int().min(0)

/* ----------------------------------------------------------------------------------------------------------- library */

/** `library/<folder>`, or `<project>/<file>` for data that belongs to one project (the demo's). */
export const datasetId = entryId

export const dataFormat = z.enum(['json', 'jsonl', 'csv', 'parquet'])
export const encoding = z.enum(['utf-8', 'utf-16le', 'utf-16be', 'latin1'])

/** A file of a data set: path below the set's folder with forward slashes. */
export const datasetFile = z.strictObject({ path: z.string(), bytes: z.number() })

export const datasetEntry = z.strictObject({
  id: datasetId,
  name: z.string(),
  source,
  licence: z.string().nullable(),
  files: z.array(datasetFile),
  bytes: z.number(),
  added: time.nullable(),
  state: z.enum(['ready', 'incomplete', 'unusable']),
  problem: studioError.nullable(),
  usedBy: z.array(usedBy),
})

/* ------------------------------------------------------------------------------------------------------ one open set */

/** Names an open file; made by datasets/open, void after datasets/close and when main starts anew. */
export const datasetHandle = z.string().regex(/^d[0-9]{1,9}$/)
/** Names a computed order of rows of an open set. */
export const orderHandle = z.string().regex(/^o[0-9]{1,9}$/)
/** Made by the page for something that takes time: progress events carry it, datasets/cancel takes it. */
export const ticket = z.string().regex(/^[\w-]{1,40}$/)

export const columnView = z.strictObject({
  name: z.string(),
  type: z.enum(['text', 'integer', 'number', 'boolean', 'list', 'object', 'time', 'binary', 'null']),
  /** Rows in which it is null or missing; in which it holds white space only. */
  nulls: count,
  blank: count,
})

export const openedDataset = z.strictObject({
  handle: datasetHandle,
  id: datasetId,
  file: z.string(),
  format: dataFormat,
  rows: count,
  columns: z.array(columnView),
  /** What is wrong with the file although it could be read; `row` and `line` count from 1. */
  problems: z.array(
    z.strictObject({ kind: z.string(), row: z.number().nullable(), line: z.number().nullable(), message: z.string() }),
  ),
  /** Rows that could not be read. */
  leftOut: count,
})

/** Cells in the columns' order, cut at the length asked for; `cut` lists the columns where something is missing. */
export const rowView = z.strictObject({
  place: count,
  cells: z.array(z.string().nullable()),
  cut: z.array(count),
})

export const condition = z.discriminatedUnion('kind', [
  z.strictObject({
    column: count,
    kind: z.enum(['is', 'is-not', 'contains', 'contains-not', 'less', 'more']),
    value: z.string().max(10_000),
  }),
  z.strictObject({ column: count, kind: z.enum(['null', 'not-null', 'blank']) }),
])

export const orderRequest = z.strictObject({
  filter: z.array(condition).max(20).default([]),
  search: z
    .strictObject({ text: z.string().min(1).max(1000), matchCase: z.boolean().default(false) })
    .nullable()
    .default(null),
  sort: z
    .array(z.strictObject({ column: count, descending: z.boolean().default(false) }))
    .max(8)
    .default([]),
})

/** `found` grows while the order is computed; rows up to it can be asked for. */
export const orderState = z.strictObject({
  handle: datasetHandle,
  order: orderHandle,
  done: count,
  of: count,
  found: count,
  finished: z.boolean(),
  error: studioError.nullable(),
})

export const histogram = z.strictObject({
  /** Characters of text, values of numbers, tokens. */
  of: z.enum(['length', 'value', 'tokens']),
  least: z.number(),
  most: z.number(),
  mean: z.number(),
  median: z.number(),
  /** Equal parts from least to most. */
  counts: z.array(count),
})

export const columnStatistics = z.strictObject({
  rows: count,
  nulls: count,
  distinct: count,
  histogram: histogram.nullable(),
  frequent: z.array(z.strictObject({ text: z.string(), count })),
})

/* --------------------------------------------------------------------------------------------------- styles and roles */

/**
 * A field that roles read or are trained to write. `columns`: the names that are found by themselves, the first that is not blank in a
 * row counts. `question` and `answer` are fields too.
 */
export const fieldView = z.strictObject({
  field: z.string(),
  title: z.string(),
  columns: z.array(z.string()),
  /** What it is needed for. */
  needed: z.strictObject({ inner: z.boolean(), outer: z.boolean(), evaluate: z.boolean() }),
})

export const styleView = z.strictObject({
  name: z.string(),
  title: z.string(),
  agents: z.array(
    z.strictObject({
      role: z.string(),
      /** The field of its own text. */
      field: z.string(),
      writes: z.boolean(),
    }),
  ),
  links: z.array(z.strictObject({ key: z.string(), from: z.string(), to: z.string(), feedback: z.boolean() })),
  fields: z.array(fieldView),
})

/** Field -> column of the data. Fields that are left out are looked for under their own names. */
export const fieldMapping = z.record(z.string().max(100), z.string().max(500))

export const use = z.enum(['inner', 'outer', 'evaluate'])

/* ---------------------------------------------------------------------------------------------------- mapping checked */

export const mappingProblemKind = z.enum([
  'missing',
  'null',
  'blank',
  /** A list or an object where a text is needed. */
  'structure',
  'duplicate',
  'over-long',
  /** A run refuses the file. */
  'unreadable',
])

export const mappingProblem = z.strictObject({
  kind: mappingProblemKind,
  /** null: of the row as a whole. */
  field: z.string().nullable(),
  rows: count,
  /** In words, with what happens to such rows. */
  message: z.string(),
  /** The rows, to be looked at and saved like any other order; null where there are none. */
  order: orderHandle.nullable(),
})

export const mappingReport = z.strictObject({
  rows: count,
  /** Rows that such a run would use. */
  usable: count,
  /** Which column each field is read from, as things stand; null = none. */
  columns: z.record(z.string(), z.string().nullable()),
  problems: z.array(mappingProblem),
})

/* -------------------------------------------------------------------------------------------------- prompts and tokens */

/** A piece of a rendered prompt, in order. Template tokens are text too. */
export const previewPiece = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text: z.string(), supervised: z.boolean(), tokens: count }),
  z.strictObject({
    kind: z.literal('slot'),
    name: z.string(),
    from: z.string().nullable(),
    /** Positions that will stand there. */
    length: count,
    /** What stands there where text is passed (inner training). */
    text: z.string().nullable(),
  }),
])

export const promptPreview = z.strictObject({
  pieces: z.array(previewPiece),
  /** Positions, slots as long as they will be. */
  tokens: count,
  supervisedTokens: count,
  /** Most positions; null = no limit but the model's. */
  limit: count.nullable(),
  maxPositions: count.nullable(),
  /** What is done where it is too long, in words: cut (how many tokens, which end), or left out. null where it fits. */
  truncated: z.string().nullable(),
  /** Why this row is not used, where it is not. */
  leftOut: z.string().nullable(),
  warnings: z.array(z.string()),
  /** Rounds from 1 in which this very prompt is asked. */
  rounds: z.array(z.number()),
})

export const tokenLengths = z.strictObject({
  role: z.string(),
  /** Of the whole prompt, target included. */
  histogram,
  p95: z.number(),
  limit: count.nullable(),
  /** Rows above it. */
  over: count,
  rows: count,
})
