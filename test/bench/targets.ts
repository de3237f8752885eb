/** What the works are aimed at: speed-up over the baseline's variants, and the products that a work cannot do without. */
/** Baseline's seconds by ours, at least; by case. */
export const targets: Readonly<Record<'best' | 'reference', Partial<Record<string, number>>>> = {
  best: {
    forward_hidden: 1,
    forward_logits: 1,
    rollout: 2,
    rollout8: 1.7,
    decode: 2.5,
    inner_step: 1,
    outer_step: 1.3,
  },
  reference: { rollout: 15, outer_step: 3 },
}

/** Seconds that making a session may take. */
export const sessionTarget = 3

/** Share of the memory's bandwidth that decoding is aimed at. */
export const bandwidthTarget = 0.7
