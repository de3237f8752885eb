/** The answers to the requests about keys, the hub and downloads. */
import type { Studio } from '../studio'
import type { Shell } from './handlers'
import type { Handlers } from './serve'

export function hubHandlers(studio: () => Studio, shell: Pick<Shell, 'openPage'>) {
  const hub = () => studio().hub
  const downloads = () => studio().downloads
  return {
    'keys/list': async () => ({ keys: await hub().keys() }),
    'keys/set': ({ name, value }) => hub().setKey(name, value),
    'keys/remove': ({ name }) => hub().removeKey(name),

    'hub/search': async ({ kind, query, limit }) => ({ found: await hub().search(kind, query, limit) }),
    'hub/repository': ({ kind, name, revision }) => hub().repository(kind, name, revision),
    'hub/revisions': async ({ kind, name }) => ({ revisions: await hub().revisions(kind, name) }),
    'hub/openPage': async ({ kind, name }) => {
      await shell.openPage(await hub().page(kind, name))
      return {}
    },

    'downloads/list': () => ({ downloads: downloads().list() }),
    'downloads/add': (wanted) => downloads().add(wanted),
    'downloads/pause': ({ id }) => downloads().pause(id),
    'downloads/resume': ({ id }) => downloads().resume(id),
    'downloads/remove': async ({ id }) => ({ bytes: await downloads().remove(id) }),
  } satisfies Partial<Handlers>
}
