/** What the machine can do: float32 matrix products through our own session, best of several timings. */
import { Graph, type Value } from '../../src-main/engine/onnx/graph'
import * as op from '../../src-main/engine/onnx/ops'
import { EngineSession } from '../../src-main/engine/onnx/session'

interface Product {
  readonly m: number
  readonly k: number
  readonly n: number
  /** Products in a row per run. */
  readonly count: number
}

const products: readonly Product[] = [
  { m: 512, k: 576, n: 1536, count: 16 },
  { m: 2048, k: 2048, n: 2048, count: 1 },
  { m: 1, k: 576, n: 49_152, count: 8 },
]

export interface GemmRates {
  /** GFLOP/s by product, as "[m,k]x[k,n]"; the right side lies [n, k] as weights do. */
  readonly gflops: Record<string, number>
  /** Largest of the products with many rows. */
  readonly peakGflops: number
  /** GB/s at which the one-row product reads its matrix. */
  readonly bandwidth: number
}

export async function measureGemm(threads: number, repeats: number): Promise<GemmRates> {
  const gflops: Record<string, number> = {}
  let peakGflops = 0
  let bandwidth = 0
  for (const product of products) {
    const { m, k, n } = product
    const rate = await measure(product, threads, Math.max(5, repeats))
    gflops[`[${m},${k}]x[${k},${n}]`] = Number(rate.toFixed(1))
    if (m > 1) peakGflops = Math.max(peakGflops, rate)
    else bandwidth = 2 * rate
  }
  return { gflops, peakGflops, bandwidth }
}

async function measure({ m, k, n, count }: Product, threads: number, repeats: number): Promise<number> {
  const g = new Graph('gemm')
  // of products with the same inputs the runtime would keep one
  const rows = Array.from({ length: count }, (_, i) => g.input(`x${i}`, 'float32', [m, k]))
  const w = g.input('w', 'float32', [n, k])
  // one column per product leaves the session, so that copying results out is not measured
  const parts = rows.map((x): Value => op.slice(g, op.gemm(g, x, w, null, { transB: true }), 1, n - 1, 1))
  g.output(op.concat(g, parts, 1), 'y')
  const session = await EngineSession.open(g, { threads })
  try {
    const filled = (size: number) => Float32Array.from({ length: size }, (_, i) => ((i * 7919) % 101) / 101 - 0.5)
    const feeds = Object.fromEntries([
      ...rows.map((x) => [x.name, { data: filled(m * k), shape: [m, k] }] as const),
      [w.name, { data: filled(n * k), shape: [n, k] }] as const,
    ])
    await session.run(feeds)
    let best = Infinity
    for (let i = 0; i < repeats; i++) {
      const started = performance.now()
      await session.run(feeds)
      best = Math.min(best, performance.now() - started)
    }
    return (2 * m * k * n * count) / best / 1e6
  } finally {
    await session.dispose()
  }
}
