/** What a job has at hand while it runs: a voice, a way to be stopped, and the folder it writes to. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Progress, type JobNews } from './progress'

/** Thrown where a job notices that it was asked to stop. */
export class StopRequested extends Error {
  constructor() {
    super('the job was asked to stop')
  }
}

export interface JobContext {
  readonly output: string
  readonly resume: boolean
  /**
   * All that can be told to be wrong without computing has been told: from now on the output folder is the run's. Before, nothing
   * may be written to it. Throws UserError where the disk refuses.
   */
  begin(): Promise<void>
  say(news: JobNews): void
  warn(message: string): void
  progress(phase: string, title: string, total: number, unit: string, already?: number): Progress
  /** Asked to stop? Looks at messages that came in while sessions were running. */
  stopping(): Promise<boolean>
  /** As `stopping`, but throws StopRequested. */
  checkpoint(): Promise<void>
}

export function jobContext(options: {
  output: string
  resume: boolean
  signal?: AbortSignal
  begin: () => Promise<void>
  say: (news: JobNews) => void
}): JobContext {
  const { output, resume, signal, begin, say } = options
  const warned = new Set<string>()
  const stopping = async () => {
    // sessions block the thread: only between two turns of the event loop can a message be seen
    await nextTurn()
    return signal?.aborted ?? false
  }
  return {
    output,
    resume,
    begin,
    say,
    /** The same sentence once. */
    warn: (message) => {
      if (warned.has(message)) return
      warned.add(message)
      say({ kind: 'log', level: 'warning', message })
    },
    progress: (phase, title, total, unit, already) => new Progress(say, phase, title, total, unit, already),
    stopping,
    checkpoint: async () => {
      if (await stopping()) throw new StopRequested()
    },
  }
}
