import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import {
  answerRetryText,
  buildPrompt,
  codeTypeOf,
  hasOptionLines,
  plainTrainingText,
  promptVariants,
  type PromptRequest,
} from '../../../src-main/engine/text/build-prompt'
import { builtInPack, loadPromptPack, parsePromptPack, promptPackHash } from '../../../src-main/engine/text/prompt-pack'

const QUESTION = 'What is 7 * 8?'
const CHOICE = 'Which one?\nA. this\nB. that'
const base: PromptRequest = { role: 'planner', variant: 'first', task: 'math', mode: 'corrected', question: QUESTION }

/** The user message as one letter or word per line: what is fixed by structure is shown, our wording is `t`. */
function shape(request: Partial<PromptRequest>, pack = builtInPack): string {
  const { user } = buildPrompt(pack, { ...base, ...request })
  const whole = user.map((p) => (p.kind === 'slot' ? `<${p.name}>` : p.text)).join('')
  const question = request.question ?? QUESTION
  const shown = whole.replaceAll(question, 'Q').replace(/^Step 1: \.\.\.\n\.\.\.\nStep n: \.\.\.$/m, 'STEPS')
  return shown
    .split('\n')
    .map((line) => (/^(Q|STEPS|Question:|---|<\w+>|)$/.test(line) ? line || '_' : 't'))
    .join(' ')
}

