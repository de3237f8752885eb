/** What a piece of work is: made ready outside the measured time, then run as often as asked, each time from the same start. */
import { join } from 'node:path'
import type { InnerLinkState } from '../../src-main/engine/agents/agent'
import { type AgentOptions, type OnnxAgent, openAgent } from '../../src-main/engine/agents/onnx-agent'
import type { TensorValue } from '../../src-main/engine/formats/dtypes'
import { readSafetensors } from '../../src-main/engine/formats/safetensors'
import type { LinkParameters } from '../../src-main/engine/nn/link-types'
import type { BenchInputs } from './inputs'

/** Result tensors under the baseline's names. */
export type Results = Readonly<Record<string, TensorValue>>

export interface SessionTime {
  readonly name: string
  readonly seconds: number
}

export interface ReadyWork {
  /** Brings back the start of a run; not measured. */
  reset?(): Promise<void>
  /** The measured part: inputs are in memory before it, results after it. */
  run(): Promise<Results>
  /** Of every session that the work uses. */
  readonly sessions: readonly SessionTime[]
  dispose(): Promise<void>
}

export interface WorkContext {
  /** Folder of weights, links and inputs. */
  readonly folder: string
  readonly inputs: BenchInputs
  readonly threads: number
}

/** Opens the model and makes its session, which otherwise the first run would. */
export async function readyAgent(
  { folder, threads }: WorkContext,
  options: AgentOptions = {},
): Promise<{ agent: OnnxAgent; session: SessionTime }> {
  const agent = await openAgent(folder, { threads, ...options })
  await agent.states([{ segments: [{ kind: 'tokens', ids: [0] }] }], [[0]])
  return { agent, session: { name: 'model', seconds: agent.sessionSeconds } }
}

/** A link's parameters, fresh from its file. */
export async function readLink({ folder }: WorkContext, name: string): Promise<LinkParameters> {
  const { tensors } = await readSafetensors(join(folder, `${name}.safetensors`))
  return Object.fromEntries([...tensors].map(([key, t]) => [key, t.data as Float32Array]))
}

export async function readInnerLink(context: WorkContext, name: string): Promise<InnerLinkState> {
  return { type: 'ln_res_adapter', parameters: await readLink(context, name) }
}

/** Makes a link's session by using it on one row. */
export async function firstUse(name: string, use: () => Promise<unknown>): Promise<SessionTime> {
  const started = performance.now()
  await use()
  return { name, seconds: (performance.now() - started) / 1000 }
}

export const vector = (data: Float32Array): TensorValue => ({ shape: [data.length], data })

export const number = (value: number): TensorValue => ({ shape: [], data: Float32Array.of(value) })

/** Several arrays as one. */
export function flatten(parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}
