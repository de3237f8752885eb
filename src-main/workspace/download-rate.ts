/** How fast bytes come in, smoothed over the last seconds, and how long the rest takes at that rate. */

/** Milliseconds that are looked back; below the least nothing is said. */
const window = 8_000
const least = 3_000

export class DownloadRate {
  private samples: { time: number; bytes: number }[] = []

  /** `bytes` on the disk at `time` (ms). */
  add(time: number, bytes: number): void {
    // bytes that were wrong and come again
    if (bytes < (this.samples.at(-1)?.bytes ?? 0)) this.samples = []
    this.samples.push({ time, bytes })
    while (this.samples.length > 2 && time - this.samples[1].time >= window) this.samples.shift()
  }

  /** Bytes a second; null while too little is known, and where nothing has come for long. */
  rate(now: number): number | null {
    const [first] = this.samples
    const last = this.samples.at(-1)
    if (!first || !last || now - first.time < least) return null
    const rate = ((last.bytes - first.bytes) * 1000) / (now - first.time)
    return rate > 0 ? rate : null
  }

  secondsLeft(now: number, total: number): number | null {
    const rate = this.rate(now)
    return rate === null ? null : Math.max(0, total - (this.samples.at(-1)?.bytes ?? 0)) / rate
  }
}
