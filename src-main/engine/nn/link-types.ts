/**
 * The registry of link types: names, aliases, which parts a type has, and the parameters that follow from it, in
 * state-dict order (method specification, training 1.1 and 1.2).
 */
import { UserError } from '../errors'

export const innerLinkTypes = {
  linear_adapter: { alias: '1layer', layers: 1, residual: false, norms: false },
  linear_res_adapter: { alias: '1layer_res', layers: 1, residual: true, norms: false },
  adapter: { alias: '2layer', layers: 2, residual: false, norms: false },
  res_adapter: { alias: '2layer_res', layers: 2, residual: true, norms: false },
  ln_res_adapter: { alias: '2layer_ln_res', layers: 2, residual: true, norms: true },
} as const

export const outerLinkTypes = {
  outer_linear_adapter: { alias: '1layer', layers: 1, residual: false, norms: false },
  outer_linear_res_adapter: { alias: '1layer_res', layers: 1, residual: true, norms: false },
  outer_adapter: { alias: '2layer', layers: 2, residual: false, norms: false },
  outer_res_adapter: { alias: '2layer_res', layers: 2, residual: true, norms: false },
  outer_ln_adapter: { alias: null, layers: 2, residual: false, norms: true },
  outer_ln_res_adapter: { alias: '2layer_ln_res', layers: 2, residual: true, norms: true },
} as const

export type InnerLinkType = keyof typeof innerLinkTypes
export type OuterLinkType = keyof typeof outerLinkTypes
export type LinkType = InnerLinkType | OuterLinkType

/** Parameter values by state-dict name, float32, row-major. */
export type LinkParameters = Readonly<Record<string, Float32Array>>

export interface ParameterShape {
  readonly name: string
  readonly shape: readonly number[]
}

/** Canonical inner type for a name or alias; a UserError names the known ones and `file`, which has the link. */
export function innerLinkType(name: string, file?: string): InnerLinkType {
  return lookUp(name, innerLinkTypes, 'inner', file)
}

/** Canonical outer type for a name or alias; a UserError names the known ones and `file`, which has the link. */
export function outerLinkType(name: string, file?: string): OuterLinkType {
  return lookUp(name, outerLinkTypes, 'outer', file)
}

function lookUp<T extends string>(
  name: string,
  table: Record<T, { alias: string | null }>,
  which: string,
  file: string | undefined,
): T {
  for (const key of Object.keys(table) as T[]) if (key === name || table[key].alias === name) return key
  throw new UserError({
    what: `The ${which} link type ${JSON.stringify(name)} is not known.`,
    why: `${file === undefined ? '' : `It is the type of ${file}. `}Known types are ${Object.keys(table).join(', ')}.`,
    next: 'Choose one of them.',
  })
}

/** Parameters of an inner link of width H, in state-dict order. */
export function innerParameterShapes(type: InnerLinkType, width: number): ParameterShape[] {
  const { layers, norms } = innerLinkTypes[type]
  return [
    ...linear('proj1', width, width),
    ...(layers === 2 ? linear('proj2', width, width) : []),
    ...(norms ? [...norm('pre_ln', width), ...norm('post_ln', width)] : []),
  ]
}

/** Parameters of an outer link from width I to width O, in state-dict order. */
export function outerParameterShapes(type: OuterLinkType, inWidth: number, outWidth: number): ParameterShape[] {
  const { layers, residual, norms } = outerLinkTypes[type]
  const hidden = layers === 1 ? outWidth : norms ? 2 * outWidth : outWidth
  return [
    ...linear('proj1', hidden, inWidth),
    ...(layers === 2 ? linear('proj2', outWidth, hidden) : []),
    ...(norms ? [...norm('ln_source', inWidth), ...norm('ln_target', outWidth)] : []),
    ...(residual ? linear('residual_proj', outWidth, inWidth) : []),
  ]
}

function linear(name: string, out: number, inn: number): ParameterShape[] {
  return [
    { name: `${name}.weight`, shape: [out, inn] },
    { name: `${name}.bias`, shape: [out] },
  ]
}

function norm(name: string, width: number): ParameterShape[] {
  return [
    { name: `${name}.weight`, shape: [width] },
    { name: `${name}.bias`, shape: [width] },
  ]
}
