/** Float32 values as float16 or bfloat16, where that loses nothing. */
import { type Dtype, float16Bits } from './dtypes'

/** Element types that links are stored in. */
export type FloatStorage = Extract<Dtype, 'F32' | 'F16' | 'BF16'>

/** The bit patterns of values in a 16-bit type; null where one of them would change. */
export function narrowExactly(values: Float32Array, dtype: 'F16' | 'BF16'): Uint16Array<ArrayBuffer> | null {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const halves = new Uint16Array(values.length)
  for (let i = 0; i < bits.length; i++) {
    const half = dtype === 'BF16' ? bits[i] >>> 16 : float16Of(bits[i])
    if ((dtype === 'BF16' ? half * 0x10000 : float16Bits(half)) !== bits[i]) return null
    halves[i] = half
  }
  return halves
}

/** The float16 with the sign, exponent and leading digits of a float32; equal to it only where nothing is cut off. */
function float16Of(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const exponent = ((bits >>> 23) & 0xff) - 127
  const fraction = bits & 0x7fffff
  if (exponent > 15) return sign | 0x7c00
  if (exponent >= -14) return sign | ((exponent + 15) << 10) | (fraction >> 13)
  // Subnormal: units of 2^-24.
  return exponent < -24 ? sign : sign | ((fraction | 0x800000) >> (-1 - exponent))
}
