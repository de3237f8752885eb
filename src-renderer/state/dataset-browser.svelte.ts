/** The one data set that is open. It stays open while other screens are shown. */
import type { OpenedDataset, StudioError, TextEncoding } from '../../src-main/bridge/contract'
import { asError, ask, listen } from './bridge'
import { rememberedRequest, rememberRequest } from './row-request-memory'
import { SetWork } from './set-work.svelte'
import { ShownRows } from './shown-rows.svelte'
import { TicketedWork } from './tickets.svelte'

/** How a file is to be read where its content does not say. */
export interface ReadAs {
  readonly file: string | null
  readonly field: string | null
  readonly encoding: TextEncoding | null
}

const asItIs: ReadAs = { file: null, field: null, encoding: null }

class DatasetBrowser {
  #id = $state<string | undefined>()
  #readAs = $state.raw<ReadAs>(asItIs)
  #opened = $state.raw<OpenedDataset | undefined>()
  #rows = $state.raw<ShownRows | undefined>()
  #work = $state.raw<SetWork | undefined>()
  #error = $state.raw<StudioError | undefined>()
  /** The process that reads data has ended. */
  #lost = $state(false)
  #turn = 0
  readonly opening = new TicketedWork()

  get id(): string | undefined {
    return this.#id
  }

  get readAs(): ReadAs {
    return this.#readAs
  }

  get opened(): OpenedDataset | undefined {
    return this.#opened
  }

  get rows(): ShownRows | undefined {
    return this.#rows
  }

  get work(): SetWork | undefined {
    return this.#work
  }

  get error(): StudioError | undefined {
    return this.#error
  }

  get lost(): boolean {
    return this.#lost
  }

  start(): void {
    listen('datasets/lost', ({ error }) => {
      if (!this.#opened) return
      this.#forget()
      this.#lost = true
      this.#error = error ?? {
        what: 'The data set is not open any more.',
        why: 'The process that reads data ended.',
        next: 'Open it again.',
      }
    })
  }

  /** Opens a set unless it is open, or being opened, already. */
  async show(id: string): Promise<void> {
    if (id !== this.#id) await this.open(id, asItIs)
    else if (this.#error) await this.open(id)
  }

  /** Opens it, again where it is open: another file of it, or read in another way. */
  async open(id: string, readAs: ReadAs = this.#readAs): Promise<void> {
    const turn = ++this.#turn
    this.opening.cancel()
    this.#close()
    this.#id = id
    this.#readAs = readAs
    this.#error = undefined
    this.#lost = false
    try {
      const opened = await this.opening.run((ticket) => ask('datasets/open', { id, ...readAs, ticket }))
      if (turn !== this.#turn) return closeQuietly(opened.handle)
      this.#rows = new ShownRows(opened, rememberedRequest(opened), (request) => rememberRequest(opened, request))
      this.#work = new SetWork(this.#rows)
      this.#opened = opened
    } catch (thrown) {
      if (turn === this.#turn) this.#error = asError(thrown)
    }
  }

  /** Closes a set that was deleted. */
  close(): void {
    this.#turn += 1
    this.opening.cancel()
    this.#close()
    this.#id = undefined
    this.#error = undefined
  }

  #close(): void {
    const { handle } = this.#opened ?? {}
    if (handle !== undefined) void this.#work?.end().then(() => closeQuietly(handle))
    this.#forget()
  }

  #forget(): void {
    this.#rows?.close()
    this.#rows = undefined
    this.#work = undefined
    this.#opened = undefined
  }
}

/** Whatever is wrong with it, nobody needs it any more. */
function closeQuietly(handle: string): void {
  ask('datasets/close', { handle }).catch(() => undefined)
}

export const datasetBrowser = new DatasetBrowser()
