/** Links on disk: exact round trips in both formats, strict refusals, the reference's layouts. */
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { readSafetensors, writeSafetensors } from '../../../src-main/engine/formats/safetensors'
import { writeTorchTensors } from '../../../src-main/engine/formats/torch-writer'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import {
  type InnerLinkType,
  innerLinkTypes,
  type OuterLinkType,
  outerLinkTypes,
} from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import {
  loadInnerLink,
  loadOuterLinks,
  saveInnerLink,
  saveOuterLinks,
} from '../../../src-main/engine/training/link-files'
import { exportReferenceInner, exportReferenceOuter } from '../../../src-main/engine/training/link-files-export'
import { recordTensors } from '../../../src-main/engine/training/link-files-record'
import { exportLinks } from '../../../src-main/workspace/link-exchange'
import { provenance } from './provenance'

const pt = join(import.meta.dirname, '../../golden/pt')
const work = mkdtempSync(join(tmpdir(), 'links-'))
afterAll(() => rmSync(work, { recursive: true }))
const fresh = () => mkdtempSync(join(work, 'case-'))

const inner = (type: InnerLinkType, width = 5, seed = 1) => ({
  type,
  width,
  parameters: initInnerLink(type, width, new TorchGenerator(seed)),
})
const outer = (key: string, type: OuterLinkType, inWidth: number, outWidth: number, seed = 1) => ({
  key,
  type,
  inWidth,
  outWidth,
  parameters: initOuterLink(type, inWidth, outWidth, new TorchGenerator(seed)),
})

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return (error as UserError).message
}

const system = [
  outer('outer_12', 'outer_ln_res_adapter', 4, 6),
  outer('outer_23', 'outer_linear_adapter', 6, 5, 2),
  outer('outer_31', 'outer_res_adapter', 5, 4, 3),
]
const expected = system.map(({ key, inWidth, outWidth }) => ({ key, inWidth, outWidth }))
const exportOptions = {
  style: 'sequential',
  agents: [1, 2, 3].map((n) => ({ model: `org/model-${n}`, innerLink: `inner-${n}` })),
  task: 'choice',
  rounds: 3,
  superviseFinalOnly: true,
  earlierRoundsWeight: 0.1,
  enableThinking: false,
} as const

describe('our own folders', () => {
  it.each(Object.keys(innerLinkTypes) as InnerLinkType[])('inner %s: saved and loaded bit for bit', async (type) => {
    const folder = join(fresh(), 'link')
    const link = inner(type)
    const saved = await saveInnerLink(folder, link, provenance())
    const { parameters, manifest, source, ...rest } = await loadInnerLink(folder, { width: 5 })
    expect(rest).toEqual({ type, width: 5 })
    expect(parameters).toEqual(link.parameters)
    expect(manifest).toEqual(saved)
    expect(source).toBe(join(folder, 'links.safetensors'))
    expect(readdirSync(folder).sort()).toEqual(['links.safetensors', 'manifest.json'])
    expect((await loadInnerLink(source, { width: 5 })).manifest).toEqual(saved)
  })

  it('the links.safetensors alone still knows its type', async () => {
    const folder = fresh()
    await saveInnerLink(join(folder, 'link'), inner('res_adapter'), provenance())
    copyFileSync(join(folder, 'link/links.safetensors'), join(folder, 'alone.safetensors'))
    expect((await loadInnerLink(join(folder, 'alone.safetensors'), { width: 5 })).type).toBe('res_adapter')
    await saveOuterLinks(join(folder, 'outer'), system, provenance())
    copyFileSync(join(folder, 'outer/links.safetensors'), join(folder, 'outer.safetensors'))
    expect((await loadOuterLinks(join(folder, 'outer.safetensors'), { expected })).links).toEqual(
      new Map(system.map((l) => [l.key, l])),
    )
  })

  it('outer links of several types in one folder', async () => {
    const folder = join(fresh(), 'links')
    const saved = await saveOuterLinks(folder, system, provenance())
    const loaded = await loadOuterLinks(folder, { expected })
    expect(loaded).toEqual({ links: new Map(system.map((l) => [l.key, l])), manifest: saved, source: folder })
    expect(saved.links.map((l) => l.key)).toEqual(['outer_12', 'outer_23', 'outer_31'])
  })

  it('every outer type round-trips', async () => {
    for (const type of Object.keys(outerLinkTypes) as OuterLinkType[]) {
      const folder = join(fresh(), 'links')
      const link = outer('outer_el', type, 3, 7)
      await saveOuterLinks(folder, [link], provenance())
      expect((await loadOuterLinks(folder, { expected: [link] })).links.get('outer_el')).toEqual(link)
    }
  })

  it('a link folder is replaced, a folder with anything else is not touched', async () => {
    const folder = fresh()
    await saveInnerLink(join(folder, 'link'), inner('adapter', 5, 1), provenance())
    await saveInnerLink(join(folder, 'link'), inner('adapter', 5, 2), provenance())
    expect((await loadInnerLink(join(folder, 'link'), { width: 5 })).parameters).toEqual(
      inner('adapter', 5, 2).parameters,
    )
    expect(await refusal(saveInnerLink(folder, inner('adapter'), provenance()))).toContain('already holds other files')
    expect(readdirSync(folder)).toEqual(['link'])
  })
})

