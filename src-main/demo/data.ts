/**
 * The demo's questions, in parts that share none: `train` for models and links, `validation` for choosing (the best
 * checkpoint), `heldOut` for the reported table, on which nothing is chosen.
 * No question of validation or heldOut occurs in training, nor as the beginning of a longer training question.
 */
import { createRandom, type Random } from './random'
import { depths, operators, questionText, type Problem } from './vel'

/** Questions of each depth. */
export const partSizes = { train: 3000, validation: 50, heldOut: 100 } as const
export type Part = keyof typeof partSizes

/** By depth: index 0 holds the questions of one step. */
export type Problems = Readonly<Record<Part, readonly (readonly Problem[])[]>>

export function makeProblems(seed: number, sizes: Readonly<Record<Part, number>> = partSizes): Problems {
  const kept = new Set<string>()
  const evaluation = new Set<string>()
  const draw = (part: Part, depth: number, count: number): Problem[] => {
    const random = createRandom(seed, `data ${part} ${depth}`)
    const found: Problem[] = []
    while (found.length < count) {
      const problem = drawProblem(random, depth)
      const question = questionText(problem)
      if (kept.has(question)) continue
      if (part === 'train' && beginnings(problem).some((q) => evaluation.has(q))) continue
      kept.add(question)
      if (part !== 'train') evaluation.add(question)
      found.push(problem)
    }
    return found
  }
  const heldOut = depths.map((depth) => draw('heldOut', depth, sizes.heldOut))
  const validation = depths.map((depth) => draw('validation', depth, sizes.validation))
  const train = depths.map((depth) => draw('train', depth, sizes.train))
  return { train, validation, heldOut }
}

/** The questions that a question begins with, itself included. */
export function beginnings(problem: Problem): string[] {
  return problem.steps.map((_, i) => questionText({ ...problem, steps: problem.steps.slice(0, i + 1) }))
}

/** Questions of all depths by turns, so that the first n rows hold every depth alike. */
export function interleave(problems: readonly (readonly Problem[])[], perDepth = Infinity): Problem[] {
  const count = Math.min(perDepth, ...problems.map((p) => p.length))
  return Array.from({ length: count }, (_, i) => problems.map((p) => p[i])).flat()
}

function drawProblem(random: Random, depth: number): Problem {
  const start = random.integer(10)
  const steps = Array.from({ length: depth }, () => ({
    first: random.pick(operators),
    b: random.integer(10),
    second: random.pick(operators),
    c: random.integer(10),
  }))
  return { start, steps }
}
