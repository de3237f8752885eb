/** Heartbeats, environments, spec files. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { childEnvironment } from '../../../src-main/jobs/child-environment'
import { isAlive, lastHeartbeat, refuseIfBusy, startHeartbeat } from '../../../src-main/jobs/heartbeat'
import { readSpecFile } from '../../../src-main/jobs/read-spec'
import { until } from './test-studio'

let folder: string
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'studio-jobs-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a heart', () => {
  it('beats while its thread computes, and leaves nothing behind', async () => {
    const stop = startHeartbeat(folder)
    await until(() => existsSync(path.join(folder, 'heartbeat.json')), 'it beats')
    const first = JSON.parse(readFileSync(path.join(folder, 'heartbeat.json'), 'utf8')) as { time: number }
    const end = Date.now() + 1600
    while (Date.now() < end);
    const second = JSON.parse(readFileSync(path.join(folder, 'heartbeat.json'), 'utf8')) as { time: number }
    expect(second.time).toBeGreaterThan(first.time)
    expect(await isAlive(folder)).toBe(true)
    expect((await lastHeartbeat(folder))!.memoryBytes).toBeGreaterThan(1e6)
    await stop()
    expect(await lastHeartbeat(folder)).toBeNull()
    expect(await isAlive(folder)).toBe(false)
  })

  it('that is stale, of a dead process, or torn, is none', async () => {
    const write = (value: unknown) => writeFileSync(path.join(folder, 'heartbeat.json'), JSON.stringify(value))
    write({ pid: process.pid, time: Date.now() - 11_000, memoryBytes: 1 })
    expect(await isAlive(folder)).toBe(false)
    write({ pid: 2 ** 22 + 1, time: Date.now(), memoryBytes: 1 })
    expect(await isAlive(folder)).toBe(false)
    writeFileSync(path.join(folder, 'heartbeat.json'), '{"pid":')
    expect(await isAlive(folder)).toBe(false)
  })

  it('of another process keeps a second job out of the folder', async () => {
    await refuseIfBusy(folder)
    writeFileSync(
      path.join(folder, 'heartbeat.json'),
      JSON.stringify({ pid: process.ppid, time: Date.now(), memoryBytes: 1 }),
    )
    await expect(refuseIfBusy(folder)).rejects.toThrow(UserError)
  })
})

it('exploit: keys of the parent never reach an engine', () => {
  const environment = childEnvironment({
    PATH: '/bin',
    LC_ALL: 'C',
    CUDA_VISIBLE_DEVICES: '0',
    HF_TOKEN: 'secret',
    OPENAI_API_KEY: 'secret',
    AWS_SECRET_ACCESS_KEY: 'secret',
    NODE_OPTIONS: '--require=/tmp/evil.js',
    LD_PRELOAD: '/tmp/evil.so',
    ELECTRON_RUN_AS_NODE: '1',
    HTTPS_PROXY: 'http://user:secret@proxy',
  })
  expect(environment).toEqual({ PATH: '/bin', LC_ALL: 'C', CUDA_VISIBLE_DEVICES: '0' })
})

describe('a spec file', () => {
  const write = (text: string): string => {
    writeFileSync(path.join(folder, 'spec.json'), text)
    return path.join(folder, 'spec.json')
  }
  const spec = {
    kind: 'inner',
    role: 'planner',
    model: 'models/planner',
    data: { file: '../data.jsonl' },
    output: 'out',
  }

  it('has its paths relative to its own folder', async () => {
    expect(await readSpecFile(write('\uFEFF' + JSON.stringify(spec)))).toMatchObject({
      model: path.join(folder, 'models/planner'),
      data: { file: path.join(path.dirname(folder), 'data.jsonl') },
      output: path.join(folder, 'out'),
      steps: 20000,
    })
  })

  it.each([
    ['no JSON', '{"kind": "inner",\n"role" "solver"}', /spec\.json is not JSON \(line 2, column 8: a colon is missing/],
    [
      'an unknown kind',
      JSON.stringify({ ...spec, kind: 'outermost' }),
      /^kind: "outermost" is none of inner, outer, evaluate\.$/,
    ],
    [
      'an unknown field',
      JSON.stringify({ ...spec, learningrate: 1 }),
      /^the job: there is no "learningrate" here \(did you mean "learningRate"\?\)\.$/,
    ],
    ['a wrong value', JSON.stringify({ ...spec, batchSize: '2' }), /^batchSize: "2" is not a number\.$/],
    ['nothing of a job', '[]', /^the job: a list is not an object\.$/],
    [
      'an unknown benchmark of a system',
      JSON.stringify({
        kind: 'evaluate',
        output: 'o',
        data: spec.data,
        system: { name: 'mixture', benchmark: 'math' },
      }),
      /^system\.benchmark: "math" is none of math500, medqa, .*hotpotqa\.$/,
    ],
  ])('with %s is refused, naming it', async (_, text, why) => {
    await expect(readSpecFile(write(text))).rejects.toSatisfy((e) => e instanceof UserError && why.test(e.why))
  })

  it('that is not there is refused', async () => {
    await expect(readSpecFile(path.join(folder, 'none.json'))).rejects.toThrow(/job spec .*none\.json does not exist/)
  })
})