describe('refused', () => {
  it('another width: both named', async () => {
    const folder = join(fresh(), 'link')
    await saveInnerLink(folder, inner('ln_res_adapter', 5), provenance())
    expect(await refusal(loadInnerLink(folder, { width: 8 }))).toMatch(/is for width 5, but the models here need 8/)
    expect(await refusal(loadInnerLink(join(pt, 'good/inner-float32.pt'), { width: 64 }))).toMatch(
      /is for width 12, but the models here need 64/,
    )
    const links = join(fresh(), 'links')
    await saveOuterLinks(links, system, provenance())
    const wrong = expected.map((e) => (e.key === 'outer_23' ? { ...e, outWidth: 9 } : e))
    expect(await refusal(loadOuterLinks(links, { expected: wrong }))).toMatch(
      /outer link outer_23.*is for width 6 to 5, but the models here need 6 to 9/,
    )
  })

  it('missing links, another type, the wrong kind', async () => {
    const folder = fresh()
    await saveOuterLinks(join(folder, 'two'), system.slice(0, 2), provenance())
    await saveInnerLink(join(folder, 'inner'), inner('adapter'), provenance())
    expect(await refusal(loadOuterLinks(join(folder, 'two'), { expected }))).toMatch(
      /has outer_12, outer_23, but outer_31 is needed too/,
    )
    const typed = [{ ...expected[0], type: 'outer_res_adapter' as const }]
    expect(await refusal(loadOuterLinks(join(folder, 'two'), { expected: typed }))).toMatch(
      /type outer_ln_res_adapter, where outer_res_adapter is asked for/,
    )
    expect(await refusal(loadInnerLink(join(folder, 'two'), { width: 5 }))).toMatch(/holds outer links/)
    expect(await refusal(loadInnerLink(join(folder, 'two/links.safetensors'), { width: 5 }))).toMatch(
      /holds outer links/,
    )
    expect(await refusal(loadOuterLinks(join(folder, 'inner'), { expected }))).toMatch(/holds an inner link/)
  })

  it('the folder of a run in place of a checkpoint: its newest one is named', async () => {
    const run = fresh()
    writeFileSync(join(run, 'journal.jsonl'), '')
    const loads = [
      (path: string) => loadInnerLink(path, { width: 5 }),
      (path: string) => loadOuterLinks(path, { expected }),
      (path: string) => exportLinks(path, join(fresh(), 'out')),
    ]
    for (const load of loads)
      expect(await refusal(load(run))).toMatch(
        `The run has no checkpoint yet. ${run} is the folder of a run that has saved`,
      )
    for (const step of [5, 100, 20])
      await saveInnerLink(join(run, `checkpoints/step-${step}`), inner('adapter'), provenance())
    const newest = `Give its newest checkpoint, ${join(run, 'checkpoints/step-100')}, or an earlier one.`
    for (const load of loads) {
      expect(await refusal(load(run))).toBe(
        `A run has several checkpoints, and one of them is needed here. ${run} is the folder of a whole run. ${newest}`,
      )
      expect(await refusal(load(join(run, 'checkpoints')))).toMatch(newest)
    }
  })

  it('values that are not finite, integers, tensors missing, left over or misshapen', async () => {
    const write = async (
      edit: (tensors: Map<string, { shape: readonly number[]; data: Float32Array | BigInt64Array }>) => void,
    ) => {
      const file = join(fresh(), 'a.safetensors')
      const tensors = new Map<string, { shape: readonly number[]; data: Float32Array | BigInt64Array }>(
        recordTensors({ ...inner('ln_res_adapter', 12), kind: 'inner' }),
      )
      edit(tensors)
      await writeSafetensors(file, tensors)
      return refusal(loadInnerLink(file, { width: 12 }))
    }
    expect(await write((t) => (t.get('pre_ln.weight')!.data[3] = NaN))).toMatch(
      /pre_ln\.weight has a value that is not a finite number \(element 3\)/,
    )
    expect(await write((t) => (t.get('proj2.bias')!.data[0] = -Infinity))).toMatch(
      /proj2\.bias has a value that is not a finite number/,
    )
    expect(await write((t) => t.set('proj1.bias', { shape: [12], data: new BigInt64Array(12) }))).toMatch(
      /proj1\.bias has the type I64/,
    )
    expect(await write((t) => t.set('proj1.bias', { shape: [3, 4], data: new Float32Array(12) }))).toMatch(
      /proj1\.bias has the shape \[3, 4\], where \[12\] is needed/,
    )
    expect(await write((t) => t.delete('proj1.bias'))).toMatch(/those of no inner link type/)
    expect(await write((t) => t.set('other', { shape: [1], data: new Float32Array(1) }))).toMatch(
      /those of no inner link type/,
    )
  })

  it('the golden files that are no links: not-a-number and integer tensors', async () => {
    const load = (name: string) => refusal(loadInnerLink(join(pt, 'bad', name), { width: 12 }))
    expect(await load('nan.pt')).toMatch(/proj1\.weight has a value that is not a finite number \(element 0\)/)
    expect(await load('integers.pt')).toMatch(/proj1\.weight has the type I32/)
  })

  it('a type that cannot be told, unless adapter_config.json tells it', async () => {
    const folder = fresh()
    const file = join(folder, 'adapter.pt')
    await writeTorchTensors(file, recordTensors({ ...inner('res_adapter'), kind: 'inner' }))
    expect(await refusal(loadInnerLink(file, { width: 5 }))).toMatch(/parameters of adapter and of res_adapter/)
    writeFileSync(join(folder, 'adapter_config.json'), '{"adapter_type": "2layer_res"}')
    expect((await loadInnerLink(file, { width: 5 })).type).toBe('res_adapter')
    writeFileSync(join(folder, 'adapter_config.json'), '{"adapter_type": "ln_res_adapter"}')
    expect(await refusal(loadInnerLink(file, { width: 5 }))).toMatch(
      /for the type ln_res_adapter it lacks pre_ln\.weight/,
    )
    writeFileSync(join(folder, 'adapter_config.json'), '{"adapter_type": "lora"}')
    expect(await refusal(loadInnerLink(file, { width: 5 }))).toMatch(/type "lora" is not known/)
  })

  it('damage, and what is no link at all', async () => {
    const folder = join(fresh(), 'link')
    await saveInnerLink(folder, inner('adapter'), provenance())
    const file = join(folder, 'links.safetensors')
    const bytes = readFileSync(file)
    bytes[bytes.length - 1] ^= 1
    writeFileSync(file, bytes)
    expect(await refusal(loadInnerLink(folder, { width: 5 }))).toMatch(/has changed since it was written/)
    writeFileSync(file, bytes.subarray(0, -4))
    expect(await refusal(loadInnerLink(folder, { width: 5 }))).toMatch(/bytes instead of/)
    rmSync(file)
    expect(await refusal(loadInnerLink(folder, { width: 5 }))).toMatch(/does not exist/)
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, format: 2 }))
    expect(await refusal(loadInnerLink(folder, { width: 5 }))).toMatch(/has format 2; this version reads format 1/)
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, seed: 'x' }))
    expect(await refusal(loadInnerLink(folder, { width: 5 }))).toMatch(/no link manifest \(seed/)
    writeFileSync(join(folder, 'manifest.json'), '{')
    expect(await refusal(loadInnerLink(folder, { width: 5 }))).toMatch(/is not JSON/)
    expect(await refusal(loadInnerLink(join(folder, 'absent'), { width: 5 }))).toMatch(/does not exist/)
    expect(await refusal(loadInnerLink(fresh(), { width: 5 }))).toMatch(/neither manifest\.json nor adapter\.pt/)
    writeFileSync(join(folder, 'link.bin.txt'), '')
    expect(await refusal(loadInnerLink(join(folder, 'link.bin.txt'), { width: 5 }))).toMatch(
      /neither in \.safetensors nor in \.pt/,
    )
  })
})

