/** Estimates of memory as sums of named parts. Bytes throughout; nothing here loads a model. */

export interface MemoryPart {
  /** For a person: what takes it. */
  readonly name: string
  readonly bytes: number
}

export interface MemoryEstimate {
  /** What a process of its own holds at its largest. */
  readonly total: number
  readonly parts: readonly MemoryPart[]
}

/** Parts of nothing are left out. */
export function estimateOf(parts: readonly MemoryPart[]): MemoryEstimate {
  const whole = parts.flatMap(({ name, bytes }) => (bytes > 0 ? [{ name, bytes: Math.round(bytes) }] : []))
  return { total: whole.reduce((n, { bytes }) => n + bytes, 0), parts: whole }
}

/** As people say it: "4.2 GB" (10^9 bytes), below one "310 MB". */
export function inGigabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.ceil(bytes / 1e6)} MB`
}
