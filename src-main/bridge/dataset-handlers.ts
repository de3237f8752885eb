/** The answers to the requests about styles and data sets. */
import type { Studio } from '../studio'
import { styleViews } from '../workspace/style-views'
import type { Shell } from './handlers'
import type { Handlers } from './serve'

export type DatasetShell = Pick<Shell, 'reveal' | 'chooseFile' | 'chooseNewFile'>

const done = () => ({})

export function datasetHandlers(studio: () => Studio, shell: DatasetShell) {
  const desk = () => studio().datasets
  return {
    'styles/list': () => ({ styles: styleViews() }),

    'datasets/list': async () => ({ datasets: await desk().library.list() }),
    'datasets/addFile': async () => {
      const file = await shell.chooseFile('Add a data file', dataFiles)
      if (file === null) return { dataset: null }
      return { dataset: await studio().addDataset(file) }
    },
    'datasets/delete': async ({ id }) => ({ bytes: await studio().deleteDataset(id) }),
    'datasets/reveal': async ({ id }) => {
      await shell.reveal(await desk().library.folder(id))
      return {}
    },

    'datasets/open': (params) => desk().open(params),
    'datasets/close': ({ handle }) => desk().close(handle).then(done),
    'datasets/cancel': ({ ticket }) => {
      desk().cancel(ticket)
      return {}
    },
    'datasets/order': (params) => desk().order(params),
    'datasets/closeOrder': (params) => desk().closeOrder(params).then(done),
    'datasets/rows': async (params) => ({ rows: await desk().rows(params) }),
    'datasets/row': (params) => desk().row(params),
    'datasets/statistics': (params) => desk().statistics(params),

    'datasets/check': (params) => desk().check(params),
    'datasets/preview': (params) => desk().preview(params),
    'datasets/tokenLengths': async (params) => ({ roles: await desk().tokenLengths(params) }),

    'datasets/save': (params) => studio().makeDataset((desk) => desk.save(params)),
    'datasets/split': (params) => studio().makeDataset((desk) => desk.split(params)),
    'datasets/export': async (params) => {
      const file = await shell.chooseNewFile('Export rows', `${params.name}.jsonl`, exported)
      if (file === null) return { file: null, rows: 0 }
      return { file, rows: await desk().export(params, file) }
    },
  } satisfies Partial<Handlers>
}

const exported = { name: 'JSON lines', extensions: ['jsonl'] }

/** What a native dialog offers first. */
const dataFiles = { name: 'Data', extensions: ['jsonl', 'json', 'csv', 'parquet', 'ndjson', 'tsv'] }
