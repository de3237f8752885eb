/** Training checkpoints: exact continuation, pruning, and what a crash or a full disk leaves. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import {
  loadTrainingState,
  newestCheckpoint,
  saveTrainingState,
  type TrainingState,
} from '../../../src-main/engine/training/checkpoints'
import { BatchOrder } from '../../../src-main/engine/training/data-order'
import { loadInnerLink, loadOuterLinks, saveInnerLink } from '../../../src-main/engine/training/link-files'
import { AdamW, clipGradients, outerParameters } from '../../../src-main/engine/training/optimiser'
import { learningRateAt } from '../../../src-main/engine/training/schedule'
import { mountVolume } from '../../volumes'
import { provenance } from './provenance'

const work = mkdtempSync(join(tmpdir(), 'checkpoints-'))
afterAll(() => rmSync(work, { recursive: true }))
const fresh = () => join(mkdtempSync(join(work, 'case-')), 'checkpoints')

/** A toy run: gradients depend on the parameters, the rows and a draw, so any difference in any part of the state shows in later losses. */
class ToyRun {
  step = 0
  seen = 0
  private constructor(
    private readonly generator: TorchGenerator,
    private readonly order: BatchOrder,
    private readonly links: { key: string; parameters: Record<string, Float32Array> }[],
    private readonly adamw: AdamW,
  ) {}

  static start(): ToyRun {
    const generator = new TorchGenerator(42)
    const links = ['outer_12', 'outer_21'].map((key) => ({
      key,
      parameters: { ...initOuterLink('outer_ln_res_adapter', 3, 3, generator) },
    }))
    return new ToyRun(
      generator,
      new BatchOrder({ rows: 7, batchSize: 2, generator }),
      links,
      new AdamW(outerParameters(links, 'corrected'), { weightDecay: 0.1 }),
    )
  }

  static resume(state: TrainingState): ToyRun {
    const generator = TorchGenerator.fromState(state.generator)
    const order = BatchOrder.resume({ rows: 7, batchSize: 2, generator }, state.dataOrder)
    const links = state.links.map((l) => ({ key: l.kind === 'outer' ? l.key : '', parameters: { ...l.parameters } }))
    const adamw = new AdamW(outerParameters(links, 'corrected'), { weightDecay: 0.1 })
    adamw.importState(state.optimiser)
    const run = new ToyRun(generator, order, links, adamw)
    run.step = state.step
    run.seen = (state.extra as { seen: number }).seen
    return run
  }

  advance(): number {
    const { rows } = this.order.next()
    const noise = this.generator.nextUint32() / 2 ** 32
    const gradients = new Map<string, Float32Array>()
    let loss = 0
    for (const { name, values } of this.adamw.parameters) {
      // The second link has no gradient in every third step.
      if (name.startsWith('outer_21') && this.step % 3 === 0) continue
      const gradient = values.map((v, i) => Math.sin(v * (1 + rows[0]) + rows[1] * i + noise))
      gradients.set(name, gradient)
      for (const g of gradient) loss += g * g
    }
    clipGradients(gradients.values(), 1)
    this.adamw.step(
      gradients,
      learningRateAt(this.step, {
        mode: 'corrected',
        schedule: 'cosine',
        learningRate: 0.01,
        warmupSteps: 3,
        steps: 40,
      }),
    )
    this.step++
    this.seen += rows[0]
    return loss
  }

  state(best: TrainingState['best'] = null): TrainingState {
    return {
      step: this.step,
      links: this.links.map((l) => ({ kind: 'outer', type: 'outer_ln_res_adapter', inWidth: 3, outWidth: 3, ...l })),
      provenance: provenance({ step: this.step, role: null }),
      optimiser: this.adamw.exportState(),
      generator: this.generator.exportState(),
      dataOrder: this.order.exportState(),
      best,
      extra: { seen: this.seen },
    }
  }
}

const steps = (run: ToyRun, n: number) => Array.from({ length: n }, () => run.advance())
const folders = (path: string) => readdirSync(path).sort()

describe('exact continuation', () => {
  it.each([0, 1, 3, 4, 11])(
    'interrupted after %i steps, a run has the losses and ends with the bits of one that never stopped',
    async (stop) => {
      const whole = ToyRun.start()
      const losses = steps(whole, 20)
      const first = ToyRun.start()
      steps(first, stop)
      const folder = await saveTrainingState(fresh(), first.state({ step: 1, value: 0.1 + 0.2 }), { keepLast: 0 })
      const second = ToyRun.resume(await loadTrainingState(folder))
      expect(steps(second, 20 - stop)).toEqual(losses.slice(stop))
      expect(second.state()).toEqual(whole.state())
    },
  )

  it('what is loaded equals what was saved', async () => {
    const run = ToyRun.start()
    steps(run, 5)
    const state = { ...run.state({ step: 3, value: 1 / 3 }), extra: { a: [1, null, 'x', { b: true }], b: -1e-300 } }
    expect(await loadTrainingState(await saveTrainingState(fresh(), state, { keepLast: 0 }))).toEqual(state)
  })

  it('a checkpoint is a link folder too', async () => {
    const run = ToyRun.start()
    steps(run, 2)
    const folder = await saveTrainingState(fresh(), run.state(), { keepLast: 0 })
    const expected = ['outer_12', 'outer_21'].map((key) => ({ key, inWidth: 3, outWidth: 3 }))
    const { links, manifest } = await loadOuterLinks(folder, { expected })
    const [one] = run.state().links
    expect(links.get('outer_12')?.parameters).toEqual(one.parameters)
    expect(manifest?.step).toBe(2)
    expect(folders(folder)).toEqual([
      'links.safetensors',
      'manifest.json',
      'training-state.json',
      'training-state.safetensors',
    ])
  })

  it('refuses to lose what JSON cannot say', async () => {
    const checkpoints = fresh()
    await expect(
      saveTrainingState(checkpoints, ToyRun.start().state({ step: 0, value: NaN }), { keepLast: 0 }),
    ).rejects.toThrow()
    await expect(
      saveTrainingState(checkpoints, { ...ToyRun.start().state(), extra: { sum: Infinity } }, { keepLast: 0 }),
    ).rejects.toThrow()
    expect(folders(checkpoints)).toEqual([])
  })
})

