/** What a run that is resumed did with its memory when it began. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { jobEvent } from '../job-events'

/** With the same of all of it the results are the same to the bit. */
export interface EarlierMemory {
  /** Bytes that batches and kept passes went by. */
  readonly batchLimit: number
  readonly checkpointBlocks: boolean
  /** Names of the models whose weights were held twice. */
  readonly packed: readonly string[]
}

/** What its first start said; null where the journal says nothing of it. */
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
    if (event?.kind === 'memory') return event
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
