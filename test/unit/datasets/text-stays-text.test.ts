/** What a file holds as text comes out character for character, and numbers keep their digits, in every format. */
import { describe, expect, it } from 'vitest'
import { cells, file, open, parquet, printed } from './files'

const tricky = [
  '007',
  '1e5',
  '0.50',
  'NULL',
  'null',
  '2024-01-05',
  '12:30:00',
  'true',
  ' x ',
  '',
  'NaN',
  '1_000',
  "it's",
  'é\u2028😀',
  'a\\nb',
  '\u0000',
]

describe('text stays text', () => {
  it.each([
    ['json', 'text.json', JSON.stringify({ data: tricky.map((t) => ({ t })) })],
    ['json in one field', 'field.json', JSON.stringify({ meta: { data: [1] }, data: tricky.map((t) => ({ t })) })],
    ['jsonl', 'text.jsonl', tricky.map((t) => JSON.stringify({ t })).join('\n')],
    ['csv', 'text.csv', `t\r\n${tricky.map((t) => `"${t}"\r\n`).join('')}`],
    ['csv without quotes', 'plain.csv', `t,u\n${tricky.map((t) => `${t},x\n`).join('')}`],
    ['tsv', 'text.tsv', `t\tu\n${tricky.map((t) => `${t}\t,\n`).join('')}`],
  ])('%s', async (_, name, content) => {
    const dataset = await open(file(name, content))
    expect(dataset.info.problems).toEqual([])
    expect(dataset.info.columns[0]).toEqual({ name: 't', type: 'text', nulls: 0, blank: 1 })
    expect((await cells(dataset)).map(([t]) => t)).toEqual(tricky)
    expect((await printed(dataset)).map((line) => (JSON.parse(line) as { t: string }).t)).toEqual(tricky)
  })

  it('parquet', async () => {
    const values = tricky.slice(0, -1)
    const list = values.map((t) => `('${t.replaceAll("'", "''")}')`).join(', ')
    const dataset = await open(await parquet('text.parquet', `SELECT * FROM (VALUES ${list}) AS v(t)`))
    expect(dataset.info.format).toBe('parquet')
    expect(dataset.info.columns).toEqual([{ name: 't', type: 'text', nulls: 0, blank: 1 }])
    expect((await cells(dataset)).map(([t]) => t)).toEqual(values)
  })

  it('quoted csv keeps line breaks, quotes and separators', async () => {
    const dataset = await open(file('quoted.csv', 'q,a\r\n"one ""two""\r\nthree, four",5" pipe\r\n'))
    expect(await cells(dataset)).toEqual([['one "two"\r\nthree, four', '5" pipe']])
  })

  it('a type seen in the first rows loses no later one', async () => {
    const lines = [...Array.from({ length: 30_000 }, (_, i) => `{"v":${i}}`), '{"v":"007"}', '{"v":0.50,"late":[1]}']
    const dataset = await open(file('late.jsonl', lines.join('\n')))
    expect(dataset.info.columns).toEqual([
      { name: 'v', type: 'text', nulls: 0, blank: 0 },
      { name: 'late', type: 'list', nulls: 30_001, blank: 0 },
    ])
    expect(dataset.info.problems).toMatchObject([{ kind: 'mixed-types', line: 30_001 }])
    const last = await dataset.rows(29_999, 3)
    expect(last.map((row) => row.cells)).toEqual([
      ['29999', null],
      ['007', null],
      ['0.50', '[1]'],
    ])
  })
})

describe('numbers keep their digits', () => {
  it('a number that JSON.parse would change is printed as a string, others as numbers', async () => {
    const row =
      '{"a":7.50,"b":12345678901234567890,"c":1e5,"d":42,"e":-0.25,"f":{"x":[1, 2.0,"2.0 \\" 3.0"]},"g":true,"h":-0}'
    const dataset = await open(file('digits.json', `[${row}]`))
    expect(dataset.info.columns.map(({ type }) => type)).toEqual([
      'number',
      'integer',
      'number',
      'integer',
      'number',
      'object',
      'boolean',
      'integer',
    ])
    expect(await printed(dataset)).toEqual([
      '{"a":"7.50","b":"12345678901234567890","c":"1e5","d":42,"e":-0.25,"f":{"x":[1, "2.0","2.0 \\" 3.0"]},"g":true,"h":"-0"}',
    ])
  })

  it('numbers of a parquet file', async () => {
    const dataset = await open(
      await parquet(
        'digits.parquet',
        "SELECT 1.0::DOUBLE AS d, 0.1::FLOAT AS f, 7.50::DECIMAL(10,2) AS m, 9007199254740993::BIGINT AS b, 5::TINYINT AS i, DATE '2024-01-05' AS t, {'x': 1.5::DOUBLE, 'y': [9007199254740993]} AS s, 'NaN'::DOUBLE AS n, NULL::VARCHAR AS z",
      ),
    )
    expect(dataset.info.columns.map(({ type }) => type)).toEqual([
      'number',
      'number',
      'number',
      'integer',
      'integer',
      'time',
      'object',
      'number',
      'text',
    ])
    expect((await printed(dataset)).map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        d: 1,
        f: 0.1,
        m: '7.50',
        b: '9007199254740993',
        i: 5,
        t: '2024-01-05',
        s: { x: 1.5, y: ['9007199254740993'] },
        n: 'nan',
        z: null,
      },
    ])
  })

  it('kinds of parquet columns', async () => {
    const kinds = [
      ['integer', '1::UBIGINT'],
      ['boolean', 'true'],
      ['text', "'a'::ENUM ('a', 'b')"],
      ['text', 'uuid()'],
      ['list', '[1, 2]'],
      ['object', "MAP {'a': 1}"],
      ['time', "TIMESTAMPTZ '2024-01-05 12:30:00+02'"],
      ['time', "TIME '12:30:00'"],
      ['text', "'\\x41'::BLOB"],
      ['binary', "'\\xFF\\xFE'::BLOB"],
    ]
    for (const [i, [type, value]] of kinds.entries()) {
      const dataset = await open(await parquet(`kind-${i}.parquet`, `SELECT ${value} AS c`))
      expect([value, dataset.info.columns[0].type]).toEqual([value, type])
      if (value.startsWith('TIMESTAMPTZ')) expect((await cells(dataset))[0]).toEqual(['2024-01-05 10:30:00+00'])
    }
  })
})
