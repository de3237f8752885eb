/** A library of models that nobody may write to, as on a shared volume: read and used, and every change refused with the reason. */
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { ModelDesk } from '../../../src-main/workspace/model-desk'
import { Places } from '../../../src-main/workspace/places'
import { ProjectStore } from '../../../src-main/workspace/project-store'
import { closeVolume, mountVolume, type Volume } from '../../volumes'

const demo = path.resolve('native-assets/demo/models')
let root: string
let volume: Volume | null
let desk: ModelDesk
let folder: string

beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'models ünd mehr-'))
  const places = new Places(path.join(root, 'work space'))
  desk = new ModelDesk({ places, projects: new ProjectStore(places), send: () => {}, onProblem: console.error })
  volume = mountVolume('size=8m', places.models)
  folder = path.join(places.models, 'planner')
  mkdirSync(places.models, { recursive: true })
  cpSync(path.join(demo, 'planner'), folder, { recursive: true })
  if (volume) closeVolume(volume)
  else for (const closed of [folder, places.models]) chmodSync(closed, 0o555)
})
afterAll(() => {
  if (volume) volume.remove()
  else for (const closed of [path.dirname(folder), folder]) chmodSync(closed, 0o755)
  rmSync(root, { recursive: true, force: true })
})

it('lists what is there, and changes nothing', async (context) => {
  // a folder without permissions stops nobody who is root
  if (!volume && process.getuid?.() === 0) return context.skip('no right to mount a small volume')
  expect((await desk.library.list()).map(({ id, state }) => [id, state])).toEqual([['library/planner', 'ready']])
  const why = volume ? /The volume is read-only: / : /There is no permission to write to /
  for (const change of [
    () => desk.remove('library/planner'),
    () => desk.bringIn(path.join(demo, 'critic'), 'critic'),
  ]) {
    const error = await change().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(UserError)
    expect((error as UserError).why).toMatch(why)
  }
  expect(existsSync(path.join(folder, 'model.safetensors'))).toBe(true)
  expect((await desk.library.get('library/planner')).state).toBe('ready')
})
