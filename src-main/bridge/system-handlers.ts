/** The answers to the requests about making systems. */
import type { Studio } from '../studio'
import type { Handlers } from './serve'

export function systemHandlers(studio: () => Studio) {
  return {
    'systems/check': ({ draft }) => studio().systems.check(draft),
    'systems/create': ({ draft }) => studio().createSystem(draft),
    'systems/draft': async ({ project }) => ({ draft: (await studio().projects.get(project)).draft ?? null }),
    'projects/delete': async ({ project }) => ({ bytes: await studio().deleteProject(project) }),
  } satisfies Partial<Handlers>
}
