/** The questions of one evaluation that fit a filter, page by page. */
import type { QuestionFilter, QuestionSummary, StudioError } from '../../src-main/bridge/contract'
import { asError, ask } from './bridge'

const pageSize = 500

export class QuestionList {
  #rows = $state.raw<readonly QuestionSummary[]>([])
  #total = $state(0)
  #gradersDiffer = $state(0)
  #loading = $state(false)
  #error = $state.raw<StudioError | undefined>()
  #turn = 0
  #filter: QuestionFilter = 'all'
  #search = ''

  constructor(
    readonly project: string,
    readonly result: string,
  ) {
    void this.#detail()
  }

  get rows(): readonly QuestionSummary[] {
    return this.#rows
  }

  /** How many fit, shown or not. */
  get total(): number {
    return this.#total
  }

  /** Questions on which the two graders disagree. */
  get gradersDiffer(): number {
    return this.#gradersDiffer
  }

  get loading(): boolean {
    return this.#loading
  }

  get error(): StudioError | undefined {
    return this.#error
  }

  /** Starts anew with another filter. */
  async find(filter: QuestionFilter, search: string): Promise<void> {
    this.#filter = filter
    this.#search = search.slice(0, 200)
    await this.#ask(0, (rows) => rows)
  }

  /** The next page, where there is one and nothing is being asked already. */
  async more(): Promise<void> {
    if (this.#loading || this.#rows.length >= this.#total) return
    const known = this.#rows
    await this.#ask(known.length, (rows) => [...known, ...rows])
  }

  async #ask(offset: number, join: (rows: QuestionSummary[]) => readonly QuestionSummary[]): Promise<void> {
    const turn = ++this.#turn
    this.#loading = true
    try {
      const { project, result } = this
      const page = { filter: this.#filter, search: this.#search, offset, limit: pageSize }
      const { rows, total } = await ask('results/questions', { project, result, ...page })
      if (turn !== this.#turn) return
      this.#rows = join(rows)
      this.#total = total
      this.#error = undefined
    } catch (thrown) {
      if (turn === this.#turn) this.#error = asError(thrown)
    } finally {
      if (turn === this.#turn) this.#loading = false
    }
  }

  async #detail(): Promise<void> {
    try {
      this.#gradersDiffer = (await ask('results/get', { project: this.project, result: this.result })).gradersDiffer
    } catch (thrown) {
      this.#error = asError(thrown)
    }
  }
}

export function isFilter(value: unknown): value is QuestionFilter {
  return value === 'all' || value === 'right' || value === 'wrong' || value === 'graders-differ'
}
