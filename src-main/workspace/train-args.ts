/**
 * What a checkpoint's manifest tells of its training, under the published program's flag names, for train_args.json. Settings that it
 * has no flag for keep our names.
 */
import { canonicalRole, styles } from '../engine/styles/registry'
import type { TrainArgs } from '../engine/training/link-files-export'
import type { LinkManifest } from '../engine/training/link-manifest'

const flags: Readonly<Record<string, string>> = {
  maxLength: 'max_length',
  steps: 'max_steps',
  batchSize: 'batch_size',
  schedule: 'lr_scheduler_type',
  warmupSteps: 'warmup_steps',
  weightDecay: 'weight_decay',
  maxGradNorm: 'max_grad_norm',
  accumulate: 'grad_accum_steps',
  enableThinking: 'enable_thinking',
  cosineWeight: 'adapter_cos_weight',
  mseWeight: 'adapter_mse_weight',
  latentCap: 'max_latent_tokens',
  superviseFinalOnly: 'supervise_final_only',
  earlierRoundsWeight: 'non_last_loss_weight',
  solverQuestionFirst: 'solver_pre_question',
}

export function trainArgs(manifest: LinkManifest): TrainArgs {
  const inner = manifest.kind === 'inner-link'
  const args: Record<string, TrainArgs[string]> = { seed: manifest.seed, mas_task: manifest.task }
  for (const [name, value] of Object.entries(manifest.options) as [string, TrainArgs[string]][]) {
    const flag = name === 'learningRate' ? (inner ? 'adapter_lr' : 'outer_lr') : (flags[name] ?? name)
    args[flag] = typeof value === 'boolean' && flag !== name ? Number(value) : value
  }
  if (manifest.dataset) args.dataset_name = manifest.dataset.file
  const { role, rounds, links } = manifest
  if (inner) args.adapter_type = links[0].type
  if (inner && role !== null) args.mas_role = referenceRole(role)
  if (!inner && rounds !== null) args.num_recursive_rounds = typeof rounds === 'number' ? rounds : rounds.to
  return args
}

function referenceRole(name: string): string {
  const role = canonicalRole(name)
  return styles.flatMap((s) => s.roles).find((r) => r.role === role)?.referenceName ?? name
}
