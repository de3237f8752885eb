/** Teams of golden models with golden links. */
import { readdirSync } from 'node:fs'
import { type AgentOptions, openAgent } from '../../src-main/engine/agents/onnx-agent'
import type { LinkSessions } from '../../src-main/engine/nn/link-graphs'
import type { OuterLinkType } from '../../src-main/engine/nn/link-types'
import { families } from '../../src-main/engine/models/families'
import { styleByName } from '../../src-main/engine/styles/registry'
import type { Team } from '../../src-main/engine/styles/team'
import { type GoldenTensors, goldenJson, goldenPath } from './golden-files'

export interface GoldenSystem {
  style: string
  agents: string[]
  links: [string, number, number][]
  /** Outer link type; inference has one type only and does not say it. */
  type?: OuterLinkType
}

/** Golden systems (of a folder) whose models are all of families that the engine has. */
export function goldenSystems(folder: string): string[] {
  const supported = (model: string) =>
    goldenJson<{ model_type: string }>(`models/${model}/config.json`).model_type in families
  return readdirSync(goldenPath(folder))
    .filter((f) => f.endsWith('.json'))
    .filter((f) => goldenJson<GoldenSystem>(`${folder}/${f}`).agents.every(supported))
    .map((f) => f.slice(0, -'.json'.length))
}

/** Inner links from `inner/<agent>/`, outer links from `<prefix><link>/`. The caller disposes the agents. */
export async function openGoldenTeam(
  record: GoldenSystem,
  tensors: GoldenTensors,
  prefix: string,
  sessions: LinkSessions,
  options: AgentOptions = {},
): Promise<Team> {
  const style = styleByName(record.style)
  if (JSON.stringify(record.links) !== JSON.stringify(style.links.map((l) => [l.key, l.source, l.target])))
    throw new Error(`the links of ${record.style} are other ones`)
  const members: Team['members'][number][] = []
  for (const [i, name] of record.agents.entries()) {
    const agent = await openAgent(goldenPath(`models/${name}`), { threads: 1, ...options })
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
