/** Parts of a system in every place where they may stand, and what is wrong with a folder told before any session is made. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { findSystem } from '../../../src-main/engine/released/find-system'
import { loadSystem } from '../../../src-main/engine/released/load-system'
import { partsOf } from '../../../src-main/engine/released/parts'
import { releasedSystems } from '../../../src-main/engine/released/systems'
import { styleByName } from '../../../src-main/engine/styles/registry'
import { fresh, tinySystem } from './tiny-system'

const opened = vi.spyOn(EngineSession, 'open')
afterEach(() => {
  expect(opened).not.toHaveBeenCalled()
  opened.mockClear()
})

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return (error as UserError).message
}

describe('where parts stand', () => {
  it.each(releasedSystems.map((s) => ({ ...s })))(
    '$name: folders called as its repositories',
    async ({ name, style, agents, outer }) => {
      const { folder } = await tinySystem(style, { named: [...agents, outer] })
      const found = await findSystem(name, { folder }, 'math')
      expect(found.agents.map((a) => a.model)).toEqual(agents.map((a) => join(folder, a)))
      expect(found.agents.map((a) => a.innerLink)).toEqual(agents.map((a) => join(folder, a, 'adapter.pt')))
      expect(found.agents.map((a) => a.role)).toEqual(styleByName(style).roles.map((r) => r.role))
      expect(found.outerLinks).toBe(join(folder, outer))
      expect(agents).toHaveLength(styleByName(style).agentCount)
    },
  )

  it('called as parts, as downloaded folders, in a hub cache, or anywhere', async () => {
    const [light] = releasedSystems
    const { folder } = await tinySystem('sequential')
    const models = async (place: object) =>
      (await findSystem('sequential_light', { folder, ...place }, 'math')).agents.map((a) => a.model)
    const at = (name: string) => join(folder, name)
    expect(await models({})).toEqual(['planner', 'critic', 'solver'].map(at))
    renameSync(at('planner'), at(`RecursiveMAS--${light.agents[0]}`))
    const cache = at(`models--RecursiveMAS--${light.agents[1]}`)
    mkdirSync(join(cache, 'snapshots'), { recursive: true })
    renameSync(at('critic'), join(cache, 'snapshots/0123'))
    const elsewhere = join(fresh(), 'solver')
    renameSync(at('solver'), elsewhere)
    const places = [at(`RecursiveMAS--${light.agents[0]}`), join(cache, 'snapshots/0123'), elsewhere]
    expect(await models({ parts: { solver: elsewhere } })).toEqual(places)
    expect(await models({ parts: { solver: elsewhere, refiner: at(`RecursiveMAS--${light.agents[0]}`) } })).toEqual([
      places[0],
      places[0],
      elsewhere,
    ])
    mkdirSync(join(cache, 'snapshots/4567'))
    expect(await refusal(models({ parts: { solver: elsewhere } }))).toMatch(/2 revisions/)
    mkdirSync(join(cache, 'refs'))
    writeFileSync(join(cache, 'refs/main'), '0123\n')
    expect(await models({ parts: { solver: elsewhere } })).toEqual(places)
  })

  it('links by task: the manifest of sequential systems, none in mixture', async () => {
    const sequential = await tinySystem('sequential')
    cpSync(join(sequential.folder, 'planner/adapter.pt'), join(sequential.folder, 'planner/adapter(code).pt'))
    const inner = async (name: string, folder: string, task: string) =>
      (await findSystem(name, { folder }, task)).agents[0].innerLink
    expect(await inner('sequential', sequential.folder, 'code')).toBe(
      join(sequential.folder, 'planner/adapter(code).pt'),
    )
    expect(await inner('sequential', sequential.folder, 'choice')).toBe(join(sequential.folder, 'planner/adapter.pt'))
    const mixture = await tinySystem('mixture')
    cpSync(join(mixture.folder, 'math/adapter.pt'), join(mixture.folder, 'math/adapter(code).pt'))
    expect(await inner('mixture', mixture.folder, 'code')).toBe(join(mixture.folder, 'math/adapter.pt'))
  })
})

describe('told before anything is opened', () => {
  const load = (name: string, folder: string, more: object = {}) =>
    refusal(loadSystem(name, { folder, threads: 1, ...more }))

  it('systems, parts and folders that are not there', async () => {
    const { folder } = await tinySystem('sequential')
    expect(await load('sequental', folder)).toMatch(
      /style "sequental" is not known.*Published systems are sequential_light/,
    )
    expect(await load('sequential', join(folder, 'none'))).toMatch(/none does not exist/)
    expect(await load('sequential', folder, { parts: { outerlinks: folder } })).toMatch(
      /no part "outerlinks".*planner, critic, solver, outer/,
    )
    expect(await load('sequential', folder, { parts: { critic: folder, refiner: folder } })).toMatch(
      /part critic is given twice/,
    )
    cpSync(join(folder, 'critic'), join(folder, 'Sequential-Light-Critic-Llama3.2-1B'), { recursive: true })
    expect(await load('sequential', folder)).toMatch(/part critic more than once/)
    rmSync(join(folder, 'critic'), { recursive: true })
    rmSync(join(folder, 'outer'), { recursive: true })
    expect(await load('sequential_light', folder)).toMatch(/has no outer links.*Sequential-Light-Outerlinks/)
    expect(await load('sequential_scaled', folder)).toMatch(/has no critic/)
    expect(partsOf(styleByName('deliberation'))).toEqual(['reflector', 'toolcaller', 'outer'])
  })

  it.each(['sequential', 'mixture', 'distillation', 'deliberation'] as const)(
    '%s: a missing link, and types that are not known',
    async (style) => {
      const { folder, outer } = await tinySystem(style)
      const at = (...names: string[]) => join(folder, ...names)
      const [part] = partsOf(styleByName(style))
      const config = JSON.parse(readFileSync(at('outer/outerlink_config.json'), 'utf8')) as {
        adapters: { adapter_type: string }[]
      }
      const write = (adapters: object[]) =>
        writeFileSync(at('outer/outerlink_config.json'), JSON.stringify({ ...config, adapters }))
      const { roles, links } = styleByName(style)
      const named = `${outer[0].key} \\(from ${roles[links[0].source].role} to ${roles[links[0].target].role}\\)`
      write(config.adapters.slice(1))
      expect(await load(style, folder)).toMatch(new RegExp(`${named} is needed too`))
      write([{ ...config.adapters[0], adapter_type: 'outer_moe_adapter' }, ...config.adapters.slice(1)])
      expect(await load(style, folder)).toMatch(
        new RegExp(`outer link type "outer_moe_adapter" is not known.*${outer[0].key}\\.pt.*outer_ln_res_adapter`),
      )
      write(config.adapters)
      renameSync(at(`outer/${outer[0].key}.pt`), at('kept.pt'))
      expect(await load(style, folder)).toMatch(
        new RegExp(`The outer link ${named} cannot be read.*${outer[0].key}\\.pt does not exist`),
      )
      renameSync(at('kept.pt'), at(`outer/${outer[0].key}.pt`))
      writeFileSync(at(part, 'adapter_config.json'), '{"adapter_type": "lora"}')
      expect(await load(style, folder)).toMatch(/inner link type "lora" is not known.*adapter\.pt.*ln_res_adapter/)
      rmSync(at(part, 'adapter.pt'))
      expect(await load(style, folder)).toMatch(/no inner link here.*adapter\.pt/)
      const ready = await loadSystem(style, { folder: (await tinySystem(style)).folder, threads: 1 })
      await ready.dispose()
    },
  )

  it('file names that leave their folder', async () => {
    const { folder } = await tinySystem('distillation')
    const at = (...names: string[]) => join(folder, ...names)
    const text = readFileSync(at('outer/outerlink_config.json'), 'utf8')
    for (const name of ['../expert/adapter.pt', at('expert/adapter.pt'), 'a/../../expert/adapter.pt', '..\\\\x.pt']) {
      writeFileSync(at('outer/outerlink_config.json'), text.replace('"outer_el.pt"', JSON.stringify(name)))
      expect(await load('distillation', folder), name).toMatch(/leads out of the folder/)
    }
    writeFileSync(at('outer/outerlink_config.json'), text)
    symlinkSync('../outer/outer_le.pt', at('expert/linked.pt'))
    writeFileSync(at('expert/innerlink_config.json'), '{"tasks": {"math": {"adapter.pt": "linked.pt"}}}')
    expect(await load('distillation', folder)).toMatch(/leads out of the folder/)
    // a description that is itself somewhere else
    rmSync(at('expert/innerlink_config.json'))
    symlinkSync('../outer/outerlink_config.json', at('expert/innerlink_config.json'))
    expect(await load('distillation', folder)).toMatch(/leads out of the folder.*innerlink_config/)
  })

  it('tokenizers without a chat template, and with neither padding nor end token; models without weights', async () => {
    const { folder } = await tinySystem('distillation')
    const file = join(folder, 'learner/tokenizer_config.json')
    const { chat_template: _, ...config } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify(config))
    expect(await load('distillation', folder)).toMatch(/learner has no chat template/)
    const { pad_token: pad, eos_token: eos, ...bare } = config
    writeFileSync(file, JSON.stringify(bare))
    expect([pad, eos]).toEqual(['<pad>', '</s>'])
    expect(await load('distillation', folder)).toMatch(/neither a pad_token nor an eos_token/)
    rmSync(join(folder, 'learner/model.safetensors'))
    expect(await load('distillation', folder)).toMatch(/no weights/)
  })
})