// The structure of the published prompts, line by line (spec/inference.md 4.2 to 4.6). `_` at an end: a line feed there.
describe('the built-in pack has the published structure', () => {
  const code = { task: 'code', codeType: 'function', functionName: 'f' } as const
  const choice = { task: 'choice', question: CHOICE } as const
  const feedback = { variant: 'feedback', round: 2 }
  const planner = { role: 'planner', ...feedback }
  it.each<[string, Partial<PromptRequest>, string]>([
    ['planner', {}, 't t Question: Q t STEPS'],
    ['planner, feedback', planner, 't t Question: Q t <feedback> t t t STEPS'],
    ['critic', { role: 'critic' }, 't t Question: Q t t <plan> t STEPS'],
    ['solver', { role: 'solver' }, 't t t <refinedPlan> t Question: Q _ t'],
    ['solver, question first', { role: 'solver', questionFirst: true }, 't t Question: Q t t <refinedPlan> t'],
    ['solver, older wording 1, no options', { role: 'solver', choiceMode: 1 }, 't t t <refinedPlan> t Question: Q t'],
    ['solver, options', { role: 'solver', question: CHOICE }, 't t t <refinedPlan> t Question: Q _ t'],
    [
      'solver, wording 1',
      { role: 'solver', question: CHOICE, choiceMode: 1 },
      't t t <refinedPlan> t Question: Q t _ t',
    ],
    ['solver, wording 2', { role: 'solver', question: CHOICE, choiceMode: 2 }, 't t t <refinedPlan> t Question: Q t'],
    ['solver, wording 3', { role: 'solver', question: CHOICE, choiceMode: 3 }, 't t t <refinedPlan> t Question: Q t'],
    ['code planner', code, 't t t Q t t t STEPS'],
    ['code planner, feedback', { ...planner, ...code }, 't t t t Q t <feedback> t t t t t STEPS'],
    ['code critic', { role: 'critic', ...code }, 't t _ --- t Q t t <plan> t t t STEPS'],
    ['code solver', { role: 'solver', ...code }, 't t t t <refinedPlan> _ --- t Q t'],
    [
      'code solver, question first',
      { role: 'solver', questionFirst: true, ...code },
      't t _ --- t Q t t <refinedPlan> t',
    ],
    ['math expert', { role: 'math-expert' }, 't t Question: Q _'],
    ['code expert, code', { role: 'code-expert', ...code }, 't t t Q _'],
    ['science expert, choice', { role: 'science-expert', ...choice }, 't t Question: Q _ t _'],
    ['science expert, feedback', { role: 'science-expert', ...feedback }, 't t <feedback> t t Question: Q _'],
    ['summarizer', { role: 'summarizer' }, 't t <math> t <code> t <science> --- t t t Question: Q t'],
    ['summarizer, code', { role: 'summarizer', ...code }, 't t <math> t <code> t <science> --- t t t t Q t'],
    [
      'summarizer, choice',
      { role: 'summarizer', ...choice },
      't t <math> t <code> t <science> --- t t t Question: Q _ t t',
    ],
    ['expert', { role: 'expert' }, 't t Question: Q t t t STEPS'],
    ['expert, feedback', { role: 'expert', ...feedback }, 't t <feedback> t t Question: Q t t t STEPS'],
    ['expert, code', { role: 'expert', ...code }, 't t t Q t t t STEPS'],
    ['learner', { role: 'learner' }, 't t <expertPlan> t --- t Question: Q t'],
    ['learner, code', { role: 'learner', ...code }, 't t <expertPlan> t --- t t Q t'],
    ['learner, choice', { role: 'learner', ...choice }, 't t <expertPlan> t --- t Question: Q _ t t'],
    ['reflector', { role: 'reflector' }, 't t t Question: Q _'],
    ['reflector, feedback', { role: 'reflector', ...feedback }, 't t <feedback> t t t Question: Q _'],
    ['tool-caller', { role: 'tool-caller' }, 't t <reflection> t t --- t Question: Q t'],
    ['tool-caller, code', { role: 'tool-caller', ...code }, 't t <reflection> t t --- t t Q t'],
  ])('%s', (_, request, wanted) => expect(shape(request)).toBe(wanted))

  it('gives both agents of a deliberation the notes on their tools, in one paragraph', () => {
    const system = (role: string) => buildPrompt(builtInPack, { ...base, role }).system
    const notes = system('reflector')
    expect(system('tool-caller')).toBe(notes)
    expect(notes).toMatch(/<search> [^<>]+ <\/search> <result> [^<>]+ <\/result>/)
    expect(notes).toMatch(/<python> [^<>]+ <\/python> <result> [^<>]+ <\/result>/)
    expect(notes).toMatch(/\\boxed\{\}/)
    expect(notes).not.toContain('\n')
    for (const role of ['planner', 'solver', 'summarizer', 'learner']) expect(system(role)).not.toContain('<search>')
  })

  it('asks for an option once, and without trailing space', () => {
    const words = (question: string) =>
      buildPrompt(builtInPack, { ...base, role: 'learner', task: 'choice', question, slots: { expertPlan: 'p' } })
        .user.map((p) => (p.kind === 'text' ? p.text : ''))
        .join('')
    expect(words(`${CHOICE} \n`)).toContain(`\nQuestion:\n${CHOICE}\n\nChoose the correct option`)
    // the sentence that is added is one that is known again
    const asked = `${CHOICE}\n\nChoose the correct option: A, B, C or D.`
    expect(words(asked).match(/choose the correct option/gi)).toHaveLength(1)
    expect(words(asked)).toContain(`\nQuestion:\n${asked}\n`)
  })

  it('choice takes the math prompts in sequential systems', () => {
    for (const role of ['planner', 'critic', 'solver'])
      expect(buildPrompt(builtInPack, { ...base, role, task: 'choice' })).toEqual(
        buildPrompt(builtInPack, { ...base, role }),
      )
  })

  it('is stable: a change of wording is a change of every latent', () => {
    expect(promptPackHash(builtInPack)).toMatch(/^[0-9a-f]{64}$/)
    expect(promptVariants(builtInPack, 'planner')).toEqual(['first', 'feedback'])
    expect(promptVariants(builtInPack, 'solver')).toEqual(['first'])
    expect(promptVariants(builtInPack, 'nobody')).toEqual([])
  })
})

describe('an edited copy of the built-in pack', () => {
  const copy = () => structuredClone(builtInPack)

  it('is read back as it is, with the hash of its content', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pack-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'copy.json')
    await writeFile(file, JSON.stringify(builtInPack, null, 2))
    const read = await loadPromptPack(file)
    expect(read).toEqual(builtInPack)
    expect(promptPackHash(read)).toBe(promptPackHash(builtInPack))
  })

  it('has another hash with any role, situation or tool note changed', () => {
    const hashes = Object.entries(builtInPack.prompts).flatMap(([role, variants]) =>
      Object.keys(variants).map((variant) => {
        const edited = copy()
        edited.prompts[role][variant] = ['{{question}}']
        return promptPackHash(parsePromptPack(edited, 'edited'))
      }),
    )
    const notes = copy()
    notes.parts.toolNotes = ['No tools today.']
    const all = [promptPackHash(builtInPack), ...hashes, promptPackHash(parsePromptPack(notes, 'edited'))]
    // eleven roles, six of which also read feedback
    expect(hashes).toHaveLength(17)
    expect(new Set(all).size).toBe(all.length)
    expect(buildPrompt(parsePromptPack(notes, 'edited'), { ...base, role: 'reflector' }).system).toBe('No tools today.')
  })

  it('is refused with a part gone that a role uses', () => {
    const edited = copy()
    delete edited.parts.looseGuidance
    expect(() => parsePromptPack(edited, 'mine.json')).toThrow(
      /mine\.json: prompts\.reflector\.feedback\.\d: \{\{looseGuidance\}\}/,
    )
  })
})

