/** Links out to the published system's files and back, also from files that torch wrote; refusals leave nothing behind. */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { runEngineCommand } from '../../../src-main/cli/engine'
import { UsageError } from '../../../src-main/cli/usage-error'
import { UserError } from '../../../src-main/engine/errors'
import { readSafetensors } from '../../../src-main/engine/formats/safetensors'
import { readTorchTensors } from '../../../src-main/engine/formats/torch-file'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import type { OuterLinkType } from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import {
  loadInnerLink,
  loadOuterLinks,
  saveInnerLink,
  saveOuterLinks,
} from '../../../src-main/engine/training/link-files'
import { styles } from '../../../src-main/engine/styles/registry'
import { referenceStyles } from '../../../src-main/engine/training/link-files-export'
import { exportLinks, exportName, importLinks } from '../../../src-main/workspace/link-exchange'
import { provenance } from '../training-files/provenance'

const torch = path.join(import.meta.dirname, '../../golden/pt/good')
const work = mkdtempSync(path.join(tmpdir(), 'studio-links-'))
afterAll(() => rmSync(work, { recursive: true }))
afterEach(() => vi.restoreAllMocks())
const fresh = () => mkdtempSync(path.join(work, 'case-'))

const outer = (key: string, type: OuterLinkType, inWidth: number, outWidth: number) => ({
  key,
  type,
  inWidth,
  outWidth,
  parameters: initOuterLink(type, inWidth, outWidth, new TorchGenerator(inWidth)),
})
const system = [
  outer('outer_12', 'outer_ln_res_adapter', 4, 6),
  outer('outer_23', 'outer_linear_adapter', 6, 5),
  outer('outer_31', 'outer_res_adapter', 5, 4),
]

async function innerCheckpoint(): Promise<{ folder: string; parameters: object }> {
  const folder = path.join(fresh(), 'step-7')
  const parameters = initInnerLink('ln_res_adapter', 5, new TorchGenerator(1))
  await saveInnerLink(folder, { type: 'ln_res_adapter', width: 5, parameters }, provenance())
  return { folder, parameters }
}

async function outerCheckpoint(change: Parameters<typeof provenance>[0] = {}): Promise<string> {
  const folder = path.join(fresh(), 'step-7')
  const baseModels = ['planner', 'critic', 'solver'].map((role, i) => ({
    role,
    id: `org--${role}`,
    revision: null,
    hiddenSize: [4, 6, 5][i],
  }))
  const options = { superviseFinalOnly: false, earlierRoundsWeight: 0.1 }
  await saveOuterLinks(folder, system, provenance({ role: null, baseModels, options, ...change }))
  return folder
}

