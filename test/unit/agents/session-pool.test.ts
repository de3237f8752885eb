/** Sessions that take turns: opened on demand, closed when idle and longest unused, with the same results. */
import { afterEach, expect, test, vi } from 'vitest'
import type { Row } from '../../../src-main/engine/agents/agent'
import { type OnnxAgent, openAgent } from '../../../src-main/engine/agents/onnx-agent'
import { SessionPool } from '../../../src-main/engine/agents/session-pool'
import { EngineSession } from '../../../src-main/engine/onnx/session'
import { demo } from '../training/run-demo-job'

const names = ['planner', 'critic', 'solver'] as const
const rows: Row[] = [{ segments: [{ kind: 'tokens', ids: [1, 2, 3, 4, 5, 6] }] }]

async function team(limit: number): Promise<{ pool: SessionPool; agents: OnnxAgent[] }> {
  const pool = new SessionPool(limit)
  const agents = []
  for (const name of names) {
    const agent = await openAgent(demo(`models/${name}`), { threads: 1, pool })
    agent.settle({ footprint: 100 })
    agents.push(agent)
  }
  return { pool, agents }
}

const sampling = { maxNewTokens: 5, stopIds: [], sample: false, temperature: 1, topK: 0, topP: 1, minP: 0 }

async function work(agents: readonly OnnxAgent[]) {
  const results = []
  for (const turn of [0, 1])
    for (const agent of agents)
      results.push(await agent.states(rows, [[3 + turn]]), await agent.generate(rows, sampling as never))
  return results
}

afterEach(() => void vi.restoreAllMocks())

test('with room for one, each agent is opened whenever its turn comes, and computes the same to the bit', async () => {
  const free = await team(Infinity)
  const tight = await team(199)
  const closed = vi.spyOn(EngineSession.prototype, 'dispose')
  const expected = await work(free.agents)
  expect(closed).toHaveBeenCalledTimes(0)
  expect(await work(tight.agents)).toEqual(expected)
  expect([free.pool.loads, tight.pool.loads]).toEqual([3, 6])
  expect(closed).toHaveBeenCalledTimes(5)
  for (const agent of [...free.agents, ...tight.agents]) await agent.dispose()
  expect(closed).toHaveBeenCalledTimes(9)
})

test('who was used longest ago makes room, and only as far as is needed', async () => {
  const { pool, agents } = await team(200)
  const [a, b, c] = agents
  const use = (agent: OnnxAgent) => agent.states(rows, [[0]])
  for (const agent of [a, b, a, c, a]) await use(agent)
  expect(pool.loads).toBe(3)
  // b went, a stayed
  await use(b)
  expect(pool.loads).toBe(4)
  for (const agent of agents) await agent.dispose()
})

test('nobody is closed in the middle of a call: the next waits', async () => {
  const { pool, agents } = await team(100)
  const states = await Promise.all([...agents, ...agents].map((agent) => agent.states(rows, [[5]])))
  expect(pool.loads).toBeGreaterThanOrEqual(3)
  for (const [i, agent] of agents.entries()) {
    expect(states[i + 3]).toEqual(states[i])
    expect(await agent.states(rows, [[5]])).toEqual(states[i])
  }
  for (const agent of agents) await agent.dispose()
})

test('an agent that could not be opened is tried again, and holds up nobody', async () => {
  const { pool, agents } = await team(100)
  vi.spyOn(EngineSession, 'open').mockRejectedValueOnce(new Error('no memory'))
  await expect(agents[0].states(rows, [[0]])).rejects.toThrow('no memory')
  expect(await agents[1].states(rows, [[0]])).toHaveLength(1)
  expect(await agents[0].states(rows, [[0]])).toHaveLength(1)
  expect(pool.loads).toBe(2)
  for (const agent of agents) await agent.dispose()
})

test('who is given up in the middle of a call is closed when it has ended', async () => {
  const { pool, agents } = await team(Infinity)
  const [agent] = agents
  const closed = vi.spyOn(EngineSession.prototype, 'dispose')
  let goOn!: () => void
  const between = vi.fn(() => new Promise<void>((resolve) => (goOn = resolve)))
  const call = agent.states(rows, [[5]], { between })
  await vi.waitFor(() => expect(between).toHaveBeenCalled())
  let dropped = false
  const dropping = pool.drop(agent).then(() => (dropped = true))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([dropped, closed.mock.calls.length]).toEqual([false, 0])
  goOn()
  const [states] = await call
  await dropping
  expect(closed).toHaveBeenCalledTimes(1)
  expect(await agent.states(rows, [[5]])).toEqual([states])
  await agent.dispose()
})

test('who is given up while its session cannot be opened is not waited for', async () => {
  const { pool, agents } = await team(Infinity)
  let fail!: (error: Error) => void
  const open = vi.spyOn(EngineSession, 'open').mockReturnValueOnce(new Promise((_, reject) => (fail = reject)))
  const call = agents[0].states(rows, [[0]])
  await vi.waitFor(() => expect(open).toHaveBeenCalled())
  const dropping = pool.drop(agents[0])
  fail(new Error('no memory'))
  await expect(call).rejects.toThrow('no memory')
  await dropping
})

test('work that fails gives its place back', async () => {
  const { agents } = await team(100)
  await expect(agents[0].states([{ segments: [{ kind: 'tokens', ids: [-1] }] }], [[0]])).rejects.toThrow(RangeError)
  expect(await agents[1].states(rows, [[0]])).toHaveLength(1)
  for (const agent of agents) await agent.dispose()
})
