/**
 * The random numbers of torch's CPU generator, bit for bit: MT19937 seeded by init_genrand, and the ways in which torch
 * turns its 32-bit outputs into numbers (method specification, training 1.3 and 10).
 */
const size = 624
const middle = 397

/** Everything that the next draws depend on; plain data, may be written to a file. */
export interface GeneratorState {
  /** 624 unsigned 32-bit words. */
  readonly words: readonly number[]
  /** Words used of the current block, 0 to 624. */
  readonly used: number
}

export class TorchGenerator {
  private words = new Uint32Array(size)
  private used = size

  /** `seed` is an integer from 0 to 2^53 - 1, of which, as in torch, the low 32 bits count. */
  constructor(seed: number) {
    if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`seed ${seed} is not a whole number from 0`)
    this.words[0] = seed % 2 ** 32
    for (let i = 1; i < size; i++) {
      const before = this.words[i - 1] ^ (this.words[i - 1] >>> 30)
      this.words[i] = Math.imul(1812433253, before) + i
    }
  }

  static fromState(state: GeneratorState): TorchGenerator {
    if (state.words.length !== size || !(state.used >= 0 && state.used <= size))
      throw new Error('not a generator state')
    const generator = new TorchGenerator(0)
    generator.words = Uint32Array.from(state.words)
    generator.used = state.used
    return generator
  }

  exportState(): GeneratorState {
    return { words: [...this.words], used: this.used }
  }

  /** The next 32-bit output, 0 to 2^32 - 1. */
  nextUint32(): number {
    if (this.used === size) this.refill()
    let y = this.words[this.used++]
    y ^= y >>> 11
    y ^= (y << 7) & 0x9d2c5680
    y ^= (y << 15) & 0xefc60000
    y ^= y >>> 18
    return y >>> 0
  }

  /** What torch draws for an int64 tensor without bounds: two outputs, the high half first, modulo 2^63. */
  nextInt63(): bigint {
    const high = BigInt(this.nextUint32())
    const low = BigInt(this.nextUint32())
    return ((high << 32n) | low) & 0x7fffffffffffffffn
  }

  /** `count` float32 values from U(lo, hi) in row-major order: one output each, of which 24 bits count. */
  uniform(lo: number, hi: number, count: number): Float32Array {
    const start = Math.fround(lo)
    const range = Math.fround(Math.fround(hi) - start)
    const values = new Float32Array(count)
    for (let i = 0; i < count; i++) values[i] = (this.nextUint32() & 0xffffff) * 2 ** -24 * range + start
    return values
  }

  /** torch.randperm: 0 to n - 1, each place in turn swapping with one drawn from those at and after it. */
  permutation(n: number): Int32Array {
    const order = Int32Array.from({ length: n }, (_, i) => i)
    for (let i = 0; i < n - 1; i++) {
      const j = i + (this.nextUint32() % (n - i))
      const kept = order[i]
      order[i] = order[j]
      order[j] = kept
    }
    return order
  }

  private refill(): void {
    const w = this.words
    for (let i = 0; i < size; i++) {
      const y = (w[i] & 0x80000000) | (w[(i + 1) % size] & 0x7fffffff)
      w[i] = w[(i + middle) % size] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0)
    }
    this.used = 0
  }
}