describe('wording', () => {
  const words = (request: Partial<PromptRequest>) => {
    const { user } = buildPrompt(builtInPack, { ...base, ...request })
    return user.map((p) => (p.kind === 'slot' ? `<${p.name}>` : p.text)).join('')
  }
  const last = (request: Partial<PromptRequest>) =>
    words({ role: 'solver', ...request })
      .split('\n')
      .at(-1)!

  it('asks for a number, an option or code as the question wants it', () => {
    expect(last({})).toMatch(/\\boxed\{1\}/)
    expect(last({ question: CHOICE })).toMatch(/\\boxed\{A\}/)
    expect(last({ question: CHOICE, choiceMode: 1 })).toMatch(/\\boxed\{1\}/)
    expect(last({ question: CHOICE, choiceMode: 2 })).toMatch(/^Final Choice: .*\\boxed\{A\}/)
    expect(last({ question: CHOICE, choiceMode: 3 })).toMatch(/^Final Choice: .*\\boxed\{\}\.$/)
    // The example holds a backslash and an n, not a line end.
    expect(last({ task: 'code' })).toMatch(/```python\\n.*\\n```/)
    for (const role of ['summarizer', 'learner', 'tool-caller']) {
      expect(last({ role })).toMatch(/\\boxed\{1\}/)
      expect(last({ role, question: CHOICE })).toMatch(/\\boxed\{A\}/)
      expect(last({ role, task: 'choice' })).toMatch(/\\boxed\{A\}/)
      expect(last({ role, task: 'code', question: CHOICE })).toMatch(/```python\\n.*\\n```/)
    }
  })

  it('names the function, asks for a required one, or for a whole program', () => {
    expect(words({ task: 'code', codeType: 'function', functionName: 'add_up' })).toContain('`add_up`')
    expect(words({ task: 'code', codeType: 'function' })).toContain('the required function')
    expect(words({ task: 'code' })).toContain('stdin')
    expect([codeTypeOf('function'), codeTypeOf('functional'), codeTypeOf('complete'), codeTypeOf(null)]).toEqual([
      'function',
      'function',
      'program',
      'program',
    ])
  })

  it('tells the round that it is given', () => {
    expect(words({ variant: 'feedback', round: 3 })).toMatch(/round 3/)
  })

  it('puts text where a slot would be', () => {
    expect(words({ role: 'critic', slots: { plan: 'Step 1: multiply' } })).toMatch(/\nStep 1: multiply\n/)
    expect(words({ role: 'critic', slots: { plan: '' } })).toMatch(/\n\n/)
    const prompt = buildPrompt(builtInPack, { ...base, role: 'critic', slots: { plan: 'p' } })
    expect(prompt.user.map((p) => p.kind)).toEqual(['text'])
  })

  it('does not read placeholders in a question', () => {
    const question = 'Say {{slot:plan}} and {{steps}} and {{nothing}}'
    const { user } = buildPrompt(builtInPack, { ...base, role: 'critic', question })
    expect(user.map((p) => p.kind)).toEqual(['text', 'slot', 'text'])
    expect(user[0]).toMatchObject({ text: expect.stringContaining(`\n${question}\n`) })
  })
})

describe('option lines', () => {
  it.each([
    ['A. x', true],
    ['q\n  b) x', true],
    ['q\nC:\nx', true],
    ['q\n\n \n d - x', true],
    ['q\u2028A. x', false],
    ['A.x', false],
    ['E. x', false],
    ['see A. x', false],
    ['AB. x', false],
    ['q\nA\u0085.\u00a0x', true],
    ['q\n\ufeffA. x', false],
    ['A.', false],
  ])('%j: %s', (question, wanted) => expect(hasOptionLines(question)).toBe(wanted))
})

