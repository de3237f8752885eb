/** Planner, critic, solver: a chain whose end feeds its beginning. */
import type { StyleDefinition } from './style'

export const sequential: StyleDefinition = {
  name: 'sequential',
  agentCount: 3,
  roles: [
    { role: 'planner', targets: ['plan'] },
    { role: 'critic', referenceName: 'refiner', targets: ['refined_plan'] },
    { role: 'solver', targets: ['answer'] },
  ],
  links: [
    { key: 'outer_12', source: 0, target: 1, slot: 'plan' },
    { key: 'outer_23', source: 1, target: 2, slot: 'refinedPlan' },
    { key: 'outer_31', source: 2, target: 0, slot: 'feedback' },
  ],
  last: 2,
}
