/** Whether what is estimated fits into the memory that is free. */
import type { MemoryFit } from '../bridge/contract'
import type { MemoryEstimate } from '../engine/memory/estimate'
import { availableMemory } from '../engine/memory/machine'

/** Below this share of the free memory it fits with something to spare. */
const comfortable = 0.9

/** `note`: measures that it takes to fit and that cost time; null where none are needed. */
export function memoryFit(
  { total, parts }: MemoryEstimate,
  note: string | null = null,
  available = availableMemory(),
): MemoryFit {
  const verdict = total > available ? 'too-large' : note !== null || total > comfortable * available ? 'tight' : 'fits'
  return { total, parts: parts.map(({ name, bytes }) => ({ name, bytes })), available, verdict, note }
}
