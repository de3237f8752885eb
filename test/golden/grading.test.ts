/** Grading against the golden vectors: the reference's own results without tolerance, and what a careful person says. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { referenceLetter } from '../../src-main/engine/evaluation/grading/reference/choice'
import { referenceCode } from '../../src-main/engine/evaluation/grading/reference/code'
import { gradeReferenceMath, normalForms, normalise } from '../../src-main/engine/evaluation/grading/reference/math'
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

  test('choice: the letter without a default', () => {
    const choice = lines<{ id: string; output: string; reference: { letter: string | null } }>('choice.jsonl')
    expect(choice).toHaveLength(589)
    for (const { id, output, reference } of choice) {
      expect({ id, letter: referenceLetter(output) }).toEqual({ id, letter: reference.letter })
    }
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
