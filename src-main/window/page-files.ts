/**
 * The page's own files, served under app://studio with the headers that keep it apart from everything else. Only files below the
 * page's folder, whatever the address says.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'

export const pageScheme = 'app'
export const pageOrigin = 'app://studio'
export const pageAddress = `${pageOrigin}/index.html`

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.woff': 'font/woff',
  '.ttf': 'font/ttf',
}

/** Nothing remote, no inline script or style, no eval. The page's only policy: index.html holds none. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const headers = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

/** The answer to a request of the page for one of its files; anything else is a 404. */
export async function pageFile(folder: string, address: string): Promise<Response> {
  const file = fileOf(folder, address)
  const type = file === null ? undefined : types[path.extname(file).toLowerCase()]
  if (file === null || type === undefined) return notFound()
  try {
    return new Response(new Uint8Array(await readFile(file)), { headers: { ...headers, 'Content-Type': type } })
  } catch {
    return notFound()
  }
}

/** The file that an address names, or null where it is not one of the page's. */
export function fileOf(folder: string, address: string): string | null {
  if (!URL.canParse(address)) return null
  const { protocol, host, pathname } = new URL(address)
  if (`${protocol}//${host}` !== pageOrigin) return null
  let name: string
  try {
    name = decodeURIComponent(pathname)
  } catch {
    return null
  }
  if (name.includes('\0') || name.includes('\\')) return null
  const root = path.resolve(folder)
  const file = path.resolve(root, `.${name === '/' ? '/index.html' : name}`)
  return file.startsWith(root + path.sep) ? file : null
}

function notFound(): Response {
  return new Response('Not found', { status: 404, headers: { ...headers, 'Content-Type': 'text/plain' } })
}

/** Whether a frame shows the app's own page. */
export function isOwnPage(address: string): boolean {
  return URL.canParse(address) && address.startsWith(`${pageOrigin}/`)
}
