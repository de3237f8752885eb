/** Reading rows: forms of files, wishes for columns, and every kind of bad input. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { describeLeftOut, readRows, type ReadOptions } from '../../../src-main/engine/data/rows'
import { UserError } from '../../../src-main/engine/errors'
import { dataSpec } from '../../../src-main/engine/job-spec'
import { mapSpecPaths } from '../../../src-main/engine/spec-paths'

const work = mkdtempSync(join(tmpdir(), 'rows-'))
afterAll(() => rmSync(work, { recursive: true }))

function file(name: string, content: string | Uint8Array): string {
  const path = join(work, name)
  writeFileSync(path, content)
  return path
}

const read = (path: string, options: ReadOptions, spec: object = {}) =>
  readRows(dataSpec.parse({ file: path, ...spec }), options)
const texts = async (path: string, spec: object = {}) =>
  (await read(path, { required: ['q'] }, spec)).rows.map((r) => r.text.q)

async function refusal(path: string, options: ReadOptions = { required: ['q'] }, spec: object = {}): Promise<string> {
  const error = await read(path, options, spec).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return (error as UserError).message
}

describe('forms of files', () => {
  const rows = '[{"q":"one"},{"q":"two"}]'
  it('a bare list, an object with "data", an object with a named field, lines', async () => {
    expect(await texts(file('list.json', rows))).toEqual(['one', 'two'])
    expect(await texts(file('data.json', `{"version":1,"data":${rows}}`))).toEqual(['one', 'two'])
    expect(await texts(file('field.json', `{"data":[],"train":${rows}}`), { field: 'train' })).toEqual(['one', 'two'])
    expect(await texts(file('lines.jsonl', '{"q":"one"}\n{"q":"two"}\n'))).toEqual(['one', 'two'])
  })

  it('byte order marks, CRLF, blank lines, no newline at the end', async () => {
    expect(await texts(file('bom.json', `\ufeff${rows}`))).toEqual(['one', 'two'])
    const { rows: lines } = await read(file('bom.jsonl', '\ufeff{"q":"one"}\r\n\r\n{"q":"two\u2028\ufeff"}'), {
      required: ['q'],
    })
    expect(lines.map((r) => [r.number, r.text.q])).toEqual([
      [1, 'one'],
      [3, 'two\u2028\ufeff'],
    ])
  })

  it('lines longer than a reading block, with multi-byte characters on its border', async () => {
    const long = 'ä€😀'.repeat(30_000)
    expect(await texts(file('long.jsonl', `{"q":"x"}\n${JSON.stringify({ q: long })}\n{"q":"y"}`))).toEqual([
      'x',
      long,
      'y',
    ])
  })

  it('text stays text; numbers and truth values become what JSON writes', async () => {
    const path = file('types.jsonl', '{"q":" 007 ","a":42,"b":true,"c":0.5,"d":null,"e":[1]}')
    const {
      rows: [row],
    } = await read(path, { required: ['q', 'a'], optional: ['b', 'c', 'd', 'e', 'f'] })
    expect(row.text).toEqual({ q: ' 007 ', a: '42', b: 'true', c: '0.5' })
    expect(row.values).toEqual({ q: ' 007 ', a: 42, b: true, c: 0.5, d: null, e: [1] })
  })

  it('takes the first of alternative columns that the data has', async () => {
    const path = file('problem.jsonl', '{"problem":"p","answer":"1"}')
    const {
      rows: [row],
    } = await read(path, { required: [['question', 'problem'], 'answer'] })
    expect(row.text).toEqual({ question: 'p', answer: '1' })
  })
})

describe('order and limit', () => {
  const path = file('order.jsonl', Array.from({ length: 50 }, (_, i) => `{"q":"${i}"}`).join('\n'))
  it('takes the first rows, or the first of a seeded order', async () => {
    expect(await texts(path, { limit: 3 })).toEqual(['0', '1', '2'])
    const shuffled = (seed: number) =>
      read(path, { required: ['q'], seed }, { shuffle: true }).then((r) => r.rows.map((row) => row.text.q))
    const one = await shuffled(1)
    expect([...one].sort()).toEqual(Array.from({ length: 50 }, (_, i) => String(i)).sort())
    expect(await shuffled(1)).toEqual(one)
    expect(await shuffled(2)).not.toEqual(one)
  })
})

describe('rows that cannot be used', () => {
  it('are counted, listed and left out', async () => {
    const content =
      '{"q":"a","r":"b"}\n{"q":null,"r":"b"}\n{"r":"b"}\n{"q":" \\t","r":"b"}\n{"q":["a"],"r":"b"}\n{"q":"null","r":"None"}\n'
    const path = file('holes.jsonl', content)
    const { rows, report } = await read(path, { required: ['q', 'r'] })
    expect(rows.map((r) => r.number)).toEqual([1, 6])
    expect(report).toEqual({
      file: path,
      format: 'jsonl',
      sha256: createHash('sha256').update(content).digest('hex'),
      columns: ['q', 'r'],
      total: 6,
      selected: 6,
      usable: 2,
      null: 2,
      blank: 1,
      structure: 1,
      problems: [
        { number: 2, column: 'q', cause: 'null' },
        { number: 3, column: 'q', cause: 'null' },
        { number: 4, column: 'q', cause: 'blank' },
        { number: 5, column: 'q', cause: 'structure' },
      ],
    })
    expect(describeLeftOut(report)).toBe(
      '4 of 6 rows are left out: 2 (q: null or missing), 3 (q: null or missing), 4 (q: blank), 5 (q: no text).',
    )
    expect(describeLeftOut({ ...report, selected: 2 })).toBeNull()
  })
})

describe('alternatives per row', () => {
  const wish = { anyOf: ['answer', 'summary', 'result'] } as const

  it('give each row the first that holds a text, under the first name', async () => {
    const path = file(
      'any.jsonl',
      '{"answer":"a","summary":"s"}\n{"answer":" ","summary":"s"}\n{"answer":null,"summary":"t"}\n{"summary":5}\n',
    )
    const { rows, report } = await readRows({ file: path, shuffle: false, limit: 0 }, { required: [wish] })
    expect(rows.map((r) => r.text.answer)).toEqual(['a', 's', 't', '5'])
    expect(report.usable).toBe(4)
  })

  it('name all that were looked for where a row has none of them, and where no row has one', async () => {
    const path = file('none.jsonl', '{"answer":"a"}\n{"answer":null,"summary":" "}\n{"other":1}\n{"summary":["s"]}\n')
    const { report } = await readRows({ file: path, shuffle: false, limit: 0 }, { required: [wish] })
    expect(describeLeftOut(report)).toBe(
      '3 of 4 rows are left out: 2 (answer or summary or result: blank), ' +
        '3 (answer or summary or result: null or missing), 4 (answer or summary or result: no text).',
    )
    expect(await refusal(file('q.jsonl', '{"q":"a"}'), { required: [wish], hint: 'Try the form "text".' })).toMatch(
      /has no answer or summary or result; its columns are q\. .* Try the form "text"\./,
    )
  })
})

describe('a text in place of null', () => {
  it('is put into columns that the data has, and counted', async () => {
    const path = file('null.jsonl', '{"q":"a","p":null}\n{"q":"b","p":"x"}\n{"p":"y"}\n{"q":" ","p":"z"}\n')
    const { rows, report, filled } = await readRows(
      { file: path, shuffle: false, limit: 0 },
      { required: ['q', 'p'], nullAs: 'None' },
    )
    expect(rows.map((r) => [r.text.q, r.text.p, r.values.p])).toEqual([
      ['a', 'None', 'None'],
      ['b', 'x', 'x'],
      ['None', 'y', 'y'],
    ])
    expect([filled, report.blank, report.null]).toEqual([2, 1, 0])
  })
})

describe('refused, naming the cause', () => {
  it.each([
    ['broken.jsonl', '{"q":"a"}\n{"q":"b"\n{"q":"c"}\n', /line 2 is not JSON/],
    ['cut.jsonl', '{"q":"a"}\n\n{"q":"b', /line 3 is not JSON/],
    ['list.jsonl', '{"q":"a"}\n[1]\n', /line 2 is not an object/],
    ['broken.json', '[{"q":"a"},', /is not JSON/],
    ['lines.json', '{"q":"a"}\n{"q":"b"}', /rename it to \.jsonl/],
    ['number.json', '3', /neither a list nor an object/],
    ['strings.json', '["a"]', /row 1 is not an object/],
    ['no-data.json', '{"train":[{"q":"a"}],"n":1}', /no field "data".*"train"/],
    ['data-object.json', '{"data":{"q":"a"}}', /field "data" is no list/],
    ['empty.json', '', /is empty/],
    ['empty.jsonl', '\n', /it has no rows/],
    ['empty-list.json', '[]', /it has no rows/],
    ['unusable.jsonl', '{"q":" "}\n{"q":null}', /none of its 2 rows can be used \(row 1: q is blank\)/],
    ['columns.jsonl', '{"question":"a"}\n{"answer":"b"}', /has no q; its columns are question, answer/],
    ['table.csv', 'q\na', /"\.csv"; \.json and \.jsonl are known/],
  ])('%s', async (name, content, reason) => {
    expect(await refusal(file(name, content))).toMatch(reason)
  })

  it('several missing columns at once, alternatives spelled out', async () => {
    const path = file('some.jsonl', '{"q":"a"}')
    expect(await refusal(path, { required: ['q', 'plan', ['question', 'problem']] })).toContain(
      'has no plan, no question or problem; its columns are q.',
    )
  })

  it('a field asked of a bare list, a missing file, a folder, text that is not UTF-8', async () => {
    expect(await refusal(file('bare.json', '[{"q":"a"}]'), undefined, { field: 'rows' })).toContain('no field "rows"')
    expect(await refusal(join(work, 'absent.jsonl'))).toContain('does not exist')
    expect(await refusal(file('latin1.jsonl', Buffer.from('{"q":"a"}\n{"q":"caf\xe9"}', 'latin1')))).toContain(
      'line 2 is not UTF-8',
    )
    expect(await refusal(file('utf16.json', Buffer.from('[{"q":"a"}]', 'utf16le').fill(0xff, 0, 1)))).toContain(
      'is not UTF-8',
    )
  })
})

describe('columns by other names', () => {
  const path = file(
    'named.jsonl',
    '{"p":"one","q":"other","a":"1"}\n{"p":null,"q":"more","a":"2"}\n{"a":"3","q":"x"}\n',
  )
  const columns = { q: 'p', answer: 'a' }

  it('are read under the name that the job looks for, whatever else is called so', async () => {
    const { rows, report } = await read(path, { required: ['q', 'answer'] }, { columns })
    expect(rows.map(({ number, text, values }) => [number, text, values])).toEqual([
      [1, { q: 'one', answer: '1' }, { p: 'one', q: 'one', a: '1', answer: '1' }],
    ])
    expect(report.problems).toEqual([
      { number: 2, column: 'q', cause: 'null' },
      { number: 3, column: 'q', cause: 'null' },
    ])
    expect(report.columns).toEqual(['p', 'q', 'a', 'answer'])
  })

  it('may change places', async () => {
    const { rows } = await read(path, { required: ['q', 'a'] }, { columns: { q: 'a', a: 'q' } })
    expect(rows.map(({ text }) => [text.q, text.a])).toEqual([
      ['1', 'other'],
      ['2', 'more'],
      ['3', 'x'],
    ])
  })

  it('that are not there are named', async () => {
    expect(await refusal(path, { required: ['q'] }, { columns: { q: 'prompt' } })).toMatch(
      /lacks a column that "columns" names.*has no prompt; its columns are p, q, a/,
    )
  })

  it('are no paths of the spec, whatever they are called', () => {
    const data = { file: 'rows.jsonl', columns: { file: 'text', model: 'text' } }
    expect(mapSpecPaths({ data }, (path) => `/base/${path}`)).toEqual({
      data: { ...data, file: '/base/rows.jsonl' },
    })
  })
})
