/** Plain arithmetic on float32 rows that the trainers share. */

/** Concatenates row blocks into one array; one block is returned as it is, without a copy. */
export function concatRows(parts: readonly Float32Array[]): Float32Array {
  if (parts.length === 1) return parts[0]
  let length = 0
  for (const p of parts) length += p.length
  const out = new Float32Array(length)
  let at = 0
  for (const p of parts) {
    out.set(p, at)
    at += p.length
  }
  return out
}

/** Views of an array of rows: `counts[i]` rows of `width` each. */
export function splitRows(rows: Float32Array, counts: readonly number[], width: number): Float32Array[] {
  let at = 0
  return counts.map((n) => rows.subarray(at * width, (at += n) * width))
}

/** target += source. */
export function addInPlace(target: Float32Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] += source[i]
}

/** target *= factor. */
export function scaleInPlace(target: Float32Array, factor: number): void {
  for (let i = 0; i < target.length; i++) target[i] *= factor
}

/** Sum of squares, accumulated in double precision. */
export function sumOfSquares(values: Float32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i] * values[i]
  return sum
}
