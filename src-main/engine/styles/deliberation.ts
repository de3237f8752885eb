/** A reflector, and a tool-caller who answers with search and Python at hand. */
import type { StyleDefinition } from './style'

export const deliberation: StyleDefinition = {
  name: 'deliberation',
  agentCount: 2,
  roles: [
    {
      role: 'reflector',
      referenceName: 'deliberation_reflector',
      targets: ['deliberation_reflector', 'answer'],
    },
    {
      role: 'tool-caller',
      referenceName: 'deliberation_toolcaller',
      releasedName: 'toolcaller',
      targets: ['deliberation_toolcaller', 'answer'],
    },
  ],
  links: [
    { key: 'outer_rt', source: 0, target: 1, slot: 'reflection' },
    { key: 'outer_tr', source: 1, target: 0, slot: 'feedback' },
  ],
  last: 1,
}
