/** The 95 % Wilson interval of a proportion, for scores that are still being counted. */

const z = 1.959963984540054

export function wilson(right: number, total: number): { value: number; low: number; high: number; n: number } {
  if (total === 0) return { value: 0, low: 0, high: 1, n: 0 }
  const p = right / total
  const scale = 1 + (z * z) / total
  const center = (p + (z * z) / (2 * total)) / scale
  const half = (z * Math.sqrt((p * (1 - p)) / total + (z * z) / (4 * total * total))) / scale
  return { value: p, low: Math.max(0, center - half), high: Math.min(1, center + half), n: total }
}
