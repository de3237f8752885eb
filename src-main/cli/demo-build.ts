/**
 * `npm run demo:build [-- --seed N] [--only ROLE] [--out DIR] [--threads N] [--short]`: makes the embedded demo again, its
 * models trained from the seed. `--short` trains a few dozen steps into a temporary folder and checks that the loss falls.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildDemo, demoSeed } from '../demo/build-demo'
import { findDemoFolder } from '../demo/demo-folder'
import { roles, type Role } from '../demo/tiny-models'
import { fullTraining, type ModelTraining } from '../demo/train-model'
import { UserError } from '../engine/errors'
import { parseOrHelp, wholeNumber } from './options'
import { duration, progressLine } from './progress-line'
import { UsageError } from './usage-error'

const usage = `npm run demo:build -- [--seed N] [--only ROLE] [--out DIR] [--threads N] [--short]
  --seed N     everything random follows from it; default: ${demoSeed}
  --only ROLE  trains one model only: ${roles.join(', ')}
  --out DIR    default: the embedded demo itself (native-assets/demo)
  --threads N  default: 1, so that a seed gives the same files however many cores there are
  --short      a few dozen steps into a temporary folder: shows that training works`

/** Steps of `--short`. */
const shortSteps = 60

/** Returns the exit code. Throws UserError, UsageError. */
export async function runDemoBuild(args: readonly string[]): Promise<number> {
  const parsed = parseOrHelp(
    args,
    {
      seed: { type: 'string', default: String(demoSeed) },
      only: { type: 'string' },
      out: { type: 'string' },
      threads: { type: 'string', default: '1' },
      short: { type: 'boolean', default: false },
    },
    usage,
  )
  if (!parsed) return 0
  const { values } = parsed
  const only = values.only === undefined ? roles : [roleOf(values.only)]
  const temporary =
    values.short && values.out === undefined ? await mkdtemp(path.join(tmpdir(), 'recursivemas-build-')) : null
  const folder = temporary ?? (values.out === undefined ? findDemoFolder() : path.resolve(values.out))
  const started = performance.now()
  const reports = new Map(only.map((role) => [role, new TrainingReport(role)]))
  try {
    await buildDemo({
      folder,
      seed: wholeNumber('seed', values.seed, 0, usage),
      only,
      training: values.short ? shortTraining() : fullTraining,
      threads: wholeNumber('threads', values.threads, 1, usage),
      onStep: (role, step, steps, loss) => reports.get(role)!.step(step, steps, loss),
    })
    for (const [role, report] of reports) if (!report.fell()) throw lossStayed(role)
    process.stderr.write(
      `${temporary ? 'Short training worked' : `The demo is in ${folder}`}; it took ${duration((performance.now() - started) / 1000)}.\n`,
    )
    return 0
  } finally {
    if (temporary) await rm(temporary, { recursive: true, force: true })
  }
}

/** Progress of one model: step, smoothed loss, rate, time left. */
class TrainingReport {
  private readonly line = progressLine()
  private firstStep = 0
  private first = 0
  private smooth = 0

  constructor(private readonly role: Role) {}

  step(step: number, steps: number, loss: number): void {
    const now = performance.now()
    if (step === 1) {
      this.firstStep = now
      this.first = loss
      this.smooth = loss
    }
    this.smooth += 0.1 * (loss - this.smooth)
    const rate = step > 1 ? ((step - 1) * 1000) / (now - this.firstStep) : 0
    const text = `${this.role}: step ${step}/${steps}, loss ${this.smooth.toFixed(4)}`
    if (step === steps) this.line.finish(`${text}, ${duration((now - this.firstStep) / 1000)}`)
    else this.line.show(`${text}, ${rate.toFixed(1)} steps/s, ${rate > 0 ? duration((steps - step) / rate) : '?'} left`)
  }

  /** The loss at the end is below four fifths of that of the first step. */
  fell(): boolean {
    return this.smooth < 0.8 * this.first
  }
}

function shortTraining(): Record<Role, ModelTraining> {
  const short = (role: Role): ModelTraining => ({
    ...fullTraining[role],
    steps: shortSteps,
    warmupSteps: 5,
    batchSize: 16,
  })
  return { planner: short('planner'), critic: short('critic'), solver: short('solver') }
}

function roleOf(text: string): Role {
  const role = roles.find((r) => r === text)
  if (role) return role
  throw new UsageError(`There is no role "${text}" in the demo.`, usage)
}

function lossStayed(role: Role): UserError {
  return new UserError({
    what: `The training of the ${role} did not work.`,
    why: 'Its loss did not fall.',
    next: 'Report this with the output above; the files were written nevertheless.',
  })
}
