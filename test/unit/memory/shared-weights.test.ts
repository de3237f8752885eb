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
import { Resources } from '../../../src-main/engine/job-setup'
import { modelFingerprint, weightsIdentity } from '../../../src-main/engine/models/fingerprint'
import { openTextWeights } from '../../../src-main/engine/models/weights'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { agents, demo, run } from '../training/run-demo-job'

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
  const [first, ...rest] = await Promise.all(
    [original, same, copy, other].map(async (path) => weightsIdentity(path, await openTextWeights(path))),
  )
  expect(rest[0]).toBe(first)
  expect(rest[1]).not.toBe(first)
  expect(rest[2]).not.toBe(first)
})

/** The same weights in two files. */
function sharded(name: string, from = original): string {
  const to = join(folder, name)
  cpSync(from, to, { recursive: true })
  const bytes = readFileSync(join(from, 'model.safetensors'))
  const start = 8 + Number(bytes.readBigUInt64LE())
  const header = JSON.parse(bytes.toString('utf8', 8, start)) as Record<string, { data_offsets: [number, number] }>
  const names = Object.keys(header).filter((n) => n !== '__metadata__')
  const map: Record<string, string> = {}
  for (const [part, own] of [names.slice(0, 5), names.slice(5)].entries()) {
    const pieces = own.map((n) =>
      bytes.subarray(...(header[n].data_offsets.map((at) => start + at) as [number, number])),
    )
    let at = 0
    const placed = own.map((n, i) => [n, { ...header[n], data_offsets: [at, (at += pieces[i].length)] }])
    const text = Buffer.from(JSON.stringify(Object.fromEntries(placed)))
    const size = Buffer.alloc(8)
    size.writeBigUInt64LE(BigInt(text.length))
    const file = `model-${part}.safetensors`
    writeFileSync(join(to, file), Buffer.concat([size, text, ...pieces]))
    for (const n of own) map[n] = file
  }
  rmSync(join(to, 'model.safetensors'))
  writeFileSync(join(to, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))
  return to
}

test.each([undefined, 0])(
  'a fingerprint tells what folders hold, not where (whole up to %s bytes)',
  async (wholeUpTo) => {
    const fingerprint = async (path: string) => modelFingerprint(path, await openTextWeights(path), 'cpu', wholeUpTo)
    const first = await fingerprint(original)
    const moved = join(folder, 'moved')
    cpSync(original, moved, { recursive: true })
    expect(await fingerprint(moved)).toBe(first)
    expect(await fingerprint(sharded('sharded'))).toBe(first)
    // the last byte of the last tensor
    const file = join(moved, 'model.safetensors')
    const bytes = readFileSync(file)
    bytes[bytes.length - 1] ^= 1
    writeFileSync(file, bytes)
    expect(await fingerprint(moved)).not.toBe(first)
    cpSync(original, moved, { recursive: true })
    writeFileSync(join(moved, 'config.json'), readFileSync(join(original, 'config.json'), 'utf8') + '\n')
    expect(await fingerprint(moved)).not.toBe(first)
  },
)

test('states that are kept between runs serve a model that was moved', async () => {
  const cache = join(folder, 'cache')
  const training = async (planner: string, output: string) => {
    const team = agents.map((a) => (a.role === 'planner' ? { ...a, model: planner } : a))
    const data = { file: demo('train.jsonl'), limit: 2 }
    const shared = { promptPack: demo('prompt-pack.json'), rounds: 1, latentCap: 2, steps: 1, cache }
    const heard = await run({ kind: 'outer', ...shared, agents: team, data, output: join(folder, output) })
    expect(heard.failure).toBe('')
    return readdirSync(cache, { recursive: true }).sort()
  }
  const moved = join(folder, 'moved')
  cpSync(original, moved, { recursive: true })
  const kept = await training(original, 'first')
  expect(kept.length).toBeGreaterThan(0)
  expect(await training(moved, 'second')).toEqual(kept)
})
