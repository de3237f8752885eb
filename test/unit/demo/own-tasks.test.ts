import { describe, expect, it } from 'vitest'
import { makeProblems } from '../../../src-main/demo/data'
import { drawTask } from '../../../src-main/demo/own-tasks'
import { createRandom } from '../../../src-main/demo/random'
import { initialWeights, roles, weightShapes, type Role } from '../../../src-main/demo/tiny-models'
import { questionText } from '../../../src-main/demo/vel'
import { assistantId, endId, userId, vocabulary } from '../../../src-main/demo/vocabulary'

const train = makeProblems(3, { train: 80, validation: 5, heldOut: 5 }).train
const words = (ids: readonly number[]) => ids.map((id) => vocabulary[id]).join(' ')
const draws = (role: Role, count: number) => {
  const random = createRandom(5, role)
  return Array.from({ length: count }, () => drawTask(role, train, 16, random))
}

describe('the models’ own tasks', () => {
  it('are batches of equal length, framed as the chat template frames them', () => {
    for (const role of roles)
      for (const { ids, targetLength } of draws(role, 30)) {
        expect(ids).toHaveLength(16)
        for (const row of ids) {
          expect(row).toHaveLength(ids[0].length)
          expect(row[0]).toBe(userId)
          expect(row.at(-1)).toBe(endId)
          expect(row.slice(0, -targetLength).slice(-2)).toEqual([endId, assistantId])
        }
      }
  })

  it('give the critic and the solver the question of another row, so that only the slot tells', () => {
    const pattern = {
      critic: /question : (.*) plan : plan \d : (\d) . (\d) ; then . (\d) \. refine it/,
      solver: /plan : \d : (\d) . (\d) = \d ; . (\d) \. question : (.*) answer/,
    }
    const own = { critic: [0, 1, 2, 3], solver: [3, 0, 1, 2] }
    const digit = 'nul ona dva tir kat pem ses hep oko nov'.split(' ')
    for (const role of ['critic', 'solver'] as const) {
      let told = 0
      const all = draws(role, 30).flatMap((b) => b.ids.map(words))
      for (const row of all) {
        const found = pattern[role].exec(row)!.slice(1)
        const [question, , b, c] = own[role].map((i) => found[i])
        const steps = question.split(/unat |dvat |trit /).map((s) => s.trim().split(' '))
        if (steps.some((s) => digit.indexOf(s[2]) === Number(b) && digit.indexOf(s[4]) === Number(c))) told++
      }
      // a question of up to three steps meets two digits by chance in 1 to 3 of 100 rows
      expect(told / all.length).toBeLessThan(0.06)
    }
  })

  it('teach the planner the first step without feedback and the next one, or rest, after an answer', () => {
    let [plain, after, rest] = [0, 0, 0]
    for (const { ids, targetLength } of draws('planner', 200))
      for (const row of ids) {
        const target = words(row.slice(-targetLength))
        const feedback = /feedback : (one|two|three) : .* is (\w+) use it softly/.exec(words(row))
        const depth = (words(row).match(/unat|dvat|trit/g) ?? []).length
        const done = feedback ? ['one', 'two', 'three'].indexOf(feedback[1]) + 1 : 0
        expect(Number(target.split(' ')[1])).toBe(Math.min(done + 1, depth))
        if (done === 0) plain++
        else if (done < depth) {
          after++
          const digit = 'zero one two three four five six seven eight nine'.split(' ').indexOf(feedback![2])
          expect(target.split(' ')[3]).toBe(String(digit))
        } else rest++
      }
    for (const count of [plain, after, rest]) expect(count).toBeGreaterThan(300)
  })

  it('use training questions only', () => {
    const known = new Set(train.flat().map(questionText))
    for (const role of roles)
      for (const { ids } of draws(role, 20))
        for (const row of ids)
          expect(known.has(/question : ((?:(?!feedback|plan|answer|<)\S+ ?)+)/.exec(words(row))![1].trim())).toBe(true)
  })
})

describe('the start of training', () => {
  it('has embeddings of the scale of a LayerNorm output and the parameter counts that follow from the shapes', () => {
    const counts = { planner: 137664, critic: 280704, solver: 241392 }
    for (const role of roles) {
      const weights = initialWeights(role, createRandom(1, role))
      expect([...weights.values()].reduce((n, w) => n + w.length, 0)).toBe(counts[role])
      const embedding = weights.get('model.embed_tokens.weight')!
      const squares = embedding.reduce((n, x) => n + x * x, 0) / embedding.length
      // the mean square of some 4,000 normal numbers is 1 within 4 standard errors
      expect(Math.abs(squares - 1)).toBeLessThan(4 * Math.sqrt(2 / embedding.length))
      expect(weightShapes(role).map((w) => w.name)).toEqual([...weights.keys()])
    }
  })
})
