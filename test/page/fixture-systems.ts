/** Made-up answers for the System screen: a draft, and what is said of it. */
import { newDraft } from '../../src-renderer/lib/draft'
import type { DraftReport, RequestParams, StyleView, SystemDraft } from '../../src-main/bridge/contract'

const role = (name: string, field: string, writes = false) => ({ role: name, field, writes })
const needed = { inner: true, outer: true, evaluate: false }
const question = {
  field: 'question',
  title: 'Question',
  columns: ['question', 'problem'],
  needed: { ...needed, evaluate: true },
}
const gold = {
  field: 'gold',
  title: 'Gold answer',
  columns: ['answer', 'solution'],
  needed: { inner: false, outer: false, evaluate: true },
}
const text = (field: string, title: string) => ({ field, title, columns: [field], needed })

export const styles: StyleView[] = [
  {
    name: 'sequential',
    title: 'Sequential',
    agents: [role('planner', 'plan'), role('critic', 'refined_plan'), role('solver', 'answer', true)],
    links: [
      { key: 'outer_12', from: 'planner', to: 'critic', feedback: false },
      { key: 'outer_23', from: 'critic', to: 'solver', feedback: false },
      { key: 'outer_31', from: 'solver', to: 'planner', feedback: true },
    ],
    fields: [
      question,
      text('plan', 'Plan'),
      text('refined_plan', 'Refined plan'),
      text('answer', 'Answer of the solver'),
      gold,
    ],
  },
  {
    name: 'mixture',
    title: 'Mixture',
    agents: [
      role('math-expert', 'math_expert'),
      role('code-expert', 'code_expert'),
      role('science-expert', 'science_expert'),
      role('summarizer', 'answer', true),
    ],
    links: ['math', 'code', 'science'].flatMap((name, i) => [
      { key: `outer_${i + 1}s`, from: `${name}-expert`, to: 'summarizer', feedback: false },
      { key: `outer_s${i + 1}`, from: 'summarizer', to: `${name}-expert`, feedback: true },
    ]),
    fields: [
      question,
      text('math_expert', 'Math expert'),
      text('code_expert', 'Code expert'),
      text('science_expert', 'Science expert'),
      gold,
    ],
  },
  {
    name: 'distillation',
    title: 'Distillation',
    agents: [role('expert', 'expert_plan'), role('learner', 'answer', true)],
    links: [
      { key: 'outer_el', from: 'expert', to: 'learner', feedback: false },
      { key: 'outer_le', from: 'learner', to: 'expert', feedback: true },
    ],
    fields: [question, text('expert_plan', 'Expert'), gold],
  },
  {
    name: 'deliberation',
    title: 'Deliberation',
    agents: [role('reflector', 'reflection'), role('tool-caller', 'answer', true)],
    links: [
      { key: 'outer_rt', from: 'reflector', to: 'tool-caller', feedback: false },
      { key: 'outer_tr', from: 'tool-caller', to: 'reflector', feedback: true },
    ],
    fields: [question, text('reflection', 'Reflection'), gold],
  },
]

/** A draft that is nearly there: the critic has no model yet. */
export const draft: SystemDraft = {
  ...newDraft(),
  title: 'GSM8K with three small models',
  models: { planner: 'library/Qwen--Qwen3-0.6B', solver: 'library/HuggingFaceTB--SmolLM2-135M-Instruct' },
  data: {
    train: {
      dataset: 'library/gsm8k-split',
      file: 'train.jsonl',
      field: null,
      mapping: { plan: 'draft of a plan' },
      limit: 0,
    },
    validation: null,
    evaluation: { dataset: 'library/gsm8k-split', file: 'held-out.jsonl', field: null, mapping: {}, limit: 300 },
  },
}

export function check({ draft: { style, models, title } }: RequestParams<'systems/check'>): DraftReport {
  const agents = styles.find(({ name }) => name === style)?.agents ?? []
  const missing = agents.filter(({ role: name }) => models[name] === undefined)
  const problems: DraftReport['problems'] = missing.map(({ role: name }) => ({
    step: 'models',
    field: name,
    level: 'error',
    error: {
      what: `The ${name} has no model.`,
      why: 'Every agent needs one; several may share one.',
      next: 'Choose a model for it.',
    },
  }))
  if (!title)
    problems.push({
      step: 'check',
      field: 'title',
      level: 'error',
      error: { what: 'The system has no name.', why: 'Its project is called by it.', next: 'Write one.' },
    })
  problems.push({
    step: 'data',
    field: 'train',
    level: 'warning',
    error: {
      what: '14 of 7473 rows are left out.',
      why: 'The plan is blank in 14 rows.',
      next: 'Look at them in the dataset browser (Fields), or go on without them.',
    },
  })
  const parts = [
    { name: 'Weights', bytes: 1.9e9 },
    { name: 'Activations', bytes: 2.3e9 },
    { name: 'KV caches', bytes: 0.2e9 },
    { name: 'Runtime', bytes: 0.3e9 },
  ]
  const memory = { parts, total: 4.7e9, available: 11.2e9, verdict: 'fits' as const, note: null, together: null }
  return {
    problems,
    steps:
      missing.length > 0
        ? []
        : [
            ...agents.map(({ role: name }) => ({
              id: `inner-${name}`,
              title: `Inner link: ${name}`,
              kind: 'inner' as const,
              memory: { ...memory, total: 2.4e9 },
              disk: 76e6,
              rows: 7459,
            })),
            { id: 'outer', title: 'Outer links', kind: 'outer', memory, disk: 240e6, rows: 7459 },
            ...[1, 2, 3].map((rounds) => ({
              id: `trained-${rounds}`,
              title: `Trained links, ${rounds} rounds`,
              kind: 'evaluate' as const,
              memory: { ...memory, total: 3.1e9 },
              disk: 0,
              rows: 300,
            })),
          ],
    disk: { needed: missing.length > 0 ? null : 4.7e8, free: 8e10 },
  }
}
