/** Names of new data sets, which become folders of the library on any operating system. */
import { UserError } from '../engine/errors'

/** Most bytes of a folder's name. */
const longest = 200

/** Throws UserError where the name cannot be a folder's or is taken (upper and lower case count as the same). */
export function checkSetName(name: string, taken: readonly string[]): void {
  const why = faultOf(name)
  if (why !== null) throw refusal(name, why)
  const same = taken.find((other) => fold(other) === fold(name))
  if (same !== undefined) throw refusal(name, `There is a data set "${same}" already.`)
}

/** A name like the wish that is neither taken nor refused: `rows`, `rows 2`, ... */
export function freeSetName(wish: string, taken: readonly string[]): string {
  const plain = wish
    .replace(/[<>:"/\\|?*\p{Cc}]/gu, '_')
    .replace(/-{2,}/g, '-')
    .replace(/^[. ]+|[. ]+$/g, '')
    .slice(0, 60)
    .trim()
  const start = faultOf(plain) === null ? plain : 'data'
  const names = new Set(taken.map(fold))
  for (let n = 1; ; n++) {
    const name = n === 1 ? start : `${start} ${n}`
    if (!names.has(fold(name))) return name
  }
}

function faultOf(name: string): string | null {
  if (name === '') return 'It is empty.'
  const bad = /[<>:"/\\|?*\p{Cc}]/u.exec(name)
  if (bad) return `It holds ${JSON.stringify(bad[0])}, which no folder may be called by.`
  if (/^[. ]|[. ]$/.test(name)) return 'It begins or ends with a dot or a space.'
  if (name.includes('--')) return 'Two dashes in a row stand in the names of downloads only.'
  if (/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name)) return 'Windows keeps this name for itself.'
  if (Buffer.byteLength(name) > longest) return 'It is too long.'
  return null
}

function fold(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

function refusal(name: string, why: string): UserError {
  return new UserError({
    what: `The data set cannot be called "${name.slice(0, 80)}".`,
    why,
    next: 'Choose another name.',
  })
}
