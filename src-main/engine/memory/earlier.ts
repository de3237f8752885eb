/** What a run that is resumed said of its memory when it began. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { jobEvent } from '../job-events'

export interface EarlierMemory {
  /** Bytes that batches went by: with the same they are the same, and so are the results to the bit. */
  readonly limit: number
}

/** null where the journal says nothing of it. */
export function earlierMemory(output: string): EarlierMemory | null {
  let text: string
  try {
    text = readFileSync(join(output, 'journal.jsonl'), 'utf8')
  } catch {
    return null
  }
  for (const line of text.split('\n')) {
    if (!line.includes('"memory"')) continue
    const event = jobEvent.safeParse(parsed(line)).data
    if (event?.kind === 'memory') return { limit: event.batchLimit }
  }
  return null
}

/** A killed process leaves half a line. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
