/** Data whose columns have other names, read under those that jobs look for: the same numbers as from a renamed copy. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { readManifest } from '../../../src-main/engine/training/link-manifest'
import { agents, demo, jsonLines, run, Workplace } from './run-demo-job'

const place = new Workplace()
afterAll(() => place.dispose())

const columns = { question: 'frage', plan: 'entwurf', refined_plan: 'plan', answer: 'antwort', depth: 'tiefe' }
const names = Object.entries(columns)

type DataInput = JobSpecInput['data']

/** The first rows of a file of the demo, under their names and under others. */
function both(name: string, rows: number): [plain: DataInput, renamed: DataInput] {
  const taken = jsonLines<Record<string, unknown>>(demo(name)).slice(0, rows)
  const other = taken.map((row) => Object.fromEntries(names.map(([to, from]) => [from, row[to]])))
  const plain = taken.map((row) => Object.fromEntries(names.map(([to]) => [to, row[to]])))
  const write = (file: string, all: object[]) => {
    writeFileSync(place.path(file), all.map((row) => JSON.stringify(row) + '\n').join(''))
    return place.path(file)
  }
  return [{ file: write(`plain-${name}`, plain) }, { file: write(`other-${name}`, other), columns }]
}

const [train, otherTrain] = both('train.jsonl', 24)
const [heldOut, otherHeldOut] = both('validation.jsonl', 6)
const promptPack = demo('prompt-pack.json')

describe('jobs on columns of other names', () => {
  const training = { steps: 2, batchSize: 4, saveEvery: 0, logEvery: 1, promptPack }
  const jobs: [string, (data: DataInput, held: DataInput) => JobSpecInput][] = [
    [
      'inner links with their validation',
      (data, held) => ({
        ...training,
        kind: 'inner',
        role: 'critic',
        model: demo('models/critic'),
        output: '',
        data,
        validation: { data: held, every: 1, latentSteps: 2 },
      }),
    ],
    [
      'outer links with their validation',
      (data, held) => ({
        ...training,
        kind: 'outer',
        agents,
        rounds: 2,
        latentCap: 4,
        roundsColumn: 'depth',
        output: '',
        data,
        validation: { data: held, every: 1, rounds: 1, latentSteps: 2, maxNewTokens: 4 },
      }),
    ],
  ]
  it.each(jobs)('%s', async (name, spec) => {
    const [one, two] = [
      await run({ ...spec(train, heldOut), output: place.path(`${name} a`) }),
      await run({ ...spec(otherTrain, otherHeldOut), output: place.path(`${name} b`) }),
    ]
    expect(one.failure + two.failure).toBe('')
    expect(two.losses()).toHaveLength(2)
    expect(two.losses()).toEqual(one.losses())
    const judged = (heard: typeof one) => heard.of('validation').map(({ value }) => value)
    expect(judged(two).length).toBeGreaterThan(1)
    expect(judged(two)).toEqual(judged(one))
    const spoken = JSON.parse(readFileSync(`${place.path(`${name} b`)}/spec.json`, 'utf8')) as { data: object }
    expect(spoken.data).toMatchObject({ columns })
    const manifest = await readManifest(`${place.path(`${name} b`)}/checkpoints/step-2`)
    const { file } = otherTrain
    expect(manifest.dataset).toEqual({
      ...{ file, sha256: createHash('sha256').update(readFileSync(file)).digest('hex'), rows: 24 },
      ...{ field: null, columns, shuffle: false, limit: 0 },
    })
  })

  it('an evaluation', async () => {
    const spec = {
      kind: 'evaluate',
      agents,
      rounds: 1,
      latentSteps: 2,
      generation: { maxNewTokens: 4 },
      promptPack,
    } as const
    const one = await run({ ...spec, data: heldOut, output: place.path('eval a') })
    const two = await run({ ...spec, data: otherHeldOut, output: place.path('eval b') })
    expect(one.failure + two.failure).toBe('')
    const asked = (folder: string) =>
      jsonLines<Record<string, unknown>>(`${place.path(folder)}/samples.jsonl`).map(({ question, gold, output }) => [
        question,
        gold,
        output,
      ])
    expect(asked('eval b')).toHaveLength(6)
    expect(asked('eval b')).toEqual(asked('eval a'))
  })
})
