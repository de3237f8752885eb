/**
 * Fresh links as torch makes them from its CPU generator: linears uniform within 1/sqrt(fan-in), layer norms at one and
 * zero. Draw order: proj1, proj2, residual_proj, each weight then bias (method specification, training 1.3).
 * For a system, make the inner links of all agents first, then the outer links in the style's order, from one generator.
 */
import {
  type InnerLinkType,
  innerParameterShapes,
  type LinkParameters,
  type OuterLinkType,
  outerParameterShapes,
  type ParameterShape,
} from './link-types'
import type { TorchGenerator } from './torch-generator'

/** An inner link of width H. */
export function initInnerLink(type: InnerLinkType, width: number, generator: TorchGenerator): LinkParameters {
  return initialise(innerParameterShapes(type, width), generator)
}

/** An outer link from width I to width O. */
export function initOuterLink(
  type: OuterLinkType,
  inWidth: number,
  outWidth: number,
  generator: TorchGenerator,
): LinkParameters {
  return initialise(outerParameterShapes(type, inWidth, outWidth), generator)
}

/** State-dict order differs from draw order only in the layer norms, which draw nothing. */
function initialise(shapes: readonly ParameterShape[], generator: TorchGenerator): LinkParameters {
  const parameters: Record<string, Float32Array> = {}
  let fanIn = 0
  for (const { name, shape } of shapes) {
    const weight = name.endsWith('.weight')
    if (isNorm(name)) parameters[name] = new Float32Array(shape[0]).fill(weight ? 1 : 0)
    else {
      // A bias follows its weight and shares its fan-in.
      if (weight) fanIn = shape[1]
      const bound = weight ? Math.sqrt(3) * (Math.sqrt(2 / (1 + 5)) / Math.sqrt(fanIn)) : 1 / Math.sqrt(fanIn)
      parameters[name] = generator.uniform(
        -bound,
        bound,
        shape.reduce((n, d) => n * d, 1),
      )
    }
  }
  return parameters
}

function isNorm(name: string): boolean {
  return /^(pre_ln|post_ln|ln_source|ln_target)\./.test(name)
}
