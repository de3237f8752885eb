/** A link with its widths, and the strict check of tensors from a file against what a type and width need. */
import { UserError } from '../errors'
import { elementCount, type HostTensor, isFloat32Exact, type TensorValue } from '../formats/dtypes'
import {
  innerLinkTypes,
  innerParameterShapes,
  type InnerLinkType,
  type LinkParameters,
  type OuterLinkType,
  outerLinkTypes,
  outerParameterShapes,
  type ParameterShape,
} from '../nn/link-types'

/** Key of an inner link in records and files. */
export const innerKey = 'inner'

export interface InnerLinkRecord {
  readonly kind: 'inner'
  readonly type: InnerLinkType
  readonly width: number
  readonly parameters: LinkParameters
}

export interface OuterLinkRecord {
  readonly kind: 'outer'
  readonly key: string
  readonly type: OuterLinkType
  readonly inWidth: number
  readonly outWidth: number
  readonly parameters: LinkParameters
}

export type LinkRecord = InnerLinkRecord | OuterLinkRecord

/** Parameters of a record in state-dict order. */
export function recordShapes(link: LinkRecord): ParameterShape[] {
  return link.kind === 'inner'
    ? innerParameterShapes(link.type, link.width)
    : outerParameterShapes(link.type, link.inWidth, link.outWidth)
}

/** A record's parameters as tensors, in state-dict order. */
export function recordTensors(
  link: LinkRecord,
): [name: string, tensor: { shape: readonly number[]; data: Float32Array }][] {
  return recordShapes(link).map(({ name, shape }) => {
    const data = link.parameters[name]
    if (data?.length !== elementCount(shape)) throw new Error(`link parameter ${name} has not the shape [${shape}]`)
    return [name, { shape, data }]
  })
}

/** What kind of file the tensors are from, for messages. */
export interface TensorSource {
  readonly file: string
  /** "inner link" or "outer link outer_12". */
  readonly what: string
}

/** Every value of a link must be a finite floating-point number that float32 holds; else a UserError. */
export function checkNumbers(tensors: ReadonlyMap<string, HostTensor>, source: TensorSource): void {
  for (const [name, { dtype, data }] of tensors) {
    if (!isFloat32Exact(dtype))
      throw unusable(source, `${name} has the type ${dtype}, where F32, F16 or BF16 is needed`)
    const bad = firstNotFinite(data)
    if (bad >= 0) throw unusable(source, `${name} has a value that is not a finite number (element ${bad})`)
  }
}

/** Takes exactly the parameters of a type out of tensors that `checkNumbers` has seen; anything missing, left over or misshapen is a UserError. */
export function takeParameters(
  tensors: ReadonlyMap<string, HostTensor>,
  shapes: readonly ParameterShape[],
  type: string,
  source: TensorSource,
): LinkParameters {
  const names = new Set(shapes.map((s) => s.name))
  const missing = shapes.filter((s) => !tensors.has(s.name)).map((s) => s.name)
  const extra = [...tensors.keys()].filter((n) => !names.has(n))
  if (missing.length > 0 || extra.length > 0)
    throw unusable(
      source,
      `for the type ${type} ` +
        [
          missing.length > 0 ? `it lacks ${missing.join(', ')}` : '',
          extra.length > 0 ? `it holds ${extra.slice(0, 10).join(', ')} too much` : '',
        ]
          .filter(Boolean)
          .join(' and '),
    )
  const parameters: Record<string, Float32Array> = {}
  for (const { name, shape } of shapes) {
    const tensor = tensors.get(name) as HostTensor
    if (tensor.shape.join() !== shape.join())
      throw unusable(
        source,
        `${name} has the shape [${tensor.shape.join(', ')}], where [${shape.join(', ')}] is needed`,
      )
    parameters[name] = tensor.data as Float32Array
  }
  return parameters
}

/** In and out width of a link's tensors, from its linears; null where it has none. */
export function linkWidths(tensors: ReadonlyMap<string, TensorValue>): { inWidth: number; outWidth: number } | null {
  const first = tensors.get('proj1.weight')?.shape
  const last = (tensors.get('proj2.weight') ?? tensors.get('proj1.weight'))?.shape
  return first?.length === 2 && last?.length === 2 ? { inWidth: first[1], outWidth: last[0] } : null
}

/** Inner types with exactly these parameter names; the types with and without residual have the same. */
export function innerTypesByNames(names: Iterable<string>): InnerLinkType[] {
  const given = sorted(names)
  return (Object.keys(innerLinkTypes) as InnerLinkType[]).filter(
    (type) => sorted(innerParameterShapes(type, 1).map((s) => s.name)) === given,
  )
}

/** The outer type with exactly these parameter names; null where there is none. */
export function outerTypeByNames(names: Iterable<string>): OuterLinkType | null {
  const given = sorted(names)
  const types = Object.keys(outerLinkTypes) as OuterLinkType[]
  return types.find((type) => sorted(outerParameterShapes(type, 1, 1).map((s) => s.name)) === given) ?? null
}

function sorted(names: Iterable<string>): string {
  return [...names].sort().join()
}

function firstNotFinite(data: ArrayLike<number | bigint>): number {
  for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) return i
  return -1
}

export function unusable({ file, what }: TensorSource, why: string): UserError {
  return new UserError({
    what: `The file cannot be used as ${what}.`,
    why: `${file}: ${why}.`,
    next: 'Choose another link.',
  })
}
