/**
 * Connections to a hub: proxies of the environment, time limits, redirects followed by hand. The token goes to the hub's own origin
 * and to nobody that a redirect names.
 */
import { type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import { UserError } from '../engine/errors'
import { carriesTokens, checkedToken, hubAddress } from './address'
import { type Answer, connectionFault, type Question, refusal } from './refusals'
import { patientRetry, promptRetry, retrying, type RetryPolicy } from './retry'

export interface HubOptions {
  /** Default: HF_ENDPOINT, else the public hub. */
  readonly endpoint?: string
  readonly token?: string
  readonly env?: NodeJS.ProcessEnv
  /** Milliseconds without a byte after which a connection counts as broken. */
  readonly silenceMs?: number
  readonly retry?: RetryPolicy
  readonly fileRetry?: RetryPolicy
}

export interface HubResponse extends Answer {
  readonly stream: Dispatcher.ResponseData['body']
  /** Whether the hub itself answered, not a host that it named. */
  readonly fromHub: boolean
}

export interface Hub {
  readonly endpoint: string
  readonly hasToken: boolean
  readonly fileRetry: RetryPolicy
  /** One try. Any status but a redirect; the caller reads or destroys the stream. Throws PassingFault, UserError. */
  ask(url: string, options?: AskOptions): Promise<HubResponse>
  /** `fetch` for JSON, with tries; anything but 2xx is thrown as UserError. */
  fetchFor(question: Question, signal?: AbortSignal): typeof fetch
  close(): Promise<void>
}

export interface AskOptions {
  readonly method?: 'GET' | 'HEAD'
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

const mostRedirects = 6
/** Answers of the hub's API are lists of names; a larger one is none, bytes. */
const mostJson = 64 << 20

/** UserErrors: an address or a token that cannot be used, a proxy that is no address. A token does not travel unencrypted. */
export function openHub(options: HubOptions = {}): Hub {
  const env = options.env ?? process.env
  const endpoint = hubAddress(options.endpoint, env)
  const token = carriesTokens(endpoint) ? checkedToken(options.token) : null
  const origin = new URL(endpoint).origin
  const dispatcher = openDispatcher(env, options.silenceMs ?? 30_000)
  const retry = options.retry ?? promptRetry

  const ask: Hub['ask'] = async (url, { method = 'GET', headers = {}, signal } = {}) => {
    let at = url
    for (let hops = 0; hops <= mostRedirects; hops++) {
      const fromHub = new URL(at).origin === origin
      const authorization: Record<string, string> =
        token !== null && fromHub ? { authorization: `Bearer ${token}` } : {}
      let response: Dispatcher.ResponseData
      try {
        response = await request(at, {
          method,
          dispatcher,
          signal,
          headers: { 'user-agent': 'recursivemas-studio', 'accept-encoding': 'identity', ...headers, ...authorization },
        })
      } catch (error) {
        signal?.throwIfAborted()
        throw connectionFault(error, at)
      }
      const plain = plainHeaders(response.headers)
      if (!isRedirect(response.statusCode) || plain.location === undefined)
        return { status: response.statusCode, headers: plain, stream: response.body, fromHub }
      await response.body.dump().catch(() => undefined)
      at = followed(plain.location, at)
    }
    throw redirectError(url, 'It redirects without end.')
  }

  return {
    endpoint,
    hasToken: token !== null,
    fileRetry: options.fileRetry ?? patientRetry,
    ask,
    fetchFor: (question, signal) => async (input) => {
      const url = String(input)
      return retrying(
        async () => {
          const answer = await ask(url, { headers: { accept: 'application/json' }, signal })
          const body = await textOf(answer, url, signal)
          if (answer.status < 200 || answer.status >= 300)
            throw hidden(refusal({ ...answer, body }, question, endpoint, token !== null), token)
          const headers = Object.entries(answer.headers).filter(
            (pair): pair is [string, string] => pair[1] !== undefined,
          )
          return new Response(body, { status: answer.status, headers })
        },
        retry,
        (fault) => unreachable(endpoint, fault.why, fault),
        signal,
      )
    },
    close: () => dispatcher.destroy(),
  }
}

/** The error when the tries are used up. */
export function unreachable(endpoint: string, why: string, cause?: unknown): UserError {
  return new UserError(
    {
      what: `The hub ${new URL(endpoint).host} cannot be reached.`,
      why,
      next: 'Check the network and the hub address, then try again.',
    },
    { cause },
  )
}

function openDispatcher(env: NodeJS.ProcessEnv, silenceMs: number): Dispatcher {
  const named = (name: string): string => env[name.toLowerCase()] ?? env[name.toUpperCase()] ?? ''
  try {
    return new EnvHttpProxyAgent({
      httpProxy: named('http_proxy'),
      httpsProxy: named('https_proxy'),
      noProxy: named('no_proxy'),
      // http hubs are asked for as proxies expect it, https ones through a tunnel
      proxyTunnel: false,
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
      connect: { timeout: Math.min(silenceMs, 10_000) },
    })
  } catch (error) {
    throw new UserError(
      {
        what: 'The proxy cannot be used.',
        why: 'HTTP_PROXY or HTTPS_PROXY is no address.',
        next: 'Give it like http://proxy.example:3128, or unset it.',
      },
      { cause: error },
    )
  }
}

const isRedirect = (status: number): boolean => status >= 301 && status <= 308 && status !== 304

function followed(location: string, from: string): string {
  if (!URL.canParse(location, from)) throw redirectError(from, 'It redirects to what is no address.')
  const to = new URL(location, from)
  if (to.protocol !== 'https:' && to.protocol !== 'http:')
    throw redirectError(from, `It redirects to a ${to.protocol} address.`)
  if (new URL(from).protocol === 'https:' && to.protocol === 'http:')
    throw redirectError(from, 'It redirects from a safe connection to an open one.')
  return to.href
}

function redirectError(url: string, why: string): UserError {
  return new UserError({ what: `${new URL(url).host} cannot be read.`, why, next: 'Check the hub address.' })
}

function plainHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  )
}

async function textOf({ stream }: HubResponse, url: string, signal?: AbortSignal): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > mostJson) throw redirectError(url, 'Its answer is too large to be one of a hub.')
      pieces.push(piece)
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw connectionFault(error, url)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** A server may quote what it was sent: the token is taken out of its words. */
function hidden(error: Error, token: string | null): Error {
  if (token === null || !(error instanceof UserError)) return error
  const without = (text: string): string => text.replaceAll(token, '(token)')
  return new UserError({ what: without(error.what), why: without(error.why), next: without(error.next) })
}
