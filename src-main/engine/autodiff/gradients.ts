/**
 * Reverse-mode differentiation over the builder's own graph: appends nodes that compute vector-Jacobian products.
 * One rule per operator; an operator on the path without a rule is an error that names it.
 */
import { GraphError, type Graph, type Step, type Value } from '../onnx/graph'
import { add } from '../onnx/ops'

export interface RuleContext<S extends Step = Step> {
  readonly g: Graph
  readonly step: S
  /** Per output of the step; null where nothing flows back. At least one is set. */
  readonly cotangents: readonly (Value | null)[]
  /** Per input: is its gradient wanted? */
  readonly needs: readonly boolean[]
  /** Differentiates steps that the rule itself has added (recomputation). */
  readonly gradients: (seeds: readonly (readonly [Value, Value])[], wrt: readonly Value[], from: number) => (Value | null)[]
}

/** Returns the gradient of each input (null where none is wanted or flows). */
export type Rule = (context: RuleContext) => readonly (Value | null)[]

export type RuleTable = Readonly<Record<string, Rule>>

export class MissingRuleError extends GraphError {
  constructor(readonly op: string) {
    super(op, 'has no differentiation rule, but a gradient has to pass through it')
    this.name = 'MissingRuleError'
  }
}

/**
 * Gradients of sum_i <seed value_i, cotangent_i> with respect to `wrt`, null where nothing depends on it.
 * Only steps of `g` itself (from index `from` on) are looked at: `wrt` may be values of an enclosing graph.
 */
export function gradients(
  g: Graph,
  seeds: readonly (readonly [Value, Value])[],
  wrt: readonly Value[],
  rules: RuleTable,
  from = 0,
): (Value | null)[] {
  const steps = g.steps.slice(from)
  const active = new Set<string>(wrt.map((v) => v.name))
  const isActive = (v: Value | null) => v !== null && active.has(v.name)
  for (const s of steps) if (s.inputs.some(isActive)) for (const o of s.outputs) if (differentiable(o)) active.add(o.name)

  const cotangents = new Map<string, Value>()
  const accumulate = (v: Value, c: Value) => {
    const known = cotangents.get(v.name)
    cotangents.set(v.name, known ? add(g, known, c) : c)
  }
  for (const [v, c] of seeds) if (isActive(v)) accumulate(v, c)

  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i]
    const here = step.outputs.map((o) => (active.has(o.name) ? (cotangents.get(o.name) ?? null) : null))
    if (here.every((c) => c === null)) continue
    const needs = step.inputs.map(isActive)
    if (!needs.some(Boolean)) continue
    const rule = rules[step.op]
    if (!rule) throw new MissingRuleError(step.op)
    const results = rule({
      g,
      step,
      cotangents: here,
      needs,
      gradients: (s, w, start) => gradients(g, s, w, rules, start),
    })
    step.inputs.forEach((input, k) => {
      const r = results[k]
      if (needs[k] && input && r) accumulate(input, r)
    })
  }
  return wrt.map((v) => cotangents.get(v.name) ?? null)
}

function differentiable(v: Value): boolean {
  return v.dtype === 'float32' || v.dtype === 'float16' || v.dtype === 'bfloat16'
}
