import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildDemo, demoSeed } from '../../../src-main/demo/build-demo'
import { dataFiles } from '../../../src-main/demo/data-files'
import { makeProblems } from '../../../src-main/demo/data'
import { findDemoFolder } from '../../../src-main/demo/demo-folder'
import { drawTask } from '../../../src-main/demo/own-tasks'
import { demoPipeline } from '../../../src-main/demo/pipeline-files'
import { demoPack } from '../../../src-main/demo/prompts'
import { createRandom } from '../../../src-main/demo/random'
import { modelConfig, roles, weightShapes } from '../../../src-main/demo/tiny-models'
import { fullTraining } from '../../../src-main/demo/train-model'
import { rowOf } from '../../../src-main/demo/vel'
import { encodeWords, endId, tokenizerFiles, vocabulary } from '../../../src-main/demo/vocabulary'
import { openModelWeights } from '../../../src-main/engine/formats/model-weights'
import { buildPrompt, loadModelText, loadPromptPack, renderStage } from '../../../src-main/engine/text'
import { readPipeline, resolveStep } from '../../../src-main/workspace/pipeline'

const demo = findDemoFolder()
const problems = makeProblems(demoSeed)

describe('making the demo, shortened', () => {
  const losses = new Map<string, number[]>()
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'demo-build-'))
    const short = { ...fullTraining.planner, steps: 30, warmupSteps: 3, batchSize: 8 }
    await buildDemo({
      folder,
      seed: 5,
      training: { planner: short, critic: short, solver: short },
      threads: 1,
      onStep: (role, _, __, loss) => losses.set(role, [...(losses.get(role) ?? []), loss]),
    })
  }, 120_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('lowers every model’s loss, which starts above that of guessing evenly', () => {
    for (const role of roles) {
      const all = losses.get(role)!
      expect(all).toHaveLength(30)
      expect(all[0]).toBeGreaterThan(0.9 * Math.log(vocabulary.length))
      const end = all.slice(-5).reduce((a, b) => a + b) / 5
      expect(end).toBeLessThan(0.6 * all[0])
    }
  })

  it('writes models whose weights are those that config.json implies', async () => {
    for (const role of roles) {
      const { tensors } = await openModelWeights(path.join(folder, 'models', role))
      expect([...tensors].map(([name, t]) => ({ name, shape: t.shape }))).toEqual(weightShapes(role))
    }
  })

  it('gives the same files again from the same seed', async () => {
    const again = await mkdtemp(path.join(tmpdir(), 'demo-again-'))
    try {
      const short = { ...fullTraining.planner, steps: 30, warmupSteps: 3, batchSize: 8 }
      await buildDemo({
        folder: again,
        seed: 5,
        only: ['planner'],
        training: { planner: short, critic: short, solver: short },
        threads: 1,
      })
      const file = path.join('models', 'planner', 'model.safetensors')
      expect(Buffer.compare(await readFile(path.join(again, file)), await readFile(path.join(folder, file)))).toBe(0)
    } finally {
      await rm(again, { recursive: true, force: true })
    }
  })
})

