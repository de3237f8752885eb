/**
 * A hub for tests that speaks the real protocol: repository info, tree and refs in pages, search, `resolve` with a redirect of large
 * files to another host (another port), ranges, ETags and the X-headers of the real one. Faults are asked for per request for bytes.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeFile {
  readonly path: string
  readonly bytes: Buffer
  readonly lfs: boolean
}

export interface FakeRepository {
  readonly kind: 'model' | 'dataset'
  readonly files: readonly FakeFile[]
  readonly commit: string
  readonly gated?: boolean
  readonly private?: boolean
  readonly licence?: string
}

export type Fault =
  | { kind: 'status'; status: number; retryAfter?: string }
  /** The connection is cut after some bytes of the body. */
  | { kind: 'drop'; after: number }
  /** A proper answer that ends early. */
  | { kind: 'truncated'; after: number }
  /** Content-Length promises more than comes. */
  | { kind: 'promises-more'; after: number }
  /** The range's total is another. */
  | { kind: 'wrong-total' }
  /** Other bytes than those that were asked for. */
  | { kind: 'wrong-start' }
  | { kind: 'wrong-byte' }
  /** The whole file instead of the range. */
  | { kind: 'no-range' }
  /** Silence after some bytes; null: before the headers. */
  | { kind: 'stall'; after: number | null }
  /** A thousand bytes every few ms. */
  | { kind: 'slow' }

/** What was sent of a file. */
export interface Sent {
  readonly path: string
  readonly from: number
  /** Not including. */
  readonly end: number
  /** How far it got; grows while it is sent. */
  upTo: number
  readonly fault: Fault['kind'] | null
}

export const goodToken = 'hf_goodTokenOfTheTests'
/** One that is known but was not granted access. */
export const strangerToken = 'hf_strangerTokenOfTheTests'

export class FakeHub {
  readonly repositories = new Map<string, FakeRepository>()
  /** Every request for bytes, by repository. */
  readonly sent = new Map<string, Sent[]>()
  /** Authorization headers that reached the host which only redirects name. */
  readonly leaks: string[] = []
  /** Path and query of every request to the hub itself. */
  readonly asked: string[] = []
  readonly authorizations = new Set<string>()
  /** The fault of a request for bytes of this file; null: none. */
  faultOf: (repository: string, path: string) => Fault | null = () => null
  private readonly servers: Server[] = []
  endpoint = ''
  private store = ''

  async start(): Promise<void> {
    this.endpoint = await this.listen((request, response) => this.answer(request, response))
    this.store = await this.listen((request, response) => {
      if (request.headers.authorization !== undefined) this.leaks.push(request.headers.authorization)
      const [repository, path] = fromStore(request)
      this.sendBytes(repository, path, request, response)
    })
  }

