/** Element types of tensors in files: sizes, and exact conversions to the two types that the engine computes with. */

/** Names as safetensors writes them, with bytes per element. */
export const dtypeBytes = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E5M2: 1,
  F8_E4M3: 1,
  I16: 2,
  U16: 2,
  F16: 2,
  BF16: 2,
  I32: 4,
  U32: 4,
  F32: 4,
  F64: 8,
  I64: 8,
  U64: 8,
} as const

export type Dtype = keyof typeof dtypeBytes

export interface TensorValue {
  readonly shape: readonly number[]
  /** Row-major. */
  readonly data: Float32Array | Float64Array | BigInt64Array
}

/** A tensor read from a file. `dtype` is that of the file; `data` holds the same values exactly. */
export interface HostTensor extends TensorValue {
  readonly dtype: Dtype
}

export function isDtype(name: unknown): name is Dtype {
  return typeof name === 'string' && Object.hasOwn(dtypeBytes, name)
}

/** Elements of a shape; a scalar ([]) has one. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((n, d) => n * d, 1)
}

/** Whether the values fit float32 exactly. */
export function isFloat32Exact(dtype: Dtype): dtype is 'F32' | 'F16' | 'BF16' {
  return dtype === 'F32' || dtype === 'F16' || dtype === 'BF16'
}

/**
 * Little-endian bytes of a dtype as numbers, exactly: F32, F16 and BF16 as float32, F64 as float64, integers and
 * booleans as int64. Null for types that none of these hold (8-bit floats, unsigned 64-bit).
 */
export function decodeElements(
  bytes: Uint8Array<ArrayBuffer>,
  dtype: Dtype,
): Float32Array | Float64Array | BigInt64Array | null {
  switch (dtype) {
    case 'F32':
      return new Float32Array(aligned(bytes, 4))
    case 'F16':
      return widen(new Uint16Array(aligned(bytes, 2)), float16Bits)
    case 'BF16':
      return widen(new Uint16Array(aligned(bytes, 2)), (half) => (half << 16) >>> 0)
    case 'F64':
      return new Float64Array(aligned(bytes, 8))
    case 'I64':
      return new BigInt64Array(aligned(bytes, 8))
    case 'I32':
      return BigInt64Array.from(new Int32Array(aligned(bytes, 4)), BigInt)
    case 'U32':
      return BigInt64Array.from(new Uint32Array(aligned(bytes, 4)), BigInt)
    case 'I16':
      return BigInt64Array.from(new Int16Array(aligned(bytes, 2)), BigInt)
    case 'U16':
      return BigInt64Array.from(new Uint16Array(aligned(bytes, 2)), BigInt)
    case 'I8':
      return BigInt64Array.from(new Int8Array(aligned(bytes, 1)), BigInt)
    case 'U8':
    case 'BOOL':
      return BigInt64Array.from(bytes, BigInt)
    case 'U64':
    case 'F8_E4M3':
    case 'F8_E5M2':
      return null
    default:
      return unreachable(dtype)
  }
}

/** The bit pattern of a float32 that equals a float16. */
export function float16Bits(half: number): number {
  const sign = (half & 0x8000) << 16
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0x1f) return (sign | 0x7f800000 | (fraction << 13)) >>> 0
  if (exponent !== 0) return (sign | ((exponent + 112) << 23) | (fraction << 13)) >>> 0
  if (fraction === 0) return sign >>> 0
  // Subnormal: fraction * 2^-24; the leading one moves up to become the implicit bit.
  const shift = Math.clz32(fraction) - 21
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)) >>> 0
}

function widen(halves: Uint16Array, bitsOf: (half: number) => number): Float32Array {
  const bits = new Uint32Array(halves.length)
  for (let i = 0; i < halves.length; i++) bits[i] = bitsOf(halves[i])
  return new Float32Array(bits.buffer)
}

/** The bytes as a buffer of their own, so that any element width can be laid over it. */
function aligned(bytes: Uint8Array<ArrayBuffer>, width: number): ArrayBuffer {
  const whole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength && bytes.byteLength % width === 0
  return whole ? bytes.buffer : bytes.slice().buffer
}

function unreachable(dtype: never): never {
  throw new Error(`dtype ${String(dtype)}`)
}