describe('the embedded demo', () => {
  it('holds what demo:build makes of its data, prompts and pipelines, and at most 8 MB', async () => {
    const text = (name: string) => readFile(path.join(demo, name), 'utf8')
    for (const [name, content] of Object.entries(dataFiles(problems))) expect((await text(name)) === content).toBe(true)
    const json = {
      'prompt-pack.json': demoPack,
      'pipeline.json': demoPipeline('full'),
      'pipeline.short.json': demoPipeline('short'),
      ...Object.fromEntries(
        roles.flatMap((role) =>
          Object.entries({ 'config.json': modelConfig(role), ...tokenizerFiles() }).map(([name, value]) => [
            `models/${role}/${name}`,
            value,
          ]),
        ),
      ),
    }
    for (const [name, value] of Object.entries(json))
      expect(JSON.parse(await text(name))).toEqual(JSON.parse(JSON.stringify(value)))
    const files = await readdir(demo, { recursive: true, withFileTypes: true })
    const sizes = await Promise.all(
      files.filter((f) => f.isFile()).map(async (f) => (await stat(path.join(f.parentPath, f.name))).size),
    )
    expect(sizes.reduce((a, b) => a + b, 0)).toBeLessThan(8e6)
  })

  it('has pipelines of which every step is a job that can be run', async () => {
    for (const name of ['pipeline.json', 'pipeline.short.json']) {
      const pipeline = await readPipeline(demo, name)
      expect(pipeline.steps).toHaveLength(14)
      for (const step of pipeline.steps) {
        const outcome = () => ({ checkpoint: '/run/last', best: '/run/best' })
        const spec = resolveStep(step, { base: demo, output: '/out', outcome })
        const files = [
          spec.promptPack!,
          spec.data.file,
          ...(spec.kind === 'inner' ? [spec.model] : spec.agents.map((a) => a.model)),
        ]
        for (const file of files) expect((await stat(file)).size).toBeGreaterThan(0)
        // nothing is chosen on the rows that the table reports
        const chosenOn =
          spec.kind === 'outer' ? spec.validation!.data.file : spec.kind === 'inner' ? spec.data.file : ''
        expect(path.basename(spec.data.file) === 'held-out.jsonl').toBe(spec.kind === 'evaluate')
        expect(chosenOn.includes('held-out')).toBe(false)
      }
    }
  })
})

describe('the tokenizer of the demo’s models', () => {
  it('reads every text of the data word by word, and writes it again', async () => {
    const { tokenizer } = await loadModelText(path.join(demo, 'models', 'planner'))
    expect(tokenizer.vocabSize).toBe(64)
    for (const problem of problems.heldOut.flat()) {
      const { question, rounds } = rowOf(problem)
      for (const text of [question, ...rounds.flatMap((r) => Object.values(r))]) {
        const ids = await tokenizer.encode(text)
        expect(ids).toEqual(encodeWords(text))
        expect(await tokenizer.decode([...ids, endId], { skipSpecial: true })).toBe(text)
      }
    }
  })

  it('gives prompts as the models were trained on them, through the prompt pack and the chat template', async () => {
    const pack = await loadPromptPack(path.join(demo, 'prompt-pack.json'))
    const [problem] = problems.heldOut[1]
    const { question, plan, refined_plan, answer } = rowOf(problem)
    const texts = {
      planner: { variant: 'feedback', slots: { feedback: answer }, target: plan },
      critic: { variant: 'first', slots: { plan }, target: refined_plan },
      solver: { variant: 'first', slots: { refinedPlan: refined_plan }, target: answer },
    }
    // the frame of a training row: everything but question, slot and target
    const frame = (words: string, parts: readonly string[]) => parts.reduce((w, p) => w.replace(p, '*'), words)
    for (const role of roles) {
      const model = await loadModelText(path.join(demo, 'models', role))
      const { variant, slots, target } = texts[role]
      const prompt = buildPrompt(pack, { role, variant, task: 'math', mode: 'corrected', question, slots })
      const stage = await renderStage(model, prompt, target, { mode: 'corrected' })
      expect(stage.warnings).toEqual([])
      const words = (ids: readonly number[]) => ids.map((id) => vocabulary[id]).join(' ')
      const rendered = words(stage.full!.ids[0])
      expect(stage.beforeTarget).toBe(stage.prompt.ids[0].length)
      const random = createRandom(2, role)
      const drawn = Array.from({ length: 20 }, () => drawTask(role, problems.validation, 1, random)).map((b) =>
        words(b.ids[0]),
      )
      const kept = frame(rendered, [question, Object.values(slots)[0], target])
      const pattern = new RegExp(`^${kept.replace(/[|.+*?^$()[\]{}\\]/g, (c) => (c === '*' ? '.*' : `\\${c}`))}$`)
      expect(drawn.some((d) => pattern.test(d))).toBe(true)
    }
  })
})
