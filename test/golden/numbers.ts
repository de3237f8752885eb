/** Comparing arrays with golden values. */
import type { HostTensor } from '../../src-main/engine/formats/dtypes'

type Numbers = Float32Array | readonly Float32Array[] | Float64Array

function flat(x: Numbers): number[] {
  return Array.isArray(x) ? x.flatMap((p: Float32Array) => [...p]) : [...(x as Float32Array)]
}

/** norm(a - b) / norm(b); infinite where the sizes differ or b is zero and a is not. */
export function relativeError(actual: Numbers, expected: Numbers): number {
  const a = flat(actual)
  const b = flat(expected)
  if (a.length !== b.length) return Infinity
  let difference = 0
  let size = 0
  for (let i = 0; i < b.length; i++) {
    difference += (a[i] - b[i]) ** 2
    size += b[i] ** 2
  }
  if (Number.isNaN(difference)) return Infinity
  return difference === 0 ? 0 : Math.sqrt(difference / size)
}

/** An int64 tensor [rows, columns] as lists. */
export function tokensOf(t: HostTensor): number[][] {
  const [rows, columns] = t.shape
  const data = [...(t.data as BigInt64Array)].map(Number)
  return Array.from({ length: rows }, (_, i) => data.slice(i * columns, (i + 1) * columns))
}
