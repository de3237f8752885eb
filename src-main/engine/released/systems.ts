/**
 * The published systems: which style each is of, and the repositories that hold its parts (method specification, inference 1.1).
 * A part is an agent (model and inner link side by side) or the outer links of the team.
 */
export const releasedOrganisation = 'RecursiveMAS'

/** The part that holds the outer links. */
export const outerPart = 'outer'

export interface ReleasedSystem {
  readonly name: string
  readonly style: string
  /** By agent index of the style. */
  readonly agents: readonly string[]
  readonly outer: string
}

export const releasedSystems = [
  {
    name: 'sequential_light',
    style: 'sequential',
    agents: [
      'Sequential-Light-Planner-Qwen3-1.7B',
      'Sequential-Light-Critic-Llama3.2-1B',
      'Sequential-Light-Solver-Qwen2.5-Math-1.5B',
    ],
    outer: 'Sequential-Light-Outerlinks',
  },
  {
    name: 'sequential_scaled',
    style: 'sequential',
    agents: [
      'Sequential-Scaled-Planner-Gemma3-4B',
      'Sequential-Scaled-Critic-Llama3.2-3B',
      'Sequential-Scaled-Solver-Qwen3.5-4B',
    ],
    outer: 'Sequential-Scaled-Outerlinks',
  },
  {
    name: 'mixture',
    style: 'mixture',
    agents: [
      'Mixture-Math-DeepSeek-R1-Distill-Qwen-1.5B',
      'Mixture-Code-Qwen2.5-Coder-3B',
      'Mixture-Science-BioMistral-7B',
      'Mixture-Summarizer-Qwen3.5-2B',
    ],
    outer: 'Mixture-Outerlinks',
  },
  {
    name: 'distillation',
    style: 'distillation',
    agents: ['Distillation-Expert-Qwen3.5-9B', 'Distillation-Learner-Qwen3.5-4B'],
    outer: 'Distillation-Outerlinks',
  },
  {
    name: 'deliberation',
    style: 'deliberation',
    agents: ['Deliberation-Reflector-Qwen3.5-4B', 'Deliberation-Toolcaller-Qwen3.5-4B'],
    outer: 'Deliberation-Outerlinks',
  },
] as const satisfies readonly ReleasedSystem[]

export type ReleasedName = (typeof releasedSystems)[number]['name']

export const releasedNames = releasedSystems.map((s) => s.name) as [ReleasedName, ...ReleasedName[]]

/** Null where no published system has the name. */
export function releasedSystem(name: string): ReleasedSystem | null {
  return releasedSystems.find((s) => s.name === name) ?? null
}
