/** Rows of a long list, fetched page by page as they come into sight; of the pages the last used ones are kept. */

export interface PageSource<Row> {
  /** Rows [from, from + count), fewer at the end. */
  readonly fetch: (from: number, count: number) => Promise<readonly Row[]>
  /** More rows are at hand. */
  readonly changed: () => void
  /** A page could not be had; it is tried again when rows are next wanted. */
  readonly failed: (thrown: unknown) => void
}

export class RowPages<Row> {
  /** By place in the list, the longest unused first. */
  #pages = new Map<number, readonly Row[]>()
  #asked = new Set<number>()
  #wanted = { from: 0, to: 0, total: 0 }
  #dropped = false

  /** @param most pages kept; @param atOnce questions under way at the same time */
  constructor(
    private readonly source: PageSource<Row>,
    readonly size = 100,
    private readonly most = 60,
    private readonly atOnce = 2,
  ) {}

  row(place: number): Row | undefined {
    return this.#pages.get(Math.floor(place / this.size))?.[place % this.size]
  }

  /** Rows [from, to) of `total` are to be seen now; what was wanted before and has not been asked for is forgotten. */
  want(from: number, to: number, total: number): void {
    this.#wanted = { from, to: Math.min(to, total), total }
    this.#pump()
  }

  /** Asks nothing more and says nothing more. */
  drop(): void {
    this.#dropped = true
    this.#pages.clear()
  }

  #pump(): void {
    const { from, to, total } = this.#wanted
    for (let page = Math.floor(from / this.size); page * this.size < to; page += 1) {
      if (this.#dropped || this.#asked.size >= this.atOnce) return
      const count = Math.min(this.size, total - page * this.size)
      const known = this.#pages.get(page)
      if (known) this.#keep(page, known)
      if (!this.#asked.has(page) && (known?.length ?? 0) < count) void this.#ask(page, count)
    }
  }

  async #ask(page: number, count: number): Promise<void> {
    this.#asked.add(page)
    let rows: readonly Row[]
    try {
      rows = await this.source.fetch(page * this.size, count)
    } catch (thrown) {
      this.#asked.delete(page)
      if (!this.#dropped) this.source.failed(thrown)
      return
    }
    this.#asked.delete(page)
    if (this.#dropped) return
    this.#keep(page, rows)
    this.source.changed()
    // Fewer than there should be: asked again only when they are next wanted, not at once.
    if (rows.length >= count) this.#pump()
  }

  #keep(page: number, rows: readonly Row[]): void {
    this.#pages.delete(page)
    this.#pages.set(page, rows)
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= this.most) break
      this.#pages.delete(oldest)
    }
  }
}
