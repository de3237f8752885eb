/** Teams of golden models with golden links. */
import { openAgent } from '../../src-main/engine/agents/onnx-agent'
import type { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import type { OuterLinkType } from '../../src-main/engine/nn/link-types'
import { sequential } from '../../src-main/engine/styles/sequential'
import type { StyleGraph } from '../../src-main/engine/styles/style'
import type { Team } from '../../src-main/engine/styles/team'
import { mixtureGraph } from '../unit/training/toy-team'
import { type GoldenTensors, goldenPath } from './golden-files'

export interface GoldenSystem {
  style: string
  agents: string[]
  links: [string, number, number][]
  /** Outer link type; inference has one type only and does not say it. */
  type?: OuterLinkType
}

/** Golden models of the families that the engine has. */
export const supportedModels = ['llama', 'llama3-rope-bf16', 'mistral-window', 'qwen2-sharded', 'qwen3']

const graphs: Record<string, StyleGraph> = { sequential, mixture: mixtureGraph }

/** Inner links from `inner/<agent>/`, outer links from `<prefix><link>/`. The caller disposes the agents. */
export async function openGoldenTeam(
  record: GoldenSystem,
  tensors: GoldenTensors,
  prefix: string,
  sessions: LinkSessions,
): Promise<Team> {
  const style = graphs[record.style]
  const members: Team['members'][number][] = []
  for (const [i, name] of record.agents.entries()) {
    const agent = await openAgent(goldenPath(`models/${name}`), { threads: 1 })
    const inner = { type: 'ln_res_adapter' as const, parameters: tensors.under(`inner/${i}/`) }
    members.push({
      agent,
      inner,
      innerGraph: sessions.link({ kind: 'inner', type: inner.type, width: agent.hiddenSize }),
      fingerprint: name,
    })
  }
  const type = record.type ?? 'outer_ln_res_adapter'
  const links = record.links.map(([key, source, target]) => ({
    key,
    type,
    source,
    target,
    // trained in place: copies, so that the golden start stays what it is
    parameters: Object.fromEntries(Object.entries(tensors.under(`${prefix}${key}/`)).map(([n, v]) => [n, v.slice()])),
    graph: sessions.link({
      kind: 'outer',
      type,
      inWidth: members[source].agent.hiddenSize,
      outWidth: members[target].agent.hiddenSize,
    }),
  }))
  return { style, members, links }
}