describe('keeping and finding', () => {
  it('keeps the newest, the best and so many older ones', async () => {
    const checkpoints = fresh()
    const run = ToyRun.start()
    const kept: string[][] = []
    for (let n = 1; n <= 6; n++) {
      steps(run, 1)
      await saveTrainingState(checkpoints, run.state(n >= 2 ? { step: 2, value: 1 } : null), { keepLast: 1 })
      kept.push(folders(checkpoints))
    }
    expect(kept).toEqual([
      ['step-1'],
      ['step-1', 'step-2'],
      ['step-1', 'step-2', 'step-3'],
      ['step-2', 'step-3', 'step-4'],
      ['step-2', 'step-4', 'step-5'],
      ['step-2', 'step-5', 'step-6'],
    ])
  })

  it('finds the newest whole one, and says why it passed over newer ones', async () => {
    const checkpoints = fresh()
    const run = ToyRun.start()
    for (let n = 8; n <= 12; n++) await saveTrainingState(checkpoints, ((run.step = n), run.state()), { keepLast: 9 })
    rmSync(join(checkpoints, 'step-12/manifest.json'))
    truncateSync(join(checkpoints, 'step-11/training-state.safetensors'), 100)
    const links = readFileSync(join(checkpoints, 'step-10/links.safetensors'))
    links[links.length - 5] ^= 1
    writeFileSync(join(checkpoints, 'step-10/links.safetensors'), links)
    mkdirSync(join(checkpoints, '.incomplete-step-13-1-abcd'))
    mkdirSync(join(checkpoints, 'step-x'))
    const found = await newestCheckpoint(checkpoints)
    expect(found?.folder).toBe(join(checkpoints, 'step-9'))
    expect(found?.step).toBe(9)
    expect(found?.skipped.map((s) => s.folder.slice(-7))).toEqual(['step-12', 'step-11', 'step-10'])
    expect(found?.skipped.map((s) => s.why)).toEqual([
      expect.stringMatching(/manifest\.json does not exist/),
      expect.stringMatching(/has 100 bytes instead of/),
      expect.stringMatching(/links\.safetensors has changed/),
    ])
    expect(await newestCheckpoint(join(checkpoints, 'absent'))).toBeNull()
  })

  it('a link folder without training state is loaded as a link, not continued', async () => {
    const folder = join(fresh(), 'step-1')

    await saveInnerLink(
      folder,
      { type: 'adapter', width: 3, parameters: initInnerLink('adapter', 3, new TorchGenerator(1)) },
      provenance(),
    )
    await expect(loadTrainingState(folder)).rejects.toThrow('not the state of a training run')
    expect((await loadInnerLink(folder, { width: 3 })).type).toBe('adapter')
    expect(await newestCheckpoint(join(folder, '..'))).toBeNull()
  })
})

describe('trouble while saving', () => {
  it('takes away what an earlier crash left', async () => {
    const checkpoints = fresh()
    mkdirSync(join(checkpoints, '.incomplete-step-3-1-abcd'), { recursive: true })
    await saveTrainingState(checkpoints, ToyRun.start().state(), { keepLast: 0 })
    expect(folders(checkpoints)).toEqual(['step-0'])
  })

  it('a full disk: a clear error, the last checkpoint untouched, and saving works again once there is space', async (context) => {
    const mounted = mountVolume('size=96k')
    if (!mounted) return context.skip('no right to mount a small volume')
    const volume = mounted.folder
    try {
      const run = ToyRun.start()
      await saveTrainingState(volume, run.state(), { keepLast: 9 })
      const { bavail, bsize } = statfsSync(volume)
      writeFileSync(join(volume, 'other'), Buffer.alloc(bavail * bsize - 12 * 1024))
      steps(run, 1)
      const error = await saveTrainingState(volume, run.state(), { keepLast: 9 }).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(UserError)
      expect((error as UserError).what).toBe('The checkpoint of step 1 could not be saved.')
      expect((error as UserError).why).toMatch(
        new RegExp(`^The disk is full: ${volume} \\(.* free on its volume\\)\\.$`),
      )
      expect(folders(volume)).toEqual(['other', 'step-0'])
      expect((await newestCheckpoint(volume))?.step).toBe(0)
      rmSync(join(volume, 'other'))
      await saveTrainingState(volume, run.state(), { keepLast: 9 })
      expect(existsSync(join(volume, 'step-1/manifest.json'))).toBe(true)
    } finally {
      mounted.remove()
    }
  })
})
