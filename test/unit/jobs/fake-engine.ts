/**
 * An engine without numbers: the events and files of a real one, in milliseconds. Steps and pace come from the spec: `steps` for
 * training, `data.limit` questions for evaluations; `seed` 666 makes it fail at step 3, 667 throw a defect, 668 say nothing.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { RunOptions } from '../../../src-main/engine/engine'
import type { JobEvent } from '../../../src-main/engine/job-events'
import type { JobSpec } from '../../../src-main/engine/job-spec'

export async function runJob(spec: JobSpec, { emit, signal, resume = false }: RunOptions): Promise<void> {
  if (spec.seed === 667) throw new Error('a defect')
  if (spec.seed === 668) return
  const say = (event: JobEvent): void => {
    // As the real engine: numbers in a file of their own, bars in none.
    if (event.kind !== 'progress')
      appendFileSync(
        path.join(spec.output, event.kind === 'metrics' ? 'metrics.jsonl' : 'journal.jsonl'),
        JSON.stringify(event) + '\n',
      )
    emit(event)
  }
  const total = spec.kind === 'evaluate' ? spec.data.limit || 10 : spec.steps
  const progressFile = path.join(spec.output, 'progress.json')
  const from = resume && existsSync(progressFile) ? (JSON.parse(readFileSync(progressFile, 'utf8')) as number) : 0
  const samples: string[] = []
  say({ kind: 'started', time: Date.now(), job: spec.kind, resumedFrom: resume ? from : null })
  say({
    kind: 'phase',
    time: Date.now(),
    phase: 'work',
    title: 'Working',
    total,
    unit: spec.kind === 'evaluate' ? 'questions' : 'steps',
  })
  for (let step = from + 1; step <= total; step++) {
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.FAKE_ENGINE_MS ?? 5)))
    if (spec.seed === 666 && step === 3) {
      say({ kind: 'failed', time: Date.now(), what: 'It failed.', why: 'The seed is 666.', next: 'Take another seed.' })
      return
    }
    const time = Date.now()
    say({ kind: 'progress', time, phase: 'work', done: step, total, rate: 10, secondsLeft: (total - step) / 10 })
    if (spec.kind === 'evaluate') {
      const correct = step % 3 !== 0
      samples.push(JSON.stringify(sample(step - 1, correct, spec.rounds)))
      say({ kind: 'question', time, index: step - 1, correct, strict: step % 4 === 0 ? !correct : correct })
    } else
      say({
        kind: 'metrics',
        time,
        step,
        loss: 1 / step,
        learningRate: 1e-3,
        gradNorm: 0.5,
        ...(spec.kind === 'outer' ? { gradNorms: { outer_12: [0.1, 0.2], outer_31: [0.3, null] } } : {}),
      })
    writeFileSync(progressFile, String(step))
    if (signal?.aborted && step < total) {
      say({ kind: 'stopped', time, step, resumable: true })
      return
    }
  }
  if (spec.kind === 'evaluate') {
    appendFileSync(path.join(spec.output, 'samples.jsonl'), samples.map((line) => line + '\n').join(''))
    const interval = { value: 0.7, low: 0.4, high: 0.9, n: total }
    say({ kind: 'finished', time: Date.now(), seconds: 1, accuracy: interval, strictAccuracy: null })
    return
  }
  const folder = path.join(spec.output, 'checkpoints', `step-${total}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify({ step: total }))
  say({ kind: 'checkpoint', time: Date.now(), step: total, folder, best: false })
  say({ kind: 'finished', time: Date.now(), seconds: 1, checkpoint: folder })
}

function sample(index: number, correct: boolean, rounds: number) {
  const stages = Array.from({ length: rounds }, (_, round) => ({
    round: round + 1,
    role: 'planner',
    prompt: [
      { kind: 'text', text: 'plan the question : ' },
      { kind: 'slot', name: 'feedback', length: 11, from: 'solver', text: null },
    ],
    promptTokens: 20,
    latents: {
      norms: [8, 8.1, 7.9],
      cosines: round === 0 ? [null, null, null] : [0.9, 0.8, 0.7],
      projection: [
        [0, 1],
        [1, 0],
        [0.5, 0.5],
      ],
    },
    text: null,
    tokens: null,
  }))
  return {
    index,
    rollout: 0,
    question: `unat nov plo hep mik nul number ${index}`,
    gold: 'six',
    output: correct ? 'six' : 'nine',
    tokens: 11,
    seconds: 0.1,
    correct,
    strict: index % 4 === 3 ? !correct : correct,
    grades: [{ grader: 'exact', correct, prediction: correct ? 'six' : 'nine', gold: 'six', cause: null }],
    stages,
  }
}
