import { expect, it } from 'vitest'
import { readRows } from '../../../src-main/engine/data/rows'
import { dataSpec } from '../../../src-main/engine/job-spec'
import { openStyle } from '../../../src-main/engine/styles/style-file'
import { loadModelText } from '../../../src-main/engine/text'
import { OuterSamples } from '../../../src-main/engine/training/outer-samples'
import { outerColumns } from '../../../src-main/engine/training/training-texts'
import { demo } from './run-demo-job'

it('keeps the samples asked for last within its limit, and makes others again as they were', async () => {
  const { style, pack } = await openStyle('sequential', demo('prompt-pack.json'))
  const file = demo('train.jsonl')
  const { rows } = await readRows(dataSpec.parse({ file, limit: 4 }), { required: outerColumns(style) })
  const texts = await Promise.all(style.roles.map(({ role }) => loadModelText(demo(`models/${role}`))))
  const settings = { style, pack, mode: 'corrected', enableThinking: false, questionFirst: false, texts } as const
  const make = (limit: number) => new OuterSamples(settings, rows, 'math', 2, () => undefined, limit)
  const wide = make(1e6)
  const all = await Promise.all([0, 1, 2, 3].map((i) => wide.sample(i)))
  expect(await wide.sample(0)).toBe(all[0])
  // rounds that ask the same share their texts
  const ids = all.map(
    ({ rounds }) => [...new Set(rounds.flat())].flatMap((t) => [...t.prompt, ...t.context, t.target].flat()).length,
  )

  // one token less than the first three have
  const narrow = make(ids[0] + ids[1] + ids[2] - 1)
  const [first, second] = [await narrow.sample(0), await narrow.sample(1)]
  expect(await narrow.sample(0)).toBe(first)
  await narrow.sample(2)
  // the second was the one that nobody had asked for the longest
  expect(await narrow.sample(0)).toBe(first)
  const again = await narrow.sample(1)
  expect(again).not.toBe(second)
  expect(again).toEqual(second)
  expect(again).toEqual(all[1])
})
