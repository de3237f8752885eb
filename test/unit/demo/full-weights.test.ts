import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FullWeightGraph } from '../../../src-main/demo/full-weights'
import { createRandom } from '../../../src-main/demo/random'
import { initialWeights, modelConfig, roles, weightShapes, type Role } from '../../../src-main/demo/tiny-models'
import { resolveConfig } from '../../../src-main/engine/models/families'

/** Two rows of nine tokens, the last four predicted. */
const batch = {
  ids: [
    [2, 40, 7, 9, 22, 4, 3, 18, 4],
    [2, 41, 12, 30, 30, 4, 3, 19, 4],
  ],
  targetLength: 4,
}

describe.each(roles)('gradients of all weights of the %s', (role: Role) => {
  const weights = initialWeights(role, createRandom(7, role))
  let graph: FullWeightGraph

  beforeAll(async () => {
    graph = await FullWeightGraph.open(resolveConfig(modelConfig(role)), 1)
  })
  afterAll(() => graph.dispose())

  it('are given for every weight of the checkpoint, in its shape', () => {
    expect([...graph.weightShapes.keys()].sort()).toEqual(
      weightShapes(role)
        .map((w) => w.name)
        .sort(),
    )
    for (const { name, shape } of weightShapes(role)) expect(graph.weightShapes.get(name)).toEqual(shape)
  })

  it('agree with central differences of the loss', async () => {
    const { gradients } = await graph.run(weights, batch)
    for (const { name } of weightShapes(role)) {
      const values = weights.get(name)!
      const gradient = gradients.get(name)!
      // along the gradient itself the slope is its norm: one difference checks the whole tensor
      const norm = Math.hypot(...gradient)
      expect(norm).toBeGreaterThan(1e-4)
      const before = values.slice()
      const lossAt = async (distance: number) => {
        values.forEach((_, i) => (values[i] = before[i] + (distance * gradient[i]) / norm))
        return (await graph.run(weights, batch)).loss
      }
      const h = 2e-2
      const [a, b, c, d] = [await lossAt(2 * h), await lossAt(h), await lossAt(-h), await lossAt(-2 * h)]
      values.set(before)
      const slope = (8 * (b - c) - (a - d)) / (12 * h)
      expect(Math.abs(slope - norm) / norm, `${name}: ${slope} against ${norm}`).toBeLessThan(5e-3)
    }
  })
})
