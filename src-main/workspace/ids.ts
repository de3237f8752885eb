/** Run ids: sortable by time, readable, safe as a folder name on every system. */
import { randomBytes } from 'node:crypto'

let last = 0

/** `20261130-204145-123-outer-links-k3f9`: UTC to the millisecond (never the same twice in one process), what it is, four random signs. */
export function newRunId(label: string, now = Date.now()): string {
  last = Math.max(now, last + 1)
  const [day, clock] = new Date(last).toISOString().split('T')
  const time = clock.replace(/[:Z]/g, '').replace('.', '-')
  const slug = label
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32)
    .replace(/-+$/, '')
  const random = [...randomBytes(4)].map((b) => 'abcdefghjkmnpqrstuvwxyz23456789ab'[b & 31]).join('')
  return [day.replaceAll('-', ''), time, slug || 'run', random].join('-')
}