describe("the reference's layouts", () => {
  it('inner: exported with its config and loaded bit for bit; other files of the folder stay', async () => {
    const folder = fresh()
    writeFileSync(join(folder, 'config.json'), '{}')
    const link = inner('linear_res_adapter')
    await exportReferenceInner(folder, link, { trainArgs: { seed: 42, adapter_lr: 5e-4, mas_role: 'refiner' } })
    expect(readdirSync(folder).sort()).toEqual(['adapter.pt', 'adapter_config.json', 'config.json', 'train_args.json'])
    expect(readFileSync(join(folder, 'adapter_config.json'), 'utf8')).toBe(
      '{\n  "adapter_type": "linear_res_adapter"\n}',
    )
    expect(readFileSync(join(folder, 'train_args.json'), 'utf8')).toBe(
      '{\n  "adapter_lr": 0.0005,\n  "mas_role": "refiner",\n  "seed": 42\n}',
    )
    const loaded = await loadInnerLink(folder, { width: 5 })
    expect(loaded).toEqual({ ...link, manifest: null, source: join(folder, 'adapter.pt') })
  })

  it('outer: exported with both configs and loaded bit for bit', async () => {
    const folder = fresh()
    await exportReferenceOuter(folder, system, exportOptions)
    expect(readdirSync(folder).sort()).toEqual([
      'outer_12.pt',
      'outer_23.pt',
      'outer_31.pt',
      'outer_adapter_config.json',
      'outerlink_config.json',
    ])
    expect((await loadOuterLinks(folder, { expected, task: 'math' })).links).toEqual(
      new Map(system.map((l) => [l.key, l])),
    )
    expect(readFileSync(join(folder, 'outer_adapter_config.json'), 'utf8')).toBe(
      [
        '{',
        ...[1, 2, 3].flatMap((n) => [
          `  "agent${n}_inner_aligner_path": "inner-${n}",`,
          `  "agent${n}_model_name_or_path": "org/model-${n}",`,
        ]),
        '  "enable_thinking": 0,',
        '  "mas_shape": "chain",',
        '  "mas_task": "math",',
        '  "non_last_loss_weight": 0.1,',
        '  "num_recursive_rounds": 3,',
        ...system.flatMap((l) => [
          `  "${l.key}_in_dim": ${l.inWidth},`,
          `  "${l.key}_out_dim": ${l.outWidth},`,
          `  "${l.key}_type": "${l.type}",`,
        ]),
        '  "supervise_final_only": 1',
        '}',
      ].join('\n'),
    )
    const config = JSON.parse(readFileSync(join(folder, 'outerlink_config.json'), 'utf8'))
    expect(Object.keys(config)).toEqual(['adapters', 'format_version', 'legacy_config_filename', 'paradigm'])
    expect(config.adapters[1]).toEqual({
      legacy_key: 'outer_23',
      filename: 'outer_23.pt',
      adapter_type: 'outer_linear_adapter',
      in_dim: 6,
      out_dim: 5,
    })
    // The configs may be missing: the types show in the files.
    rmSync(join(folder, 'outerlink_config.json'))
    rmSync(join(folder, 'outer_adapter_config.json'))
    expect((await loadOuterLinks(folder, { expected })).links).toEqual(new Map(system.map((l) => [l.key, l])))
  })

  it('inner links by task: the manifest, then adapter(task).pt, then adapter.pt', async () => {
    const folder = fresh()
    const write = (name: string, seed: number) =>
      writeTorchTensors(join(folder, name), recordTensors({ ...inner('ln_res_adapter', 5, seed), kind: 'inner' }))
    const loaded = async (task?: string) =>
      (await loadInnerLink(folder, { width: 5, task })).parameters['proj1.bias'][0]
    const seed = (n: number) => inner('ln_res_adapter', 5, n).parameters['proj1.bias'][0]
    await write('adapter.pt', 1)
    await write('adapter(math).pt', 2)
    await write('mine.pt', 3)
    expect([await loaded(), await loaded('math'), await loaded('choice'), await loaded('code')]).toEqual([
      seed(1),
      seed(2),
      seed(2),
      seed(1),
    ])
    writeFileSync(
      join(folder, 'innerlink_config.json'),
      JSON.stringify({ tasks: { math: { 'adapter.pt': 'mine.pt' }, code: {} } }),
    )
    expect([await loaded(), await loaded('math'), await loaded('code')]).toEqual([seed(1), seed(3), seed(1)])
  })

  it('outer links by task', async () => {
    const folder = fresh()
    const [link] = system
    mkdirSync(join(folder, 'sub'))
    await writeTorchTensors(join(folder, 'sub/a.pt'), recordTensors({ ...link, kind: 'outer' }))
    const config = { tasks: { math: { adapters: [{ legacy_key: 'outer_12', filename: 'sub/a.pt' }] } } }
    writeFileSync(join(folder, 'outerlink_config.json'), JSON.stringify(config))
    const load = (task?: string) => loadOuterLinks(folder, { expected: [link], task })
    expect((await load('math')).links.get('outer_12')).toEqual(link)
    expect(await refusal(load())).toMatch(/for the tasks math, and no task was chosen/)
    expect(await refusal(load('code'))).toMatch(/for the tasks math, not for code/)
    writeFileSync(join(folder, 'outerlink_config.json'), '{"adapters": []}')
    expect(await refusal(load())).toMatch(/lists no adapters/)
  })

  it('file names that lead out are refused, also over symbolic links; a hub cache may link to its own blobs', async () => {
    const top = fresh()
    const folder = join(top, 'snapshots/0123')
    mkdirSync(folder, { recursive: true })
    mkdirSync(join(top, 'blobs'))
    mkdirSync(join(top, 'else'))
    const link = inner('ln_res_adapter')
    for (const place of ['blobs/aa', 'else/aa'])
      await writeTorchTensors(join(top, place), recordTensors({ ...link, kind: 'inner' }))
    const load = (name: string) => {
      writeFileSync(join(folder, 'innerlink_config.json'), JSON.stringify({ tasks: { math: { 'adapter.pt': name } } }))
      return loadInnerLink(folder, { width: 5, task: 'math' })
    }
    symlinkSync('../../blobs/aa', join(folder, 'cached.pt'))
    symlinkSync('../../else/aa', join(folder, 'out.pt'))
    symlinkSync('../../else', join(folder, 'dir'))
    for (const name of [
      '../../else/aa',
      join(top, 'else/aa'),
      'x/../../a',
      '..\\a.pt',
      'C:\\a.pt',
      '',
      'a\0.pt',
      'out.pt',
      'dir/aa',
    ])
      expect(await refusal(load(name)), name).toMatch(/leads out of the folder/)
    expect((await load('cached.pt')).parameters).toEqual(link.parameters)
  })
})

