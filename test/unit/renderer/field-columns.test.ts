/** Fields of a style and the columns that they are read from. */
import { expect, it } from 'vitest'
import { foundColumns, missingFields, usableMapping, withColumn } from '../../../src-renderer/lib/field-columns'

const needed = { inner: true, outer: true, evaluate: false }
const plan = { field: 'plan', title: 'Plan', columns: ['plan', 'planner'], needed }
const question = {
  field: 'question',
  title: 'Question',
  columns: ['question', 'problem'],
  needed: { ...needed, evaluate: true },
}
const columns = [{ name: 'problem' }, { name: 'Lösung: "a.b"' }, { name: 'question' }]

it('are found by themselves in the order of the style, not of the file', () => {
  expect(foundColumns(question, columns)).toEqual(['question', 'problem'])
  expect(foundColumns(plan, columns)).toEqual([])
})

it('are missing where the run needs them and nothing was found or chosen', () => {
  const fields = [plan, question]
  expect(missingFields(fields, 'outer', {}, columns)).toEqual([plan])
  expect(missingFields(fields, 'evaluate', {}, columns)).toEqual([])
  expect(missingFields(fields, 'outer', { plan: 'Lösung: "a.b"' }, columns)).toEqual([])
  // a choice that was made for another file counts for nothing
  expect(missingFields(fields, 'outer', { plan: 'gone' }, columns)).toEqual([plan])
})

it('a choice can be made, changed and taken back; columns that are gone are not sent', () => {
  const chosen = withColumn({ question: 'problem' }, 'plan', 'Lösung: "a.b"')
  expect(chosen).toEqual({ question: 'problem', plan: 'Lösung: "a.b"' })
  expect(withColumn(chosen, 'question', '')).toEqual({ plan: 'Lösung: "a.b"' })
  expect(usableMapping({ plan: 'gone', question: 'problem' }, columns)).toEqual({ question: 'problem' })
})