  async stop(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  add(name: string, repository: Omit<FakeRepository, 'commit'>): FakeRepository {
    const commit = createHash('sha1').update(name).digest('hex')
    const all = { ...repository, commit }
    this.repositories.set(name, all)
    return all
  }

  private async listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const server = createServer(answer)
    this.servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, this.endpoint)
    this.asked.push(url.pathname + url.search)
    const { authorization } = request.headers
    if (authorization !== undefined) this.authorizations.add(authorization)
    if (
      authorization !== undefined &&
      authorization !== `Bearer ${goodToken}` &&
      authorization !== `Bearer ${strangerToken}`
    )
      return refuse(response, 401, null, 'Invalid credentials in Authorization header')
    const list = /^\/api\/(model|dataset)s$/.exec(url.pathname)
    if (list) return this.search(list[1], url, response)
    const api = /^\/api\/(model|dataset)s\/([^/]+\/[^/]+)\/(revision|tree|refs)(?:\/([^/]+))?$/.exec(url.pathname)
    const resolve = /^\/(datasets\/)?([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname)
    const kind = api ? api[1] : resolve?.[1] ? 'dataset' : 'model'
    const name = (api ?? resolve)?.[2] ?? ''
    const repository = this.repositories.get(name)
    if (!repository || repository.kind !== kind || (repository.private && authorization !== `Bearer ${goodToken}`))
      return refuse(response, authorization ? 404 : 401, 'RepoNotFound', 'Repository not found')
    const revision = decodeURIComponent((api ? api[4] : resolve?.[3]) ?? 'main')
    if (!['main', 'HEAD', 'v1', repository.commit].includes(revision))
      return refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`)
    if (api) return this.tell(api[3], name, repository, url, response)
    if (repository.gated && authorization !== `Bearer ${goodToken}`)
      return refuse(response, authorization ? 403 : 401, 'GatedRepo', `Access to model ${name} is restricted.`)
    const path = resolve![4].split('/').map(decodeURIComponent).join('/')
    const file = repository.files.find((one) => one.path === path)
    if (!file) return refuse(response, 404, 'EntryNotFound', 'Entry not found')
    response.setHeader('X-Repo-Commit', repository.commit)
    if (!file.lfs) return this.sendBytes(name, path, request, response)
    response.writeHead(302, {
      Location: `${this.store}/store?repository=${encodeURIComponent(name)}&path=${encodeURIComponent(path)}&signature=x`,
      'X-Linked-Etag': `"${sha256(file.bytes)}"`,
      'X-Linked-Size': String(file.bytes.length),
    })
    response.end()
  }

  private search(kind: string, url: URL, response: ServerResponse): void {
    const query = url.searchParams.get('search')?.toLowerCase() ?? ''
    const limit = Number(url.searchParams.get('limit') ?? 500)
    const all = [...this.repositories].filter(([name, one]) => one.kind === kind && name.toLowerCase().includes(query))
    json(
      response,
      all.slice(0, limit).map(([name, one]) => infoOf(name, one)),
    )
  }

  /** The tree comes in pages of three entries. */
  private tell(what: string, name: string, one: FakeRepository, url: URL, response: ServerResponse): void {
    if (what === 'revision') return json(response, infoOf(name, one))
    if (what === 'refs')
      return json(response, {
        branches: [{ name: 'main', ref: 'refs/heads/main', targetCommit: one.commit }],
        tags: [{ name: 'v1', ref: 'refs/tags/v1', targetCommit: one.commit }],
        converts: [],
      })
    const from = Number(url.searchParams.get('cursor') ?? 0)
    if (from + 3 < one.files.length) {
      const next = new URL(url)
      next.searchParams.set('cursor', String(from + 3))
      response.setHeader('Link', `<${next.href}>; rel="next"`)
    }
    json(response, one.files.slice(from, from + 3).map(treeEntry))
  }

  private sendBytes(repository: string, path: string, request: IncomingMessage, response: ServerResponse): void {
    const { bytes } = this.repositories.get(repository)!.files.find((one) => one.path === path)!
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
    if (request.method === 'HEAD') {
      response.writeHead(200, { 'Content-Length': bytes.length, 'Accept-Ranges': 'bytes' })
      response.end()
      return
    }
    const fault = this.faultOf(repository, path)
    const wholeFile = !range || fault?.kind === 'no-range'
    const from = wholeFile ? 0 : Number(range[1])
    const end = wholeFile ? bytes.length : Math.min(Number(range[2]) + 1, bytes.length)
    const sent: Sent = { path, from, end, upTo: from, fault: fault?.kind ?? null }
    const all = this.sent.get(repository) ?? []
    this.sent.set(repository, all)
    all.push(sent)
    let body = bytes.subarray(from, end)
    if (fault?.kind === 'wrong-start') body = bytes.subarray(0, end - from)
    if (fault?.kind === 'wrong-byte' && body.length > 0) {
      body = Buffer.from(body)
      body[body.length >> 1] ^= 1
    }
    if (fault?.kind === 'status') {
      response.writeHead(fault.status, fault.retryAfter === undefined ? {} : { 'Retry-After': fault.retryAfter })
      response.end('<html>busy</html>')
      return
    }
    if (fault?.kind === 'stall' && fault.after === null) return
    const shift = fault?.kind === 'wrong-start' && from > 0 ? from : 0
    const total = bytes.length + (fault?.kind === 'wrong-total' ? 7 : 0)
    response.setHeader('ETag', `"${sha256(bytes)}"`)
    if (!wholeFile) response.setHeader('Content-Range', `bytes ${from - shift}-${end - 1 - shift}/${total}`)
    if (fault?.kind !== 'truncated') response.setHeader('Content-Length', end - from)
    response.writeHead(wholeFile ? 200 : 206)
    void send(response, body, fault, sent)
  }
}

async function send(response: ServerResponse, body: Buffer, fault: Fault | null, sent: Sent): Promise<void> {
  const after = fault && 'after' in fault && fault.after !== null ? Math.min(fault.after, body.length) : body.length
  const step = fault?.kind === 'slow' ? 1000 : 16384
  for (let at = 0; at < after; at += step) {
    const piece = body.subarray(at, Math.min(after, at + step))
    if (response.destroyed) return
    await new Promise<void>((resolve) => {
      response.once('close', resolve)
      response.write(piece, () => {
        response.off('close', resolve)
        resolve()
      })
    })
    if (response.destroyed) return
    sent.upTo += piece.length
    if (fault?.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, 4))
  }
  if (fault?.kind === 'stall') return
  if (fault?.kind === 'drop' || fault?.kind === 'promises-more') {
    response.destroy()
    return
  }
  response.end()
}

function fromStore(request: IncomingMessage): [string, string] {
  const { searchParams } = new URL(request.url!, 'http://store')
  return [searchParams.get('repository')!, searchParams.get('path')!]
}

function infoOf(name: string, one: FakeRepository): object {
  return {
    _id: createHash('sha1').update(name).digest('hex').slice(0, 24),
    id: name,
    sha: one.commit,
    private: one.private ?? false,
    gated: one.gated ? 'manual' : false,
    downloads: 1234,
    likes: 5,
    lastModified: '2025-11-03T10:00:00.000Z',
    tags: one.licence ? [`license:${one.licence}`] : [],
    cardData: one.licence ? { license: one.licence } : null,
  }
}

export function treeEntry({ path, bytes, lfs }: FakeFile): object {
  const pointer = Buffer.from(
    `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(bytes)}\nsize ${bytes.length}\n`,
  )
  const entry = { type: 'file', path, size: bytes.length, oid: blobSha1(lfs ? pointer : bytes) }
  return lfs ? { ...entry, lfs: { oid: sha256(bytes), size: bytes.length, pointerSize: pointer.length } } : entry
}

const sums = new WeakMap<Buffer, string>()

/** Of a whole file, which is asked for often: computed once. */
export function sha256(bytes: Buffer): string {
  const known = sums.get(bytes) ?? createHash('sha256').update(bytes).digest('hex')
  sums.set(bytes, known)
  return known
}

function blobSha1(bytes: Buffer): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(value))
}

function refuse(response: ServerResponse, status: number, code: string | null, message: string): void {
  response.writeHead(status, {
    ...(code === null ? {} : { 'X-Error-Code': code }),
    'X-Error-Message': message,
    'Content-Type': 'application/json; charset=utf-8',
  })
  response.end(JSON.stringify({ error: message }))
}
