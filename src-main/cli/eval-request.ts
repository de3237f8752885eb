/**
 * `npm run engine -- eval`: runs a model on a request file and writes what was asked for into a result file, all .safetensors.
 * B rows of T positions, H hidden size, V vocabulary, L latent steps, N tokens.
 */
import { realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Agent, InnerLinkState, Row } from '../engine/agents/agent'
import { openAgent } from '../engine/agents/onnx-agent'
import { UserError } from '../engine/errors'
import type { HostTensor, TensorValue } from '../engine/formats/dtypes'
import { readSafetensors, writeSafetensors } from '../engine/formats/safetensors'
import { loadInnerLink } from '../engine/training/link-files'
import { parseOptions, required, wholeNumber } from './options'
import { UsageError } from './usage-error'

export const evalUsage = `npm run engine -- eval --model DIR --in request.safetensors --out result.safetensors --want LIST [options]
  --in FILE      ids int64 [B,T] or inputs_embeds float32 [B,T,H]; for vjp also cotangent float32 [B,T,H]
  --want LIST    of hidden, logits, vjp, rollout, greedy, separated by commas; the result holds hidden [B,T,H],
                 logits [B,T,V], grad [B,T,H], rollout.states and rollout.fed [B,L,H], greedy.tokens int64 [B,N]
  --link FILE    rollout's inner link: a checkpoint folder, .safetensors or .pt
  --steps N      latent steps of rollout (default 12)
  --tokens N     tokens of greedy (default 24); stop ids are ignored
  --threads N    threads of the compute engine`

const wants = ['hidden', 'logits', 'vjp', 'rollout', 'greedy'] as const
type Want = (typeof wants)[number]

export interface EvalRequest {
  readonly batch: number
  readonly length: number
  readonly input:
    | { readonly kind: 'ids'; readonly ids: readonly (readonly number[])[] }
    /** Per row [T, H]. */
    | { readonly kind: 'embeds'; readonly rows: readonly Float32Array[]; readonly width: number }
  /** Per row [T, H]. */
  readonly cotangents: readonly Float32Array[] | null
}

/** Throws UserError, UsageError. */
export async function evalCommand(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseOptions(
    args,
    { model: text, in: text, out: text, want: text, link: text, steps: text, tokens: text, threads: text },
    evalUsage,
  )
  const [model, input, output] = (['model', 'in', 'out'] as const).map((name) =>
    required(name, values[name], evalUsage),
  )
  const wanted = parseWants(required('want', values.want, evalUsage))
  const steps = wholeNumber('steps', values.steps ?? '12', 1, evalUsage)
  const tokens = wholeNumber('tokens', values.tokens ?? '24', 1, evalUsage)
  const threads = values.threads === undefined ? undefined : wholeNumber('threads', values.threads, 1, evalUsage)
  if (wanted.has('rollout') && values.link === undefined)
    throw new UsageError('rollout needs an inner link: --link FILE.', evalUsage)
  await refuseMissingFolder(output)
  await refuseWritingInto(model, output)
  const request = await readRequest(input)
  if (wanted.has('vjp') && request.cotangents === null) throw unfit(input, 'vjp needs the tensor "cotangent" [B,T,H]')
  const agent = await openAgent(model, { threads })
  try {
    checkAgainst(agent, request, input)
    const link = wanted.has('rollout')
      ? await loadInnerLink(path.resolve(values.link!), { width: agent.hiddenSize })
      : null
    const result = await evaluate(agent, request, { wanted, steps, tokens, link })
    await writeSafetensors(path.resolve(output), result)
  } finally {
    await agent.dispose()
  }
}

/** A mistyped path must not become folders. */
async function refuseMissingFolder(output: string): Promise<void> {
  const folder = path.dirname(path.resolve(output))
  const there = await stat(folder).then(
    (info) => info.isDirectory(),
    () => false,
  )
  if (!there)
    throw new UserError({
      what: 'The result cannot be written there.',
      why: `The folder ${folder} does not exist.`,
      next: 'Make it first, or name another place with --out.',
    })
}

/** A model's folder is never written to: a result there could replace its weights. */
async function refuseWritingInto(model: string, output: string): Promise<void> {
  const real = (p: string) => realpath(p).catch(() => path.resolve(p))
  const [folder, target] = [await real(model), await real(path.dirname(path.resolve(output)))]
  const inside = path.relative(folder, target)
  if (inside === '' || !(inside.startsWith('..') || path.isAbsolute(inside)))
    throw new UserError({
      what: 'The result cannot be written there.',
      why: `${output} lies in the model's own folder, which is never written to.`,
      next: 'Name another place with --out.',
    })
}