describe('answer retry', () => {
  it('continues the answer with what the graders look for', () => {
    const retry = (task: 'math' | 'choice' | 'code') =>
      answerRetryText(builtInPack, { task, mode: 'reference', output: 'It is 5. \n\n' })
    expect(retry('math')).toBe('It is 5.\nFinal Answer: \\boxed{')
    expect(retry('choice')).toBe('It is 5.\nFinal Choice: \\boxed{')
    expect(retry('code').split('\n')).toEqual(['It is 5.', expect.any(String), 'Final Code:', '```python', ''])
  })
})

describe('what the published prompts do wrong', () => {
  it('a code block that is left open swallows the retry, in reference mode', () => {
    const output = 'So:\n```python\nprint('
    const retry = (mode: 'reference' | 'corrected') => answerRetryText(builtInPack, { task: 'code', mode, output })
    expect(retry('reference').startsWith(`${output}\nThe format`)).toBe(true)
    expect(retry('corrected').startsWith(`${output}\n\`\`\`\nThe format`)).toBe(true)
    const closed = `${output}1)\n\`\`\``
    for (const mode of ['reference', 'corrected'] as const)
      expect(answerRetryText(builtInPack, { task: 'code', mode, output: closed })).toBe(
        `${closed}${retry('reference').slice(output.length)}`,
      )
  })

  it('a phrase stands for the letters that are to be chosen from, in reference mode', () => {
    const asked = (question: string, mode: 'reference' | 'corrected') =>
      JSON.stringify(
        buildPrompt(builtInPack, { role: 'expert', variant: 'first', task: 'choice', mode, question }).user,
      )
    const phrase = 'Choose the correct option after a look at the table. How many?'
    const letters = 'How many? Choose the correct option: A, B, C or D.'
    expect(asked(phrase, 'reference')).not.toMatch(/: A, B, C or D/)
    expect(asked(phrase, 'corrected')).toMatch(/: A, B, C or D/)
    for (const mode of ['reference', 'corrected'] as const)
      expect(asked(letters, mode).match(/: A, B, C or D/g)).toHaveLength(1)
  })
})

describe('inner training without a role', () => {
  it('turns "#### result" into a final answer line', () => {
    const made = plainTrainingText(builtInPack, {
      question: QUESTION,
      answer: '7 * 8 = 56\n#### 56\n',
      mode: 'reference',
    })
    expect(made.target).toBe('7 * 8 = 56\n#### 56\nFinal Answer: \\boxed{56}')
    expect(made.prompt.user).toEqual([{ kind: 'text', text: expect.stringContaining(QUESTION) }])
    expect(made.target).toContain(made.latentsEndAt!)
  })

  it('takes the whole answer where there is no mark', () => {
    expect(plainTrainingText(builtInPack, { question: 'q', answer: ' 5 ', mode: 'reference' }).target).toBe(
      ' 5\nFinal Answer: \\boxed{5}',
    )
  })
})

/** The demo's pack, as its recipe states the prompts. */
const demo = {
  format: 'recursivemas-prompt-pack/1',
  name: 'Vel',
  version: '1',
  system: [''],
  prompts: {
    planner: {
      first: ['plan the question : {{question}}'],
      feedback: ['plan again the question : {{question}} feedback : {{slot:feedback}} use it softly'],
    },
    critic: { first: ['refine the plan for question : {{question}} plan : {{slot:plan}} refine it'] },
    solver: { first: ['solve with the plan : {{slot:refinedPlan}} question : {{question}} answer'] },
  },
}

