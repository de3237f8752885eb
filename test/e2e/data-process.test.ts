/** Data sets in the real app: read by a process of their own, whose end the app and its page survive. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventName, EventPayload, RequestName, RequestParams, RequestResult } from '../../src-main/bridge/contract'
import { launchStudio, type StudioUnderTest } from './launch'

let studio: StudioUnderTest

beforeAll(async () => {
  studio = await launchStudio({ env: { HF_TOKEN: 'hf_abc', SOME_SECRET_TOKEN: 'abc' } })
})
afterAll(() => studio?.close())

async function ask<N extends RequestName>(name: N, params: RequestParams<N>): Promise<RequestResult<N>> {
  const request = [name, JSON.stringify(params)] as const
  const reply = await studio.page.evaluate(([n, p]) => window.studio.request(n, JSON.parse(p)), request)
  if (!reply.ok) throw new Error(`${reply.error.what} ${reply.error.why} ${reply.error.next}`)
  return reply.value as RequestResult<N>
}

/** The next event of that name. */
function next<N extends EventName>(name: N): Promise<EventPayload<N>> {
  return studio.page.evaluate(
    (n) => new Promise((resolve) => void window.studio.on(n, resolve as never)),
    name,
  ) as unknown as Promise<EventPayload<N>>
}

const dataProcess = async (): Promise<number | undefined> =>
  studio.app.evaluate(
    ({ app }) =>
      app.getAppMetrics().find(({ serviceName, name }) => /RecursiveMAS data/.test(`${serviceName} ${name}`))?.pid,
  )

const open = (id: string) => ask('datasets/open', { id, ticket: 'ticket' })

describe('the process that reads data', () => {
  it('starts at the first data set, without anybody’s keys', async () => {
    const opened = await open('Demo/train.jsonl')
    const lines = readFileSync(path.join(studio.workspace, 'projects/Demo/assets/train.jsonl'), 'utf8')
      .trim()
      .split('\n')
    expect(opened.rows).toBe(lines.length)
    const first = JSON.parse(lines[0]) as { question: string }
    const { rows } = await ask('datasets/rows', { handle: opened.handle, from: 0, count: 1 })
    expect(rows[0].cells[0]).toBe(first.question)
    const { order } = await ask('datasets/order', { handle: opened.handle, by: { sort: [{ column: 0 }] } })
    const sorted = await ask('datasets/rows', { handle: opened.handle, order, from: 0, count: 500, clip: 1000 })
    const questions = sorted.rows.map(({ cells }) => cells[0]!)
    expect(questions).toEqual([...questions].sort())
    const { models } = await ask('models/list', {})
    const planner = models.find(({ id }) => id.includes('planner'))!
    const shown = await ask('datasets/preview', {
      ...{ handle: opened.handle, style: 'sequential', use: 'outer', model: planner.id, pack: 'Demo' },
      ...{ place: 0, role: 'planner' },
    })
    expect(shown).toMatchObject({ leftOut: null, rounds: [1] })
    const pid = (await dataProcess())!
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    expect(environment).not.toMatch(/hf_abc|SOME_SECRET/)
  })

  it('refuses broken files in words, and lives on', async () => {
    const pid = await dataProcess()
    writeFileSync(path.join(studio.workspace, 'projects/Demo/assets/held-out.jsonl'), '{"question":"never closed}\n')
    await expect(open('Demo/held-out.jsonl')).rejects.toThrow(/none of its rows can be read \(Line 1 is not JSON/)
    expect(await dataProcess()).toBe(pid)
  })

  it('killed, it is told to the page, which lives; the next data set starts another', async () => {
    const opened = await open('Demo/train.jsonl')
    const pid = (await dataProcess())!
    const lost = next('datasets/lost')
    process.kill(pid, 'SIGKILL')
    expect((await lost).error).toMatchObject({ what: 'The process that reads data ended unexpectedly.' })
    await expect(ask('datasets/rows', { handle: opened.handle, from: 0, count: 1 })).rejects.toThrow(
      /not open any more/,
    )
    const again = await open('Demo/train.jsonl')
    expect(again.rows).toBe(opened.rows)
    expect(again.handle).not.toBe(opened.handle)
    expect(await dataProcess()).not.toBe(pid)
  })
})
