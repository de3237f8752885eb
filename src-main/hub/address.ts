/** Which hub is asked and with what token: an option, HF_ENDPOINT or the public one. */
import { UserError } from '../engine/errors'

export const publicHub = 'https://huggingface.co'

export type RepositoryKind = 'model' | 'dataset'

/** The hub's address without a slash at its end. A UserError tells an address that is none. */
export function hubAddress(given: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const [text, from] = given
    ? [given, 'The hub address']
    : [env.HF_ENDPOINT || publicHub, 'The hub address in HF_ENDPOINT']
  const refuse = (why: string) =>
    new UserError({ what: `${from} cannot be used.`, why, next: `Give one like ${publicHub}.` })
  if (!URL.canParse(text)) throw refuse(`${JSON.stringify(text)} is no address.`)
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refuse('It begins with neither https:// nor http://.')
  if (url.username || url.password) throw refuse('It holds a user name or a password.')
  if (url.search || url.hash) throw refuse('It holds a query or a fragment.')
  return url.href.replace(/\/+$/, '')
}

/** The token as it is sent, null where there is none. A UserError where it could be no token; it is never quoted. */
export function checkedToken(token: string | undefined): string | null {
  const text = token?.trim() ?? ''
  if (text === '') return null
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new UserError({
    what: 'The access token cannot be used.',
    why: 'It holds spaces or characters that no token has.',
    next: 'Copy it again from the hub’s page of access tokens.',
  })
}

/** Whether a token may go to this address: encrypted, or not out of this computer. */
export function carriesTokens(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint)
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/** `owner/name` (older ones have no owner). A UserError where it is neither. */
export function checkedRepository(name: string): string {
  const part = /^(?!.*\.\.)[\w][\w.-]*$/
  const parts = name.split('/')
  if (parts.length <= 2 && name.length <= 200 && parts.every((p) => part.test(p))) return name
  throw new UserError({
    what: 'The repository cannot be looked up.',
    why: `${JSON.stringify(name)} is no name of a repository.`,
    next: 'Give it as OWNER/NAME.',
  })
}

/** The folder that a repository goes by in a library and in Hugging Face's cache. */
export function folderOfRepository(name: string): string {
  return name.split('/').join('--')
}

/** Where another commit of a repository lies beside the one that was there first. */
export function folderOfCommit(name: string, commit: string): string {
  return `${folderOfRepository(name)}--${commit.slice(0, 8)}`
}

/** The page of a repository for people. */
export function pageOf(endpoint: string, kind: RepositoryKind, name: string): string {
  return `${endpoint}/${kind === 'dataset' ? 'datasets/' : ''}${name}`
}

/** Where a file's bytes are asked for; `commit` is a full commit. */
export function fileAddress(
  endpoint: string,
  kind: RepositoryKind,
  name: string,
  commit: string,
  path: string,
): string {
  return `${pageOf(endpoint, kind, name)}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`
}