describe('another pack', () => {
  const pack = parsePromptPack(demo, 'demo')
  const question = 'unat ona plo dva mik pem'

  it('may have one-line prompts and no system message', () => {
    expect(buildPrompt(pack, { ...base, question })).toEqual({
      system: '',
      user: [{ kind: 'text', text: `plan the question : ${question}` }],
    })
    expect(buildPrompt(pack, { ...base, question, variant: 'feedback', round: 2 }).user).toEqual([
      { kind: 'text', text: `plan again the question : ${question} feedback : ` },
      { kind: 'slot', name: 'feedback' },
      { kind: 'text', text: ' use it softly' },
    ])
    expect(buildPrompt(pack, { ...base, question, role: 'solver' }).user).toEqual([
      { kind: 'text', text: 'solve with the plan : ' },
      { kind: 'slot', name: 'refinedPlan' },
      { kind: 'text', text: ` question : ${question} answer` },
    ])
  })

  it('is read from a file, with the same hash whatever the order of its keys', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pack-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'pack.json')
    await writeFile(file, JSON.stringify(Object.fromEntries(Object.entries(demo).reverse()), null, 4))
    expect(promptPackHash(await loadPromptPack(file))).toBe(promptPackHash(pack))
    expect(promptPackHash(parsePromptPack({ ...demo, system: ['x'] }, 'x'))).not.toBe(promptPackHash(pack))
    await writeFile(file, '{"format": ')
    await expect(loadPromptPack(file)).rejects.toThrow(/pack\.json is not JSON/)
    await expect(loadPromptPack(join(folder, 'none.json'))).rejects.toThrow(
      /^The prompt pack .*none\.json does not exist/,
    )
    await expect(loadPromptPack(folder)).rejects.toThrow(/is a folder/)
  })

  it('says which situation it lacks', () => {
    expect(() => buildPrompt(pack, { ...base, role: 'reflector' })).toThrow(
      /prompts\.reflector: the role "reflector".*"first"; there are prompts for planner \(first, feedback\), critic \(first\)/,
    )
    expect(() => buildPrompt(pack, { ...base, role: 'solver', variant: 'feedback' })).toThrow(
      /prompts\.solver.*"feedback"/,
    )
    expect(() => answerRetryText(pack, { task: 'math', mode: 'reference', output: '' })).toThrow(/answerRetry/)
    const codeOnly = { ...demo, prompts: { planner: { first: [{ when: { task: 'code' }, lines: ['x'] }] } } }
    expect(() => buildPrompt(parsePromptPack(codeOnly, 'x'), base)).toThrow(/planner, first, task math/)
  })

  it('may depend on everything a situation is made of', () => {
    const prompts = {
      other: {
        first: [
          { when: { asksForOption: true, task: ['choice', 'math'] }, lines: ['{{questionTrimmed}}'] },
          { when: { mode: 'reference' }, lines: ['{{ question }}', ''] },
          { lines: ['{{round}}'] },
        ],
      },
    }
    const system = [{ when: { role: ['other'] }, lines: ['tools'] }, { lines: ['plain'] }]
    const conditional = parsePromptPack({ ...demo, system, prompts }, 'x')
    const ask = (request: Partial<PromptRequest>) => buildPrompt(conditional, { ...base, role: 'other', ...request })
    expect(ask({ question: 'Please CHOOSE the correct option: A or B. \n' })).toEqual({
      system: 'tools',
      user: [{ kind: 'text', text: 'Please CHOOSE the correct option: A or B.' }],
    })
    expect(ask({ mode: 'reference', question: 'q ' }).user).toEqual([{ kind: 'text', text: 'q \n' }])
    expect(() => ask({})).toThrow(/round/)
  })

  it.each<[string, object, RegExp]>([
    ['an unknown field', { extra: 1 }, /extra/],
    ['another format', { format: 'x/2' }, /format/],
    ['no prompts', { prompts: undefined }, /prompts/],
    ['a text that is no list', { prompts: { planner: { first: 'x' } } }, /prompts\.planner\.first/],
    [
      'an unknown condition',
      { prompts: { planner: { first: [{ when: { colour: 'red' }, lines: ['x'] }] } } },
      /prompts\.planner\.first/,
    ],
    [
      'an unknown placeholder',
      { prompts: { planner: { first: ['a', '{{qestion}}'] } } },
      /prompts\.planner\.first\.1: \{\{qestion\}\}/,
    ],
    ['a name after a colon', { system: ['{{part:x}}'] }, /system\.0/],
    ['a part that contains itself', { parts: { a: ['{{b}}'], b: ['{{a}}'] } }, /a > b > a/],
    ['a part named as a value', { parts: { question: ['x'] } }, /parts\.question/],
  ])('is refused with %s, naming the field', (_, change, why) => {
    const error = (() => {
      try {
        return parsePromptPack(JSON.parse(JSON.stringify({ ...demo, ...change })), 'my-pack.json')
      } catch (e) {
        return e
      }
    })()
    expect(error).toBeInstanceOf(UserError)
    expect((error as UserError).why).toMatch(why)
    expect((error as UserError).why).toContain('my-pack.json')
  })
})
