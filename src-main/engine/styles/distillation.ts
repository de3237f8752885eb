/** An expert whose plan a learner carries out. */
import type { StyleDefinition } from './style'

export const distillation: StyleDefinition = {
  name: 'distillation',
  agentCount: 2,
  roles: [
    { role: 'expert', referenceName: 'distill_expert', targets: ['distill_expert', 'refined_plan', 'expert_plan'] },
    { role: 'learner', referenceName: 'distill_learner', targets: ['distill_learner', 'answer', 'learner_answer'] },
  ],
  links: [
    { key: 'outer_el', source: 0, target: 1, slot: 'expertPlan' },
    { key: 'outer_le', source: 1, target: 0, slot: 'feedback' },
  ],
  last: 1,
}
