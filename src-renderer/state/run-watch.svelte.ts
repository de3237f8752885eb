/**
 * One run while somebody looks at it: details, all metrics, held-out measurements and the log. Points go into plain arrays,
 * which charts read; `version` changes at most once per animation frame, so that thousands of points cost one redraw.
 */
import type { MetricPoint, RunDetail, RunSummary, StudioError, ValidationPoint } from '../../src-main/bridge/contract'
import { asError, ask, listen } from './bridge'
import { Resource } from './resource.svelte'

/** The log view keeps this many characters; the whole file lies in the run's folder. */
const logLimit = 400_000
const historyPoints = 4000

export class RunWatch {
  readonly points: MetricPoint[] = []
  readonly validations: ValidationPoint[] = []
  #detail = new Resource<RunDetail>()
  #metricsError = $state.raw<StudioError | undefined>()
  #log = $state('')
  #logError = $state.raw<StudioError | undefined>()
  #logTo = -1
  #version = $state(0)
  #frame = 0
  #off: (() => void)[] = []
  #state: RunSummary['state'] | undefined
  /** When the stretch began whose points are shown. */
  #stretch: number | undefined

  constructor(
    readonly project: string,
    readonly run: string,
  ) {
    const mine = (event: { project: string; run: string }): boolean => event.project === project && event.run === run
    this.#off = [
      listen('run/metrics', (event) => {
        if (mine(event)) this.#append(event.points)
      }),
      listen('run/validation', (event) => {
        if (!mine(event)) return
        this.validations.push(event.validation)
        this.#changed()
      }),
      listen('run/log', (event) => {
        if (mine(event) && this.#logTo >= 0) this.#growLog(event.from, event.text)
      }),
      listen('run/changed', ({ run: summary }) => {
        if (!mine({ project: summary.project, run: summary.id })) return
        // A new stretch starts from the last checkpoint, and the file of metrics was cut there. A change of state changes details.
        const stretch = summary.stretch?.time
        if (stretch !== undefined && stretch !== this.#stretch) {
          this.points.length = 0
          this.#stretch = stretch
          void this.#loadMetrics()
        }
        if (summary.state !== this.#state) void this.#loadDetail()
        this.#state = summary.state
      }),
    ]
    void this.#loadDetail()
    void this.#loadMetrics()
  }

  get detail(): RunDetail | undefined {
    return this.#detail.value
  }

  get error(): StudioError | undefined {
    return this.#detail.error ?? this.#metricsError
  }

  get log(): string {
    return this.#log
  }

  get logError(): StudioError | undefined {
    return this.#logError
  }

  /** Read this to be told of new points. */
  get version(): number {
    return this.#version
  }

  /** The end of the log; from then on it grows by itself. */
  async loadLog(): Promise<void> {
    try {
      const slice = await ask('runs/log', { project: this.project, run: this.run, from: null })
      this.#log = slice.text
      this.#logTo = slice.to
      this.#logError = undefined
    } catch (thrown) {
      this.#logError = asError(thrown)
    }
  }

  /** Stops listening. */
  dispose(): void {
    for (const off of this.#off) off()
    cancelAnimationFrame(this.#frame)
  }

  async #loadDetail(): Promise<void> {
    await this.#detail.load(() => ask('runs/get', { project: this.project, run: this.run }))
    this.#state ??= this.#detail.value?.state
    this.#stretch ??= this.#detail.value?.stretch?.time
  }

  async #loadMetrics(): Promise<void> {
    try {
      const history = await ask('runs/metrics', { project: this.project, run: this.run, points: historyPoints })
      const later = this.points.filter((point) => point.time > (history.points.at(-1)?.time ?? 0))
      this.points.length = 0
      this.#push(history.points)
      this.#push(later)
      this.validations.length = 0
      this.validations.push(...history.validations)
      this.#metricsError = undefined
      this.#changed()
    } catch (thrown) {
      this.#metricsError = asError(thrown)
    }
  }

  #append(points: readonly MetricPoint[]): void {
    this.#push(points)
    this.#changed()
  }

  #push(points: readonly MetricPoint[]): void {
    for (const point of points) {
      // The same step at a later time is a resumed run that does it again: what came after it is void.
      const last = this.points.at(-1)
      if (last && point.step <= last.step) {
        const again = this.points.findIndex((known) => known.step >= point.step)
        if (this.points[again].time >= point.time) continue
        this.points.length = again
      }
      this.points.push(point)
    }
  }

  /** Appends what is new of a text that starts at byte `from`; asks again where a part between is missing. */
  #growLog(from: number, text: string): void {
    if (from > this.#logTo) return void this.loadLog()
    const bytes = new TextEncoder().encode(text)
    const fresh = bytes.subarray(Math.min(this.#logTo - from, bytes.length))
    this.#logTo += fresh.length
    const log = this.#log + new TextDecoder().decode(fresh)
    this.#log = log.length > logLimit ? log.slice(log.indexOf('\n', log.length - logLimit) + 1) : log
  }

  #changed(): void {
    if (this.#frame) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#version += 1
    })
  }
}
