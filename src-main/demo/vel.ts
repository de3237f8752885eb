/**
 * Vel, the invented language of the demo: arithmetic on a clock of ten hours, in questions of one to three steps.
 * A step is (a op b) op c, where a is a digit in the first step and "tan", the result so far, in the later ones.
 * The team makes one step a round, so a question of three steps needs three rounds.
 */
export const digits = ['nul', 'ona', 'dva', 'tir', 'kat', 'pem', 'ses', 'hep', 'oko', 'nov'] as const
export const ordinals = ['unat', 'dvat', 'trit'] as const
export const operators = ['plo', 'mik'] as const
export const resultSoFar = 'tan'
export const numerals = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'] as const
export const depths = [1, 2, 3] as const
/**
 * Words of every text that an agent writes, and so the latents that cross a link: a rollout of that length thinks the
 * text to its last word and never has to go on behind its end.
 */
export const latentSteps = 11

export type Operator = (typeof operators)[number]
export type Depth = (typeof depths)[number]

/** (a `first` b) `second` c; a is the result so far. */
export interface Step {
  readonly first: Operator
  readonly b: number
  readonly second: Operator
  readonly c: number
}

export interface Problem {
  readonly start: number
  readonly steps: readonly Step[]
}

/** What the three agents write in one round. */
export interface RoundTexts {
  readonly plan: string
  readonly refined_plan: string
  readonly answer: string
}

/** A row of the data files: the texts of its last step, and those of every round. */
export interface DemoRow extends RoundTexts {
  readonly question: string
  readonly depth: number
  /** Three rounds; when all steps are done the last one is repeated. */
  readonly rounds: readonly RoundTexts[]
}

const sign = { plo: '+', mik: '-' } as const
const spoken = { plo: 'plus', mik: 'minus' } as const

export function calculate(a: number, operator: Operator, b: number): number {
  return (operator === 'plo' ? a + b : a - b + 10) % 10
}

/** Texts of step `number` (from 1) when the result so far is `a`, and the result after it. */
export function stepTexts(number: number, a: number, step: Step): { texts: RoundTexts; result: number } {
  const { first, b, second, c } = step
  const half = calculate(a, first, b)
  const result = calculate(half, second, c)
  return {
    texts: {
      plan: `plan ${number} : ${a} ${sign[first]} ${b} ; then ${sign[second]} ${c} .`,
      refined_plan: `${number} : ${a} ${sign[first]} ${b} = ${half} ; ${sign[second]} ${c} .`,
      answer:
        `${numerals[number]} : ${numerals[a]} ${spoken[first]} ${numerals[b]} is ${numerals[half]} ` +
        `${spoken[second]} ${numerals[c]} is ${numerals[result]}`,
    },
    result,
  }
}

export function questionText(problem: Problem): string {
  return problem.steps
    .map(({ first, b, second, c }, i) => {
      const a = i === 0 ? digits[problem.start] : resultSoFar
      return `${ordinals[i]} ${a} ${first} ${digits[b]} ${second} ${digits[c]}`
    })
    .join(' ')
}

export function rowOf(problem: Problem): DemoRow {
  const rounds: RoundTexts[] = []
  let value = problem.start
  for (const [i, step] of problem.steps.entries()) {
    const { texts, result } = stepTexts(i + 1, value, step)
    rounds.push(texts)
    value = result
  }
  const last = rounds[rounds.length - 1]
  while (rounds.length < depths.length) rounds.push(last)
  return { question: questionText(problem), ...last, depth: problem.steps.length, rounds }
}
