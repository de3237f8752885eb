/** Folders that hold the same weight files share one session; copies and other configs do not. */
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Resources, weightsIdentity } from '../../../src-main/engine/job-setup'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { demo } from '../training/run-demo-job'

const original = demo('models/planner')
let folder: string
beforeEach(() => void (folder = realpathSync(mkdtempSync(join(tmpdir(), 'shared-weights-')))))
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

/** A folder of its own whose files are links to those of `from`, as a hub's cache makes them. */
function linked(name: string, from = original, link: (target: string, path: string) => void = symlinkSync): string {
  const to = join(folder, name)
  mkdirSync(to)
  for (const file of readdirSync(from)) link(join(from, file), join(to, file))
  return to
}

test('three folders of the same files make one session, each under its own name', async () => {
  const open = vi.spyOn(EngineSession, 'open')
  const copy = join(folder, 'copy')
  cpSync(original, copy, { recursive: true })
  const folders = [copy, linked('soft', copy), linked('hard', copy, linkSync)]
  const resources = new Resources({ device: 'cpu', threads: 1 }, () => undefined)
  try {
    const models = await Promise.all(folders.map((path) => resources.model(path)))
    const rows = [{ segments: [{ kind: 'tokens' as const, ids: [1, 2, 3] }] }]
    const states = []
    for (const { agent } of models) states.push(await agent.states(rows, [[2]]))
    expect(states[0][0]).toHaveLength(models[0].agent.hiddenSize)
    expect(states[1]).toEqual(states[0])
    expect(states[2]).toEqual(states[0])
    expect(models.map((m) => m.folder)).toEqual(folders)
    expect(new Set(models.map((m) => m.agent)).size).toBe(3)
    for (const model of models) expect(await resources.modelOf(model)).toBe(model)
    expect(open).toHaveBeenCalledTimes(1)
  } finally {
    await resources.dispose()
  }
})

test('a copy of the weights, or another config over them, is another model', async () => {
  const same = linked('same')
  const copy = join(folder, 'copy')
  cpSync(original, copy, { recursive: true })
  const other = linked('other')
  rmSync(join(other, 'config.json'))
  const config = JSON.parse(readFileSync(join(original, 'config.json'), 'utf8'))
  writeFileSync(join(other, 'config.json'), JSON.stringify({ ...config, rope_theta: 1234 }))
  const [first, ...rest] = await Promise.all([original, same, copy, other].map(weightsIdentity))
  expect(rest[0]).toBe(first)
  expect(rest[1]).not.toBe(first)
  expect(rest[2]).not.toBe(first)
})
