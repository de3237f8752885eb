/** Reads golden tensors and records, and measures differences as golden/README.md says. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readSafetensors } from '../../src-main/engine/formats/safetensors'

export function goldenPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

export function goldenJson<T>(name: string): T {
  return JSON.parse(readFileSync(goldenPath(name), 'utf8')) as T
}

export class GoldenTensors {
  private constructor(
    private readonly tensors: ReadonlyMap<string, { readonly data: unknown; readonly shape: readonly number[] }>,
  ) {}

  static async read(name: string): Promise<GoldenTensors> {
    return new GoldenTensors((await readSafetensors(goldenPath(name))).tensors)
  }

  names(prefix = ''): string[] {
    return [...this.tensors.keys()].filter((n) => n.startsWith(prefix))
  }

  floats(name: string): Float32Array {
    const { data } = this.find(name)
    if (!(data instanceof Float32Array)) throw new Error(`${name} is not float32`)
    return data
  }

  /** Rows of an integer matrix. */
  integers(name: string): number[][] {
    const { data, shape } = this.find(name)
    if (!(data instanceof BigInt64Array)) throw new Error(`${name} is not int64`)
    const width = shape.at(-1)!
    return Array.from({ length: data.length / width }, (_, i) =>
      [...data.subarray(i * width, (i + 1) * width)].map(Number),
    )
  }

  /** Tensors under a prefix, by the rest of their names. */
  under(prefix: string): Record<string, Float32Array> {
    return Object.fromEntries(this.names(prefix).map((n) => [n.slice(prefix.length), this.floats(n)]))
  }

  private find(name: string) {
    const t = this.tensors.get(name)
    if (!t) throw new Error(`no golden tensor ${name}`)
    return t
  }
}

/** norm(got - expected) / norm(scale), scale being the expected values themselves unless given. */
export function difference(
  got: ArrayLike<number>,
  expected: ArrayLike<number>,
  scale: ArrayLike<number> = expected,
): number {
  if (got.length !== expected.length) return Infinity
  let d = 0
  let n = 0
  for (let i = 0; i < expected.length; i++) {
    d += (got[i] - expected[i]) ** 2
    n += scale[i] ** 2
  }
  return n === 0 ? (d === 0 ? 0 : Infinity) : Math.sqrt(d / n)
}

export function minus(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((x, i) => x - b[i])
}
