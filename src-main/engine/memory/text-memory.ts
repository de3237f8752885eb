/** What rows and their texts take as JavaScript keeps them. Bytes; Node on 64 bits, without compressed pointers. */

/** An object or a list beside its fields. */
const objectBytes = 48
const fieldBytes = 8
/** A text beside its characters. */
const stringBytes = 24

/** Rows of which sizes are taken; of more, so many spread over all. */
const looked = 500

/** Of rows as they were read, every text and value once. */
export function rowsBytes(rows: readonly { readonly values: Readonly<Record<string, unknown>> }[]): number {
  const stride = Math.max(1, Math.floor(rows.length / looked))
  let bytes = 0
  let seen = 0
  for (let i = 0; i < rows.length; i += stride, seen++) bytes += objectBytes + valueBytes(rows[i].values)
  return seen === 0 ? 0 : (bytes / seen) * rows.length
}

/** `ids`: token ids in `texts` lists. */
export function idsBytes(ids: number, texts: number): number {
  return fieldBytes * ids + objectBytes * texts
}

/** What a text leaves behind when it is rendered and encoded, of the length of the demo's. */
const textGarbage = 4e3

/** V8 collects arrays that nobody needs any more when they come to this much. */
const mostGarbage = 64e6

/** What waits for the collector in a job that prepares so many texts and is given so many bytes of results, all its steps together. */
export function garbageBytes(texts: number, results: number): number {
  return Math.min(mostGarbage, texts * textGarbage + results)
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return stringBytes + (oneByte.test(value) ? 1 : 2) * value.length
  if (typeof value !== 'object' || value === null) return fieldBytes
  return Object.values(value).reduce<number>((n, v) => n + fieldBytes + valueBytes(v), objectBytes)
}

/** What V8 stores in a byte each. */
const oneByte = /^[\u0000-\u00ff]*$/
