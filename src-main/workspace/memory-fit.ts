/** Whether what is estimated fits into the memory that is free. */
import type { MemoryFit, StepMemory } from '../bridge/contract'
import { estimateOf, type MemoryEstimate } from '../engine/memory/estimate'
import { availableMemory, memoryForJobs } from '../engine/memory/machine'
import { runtimePart, stepCopies } from '../engine/memory/model-memory'

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

/**
 * What the models of a job take by themselves, in the way in which a run would hold them (engine/memory/job-memory.ts): all beside each
 * other, where that is too much without copies for fast steps, and at last one after the other, so that the largest has to fit.
 */
export function modelsFit(models: readonly MemoryEstimate[], available = memoryForJobs()): StepMemory {
  const lean = models.map(({ parts }) => estimateOf(parts.filter(({ name }) => name !== stepCopies)))
  const together = lean.length > 1 ? sumOf(lean).total : null
  const ways = [
    { estimate: sumOf(models), inTurn: false },
    { estimate: sumOf(lean), inTurn: false },
    ...(together === null
      ? []
      : [
          { estimate: largestOf(models), inTurn: true },
          { estimate: largestOf(lean), inTurn: true },
        ]),
  ]
  const { estimate, inTurn } = ways.find((way) => way.estimate.total <= available) ?? ways[ways.length - 1]
  const note = inTurn ? 'Its models take turns in memory, which takes more time.' : null
  return { ...memoryFit(estimate, note, available), together: inTurn ? together : null }
}

/** Parts of one name added up; of the runtime there is one. */
function sumOf(models: readonly MemoryEstimate[]): MemoryEstimate {
  const sums = new Map<string, number>()
  for (const { name, bytes } of models.flatMap(({ parts }) => parts))
    sums.set(name, name === runtimePart ? bytes : (sums.get(name) ?? 0) + bytes)
  return estimateOf([...sums].map(([name, bytes]) => ({ name, bytes })))
}

function largestOf(models: readonly MemoryEstimate[]): MemoryEstimate {
  return models.reduce((a, b) => (b.total > a.total ? b : a))
}
