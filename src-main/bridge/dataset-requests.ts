/** The requests and events of contract.ts about data sets. */
import { z } from 'zod'
import * as d from './dataset-views'
import { modelId } from './model-views'
import { projectName } from './views'

const none = z.strictObject({})
const done = z.strictObject({})
const ofEntry = { id: d.datasetId }
const ofHandle = { handle: d.datasetHandle }
const index = z.number().int().min(0)
/** null: every row, in the file's order. */
const rowsOf = { ...ofHandle, order: d.orderHandle.nullable().default(null) }
const fileName = z.string().max(1000)

/** Whose prompt: of a style's role, by a model's tokenizer, in the words of the built-in pack or of a project's. */
const prompt = {
  style: z.string().min(1).max(100),
  mapping: d.fieldMapping.default({}),
  use: d.use,
  model: modelId,
  pack: projectName.nullable().default(null),
  task: z.enum(['math', 'code', 'choice']).default('math'),
  enableThinking: z.boolean().default(false),
  latentSteps: z.number().int().min(0).max(4096).default(32),
  rounds: z.number().int().min(1).max(64).default(3),
  /** Most positions; null: the default of such a run. */
  maxLength: z.number().int().min(1).max(1_000_000).nullable().default(null),
}

/** A new set's name, which becomes a folder of the library. */
const newName = z.string().trim().min(1).max(80)

export const datasetRequests = {
  /** The styles that the engine knows, with the fields that their roles read. */
  'styles/list': { params: none, result: z.strictObject({ styles: z.array(d.styleView) }) },

  'datasets/list': { params: none, result: z.strictObject({ datasets: z.array(d.datasetEntry) }) },
  /** Lists a file that the person chooses (native dialog); it is read where it lies. null when cancelled. */
  'datasets/addFile': { params: none, result: z.strictObject({ dataset: d.datasetEntry.nullable() }) },
  /** Deletes what the library holds of it (a listed file itself stays). Refused while a project uses it. Result: bytes freed. */
  'datasets/delete': { params: z.strictObject(ofEntry), result: z.strictObject({ bytes: z.number() }) },
  'datasets/reveal': { params: z.strictObject(ofEntry), result: done },

  /** Reads a file of a set; progress comes with datasets/progress. */
  'datasets/open': {
    params: z.strictObject({
      ...ofEntry,
      /** One of its files; null: the only one, or the first. */
      file: fileName.nullable().default(null),
      field: z.string().max(500).nullable().default(null),
      encoding: d.encoding.nullable().default(null),
      ticket: d.ticket,
    }),
    result: d.openedDataset,
  },
  'datasets/close': { params: z.strictObject(ofHandle), result: done },
  /** Ends what a ticket was made for; its request is then answered with an error that says so. */
  'datasets/cancel': { params: z.strictObject({ ticket: d.ticket }), result: done },

  /** Filters, searches, sorts. Answered as soon as rows can be asked for; how it goes on comes with datasets/order. */
  'datasets/order': { params: z.strictObject({ ...ofHandle, by: d.orderRequest }), result: d.orderState },
  'datasets/closeOrder': { params: z.strictObject({ ...ofHandle, order: d.orderHandle }), result: done },
  'datasets/rows': {
    params: z.strictObject({
      ...rowsOf,
      from: index,
      count: z.number().int().min(1).max(500),
      /** Most characters of a cell. */
      clip: z.number().int().min(1).max(10_000).default(300),
    }),
    result: z.strictObject({ rows: z.array(d.rowView) }),
  },
  /** One row, its cells whole up to a million characters. */
  'datasets/row': { params: z.strictObject({ ...ofHandle, place: index }), result: d.rowView },
  'datasets/statistics': { params: z.strictObject({ ...rowsOf, column: index }), result: d.columnStatistics },

  /** What a run of this kind would make of the rows. Lengths are counted where a model is given. */
  'datasets/check': {
    params: z.strictObject({
      ...ofHandle,
      ...prompt,
      model: modelId.nullable().default(null),
      role: z.string().nullable().default(null),
      ticket: d.ticket,
    }),
    result: d.mappingReport,
  },
  /** One row's prompt of a role, exactly as a run would render it. `round` counts from 1. */
  'datasets/preview': {
    params: z.strictObject({
      ...ofHandle,
      ...prompt,
      place: index,
      role: z.string().min(1).max(100),
      round: z.number().int().min(1).max(64).default(1),
    }),
    result: d.promptPreview,
  },
  /** Of every row that would be used, for each role of the style (or the one named). */
  'datasets/tokenLengths': {
    params: z.strictObject({ ...rowsOf, ...prompt, role: z.string().nullable().default(null), ticket: d.ticket }),
    result: z.strictObject({ roles: z.array(d.tokenLengths) }),
  },

  /** Saves rows as a new set of the library (jsonl), columns named after the fields that are mapped from them. */
  'datasets/save': {
    params: z.strictObject({ ...rowsOf, mapping: d.fieldMapping.default({}), name: newName, ticket: d.ticket }),
    result: d.datasetEntry,
  },
  /** The same rows of the same seed everywhere: a set with `train.jsonl` and `held-out.jsonl`. */
  'datasets/split': {
    params: z.strictObject({
      ...ofHandle,
      mapping: d.fieldMapping.default({}),
      name: newName,
      seed: z.number().int().min(0).max(0xffffffff),
      heldOut: z.number().int().min(1),
      ticket: d.ticket,
    }),
    result: d.datasetEntry,
  },
  /** Writes rows as jsonl to where the person says (native dialog); null when cancelled. */
  'datasets/export': {
    params: z.strictObject({ ...rowsOf, name: newName, ticket: d.ticket }),
    result: z.strictObject({ file: z.string().nullable(), rows: index }),
  },
} as const satisfies Record<string, { params: z.ZodType; result: z.ZodType }>

export const datasetEvents = {
  /** A set was added, deleted or became usable: ask datasets/list again. */
  'datasets/changed': none,
  /** 0 to 1; null where only `done` is known. */
  'datasets/progress': z.strictObject({
    ticket: d.ticket,
    share: z.number().nullable(),
    done: z.number(),
    unit: z.string(),
  }),
  'datasets/order': d.orderState,
  /** The process that reads data ended (it ran out of memory, for instance): every handle is void, open again. */
  'datasets/lost': z.strictObject({ error: d.orderState.shape.error }),
} as const satisfies Record<string, z.ZodType>
