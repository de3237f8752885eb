/** What an inner link of each role reads, word by word: prompts with text in the slots, targets, and the forms without a role. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { innerJob, type JobSpecInput } from '../../../src-main/engine/job-spec'
import { promptSettings } from '../../../src-main/engine/job-setup'
import { styleOfRole, styles } from '../../../src-main/engine/styles/registry'
import { builtInPack, parsePromptPack } from '../../../src-main/engine/text'
import { type InnerTask, readInnerData } from '../../../src-main/engine/training/inner-texts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'inner-texts-'))))
afterEach(() => rmSync(folder, { recursive: true }))

type Spec = Partial<Extract<JobSpecInput, { kind: 'inner' }>>

/** The slots of every role's prompts. */
const slots: Record<string, { first: string[]; feedback?: string[] }> = {
  planner: { first: [], feedback: ['solver'] },
  critic: { first: ['planner'] },
  solver: { first: ['critic'] },
  'math-expert': { first: [], feedback: ['summarizer'] },
  'code-expert': { first: [], feedback: ['summarizer'] },
  'science-expert': { first: [], feedback: ['summarizer'] },
  summarizer: { first: ['math-expert', 'code-expert', 'science-expert'] },
  expert: { first: [], feedback: ['learner'] },
  learner: { first: ['expert'] },
  reflector: { first: [], feedback: ['tool-caller'] },
  'tool-caller': { first: ['reflector'] },
}

const bareText = (variant: string, names: string[]) =>
  ['math', 'code', 'choice'].map((task) => ({
    when: { task },
    lines: [[task, variant, '{{question}}', ...names.map((n) => `{{slot:${n}}}`)].join('|')],
  }))

/** A pack whose prompts are nothing but what is put into them. */
const bare = parsePromptPack(
  {
    format: 'recursivemas-prompt-pack/1',
    name: 'bare',
    version: '1',
    system: [''],
    prompts: Object.fromEntries(
      Object.entries(slots).map(([role, variants]) => [
        role,
        Object.fromEntries(Object.entries(variants).map(([variant, names]) => [variant, bareText(variant, names)])),
      ]),
    ),
    plainTraining: builtInPack.plainTraining,
  },
  'bare',
)

async function read(rows: readonly object[], spec: Spec) {
  const file = join(folder, 'rows.jsonl')
  writeFileSync(file, rows.map((r) => JSON.stringify(r) + '\n').join(''))
  const job = innerJob.parse({ kind: 'inner', role: 'planner', model: 'm', output: 'o', data: { file }, ...spec })
  const { style, agent } = styleOfRole(job.role)
  return readInnerData(
    job,
    job.data,
    promptSettings(
      job,
      style,
      bare,
      style.roles.map(() => null),
    ),
    agent,
  )
}

const shown = (task: InnerTask) =>
  task.kind === 'text'
    ? task.text
    : `${task.prompt.user.map((p) => (p.kind === 'text' ? p.text : `<${p.name}>`)).join('')} -> ${task.target}`

async function tasks(row: object, spec: Spec): Promise<string[]> {
  const data = await read([row], spec)
  return data.rows.flatMap((r) => data.tasksOf(r).map(shown))
}

const full = {
  question: 'q',
  plan: 'p',
  refined_plan: 'r',
  answer: 'a',
  hie_math_expert: 'm',
  code_expert: 'c',
  expert_science: 's',
  summary: 'u',
  deliberation_reflector: 'f',
  deliberation_toolcaller: 't',
}

