/**
 * The events of a run on their way into its folder. The folder becomes the run's when the run begins; what is said before is kept
 * back till then, so that a job that cannot begin leaves the folder as it was.
 */
import { takeOver } from './earlier-run'
import type { JobEvent } from './job-events'
import type { JobSpec } from './job-spec'
import { RunFolder } from './run-folder'

export class RunRecord {
  private readonly folder: RunFolder
  private held: JobEvent[] | null = []

  constructor(
    private readonly job: JobSpec,
    private readonly resume: boolean,
  ) {
    this.folder = new RunFolder(job.output)
  }

  get begun(): boolean {
    return this.held === null
  }

  /** The name of the folder in which an earlier run was set aside, null where there was none. Throws UserError where the disk refuses. */
  async begin(): Promise<string | null> {
    if (this.held === null) return null
    const aside = await takeOver(this.job, this.resume)
    const held = this.held
    this.held = null
    for (const event of held) this.write(event)
    return aside
  }

  /** Losing a line here (a full disk) must not hide the reason why: errors go to the caller. */
  write(event: JobEvent): void {
    if (this.held) {
      this.held.push(event)
      return
    }
    // numbers of steps that come again (all, without a checkpoint) go before the first of them is said
    if (event.kind === 'started' && event.job !== 'evaluate') this.folder.forgetMetricsAfter(event.resumedFrom ?? -1)
    this.folder.write(event)
  }
}
