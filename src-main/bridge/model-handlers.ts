/** The answers to the requests about models on disk. */
import path from 'node:path'
import type { Studio } from '../studio'
import type { Shell } from './handlers'
import type { Handlers } from './serve'

export type ModelShell = Pick<Shell, 'reveal' | 'chooseFolder'>

export function modelHandlers(studio: () => Studio, shell: ModelShell) {
  const desk = () => studio().models
  return {
    'models/list': async () => ({ models: await desk().library.list() }),
    'models/verify': ({ id, anew }) => desk().verify(id, anew),
    'models/cancelVerify': ({ id }) => {
      desk().cancelVerify(id)
      return {}
    },
    'models/repair': async ({ id }) => studio().downloads.repair(await desk().library.repairOf(id)),
    'models/delete': async ({ id }) => ({ bytes: await desk().remove(id) }),
    'models/reveal': async ({ id }) => {
      await shell.reveal((await desk().library.get(id)).folder)
      return {}
    },
    'models/importFolder': async () => {
      const folder = await shell.chooseFolder('Bring in a model folder')
      return { model: folder === null ? null : await desk().bringIn(folder, path.basename(folder)) }
    },
    'models/cancelImport': ({ name }) => {
      desk().cancelImport(name)
      return {}
    },
    'models/findCache': async ({ choose }) => {
      const folder = choose ? await shell.chooseFolder('Hugging Face cache') : undefined
      return desk().lookIntoCache(folder)
    },
    'models/importCached': ({ name, commit }) => desk().bringInCached(name, commit),
  } satisfies Partial<Handlers>
}