describe('descriptions that are no good', () => {
  const described = async (config: string) => {
    const folder = fresh()
    await exportReferenceOuter(folder, system, exportOptions)
    writeFileSync(join(folder, 'outerlink_config.json'), config)
    return { folder, load: () => loadOuterLinks(folder, { expected, task: 'math' }) }
  }
  const adapters = system.map((l) => ({ legacy_key: l.key, filename: `${l.key}.pt`, adapter_type: l.type as string }))

  it('far too long, no JSON, without a list, one link twice, a type that is not known', async () => {
    const told = async (config: string) => refusal((await described(config)).load())
    expect(await told(JSON.stringify({ adapters, note: 'x'.repeat(2 ** 20) }))).toMatch(/far too many/)
    expect(await told('{')).toMatch(/it is not JSON/)
    expect(await told('[]')).toMatch(/outerlink_config\.json: the file: a list is not an object/)
    expect(await told('{"adapters": {"outer_12": "outer_12.pt"}}')).toMatch(/outerlink_config\.json: adapters/)
    expect(await told(JSON.stringify({ adapters: [...adapters, adapters[0]] }))).toMatch(/lists outer_12 twice/)
    const [first, ...others] = adapters
    const unknown = JSON.stringify({ adapters: [{ ...first, adapter_type: 'outer_gru' }, ...others] })
    expect(await told(unknown)).toMatch(/"outer_gru" is not known.*outer_12\.pt.*outer_ln_res_adapter/)
    const wrong = JSON.stringify({ adapters: [{ ...first, adapter_type: 'outer_res_adapter' }, ...others] })
    expect(await told(wrong)).toMatch(/for the type outer_res_adapter it holds ln_source\.weight/)
    expect(await told(JSON.stringify({ adapters: others }))).toMatch(/but outer_12 is needed too/)
    const swapped = JSON.stringify({ adapters: [{ ...first, filename: 'outer_23.pt' }, ...others] })
    expect(await told(swapped)).toMatch(
      /outer link outer_12.*outer_23\.pt is for width 6 to 5, but the models here need 4 to 6/,
    )
  })

  it('that are folders, pipes or lead nowhere', async () => {
    const { folder, load } = await described(JSON.stringify({ adapters }))
    const file = join(folder, 'outer_23.pt')
    rmSync(file)
    mkdirSync(file)
    expect(await refusal(load())).toMatch(/outer_23\.pt is named as a file, but is none/)
    rmSync(file, { recursive: true })
    // opening a pipe would wait for a writer for ever
    execFileSync('mkfifo', [file])
    expect(await refusal(load())).toMatch(/outer_23\.pt is named as a file, but is none/)
    rmSync(file)
    symlinkSync('/dev/zero', file)
    expect(await refusal(load())).toMatch(/leads out of the folder/)
    const config = join(folder, 'outerlink_config.json')
    rmSync(config)
    symlinkSync('nowhere.json', config)
    expect(await refusal(load())).toMatch(/outerlink_config\.json does not exist/)
  })

  it('every bad file of torch, as an inner and as an outer link', async () => {
    const bad = join(pt, 'bad')
    for (const name of readdirSync(bad)) {
      const folder = fresh()
      copyFileSync(join(bad, name), join(folder, 'adapter.pt'))
      expect(await refusal(loadInnerLink(folder, { width: 12 })), name).toContain('adapter.pt')
      const { folder: outer, load } = await described(JSON.stringify({ adapters }))
      copyFileSync(join(bad, name), join(outer, 'outer_31.pt'))
      expect(await refusal(load()), name).toContain('outer_31.pt')
      expect(readdirSync(folder)).toEqual(['adapter.pt'])
    }
  })
})

it('half-precision files are widened exactly', async () => {
  const { parameters } = await loadInnerLink(join(pt, 'good/inner-bfloat16.pt'), { width: 12 })
  const { tensors } = await readSafetensors(join(pt, 'good/inner-bfloat16.safetensors'))
  for (const [name, values] of Object.entries(parameters)) expect(values).toEqual(tensors.get(name)?.data)
})
