import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JobSpecInput } from '../../../src-main/engine/job-spec'
import { mapSpecPaths } from '../../../src-main/engine/spec-paths'
import { openRole, openStyle } from '../../../src-main/engine/styles/style-file'
import { builtInPack } from '../../../src-main/engine/text'
import { agents as demoAgents, demo, run, Workplace } from '../training/run-demo-job'

const ring = fileURLToPath(new URL('files/ring.json', import.meta.url))
const chain = fileURLToPath(new URL('files/chain.json', import.meta.url))

let place: Workplace
beforeEach(() => (place = new Workplace()))
afterEach(() => place.dispose())

interface Raw {
  [field: string]: unknown
  agents: { role: string; target: unknown; [field: string]: unknown }[]
  links: { key: string; from: string; to: string; [field: string]: unknown }[]
  prompts: Record<string, unknown>
}
const raw = () => JSON.parse(readFileSync(ring, 'utf8')) as Raw

function written(change: (style: Raw) => void): string {
  const style = raw()
  change(style)
  writeFileSync(place.path('style.json'), JSON.stringify(style))
  return place.path('style.json')
}

const refusal = (path: string) =>
  openStyle(path, undefined).then(
    () => 'nothing',
    (e: { what: string; why: string }) => `${e.what} ${e.why}`,
  )

describe('a style file', () => {
  it('becomes a style with its prompts before those of the pack in use', async () => {
    const { style, pack } = await openStyle(ring, undefined)
    expect(style).toEqual({
      name: 'ring',
      agentCount: 2,
      roles: [
        { role: 'asker', targets: ['doubts'] },
        { role: 'answerer', targets: ['final', 'answer'] },
      ],
      links: [
        { key: 'ask', source: 0, target: 1 },
        { key: 'reply', source: 1, target: 0 },
      ],
      last: 1,
    })
    expect(pack.prompts.asker.first).toEqual(['What is unclear here?', '{{question}}'])
    expect(pack.prompts.planner).toEqual(builtInPack.prompts.planner)
    expect(await openRole('answerer', ring, undefined)).toMatchObject({ style: { name: 'ring' }, agent: 1 })
  })

  it('takes the pack that it names from its own folder, unless the job names one', async () => {
    expect((await openStyle(chain, undefined)).pack.name).toBe('chain of five')
    expect((await openStyle(chain, demo('prompt-pack.json'))).pack.system).not.toEqual(['You are one of five.'])
  })

  it('is a path of a job, a style’s name is none', () => {
    const map = (style: string) => (mapSpecPaths({ style }, (p) => `/work/${p}`) as { style: string }).style
    expect(map('my/style.json')).toBe('/work/my/style.json')
    expect(map('mixture')).toBe('mixture')
  })
})

