/** Three experts who think side by side, and a summarizer who reads all three and answers each. */
import type { StyleDefinition } from './style'

export const mixture: StyleDefinition = {
  name: 'mixture',
  agentCount: 4,
  roles: [
    {
      role: 'math-expert',
      referenceName: 'hie_math_expert',
      releasedName: 'math',
      targets: ['hie_math_expert', 'math_expert', 'expert_math'],
    },
    {
      role: 'code-expert',
      referenceName: 'hie_code_expert',
      releasedName: 'code',
      targets: ['hie_code_expert', 'code_expert', 'expert_code'],
    },
    {
      role: 'science-expert',
      referenceName: 'hie_science_expert',
      releasedName: 'science',
      targets: ['hie_science_expert', 'science_expert', 'expert_science'],
    },
    {
      role: 'summarizer',
      referenceName: 'hie_summarizer',
      targets: ['answer', 'hie_summarizer', 'summary'],
      innerTargets: ['hie_summarizer', 'summary', 'answer'],
    },
  ],
  links: [
    { key: 'outer_1s', source: 0, target: 3, slot: 'math' },
    { key: 'outer_2s', source: 1, target: 3, slot: 'code' },
    { key: 'outer_3s', source: 2, target: 3, slot: 'science' },
    { key: 'outer_s1', source: 3, target: 0, slot: 'feedback' },
    { key: 'outer_s2', source: 3, target: 1, slot: 'feedback' },
    { key: 'outer_s3', source: 3, target: 2, slot: 'feedback' },
  ],
  last: 3,
}
