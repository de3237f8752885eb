/** Every differentiation rule there is: plain operators and the composites of this folder. */
import { checkpointRule } from '../autodiff/checkpoint'
import { gradients as reverse, type RuleTable } from '../autodiff/gradients'
import { operatorRules } from '../autodiff/rules'
import type { Graph, Value } from '../onnx/graph'
import { gatedGeluRule, gatedSiluRule, geluRule } from './activations'
import { attentionRule } from './attention'
import { causalConvRule } from './causal-conv'
import { deltaRuleRule } from './delta-rule'
import { knownLinearRule } from './linear'
import { cosineDistanceRule, crossEntropyRule, headCrossEntropyRule } from './losses'
import { layerNormRule, rmsNormRule } from './norms'
import { rotaryRule } from './rotary'

export const rules: RuleTable = {
  ...operatorRules,
  Checkpoint: checkpointRule,
  RMSNorm: rmsNormRule,
  LayerNorm: layerNormRule,
  Gelu: geluRule,
  GatedSilu: gatedSiluRule,
  GatedGelu: gatedGeluRule,
  KnownLinear: knownLinearRule,
  Rotary: rotaryRule,
  Attention: attentionRule,
  CausalConv: causalConvRule,
  DeltaRule: deltaRuleRule,
  CrossEntropy: crossEntropyRule,
  HeadCrossEntropy: headCrossEntropyRule,
  CosineDistance: cosineDistanceRule,
}

/** Gradients of sum_i <seed value_i, cotangent_i> with respect to `wrt`; null where nothing depends on it. */
export function gradients(g: Graph, seeds: readonly (readonly [Value, Value])[], wrt: readonly Value[]): (Value | null)[] {
  return reverse(g, seeds, wrt, rules)
}