describe('a style file is refused', () => {
  const cases: [string, (style: Raw) => void, RegExp][] = [
    ['a format that is not ours', (s) => (s.format = 'style/2'), /format: .*recursivemas-style\/1/],
    ['an unknown field', (s) => (s.rounds = 3), /the file: there is no "rounds" here \(known are format, name, /],
    [
      'an unknown field of an agent',
      (s) => (s.agents[1].model = 'm'),
      /agents\.1: there is no "model" here \(known are role, target\)/,
    ],
    [
      'an unknown field of a link',
      (s) => (s.links[0].type = 'x'),
      /links\.0: there is no "type" here \(known are key, from, to\)/,
    ],
    ['the name of a built-in style', (s) => (s.name = 'mixture'), /name: "mixture" is a style of its own already/],
    [
      'two agents with one name',
      (s) => (s.agents[1].role = 'asker'),
      /agents\.1\.role: two agents have the name "asker"/,
    ],
    ['an agent without a column', (s) => (s.agents[0].target = []), /agents\.0\.target/],
    [
      'a role with a name that no file can have',
      (s) => (s.agents[0].role = '../a'),
      /agents\.0\.role: a name starts with/,
    ],
    [
      'an unknown role that answers',
      (s) => (s.answers = 'judge'),
      /answers: there is no role "judge" \(the agents are asker, answerer\)/,
    ],
    ['nobody who answers', (s) => delete s.answers, /answers: missing \(a text is needed\)/],
    [
      'a field with a slip in its name',
      (s) => {
        Object.assign(s, { linkz: s.links })
        delete (s as Partial<Raw>).links
      },
      /the file: there is no "linkz" here \(did you mean "links"\?\); links: missing \(a list is needed\)/,
    ],
    ['a link from an unknown role', (s) => (s.links[0].from = 'judge'), /links\.0\.from: there is no role "judge"/],
    ['a link to an unknown role', (s) => (s.links[1].to = 'judge'), /links\.1\.to: there is no role "judge"/],
    ['prompts of an unknown role', (s) => (s.prompts.judge = {}), /prompts\.judge: there is no role "judge"/],
    ['two links with one name', (s) => (s.links[1].key = 'ask'), /links\.1\.key: two links have the name "ask"/],
    [
      'a link that is there already',
      (s) => s.links.push({ key: 'x', from: 'asker', to: 'answerer' }),
      /links\.2: there is a link from asker to answerer already/,
    ],
    ['no links', (s) => (s.links = []), /links/],
    [
      'a cycle that never yields text',
      (s) => {
        s.agents.push({ role: 'a', target: 'a' }, { role: 'b', target: 'b' })
        s.links.push(
          { key: 'ra', from: 'answerer', to: 'a' },
          { key: 'ab', from: 'a', to: 'b' },
          { key: 'ba', from: 'b', to: 'a' },
        )
      },
      /links: what a and b think never reaches answerer, who writes the text: a cycle that never yields any/,
    ],
    [
      'an agent that nobody hears',
      (s) => {
        s.agents.push({ role: 'a', target: 'a' })
        s.links.push({ key: 'ra', from: 'answerer', to: 'a' })
      },
      /links: what a thinks never reaches answerer, who writes the text\./,
    ],
    ['a prompt that is none', (s) => (s.prompts.asker = { first: 'x' }), /prompts\.asker\.first/],
    [
      'a prompt with a placeholder that means nothing',
      (s) => (s.prompts.asker = { first: ['{{qestion}}'] }),
      /prompts\.asker\.first\.0: \{\{qestion\}\}/,
    ],
  ]
  it.each(cases)('%s', async (_, change, why) => {
    const path = written(change)
    const said = await refusal(path)
    expect(said).toMatch(why)
    expect(said).toContain(path)
  })

  it('that is not there, or is no JSON', async () => {
    expect(await refusal(place.path('none.json'))).toMatch(/style file cannot be read.*none\.json does not exist/)
    writeFileSync(place.path('torn.json'), '{\n  "name": "ring"\n  "links": []')
    expect(await refusal(place.path('torn.json'))).toMatch(
      /style file cannot be used.*torn\.json: it is not JSON \(line 3, column 3: a comma is missing before "links"\)/,
    )
    mkdirSync(place.path('folder.json'))
    expect(await refusal(place.path('folder.json'))).toMatch(/style file cannot be read.*folder\.json is a folder/)
  })
})

describe('a job of a custom style is refused before any model is loaded', () => {
  /** A folder that says what its model would be, and holds none. */
  function hollow(name: string, width: number): string {
    const folder = place.path(name)
    mkdirSync(folder)
    const config = JSON.parse(readFileSync(demo('models/planner/config.json'), 'utf8')) as Record<string, unknown>
    writeFileSync(`${folder}/config.json`, JSON.stringify({ ...config, hidden_size: width }))
    return folder
  }
  const rows = () => {
    writeFileSync(place.path('rows.jsonl'), JSON.stringify({ question: 'q', answer: 'a', doubts: 'd' }) + '\n')
    return { file: place.path('rows.jsonl') }
  }
  const ringJob = (more: object = {}): JobSpecInput => ({
    kind: 'outer',
    style: ring,
    agents: [
      { role: 'asker', model: hollow('a', 64) },
      { role: 'answerer', model: hollow('b', 96) },
    ],
    data: rows(),
    batchSize: 1,
    steps: 1,
    output: place.path('out'),
    ...more,
  })
  const refused = async (spec: JobSpecInput) => {
    const heard = await run(spec)
    expect(heard.failure).not.toBe('')
    return heard.failure
  }

  it('agents that the style does not have, has twice or misses', async () => {
    const agents = (...roles: string[]) => roles.map((role) => ({ role, model: place.path('a') }))
    const spec = ringJob()
    expect(await refused({ ...spec, agents: agents('asker', 'solver') } as JobSpecInput)).toMatch(
      /no role "solver".*ring has asker, answerer/,
    )
    expect(await refused({ ...spec, agents: agents('asker', 'asker', 'answerer') } as JobSpecInput)).toMatch(
      /"asker" has 2 agents/,
    )
    expect(await refused({ ...spec, agents: agents('asker') } as JobSpecInput)).toMatch(/"answerer" has no agent/)
    expect(await refused({ ...spec, linkTypes: { outer_12: 'outer_adapter' } } as JobSpecInput)).toMatch(
      /ring has ask, reply, but no outer_12/,
    )
  })

  it('links whose widths do not meet those of the models', async () => {
    // links of the demo's planner, 64 wide, and critic
    await run({
      kind: 'outer',
      style: written((s) => (s.prompts = {})),
      promptPack: packFor(['asker', 'answerer']),
      agents: demoAgents.slice(0, 2).map((a, i) => ({ ...a, role: ['asker', 'answerer'][i] })),
      data: rows(),
      batchSize: 1,
      steps: 1,
      output: place.path('links'),
    })
    const checkpoint = place.path('links/checkpoints/step-1')
    rmSync(place.path('style.json'))
    const spec = ringJob()
    for (const agents of [
      [hollow('c', 64), hollow('d', 128)],
      [hollow('e', 32), hollow('f', 96)],
    ].map((m) => [
      { role: 'asker', model: m[0] },
      { role: 'answerer', model: m[1] },
    ])) {
      expect(await refused({ ...spec, agents, startFrom: checkpoint } as JobSpecInput)).toMatch(
        /outer link ask.*(128|32)/,
      )
      const evaluation = {
        kind: 'evaluate',
        style: ring,
        agents,
        data: rows(),
        outerLinks: checkpoint,
        output: place.path('out'),
      }
      expect(await refused(evaluation as JobSpecInput)).toMatch(/outer link ask.*(128|32)/)
    }
  })

  it('prompts that the pack does not have or that have other slots than there are links', async () => {
    const none = written((s) => delete s.prompts.answerer)
    expect(await refused({ ...ringJob(), style: none } as JobSpecInput)).toBe(
      'The answerer of the style ring has no prompt. Neither the style file nor the prompt pack ' +
        `"${builtInPack.name}, style ring" has prompts.answerer.first. Write it into "prompts" of the style file, ` +
        'or into a prompt pack that the style file or the job names.',
    )
    rmSync(place.path('a'), { recursive: true })
    rmSync(place.path('b'), { recursive: true })
    const slots = written((s) => (s.prompts.answerer = { first: ['{{question}}'] }))
    expect(await refused({ ...ringJob(), style: slots } as JobSpecInput)).toMatch(
      /answerer.*has 0 slots \(none\), but 1 slot is filled here \(from asker\): one is missing for ask, asker or doubts/,
    )
  })

  function packFor(roles: string[]): string {
    const pack = {
      format: 'recursivemas-prompt-pack/1',
      name: 'small',
      version: '1',
      system: [''],
      prompts: {
        [roles[0]]: { first: ['{{question}}'], feedback: ['{{question}}', '{{slot:reply}}'] },
        [roles[1]]: { first: ['{{question}}', '{{slot:ask}}'] },
      },
    }
    writeFileSync(place.path('pack.json'), JSON.stringify(pack))
    return place.path('pack.json')
  }
})
