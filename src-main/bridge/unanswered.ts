/** Requests of the contract that main does not answer yet. Each line goes with the commit that answers it; then this file goes. */
import { UserError } from '../engine/errors'
import type { Handlers } from './serve'

function refuse(): never {
  throw new UserError({
    what: 'This cannot be done yet.',
    why: 'This build of the app has no part that answers it.',
    next: 'Use the command line (npm run data, npm run hub) until then.',
  })
}

const names = [
  'systems/check',
  'systems/create',
  'systems/draft',
  'projects/delete',
] as const satisfies readonly (keyof Handlers)[]

type Unanswered = Pick<Handlers, (typeof names)[number]>

export const unansweredYet = Object.fromEntries(names.map((name) => [name, refuse])) as unknown as Unanswered
