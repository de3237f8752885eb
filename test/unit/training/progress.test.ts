import { describe, expect, it } from 'vitest'
import { type JobNews, Progress } from '../../../src-main/engine/progress'

describe('Progress', () => {
  function watched(total: number, already = 0) {
    let time = 0
    const said: JobNews[] = []
    const progress = new Progress(
      (n) => said.push(n),
      'p',
      'Title',
      total,
      'steps',
      already,
      () => time,
    )
    const bars = () => said.flatMap((n) => (n.kind === 'progress' ? [n] : []))
    return { progress, said, bars, wait: (ms: number) => (time += ms) }
  }

  it('says its title first, the rate only after three seconds, and the end always', () => {
    const w = watched(100)
    expect(w.said).toEqual([{ kind: 'phase', phase: 'p', title: 'Title', total: 100, unit: 'steps' }])
    for (let i = 0; i < 100; i++) {
      w.wait(100)
      w.progress.add()
    }
    const bars = w.bars()
    // ten a second, told at most four times a second
    expect(bars.length).toBeLessThan(45)
    expect(bars.find((b) => b.done === 20)?.rate ?? null).toBeNull()
    expect(bars.find((b) => b.done > 50)).toMatchObject({ rate: 10 })
    expect(bars.at(-1)).toMatchObject({ done: 100, total: 100, secondsLeft: 0 })
    expect(bars.every((b, i) => i === 0 || b.done > bars[i - 1].done)).toBe(true)
  })

  it('tells what is being written at the same pace, and no more than its end', () => {
    const w = watched(100)
    w.wait(1000)
    w.progress.writing({ index: 3, tokens: 64, text: 'x'.repeat(999) + 'end' })
    w.wait(100)
    w.progress.writing({ index: 3, tokens: 96, text: 'y' })
    w.wait(200)
    w.progress.add()
    const bars = w.bars()
    expect(bars).toHaveLength(2)
    expect(bars[0]).toMatchObject({ done: 0, writing: { index: 3, tokens: 64, text: 'x'.repeat(397) + 'end' } })
    expect(bars[1]).toMatchObject({ done: 1 })
    expect(bars[1].writing).toBeUndefined()
  })

  it('forgets how fast it was long ago, and what a resumed job did before is no speed', () => {
    const w = watched(1000, 500)
    for (let i = 0; i < 100; i++) {
      w.wait(100)
      w.progress.add()
    }
    for (let i = 0; i < 60; i++) {
      w.wait(1000)
      w.progress.add()
    }
    const last = w.bars().at(-1)!
    expect(last.done).toBe(660)
    expect(last.rate).toBeCloseTo(1, 1)
    expect(last.secondsLeft).toBeCloseTo(340, -2)
  })
})