describe('a role’s texts', () => {
  it.each<[string, string[], string[]]>([
    ['planner', ['math|first|q -> p'], ['math|feedback|q|a -> p']],
    ['critic', ['math|first|q|p -> r'], []],
    ['solver', ['math|first|q|r -> a'], []],
    ['math-expert', ['math|first|q -> m'], ['math|feedback|q|a -> m']],
    ['code-expert', ['math|first|q -> c'], ['math|feedback|q|a -> c']],
    ['science-expert', ['math|first|q -> s'], ['math|feedback|q|a -> s']],
    ['summarizer', ['math|first|q|m|c|s -> a'], []],
    ['expert', ['math|first|q -> r'], ['math|feedback|q|a -> r']],
    ['learner', ['math|first|q|r -> a'], []],
    ['reflector', ['math|first|q -> f'], ['math|feedback|q|t -> f']],
    ['tool-caller', ['math|first|q|f -> t'], []],
  ])('%s: its first prompt, and all of its prompts', async (role, first, feedback) => {
    expect(await tasks(full, { role })).toEqual(first)
    expect(await tasks(full, { role, prompts: 'all' })).toEqual([...first, ...feedback])
  })

  it('covers every role', () => expect(styles.flatMap((s) => s.roles)).toHaveLength(11))

  it('are found by the published names of the roles too', async () => {
    expect(await tasks(full, { role: 'hie_summarizer' })).toEqual(['math|first|q|m|c|s -> a'])
    expect(await tasks(full, { role: 'deliberation_toolcaller' })).toEqual(['math|first|q|f -> t'])
  })

  it('follow a row’s own task, else the job’s', async () => {
    const data = await read(
      [{ ...full, task_family: 'code' }, { ...full, task_family: ' Choice ' }, { ...full, task_family: 'art' }, full],
      { role: 'learner', task: 'choice' },
    )
    expect(data.rows.map((r) => shown(data.tasksOf(r)[0]).split('|')[0])).toEqual([
      'code',
      'choice',
      'choice',
      'choice',
    ])
    expect([...data.kinds]).toEqual(['code', 'choice'])
  })

  it('in reference mode are the published ones', async () => {
    const reference = { mode: 'reference' } as const
    // the summarizer's own columns go before the answer, and an expert may have nothing to say
    expect(await tasks({ ...full, hie_math_expert: null }, { role: 'summarizer', ...reference })).toEqual([
      'math|first|q||c|s -> u',
    ])
    // the name of the slot is trained on as text
    expect(await tasks(full, { role: 'tool-caller', ...reference })).toEqual([
      'math|first|q|<<DELIBERATION_REFLECTOR_SLOT>> -> t',
    ])
    // a text that is missing is the word None
    const filled = await read([{ ...full, plan: null }, full], { role: 'critic', ...reference })
    expect(filled.rows.flatMap((r) => filled.tasksOf(r).map(shown))).toEqual([
      'math|first|q|None -> r',
      'math|first|q|p -> r',
    ])
    expect(filled.filled).toBe(1)
    // one column for all rows: a blank one is not made up for by the next
    const blank = await read(
      [
        { ...full, hie_summarizer: ' ' },
        { ...full, hie_summarizer: 'h' },
      ],
      {
        role: 'summarizer',
        ...reference,
      },
    )
    expect(blank.rows.map((r) => shown(blank.tasksOf(r)[0]))).toEqual(['math|first|q|m|c|s -> h'])
    expect(blank.report.problems).toEqual([{ number: 1, column: 'hie_summarizer', cause: 'blank' }])
  })

  it('that lack something are left out and named, with all columns that were looked for', async () => {
    const { report } = await read(
      [full, { ...full, answer: null, summary: ' ' }, { ...full, code_expert: undefined }, { ...full, question: '' }],
      { role: 'summarizer' },
    )
    expect(report.problems).toEqual([
      { number: 2, column: 'answer or hie_summarizer or summary', cause: 'blank' },
      { number: 3, column: 'hie_code_expert or code_expert or expert_code', cause: 'null' },
      { number: 4, column: 'question', cause: 'blank' },
    ])
    await expect(read([{ question: 'q', answer: 'a' }], { role: 'math-expert' })).rejects.toThrow(
      /has no hie_math_expert or math_expert or expert_math; its columns are question, answer.*"form": "question-answer"/,
    )
  })
})

describe('rows without a role', () => {
  it('questions with worked answers', async () => {
    const form = { form: 'question-answer' } as const
    const [task] = await tasks({ question: 'q', answer: '1 + 1 = 2\n#### 2' }, form)
    expect(task).toMatch(/^Question:\nq\n.*\\boxed\{\}\. -> 1 \+ 1 = 2\n#### 2\nFinal Answer: \\boxed\{2\}$/)
    const [worked] = await tasks({ question: 'q', cot: 'half of 8', answer: '4' }, form)
    expect(worked).toMatch(/-> half of 8\n#### 4\nFinal Answer: \\boxed\{4\}$/)
    const [plain] = await tasks({ problem: 'q', answer: 'x+1', cot: null }, form)
    expect(plain).toMatch(/^Question:\nq\n.* -> x\+1\nFinal Answer: \\boxed\{x\+1\}$/)
    await expect(tasks({ text: 't' }, form)).rejects.toThrow(/has no question or problem, no answer/)
  })

  it('plain text: the column that is named, else the first of text', async () => {
    const row = { id: 3, text: 'one two', note: 'n' }
    expect(await tasks(row, { form: 'text' })).toEqual(['one two'])
    expect(await tasks(row, { form: 'text', textColumn: 'note' })).toEqual(['n'])
    await expect(tasks(row, { form: 'text', textColumn: 'body' })).rejects.toThrow(/has no body/)
    await expect(tasks({ id: 3 }, { form: 'text' })).rejects.toThrow(/no column of text; its columns are id/)
  })
})
