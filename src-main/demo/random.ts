/**
 * The demo's random numbers: a stream that depends on nothing but its seed and a label, so that adding a draw in one
 * place moves no number in another.
 */
import { TorchGenerator } from '../engine/nn/torch-generator'

export interface Random {
  /** Uniform in [0, 1), 32 bits. */
  uniform(): number
  /** Uniform integer in [0, below). */
  integer(below: number): number
  pick<T>(values: readonly T[]): T
  /** `count` different values, in random order. */
  sample<T>(values: readonly T[], count: number): T[]
  /** Normal with mean 0 and standard deviation 1. */
  normal(): number
}

export function createRandom(seed: number, label: string): Random {
  const generator = new TorchGenerator(hash(`${seed} ${label}`))
  const uniform = () => generator.nextUint32() / 2 ** 32
  const integer = (below: number) => Math.floor(uniform() * below)
  return {
    uniform,
    integer,
    pick: (values) => values[integer(values.length)],
    sample(values, count) {
      if (count > values.length) throw new RangeError(`${count} different values of ${values.length}`)
      // a shuffle of which only the places that were touched are kept
      const moved = new Map<number, number>()
      return Array.from({ length: count }, (_, i) => {
        const j = i + integer(values.length - i)
        const chosen = moved.get(j) ?? j
        moved.set(j, moved.get(i) ?? i)
        return values[chosen]
      })
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  }
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