describe('a checkpoint', () => {
  it('of an inner link goes out as adapter.pt and comes back bit for bit', async () => {
    const { folder, parameters } = await innerCheckpoint()
    const out = path.join(fresh(), 'out')
    expect(await exportLinks(folder, out)).toEqual({
      folder: out,
      files: ['adapter.pt', 'adapter_config.json', 'train_args.json'],
    })
    expect((await loadInnerLink(out, { width: 5 })).parameters).toEqual(parameters)
    const back = path.join(fresh(), 'back')
    expect(await importLinks(out, back)).toMatchObject({ kind: 'inner-link', options: { importedFrom: out } })
    expect(await loadInnerLink(back, { width: 5 })).toMatchObject({ type: 'ln_res_adapter', parameters })
  })

  it('of outer links goes out with what the other program has to know, and comes back bit for bit', async () => {
    const out = path.join(fresh(), 'out')
    const { files } = await exportLinks(await outerCheckpoint(), out)
    expect(files).toEqual([
      'outer_12.pt',
      'outer_23.pt',
      'outer_31.pt',
      'outer_adapter_config.json',
      'outerlink_config.json',
      'train_args.json',
    ])
    const config = JSON.parse(readFileSync(path.join(out, 'outer_adapter_config.json'), 'utf8'))
    expect(config).toMatchObject({
      mas_shape: 'chain',
      num_recursive_rounds: 3,
      supervise_final_only: 0,
      non_last_loss_weight: 0.1,
      agent2_model_name_or_path: 'org--critic',
      agent2_inner_aligner_path: 'inner/critic',
      outer_12_in_dim: 4,
      outer_12_out_dim: 6,
    })
    const back = path.join(fresh(), 'back')
    await importLinks(out, back)
    const { links } = await loadOuterLinks(back, { expected: system })
    expect([...links.values()]).toEqual(system)
  })

  it.each(referenceStyles)(
    'of %s goes out with its configuration, and comes back with what that tells',
    async (name) => {
      const style = styles.find((s) => s.name === name)!
      const widths = [4, 6, 5, 3]
      const links = style.links.map((l) => outer(l.key, 'outer_ln_adapter', widths[l.source], widths[l.target]))
      const baseModels = style.roles.map(({ role }, i) => ({
        role,
        id: `org--${role}`,
        revision: null,
        hiddenSize: widths[i],
      }))
      const folder = path.join(fresh(), 'step-7')
      await saveOuterLinks(
        folder,
        links,
        provenance({ style: name, role: null, baseModels, rounds: 3, options: { learningRate: 1e-4 } }),
      )
      const [out, back, again] = ['out', 'back', 'again'].map((n) => path.join(fresh(), n))
      await exportLinks(folder, out)
      expect(JSON.parse(readFileSync(path.join(out, 'train_args.json'), 'utf8'))).toMatchObject({
        outer_lr: 1e-4,
        num_recursive_rounds: 3,
        mas_task: 'math',
      })
      expect(await importLinks(out, back)).toMatchObject({ style: name, rounds: 3, baseModels })
      // what came in goes out as it was
      await exportLinks(back, again)
      for (const file of readdirSync(out).filter((f) => f !== 'train_args.json'))
        expect(readFileSync(path.join(again, file)).equals(readFileSync(path.join(out, file))), file).toBe(true)
      const { links: read } = await loadOuterLinks(back, { expected: links })
      expect([...read.values()]).toEqual(links)
    },
  )

  it('of an inner link names its role as the other program does', async () => {
    const folder = path.join(fresh(), 'step-7')
    const parameters = initInnerLink('res_adapter', 5, new TorchGenerator(1))
    const options = { learningRate: 1e-3, enableThinking: true, cosineWeight: 1 }
    await saveInnerLink(folder, { type: 'res_adapter', width: 5, parameters }, provenance({ options }))
    const [out, back] = [path.join(fresh(), 'out'), path.join(fresh(), 'back')]
    await exportLinks(folder, out)
    expect(JSON.parse(readFileSync(path.join(out, 'train_args.json'), 'utf8'))).toMatchObject({
      mas_role: 'refiner',
      adapter_lr: 1e-3,
      adapter_type: 'res_adapter',
      adapter_cos_weight: 1,
      enable_thinking: 1,
    })
    expect(await importLinks(out, back)).toMatchObject({ style: 'sequential', role: 'critic' })
    expect(await loadInnerLink(back, { width: 5 })).toMatchObject({ type: 'res_adapter', parameters })
  })

  it('of a style that the published layout does not know is refused, and nothing is written', async () => {
    const out = path.join(fresh(), 'out')
    await expect(exportLinks(await outerCheckpoint({ style: 'circle' }), out)).rejects.toThrow(UserError)
    expect(existsSync(out)).toBe(false)
  })

  it('that is damaged, is none, or would go into a folder with other files is refused', async () => {
    const { folder } = await innerCheckpoint()
    const taken = fresh()
    writeFileSync(path.join(taken, 'mine.txt'), 'mine')
    await expect(exportLinks(folder, taken)).rejects.toThrow(UserError)
    expect(readdirSync(taken)).toEqual(['mine.txt'])
    await expect(exportLinks(taken, path.join(fresh(), 'out'))).rejects.toThrow(UserError)
    writeFileSync(path.join(folder, 'links.safetensors'), 'x')
    const out = path.join(fresh(), 'out')
    await expect(exportLinks(folder, out)).rejects.toThrow(UserError)
    expect(existsSync(out)).toBe(false)
  })
})

