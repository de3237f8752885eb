/** Pipeline files: what is refused, and what a step becomes. */
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { jobSpec } from '../../../src-main/engine/job-spec'
import { mapSpecPaths } from '../../../src-main/engine/spec-paths'
import { outcomeOf, pipeline, resolveStep } from '../../../src-main/workspace/pipeline'
import { demoPipeline } from '../jobs/test-studio'

const steps = pipeline.parse(demoPipeline()).steps
const [planner, , , outer, evaluation] = steps

/** The demo's pipeline with something wrong in it. */
function broken(change: (value: ReturnType<typeof demoPipeline>) => void): string {
  const value = demoPipeline()
  change(value)
  const checked = pipeline.safeParse(value)
  return checked.success ? 'accepted' : checked.error.issues.map((issue) => issue.message).join('; ')
}

describe('a pipeline file is refused', () => {
  it.each<[string, (value: ReturnType<typeof demoPipeline>) => void, RegExp]>([
    ['that has two steps of one name', (p) => (p.steps[1].id = p.steps[0].id), /two steps/],
    ['whose step requires a later one', (p) => (p.steps[0].requires = ['outer']), /no earlier step/],
    ['whose step requires itself', (p) => (p.steps[0].requires = ['inner-planner']), /no earlier step/],
    ['that refers to what it does not require', (p) => (p.steps[4].requires = []), /does not require/],
    ['whose evaluation has no row', (p) => delete (p.steps[4] as { system?: string }).system, /names its row/],
    ['whose row is not in the table', (p) => ((p.steps[4] as { system: string }).system = 'other'), /not in systems/],
    ['that says where to write', (p) => Object.assign(p.steps[0].spec, { output: '/tmp' }), /not given here/],
    ['whose step would leave its folder', (p) => (p.steps[0].id = '../x'), /letters, digits/],
  ])('%s', (_, change, message) => expect(broken(change)).toMatch(message))

  it('but not as it is, nor where the reference is reached through other steps', () => {
    expect(broken(() => undefined)).toBe('accepted')
    expect(broken((p) => (p.steps[4].requires = ['outer']))).toBe('accepted')
  })
})

describe('a step', () => {
  const options = {
    base: '/demo',
    output: '/run',
    outcome: (id: string) => ({ checkpoint: `/links/${id}/last`, best: id === 'outer' ? '/links/outer/best' : null }),
  }

  it('becomes a job with absolute paths and the links of earlier steps', () => {
    expect(resolveStep(planner, options)).toMatchObject({
      kind: 'inner',
      model: '/demo/models/planner',
      data: { file: '/demo/train.jsonl' },
      output: '/run',
    })
    expect(resolveStep(evaluation, options)).toMatchObject({
      outerLinks: '/links/outer/best',
      agents: [{ innerLink: '/links/inner-planner/last' }, {}, {}],
    })
  })

  it('takes the last checkpoint where none was found best', () => {
    const spec = resolveStep(evaluation, { ...options, outcome: () => ({ checkpoint: '/last', best: null }) })
    expect(spec).toMatchObject({ outerLinks: '/last' })
  })

  it('cannot start before what it refers to is done, and says what', () => {
    expect(() => resolveStep(outer, { ...options, outcome: () => undefined })).toThrow(/Outer links.*inner-planner/)
  })

  it('that does not fit is a UserError naming the field', () => {
    const wrong = { ...planner, spec: { ...planner.spec, batchSize: 0 } }
    expect(() => resolveStep(wrong, options)).toThrow(UserError)
    expect(() => resolveStep(wrong, options)).toThrow(/batchSize/)
  })
})

it('every field of a job that holds a path is known as one', () => {
  const data = { file: 'p' }
  const agents = [{ role: 'a', model: 'p', innerLink: 'p' }]
  const more = { promptPack: 'p', cache: 'p', output: 'p', data }
  const specs = [
    { kind: 'inner', role: 'a', model: 'p', startFrom: 'p', validation: { data }, ...more },
    { kind: 'outer', agents: [...agents, ...agents], startFrom: 'p', validation: { data }, ...more },
    { kind: 'evaluate', agents, outerLinks: 'p', ...more },
  ]
  for (const spec of specs) {
    const mapped = jobSpec.parse(mapSpecPaths(spec, () => '/mapped'))
    // Every path was "p": none may be left.
    expect(JSON.stringify(mapped)).not.toContain('"p"')
  }
})

it('what a run left is its final and its best checkpoint', () => {
  const time = 0
  const checkpoint = (step: number, best: boolean) => ({
    kind: 'checkpoint' as const,
    time,
    step,
    folder: `/${step}`,
    best,
  })
  const finished = { kind: 'finished' as const, time, seconds: 1, checkpoint: '/30' }
  expect(outcomeOf([checkpoint(10, true), checkpoint(20, true), checkpoint(30, false), finished])).toEqual({
    checkpoint: '/30',
    best: '/20',
  })
  expect(outcomeOf([checkpoint(10, true)])).toBeUndefined()
})
