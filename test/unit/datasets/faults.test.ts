/** Every fault of a data file: refused in words that name it, or read and listed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cells, file, open, parquet, printed, refusal } from './files'

describe('encodings', () => {
  const text = '{"q":"é 😀"}\r\n\r\n{"q":"two"}\r\n'
  const utf16 = (content: string, big: boolean): Buffer => {
    const bytes = Buffer.from(`\ufeff${content}`, 'utf16le')
    return big ? bytes.swap16() : bytes
  }
  it.each([
    ['a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16, little end first', utf16(text, false)],
    ['UTF-16, big end first', utf16(text, true)],
    ['UTF-16 without a mark', utf16(text, false).subarray(2)],
  ])('%s, CRLF', async (name, bytes) => {
    const dataset = await open(file(`${name}.jsonl`, bytes))
    expect(await cells(dataset)).toEqual([['é 😀'], ['two']])
    expect(dataset.info.columns[0].name).toBe('q')
    expect(dataset.info.problems).toEqual([])
  })

  it('UTF-16 csv and json over several pieces of the file', async () => {
    const rows = Array.from({ length: 30_000 }, (_, i) => `${i},é😀 ${'x'.repeat(30)}`)
    const csv = await open(file('wide.csv', utf16(`n,t\r\n${rows.join('\r\n')}`, false)))
    expect((await csv.rows(29_999, 1))[0].cells).toEqual(['29999', `é😀 ${'x'.repeat(30)}`])
    const json = JSON.stringify({ data: rows.map((q) => ({ q })) })
    const list = await open(file('wide.json', utf16(json, true)))
    expect((await list.rows(29_999, 1))[0].cells).toEqual([rows[29_999]])
  })

  it('Latin-1 is refused unless it is said to be that', async () => {
    const path = file('latin.csv', Buffer.from('q\ncafé\n', 'latin1'))
    expect(await refusal(path)).toMatch(/Line 2 holds bytes that are not UTF-8 text; if it is Latin-1, say so/)
    expect(await cells(await open(path, { encoding: 'latin1' }))).toEqual([['café']])
    expect(await refusal(file('latin.json', Buffer.from('[{"q":"café"}]', 'latin1')))).toMatch(/row 1 holds bytes/)
  })

  it('broken UTF-8 costs its line only, and half characters are named', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"q":"é"}\n{"q":"é'),
      Buffer.from([0xc3]),
      Buffer.from('"}\n{"q":"\\ud800"}\n'),
    ])
    const dataset = await open(file('broken.jsonl', bytes))
    expect(await cells(dataset)).toEqual([['é']])
    expect(dataset.info.leftOut).toBe(2)
    expect(dataset.info.problems).toMatchObject([
      { kind: 'encoding', line: 2, message: 'Line 2 holds bytes that are not UTF-8 text; it is left out.' },
      { kind: 'encoding', line: 3 },
    ])
  })
})

describe('broken files', () => {
  it.each([
    ['an unterminated string', 'open.json', '[{"q":"a"},{"q":"b},{"q":"c"}]', /row 2 is not JSON|ends inside row 2/],
    [
      'an unterminated string at the end',
      'end.json',
      '[{"q":"a"},{"q":"b',
      /ends inside row 2: the closing quote of a text is missing/,
    ],
    ['a list cut short', 'cut.json', '{"data":[{"q":"a"},', /it ends after 1 rows: a closing bracket is missing/],
    ['a comma too few', 'comma.json', '[{"q":"a"} {"q":"b"}]', /a comma is missing after row 1/],
    ['a comma too many', 'commas.json', '[{"q":"a"},]', /after row 1 stands a comma too many/],
    ['text after the end', 'more.json', '[{"q":"a"}] x', /something follows after its end/],
    ['a row that is no JSON', 'row.json', '[{"q":"a"},{"q":tru}]', /row 2 is not JSON/],
    ['an object in place of the rows', 'object.json', '{"data": {}}', /its field "data" is no list/],
    [
      'no field of rows',
      'fields.json',
      '{"train":[{"q":1}],"n":3,"test":[]}',
      /has no field "data".*Name the field that holds the rows: "train", "test"/,
    ],
    ['an empty list', 'none.json', '{"data": []}', /it has no rows/],
    ['an empty file', 'empty.csv', '', /it is empty/],
    ['white space', 'space.jsonl', ' \n\n', /white space only/],
    ['a csv of column names only', 'names.csv', 'a,b\n', /it has no rows/],
    [
      'a quote that is never closed',
      'quote.csv',
      'a,b\n1,"two\n3,4\n',
      /the quoted text that starts in line 2 is never closed/,
    ],
    ['rows that are no objects', 'numbers.json', '[1,2]', /none of its rows can be read \(Row 1 is not an object/],
    ['plain text', 'note.json', 'hello', /it is not JSON \(it starts with "hello"\)/],
    ['no parquet at all', 'fake.parquet', 'hello', /it is no parquet file/],
    ['a packed file', 'rows.jsonl', Buffer.from([0x1f, 0x8b, 8, 0]), /packed with gzip/],
    ['a spreadsheet', 'rows.csv', Buffer.from('PK\x03\x04'), /a spreadsheet/],
    ['an unknown kind', 'rows.bin', Buffer.from([1, 2, 3, 4]), /none of json, jsonl, csv and parquet/],
  ])('%s', async (_, name, content, message) => {
    expect(await refusal(file(name, content))).toMatch(message)
  })

  it('a field that is not there, or has no place', async () => {
    const path = file('asked.json', '{"data":[{"q":1}],"train":[{"q":2}]}')
    expect(await cells(await open(path, { field: 'train' }))).toEqual([['2']])
    expect(await refusal(path, { field: 'test' })).toMatch(/has no field "test".*"data", "train"/)
    expect(await refusal(file('bare.json', '[{"q":1}]'), { field: 'data' })).toMatch(/it is a plain list/)
    expect(await refusal(file('asked.csv', 'q\n1\n'), { field: 'data' })).toMatch(/it is a csv file/)
  })

  it('a file that is missing, and a folder', async () => {
    expect(await refusal('/nowhere/rows.json')).toMatch(/does not exist/)
    expect(await refusal('/tmp')).toMatch(/is a folder/)
  })

  it('a truncated parquet file', async () => {
    const path = await parquet('whole.parquet', 'SELECT range AS n FROM range(10000)')
    const bytes = readFileSync(path)
    for (const size of [4, 100, bytes.length >> 1, bytes.length - 1]) {
      writeFileSync(path, bytes.subarray(0, size))
      expect(await refusal(path)).toMatch(/it is no whole parquet file/)
    }
  })

  it('a parquet file whose reading is stopped, which says how far it is', async () => {
    const path = await parquet(
      'long.parquet',
      'SELECT range AS n, repeat(md5(range::VARCHAR), 8) AS t FROM range(1500000)',
    )
    const stop = new AbortController()
    const shares: number[] = []
    const onProgress = (share: number): void => {
      shares.push(share)
      if (share > 0) stop.abort()
    }
    const opening = open(path, { signal: stop.signal, onProgress })
    await expect(opening).rejects.toMatchObject({ name: 'AbortError' })
    expect(shares.at(-1)).toBeGreaterThan(0)
    expect(shares.at(-1)).toBeLessThan(1)
  })

  it('a wrong extension', async () => {
    const problem = [{ kind: 'wrong-extension' }]
    const lines = await open(file('lines.json', '{"q":1}\n{"q":2}\n'))
    expect(lines.info).toMatchObject({ format: 'jsonl', rows: 2, problems: problem })
    const list = await open(file('list.csv', '[{"q":1}]'))
    expect(list.info).toMatchObject({ format: 'json', rows: 1, problems: problem })
    const path = await parquet('other.json', 'SELECT 1 AS n')
    expect((await open(path)).info).toMatchObject({ format: 'parquet', rows: 1, problems: problem })
  })
})

describe('odd rows', () => {
  it('faulty lines are left out and named', async () => {
    const dataset = await open(file('faulty.jsonl', '{"q":"a"}\n{"q":"b\n[1]\n{"q":"c"}'))
    expect(await cells(dataset)).toEqual([['a'], ['c']])
    expect(dataset.info.problems).toMatchObject([
      { kind: 'syntax', line: 2 },
      { kind: 'not-a-row', line: 3 },
    ])
    const csv = await open(file('faulty.csv', 'a,b\n1,2\n"x"y,3\n4\n\n5,6'))
    expect(await cells(csv)).toEqual([
      ['1', '2'],
      ['5', '6'],
    ])
    expect(csv.info.problems).toMatchObject([
      { kind: 'syntax', line: 3 },
      { kind: 'column-count', line: 4 },
    ])
  })

  it('blank lines of a csv are no rows, unless it has a single column', async () => {
    expect(await cells(await open(file('gaps.csv', '\na,b\n\n1,2\n\n')))).toEqual([['1', '2']])
    expect(await cells(await open(file('single.csv', 'a\n1\n\n2\n')))).toEqual([['1'], [''], ['2']])
  })

  it('many faults are counted, not all listed', async () => {
    const dataset = await open(file('many.jsonl', `{"q":"a"}\n${'oops\n'.repeat(500)}`))
    expect(dataset.info.leftOut).toBe(500)
    expect(dataset.info.problems).toHaveLength(101)
    expect(dataset.info.problems[100].message).toMatch(/^400 more/)
  })

  it('duplicate keys: the last counts, as for JSON.parse', async () => {
    const row = '{"q":1,"r":2,"\\u0071":"é","__proto__":3}'
    const dataset = await open(file('twice.json', `[${row}]`))
    expect(dataset.info.problems).toMatchObject([{ kind: 'duplicate-key', row: 1 }])
    expect(JSON.parse((await printed(dataset))[0])).toEqual(JSON.parse(row))
    const csv = await open(file('twice.csv', 'q,q,\n1,2,3\n'))
    expect(csv.info.columns.map(({ name }) => name)).toEqual(['q', 'q_2', 'column_3'])
    expect(csv.info.problems).toMatchObject([{ kind: 'duplicate-key', line: 1 }])
  })

  it('nulls, missing values, nested values and mixed types', async () => {
    const rows = [
      { a: null, n: { x: [1, { y: 'z' }] } },
      { a: ' \t', n: { x: null } },
      { b: true },
      { b: 1 },
      { b: [2] },
    ]
    const dataset = await open(file('nested.json', JSON.stringify(rows, null, 2)))
    expect(dataset.info.columns).toEqual([
      { name: 'a', type: 'text', nulls: 4, blank: 1 },
      { name: 'n', type: 'object', nulls: 3, blank: 0 },
      { name: 'b', type: 'text', nulls: 2, blank: 0 },
    ])
    expect(dataset.info.problems).toMatchObject([{ kind: 'mixed-types', row: 4 }])
    const lines = await printed(dataset)
    expect(lines.every((line) => !line.includes('\n'))).toBe(true)
    expect(lines.map((line) => JSON.parse(line) as unknown)[0]).toEqual({ a: null, n: rows[0].n, b: null })
  })

  it('column names with quotes, dots and case; 300 columns', async () => {
    const row = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`a."b${i}'`, `v${i}`]))
    const named = { ...row, Q: 'upper', q: 'lower', 'select; --': 'x', rowid: 'r' }
    const dataset = await open(file('names.jsonl', JSON.stringify(named)))
    expect(JSON.parse((await printed(dataset))[0])).toEqual(named)
    const columns = `SELECT 1 AS "a.b", 2 AS "q""t"`
    expect((await open(await parquet('names.parquet', columns))).info.columns.map(({ name }) => name)).toEqual([
      'a.b',
      'q"t',
    ])
  })

  it('more columns than any table', async () => {
    const path = file('keys.jsonl', Array.from({ length: 2001 }, (_, i) => `{"k${i}":1}`).join('\n'))
    expect(await refusal(path)).toMatch(/more than 2000 different columns/)
  })

  it('a row of 50 MB, whole and clipped', async () => {
    const long = 'é"\\'.repeat((50 * 2 ** 20) / 4)
    const dataset = await open(file('long.json', JSON.stringify({ data: [{ q: 'short' }, { q: long }] })))
    const [, row] = await dataset.rows(0, 2)
    expect(row.cells[0] === long).toBe(true)
    const clipped = await dataset.rows(0, 2, { clip: 1000 })
    expect(clipped.map(({ cells: [cell], cut }) => [cell?.length, cut])).toEqual([
      [5, []],
      [1000, [0]],
    ])
  })
})
