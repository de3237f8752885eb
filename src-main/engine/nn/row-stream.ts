/**
 * One stream of uniform numbers for each (seed, sample, rollout), so that a row's sampled text does not depend on the
 * batch or the order in which it is made. Counter-based: Philox4x32 with 10 rounds (Salmon et al., 2011), the key being
 * the seed and the counter (block, sample, rollout, 0); a block gives two numbers.
 */
export interface RowStream {
  /** The next number from U[0, 1), with 53 random bits. */
  next(): number
}

/** All three are whole numbers from 0 to 2^32 - 1. */
export function rowStream(seed: number, sample: number, rollout: number): RowStream {
  for (const n of [seed, sample, rollout])
    if (!Number.isInteger(n) || n < 0 || n > 0xffffffff) throw new Error(`${n} is not a whole number of 32 bits`)
  let drawn = 0
  let block: readonly number[] = []
  return {
    next() {
      const second = drawn % 2 === 1
      if (!second) block = philox4x32([drawn / 2, sample, rollout, 0], [seed, 0])
      drawn++
      const [high, low] = second ? [block[2], block[3]] : [block[0], block[1]]
      return ((high >>> 5) * 2 ** 26 + (low >>> 6)) * 2 ** -53
    },
  }
}

type Four = readonly [number, number, number, number]

/** Four random 32-bit words for a counter of four words and a key of two. */
export function philox4x32(counter: Four, key: readonly [number, number]): Four {
  let [a, b, c, d] = counter
  let [k0, k1] = key
  for (let round = 0; round < 10; round++) {
    const next: Four = [
      highProduct(0xcd9e8d57, c) ^ b ^ k0,
      Math.imul(0xcd9e8d57, c),
      highProduct(0xd2511f53, a) ^ d ^ k1,
      Math.imul(0xd2511f53, a),
    ]
    a = next[0] >>> 0
    b = next[1] >>> 0
    c = next[2] >>> 0
    d = next[3] >>> 0
    k0 = (k0 + 0x9e3779b9) >>> 0
    k1 = (k1 + 0xbb67ae85) >>> 0
  }
  return [a, b, c, d]
}

/** The high half of the 64-bit product of two unsigned 32-bit numbers, by way of 16-bit pieces. */
function highProduct(x: number, y: number): number {
  const [xh, xl, yh, yl] = [x >>> 16, x & 0xffff, y >>> 16, y & 0xffff]
  const middle = xh * yl + ((xl * yl) >>> 16)
  const carry = xl * yh + (middle % 2 ** 16)
  return (xh * yh + Math.floor(middle / 2 ** 16) + Math.floor(carry / 2 ** 16)) >>> 0
}
