/** Work on an open set. It goes on, and its outcome stays, while the tabs that show it come and go. */
import type { DatasetEntry, MappingReport, TokenLengths } from '../../src-main/bridge/contract'
import { noticeManager } from './notice-manager.svelte'
import type { ShownRows } from './shown-rows.svelte'
import { TicketedJob } from './ticketed-job.svelte'

export class SetWork {
  readonly check: TicketedJob<MappingReport>
  readonly lengths = new TicketedJob<readonly TokenLengths[]>()
  readonly save = new TicketedJob<DatasetEntry>()
  readonly exporting = new TicketedJob<void>()

  constructor(rows: ShownRows) {
    this.check = new TicketedJob<MappingReport>((report) => {
      for (const { order } of report.problems) if (order !== null) rows.release(order)
    })
  }

  /** What is still to be written is written; fulfilled when the set may be closed. */
  async end(): Promise<void> {
    this.check.cancel()
    this.lengths.cancel()
    const writing = [this.save, this.exporting].filter(({ busy }) => busy)
    for (const job of writing) {
      await job.settled()
      if (job.error) noticeManager.report(job.error)
    }
  }
}
