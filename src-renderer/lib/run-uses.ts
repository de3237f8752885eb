/** What data is used for, in words. */
import type { RunUse } from '../../src-main/bridge/contract'

export const runUses: readonly { value: RunUse; title: string }[] = [
  { value: 'inner', title: 'Inner training' },
  { value: 'outer', title: 'Outer training' },
  { value: 'evaluate', title: 'Evaluation' },
]
