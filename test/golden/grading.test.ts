/** Grading against the golden vectors: the reference's own results without tolerance, and what a careful person says. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  gradeReferenceChoice,
  referenceGold,
  referenceLetter,
} from '../../src-main/engine/evaluation/grading/reference/choice'
import { referenceCode } from '../../src-main/engine/evaluation/grading/reference/code'
import { gradeReferenceMath, normalForms, normalise } from '../../src-main/engine/evaluation/grading/reference/math'
import { gradeStrictChoice, strictGold } from '../../src-main/engine/evaluation/grading/strict/choice'
import { gradeStrictMath } from '../../src-main/engine/evaluation/grading/strict/math'
import { PythonError } from '../../src-main/engine/evaluation/grading/reference/python-text'

function lines<T>(name: string): T[] {
  const text = readFileSync(join(import.meta.dirname, 'grading', name), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)
}

interface MathLine {
  id: string
  gold: string
  output: string
  strict: boolean | null
  reference:
    | {
        correct: boolean
        pred: string | null
        gold_norm: string
        pred_norm: string
        norms: Record<string, string> | null
      }
    | { error: string; norms: Record<string, string | { error: string }> }
}

interface ChoiceLine {
  id: string
  answer: string
  gold: string
  output: string
  strict: boolean | null
  options?: Record<string, string>
  reference: { letter: string | null; pred: string; correct: boolean }
}

interface GoldLine {
  answer: string
  options: string[] | null
  strict: string | null
  reference: string
}

describe('reference mode', () => {
  const math = lines<MathLine>('math.jsonl')

  test('math: verdict, prediction and deciding normal form of every line', () => {
    expect(math).toHaveLength(2069)
    let raised = 0
    for (const { id, gold, output, reference } of math) {
      const verdict = gradeReferenceMath(gold, output)
      if ('error' in reference) {
        raised++
        expect(verdict, id).toMatchObject({ correct: false })
        expect(verdict.cause, id).toMatch(new RegExp(`^${reference.error}: `))
      } else {
        const { correct, pred, gold_norm: goldNorm, pred_norm: predNorm } = reference
        expect({ id, ...verdict }).toEqual({ id, correct, pred, goldNorm, predNorm })
      }
    }
    expect(raised).toBe(2)
  })

  test('math: all four normal forms of every prediction', () => {
    for (const { id, gold, output, reference } of math) {
      const { pred } = gradeReferenceMath(gold, output)
      const norms =
        pred === null
          ? null
          : Object.fromEntries(
              normalForms.map((form) => {
                try {
                  return [form, normalise(form, pred)]
                } catch (error) {
                  return [form, { error: (error as PythonError).message.split(':')[0] }]
                }
              }),
            )
      expect({ id, norms }).toEqual({ id, norms: reference.norms })
    }
  })

  test('choice: the letter without a default, the one that counts, and the verdict', () => {
    const choice = lines<ChoiceLine>('choice.jsonl')
    expect(choice).toHaveLength(589)
    for (const { id, gold, output, reference } of choice) {
      const { correct, pred } = gradeReferenceChoice(gold, output)
      expect({ id, letter: referenceLetter(output), pred, correct }).toEqual({
        id,
        letter: reference.letter,
        pred: reference.pred,
        correct: reference.correct,
      })
    }
  })

  test('choice: the letter of a gold answer in words', () => {
    for (const line of lines<GoldLine>('medqa-gold.jsonl'))
      expect({ ...line, reference: referenceGold(line.answer, line.options ?? []) }).toEqual(line)
  })

  test('code: the extracted program', () => {
    const code = lines<{ id: string; output: string; reference: { code: string } }>('code-extract.jsonl')
    expect(code).toHaveLength(245)
    for (const { id, output, reference } of code) {
      expect({ id, code: referenceCode(output) }).toEqual({ id, code: reference.code })
    }
  })
})

describe('strict mode', () => {
  test('choice: the letter that a careful person reads', () => {
    // the examples of the specification have no right option
    const judged = lines<ChoiceLine>('choice.jsonl').filter(({ answer }) => answer !== 'spec-12.2')
    expect(judged).toHaveLength(553)
    const others = judged.flatMap(({ id, gold, output, strict, options }) => {
      const { correct, pred, reason } = gradeStrictChoice(gold, output, Object.values(options ?? {}))
      return correct === strict ? [] : [{ id, gold, pred, strict, correct, reason, output }]
    })
    expect(others).toEqual([])
  })

  test('choice: the right letter of a gold answer in words', () => {
    const golds = lines<GoldLine>('medqa-gold.jsonl')
    expect(golds).toHaveLength(55)
    for (const line of golds) expect({ ...line, strict: strictGold(line.answer, line.options ?? []) }).toEqual(line)
  })

  test('math: what a careful person says, on every line where people agree', () => {
    const clear = lines<MathLine>('math.jsonl').filter(({ strict }) => strict !== null)
    expect(clear).toHaveLength(1828)
    const others = clear.flatMap(({ id, gold, output, strict }) => {
      const { correct, pred, reason } = gradeStrictMath(gold, output)
      return correct === strict ? [] : [{ id, gold, pred, strict, correct, reason }]
    })
    expect(others).toEqual([])
  }, 60_000)
})