describe('files of torch', () => {
  it('become a checkpoint with the same numbers', async () => {
    const from = fresh()
    copyFileSync(path.join(torch, 'outer-float32.pt'), path.join(from, 'outer_12.pt'))
    const to = path.join(fresh(), 'to')
    const { links } = await importLinks(from, to)
    const { tensors: twin } = await readSafetensors(path.join(torch, 'outer-float32.safetensors'))
    const { tensors } = await readSafetensors(path.join(to, 'links.safetensors'))
    expect(links.map(({ key }) => key)).toEqual(['outer_12'])
    expect(tensors.size).toBe(twin.size)
    for (const [name, { data }] of twin) expect(tensors.get(`outer_12.${name}`)!.data, name).toEqual(data)
  })

  it.each([
    ['inner-bfloat16', 'BF16'],
    ['inner-float32', 'F32'],
    ['inner-from-gpu', 'F32'],
    ['inner-parameters', 'F32'],
    ['inner-legacy-format', 'F32'],
    ['outer-float16', 'F16'],
    ['outer-float32', 'F32'],
  ])('%s: in and out again in its own element type %s, bit for bit', async (name, dtype) => {
    const [from, to, out] = [fresh(), path.join(fresh(), 'to'), path.join(fresh(), 'out')]
    const outerFile = name.startsWith('outer')
    const file = outerFile ? 'outer_el.pt' : 'adapter.pt'
    copyFileSync(path.join(torch, `${name}.pt`), path.join(from, file))
    // the other link of the style that this one's key belongs to
    if (outerFile) copyFileSync(path.join(torch, 'outer-float32.pt'), path.join(from, 'outer_le.pt'))
    await importLinks(from, to)
    await exportLinks(to, out)
    const [given, back] = [await readTorchTensors(path.join(from, file)), await readTorchTensors(path.join(out, file))]
    expect(new Set([...back.values()].map((t) => t.dtype))).toEqual(new Set([dtype]))
    expect(new Map([...back].sort())).toEqual(new Map([...given].sort()))
    if (outerFile) expect((await readTorchTensors(path.join(out, 'outer_le.pt'))).get('proj1.bias')!.dtype).toBe('F32')
  })

  it('once trained on are float32, as they do not fit their old type any more', async () => {
    const from = fresh()
    const to = path.join(fresh(), 'to')
    copyFileSync(path.join(torch, 'inner-bfloat16.pt'), path.join(from, 'adapter.pt'))
    const manifest = await importLinks(from, to)
    const { type, width, parameters } = await loadInnerLink(to, { width: 12 })
    parameters['proj1.bias'][0] = 0.1
    await saveInnerLink(to, { type, width, parameters }, manifest)
    const out = path.join(fresh(), 'out')
    await exportLinks(to, out)
    const tensors = await readTorchTensors(path.join(out, 'adapter.pt'))
    expect(tensors.get('proj1.bias')).toMatchObject({ dtype: 'F32', data: parameters['proj1.bias'] })
  })

  it('tell what they know of their training', async () => {
    const from = fresh()
    copyFileSync(path.join(torch, 'inner-float32.pt'), path.join(from, 'adapter.pt'))
    writeFileSync(path.join(from, 'config.json'), '{}')
    writeFileSync(
      path.join(from, 'train_args.json'),
      JSON.stringify({ mas_role: 'hie_summarizer', mas_task: 'choice' }),
    )
    expect(await importLinks(from, path.join(fresh(), 'to'))).toMatchObject({
      style: 'mixture',
      role: 'summarizer',
      task: 'choice',
      baseModels: [{ role: 'summarizer', id: path.basename(from), hiddenSize: 12 }],
    })
    writeFileSync(path.join(from, 'train_args.json'), '{ "mas_role": 3 }')
    expect(await importLinks(from, path.join(fresh(), 'to'))).toMatchObject({
      style: 'sequential',
      role: null,
      task: 'math',
    })
  })

  it('that are no links leave nothing behind', async () => {
    const to = path.join(fresh(), 'to')
    const empty = fresh()
    for (const from of [empty, path.join(empty, 'none'), path.join(torch, '../bad/integers.pt')])
      await expect(importLinks(from, to), from).rejects.toThrow(UserError)
    expect(existsSync(to)).toBe(false)
  })

  it('are not taken from a checkpoint of ours', async () => {
    const { folder } = await innerCheckpoint()
    await expect(importLinks(folder, path.join(fresh(), 'to'))).rejects.toThrow('already')
  })
})

it('the command line exports and imports, and says what is missing', async () => {
  let printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true))
  const { folder } = await innerCheckpoint()
  const [out, back] = [path.join(fresh(), 'out'), path.join(fresh(), 'back')]
  expect(await runEngineCommand(['export', '--links', folder, '--to', out])).toBe(0)
  expect(JSON.parse(printed)).toEqual({ folder: out, files: readdirSync(out).sort() })
  expect((await readTorchTensors(path.join(out, 'adapter.pt'))).size).toBeGreaterThan(0)
  printed = ''
  expect(await runEngineCommand(['import', '--links', out, '--to', back, '--task', 'math'])).toBe(0)
  expect(JSON.parse(printed)).toMatchObject({ folder: back, kind: 'inner-link' })
  await expect(runEngineCommand(['export', '--links', folder])).rejects.toThrow('--to is missing')
  await expect(runEngineCommand(['import', '--links', out, '--to', back, '--task', 'art'])).rejects.toThrow(UsageError)
})

it('an exported folder is named after its step and number, whatever they hold', () => {
  expect(exportName('inner-planner', 40)).toBe('inner-planner-step-40')
  expect(exportName('../Été 2!', 3)).toBe('t-2-step-3')
  expect(exportName('…', 3)).toBe('links-step-3')
})
