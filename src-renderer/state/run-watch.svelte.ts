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
        if (mine(event) && event.from === this.#logTo) this.#appendLog(event.text)
        else if (mine(event) && this.#logTo >= 0 && event.from > this.#logTo) void this.loadLog()
      }),
      listen('run/changed', ({ run: summary }) => {
        if (!mine({ project: summary.project, run: summary.id })) return
        // A resumed run starts from its last checkpoint: later points are void. A change of state also changes details.
        if (summary.state !== this.#state) {
          if (summary.state === 'running') {
            this.points.length = 0
            void this.#loadMetrics()
          }
          void this.#loadDetail()
        }
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
      if (this.points.length === 0 || point.step > this.points[this.points.length - 1].step) this.points.push(point)
    }
  }

  #appendLog(text: string): void {
    this.#logTo += new TextEncoder().encode(text).length
    const log = this.#log + text
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
