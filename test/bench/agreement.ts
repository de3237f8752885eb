/** Whether two result files of the same work agree: ids equal, numbers within 1e-4 of the largest value. */
import type { HostTensor } from '../../src-main/engine/formats/dtypes'
import { readSafetensors } from '../../src-main/engine/formats/safetensors'

export const tolerance = 1e-4

export interface Agreement {
  readonly name: string
  /** Largest difference, relative to the largest value of the second file; for ids the number of differing ones. */
  readonly difference: number
  /** null: shown, not judged. */
  readonly agrees: boolean | null
}

/**
 * Tensors that both files have. Parameters after the step are shown only: the first AdamW step is close to learning rate
 * times sign, so that a gradient near zero may turn either way.
 */
export async function compareResults(ours: string, theirs: string): Promise<Agreement[]> {
  const a = (await readSafetensors(ours)).tensors
  const b = (await readSafetensors(theirs)).tensors
  const shared = [...a.keys()].filter((name) => b.has(name))
  if (shared.length === 0) throw new Error(`${ours} and ${theirs} have no result in common`)
  return shared.map((name) => compare(name, a.get(name)!, b.get(name)!))
}

function compare(name: string, { data: x }: HostTensor, { data: y }: HostTensor): Agreement {
  if (x.length !== y.length) return { name, difference: Infinity, agrees: false }
  if (x instanceof BigInt64Array || y instanceof BigInt64Array) {
    const different = Array.from(x as ArrayLike<number | bigint>).filter((v, i) => BigInt(v) !== BigInt(y[i])).length
    return { name, difference: different, agrees: different === 0 }
  }
  let largest = 0
  let difference = 0
  for (let i = 0; i < y.length; i++) {
    largest = Math.max(largest, Math.abs(y[i]))
    const d = Math.abs(x[i] - y[i])
    difference = Math.max(difference, Number.isNaN(d) ? Infinity : d)
  }
  const relative = difference / largest
  return { name, difference: relative, agrees: name === 'parameters' ? null : relative <= tolerance }
}
