/** What an answer of the hub that is not 2xx means, and what a broken connection means, for a person. */
import { UserError } from '../engine/errors'
import { codeOf } from '../engine/formats/disk-errors'
import { pageOf, type RepositoryKind } from './address'
import { PassingFault, retryAfter } from './retry'

/** What was asked for. */
export interface Question {
  readonly kind: RepositoryKind
  /** null: a search. */
  readonly name: string | null
  readonly revision?: string
  readonly file?: string
}

export interface Answer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Its body, where it is at hand: `{"error": "..."}` or anything else. */
  readonly body?: string
}

/** A UserError, or a PassingFault where a later try may work. `hasToken`: the question carried one. */
export function refusal(answer: Answer, question: Question, endpoint: string, hasToken: boolean): Error {
  const { status, headers } = answer
  const code = headers['x-error-code'] ?? ''
  const said = saidBy(answer)
  const host = new URL(endpoint).host
  const wait = retryAfter(headers['retry-after'])
  const waiting = wait === null ? '' : ` and asks to wait ${Math.ceil(wait / 1000)} s`
  if (status === 429) return new PassingFault(`${host} takes no more requests for now (429)${waiting}.`, wait)
  if (status === 408 || status >= 500)
    return new PassingFault(`${host} answered with an error of its own (${status})${waiting}.`, wait)
  const what = `${question.file ? `${question.file} of ` : ''}${question.name ?? 'The search'} cannot be ${question.name === null ? 'made' : 'read'}.`
  const token = tokenPage(endpoint)
  if (code === 'GatedRepo' || ((status === 401 || status === 403) && /gated|restricted|accept/i.test(said)))
    return new UserError({
      what,
      why: `It is gated: its authors want their conditions to be accepted first${hasToken ? ', which the owner of this token has not done or they have not granted' : ''}.`,
      next: `Accept them at ${question.name === null ? endpoint : pageOf(endpoint, question.kind, question.name)} and ${hasToken ? 'try again' : `give an access token of yours from ${token}`}.`,
    })
  if (status === 401 && hasToken && code !== 'RepoNotFound')
    return new UserError({
      what,
      why: `${host} does not accept the access token.`,
      next: `Make a new one at ${token}, or go on without.`,
    })
  if (code === 'RevisionNotFound')
    return new UserError({
      what,
      why: `${question.name} has no revision ${JSON.stringify(question.revision ?? 'main')}.`,
      next: 'Give a branch, a tag or a full commit that its page lists.',
    })
  if (code === 'EntryNotFound')
    return new UserError({
      what,
      why: `${question.name} has no such file in this revision.`,
      next: 'List its files again.',
    })
  if (status === 404 || code === 'RepoNotFound' || (status === 401 && !hasToken))
    return new UserError({
      what,
      why: `${host} has no ${question.kind === 'dataset' ? 'data set' : 'model'} of this name, or it is private.`,
      next: hasToken
        ? 'Check the name, and that the token may read it.'
        : 'Check the name; for a private one give an access token.',
    })
  if (status === 403)
    return new UserError({
      what,
      why: `${host} forbids it${hasToken ? ' to this access token' : ''}${said && `: ${said}`}.`,
      next: `Check ${hasToken ? `the token’s rights at ${token}` : 'whether it needs an access token'}.`,
    })
  return new UserError({
    what,
    why: `${host} answered ${status}${said && `: ${said}`}.`,
    next: 'Try again later, or check the hub address.',
  })
}

/** A connection's error as a PassingFault, or a UserError where trying again is of no use; others as they are. */
export function connectionFault(error: unknown, url: string): unknown {
  const cause = deepest(error)
  const code = codeOf(cause) || codeOf(error)
  const host = new URL(url).host
  if (/CERT|TLS_CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|^ERR_SSL|ERR_TLS/.test(code))
    return new UserError(
      {
        what: `There is no safe connection to ${host}.`,
        why: `Its certificate cannot be trusted (${code}).`,
        next: 'Check the address and the clock; behind a company’s proxy name its certificate in NODE_EXTRA_CA_CERTS.',
      },
      { cause: error },
    )
  const message = cause instanceof Error ? cause.message : ''
  if (/Proxy (Authentication Required|response)/.test(message))
    return new UserError(
      {
        what: `There is no way to ${host}.`,
        why: 'The proxy refused to connect.',
        next: 'Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
      },
      { cause: error },
    )
  const why = sentences[code]
  if (why) return new PassingFault(why(host), null, { cause: error })
  if (code.startsWith('UND_ERR') || code.startsWith('HPE_') || code.startsWith('E'))
    return new PassingFault(`The connection to ${host} broke (${code}).`, null, { cause: error })
  return error
}

const sentences: Record<string, ((host: string) => string) | undefined> = {
  ENOTFOUND: (host) => `The name ${host} is not known to the network.`,
  EAI_AGAIN: (host) => `The name ${host} could not be looked up.`,
  ECONNREFUSED: (host) => `Nothing answers at ${host}.`,
  ECONNRESET: (host) => `The connection to ${host} was cut.`,
  UND_ERR_SOCKET: (host) => `The connection to ${host} was cut.`,
  UND_ERR_CONNECT_TIMEOUT: (host) => `${host} could not be reached in time.`,
  UND_ERR_HEADERS_TIMEOUT: (host) => `${host} did not answer in time.`,
  UND_ERR_BODY_TIMEOUT: (host) => `${host} stopped sending.`,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: (host) => `${host} sent another number of bytes than it said.`,
}

function deepest(error: unknown): unknown {
  let at = error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  return at
}

/** What the server says of its refusal: one line, no more than 200 characters, no full stop. */
function saidBy({ headers, body }: Answer): string {
  let text = headers['x-error-message'] ?? ''
  if (text === '' && body !== undefined) {
    try {
      const { error } = JSON.parse(body) as { error?: unknown }
      if (typeof error === 'string') text = error
    } catch {
      // pages for people say nothing that a sentence could hold
    }
  }
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 200)
    .replace(/\.$/, '')
}

const tokenPage = (endpoint: string): string => `${endpoint}/settings/tokens`