/** The tensors asked for, in a fixed order. */
export async function evaluate(
  agent: Agent,
  request: EvalRequest,
  options: { wanted: ReadonlySet<Want>; steps: number; tokens: number; link: InnerLinkState | null },
): Promise<(readonly [string, TensorValue])[]> {
  const { wanted, steps, tokens, link } = options
  const { batch, length, input, cotangents } = request
  const { hiddenSize, vocabSize } = agent
  const rows = rowsOf(input, length)
  const everywhere = rows.map(() => Array.from({ length }, (_, t) => t))
  const result: (readonly [string, TensorValue])[] = []
  const floats = (name: string, perRow: readonly Float32Array[], count: number, width: number): void => {
    const data = new Float32Array(batch * count * width)
    perRow.forEach((row, b) => data.set(row, b * count * width))
    result.push([name, { shape: [batch, count, width], data }])
  }
  if (wanted.has('hidden')) floats('hidden', await agent.states(rows, everywhere), length, hiddenSize)
  if (wanted.has('logits')) floats('logits', await agent.logits(rows, everywhere), length, vocabSize)
  if (wanted.has('vjp') && cotangents) {
    const embedded = await embeddedRows(agent, input, length)
    const { gradients } = await agent.vjp(embedded, { positions: everywhere, cotangents })
    const perRow = gradients.map(([gradient]) => gradient)
    floats('grad', perRow, length, hiddenSize)
  }
  if (wanted.has('rollout') && link) {
    const { states, fed } = await agent.rollout(rows, link, steps)
    floats('rollout.states', states, steps, hiddenSize)
    floats('rollout.fed', fed, steps, hiddenSize)
  }
  if (wanted.has('greedy')) {
    const greedy = { sample: false, temperature: 1, topK: 0, topP: 1, minP: 0, stopIds: [] }
    const ids = await agent.generate(rows, { ...greedy, maxNewTokens: tokens })
    const data = BigInt64Array.from(ids.flat().map(BigInt))
    result.push(['greedy.tokens', { shape: [batch, tokens], data }])
  }
  return result
}

/** Reads and checks a request file by itself; what depends on the model is checked later. Throws UserError. */
export async function readRequest(file: string): Promise<EvalRequest> {
  const { tensors } = await readSafetensors(path.resolve(file))
  const [ids, embeds] = [tensors.get('ids'), tensors.get('inputs_embeds')]
  if ((ids === undefined) === (embeds === undefined))
    throw unfit(file, `it holds ${ids ? 'both "ids" and' : 'neither "ids" nor'} "inputs_embeds"; one of them is needed`)
  const cotangent = tensors.get('cotangent')
  const { shape } = (ids ?? embeds)!
  const [batch, length] = shape
  if (shape.some((size) => size === 0)) throw unfit(file, `it has no positions: the shape is [${shape.join(', ')}]`)
  if (ids) {
    if (shape.length !== 2 || !(ids.data instanceof BigInt64Array)) throw unfit(file, '"ids" must be int64 [B,T]')
    const flat = Array.from(ids.data, Number)
    const rows = Array.from({ length: batch }, (_, b) => flat.slice(b * length, (b + 1) * length))
    return {
      batch,
      length,
      input: { kind: 'ids', ids: rows },
      cotangents: cotangentRows(cotangent, batch, length, file),
    }
  }
  const width = shape[2]
  const rows = floatRows(embeds!, 'inputs_embeds', batch, length, file)
  return {
    batch,
    length,
    input: { kind: 'embeds', rows, width },
    cotangents: cotangentRows(cotangent, batch, length, file),
  }
}

function cotangentRows(tensor: HostTensor | undefined, batch: number, length: number, file: string) {
  return tensor ? floatRows(tensor, 'cotangent', batch, length, file) : null
}

/** Per row [T, width] of a float tensor [B, T, width]. */
function floatRows(tensor: HostTensor, name: string, batch: number, length: number, file: string): Float32Array[] {
  const { shape, data } = tensor
  if (!(data instanceof Float32Array) || shape.length !== 3 || shape[0] !== batch || shape[1] !== length)
    throw unfit(
      file,
      `"${name}" must be float32 [${batch}, ${length}, H], and is ${tensor.dtype} [${shape.join(', ')}]`,
    )
  const size = length * shape[2]
  return Array.from({ length: batch }, (_, b) => data.slice(b * size, (b + 1) * size))
}

function checkAgainst(agent: Agent, { input, cotangents, length }: EvalRequest, file: string): void {
  if (input.kind === 'embeds' && input.width !== agent.hiddenSize)
    throw unfit(file, `"inputs_embeds" has the width ${input.width}, the model ${agent.hiddenSize}`)
  if (input.kind === 'ids')
    for (const id of input.ids.flat())
      if (id < 0 || id >= agent.vocabSize)
        throw unfit(file, `the id ${id} is not in the model's vocabulary of ${agent.vocabSize}`)
  const [first] = cotangents ?? []
  if (first && first.length !== length * agent.hiddenSize)
    throw unfit(file, `"cotangent" has the width ${first.length / length}, the model ${agent.hiddenSize}`)
}

function rowsOf(input: EvalRequest['input'], count: number): Row[] {
  return input.kind === 'ids'
    ? input.ids.map((ids) => ({ segments: [{ kind: 'tokens', ids }] }))
    : input.rows.map((values) => ({ segments: [{ kind: 'latents', values, count }] }))
}

/** The same rows with their embeddings spelled out, so that gradients can reach them. */
async function embeddedRows(agent: Agent, input: EvalRequest['input'], count: number): Promise<Row[]> {
  if (input.kind === 'embeds') return rowsOf(input, count)
  const rows = await Promise.all(input.ids.map((ids) => agent.embed(ids)))
  return rows.map((values) => ({ segments: [{ kind: 'latents', values, count }] }))
}

function parseWants(list: string): Set<Want> {
  const names = list.split(',').map((name) => name.trim())
  for (const name of names)
    if (!wants.some((want) => want === name))
      throw new UsageError(`--want does not know "${name}"; it knows ${wants.join(', ')}.`, evalUsage)
  return new Set(names as Want[])
}

function unfit(file: string, why: string): UserError {
  return new UserError({
    what: 'The request cannot be computed.',
    why: `In ${file}, ${why}.`,
    next: 'Correct the request file.',
  })
}
